"""Comparisons and verdicts as tables, pages, JSON and JUnit XML. Does not import torch."""
