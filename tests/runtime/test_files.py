from __future__ import annotations

import os
import stat
import subprocess
import sys
import time

import pytest
import torch

from regnas.errors import ArtifactError, ConfigurationError, EnvironmentProblem
from regnas.runtime import files
from regnas.runtime.lock import exclusive
from regnas.runtime.tensors import save_tensors

# Writes ever larger files over the same name until it is killed.
WRITER = """
import sys
from pathlib import Path
from regnas.runtime.files import write_bytes
path = Path(sys.argv[1])
for number in range(10**6):
    write_bytes(path, bytes([number % 256]) * 4_000_000)
    if number == 0:
        print("started", flush=True)
"""

# Writes with a limit on the size of files, as on a disk that is full.
LIMITED = """
import resource, signal, sys
from pathlib import Path
import torch
from regnas.runtime.tensors import save_tensors
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    save_tensors(Path(sys.argv[1]), {"x": torch.zeros(100_000)})
except Exception as error:
    print(type(error).__name__, error.exit_code)
"""


def test_killed_in_the_middle_of_writing_the_file_is_whole(tmp_path):
    path = tmp_path / "file"
    for attempt in range(5):
        process = subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.01 + 0.013 * attempt)
        process.kill()
        process.wait()
        process.stdout.close()
        content = path.read_bytes()
        assert len(content) == 4_000_000
        assert len(set(content)) == 1


def test_a_write_that_fails_leaves_the_old_file_and_no_rest(tmp_path):
    path = tmp_path / "weights.safetensors"
    path.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", LIMITED, path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "EnvironmentProblem 5"
    assert [entry.name for entry in tmp_path.iterdir()] == ["weights.safetensors"]
    assert path.read_bytes() == b"old"


def test_a_path_that_cannot_be_written_is_named_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match=r"cannot write .*file/inside: .*\. Check that the folder exists"):
        files.write_text(tmp_path / "file" / "inside", "text")


def test_one_changed_byte_is_found(tmp_path):
    path = tmp_path / "file"
    files.write_bytes(path, b"content")
    recorded = files.sha256_of(path)
    files.check_sha256(path, recorded)
    files.write_bytes(path, b"confent")
    with pytest.raises(ArtifactError, match="file is damaged: its sha256"):
        files.check_sha256(path, recorded)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"{'a': 1}"])
