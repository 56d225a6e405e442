"""Components that a configuration selects by name: their tables, and building them from TOML tables."""
