from __future__ import annotations

import pytest

from regnas.models import Workshop
from regnas.runtime import signals
from tests.models.making import workshop


@pytest.fixture(autouse=True)
def no_signal_left():
    yield
    signals._received.clear()


@pytest.fixture
def shop(tmp_path) -> Workshop:
    return workshop(tmp_path / "models")


@pytest.fixture(scope="session")
def shared_shop(tmp_path_factory) -> Workshop:
    """Networks that many tests look at and none changes."""
    return workshop(tmp_path_factory.mktemp("shared"))
