"""Checkpoints of a training that is killed."""

from __future__ import annotations

import torch

from regnas.training.checkpoint import last_checkpoint, save_checkpoint


def save(folder, step):
    save_checkpoint(folder, step, {"model": {"weight": torch.tensor([float(step)])}})


def test_files_that_a_killed_process_left_are_deleted_with_the_next_checkpoint(tmp_path):
    for step in (2, 4):
        save(tmp_path, step)
    unnamed = (tmp_path / "step-2.safetensors").read_bytes()
    (tmp_path / "step-1.safetensors").write_bytes(unnamed)  # killed before it was deleted
    (tmp_path / "step-5.safetensors").write_bytes(unnamed)  # killed before the index named it
    save(tmp_path, 6)
    assert {path.name for path in tmp_path.glob("step-*")} == {"step-4.safetensors", "step-6.safetensors"}
    assert last_checkpoint(tmp_path).step == 6
