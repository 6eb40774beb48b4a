"""The registry of figures: what a summary holds, how Python types it, and the pages made from it."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest
from flashkeep import _flashkeep, registry

ROOT = Path(__file__).parents[2]


def run(
    drive: str, workload: str | fk.Trace = "synth:random,requests=2k,write=0.6", /, *keys: str, **options: Any
) -> fk.Result:
    overrides: dict[str, Any] = dict(key.split("=", 1) for key in keys)
    return fk.run(fk.drive(drive).replace(**overrides), workload, requests=False, **options)


@pytest.fixture(scope="module")
def summaries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """A summary of each kind of run."""
    folder = tmp_path_factory.mktemp("metrics")
    small = folder / "small.toml"
    small.write_text(
        'name = "small"\n[flash]\nchannels = 4\nchips_per_channel = 1\nblocks_per_plane = 64\npages_per_block = 32\n'
    )
    pair = folder / "pair.toml"
    pair.write_text('members = ["2 * ./worn.toml"]\nredundancy.scheme = "mirror"\nstart.existing = "all"\n')
    volumes = folder / "volumes.toml"
    volumes.write_text('members = ["2 * ./small.toml"]\narray.volumes = 2\nredundancy.scheme = "mirror"\n')
    (folder / "worn.toml").write_text(
        'base = "./small.toml"\nflash.channels = 1\nbuffer.dram_mib = 1\n'
        'ftl = { logical_page_kib = 2, wear.erase_budget = 3, slc.fold = "full" }\nflash.slc.blocks = 2\n'
    )
    drive, aged = str(small), folder / "drive.aged"
    kinds = {
        "drive": run(drive),
        "raid": run(
            drive,
            "synth:random,requests=2k",
            "redundancy.scheme=raid5",
            fail="chip:1.0@500req,replace_after=1ms",
            verify=True,
        ),
        "commands": run(
            drive,
            "synth:random,requests=2k",
            "flash.planes_per_die=2",
            "flash.commands.multi_plane=match",
            "flash.commands.suspend=erase",
        ),
        "flows": fk.run(
            drive,
            flows={
                "one": "synth:random,requests=10k,write=0.6,rate=20k",
                "two": "synth:random,requests=1k,write=1,depth=2,flush_every=10",
            },
            alone=True,
            requests=False,
        ),
        "packing": run(drive, "synth:random,requests=2k", "ftl.logical_page_kib=2", "flash.pages_per_program=2"),
        "slc": run(drive, "synth:random,requests=2k", "flash.slc.blocks=1", "ftl.slc.idle_us=0"),
        "map": run(drive, "synth:random,requests=2k", "ftl.map=dftl"),
        "handles": run(drive, "synth:random,requests=2k,write=1,handle=1", "ftl.handles=2"),
        "handles of members": run(
            str(pair), "synth:random,requests=2k,write=1", "member.ftl.handles=2", "member.ftl.over_provisioning=0.5"
        ),
        "tails": run(
            drive,
            "synth:random,requests=2k",
            "redundancy.scheme=mirror",
            "redundancy.read=around-busy",
            "ftl.gc.turn_ms=1",
        ),
        "hedged": run(drive, "synth:random,requests=2k", "redundancy.scheme=mirror", "redundancy.read=hedge=p90"),
        "errors": run(
            drive,
            "synth:random,requests=2k",
            "errors.model=kim",
            "errors.ecc.miscorrects=0.1",
            "errors.events_per_drive_day=0.003",
        ),
        "saturated": run(drive, "synth:random,requests=2k,rate=1M"),
        "untimed": run(drive, untimed=True),
        "conditioned": run(drive, condition=True, untimed=True, save_aged=aged),
        "aged": run(drive, aged=aged),
        "power": run(drive, "synth:random,requests=2k,write=1,flush_every=9", fail="power@500req", verify=True),
        "energy": run("2CM-128", "synth:random,requests=2k,footprint=64MiB", "host.controller_w=1"),
        "interrupted": run(drive, "synth:random,requests=100M", progress=lambda *_: True),
        "worn": run(str(pair), "synth:random,requests=20k,write=1,size=4KiB"),
        "members": run(str(pair), "synth:random,requests=2k,write=0.5,size=4KiB", "member.errors.model=kim"),
        "disk": run("st3500630a", "synth:random,requests=500"),
        "backup": run("t7-backup-3disks", "synth:hybrid-usr,requests=2k"),
        "volumes": run(str(volumes), fk.trace(*2 * ["synth:random,requests=30k,write=0.5,flush_every=500"])),
        "array": run("t7-ssd-raid5", "synth:hybrid-usr,requests=2k"),
    }
    # Schemes with a section of their own.
    redundancy = json.loads(_flashkeep.schema())["$defs"]["RedundancySpec"]["properties"]
    inside = redundancy["across"]["x-selected-by"]["scheme"]
    sections = {metric["path"].split(".")[0] for metric in registry.read()["metrics"]}
    for scheme in sorted(sections.intersection(inside)):
        kinds[scheme] = run(drive, "synth:random,requests=2k", f"redundancy.scheme={scheme}")
    return {name: result.to_dict() for name, result in kinds.items()}


def test_the_registry_has_every_figure_of_a_summary(summaries: dict[str, dict[str, Any]]) -> None:
    known = {metric["path"] for metric in registry.read()["metrics"]}
    groups = {path.rpartition(".")[0] for path in known}
    for name, summary in summaries.items():
        for path in set(registry.paths(summary)) - known:
            # A group without a value, and a list without members.
            empty = any(group == path or group.startswith((f"{path}.", f"{path}[]")) for group in groups)
            assert empty, f"{name}: {path} is not in the registry"


def test_every_figure_of_the_registry_is_in_some_summary(summaries: dict[str, dict[str, Any]]) -> None:
    found = {path for summary in summaries.values() for path in registry.paths(summary)}
    missing = {metric["path"] for metric in registry.read()["metrics"]} - found
    # Members share the types of a drive: a member that is a drive reports no energy, and no member a histogram.
    shared = ("members[].energy.controller_j", "members[].energy.dram_j", "members[].energy.flash_j",
              "members[].energy.operations_j", "members[].wear.erases_histogram")  # fmt: skip
    assert not {path for path in missing if not path.startswith(shared)}


def test_values_have_the_types_that_the_registry_says(summaries: dict[str, dict[str, Any]]) -> None:
    types = registry.read()["types"]
    python: dict[str, Any] = {"count": int, "number": (int, float), "flag": bool, "text": str, "open": dict}

    def check(value: object, of: str, where: str) -> None:
        if of in python:
            assert isinstance(value, python[of]), where
            return
        assert isinstance(value, dict), where
        for field in types[of]["fields"]:
            at = f"{where}.{field['name']}"
            if field["name"] not in value:
                assert field["optional"], at
                continue
            inner = value[field["name"]]
            if inner is None:
                assert field["nullable"], at
                continue
            for item in inner if field["list"] else [inner]:
                if item is not None:
                    check(item, field["type"], at)

    for name, summary in summaries.items():
        check(summary, "Summary", name)


def test_pages_made_from_the_registry_are_current() -> None:
    for place, text in registry.written():
        assert (ROOT / place).read_text() == text, f"{place}: python -m flashkeep.registry writes it anew"


def test_mypy_knows_the_figures(tmp_path: Path) -> None:
    code = tmp_path / "snippet.py"
    code.write_text(
        "import flashkeep as fk\n"
        "def look(result: fk.Result) -> None:\n"
        "    reveal_type(result.response_us.read.p99)\n"
        "    reveal_type(result.members[0].operations.program.gc)\n"
        "    reveal_type(result.wear.erases_total)\n"
        "    result.response_us.raed\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file", "", str(code)]
    path = {"MYPYPATH": str(ROOT / "python"), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=path, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert done.returncode == 1, done.stdout + done.stderr
    assert '"float | None"' in lines[0], lines
    assert '"int"' in lines[1], lines
    assert '"int | None"' in lines[2], lines
    assert '"TimesByOperation" has no attribute "raed"' in lines[3], lines
    assert len(lines) <= 6, lines


def test_a_wrong_name_gets_a_suggestion() -> None:
    result = run("2CM-128", "synth:random,requests=200,write=1,footprint=64MiB")
    with pytest.raises(AttributeError, match="did you mean 'read'"):
        _ = result.response_us.raed  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="did you mean 'throughput'"):
        _ = result.troughput  # type: ignore[attr-defined]


def test_figures_that_a_run_lacks_have_no_value() -> None:
    result = run("2CM-128", "synth:random,requests=200,write=1,footprint=64MiB")
    assert result.response_us.read.p99 is None
    assert not result.response_us.read
    assert result.response_us.write.p99 is not None
    assert result.packing.flash_pages.program is None
    assert result.wear_out.first.bytes is None
    assert result.backup.disks == []
    again: fk.Result = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict()
    assert again.response_us.read.p99 is None
    assert pickle.loads(pickle.dumps(result.response_us)) == result.response_us


def test_the_schema_names_what_is_required() -> None:
    schema = registry.schema()
    assert "response_us" in schema["required"]
    assert "packing" not in schema["required"]
    used = {name for name, of in registry.read()["types"].items() for _ in of["fields"]}
    assert set(schema["$defs"]) == used - {"Summary"}
