"""Components that a configuration selects by name: tables of them, and TOML tables to frozen dataclasses."""
