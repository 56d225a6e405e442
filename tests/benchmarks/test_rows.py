from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.cifar10.rows import pairs_of, read_rows
from regnas.errors import ArtifactError
from regnas.flips import load_predictions
from tests.benchmarks.recorded import write_family

RIGHT = [[1, 1, 0, 0], [1, 0, 1, 1]]


def test_neighbors_come_first():
    assert pairs_of(3) == [(0, 1), (1, 2), (0, 2)]
    assert pairs_of(4) == [(0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (0, 3)]


def test_seeds_are_gathered_in_their_order(tmp_path):
    for seed in (10, 2, 0):  # folders sort as text
        write_family(tmp_path, "elodi", RIGHT, seed=seed)
    [row] = read_rows(tmp_path).rows
    assert row.seeds == (0, 2, 10)


def test_method_and_setting_come_from_the_name(tmp_path):
    for name in ("interpolation@0.5", "interpolation@10", "interpolation@2", "interpolation@all"):
        write_family(tmp_path, name, RIGHT)
    rows = sorted(read_rows(tmp_path).rows, key=lambda row: row.place)
    assert {row.method for row in rows} == {"interpolation"}
    assert [row.setting for row in rows] == ["0.5", "2", "10", "all"]


def test_samples_in_another_order_are_brought_into_one(tmp_path):
    write_family(tmp_path, "elodi", RIGHT)
    folder = write_family(tmp_path, "independent", RIGHT)
    path = folder / "report" / "medium.npz"
    shuffled = load_predictions(path)
    order = np.array([2, 0, 3, 1])
    shuffled.changed(
        ids=shuffled.ids[order], targets=shuffled.targets[order], predicted=shuffled.predicted[order]
    ).save(path)
    for row in read_rows(tmp_path).rows:
        np.testing.assert_array_equal(row.families[0].report, np.array(RIGHT, dtype=bool))


def test_a_family_that_is_not_finished_is_left_out(tmp_path):
    write_family(tmp_path, "elodi", RIGHT)
    (write_family(tmp_path, "elodi", RIGHT, seed=1) / "row.json").unlink()
    [row] = read_rows(tmp_path).rows
    assert row.seeds == (0,)


def test_a_folder_without_records_is_refused(tmp_path):
    with pytest.raises(ArtifactError, match=r"holds no row\.json"):
        read_rows(tmp_path)


def test_seeds_of_a_row_that_disagree_are_refused(tmp_path):
    write_family(tmp_path, "elodi", RIGHT, settings={"members": 4})
    write_family(tmp_path, "elodi", RIGHT, seed=1, settings={"members": 8})
    with pytest.raises(ArtifactError, match=r"settings is .*8.*but .*4.* in seed-0"):
        read_rows(tmp_path)


def test_rows_on_other_samples_are_refused(tmp_path):
    write_family(tmp_path, "elodi", RIGHT)
    write_family(tmp_path, "independent", [[1, 1, 0], [1, 0, 1]])
    with pytest.raises(ArtifactError, match=r"independent.*not evaluated on the same samples"):
        read_rows(tmp_path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"members": ["../small", "medium"]}, "cannot be the name of a file"),
        ({"members": ["small", "small"]}, "two or more different names"),
        ({"macs": [1]}, "1 macs for 2 members"),
        ({"seed": 7}, "against its own folder"),
        ({"seconds": float("nan")}, "must fit into 64 bits"),
        ({"seconds": ...}, "lacks seconds"),
    ],
)
def test_damaged_facts_are_refused(tmp_path, change, problem):
    path = write_family(tmp_path, "elodi", RIGHT) / "row.json"
    table = json.loads(path.read_text()) | change
    path.write_text(json.dumps({key: value for key, value in table.items() if value is not ...}))
    with pytest.raises(ArtifactError, match=problem):
        read_rows(tmp_path)


def test_missing_predictions_are_named(tmp_path):
    folder = write_family(tmp_path, "elodi", RIGHT)
    (folder / "search" / "small.npz").unlink()
    with pytest.raises(ArtifactError, match=r"search/small\.npz"):
        read_rows(tmp_path)
