"""Search spaces and their elastic networks: the first plug-in of regnas."""
