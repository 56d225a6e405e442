"""What every layer may lean on: files that are whole or absent, keyed randomness, progress, signals."""
