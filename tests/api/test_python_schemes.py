"""`redundancy.scheme = "python"`: redundancy schemes in Python files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest
from flashkeep import cli
from flashkeep.render.text_list import toml
from flashkeep.sweeping.cells import cells_of
from flashkeep.sweeping.plan import plan_of

SCHEMES = Path(__file__).parents[2] / "examples" / "schemes"
MIRROR, RAID5 = (SCHEMES / f"{name}.py" for name in ("mirror", "raid5"))
DRIVE: dict[str, Any] = {
    "flash": {"channels": 6, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1, "blocks_per_plane": 40,
              "pages_per_block": 16, "page_kib": 4},
    "ftl": {"over_provisioning": 0.3},
    "start": {"existing": "all"},
}  # fmt: skip
WORKLOAD = "synth:random,requests=4k,write=0.6,size=2KiB:0.2/4KiB:0.5/16KiB:0.3,rate=2k"


def with_file(path: object) -> dict[str, object]:
    return {"redundancy.scheme": "python", "redundancy.file": str(path)}


def pair(name: str, **more: object) -> tuple[fk.Drive, fk.Drive]:
    """The built-in scheme and that of the file."""
    drive = fk.drive(DRIVE).replace(**{"redundancy.width": 2 if name == "mirror" else 6, **more})
    return drive.replace(**{"redundancy.scheme": name}), drive.replace(**with_file(SCHEMES / f"{name}.py"))


def simulated(result: fk.Result) -> dict[str, Any]:
    """All that was simulated: a summary without what names the scheme or the machine."""
    summary = result.to_dict()
    return {key: value for key, value in summary.items()
            if key not in ("run", "drive", "drive_changes", "redundancy", "options", "command")}  # fmt: skip


def same(one: fk.Drive, other: fk.Drive, workload: str = WORKLOAD, **options: Any) -> fk.Result:
    expected, found = (fk.run(drive, workload, requests=False, **options) for drive in (one, other))
    assert simulated(found) == simulated(expected)
    return found


@pytest.mark.parametrize("name", ["mirror", "raid5"])
def test_a_scheme_in_a_file_is_the_built_in_one(name: str) -> None:
    found = same(*pair(name), verify=True)
    assert found.operations.program.mirror + found.operations.program.parity > 1000
    assert found.integrity.wrong_reads == 0


@pytest.mark.parametrize("name", ["mirror", "raid5"])
@pytest.mark.parametrize(
    "fail",
    [
        ["member:1@30%"],
        ["member:1@30%,replace_after=50ms"],
        ["power@300req", "power@60%"],
        ["member:0@30%,replace_after=20ms", "power@50%", "member:1@80%,replace_after=20ms"],
    ],
)
def test_failures_rebuilds_and_power_losses_are_the_same(name: str, fail: list[str]) -> None:
    found = same(*pair(name), fail=fail, verify=True)
    assert found.integrity.wrong_reads == 0


@pytest.mark.parametrize("name", ["mirror", "raid5"])
def test_a_saved_drive_goes_on(name: str, tmp_path: Path) -> None:
    """Nothing is read before: whose turn it is begins anew with the object."""
    results = []
    for at, drive in enumerate(pair(name)):
        aged = tmp_path / f"{at}.fk"
        fk.run(drive, WORKLOAD.replace("write=0.6", "write=1"), untimed=True, save_aged=aged)
        results.append(fk.run(drive, WORKLOAD, aged=aged, requests=False))
    assert simulated(results[0]) == simulated(results[1])


@pytest.mark.parametrize("name", ["mirror", "raid5"])
def test_arrays_have_schemes_in_files(name: str, tmp_path: Path) -> None:
    member = "flash = {channels = 1, blocks_per_plane = 40, pages_per_block = 16, page_kib = 4}\n"
    (tmp_path / "member.toml").write_text(f"{member}ftl.over_provisioning = 0.28\n")
    array = "members = ['3 * member.toml']\nstart.existing = 'all'\n"
    workload = f"{WORKLOAD},footprint=1MiB"
    found = []
    for scheme in (f"scheme = '{name}'", f"scheme = 'python', file = '{SCHEMES / name}.py', stripe_kib = 4"):
        chunk = "" if name == "mirror" or "stripe" in scheme else ", stripe_kib = 4"
        (tmp_path / "array.toml").write_text(f"{array}redundancy = {{{scheme}{chunk}}}\n")
        found.append(fk.run(tmp_path / "array.toml", workload, requests=False, fail=["member:1@50%"], verify=True))
    assert found[0].response_us.all.to_dict() == found[1].response_us.all.to_dict()
    assert found[0].operations.to_dict() == found[1].operations.to_dict()


def test_members_of_arrays_have_schemes_in_files(tmp_path: Path) -> None:
    digests = []
    for scheme in ("scheme = 'raid5'", f"scheme = 'python', file = '{RAID5}'"):
        (tmp_path / "member.toml").write_text(
            "flash = {channels = 4, blocks_per_plane = 40, pages_per_block = 16, page_kib = 4}\n"
            f"ftl.over_provisioning = 0.3\nredundancy = {{{scheme}}}\n"
        )
        (tmp_path / "array.toml").write_text("members = ['2 * member.toml']\nredundancy.scheme = 'mirror'\n")
        digests.append(fk.run(tmp_path / "array.toml", WORKLOAD, requests=False).digest)
    assert digests[0] == digests[1]


# ---------------------------------------------------------------- broken schemes


def broken(tmp_path: Path, source: Path, old: str, new: str) -> str:
    text = source.read_text()
    assert text.count(old) == 1, old
    path = tmp_path / "mine.py"
    path.write_text(text.replace(old, new))
    return str(path)


REFUSED = [
    (MIRROR, "    def places(", "    def place(", "the class Scheme has no method places(page)"),
    (MIRROR, "class Scheme:", "class Shceme:", "it has no class Scheme"),
    (MIRROR, "self.capacity = pages", "self.capacity = 'all'",
     "Scheme.capacity is 'all'; a number of pages is accepted"),
    (MIRROR, "self.capacity = pages", "self.capacity = pages * 100", "Scheme.capacity is 1200; 1 to 72 are accepted"),
    (MIRROR, "[(member, page) for", "[(member + 1, page) for",
     "Scheme.places(0): member 6 of (6, 0): 0 to 5 are accepted"),
    (MIRROR, "[(member, page) for", "[(member, str(page)) for",
     "Scheme.places(0) returned (0, '0') in the place of a place (member, page) of two integers"),
    (MIRROR, "[(member, page) for", "[(member, page // 2) for",
     "Scheme.places(1): (0, 0) is used by Scheme.places(0) already"),
    (RAID5, "self.capacity = pages * self.data", "self.capacity = pages * self.data - 1",
     "whole codewords of 5 data units are accepted"),
    (RAID5, "index + (index >= self.parity(stripe)[0])", "index",
     "Scheme.codewords(5): the units (4, 1) and (4, 1) are on one member; every unit is on another"),
    (RAID5, "return [self.place(page)]", "return [(0, page // self.data)]",
     "but Scheme.places(1) is (0, 0)"),
    (RAID5, "stripe, index = divmod(page, self.data)", "stripe, index = divmod(page, 0)",
     "line 31: Scheme.codewords(0): ZeroDivisionError"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "old", "new", "told"), REFUSED)
def test_a_file_that_cannot_be_is_refused(tmp_path: Path, source: Path, old: str, new: str, told: str) -> None:
    path = broken(tmp_path, source, old, new)
    with pytest.raises(fk.DriveError) as error:
        fk.drive(DRIVE).replace(**{**with_file(path), "redundancy.width": 6})
    assert told in str(error.value)
    assert path in str(error.value)
    assert error.value.field == "redundancy.file"
    assert "\n" not in str(error.value)


PLANS = [
    (MIRROR, "for member in range(self.members)]]", "for member in range(self.members - 1)]]",
     " is written by 1 step; one to each of its copies is accepted: (0, "),
    (MIRROR, "return [[read(self.reader", "return [[write(self.reader", "writes (0, "),
    (MIRROR, "return [[read(self.reader(page, command.update, view), page)", "return [[read(2, page)",
     "member 2 of (2, "),
    (MIRROR, "return in_turn[0]", "return view.nothing", "AttributeError"),
    (MIRROR, "return in_turn[0]", "return None", "in the place of a step read(member, page) or write(member, page)"),
    (RAID5, "[*pages, self.parity(stripe)]]", "pages]", "no step writes the parity ("),
    (RAID5, "[*pages, self.parity(stripe)]]", "[*pages[1:], self.parity(stripe)]]", "no step writes page "),
    (RAID5, "return [*replaced, parity] if", "return replaced if", "the parity would be wrong: the pages read are "),
    (RAID5, "return [[read(*place) for place in reads], [write(*place)",
     "return [[write(*place)", "the parity would be wrong: the pages read are none with no old parity"),
]  # fmt: skip
"""Nine broken plans."""


@pytest.mark.parametrize(("source", "old", "new", "told"), PLANS)
def test_a_broken_plan_ends_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: Path, old: str, new: str, told: str
) -> None:
    path = broken(tmp_path, source, old, new)
    width = 2 if source == MIRROR else 6
    drive = fk.drive({**DRIVE, "start": {"existing": "none"}})
    with pytest.raises(fk.DriveError) as error:
        fk.run(drive.replace(**{**with_file(path), "redundancy.width": width}), WORKLOAD)
    assert str(error.value).startswith(path)
    assert "redundancy.file: Scheme.plan(" in str(error.value)
    assert told in str(error.value)
    assert (error.value.path, error.value.field) == (path, "redundancy.file")
    assert ("Error" in told) == (error.value.line is not None)
    (tmp_path / "drive.toml").write_text(toml(DRIVE))
    keys = f"redundancy.scheme=python,redundancy.file={path},redundancy.width={width}"
    assert cli.main(["run", f"{tmp_path}/drive.toml,{keys}", WORKLOAD]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "cannot be read: No such file"),
        ("class Scheme(:\n", "SyntaxError"),
        ("Scheme = 3\n", "it has no class Scheme"),
        ("1 / 0\n", "line 1: ZeroDivisionError"),
        ("class Scheme:\n    def __init__(self): ...\n", "Scheme(6, 12, 1): TypeError"),
    ],
)
def test_a_file_without_a_scheme_is_refused(tmp_path: Path, text: str | None, told: str) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(fk.DriveError, match=r".") as error:
        fk.drive(DRIVE).replace(**with_file(path))
    assert told in str(error.value)


def test_the_file_must_be_named() -> None:
    with pytest.raises(fk.DriveError, match=r'"python" needs redundancy\.file'):
        fk.drive(DRIVE).replace(**{"redundancy.scheme": "python"})


# ---------------------------------------------------------------- conformance


def conformance_of(path: object, only: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = cli.main(["conformance", str(path), "--only", only, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("source", [MIRROR, RAID5])
@pytest.mark.parametrize("only", ["inside::", "rebuilt", pytest.param(":", marks=pytest.mark.full)])
def test_the_examples_pass_conformance(source: Path, only: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = conformance_of(source, only, capsys)
    assert [check for check in found["checks"] if not check["kept"]] == []
    assert (code, found["kept"], found["file"]) == (0, True, str(source))
    assert found["members"] == [5, 3]
    assert len(found["checks"]) > {"inside::": 20, "rebuilt": 4, ":": 50}[only]


COUNTS = """
        builtins.flashkeep_calls = getattr(builtins, "flashkeep_calls", 0) + 1
        if builtins.flashkeep_calls % 7 == 0 and view.written(command.pages[0]):
            return [*[self.place(page) for page in command.pages], self.parity(stripe)]
