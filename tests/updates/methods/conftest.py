from __future__ import annotations

import pytest

from regnas.updates.models import ModelStore
from tests.updates.models.making import open_store


@pytest.fixture(scope="session")
def zoo(tmp_path_factory) -> ModelStore:
    """Where all methods are made, so that what several need is trained once."""
    return open_store(tmp_path_factory.mktemp("zoo"))
