"""Which samples are shown, in which order, with which numbers and pictures; which labels are suspect."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from regnas.comparison.gallery import gallery_of, read_models
from regnas.comparison.gallery.suspects import suspects, why_no_suspects
from regnas.errors import ArtifactError, ConfigurationError, DataError
from regnas.flips import negative_flip_rate
from regnas.pictures.labeled import open_folder
from tests.comparison.gallery.making import answers, samples, save
from tests.prediction.folders import write_folder, write_picture

#                             sample   0  1  2  3  4  5   (labels 0 1 0 1 0 1)
OLD = answers("old", predicted=[0, 1, 0, 0, 0, 1], confidences=[0.9, 0.8, 0.7, 0.6, 0.9, 0.9])
NEW = answers("new", predicted=[0, 2, 1, 0, 2, 0], confidences=[0.9, 0.7, 0.95, 0.6, 0.8, 0.5])


def decoded(uri: str) -> np.ndarray:
    head, _, body = uri.partition(",")
    assert head in ("data:image/png;base64", "data:image/jpeg;base64")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(body))))


def test_negative_flips_are_shown_with_the_worst_first():
    gallery = gallery_of([OLD, NEW], samples(6), most=10)
    assert [flip.sample for flip in gallery.flips] == ["s02", "s04", "s01", "s05"]  # 3 was wrong before, 0 is right
    # p(answer) - p(label) = p - (1 - p) / 2
    expected = [confidence - (1 - confidence) / 2 for confidence in (0.95, 0.8, 0.7, 0.5)]
    assert [flip.severity for flip in gallery.flips] == pytest.approx(expected)
    worst = gallery.flips[0]
    assert [(each.predicted, each.confidence) for each in worst.answers] == [
        (0, pytest.approx(0.7)),
        (1, pytest.approx(0.95)),
    ]
    assert (gallery.all_flips, gallery.samples) == (4, 6)
    assert gallery.all_flips / gallery.samples == negative_flip_rate(OLD, NEW)


def test_most_keeps_the_worst_and_counts_all():
    gallery = gallery_of([OLD, NEW], samples(6), most=2)
    assert ([flip.sample for flip in gallery.flips], gallery.all_flips) == (["s02", "s04"], 4)


def test_without_logits_the_order_is_that_of_the_ids_and_nothing_is_sure():
    gallery = gallery_of([OLD, answers("new", NEW.predicted)], samples(6), most=10)
    assert [flip.sample for flip in gallery.flips] == ["s01", "s02", "s04", "s05"]
    assert {(flip.severity, flip.answers[1].confidence) for flip in gallery.flips} == {(0, None)}
    assert not gallery.ranked


def test_pictures_match_the_ids_in_any_order_of_the_data():
    shuffled = samples(6, ids=["s04", "s05", "s02", "s03", "s00", "s01"])  # even labels stay even
    gallery = gallery_of([OLD, NEW], shuffled, most=10)
    brightness = [int(decoded(flip.picture)[0, 0, 0]) for flip in gallery.flips]
    assert brightness == [2, 0, 5, 1]  # where s02, s04, s01 and s05 are in the data
    assert decoded(gallery.flips[0].picture).shape == (6, 6, 3)  # pixel by pixel: the browser enlarges it


def test_photographs_are_shrunk_with_their_shape(tmp_path):
    folder = write_folder(tmp_path / "photos", {"a": 10, "b": 200}, images=1)
    write_picture(folder / "b" / "0.png", 200, size=(640, 480))
    found = open_folder("photos", folder)
    ids, targets = found.ids, found.targets
    old = answers("old", [0, 1], ids=ids, targets=targets)
    gallery = gallery_of([old, answers("new", [0, 0], ids=ids, targets=targets)], found, most=10)
    picture = decoded(gallery.flips[0].picture)
    assert picture.shape == (96, 128, 3)
    assert abs(int(picture[50, 50, 0]) - 200) <= 2
    assert gallery.flips[0].picture.startswith("data:image/jpeg")


def test_an_unreadable_picture_is_named(tmp_path):
    folder = write_folder(tmp_path / "photos", {"a": 10, "b": 200}, images=1)
    (folder / "b" / "0.png").write_bytes(b"no picture")
    found = open_folder("photos", folder)
    ids, targets = found.ids, found.targets
    models = [answers(name, said, ids=ids, targets=targets) for name, said in (("old", [0, 1]), ("new", [0, 0]))]
    with pytest.raises(DataError, match=r"cannot read an image in .*: b/0\.png: cannot identify image file"):
        gallery_of(models, found, most=10)


def test_samples_that_the_data_lack_are_refused_with_counts_and_examples():
    with pytest.raises(
        ArtifactError, match=r"must be in photos, got 2 of 6 that are not, such as s04, s05 \(there: s00"
    ):
        gallery_of([OLD, NEW], samples(4), most=10)


def test_other_labels_than_the_datas_are_refused():
    wrong = samples(6, ids=["s01", "s00", "s02", "s03", "s04", "s05"])
    with pytest.raises(ArtifactError, match="the same label in photos, got another one for 2 of 6, such as s00, s01"):
        gallery_of([OLD, NEW], wrong, most=10)


def test_a_label_is_suspect_when_all_but_the_old_model_agree_against_it():
    old = answers("old", [0, 1, 0, 1], [0.5] * 4)
    new = answers("new", [1, 0, 1, 0], [0.9] * 4)
    other = answers("other", [1, 2, 1, 0], [0.9, 0.9, 0.4, 0.9])
    surest = answers("old", [0, 1, 0, 1], [0.5, 0.5, 0.5, 0.998])
    rows = np.arange(4)
    # sample 1: the other model says something else
    assert suspects([old, new, other], rows).tolist() == [True, False, True, True]
    # sample 3: mean probabilities of the label (0.998 + 0.05 + 0.05) / 3 and of the answer (0.001 + 0.9 + 0.9) / 3
    assert suspects([surest, new, other], rows).tolist() == [True, False, True, True]
    weak = answers("new", [1, 0, 1, 0], [0.9, 0.9, 0.9, 0.36])
    weaker = answers("other", [1, 2, 1, 0], [0.9, 0.9, 0.4, 0.36])
    # now (0.998 + 0.32 + 0.32) / 3 against (0.001 + 0.36 + 0.36) / 3: the ensemble keeps the label
    assert suspects([surest, weak, weaker], rows).tolist() == [True, False, True, False]


def test_a_model_with_fewer_classes_gives_the_other_classes_no_probability():
    old, new = answers("old", [0, 1], [0.6, 0.6]), answers("new", [2, 2], [0.9, 0.9])
    few = answers("few", [0, 1], logits=np.array([[0.0, -9], [-9, 0]], np.float32))
    assert suspects([old, new, few], np.arange(2)).tolist() == [False, False]
    assert suspects([few, new, new], np.arange(2)).tolist() == [True, True]


def test_labels_are_not_doubted_without_a_third_model_or_without_logits():
    assert why_no_suspects([OLD, NEW]) == "this needs a third model"
    bare = answers("bare", NEW.predicted)
    assert why_no_suspects([OLD, NEW, bare]) == "this needs the logits of bare"
    assert not suspects([OLD, NEW, bare], np.arange(6)).any()
    gallery = gallery_of([OLD, NEW, bare], samples(6), most=10)
    assert gallery.all_suspects == 0 and gallery.no_suspects


@given(st.data())
def test_suspects_match_their_definition(data):
    """Against a plain loop over samples and models."""
    count, models = data.draw(st.integers(1, 5)), data.draw(st.integers(3, 5))
    logit = st.integers(-3, 3)
    each = st.lists(st.lists(logit, min_size=3, max_size=3), min_size=count, max_size=count)
    logits = [np.array(data.draw(each), np.float32) + np.float32([0, 0.01, 0.02]) for _ in range(models)]  # no ties
    given_models = [answers(f"m{n}", value.argmax(1), logits=value) for n, value in enumerate(logits)]
    expected = []
    for row in range(count):
        mean = sum(np.exp(value[row].astype(float)) / np.exp(value[row].astype(float)).sum() for value in logits)
        said = {int(value[row].argmax()) for value in logits[1:]} | {int(np.argmax(mean))}
        expected.append(len(said) == 1 and row % 2 not in said)
    assert suspects(given_models, np.arange(count)).tolist() == expected


def test_models_are_called_as_their_files_and_joined_by_id(tmp_path):
    backwards = slice(None, None, -1)
    other = answers("any", NEW.predicted[backwards], ids=NEW.ids[backwards], targets=NEW.targets[backwards])
    (tmp_path / "b").mkdir()
    old, new = tmp_path / "old.npz", tmp_path / "new.npz"
    OLD.save(old)
    other.save(new)
    first, second = read_models([old, new], ("cat", "dog"))
    assert (first.model, second.model) == ("old", "new")
    assert second.ids.tolist() == first.ids.tolist()
    assert second.predicted.tolist() == NEW.predicted.tolist()
    OLD.save(tmp_path / "b" / "new.npz")
    assert [each.model for each in read_models([new, tmp_path / "b" / "new.npz"], ("cat", "dog"))] == [
        f"{tmp_path.name}/new",
        "b/new",
    ]
    with pytest.raises(ConfigurationError, match="must differ, got one of them twice"):
        read_models([old, old], ("cat", "dog"))


def test_damaged_and_foreign_files_are_refused(tmp_path):
    (old,) = save(tmp_path, OLD)
    (tmp_path / "x.npz").write_bytes(b"damaged")
    with pytest.raises(ArtifactError, match=r"x\.npz is damaged or not an npz file"):
        read_models([old, tmp_path / "x.npz"], ("cat", "dog"))
    (few,) = save(tmp_path, answers("few", [0, 1]))
    with pytest.raises(ArtifactError, match="were not evaluated on the same samples"):
        read_models([old, few], ("cat", "dog"))


def test_files_that_name_their_classes_get_the_numbers_of_the_data(tmp_path):
    path, other = tmp_path / "named.csv", tmp_path / "numbered.csv"
    path.write_text("id,target,predicted\na,cat,cat\nb,bird,cat\n")
    other.write_text("id,target,predicted\nb,0,1\na,1,0\n")
    named, numbered = read_models([path, other], ["bird", "cat", "dog"])
    assert named.targets.tolist() == numbered.targets.tolist() == [1, 0]
    assert named.predicted.tolist() == [1, 1]
    assert numbered.predicted.tolist() == [0, 1]
    with pytest.raises(ArtifactError, match="must have the classes of the data, got 1 other ones, such as 'cat'"):
        read_models([path, other], ["bird", "dog"])
