from __future__ import annotations

import pytest

from regnas.models import Workshop
from tests.models.making import workshop


@pytest.fixture(scope="session")
def zoo(tmp_path_factory) -> Workshop:
    """Where all methods are made, so that what several need is trained once."""
    return workshop(tmp_path_factory.mktemp("zoo"))
