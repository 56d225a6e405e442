"""What every layer may use: files that are complete or absent, keyed randomness, progress, signals."""
