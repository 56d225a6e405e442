"""The family: its members as networks, loaded from its folder."""

from regnas.family.costs import architecture_costs
from regnas.family.family import Family, load_family

__all__ = ["Family", "architecture_costs", "load_family"]
