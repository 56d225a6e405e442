"""Several processes that train together do what one does with all the images."""

from __future__ import annotations

import itertools
import json
import shutil
import socket
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load, load_file

from benchmarks.processes import PythonProcess
from benchmarks.tiny import write_tiny
from regnas.cli import exit_code
from regnas.runtime.files import write_sealed_json
from tests.training.together import BATCH, STEPS, Scenarios

pytestmark = [pytest.mark.distributed, pytest.mark.slow]

PROCESSES = 2
PATIENCE = 600  # of seconds, on machines that have other work


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def start(*command):
    """As torchrun would, without the seconds it takes to start."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
    place |= dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), str(PROCESSES))
    return [
        PythonProcess(*command, variables=place | dict.fromkeys(("RANK", "LOCAL_RANK"), str(rank)))
        for rank in range(PROCESSES)
    ]


def finish(processes):
    try:
        return [process.finish(PATIENCE) for process in processes]
    finally:
        for process in processes:
            process.kill()


class Results:
    def __init__(self, folder, count, said=()):
        self.folder = folder
        self.said = said
        self.told = [json.loads((folder / f"told-{rank}.json").read_text()) for rank in range(count)]

    def tensors(self, name, rank=0):
        return load_file(self.folder / f"{name}-{rank}.safetensors")


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = write_tiny(tmp_path_factory.mktemp("config"))
    text = path.read_text()
    path.write_text(text[: text.index("[baselines")] + text[text.index("[machine]") :])
    return path


@pytest.fixture(scope="module")
def several(tmp_path_factory, config):
    """All scenarios and, by the command, a training in ``unbroken``."""
    folder = tmp_path_factory.mktemp("several")
    ends = finish(start("-m", "tests.training.together", folder, config, free_port()))
    assert [end.code for end in ends] == [0] * PROCESSES, ends
    return Results(folder, PROCESSES, [end.stdout for end in ends])


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


@pytest.mark.parametrize("name", ["single", "supernet", "attentive", "decayed", "initialized", "accumulated", "mixed"])
def test_losses_and_weights_are_those_of_one_process_with_all_the_images(several, one, name):
    alone, together = one.told[0][name], [told[name] for told in several.told]
    assert len(alone["losses"]) == STEPS * (2 if name in ("accumulated", "mixed") else 1)
    means = [sum(losses) / PROCESSES for losses in zip(*(told["losses"] for told in together), strict=True)]
    assert means == pytest.approx(alone["losses"], rel=1e-4)
    close(several.tensors(name), one.tensors(name), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_losses_of_every_optimizer_are_those_of_one_process(several, one, name):
    """Not the weights: adamw divides by the gradient, which is rounding alone for a bias before a batch norm."""
    alone, together = one.told[0][name]["losses"], [told[name]["losses"] for told in several.told]
    means = [sum(losses) / PROCESSES for losses in zip(*together, strict=True)]
    assert means == pytest.approx(alone, rel=1e-3 if name == "adamw" else 0.02)  # muon rounds to bfloat16
    assert means != pytest.approx(one.told[0]["single"]["losses"], rel=0.02)


def test_one_process_records_the_training_with_the_values_of_all(several, one):
    records = [(results.folder / "single" / "metrics.jsonl").read_text().splitlines() for results in (several, one)]
    together, alone = ([json.loads(line) for line in lines] for lines in records)
    assert [line["step"] for line in together] == list(range(1, STEPS + 1))
    for found, expected in zip(together, alone, strict=True):
        assert found == pytest.approx(expected, rel=1e-4)
    assert [line["loss"] for line in alone] == pytest.approx(one.told[0]["single"]["losses"], rel=1e-6)


@pytest.mark.parametrize(
    "name",
    ["single", "supernet", "attentive", "decayed", "adamw", "muon", "initialized", "accumulated", "mixed", "bfloat16"],
)
def test_all_processes_have_the_same_weights_bit_for_bit(several, name):
    same(several.tensors(name, 0), several.tensors(name, 1))


def test_all_processes_start_from_the_weights_of_one_bit_for_bit(several, one):
    for rank in range(PROCESSES):
        same(several.tensors("initialized start", rank), one.tensors("initialized start"))


def test_weights_that_an_objective_moves_itself_end_elsewhere(one):
    assert not torch.allclose(one.tensors("decayed")["0.weight"], one.tensors("single")["0.weight"], rtol=1e-2)


def test_in_bfloat16_the_losses_are_those_of_one_process_but_for_its_rounding(several, one):
    alone, together = one.told[0]["bfloat16"]["losses"], [told["bfloat16"]["losses"] for told in several.told]
    means = [sum(losses) / PROCESSES for losses in zip(*together, strict=True)]
    assert means == pytest.approx(alone, rel=0.1, abs=0.02)
    full = one.told[0]["accumulated"]["losses"]
    assert means != pytest.approx(full, rel=1e-4)  # it really ran in another precision


def test_together_they_take_the_batch_of_one_process_and_none_takes_a_sample_of_another(several, one):
    whole, parts = one.told[0]["accumulated"]["samples"], [told["accumulated"]["samples"] for told in several.told]
    for batch, *shares in zip(whole, *parts, strict=True):
        assert sorted(itertools.chain(*shares)) == sorted(batch)
        assert all(len(share) == BATCH / 2 / PROCESSES for share in shares)


@pytest.mark.parametrize("name", ["supernet", "attentive"])
def test_all_processes_draw_the_same_architectures_and_others_at_every_step(several, one, name):
    drawn = several.told[0][name]["architectures"]
    assert drawn == several.told[1][name]["architectures"] == one.told[0][name]["architectures"]
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
    assert leader[2].startswith("15 images per step must divide evenly among 2 processes")
    assert follower[:2] == ["FailedElsewhere", 2]
    assert one.told[0]["uneven"]["failure"] is None


def test_a_run_folder_that_is_not_the_same_for_all_is_refused(several):
    leader, follower = (told["other_disk"]["failure"] for told in several.told)
    assert leader[:2] == ["EnvironmentProblem", 5]
    assert f"(steps {STEPS}, 0)" in leader[2]
    assert follower[:2] == ["FailedElsewhere", 5]


def test_where_one_fails_all_end_with_its_code_and_one_says_why(several):
    leader, follower = (told["agreeing"] for told in several.told)
    assert (leader["last"], follower["last"]) == (["FailedElsewhere", 3, []], ["ArtifactError", 3, ["rank 1"]])
    assert (leader["all"], follower["all"]) == (["DataError", 3, ["rank 0"]], ["FailedElsewhere", 3, []])
    assert (leader["none"], follower["none"]) == (None, None)


def test_the_first_process_of_a_machine_goes_first(several):
    assert [told["in_turn"]["there"] for told in several.told] == [True] * PROCESSES


def supernet(run):
    """The weights and momenta of the newest checkpoint."""
    newest = json.loads((run / "supernet" / "checkpoints.json").read_text())["checkpoints"][0]["file"]
    return newest, (run / "supernet" / newest).read_bytes()


def killed(config, run):
    """Two processes that are killed in their training, after a checkpoint."""
    processes = start("-m", "regnas", "train", config, "--out", run)
    try:
        processes[0].wait_for(lambda: (run / "supernet" / "step-2.safetensors").exists(), PATIENCE)
    finally:
        for process in processes:
            process.kill()


def test_torchrun_killed_and_resumed_ends_with_the_same_bytes_and_its_leader_goes_on_alone(several, config, tmp_path):
    run = tmp_path / "run"
    killed(config, run)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(PROCESSES), "-m", "regnas"]
    command = [*launcher, "run", str(config), "--out", str(run), "--resume"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("report: ") == 1
    assert "2 processes for the supernet" in (run / "report" / "index.html").read_text()
    assert supernet(run) == supernet(several.folder / "unbroken")


def test_the_leader_alone_speaks_and_writes(several):
    assert several.said == [f"train: done, in {several.folder / 'unbroken'}\n", ""]
    facts = json.loads((several.folder / "unbroken" / "run.json").read_text())
    assert (facts["processes"], facts["supernet_trained"]) == (PROCESSES, True)


def test_a_training_is_continued_by_as_many_processes_unless_it_need_not_be_exact(several, config, tmp_path, capsys):
    """By one process with --allow-inexact its steps stay as large, and the weights the same but for rounding."""
    unbroken, run = several.folder / "unbroken", tmp_path / "run"
    shutil.copytree(unbroken, run)
    (run / "supernet" / "step-6.safetensors").unlink()  # back to the middle of the training
    facts = json.loads((run / "run.json").read_text())
    write_sealed_json(run / "run.json", facts | {"supernet_trained": False})
    assert exit_code(["train", str(config), "--out", str(run), "--resume"]) == 2
    assert "(processes: 2 -> 1)" in capsys.readouterr().err
    assert exit_code(["train", str(config), "--out", str(run), "--resume", "--allow-inexact"]) == 0
    (name, content), (other_name, other) = supernet(unbroken), supernet(run)
    assert name == other_name == "step-6.safetensors"
    close(load(other), load(content), rtol=1e-4, atol=1e-5)


def test_what_follows_the_training_is_the_work_of_one_process(several, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(several.folder / "unbroken", run)
    assert exit_code(["search", str(run)]) == 0
    assert supernet(run) == supernet(several.folder / "unbroken")
