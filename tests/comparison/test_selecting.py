"""What a prediction file says about given samples."""

from __future__ import annotations

import numpy as np
import pytest

from regnas.comparison.selecting import predictions_on
from regnas.errors import ArtifactError
from regnas.flips import Predictions

CLASSES = ("cat", "dog", "eel")


def samples(ids=("c", "a", "b"), targets=(2, 0, 1)):
    targets = np.array(targets)
    return Predictions("search split", np.array(ids), targets, targets)


def test_the_answers_come_in_the_order_of_the_samples_and_further_ones_are_left_out(tmp_path):
    path = tmp_path / "old.npz"
    Predictions("old", np.array(["a", "b", "x", "c"]), np.array([0, 1, 0, 2]), np.array([0, 2, 1, 1])).save(path)
    found = predictions_on(path, samples(), CLASSES)
    assert found.ids.tolist() == ["c", "a", "b"]
    assert found.predicted.tolist() == [1, 0, 2]
    assert found.correct.tolist() == [False, True, False]
    assert found.model == "old"


def test_a_file_that_names_its_classes_gets_the_numbers_of_the_data(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("id,target,predicted\nb,dog,dog\nc,eel,cat\na,cat,eel\n")
    assert predictions_on(path, samples(), CLASSES).predicted.tolist() == [0, 2, 1]


def test_ids_that_look_like_numbers_are_found_among_texts(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("id,target,predicted\n7,1,1\n10,0,2\n9,2,2\n")
    found = predictions_on(path, samples(("10", "7"), (0, 1)), CLASSES)
    assert found.predicted.tolist() == [2, 1]
    assert found.ids.tolist() == ["10", "7"]


def test_a_missing_sample_or_another_target_is_refused(tmp_path):
    path = tmp_path / "old.npz"
    Predictions("old", np.array(["a", "x"]), np.array([0, 1]), np.array([0, 1])).save(path)
    with pytest.raises(ArtifactError, match=r"must have all 3 samples, got 1 of them \(missing: c, b\)"):
        predictions_on(path, samples(), CLASSES)
    Predictions("old", np.array(["a", "b", "c"]), np.array([0, 1, 1]), np.array([0, 1, 1])).save(path)
    with pytest.raises(ArtifactError, match=r"got other ones for 1 of 3 \(c\)"):
        predictions_on(path, samples(), CLASSES)
