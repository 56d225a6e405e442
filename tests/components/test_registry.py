from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest

from regnas.components.registry import Registry
from regnas.errors import ConfigurationError, EnvironmentProblem, UnknownName


@dataclass(frozen=True)
class Square:
    """Four equal sides."""


@dataclass(frozen=True)
class Circle:
    """No side."""


@pytest.fixture
def shapes():
    return Registry("shape", "tests.shapes", {"square": Square})


def offer(monkeypatch, tmp_path, packages):
    """Put packages with entry points in the group of ``shapes`` on the path; {package: (points, code)}."""
    for package, (points, code) in packages.items():
        (tmp_path / f"{package}.py").write_text(code)
        described = tmp_path / f"{package}-1.0.dist-info"
        described.mkdir()
        (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (described / "entry_points.txt").write_text(f"[tests.shapes]\n{points}\n")
    monkeypatch.syspath_prepend(tmp_path)


TRIANGLE = "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Triangle:\n    'Three sides.'\n"


def test_a_table_is_a_mapping_and_a_miss_is_a_key_error_and_one_clear_line(shapes):
    assert "square" in shapes
    assert "round" not in shapes
    assert 3 not in shapes
    assert shapes.get("round") is None
    assert dict(shapes) == {"square": Square}
    with pytest.raises(KeyError) as caught:
        shapes["sqare"]
    assert isinstance(caught.value, ConfigurationError)
    assert isinstance(caught.value, UnknownName)
    assert str(caught.value) == 'unknown shape "sqare"; did you mean "square"? (known: square)'
    assert caught.value.exit_code == 2


def test_a_script_registers_a_part_with_one_line(shapes):
    assert shapes.register("circle")(Circle) is Circle
    assert shapes["circle"] is Circle
    assert list(shapes) == ["square", "circle"]
    assert shapes.name_of(Circle()) == "circle"
    assert shapes.name_of(Square()) == "square"
    assert shapes.name_of(3) is None
    assert shapes.summaries() == {"square": "Four equal sides.", "circle": "No side."}


def test_a_class_that_is_defined_again_replaces_the_former_one(shapes):
    def cell():
        @shapes.register("mine")
        @dataclass(frozen=True)
        class Mine:
            pass

        return Mine

    cell()
    second = cell()
    assert shapes["mine"] is second


def test_a_name_that_is_taken_is_refused_with_both_owners(shapes):
    with pytest.raises(ConfigurationError) as caught:
        shapes.register("square")(Circle)
    assert str(caught.value) == (
        'the shape "square" must have one owner, got regnas (tests.components.test_registry:Square) and '
        "tests.components.test_registry:Circle. Rename one, or uninstall its package."
    )
    assert shapes["square"] is Square


@pytest.mark.parametrize("part", [object, dataclass(type("Open", (), {})), Square(), print])
def test_a_part_that_a_configuration_cannot_build_is_refused(shapes, part):
    with pytest.raises(ConfigurationError, match='the shape "open" must be a frozen dataclass, got '):
        shapes.register("open")(part)


def test_a_package_adds_a_part_which_is_imported_on_first_use(shapes, monkeypatch, tmp_path):
    offer(monkeypatch, tmp_path, {"shapes_a": ("triangle = shapes_a:Triangle", TRIANGLE)})
    assert list(shapes) == ["square", "triangle"]
    assert "triangle" in shapes
    assert "shapes_a" not in sys.modules
    assert shapes["triangle"]().__doc__ == "Three sides."
    assert shapes.name_of(shapes["triangle"]()) == "triangle"


def test_a_package_that_cannot_be_imported_is_named_only_if_it_is_used(shapes, monkeypatch, tmp_path):
    packages = {
        "shapes_b": ("broken = shapes_b:Shape", "import no_such_module"),
        "shapes_c": ("absent = shapes_c:Absent\nloose = shapes_c:loose", "loose = 3"),
    }
    offer(monkeypatch, tmp_path, packages)
    assert shapes["square"] is Square
    assert {"broken", "absent", "loose"} < set(shapes)
    with pytest.raises(EnvironmentProblem) as caught:
        shapes["broken"]
    assert str(caught.value) == (
        'the shape "broken" of shapes_b (shapes_b:Shape) must be importable, got ModuleNotFoundError: No module named '
        "'no_such_module'. Repair or uninstall the package."
    )
    with pytest.raises(EnvironmentProblem, match="AttributeError"):
        shapes.get("absent")
    with pytest.raises(ConfigurationError, match=r"of shapes_c \(shapes_c:loose\) must be a frozen dataclass, got 3"):
        shapes["loose"]
    assert list(shapes.usable()) == ["square"]
    assert shapes.summaries()["broken"].startswith('the shape "broken" of shapes_b')


def test_two_packages_with_one_name_are_refused_if_it_is_used_and_both_are_named(shapes, monkeypatch, tmp_path):
    point = "triangle = {0}:Triangle\nsquare = {0}:Triangle"
    packages = {name: (point.format(name), TRIANGLE) for name in ("shapes_d", "shapes_e")}
    offer(monkeypatch, tmp_path, packages)
    assert len(shapes) == 2
    with pytest.raises(ConfigurationError) as caught:
        shapes["triangle"]
    assert "shapes_d (shapes_d:Triangle) and shapes_e (shapes_e:Triangle)" in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"must have one owner, got regnas \(.*:Square\) and shapes_d"):
        shapes["square"]
    with pytest.raises(ConfigurationError, match="must have one owner"):
        shapes.register("triangle")(Circle)


