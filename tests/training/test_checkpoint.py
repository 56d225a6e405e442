"""Checkpoints of a training that is killed."""

from __future__ import annotations

import torch

from regnas.training.checkpoint import last_checkpoint, save_checkpoint


def save(folder, step, interrupted=False):
    save_checkpoint(folder, step, {"model": {"weight": torch.tensor([float(step)])}}, interrupted)


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_that_a_killed_process_left_are_deleted_with_the_next_checkpoint(tmp_path):
    for step in (2, 4):
        save(tmp_path, step)
    unnamed = (tmp_path / "step-2.safetensors").read_bytes()
    (tmp_path / "step-1.safetensors").write_bytes(unnamed)  # killed before it was deleted
    (tmp_path / "step-5.safetensors").write_bytes(unnamed)  # killed before the index named it
    save(tmp_path, 6)
    assert {path.name for path in tmp_path.glob("step-*")} == {"step-4.safetensors", "step-6.safetensors"}
    assert last_checkpoint(tmp_path).step == 6


def test_an_interrupted_training_ends_with_the_checkpoints_of_one_that_was_not(tmp_path):
    for folder, steps in (("unbroken", (2, 4, 6)), ("broken", (2, -3, 4, -5, 6))):
        for step in steps:
            save(tmp_path / folder, abs(step), interrupted=step < 0)
            assert last_checkpoint(tmp_path / folder).step == abs(step)
            assert len(list((tmp_path / folder).glob("step-*"))) <= 2
    assert files(tmp_path / "broken") == files(tmp_path / "unbroken")
