"""Labeled pictures on disk: folders of class folders and npz files. Does not import torch."""
