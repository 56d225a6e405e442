"""Campaigns that attack regnas and count what fails: ``python -m benchmarks.reliability kills --tries 500``."""
