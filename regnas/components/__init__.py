"""Named parts of a configuration: registries, and tables that become frozen dataclasses."""
