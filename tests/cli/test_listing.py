"""`regnas list`: what a configuration can name, at once."""

from __future__ import annotations

import subprocess
import sys

from regnas.cli.listing import GROUPS, all_registries, registered_parts, shipped_parts
from regnas.runs.tables import presets


def rows(stdout):
    """Kind and name of each row; descriptions may go on in further lines."""
    return [line for line in stdout.splitlines() if line and not line.startswith(" ")][1:]


def test_the_shipped_list_is_that_of_the_registries():
    """Else: python -c "from regnas.cli.listing import write_parts; write_parts()"."""
    assert shipped_parts() == registered_parts()


def test_every_part_and_every_preset_is_shown(command):
    outcome = command("list")
    assert outcome.code == 0
    names = {line.removeprefix(kind).split()[0] for kind in shipped_parts() for line in rows(outcome.stdout)}
    assert {name for parts in shipped_parts().values() for name in parts} <= names
    shown = rows(command("list", "presets").stdout)
    assert [line.split()[1] for line in shown] == presets()


def test_one_kind_is_shown_by_its_singular_or_its_plural(command):
    losses = rows(command("list", "losses").stdout)
    assert [line.split()[1] for line in losses] == list(shipped_parts()["loss"])
    assert rows(command("list", "loss").stdout) == losses
    assert len(rows(command("list", "data-sets").stdout)) == len(shipped_parts()["data set"])


def test_other_words_are_looked_for_in_the_names(command):
    shown = rows(command("list", "ELODI").stdout)
    assert {line.split()[0] for line in shown} == {"baseline", "method"}
    assert all("elodi" in line.split()[1] for line in shown)


def test_a_word_that_is_nowhere_is_refused_with_the_kinds(refusal):
    code, (line,) = refusal("list", "lossess")
    assert code == 2
    assert 'got "lossess"; did you mean "losses"?' in line


def test_the_list_waits_for_no_torch():
    program = (
        "import sys; from regnas.cli import exit_code; assert exit_code(['list']) == 0\n"
        "assert not {'torch', 'optuna', 'scipy', 'sklearn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)


def test_packages_add_parts_to_every_kind_but_baselines_which_are_methods():
    assert {registry.kind: registry.group for registry in all_registries()} == GROUPS | {"baseline": ""}
