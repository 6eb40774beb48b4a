"""`ftl.gc.victim = "python"`: victim policies in Python files."""

from __future__ import annotations

from pathlib import Path

import flashkeep as fk
import pytest
from flashkeep import cli
from flashkeep.render.text_list import toml
from flashkeep.sweeping.cells import cells_of
from flashkeep.sweeping.plan import plan_of

GREEDY = Path(__file__).parents[1] / "differential" / "greedy.py"
DRIVE = {
    "flash": {"channels": 4, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1, "blocks_per_plane": 40,
              "pages_per_block": 16, "page_kib": 4},
    "ftl": {"over_provisioning": 0.3},
    "start": {"existing": "all"},
}  # fmt: skip
WORKLOAD = "synth:random,requests=4k,write=0.8,size=4KiB,rate=2k"


def written(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text)
    return str(path)


def with_file(path: object) -> dict[str, str]:
    return {"ftl.gc.victim": "python", "ftl.gc.file": str(path)}


@pytest.mark.parametrize("scheme", ["none", "mirror", "raid5", "ds", "dvs"])
@pytest.mark.parametrize("levelling", ["none", "both"])
def test_greedy_in_python_is_greedy(scheme: str, levelling: str) -> None:
    drive = fk.drive(DRIVE).replace(**{"redundancy.scheme": scheme, "ftl.wear.levelling": levelling})
    expected = fk.run(drive.replace(**{"ftl.gc.victim": "greedy"}), WORKLOAD)
    found = fk.run(drive.replace(**with_file(GREEDY)), WORKLOAD)
    assert found.digest == expected.digest
    assert found.operations.erase.gc + found.operations.erase.parity_gc > 50


@pytest.mark.parametrize("array", ["raid5", "mirror"])
def test_members_of_arrays_have_policies_in_python(tmp_path: Path, array: str) -> None:
    member = tmp_path / "member.toml"
    text = "flash = {channels = 1, blocks_per_plane = 40, pages_per_block = 16, page_kib = 4}\n"
    for name, keys in (("own", "victim = 'greedy'"), ("python", f"victim = 'python', file = '{GREEDY}'")):
        member.write_text(text + f"ftl = {{over_provisioning = 0.3, gc = {{{keys}}}}}\n")
        (tmp_path / f"{name}.toml").write_text(
            f"members = ['4 * member.toml']\nredundancy.scheme = '{array}'\nstart.existing = 'all'\n"
        )
        digest = fk.run(tmp_path / f"{name}.toml", WORKLOAD, requests=False).digest
        member.unlink()
        if name == "own":
            expected = digest
    assert digest == expected


def test_a_policy_begins_anew_with_each_run(tmp_path: Path) -> None:
    path = written(tmp_path, "calls = []\ndef choose(valid, age, erases):\n"
                             "    calls.append(0)\n    return len(calls) % len(valid)\n")  # fmt: skip
    drive = fk.drive(DRIVE).replace(**with_file(path))
    assert fk.run(drive, WORKLOAD).digest == fk.run(drive, WORKLOAD).digest


def test_a_policy_sees_age_and_erases(tmp_path: Path) -> None:
    """The oldest block first is `fifo`."""
    checked = "    assert len(valid) == len(age) == len(erases)\n"
    path = written(tmp_path, f"def choose(valid, age, erases):\n{checked}    return age.index(max(age))\n")
    drive = fk.drive(DRIVE)
    fifo = fk.run(drive.replace(**{"ftl.gc.victim": "fifo"}), WORKLOAD)
    assert fk.run(drive.replace(**with_file(path)), WORKLOAD).digest == fifo.digest


@pytest.mark.parametrize(
    ("text", "told", "line"),
    [
        ("def choose(valid, age, erases):\n    return valid[10**6]\n", "IndexError: list index out of range", 2),
        ("def choose(valid, age, erases):\n    return -1\n", "choose returned -1; a place from 0 to ", None),
        ("def choose(valid, age, erases):\n    return 'x'\n", "choose returned 'x'", None),
        ("def choose(valid):\n    return 0\n", "TypeError", None),
    ],
)
def test_a_policy_that_fails_ends_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, told: str, line: int | None
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(fk.DriveError, match=r"ftl\.gc\.file") as error:
        fk.run(fk.drive(DRIVE).replace(**with_file(path)), WORKLOAD)
    assert told in str(error.value)
    assert (error.value.path, error.value.line) == (path, line)
    (tmp_path / "drive.toml").write_text(toml(DRIVE))
    keys = ",".join(f"{key}={value}" for key, value in with_file(path).items())
    assert cli.main(["run", f"{tmp_path}/drive.toml,{keys}", WORKLOAD]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "cannot be read: No such file"),
        ("def choose(:\n", "SyntaxError"),
        ("def chose(valid, age, erases): ...\n", "no function choose"),
        ("choose = 3\n", "no function choose"),
        ("1 / 0\n", "ZeroDivisionError"),
    ],
)
def test_a_file_without_a_policy_is_refused(tmp_path: Path, text: str | None, told: str) -> None:
    path = str(tmp_path / "gone.py") if text is None else written(tmp_path, text)
    with pytest.raises(fk.DriveError, match=told) as error:
        fk.drive(DRIVE).replace(**with_file(path))
    assert error.value.field == "ftl.gc.file"


def test_the_file_must_be_named() -> None:
    with pytest.raises(fk.DriveError, match=r'"python" needs ftl\.gc\.file'):
        fk.drive(DRIVE).replace(**{"ftl.gc.victim": "python"})


def test_sweeps_know_policies_by_their_text(tmp_path: Path) -> None:
    path = written(tmp_path, GREEDY.read_text())
    plan = {"workload": WORKLOAD, "drive": fk.drive(DRIVE).replace(**with_file(path))}
    (first,) = cells_of(plan_of(plan))
    written(tmp_path, GREEDY.read_text() + "# changed\n")
    assert cells_of(plan_of(plan))[0].name != first.name
