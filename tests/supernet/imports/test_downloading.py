"""A file from the network, whole or absent; the server is on this machine."""

from __future__ import annotations

import errno

import pytest

from regnas.errors import EnvironmentProblem
from regnas.supernet.imports import downloading
from regnas.supernet.imports.downloading import download
from tests.supernet.imports.lake import server

CONTENT = bytes(range(256)) * 10_000  # 2.5 MiB: several chunks


@pytest.fixture
def address():
    with server({"net": CONTENT}) as running:
        yield running


@pytest.mark.parametrize("way", ["nets", "moved", "endless"])
def test_the_file_arrives_as_it_is_also_redirected_and_without_a_length(tmp_path, address, way):
    download(f"{address}/{way}/net", tmp_path / "new" / "net")
    assert (tmp_path / "new" / "net").read_bytes() == CONTENT
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["net"]


@pytest.mark.parametrize(
    ("way", "problem"),
    [
        ("nets/nothing", "answers 404 Not Found"),
        ("moved/nothing", "answers 404 Not Found"),
        ("page/net", "returned a web page instead of the file"),
        ("short/net", "stopped after 2,559,900 of 2,560,000 bytes"),
        ("stalled/net", "stopped (no answer for 0.3 s)"),
    ],
)
def test_what_does_not_arrive_whole_is_absent_and_the_line_says_what_to_do(
    tmp_path, address, monkeypatch, way, problem
):
    monkeypatch.setattr(downloading, "TIMEOUT", 0.3)
    with pytest.raises(EnvironmentProblem) as error:
        download(f"{address}/{way}", tmp_path / "net")
    assert str(error.value) == (
        f"{address}/{way} {problem}. Download it on another machine, put it at {tmp_path / 'net'}, and try again."
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("way", ["nets", "endless"])
def test_more_than_the_limit_is_refused_announced_or_not(tmp_path, address, monkeypatch, way):
    monkeypatch.setattr(downloading, "SIZE_LIMIT", 2_000_000)
    with pytest.raises(EnvironmentProblem, match="has more than 2,000,000 bytes"):
        download(f"{address}/{way}/net", tmp_path / "net")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_and_a_name_that_no_one_has(tmp_path):
    with server({}) as running:
        closed = running
    for address in (closed, "http://supernets.invalid"):
        with pytest.raises(EnvironmentProblem, match=r"^http://[a-z0-9.:]+/net cannot be reached \(.+\)\. Download"):
            download(f"{address}/net", tmp_path / "net")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_not_reported_as_a_network_error(tmp_path, address, monkeypatch):
    chunks = downloading._chunks

    def full(*arguments):
        yield next(iter(chunks(*arguments)))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(downloading, "_chunks", full)
    with pytest.raises(EnvironmentProblem, match=r"cannot write .*No space left on device"):
        download(f"{address}/nets/net", tmp_path / "net")
    assert list(tmp_path.iterdir()) == []
