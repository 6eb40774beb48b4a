"""What a summary says of the inputs of its run: options, command, hashes, differences from the preset."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shlex
import threading
from pathlib import Path

import flashkeep as fk
from conftest import Command

WORKLOAD = "synth:random,requests=500,write=0.5"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_options_and_command_repeat_the_run(flashkeep: Command, mirrored: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "two blows.toml"
    scenario.write_text('[[event]]\nwhat = "page:0.0.0.0.0.0"\nwhen = "50%"\n')
    words = ["run", mirrored, WORKLOAD, "--seed", "0", "--limit", "400", "--scenario", scenario, "--existing", "all",
             "--fail", "block:1.0.0.0.7@100req", "--set", "ftl.gc.victim=fifo", "--verify"]  # fmt: skip
    first = flashkeep.json(*words)
    assert first["options"] == {
        "drive": str(mirrored), "traces": [WORKLOAD], "set": ["ftl.gc.victim=fifo"], "seed": 0, "limit": 400,
        "existing": "all", "verify": True, "fail": ["block:1.0.0.0.7@100req"],
        "scenario": {"file": str(scenario), "event": [{"what": "page:0.0.0.0.0.0", "when": "50%"}]},
    }  # fmt: skip
    name, *typed = shlex.split(first["command"])
    assert name == "flashkeep"
    assert typed == [*map(str, words), "--json"]
    assert json.loads(flashkeep(*typed).out)["digest"] == first["digest"]


def test_options_that_change_nothing_are_left_out(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    written = ("--operations", tmp_path / "operations.csv", "--map", tmp_path / "map.csv", "--quiet")
    found = flashkeep.json("run", drive, WORKLOAD, *written)
    assert found["options"] == {"drive": str(drive), "traces": [WORKLOAD]}
    assert found["digest"] == flashkeep.json("run", drive, WORKLOAD)["digest"]
    assert fk.run(drive, WORKLOAD).command is None, "there is no command line"
    assert fk.run(drive, WORKLOAD).options.traces == [WORKLOAD]


def test_differences_from_the_preset(flashkeep: Command, tmp_path: Path) -> None:
    small = tmp_path / "small.toml"
    small.write_text('base = "2CM-128"\n[flash]\nblocks_per_plane = 64\n')
    found = flashkeep.json("run", small, WORKLOAD, "--set", "redundancy.scheme=none", "--existing", "all")
    changes = found["drive_changes"]
    assert changes["redundancy.scheme"] == ["mirror", "none"]
    assert changes["flash.blocks_per_plane"][1] == 64
    assert not any(key.startswith("start.") for key in changes), "--existing is an option of the run"
    assert all(before != after for before, after in changes.values())
    preset = flashkeep.json("run", "2CM-128", "synth:random,requests=50,footprint=1MiB")
    assert preset["drive_changes"] == {}
    raid = flashkeep.json("run", "dvs-8chip,redundancy.scheme=raid5", "synth:random,requests=50,footprint=1MiB")
    assert raid["drive_changes"]["redundancy.scheme"] == ["dvs", "raid5"]
    assert raid["drive_changes"]["redundancy.timeout_ms"] == [50.0, None], "a key that raid5 does not have"


def test_the_hash_of_a_trace_is_that_of_its_file(flashkeep: Command, drive: Path, trace: Path, tmp_path: Path) -> None:
    data = trace.read_bytes()
    packed = tmp_path / "small.gz"
    packed.write_bytes(gzip.compress(data))

    def found(*words: object, **options: str) -> object:
        return flashkeep.json("run", drive, *words, **options)["workload"]["sha256"]

    assert found(trace) == sha256(data)
    assert found(packed) == sha256(packed.read_bytes()), "as stored"
    assert found(trace, "--limit", 10) == sha256(data), "the whole file"
    assert found("-", stdin=data.decode()) == sha256(data)
    assert found("-", "--limit", 10, stdin=data.decode() * 5000) is None, "not read to its end"
    assert found(WORKLOAD) == sha256(WORKLOAD.encode())
    lines = f"{sha256(data)}\n{sha256(WORKLOAD.encode())}\n".encode()
    assert found(trace, WORKLOAD, "--wrap", "--merge-devices") == sha256(lines)
    assert found("-", WORKLOAD, "--wrap", "--merge-devices", stdin=data.decode()) == sha256(lines)


def test_the_hash_of_the_files_of_processors(flashkeep: Command, drive: Path, trace: Path, tmp_path: Path) -> None:
    first = tmp_path / "sda.blktrace.0"
    assert flashkeep("trace", "convert", trace, first, "--to", "blktrace").code == 0
    data = first.read_bytes()

    def found(*words: object) -> object:
        return flashkeep.json("run", drive, tmp_path / "sda", *words)["workload"]["sha256"]

    assert found() == sha256(data)
    (tmp_path / "sda.blktrace.1").touch()  # a processor that queued nothing
    (tmp_path / "sda.blktrace.10").write_bytes(data[: 48 * 20])
    (tmp_path / "sda.blktrace.2").write_bytes(data[: 48 * 10])
    parts = [sha256(each) for each in (data, data[: 48 * 10], data[: 48 * 20])]
    assert found() == sha256("".join(f"{part}\n" for part in parts).encode())


def test_the_hash_of_a_pipe(flashkeep: Command, drive: Path, trace: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(trace.read_bytes()))
    writer.start()
    assert flashkeep.json("run", drive, pipe)["workload"]["sha256"] == sha256(trace.read_bytes())
    writer.join()
