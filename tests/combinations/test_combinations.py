"""Each listed combination passes `check`, has an effect, and runs with `--verify`.

A group of combinations is one test, which runs them in this process: a process for each would take minutes.
`OPEN` has those that are still refused, each by its name: one that begins to work must leave the list.

    python -m tests.combinations.test_combinations [GROUP]      # prints what each of them gives
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from flashkeep import cli

from .listed import GROUPS, Combination, Keys

OPEN = {name for name in (Path(__file__).parent / "open.txt").read_text().splitlines() if name}


class Answer(NamedTuple):
    code: int
    out: str
    err: str


def call(*arguments: str) -> Answer:
    """The command, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(list(arguments))
    return Answer(code, out.getvalue(), err.getvalue())


def text(keys: Keys) -> str:
    """A drive file with these keys."""
    tables: dict[str, list[str]] = {}
    for key, value in keys.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, []).append(f"{name} = {json.dumps(value)}")
    return "".join(f"[{table}]\n" + "\n".join(lines) + "\n" for table, lines in tables.items())


def files(combination: Combination, place: Path) -> Path:
    """Writes the drive file, and those of its members."""
    members = []
    for number, (count, keys) in enumerate(combination.members):
        (place / f"member{number}.toml").write_text(text(keys))
        members.append(f"{count} ./member{number}.toml")
    head = f"members = {json.dumps(members)}\n" if members else ""
    path = place / "drive.toml"
    path.write_text(head + text(combination.keys))
    return path


def finding(combination: Combination, place: Path) -> str | None:
    """The error of a combination, if there is one."""
    path = str(files(combination, place))
    checked = call("check", path, "--json")
    if checked.code:
        return f"check: {checked.err.strip()}"
    told = json.loads(checked.out).get("warnings", [])
    inert = [line for line in told if "no effect" in line or "no block is retired" in line]
    if inert:
        return f"check: {inert[0]}"
    options = [str(place / option) if option in ("SAVED", "FILE") else option for option in combination.options]
    if "SAVED" in combination.options:
        saved = call("age", path, str(place / "SAVED"), "--quiet", "--verify")
        if saved.code:
            return f"age: {saved.err.strip()}"
    answer = call("run", path, combination.workload, *options, "--verify", "--json")
    if answer.code not in ((0, 3) if combination.loses else (0,)):
        return f"exit {answer.code}: {answer.err.strip()}"
    integrity = json.loads(answer.out)["integrity"]
    if integrity["wrong_reads"]:
        return f"{integrity['wrong_reads']} wrong reads"
    return None


def findings(group: str) -> Iterator[tuple[str, str | None]]:
    for combination in GROUPS[group]():
        with tempfile.TemporaryDirectory() as place:
            yield combination.name, finding(combination, Path(place))


@pytest.mark.parametrize("group", GROUPS)
def test_listed_combinations_work(group: str) -> None:
    found = dict(findings(group))
    wrong = {name: what for name, what in found.items() if what is not None and name not in OPEN}
    assert not wrong
    works = [name for name, what in found.items() if what is None and name in OPEN]
    assert not works, "these are no longer open"


def test_every_name_is_used_once() -> None:
    names = [combination.name for group in GROUPS.values() for combination in group()]
    assert len(names) == len(set(names))
    assert set(names) >= OPEN


if __name__ == "__main__":
    for wanted in sys.argv[1:] or GROUPS:
        for name, what in findings(wanted):
            print(f"{wanted}\t{name}\t{what or 'works'}", flush=True)
