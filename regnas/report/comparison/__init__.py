"""Comparisons and verdicts for people and for other programs. Needs no torch."""
