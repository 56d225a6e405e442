"""Formats of prediction files, one module per format; each gives the columns of a file by name."""
