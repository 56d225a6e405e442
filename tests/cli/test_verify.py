"""`regnas verify`: what is damaged, missing or forged is named, one line each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regnas.family.manifest import verify_family
from regnas.family.manifest.manifest import canonical
from regnas.family.networks import member_costs
from regnas.runtime.files import digest_of, sha256_of


@pytest.fixture
def family(exported_run, tmp_path):
    return shutil.copytree(exported_run / "family", tmp_path / "family")


def forge(folder, change):
    """Change the manifest and renew its digest, as an attacker would."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["digest"]
    change(manifest)
    path.write_text(canonical(manifest | {"digest": digest_of(manifest)}))


@pytest.mark.parametrize("part", ["", "family"])
def test_a_complete_family_passes_with_every_file_named(exported_run, command, part):
    outcome = command("verify", exported_run / part)
    assert outcome.code == 0, outcome.stderr
    for path in (exported_run / "family").iterdir():
        assert path.name == "manifest.json" or path.name in outcome.stdout
    assert "medium contains small" in outcome.stdout
    assert "large contains medium" in outcome.stdout
    assert "MACs and parameters are those of the networks" in outcome.stdout
    assert "passed: all 15 files" in outcome.stdout


def test_one_flipped_bit_is_found_in_any_file_wherever_it_is(exported_run, family):
    for path in sorted(family.iterdir()):
        whole = path.read_bytes()
        for place in (0, 1, 8, len(whole) // 3, len(whole) // 2, len(whole) - 2, len(whole) - 1):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << place % 8
            path.write_bytes(damaged)
            problems = verify_family(family, member_costs).problems
            assert len(problems) >= 1, (path.name, place)
            assert path.name in problems[0]
            assert sum(path.name not in problem for problem in problems) == 0
        path.write_bytes(whole)
    assert verify_family(family, member_costs).problems == ()


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_every_flipped_bit_of_the_manifest_is_detected(family, exported_run, place, bit):
    """Including flips that keep the value: 1e-05 and 1E-05, or the last digit of a long number."""
    content = bytearray((exported_run / "family" / "manifest.json").read_bytes())
    content[place % len(content)] ^= 1 << bit
    (family / "manifest.json").write_bytes(content)
    (problem,) = verify_family(family, lambda manifest: pytest.fail("a damaged manifest was believed")).problems
    assert "manifest.json" in problem
    assert len(problem.splitlines()) == 1


def test_every_problem_has_a_line_of_its_own(family, refusal):
    (family / "small.md").unlink()
    (family / "large.onnx").write_bytes(b"")
    (family / "medium.safetensors").write_bytes(b"x" * (family / "medium.safetensors").stat().st_size)
    code, lines = refusal("verify", family)
    assert code == 3
    assert len(lines) == 3
    assert f"{family / 'medium.safetensors'} is damaged: its sha256 must be" in lines[0]
    assert f"{family / 'large.onnx'} is damaged: it must have" in lines[1]
    assert f"{family / 'small.md'} is missing" in lines[2]


def test_files_that_are_not_listed_are_mentioned(family, command):
    (family / "evil\n.onnx").write_bytes(b"x")
    (family / "folder").mkdir()
    outcome = command("verify", family)
    assert outcome.code == 0
    assert r"'evil\n.onnx' is not listed in the manifest" in outcome.stdout
    assert "'folder' is not listed in the manifest" in outcome.stdout


def set_in(*keys):
    *path, last, value = keys

    def change(manifest):
        for key in path:
            manifest = manifest[key]
        manifest[last] = value

    return change


def swapped_architectures(manifest):
    small, large = manifest["members"][0], manifest["members"][2]
    small["architecture"], large["architecture"] = large["architecture"], small["architecture"]


def false_proof(manifest):
    shared = manifest["containment"][0]["shared"]
    shared["classifier.bias"]["sha256"] = shared["classifier.weight"]["sha256"]


def transposed(manifest):
    nfr = manifest["flip_table"]["nfr"]
    manifest["flip_table"]["nfr"] = [list(row) for row in zip(*nfr, strict=True)]
    nfr[0][1] = 0.5


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (set_in("members", 0, "macs", 1), "small must have "),
        (set_in("members", 1, "parameters", 10**12), " parameters, got 1,000,000,000,000"),
        (set_in("members", 0, "macs", -1), "macs of a member must be not negative"),
        (set_in("members", 0, "macs", "5"), "macs of a member must be a whole number"),
        (set_in("members", 0, "top1", 0.123), "flip_table contradicts the members' Top-1"),
        (set_in("members", 0, "architecture", "stages", 0, 0, "width", 5000), "is not a choice there"),
        (set_in("members", 0, "architecture", "stages", 0, 0, "width", "5"), "not an architecture"),
        (set_in("members", []), "members of the manifest must be at least one"),
        (swapped_architectures, "the architecture of large does not contain that of medium"),
        (false_proof, "does not contain small: the tensors show something else than manifest.json (classifier.bias)"),
        (lambda manifest: manifest["containment"].pop(), "does not contain medium: manifest.json has 0 proofs of it"),
        (set_in("flip_table", "nfr", 0, 0, 0.3), "flip_table contradicts itself"),
        (set_in("exported_flips", "onnx", "relative_nfr", 0, 1, 9.0), "exported_flips.onnx contradicts itself"),
        (set_in("exported_flips", {}), "small.onnx has a format without flips among its files: 'onnx'"),
        (transposed, "the flip rates contradict the accuracies"),
        (set_in("flip_table", "samples", 7), "has rates that no 7 images give"),
        (set_in("flip_table", "models", ["a", "b", "c"]), "flip_table is of a, b, c, the members are small"),
        (set_in("exports", 3, "nfr", 0.25), "the flips of small.onnx contradict its Top-1"),
        (set_in("exports", 3, "source", "0" * 64), "small.onnx was made from other weights than small.safetensors"),
        (set_in("exports", 3, "member", "tiny"), "small.onnx is of a member 'tiny' that does not exist"),
        (set_in("exports", 3, "file", "small.md"), "small.md is damaged"),
        (set_in("cards", 0, "file", "small.onnx"), "lists small.onnx for more than one thing"),
        (set_in("classes", ["a", "b", "c"]), "its metadata contradicts the manifest: regnas.classes"),
        (set_in("input_shape", [1, 8]), "input_shape of the manifest must be channels, height and width"),
        (set_in("supernet", "widths", 5), "the supernet of the manifest cannot be built"),
        (set_in("format", 3), "must have format 2, got 3"),
        (lambda manifest: manifest.pop("exports"), "lacks exports"),
    ],
)
def test_a_forged_manifest_is_detected(family, refusal, change, problem):
    forge(family, change)
    code, lines = refusal("verify", family)
    assert code == 3
    assert any(problem in line for line in lines), lines