def test_a_table_on_top_of_another_has_its_parts_also_those_that_come_later(shapes):
    solids = Registry("solid", "", {"circle": Circle}, base=shapes, without=("square",))
    assert list(solids) == ["circle"]
    assert "square" not in solids

    @shapes.register("late")
    @dataclass(frozen=True)
    class Late:
        pass

    assert solids["late"] is Late
    assert solids.name_of(Late()) == "late"
    with pytest.raises(ConfigurationError, match='the solid "late" must have one owner'):
        solids.register("late")(Circle)


def test_a_part_given_by_its_place_is_imported_on_first_use():
    table = Registry("number", "", {"fraction": "fractions:Fraction"})
    assert table["fraction"](1, 2) * 2 == 1


def test_importing_the_tables_looks_for_no_entry_point():
    program = (
        "import importlib.metadata as metadata\n"
        "found = metadata.entry_points\n"
        "def watched(group):\n"
        "    assert not group.startswith('regnas.'), group\n"
        "    return found(group=group)\n"
        "metadata.entry_points = watched\n"
        "import regnas.runs.config, regnas.updates.config, regnas.family.export, regnas.comparison.reading\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


SCRIPT = """
from dataclasses import dataclass
from regnas.losses import LOSSES
from regnas.runtime.workers import run_in_order

@LOSSES.register("mine")
@dataclass(frozen=True)
class Mine:
    path: str
    def __call__(self, job):
        with open(self.path + job, "w") as file:
            file.write(type(self).__name__ + " in " + ", ".join(sorted(set(LOSSES) & {"mine"})))

if __name__ == "__main__":
    import sys
    print(*run_in_order({"a": [], "b": ["a"]}, LOSSES["mine"](sys.argv[1]), 2))
"""


def test_worker_processes_have_the_parts_of_a_script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, tmp_path / "script.py", f"{tmp_path}/out-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "a b\n", done.stderr
    assert (tmp_path / "out-b").read_text() == "Mine in mine"


def test_parts_of_an_interactive_session_are_refused_by_several_workers(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, f"{tmp_path}/out-"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    *_, last = [line for line in done.stderr.splitlines() if not line.startswith("when serializing")]  # Python 3.14
    assert last == (
        "regnas.errors.ConfigurationError: the number of workers must be 1, got more: worker processes cannot import "
        "Mine, which an interactive session defines. Move it into a file, or set machine.workers to 1."
    )
