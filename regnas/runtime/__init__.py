"""Tools for every layer: files that are complete or absent, keyed randomness, progress, signals."""
