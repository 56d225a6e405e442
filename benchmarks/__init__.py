"""What is claimed and how it was measured."""