def test_what_is_not_json_is_refused_by_name(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(ArtifactError, match=r"x\.json is damaged: it is not JSON"):
        files.read_json(tmp_path / "x.json")


def test_a_digest_does_not_depend_on_the_order_of_keys_but_on_every_value():
    assert files.digest_of({"a": 1, "b": [2]}) == files.digest_of({"b": [2], "a": 1})
    assert files.digest_of({"a": 1, "b": [2]}) != files.digest_of({"a": 1, "b": [3]})


def test_a_folder_is_held_by_one_process_which_is_named(tmp_path):
    holder = (
        "import sys; from pathlib import Path; from regnas.runtime.lock import exclusive\n"
        "with exclusive(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", holder, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    with pytest.raises(ConfigurationError, match=f"is in use by process {process.pid} on"), exclusive(tmp_path):
        pass
    process.kill()
    process.communicate()
    with exclusive(tmp_path):  # let go of by the system, although the process was killed
        pass


# Text that is read or written in the encoding of the locale is an error here.
UNICODE = """
import sys
from pathlib import Path
from regnas.runtime.files import read_json, write_json
write_json(Path(sys.argv[1]), {"name": "naïve → 模型"})
assert read_json(Path(sys.argv[1])) == {"name": "naïve → 模型"}
"""


def test_json_is_utf_8_in_every_locale(tmp_path):
    strict = ["-X", "warn_default_encoding", "-W", "error::EncodingWarning"]
    subprocess.run([sys.executable, *strict, "-c", UNICODE, tmp_path / "x.json"], check=True)
    assert "naïve → 模型" in (tmp_path / "x.json").read_bytes().decode("utf-8")


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_files_have_the_permissions_that_the_umask_leaves(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        files.write_text(tmp_path / "text", "content")
        save_tensors(tmp_path / "x.safetensors", {"x": torch.zeros(3)})
    finally:
        os.umask(before)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {
        "text": mode,
        "x.safetensors": mode,
    }


def test_json_that_is_nested_too_deeply_or_too_large_is_refused_before_anything_recurs(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    for depth in (files.DEPTH_LIMIT + 1, 900, 100_000):
        path.write_text("[" * depth + "]" * depth)
        with pytest.raises(ArtifactError, match=r"x\.json is damaged: it is not JSON \(it must be nested at most 100"):
            files.read_json(path)
    path.write_text("[" * files.DEPTH_LIMIT + "]" * files.DEPTH_LIMIT)
    files.read_json(path)
    path.write_text("9" * 5000)  # more digits than Python converts
    with pytest.raises(ArtifactError, match=r"x\.json is damaged: it is not JSON"):
        files.read_json(path)
    monkeypatch.setattr(files, "JSON_LIMIT", 10)
    with pytest.raises(ArtifactError, match=r"x\.json has 5,000 bytes, over the limit of 10 for JSON"):
        files.read_json(path)


def test_every_changed_value_of_a_sealed_file_is_found(tmp_path):
    path = tmp_path / "x.json"
    table = {"a": 1.5, "b": {"c": [1, None]}, 3: "é"}
    files.write_sealed_json(path, table)
    assert files.read_sealed_json(path) == {"a": 1.5, "b": {"c": [1, None]}, "3": "é"}
    path.write_text(path.read_text().replace("1.5", "1.4"))
    with pytest.raises(ArtifactError, match=r"x\.json is damaged: its content does not match its own digest"):
        files.read_sealed_json(path)


def test_files_of_earlier_versions_have_no_digest(tmp_path):
    files.write_json(tmp_path / "x.json", {"a": 1})
    assert files.read_sealed_json(tmp_path / "x.json") == {"a": 1}
    files.write_json(tmp_path / "y.json", ["a"])
    assert files.read_sealed_list(tmp_path / "y.json", str, "texts") == ["a"]


@pytest.mark.parametrize("content", ["3", '{"entries": "a"}', "[1]", '{"a": []}', "null", '[["a"]]'])
def test_a_list_has_entries_of_one_kind(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(ArtifactError, match=r"x\.json is damaged: it must hold a (list of texts|table, got .*)"):
        files.read_sealed_list(tmp_path / "x.json", str, "texts")


def test_a_folder_in_the_place_of_a_file_is_refused_by_name(tmp_path):
    for read in (files.read_json, files.sha256_of):
        with pytest.raises(ArtifactError, match="must be a file"):
            read(tmp_path)
        with pytest.raises(ArtifactError, match="is missing"):
            read(tmp_path / "absent")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", str(2**63), str(-(2**63) - 1), "9" * 5000])
def test_numbers_of_more_than_64_bits_are_refused(tmp_path, number):
    (tmp_path / "a.json").write_text(f'{{"steps": [{number}]}}')
    with pytest.raises(ArtifactError, match="numbers must fit into 64 bits"):
        files.read_json(tmp_path / "a.json")


def test_numbers_of_64_bits_are_read(tmp_path):
    (tmp_path / "a.json").write_text(f"[{2**63 - 1}, {-(2**63) + 1}, 1e308, -0.5]")
    assert files.read_json(tmp_path / "a.json") == [2**63 - 1, -(2**63) + 1, 1e308, -0.5]


def test_no_flipped_bit_of_a_sealed_file_changes_what_is_read(tmp_path):
    path = tmp_path / "a.json"
    files.write_sealed_json(path, {"steps": 3})
    good = path.read_bytes()
    for place in range(8 * len(good)):
        content = bytearray(good)
        content[place // 8] ^= 1 << place % 8
        path.write_bytes(content)
        try:
            assert files.read_sealed_json(path) == {"steps": 3}
        except ArtifactError:
            continue
