"""Help, manual page and completion: what a user reads before running anything."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND, Command
from flashkeep.cli.completion import SCRIPTS, candidates
from flashkeep.cli.options import COMMANDS

GROUPS = sorted({name.split()[0] for name in (command.name for command in COMMANDS) if " " in name})


@pytest.mark.parametrize("words", [[], *(command.name.split() for command in COMMANDS), *([group] for group in GROUPS)])
def test_every_help_fits_80_columns(flashkeep: Command, words: list[str]) -> None:
    code, out, err = flashkeep(*words, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: flashkeep {' '.join(words)}".rstrip())
    wide = [line for line in out.splitlines() if len(line) > 80]
    assert not wide
    assert flashkeep("help", *words).out == out


def test_help_of_a_group_has_its_subcommands_and_an_example(flashkeep: Command) -> None:
    out = flashkeep("trace", "--help").out
    for line in ("  info TRACE... ", "  convert IN... OUT ", "  synth WORKLOAD OUT ", "  flashkeep trace info oltp"):
        assert f"\n{line}" in out
    assert "see also: flashkeep reproduce documents" in flashkeep("reproduce", "--help").out
    code, _, err = flashkeep("trace")
    assert code == 2
    assert "needs a subcommand: info, convert, synth" in err


def test_examples_of_commands_are_valid(flashkeep: Command) -> None:
    for command in COMMANDS:
        if command.example:
            assert command.example.startswith(command.name)
            words = command.example.split(" | ")[0].split(" > ")[0].split()
            assert candidates([*words, ""]) is not None
            given = set(words) & {word for word in words if word.startswith("--")}
            assert given <= {option.flag for option in command.options}, command.name


@pytest.mark.parametrize(
    ("words", "told", "order"),
    [
        (["run", "WORKLOAD", "DRIVE"], "'DRIVE' is a drive; the drive comes first", "run DRIVE WORKLOAD"),
        (["run", "FILE", "2CM-128"], "'2CM-128' is a drive; the drive comes first", "run 2CM-128 FILE"),
        (["run", "FILE", "FILE"], "'FILE' is a workload; the drive comes first", "run DRIVE FILE FILE"),
        (["compare", "2CM-128", "DRIVE", "FILE"], "the workload comes first", "compare FILE 2CM-128 DRIVE"),
        (["compare", "2CM-128", "1CNM-64"], "the workload comes first", "compare TRACE 2CM-128 1CNM-64"),
        (["compare", "WORKLOAD", "DRIVE", "WORKLOAD"], "the workload comes first", "compare WORKLOAD WORKLOAD DRIVE"),
        (["age", "WORKLOAD", "aged.fk", "2CM-128"], "the drive comes first", "age 2CM-128 WORKLOAD"),
    ],
)
def test_swapped_arguments_are_explained(
    flashkeep: Command, drive: Path, trace: Path, words: list[str], told: str, order: str
) -> None:
    def meant(text: str) -> str:
        of = {"DRIVE": drive, "FILE": trace, "WORKLOAD": "synth:random,requests=100"}
        place = "run DRIVE FILE FILE" in text or "TRACE" in text  # what the message itself cannot know
        return " ".join(word if place and word == "DRIVE" else str(of.get(word, word)) for word in text.split(" "))

    code, out, err = flashkeep(*[meant(word) for word in words])
    assert (code, out) == (2, "")
    for name, value in (("DRIVE", drive), ("FILE", trace)):
        told = told.replace(f"'{name}'", f"'{value}'")
    assert told in err
    assert err.endswith(f"flashkeep {meant(order)}\n")


def test_the_manual_page_has_every_command_and_option(flashkeep: Command) -> None:
    page = flashkeep("man").out
    for command in COMMANDS:
        assert f".SS flashkeep {command.name}".replace("-", "\\-") in page
        for option in command.options:
            assert option.flag.replace("-", "\\-") in page
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "error"], input=page, text=True, check=False)
        assert done.returncode == 0


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("", ["compare", "run", "trace", "--help"]),
        ("tr", ["trace"]),
        ("trace ", ["info", "convert", "synth"]),
        ("reproduce ", ["documents", "sirf1", "all"]),
        ("run 2C", ["2CM-128", "2CNM-64"]),
        ("run 2CM-128,redundancy.sch", ["2CM-128,redundancy.scheme="]),
        ("run 2CM-128,redundancy.scheme=mi", ["2CM-128,redundancy.scheme=mirror"]),
        ("run 2CM-128 synth:sirf-f", ["synth:sirf-fin1", "synth:sirf-fin2"]),
        ("run 2CM-128 synth:zipf,th", ["synth:zipf,theta="]),
        ("run 2CM-128 synth:zipf --re", ["--replay"]),
        ("run 2CM-128 synth:zipf --replay ", ["open", "closed", "batch"]),
        ("run --set ftl.gc.vi", ["ftl.gc.victim="]),
        ("run --set ftl.gc.victim=d", ["ftl.gc.victim=d-choices"]),
        ("run --set flash.summary_page=", ["flash.summary_page=true", "flash.summary_page=false"]),
        ("trace convert a b --to ms", ["msr"]),
        ("keys ftl.gc.th", ["ftl.gc.threshold"]),
        ("schemes raid", ["raid4", "raid5", "raid6", "raid-tp"]),
        ("completion ", ["bash", "fish", "zsh"]),
        ("metrics wear.", ["wear.erases_total"]),
        ("advise oltp.spc --drives ", ["8*tlc-client"]),
        ("advise oltp.spc --drives 4*tlc-client,redundancy.sch", ["4*tlc-client,redundancy.scheme="]),
        ("advise oltp.spc --schemes raid5,rai", ["raid5,raid6", "raid5,raid1"]),
        ("fleet 8*tlc-c", ["8*tlc-client"]),
        ("fleet 8*tlc-client:rai", ["8*tlc-client:raid6", "8*tlc-client:raid0"]),
        ("fleet 8*tlc-client:raid6 --workload synth:zip", ["synth:zipf"]),
    ],
)
def test_what_may_stand_at_the_cursor(line: str, some: list[str]) -> None:
    found = candidates(line.split(" "))
    assert set(some) <= set(found)
    assert all(word.startswith(line.rsplit(" ", maxsplit=1)[-1]) for word in found)


@pytest.mark.parametrize("line", ["run 2CM-128 trace.spc --out ", "nonsense ", "run 2CM-128 --seed ", "check a b "])
def test_files_are_left_to_the_shell(line: str) -> None:
    assert candidates(line.split(" ")) == []


ASK = {
    "bash": 'source "$0"; COMP_LINE="$1"; COMP_POINT=${#1}; _flashkeep; printf "%s\\n" "${COMPREPLY[@]}"',
    "fish": 'source $argv[1]; complete -C "$argv[2]"',
}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_scripts_work_in_their_shells(flashkeep: Command, tmp_path: Path, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    script = tmp_path / f"flashkeep.{shell}"
    script.write_text(flashkeep("completion", shell).out)
    if shell == "zsh":  # its completion needs a terminal: only the syntax
        assert subprocess.run(["zsh", "-n", script], check=False).returncode == 0
        return

    def ask(line: str) -> list[str]:
        path = f"{COMMAND.parent}:/usr/bin:/bin"
        done = subprocess.run(
            [shell, "-c", ASK[shell], script, line], capture_output=True, text=True, check=True,
            env={"PATH": path, "HOME": str(tmp_path)},
        )  # fmt: skip
        return [word.split("\t")[0] for word in done.stdout.split("\n") if word]

    assert {"run", "compare"} <= set(ask("flashkeep "))
    assert set(ask("flashkeep schemes rai")) == {"raid4", "raid5", "raid6", "raid-tp"}
    whole = "" if shell == "bash" else "redundancy.scheme="
    assert f"{whole}dvs" in ask("flashkeep check 2CM-128 --set redundancy.scheme=dv")
    synth = "" if shell == "bash" else "synth:"
    assert set(ask("flashkeep run 2CM-128 synth:sirf-f")) == {f"{synth}sirf-fin1", f"{synth}sirf-fin2"}
    assert set(SCRIPTS) <= set(ask("flashkeep completion "))


def test_an_unknown_shell_is_refused(flashkeep: Command) -> None:
    code, _, err = flashkeep("completion", "csh")
    assert code == 2
    assert "zsh" in err
    assert json.loads(flashkeep("workloads", "--json").out)["workloads"]
