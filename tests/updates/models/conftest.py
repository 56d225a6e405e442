from __future__ import annotations

import pytest

from regnas.runtime import signals
from regnas.updates.models import ModelStore
from tests.updates.models.making import open_store


@pytest.fixture(autouse=True)
def no_signal_left():
    yield
    signals._received.clear()


@pytest.fixture
def store(tmp_path) -> ModelStore:
    return open_store(tmp_path / "models")


@pytest.fixture(scope="session")
def shared_shop(tmp_path_factory) -> ModelStore:
    """Networks that many tests look at and none changes."""
    return open_store(tmp_path_factory.mktemp("shared"))
