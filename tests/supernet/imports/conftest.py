from __future__ import annotations

import pytest

from tests.supernet.imports.lake import Lake, empty_store, install_lake


@pytest.fixture
def lake(monkeypatch):
    install_lake(monkeypatch)
    return Lake


@pytest.fixture
def store(monkeypatch, tmp_path):
    return empty_store(monkeypatch, tmp_path / "home")
