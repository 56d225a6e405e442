"""Families on disk: manifest, members as networks, export, polishing.

Empty on purpose: verifying a family needs no torch.
"""
