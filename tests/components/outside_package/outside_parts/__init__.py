"""A package that adds one part to every table of regnas."""
