"""Predictions of any classifier on any labeled images: where both come from, and how they are combined.

Empty on purpose: a gallery of prediction files needs no torch.
"""
