"""Networks on disk: the members of a family and the models of an update; manifest, loading, export, polishing.

This module imports nothing, so that verifying files does not import torch.
"""
