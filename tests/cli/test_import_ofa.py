"""``regnas import-ofa``: its output and exit codes for every kind of input."""

from __future__ import annotations

import errno
import os
import shutil

import pytest
import torch

from benchmarks.processes import PythonProcess
from regnas.runtime import tensors as tensor_files
from regnas.runtime.files import sha256_of
from regnas.supernet import Published
from regnas.supernet.imports import downloading
from tests.supernet.imports.lake import Lake, deep, empty_store, install_lake, server, trained

NAME = "lake_d12_w1.0"


@pytest.fixture(autouse=True)
def store(monkeypatch, tmp_path):
    install_lake(monkeypatch)
    return empty_store(monkeypatch, tmp_path / "home")


@pytest.fixture
def original(tmp_path):
    path = tmp_path / "mine.pth"
    torch.save({"state_dict": trained()}, path)
    return path


def only_line(refusal, *arguments):
    code, lines = refusal("import-ofa", *arguments)
    assert len(lines) == 1
    return code, lines[0].removeprefix("regnas: ")


def test_an_imported_supernet_is_announced_and_the_second_time_it_is_there(command, original, store):
    store.mkdir(parents=True)
    shutil.copy(original, store / NAME)
    outcome = command("import-ofa", NAME)
    path = store / f"{NAME}.safetensors"
    about = [f"{path}, sha256 {sha256_of(path)}", f'start from it with: weights = "{NAME}"']
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout.splitlines() == [f"{NAME} is imported: lake, 3 classes", *about]
    again = command("import-ofa", NAME)
    assert again.stdout.splitlines() == [f"{NAME} is already imported: lake, 3 classes", *about]


def test_a_users_own_file_is_written_to_the_requested_folder(command, tmp_path):
    torch.save(trained(deep(), classes=5), tmp_path / "mine_w1.2.pth")
    outcome = command("import-ofa", tmp_path / "mine_w1.2.pth", "--to", tmp_path / "kept")
    path = tmp_path / "kept" / "mine_w1.2.safetensors"
    assert outcome.stdout.splitlines() == [
        "mine_w1.2 is imported: lake (depths [1, 3]), 5 classes",
        f"{path}, sha256 {sha256_of(path)}",
        f'start from it with: weights = "{path}"',
    ]
    assert sorted(entry.name for entry in (tmp_path / "kept").iterdir()) == ["mine_w1.2.json", "mine_w1.2.safetensors"]


def test_an_unknown_name_is_refused_with_the_nearest_name_and_all_names(refusal):
    assert only_line(refusal, "lake_d12_w1.1") == (
        2,
        'there is no file "lake_d12_w1.1", nor a published supernet of that name; did you mean "lake_d12_w1.0"? '
        "(published: lake_d12_alpha, lake_d12_w1.0, lake_d13_w1.0)",
    )


def test_without_a_connection_the_message_names_the_file_to_fetch_and_its_place(refusal, command, original, store):
    code, line = only_line(refusal, "lake_d12_alpha")
    place = store / "lake_alpha.pth"
    assert code == 5
    assert line.startswith("http://lake.invalid/nets/lake_alpha.pth cannot be reached (")
    assert line.endswith(f"). Download it on another machine, put it at {place}, and try again.")
    shutil.copy(original, place)  # the user follows the message; the folder exists already
    assert command("import-ofa", "lake_d12_alpha").code == 0


