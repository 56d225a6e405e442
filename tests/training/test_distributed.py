"""Several processes that train together do what one does with all the images."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.training.together import BATCH, STEPS, Scenarios

PROCESSES = 2


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def start(*command, count=PROCESSES):
    """As torchrun would, without the seconds it takes to start."""
    port = free_port()
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count), "OMP_NUM_THREADS": "1"}
    return [
        subprocess.Popen(
            [sys.executable, *map(str, command)],
            env=os.environ | place | {"RANK": str(rank), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(count)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]


def finish(processes, seconds=120):
    ends = [process.communicate(timeout=seconds) for process in processes]
    return [(process.returncode, *end) for process, end in zip(processes, ends, strict=True)]


class Results:
    def __init__(self, folder, count):
        self.folder = folder
        self.count = count
        self.told = [json.loads((folder / f"told-{rank}.json").read_text()) for rank in range(count)]

    def tensors(self, name, rank=0):
        return load_file(self.folder / f"{name}-{rank}.safetensors")


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    ends = finish(start("-m", "tests.training.together", folder))
    assert [code for code, _, _ in ends] == [0] * PROCESSES, ends
    return Results(folder, PROCESSES)


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    Scenarios(folder).all()
    torch.set_num_threads(threads)
    return Results(folder, 1)


def close(found, expected, **tolerance):
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, msg=lambda text, name=name: f"{name}: {text}", **tolerance)


def same(found, expected):
    assert found.keys() == expected.keys()
    assert [name for name in found if not torch.equal(found[name], expected[name])] == []


def test_batch_norms_have_the_values_and_gradients_of_all_images_in_one_process(several, one):
    expected, parts = one.tensors("norms"), [several.tensors("norms", rank) for rank in range(PROCESSES)]
    for name, whole in expected.items():
        if name.endswith(("answer", " gradient")) and whole.ndim > 1:  # of the images: each has every second one
            found = torch.empty_like(whole)
            for rank, part in enumerate(parts):
                found[rank::PROCESSES] = part[name]
        elif name.endswith("gradient"):
            found = sum(part[name] for part in parts)
        else:
            found = parts[0][name]
            assert torch.equal(found, parts[1][name]), name
        torch.testing.assert_close(found, whole, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("name", ["single", "supernet", "accumulated"])
def test_losses_and_weights_are_those_of_one_process_with_all_the_images(several, one, name):
    alone, together = one.told[0][name], [told[name] for told in several.told]
    assert len(alone["losses"]) == STEPS * (2 if name == "accumulated" else 1)
    means = [sum(losses) / PROCESSES for losses in zip(*(told["losses"] for told in together), strict=True)]
    assert means == pytest.approx(alone["losses"], rel=1e-4)
    close(several.tensors(name), one.tensors(name), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["single", "supernet", "accumulated", "bfloat16"])
def test_all_processes_have_the_same_weights_bit_for_bit(several, name):
    same(several.tensors(name, 0), several.tensors(name, 1))


def test_in_bfloat16_the_losses_are_those_of_one_process_but_for_its_rounding(several, one):
    alone, together = one.told[0]["bfloat16"]["losses"], [told["bfloat16"]["losses"] for told in several.told]
    means = [sum(losses) / PROCESSES for losses in zip(*together, strict=True)]
    assert means == pytest.approx(alone, rel=0.1, abs=0.02)
    full = one.told[0]["accumulated"]["losses"]
    assert means != pytest.approx(full, rel=1e-4)  # it really ran in another precision


def test_together_they_take_the_batch_of_one_process_and_none_takes_a_sample_of_another(several, one):
    whole, parts = one.told[0]["accumulated"]["samples"], [told["accumulated"]["samples"] for told in several.told]
    for batch, *shares in zip(whole, *parts, strict=True):
        assert sorted(sum(shares, [])) == sorted(batch)
        assert all(len(share) == BATCH / 2 / PROCESSES for share in shares)


def test_all_processes_draw_the_same_architectures_and_others_at_every_step(several, one):
    drawn = several.told[0]["supernet"]["architectures"]
    assert drawn == several.told[1]["supernet"]["architectures"] == one.told[0]["supernet"]["architectures"]
    assert len({tuple(architectures) for architectures in drawn}) > STEPS / 2


def test_a_signal_to_any_process_stops_all_after_the_same_step_with_its_checkpoint(several):
    leader, follower = (told["stopped"] for told in several.told)
    assert leader["failure"][:2] == ["Interrupted", 143]
    assert follower["failure"] == ["FailedElsewhere", 143, "another process failed"]
    assert len(leader["losses"]) == len(follower["losses"]) == 6
    rest = [len(told["stopped resumed"]["losses"]) for told in several.told]
    assert rest == [STEPS - 6] * PROCESSES
    same(several.tensors("stopped resumed"), several.tensors("single"))


def test_a_loss_that_is_no_number_in_any_process_stops_all_before_the_step(several):
    leader, follower = (told["diverged"]["failure"] for told in several.told)
    assert leader[:2] == ["TrainingDiverged", 4]
    assert leader[2].startswith("the loss of step 7 is nan")
    assert "step-4.safetensors" in leader[2]
    assert follower[:2] == ["FailedElsewhere", 4]


def test_a_batch_that_they_cannot_share_evenly_is_refused(several, one):
    leader, follower = (told["uneven"]["failure"] for told in several.told)
    assert leader[:2] == ["ConfigurationError", 2]
    assert leader[2].startswith("a step takes 15 images, which 2 processes cannot share evenly")
    assert follower[:2] == ["FailedElsewhere", 2]
    assert one.told[0]["uneven"]["failure"] is None


def test_a_run_folder_that_is_not_the_same_for_all_is_refused(several):
    leader, follower = (told["other_disk"]["failure"] for told in several.told)
    assert leader[:2] == ["EnvironmentProblem", 5]
    assert f"(of steps {STEPS}, 0)" in leader[2]
    assert follower[:2] == ["FailedElsewhere", 5]


def test_where_one_fails_all_end_with_its_code_and_one_says_why(several):
    leader, follower = (told["agreeing"] for told in several.told)
    assert (leader["last"], follower["last"]) == (["FailedElsewhere", 3, []], ["ArtifactError", 3, ["rank 1"]])
    assert (leader["all"], follower["all"]) == (["DataError", 3, ["rank 0"]], ["FailedElsewhere", 3, []])
    assert (leader["none"], follower["none"]) == (None, None)


def test_the_first_process_of_a_machine_goes_first(several):
    assert [told["in_turn"]["there"] for told in several.told] == [True] * PROCESSES
