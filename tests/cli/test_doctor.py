from __future__ import annotations

import json

from regnas.health import self_test


def test_the_command_exits_with_5_if_something_failed(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def broken(_):
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr(self_test, "TESTS", {"fire": ((), broken)})
    text, as_json = command("doctor"), command("doctor", "--json")
    assert (text.code, as_json.code) == (5, 5)
    assert "RuntimeError: the disk is on fire" in text.stdout
    assert text.stdout.splitlines()[-1].endswith("failed: fire.")
    table = json.loads(as_json.stdout)
    assert [each["name"] for each in table["findings"] if each["status"] == "failed"] == ["fire"]
    assert command("doctor", "--no-self-test").code == 0