"""


def test_a_scheme_that_breaks_a_promise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a write reads follows from how often the file was asked by earlier drives."""
    path = tmp_path / "mine.py"
    text = RAID5.read_text().replace("from flashkeep", "import builtins\n\nfrom flashkeep", 1)
    old = "        there = ["
    assert text.count(old) == 1
    path.write_text(text.replace(old, COUNTS + old))
    code, found = conformance_of(path, "same_history", capsys)
    assert code == 3
    assert not found["kept"]
    told = [check["message"] for check in found["checks"] if not check["kept"]]
    assert all("left == right" in message and str(path) in message for message in told)


def test_a_wrong_file_is_no_broken_promise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = broken(tmp_path, RAID5, "[*pages, self.parity(stripe)]]", "pages]")
    assert cli.main(["conformance", path]) == 2
    told = capsys.readouterr().err
    assert "no step writes the parity (" in told
    assert told.count("\n") == 1
    assert cli.main(["conformance", str(tmp_path / "gone.py")]) == 2
    assert "cannot be read" in capsys.readouterr().err


# ---------------------------------------------------------------- sweeps


def test_sweeps_know_schemes_by_their_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = []
    for folder, text in (("a", ""), ("b", ""), ("c", "# changed\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(RAID5.read_text() + text)
        plan = {"workload": WORKLOAD, "drive": fk.drive(DRIVE).replace(**with_file(os.path.join(folder, "mine.py")))}
        names.append(cells_of(plan_of(plan))[0].name)
    assert names[0] == names[1] != names[2]
