"""Data sets of torchvision, from files in its own format and without a network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from regnas.data import DATASETS, Cifar10, Cifar100, FashionMnist
from regnas.errors import ConfigurationError, DataError, EnvironmentProblem


def idx(array: np.ndarray) -> bytes:
    """The idx format: two zero bytes, the type (8: unsigned byte), the number of sides, the sides, the data."""
    sides = b"".join(side.to_bytes(4, "big") for side in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sides + array.astype(np.uint8).tobytes()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    raw = tmp_path / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    draws = np.random.default_rng(0)
    for part, number in (("train", 100), ("t10k", 20)):
        (raw / f"{part}-images-idx3-ubyte").write_bytes(idx(draws.integers(0, 256, (number, 28, 28))))
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(idx(np.arange(number) % 10))
    return tmp_path


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request goes to a port of this machine where nobody listens."""
    for scheme in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:9")
    for scheme in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(scheme, raising=False)


def test_fashion_mnist_is_read_from_the_files_of_torchvision(root: Path) -> None:
    splits = FashionMnist(str(root)).load()
    assert [len(split) for split in splits.all] == [90, 10, 20]
    assert splits.input_shape == (1, 28, 28)
    assert splits.classes[0] == "T-shirt/top"
    assert splits.search.targets.sort().values.tolist() == list(range(10))
    written = (root / "FashionMNIST" / "raw" / "t10k-images-idx3-ubyte").read_bytes()[16:]
    assert splits.report.images.numpy().tobytes() == written
    assert splits.report.ids[:2].tolist() == ["test/0", "test/1"]
    again = FashionMnist(str(root)).load()
    assert again.digest == splits.digest
    other = FashionMnist(str(root), seed=1).load()
    assert other.search.digest != splits.search.digest
    assert torch.equal(other.report.images, splits.report.images)


@pytest.mark.parametrize("length", [0, 3, 500])
def test_a_damaged_file_is_bad_data_and_not_a_bad_network(root: Path, length: int) -> None:
    file = root / "FashionMNIST" / "raw" / "train-images-idx3-ubyte"
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(DataError, match=r"FashionMNIST in .*raw are damaged .*\. Remove them"):
        FashionMnist(str(root)).load()


@pytest.mark.parametrize(
    ("kind", "file", "folder"),
    [
        (Cifar10, "cifar-10-python.tar.gz", ""),
        (Cifar100, "cifar-100-python.tar.gz", ""),
        (FashionMnist, "train-images-idx3-ubyte.gz", "/FashionMNIST/raw"),
    ],
)
def test_without_a_network_the_error_says_where_to_put_which_file(
    tmp_path: Path, no_network: None, capfd: pytest.CaptureFixture[str], kind: type[Cifar10], file: str, folder: str
) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        kind(str(tmp_path)).load()
    message = str(caught.value)
    assert "\n" not in message
    assert file in message and f"into {tmp_path}{folder}," in message
    assert '"image_folder" or "arrays"' in message
    assert capfd.readouterr() == ("", "")


def test_a_root_that_cannot_be_written_is_a_problem_of_the_environment(tmp_path: Path, no_network: None) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EnvironmentProblem, match="cannot download CIFAR10"):
        Cifar10(str(tmp_path / "file")).load()


def test_a_fraction_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"search_fraction must be between 0 and 1, got 1\.0"):
        Cifar10(search_fraction=1.0)


def test_the_table_knows_every_data_set_and_each_describes_itself() -> None:
    assert list(DATASETS) == ["digits", "cifar10", "cifar100", "fashion_mnist", "image_folder", "arrays"]
    for kind in DATASETS.values():
        assert (kind.__doc__ or "").splitlines()[0].rstrip(".")
    with pytest.raises(ConfigurationError, match='did you mean "cifar10"'):
        DATASETS["cifar_10"]


def test_fields_are_validated_from_json_as_a_configuration_does() -> None:
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter(Cifar10)
    assert adapter.validate_json('{"root": "here", "seed": 3}', strict=True) == Cifar10("here", seed=3)
    with pytest.raises(ValidationError, match="search_fraction must be between 0 and 1, got 2"):
        adapter.validate_json('{"search_fraction": 2}', strict=True)
    with pytest.raises(ValidationError):
        adapter.validate_json('{"seed": "3"}', strict=True)
