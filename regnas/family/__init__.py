"""Networks on disk: the members of a family and the models of an update; manifest, loading, export, polishing.

Empty on purpose: verifying files needs no torch.
"""
