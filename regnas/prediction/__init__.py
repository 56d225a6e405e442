"""Predict with any classifier on any labeled images.

This module imports nothing, so that a gallery of prediction files does not import torch.
"""
