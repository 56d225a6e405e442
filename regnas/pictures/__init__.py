"""Labeled pictures on disk: folders of class folders and npz files. Needs numpy and PIL, not torch."""
