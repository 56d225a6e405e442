from __future__ import annotations

import pytest
import torch

from regnas.models import Workshop
from tests.models.making import workshop


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def zoo(tmp_path_factory) -> Workshop:
    """Where all methods are made, so that what several need is trained once."""
    return workshop(tmp_path_factory.mktemp("zoo"))
