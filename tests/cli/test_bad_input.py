"""Invalid input gives one message, without a traceback, and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import SMALL_DRIVE, Command

WORKLOAD = "synth:random,requests=10,rate=1k"

COMMAND_LINES = {
    "no command": ([], "flashkeep COMMAND"),
    "a misspelt command": (["runn", "DRIVE", WORKLOAD], "did you mean 'run'?"),
    "half a command": (["trace"], "needs a subcommand: info, convert, synth"),
    "a misspelt trace command": (["trace", "inof", "x"], "info, convert, synth, not 'inof'"),
    "an unknown option": (["--jsn"], "--jsn"),
    "a misspelt option": (["run", "DRIVE", WORKLOAD, "--sed", "3"], "did you mean '--seed'?"),
    "no trace": (["run", "DRIVE"], "TRACE missing"),
    "no drive": (["compare", WORKLOAD], "DRIVE missing"),
    "too many": (["schema", "everything"], "unexpected argument"),
    "an option without its value": (["run", "DRIVE", WORKLOAD, "--seed"], "--seed"),
    "a seed that is no number": (["run", "DRIVE", WORKLOAD, "--seed", "lucky"], "whole number"),
    "a negative seed": (["run", "DRIVE", WORKLOAD, "--seed", "-1"], "whole number"),
    "a seed of 65 bits": (["run", "DRIVE", WORKLOAD, "--seed", str(2**64)], "2^64"),
    "a seed of more digits than Python reads": (["run", "DRIVE", WORKLOAD, "--seed", "9" * 5000], "2^64"),
    "a seed of half a separator": (["run", "DRIVE", WORKLOAD, "--seed", "_1"], "whole number"),
    "sectors of more than 32 bits": (["trace", "info", "TRACE", "--sector-bytes", str(2**32)], "below 2^32"),
    "a depth of more than 32 bits": (["run", "DRIVE", WORKLOAD, "--replay", "closed", "--depth", "5G"], "below 2^32"),
    "a limit of nothing": (["run", "DRIVE", WORKLOAD, "--limit", "0"], "1 or more"),
    "a depth of nothing": (["run", "DRIVE", WORKLOAD, "--replay", "closed", "--depth", "0"], "1 or more"),
    "a word that is no choice": (["run", "DRIVE", WORKLOAD, "--replay", "opne"], "did you mean 'open'?"),
    "time that stands still": (["run", "DRIVE", WORKLOAD, "--time-scale", "0"], "above 0"),
    "time that is no number": (["run", "DRIVE", WORKLOAD, "--time-scale", "nan"], "above 0"),
    "time that no clock holds": (["run", "DRIVE", WORKLOAD, "--time-scale", "1e15"], "292 are accepted"),
    "all of it warm-up": (["run", "DRIVE", WORKLOAD, "--warmup", "100%"], "below 100 %"),
    "a setting without a value": (["run", "DRIVE", WORKLOAD, "--set", "flash.channels"], "KEY=VALUE"),
    "an unknown key": (["run", "DRIVE", WORKLOAD, "--set", "flash.chanels=4"], "flash.channels"),
    "a value of another type": (["run", "DRIVE", WORKLOAD, "--set", "flash.channels=many"], "flash.channels"),
    "a value out of range": (["run", "DRIVE", WORKLOAD, "--set", "flash.channels=0"], "flash.channels"),
    "an unknown scheme": (["run", "DRIVE", WORKLOAD, "--set", "redundancy.scheme=miror"], "mirror"),
    "an unknown preset": (["run", "2CM-129", WORKLOAD], "2CM-128"),
    "no such drive file": (["check", "nowhere/drive.toml"], "nowhere/drive.toml"),
    "no such trace": (["run", "DRIVE", "nowhere.trace"], "nowhere.trace"),
    "a directory for a trace": (["run", "DRIVE", "."], "directory"),
    "an unknown workload": (["run", "DRIVE", "synth:randm"], "random"),
    "an unknown key of a workload": (["run", "DRIVE", "synth:random,reqests=10"], "requests"),
    "a bad value of a workload": (["run", "DRIVE", "synth:random,write=2"], "write"),
    "an unknown format": (["run", "DRIVE", "TRACE", "--format", "sdsim"], "ssdsim"),
    "sectors of no size": (["run", "DRIVE", "TRACE", "--sector-bytes", "0"], "1 or more"),
    "an unknown preset to show": (["drives", "2CM"], "2CM-128"),
    "an unknown scheme to show": (["schemes", "miror"], "mirror"),
    "an unknown format to show": (["formats", "sdsim"], "ssdsim"),
    "a workload of no size": (["trace", "synth", "synth:random", "out.ssdsim"], "--drive"),
    "a trace of no format": (["trace", "synth", "synth:random,footprint=1MiB", "out.txt"], "--to"),
    "a trace of no new format": (["trace", "convert", "TRACE", "out.txt"], "--to"),
    "a workload to convert": (["trace", "convert", "synth:random", "out.ssdsim"], "trace synth"),
    "two converted things on standard output": (["trace", "convert", "TRACE", "-", "--json"], "standard output"),
    "columns of no field": (["run", "DRIVE", "TRACE", "--columns", "tiem=0:us"], "did you mean `time`?"),
    "columns of a known format": (
        ["run", "DRIVE", "TRACE", "--format", "ssdsim", "--columns", "time=0:us,op=1,offset=2,size=3"],
        "columns: means nothing in ssdsim",
    ),
    "a time without a unit": (["trace", "info", "TRACE", "--columns", "time=0,op=1,offset=2,size=3"], "no unit"),
    "a file for a workload": (["trace", "synth", "TRACE", "out.ssdsim"], "synth:"),
    "two things on standard output": (["trace", "synth", "synth:random", "-", "--json"], "standard output"),
    "compare on standard input": (["compare", "-", "DRIVE", "DRIVE"], "standard input"),
    "output where a file stands": (["run", "DRIVE", WORKLOAD, "--out", "TRACE"], "is a file"),
    "a directory for a file": (["run", "DRIVE", WORKLOAD, "--map", "."], "directory"),
    "a drive saved to a directory": (
        ["run", "DRIVE", WORKLOAD, "--untimed", "--save-aged", "."],
        "--save-aged: . is a",
    ),
    "a map on standard output": (["run", "DRIVE", WORKLOAD, "--map", "-", "--json"], "--map: standard output"),
    "a drive on standard output": (["age", "DRIVE", "-"], "standard output"),
    "an empty name": (["run", "", WORKLOAD], "DRIVE"),
    "a failure at no time": (["run", "DRIVE", WORKLOAD, "--fail", "chip:0.0"], "WHAT@WHEN"),
    "a failure of nothing": (["run", "DRIVE", WORKLOAD, "--fail", "chop:0.0@1s"], "channel:C"),
    "a failure of nothing that is there": (["run", "DRIVE", WORKLOAD, "--fail", "channel:2@1s"], "channels 0 to 1"),
    "a failure of half an address": (["run", "DRIVE", WORKLOAD, "--fail", "chip:1@1s"], "chip:C.K"),
    "a failure at a bare number": (["run", "DRIVE", WORKLOAD, "--fail", "chip:0.0@10"], "a simulated time"),
    "a failure after it all": (["run", "DRIVE", WORKLOAD, "--fail", "chip:0.0@101%"], "a share of them"),
    "a failure in another way": (["run", "DRIVE", WORKLOAD, "--fail", "chip:0.0@1s,softly"], "`transient`"),
    "slowness without a factor": (["run", "DRIVE", WORKLOAD, "--fail", "slow:chip:0.0@1s,for=1s"], "`factor`"),
    "slowness that is none": (["run", "DRIVE", WORKLOAD, "--fail", "slow:chip:0.0@1s,factor=0.9,for=1s"], "1 to 1000"),
    "a stall without an end": (["run", "DRIVE", WORKLOAD, "--fail", "stall:chip:0.0@1s"], "`for`"),
    "a power supply that stalls": (["run", "DRIVE", WORKLOAD, "--fail", "stall:power@1s,for=1s"], "cannot be slow"),
    "a stall that is transient": (
        ["run", "DRIVE", WORKLOAD, "--fail", "stall:channel:0@1s,for=1s,transient"],
        "ends by itself",
    ),
    "a failure without its value": (["run", "DRIVE", WORKLOAD, "--fail"], "--fail"),
    "a power cut that is told to pass": (
        ["run", "DRIVE", WORKLOAD, "--fail", "power@1s,transient"],
        "the power returns immediately",
    ),
    "a memory that is not there": (["run", "DRIVE", WORKLOAD, "--fail", "nvram@1s"], "no such memory"),
    "a member that is not there": (["run", "DRIVE", WORKLOAD, "--fail", "member:1@1s"], "member"),
    "a passing failure that is replaced": (
        ["run", "DRIVE", WORKLOAD, "--fail", "chip:0.0@1s,transient,replace_after=1s"],
        "exclude each other",
    ),
    "a page that is replaced although it comes back": (
        ["run", "DRIVE", WORKLOAD, "--fail", "page:0.0.0.0.1.2@1s,transient,replace_after=1s"],
        "replace_after",
    ),
    "no such scenario": (["run", "DRIVE", WORKLOAD, "--scenario", "nowhere/scenario.toml"], "nowhere/scenario.toml"),
    "a trace for a scenario": (["run", "DRIVE", WORKLOAD, "--scenario", "TRACE"], "[[event]]"),
    "a value of a drive that it does not have": (
        ["compare", WORKLOAD, "DRIVE", "2CM-128,redundancy.schema=raid5"],
        "redundancy.scheme",
    ),
}


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_one_message_and_exit_code_2(flashkeep: Command, drive: Path, trace: Path, line: str) -> None:
    words, told = COMMAND_LINES[line]
    stand_ins = {"DRIVE": str(drive), "TRACE": str(trace)}
    code, out, err = flashkeep(*(stand_ins.get(word, word) for word in words))
    assert code == 2
    if words:
        assert out == ""
        one_message(err, told)
    else:
        assert told in out, "without a command: the overview"


def one_message(err: str, *told: str) -> None:
    assert err.startswith("flashkeep")
    assert err.count("\n") == 1, f"more than one line:\n{err}"
    assert "Traceback" not in err
    for words in told:
        assert words in err


DRIVES = {
    "no TOML": ("channels == 2", "TOML"),
    "an unknown table": ("[flsh]\nchannels = 2", "flsh"),
    "an unknown key": ("[flash]\nchanels = 2", "channels"),
    "another type": ('[flash]\nchannels = "two"', "flash.channels"),
    "a number out of range": ("[flash]\npage_kib = -4", "flash.page_kib"),
    "a disk with flash": ("[disk]\ncapacity_gb = 20\n[flash]\nchannels = 2", "flash.channels"),
    "members that are no boxes": (
        '[flash]\nchannels = 5\nchips_per_channel = 2\n[redundancy]\nscheme = "mirror"\nacross = "chip"',
        "nor whole chips of one channel",
    ),
    "a mirror over one channel": ('[flash]\nchannels = 1\n[redundancy]\nscheme = "mirror"', "redundancy"),
}


@pytest.mark.parametrize("what", DRIVES)
def test_a_wrong_drive_file(flashkeep: Command, tmp_path: Path, what: str) -> None:
    text, told = DRIVES[what]
    path = tmp_path / "drive.toml"
    path.write_text(f"# A comment, so that the mistake is not on line 1.\n{text}\n")
    for command in (["check", path], ["run", path, WORKLOAD]):
        code, out, err = flashkeep(*command)
        assert (code, out) == (2, "")
        assert f"{path}:" in err, "the file and the line"
        assert told in err
        assert "Traceback" not in err


SCENARIOS = {
    "no TOML": ("[[event]\n", "[[event]]"),
    "no event": ("# Nothing happens.\n", "[[event]]"),
    "an unknown key": ('[[event]]\nwhat = "channel:1"\nwhen = "1s"\nwhy = "wear"\n', ":4:"),
    "no time": ('[[event]]\nwhat = "channel:1"\n', "when"),
    "nothing that is there": ('[[event]]\nwhen = "1s"\nwhat = "channel:2"\n', ":3: what:"),
    "a bad time": ('[[event]]\nwhat = "channel:1"\nwhen = "soon"\n', ":3: when:"),
    "a bad replacement": (
        '[[event]]\nwhat = "channel:1"\nwhen = "1s"\nreplace_after = "later"\n',
        ":4: replace_after:",
    ),
    "a bad factor": (
        '[[event]]\nwhat = "slow:channel:1"\nwhen = "1s"\nfactor = 1001\nfor = "1s"\n',
        ":4: factor:",
    ),
    "no length of a stall": ('[[event]]\nwhat = "stall:channel:1"\nwhen = "1s"\n', "`for`"),
    "another type": ('[[event]]\nwhat = 1\nwhen = "1s"\n', ":2:"),
}


@pytest.mark.parametrize("what", SCENARIOS)
def test_a_wrong_scenario(flashkeep: Command, drive: Path, tmp_path: Path, what: str) -> None:
    text, told = SCENARIOS[what]
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    code, out, err = flashkeep("run", drive, WORKLOAD, "--scenario", path)
    assert (code, out) == (2, "")
    one_message(err, str(path), told)


TRACES = {
    "nothing": ("", "empty"),
    "prose": ("It was a dark and stormy night.\n" * 20, "format"),
    "a bad record": ("0 0 0 8 0\n" * 5 + "1 0 zero 8 0\n", ":6:"),
    "an address beyond the drive": ("0 0 0 8 0\n10 0 999999999 8 0\n", "--compact"),
}


@pytest.mark.parametrize("what", TRACES)
def test_a_wrong_trace(flashkeep: Command, drive: Path, tmp_path: Path, what: str) -> None:
    text, told = TRACES[what]
    path = tmp_path / "trace.txt"
    path.write_text(text)
    code, out, err = flashkeep("run", drive, path)
    assert (code, out) == (2, "")
    assert str(path) in err
    assert told in err
    assert "Traceback" not in err


def test_bad_records_are_skipped_where_asked(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_text("0 0 0 8 0\n" * 9 + "rubbish\n")
    found = flashkeep.json("run", drive, path, "--bad-records", "skip", "--format", "ssdsim")
    assert (found["workload"]["requests"], found["workload"]["skipped"]) == (9, 1)


@pytest.mark.parametrize("option", ["--compact", "--wrap"])
def test_addresses_beyond_the_drive_are_taken_where_asked(
    flashkeep: Command, drive: Path, tmp_path: Path, option: str
) -> None:
    path = tmp_path / "trace.ssdsim"
    path.write_text("0 0 0 8 0\n1000000 0 999999999 8 0\n")
    assert flashkeep.json("run", drive, path, option)["workload"]["requests"] == 2


def test_a_drive_of_a_name_without_a_slash(flashkeep: Command, tmp_path: Path) -> None:
    """A file beside is a path by its ending, not by being there."""
    (tmp_path / "mine.toml").write_text(SMALL_DRIVE)
    assert flashkeep("check", "mine.toml", cwd=tmp_path).code == 0
