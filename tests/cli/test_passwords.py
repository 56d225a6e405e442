"""Passwords of databases: a run needs them, and neither shows nor keeps them."""

from __future__ import annotations

import pytest

from benchmarks.reliability import postgresql
from benchmarks.tiny import write_tiny


@pytest.mark.slow
def test_a_run_does_not_store_the_password_and_continues_with_pgpassword_or_a_password_file(
    postgresql_server, tmp_path, command, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    postgresql_server.create("secret")
    config, run = write_tiny(tmp_path), tmp_path / "run"
    changes = ("training.epochs=1", "baselines={}", f"search.storage={postgresql_server.address('secret')}")
    sets = [part for change in changes for part in ("--set", change)]
    outcomes = [command("train", config, "--out", run, *sets)]
    assert outcomes[0].code == 0, outcomes[0].stderr

    outcomes.append(command("search", run))
    assert outcomes[1].code == 5
    assert "the password is in PGPASSWORD or ~/.pgpass" in outcomes[1].stderr

    with monkeypatch.context() as variables:
        variables.setenv("PGPASSWORD", postgresql.PASSWORD)
        outcomes.append(command("search", run))
    (tmp_path / ".pgpass").write_text(f"*:*:*:{postgresql.USER}:{postgresql.PASSWORD}\n")
    (tmp_path / ".pgpass").chmod(0o600)
    outcomes.append(command("export", run))
    assert [outcome.code for outcome in outcomes] == [0, 5, 0, 0], outcomes
    texts = [outcome.stdout + outcome.stderr for outcome in outcomes]
    texts += [path.read_text(errors="replace") for path in run.rglob("*") if path.is_file()]
    assert not any(postgresql.PASSWORD in text for text in texts)


@pytest.mark.parametrize(
    "change",
    [
        "search.storage.x=1",
        'search.storage=["postgresql://bob:s3cret@h/db"]',
        "seed=postgresql://bob:s3cret@h/db",
        "data.path=postgresql://bob:s3cret@h/db",
    ],
)
def test_no_refusal_quotes_a_password(tmp_path, command, change):
    config = write_tiny(tmp_path)
    storage = 'storage = "postgresql://bob:s3cret@127.0.0.1:9/db"'
    config.write_text(config.read_text().replace("[search]", f"[search]\n{storage}"))
    outcome = command("validate", config, "--set", change)
    assert outcome.code in (2, 3)
    assert "s3cret" not in outcome.stderr