@pytest.mark.parametrize("file", ["../outside.onnx", "/etc/passwd", "sub/x.onnx", "..", "", "a\\b", "a\0b", "a\nb"])
@pytest.mark.parametrize("kind", ["members", "exports", "cards"])
def test_no_path_outside_the_folder_is_opened(family, refusal, kind, file):
    forge(family, set_in(kind, 0, "file", file))
    code, lines = refusal("verify", family)
    assert code == 3
    assert len(lines) == 1
    assert "must name files in its own folder" in lines[0]


@pytest.mark.parametrize("name", ["manifest.json", "small.safetensors", "small.onnx", "small.md"])
def test_a_link_that_leaves_the_folder_is_refused_even_with_the_right_content(family, refusal, name):
    (family / name).rename(family.parent / "elsewhere")
    (family / name).symlink_to(family.parent / "elsewhere")
    code, lines = refusal("verify", family)
    assert code == 3
    assert lines == [f"regnas: {family / name} must be in its folder, got a link that leaves it"]


def test_only_regular_files_are_opened(family, refusal):
    for name in ("small.onnx", "small.md", "small.pt2"):
        (family / name).unlink()
    os.mkfifo(family / "small.onnx")  # opening it would wait forever
    (family / "small.md").symlink_to("small.md")
    (family / "small.pt2").mkdir()
    code, lines = refusal("verify", family)
    assert code == 3
    named = [line.split()[1] for line in lines]
    assert named == [str(family / name) for name in ("small.onnx", "small.pt2", "small.md")]


def test_a_false_header_is_refused_even_with_a_correct_digest(family, refusal):
    path = family / "small.safetensors"
    path.write_bytes((2**62).to_bytes(8, "little") + path.read_bytes()[8:])
    digest = sha256_of(path)

    def relist(manifest):
        for entry in (manifest["members"][0], manifest["exports"][0]):
            entry["sha256"] = digest
        for entry in manifest["exports"]:
            if entry["member"] == "small":
                entry["source"] = digest

    forge(family, relist)
    code, lines = refusal("verify", family)
    assert code == 3
    assert all(f"{path} is not a safetensors file" in line for line in lines)


def test_a_manifest_of_gigabytes_is_not_read(family, refusal):
    with (family / "manifest.json").open("ab") as sink:
        sink.truncate(2**34)
    code, lines = refusal("verify", family)
    assert code == 3
    assert "over the limit" in lines[0]


def test_a_folder_without_a_family_is_refused(tmp_path, refusal):
    assert refusal("verify", tmp_path) == (
        3,
        [
            f"regnas: {tmp_path} must have manifest.json or family/manifest.json or models/manifest.json; it has none. "
            "`regnas export RUN` writes a family, `regnas update RUN` the models of an update."
        ],
    )


def test_without_the_package_of_a_supernet_costs_are_not_checked_and_a_note_is_printed(family, command):
    forge(family, set_in("supernet", "name", "theirs"))
    outcome = command("verify", family)
    assert outcome.code == 0, outcome.stderr
    assert "not checked: the supernet 'theirs' needs a package that is not installed" in outcome.stdout


def test_verifying_needs_no_torch_and_no_onnx(exported_run):
    program = (
        "import sys\n"
        "for name in ('torch', 'torchvision', 'onnx', 'onnxruntime', 'safetensors'): sys.modules[name] = None\n"
        "from regnas.cli import exit_code\n"
        "sys.exit(exit_code(['verify', sys.argv[1]]))"
    )
    done = subprocess.run([sys.executable, "-c", program, exported_run], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "MACs and parameters were not checked" in done.stdout
    assert "passed: all" in done.stdout