@pytest.mark.parametrize("way", ["short", "stalled", "page"])
def test_a_download_that_goes_wrong_leaves_nothing(refusal, original, store, monkeypatch, way):
    monkeypatch.setattr(downloading, "TIMEOUT", 0.3)
    with server({NAME: original.read_bytes()}) as address:
        moved = (Published(NAME, f"{address}/{way}/{NAME}", {"name": "lake"}, (1, 8, 8), 3),)
        monkeypatch.setattr(Lake, "published", moved)
        code, line = only_line(refusal, NAME)
    assert code == 5
    assert line.startswith(f"{address}/{way}/{NAME} ")
    assert list(store.iterdir()) == []


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def bad_files(folder):
    torch.save({"state_dict": {"net.stem.weight": Trap(folder / "sprung")}}, folder / "malicious.pth")
    torch.save({"features.0.weight": torch.ones(8, 3, 3, 3)}, folder / "other.pth")
    torch.save(trained() | {"net.classifier.bias": torch.tensor([0.0, 1.0, float("inf")])}, folder / "infinite.pth")
    torch.save({"state_dict": trained() | {"epoch": 3}}, folder / "mixed.pth")
    (folder / "text.pth").write_text("no weights at all")
    (folder / "empty.pth").write_bytes(b"")
    (folder / "wrong.safetensors").write_bytes(b"\xff" * 64)
    with (folder / "large.pth").open("wb") as sink:
        sink.truncate(2**30 + 1)


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (
            "malicious.pth",
            "is damaged or holds more than weights, and pickles are not run. Save only the state dict.",
        ),
        (
            "other.pth",
            "fits no supernet that regnas can import; the nearest is lake_d12_w1.0: largest.stem.weight is missing; "
            "largest.stem_norm.weight is missing; largest.stem_norm.bias is missing and 54 more",
        ),
        ("infinite.pth", "largest.classifier.bias must be finite, got infinite values or NaN"),
        ("mixed.pth", "epoch must be a plain tensor, got a int. Save only the state dict."),
        ("text.pth", "is damaged or holds more than weights"),
        ("empty.pth", "cannot be read as weights: "),
        ("wrong.safetensors", "cannot be read as weights: "),
        ("large.pth", "has 1,073,741,825 bytes, over the limit of 1,073,741,824 for a supernet"),
    ],
)
def test_a_bad_file_is_refused_with_one_line_and_nothing_is_written(refusal, tmp_path, store, file, problem):
    bad_files(tmp_path)
    code, line = only_line(refusal, tmp_path / file)
    assert code == 3
    assert line.removeprefix(str(tmp_path / file)).lstrip(": ").startswith(problem)
    code, line = only_line(refusal, NAME, "--file", tmp_path / file)
    assert code == 3
    assert line.startswith(str(tmp_path / file))
    assert not store.exists()
    assert not (tmp_path / "sprung").exists()


def test_options_that_do_not_go_together_are_refused(refusal, original):
    for arguments, problem in [
        ([NAME, "--name", "x"], "lake_d12_w1.0 is published: --supernet and --name are for a file of your own"),
        ([original, "--file", original], f"{original} is a file: --file is for the name of a published"),
        ([original, "--supernet", "lak"], '--supernet: unknown supernet "lak"; did you mean "lake"?'),
        ([NAME, "--file", "none.pth"], "--file: there is no file none.pth"),
    ]:
        code, line = only_line(refusal, *arguments)
        assert code == 2
        assert line.startswith(problem)


def test_a_damaged_import_is_found(refusal, command, original, store):
    assert command("import-ofa", original).code == 0
    path = store / "mine.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    code, line = only_line(refusal, original)
    assert code == 3
    assert line.startswith(f"{path} is damaged: its sha256 must be ")
    assert line.endswith(". Delete it, and import it again.")


def test_a_full_disk_leaves_no_files_and_the_message_names_the_fix(refusal, original, store, monkeypatch):
    def full(tensors, path):
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tensor_files, "save_file", full)
    assert only_line(refusal, original) == (
        5,
        f"cannot write in {store}: No space left on device. Make room there, or choose another --to.",
    )
    assert list(store.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_the_environments(refusal, original, tmp_path):
    (tmp_path / "file").write_text("")
    code, line = only_line(refusal, original, "--to", tmp_path / "file" / "inside")
    assert code == 5
    assert line.startswith(f"cannot write in {tmp_path / 'file' / 'inside'}: Not a directory. ")


KILLED = """
import sys, time
from regnas.runtime import tensors
from tests.supernet.imports.lake import Lake, table_of
from regnas.supernet import SUPERNETS
SUPERNETS.__dict__ = table_of(lake=Lake)
save = tensors.save_file
def slow(content, path):
    save(content, path)
    print("written", flush=True)
    time.sleep(60)
tensors.save_file = slow
from regnas.cli import exit_code
exit_code(sys.argv[1:])
"""


@pytest.mark.slow
def test_an_import_that_is_killed_while_writing_does_not_count(command, original, tmp_path):
    to = tmp_path / "kept"
    arguments = ["import-ofa", str(original), "--to", str(to)]
    process = PythonProcess("-c", KILLED, *arguments)
    process.wait_for(lambda: process.stdout == "written\n")
    process.kill()
    assert not [path for path in to.iterdir() if not path.name.startswith(".")]
    outcome = command(*arguments)
    assert outcome.stdout.startswith("mine is imported")
