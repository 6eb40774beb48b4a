"""Lists of presets, schemes and formats, the schema, and the check of a drive."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from conftest import Command


def test_help_and_version(flashkeep: Command) -> None:
    for asked in ("--help", "-h", "help"):
        code, out, err = flashkeep(asked)
        assert (code, err) == (0, "")
        assert "\n  compare TRACE DRIVE..." in out
    assert flashkeep("--version").out.startswith("flashkeep 0.")
    for command in (
        ["run"],
        ["compare"],
        ["age"],
        ["check"],
        ["drives"],
        ["policies"],
        ["trace", "info"],
        ["trace", "convert"],
        ["trace", "synth"],
        ["schema"],
    ):
        code, out, err = flashkeep(*command, "--help")
        assert (code, err) == (0, "")
        assert out.startswith(f"usage: flashkeep {' '.join(command)}")


@pytest.mark.parametrize(
    ("what", "one"), [("drives", "2CM-128"), ("schemes", "mirror"), ("formats", "ssdsim"), ("workloads", "sirf-fin1")]
)
def test_lists_and_pages(flashkeep: Command, what: str, one: str) -> None:
    listed = flashkeep.json(what)[what]
    assert one in [entry["name"] for entry in listed]
    assert all(set(entry) == {"name", "description"} and all(entry.values()) for entry in listed)
    plain = flashkeep(what).out
    assert all(any(line.startswith(entry["name"]) for line in plain.splitlines()) for entry in listed)
    for entry in listed:
        code, page, err = flashkeep(what, entry["name"])
        assert (code, err) == (0, "")
        assert page.strip() == flashkeep.json(what, entry["name"])["text"].strip() != ""


def test_policies_are_values_of_their_keys(flashkeep: Command) -> None:
    listed = flashkeep.json("policies")["policies"]
    assert all(set(entry) == {"name", "key", "description"} and all(entry.values()) for entry in listed)
    plain = flashkeep("policies").out.splitlines()
    schema = json.loads(flashkeep("schema").out)
    for entry, line in zip(listed, plain, strict=True):
        assert line.split() == [f"{entry['key']}={entry['name']}", *entry["description"].split()]
        code, page, err = flashkeep("policies", entry["name"])
        assert (code, err) == (0, "")
        assert f'{entry["key"]} = "{entry["name"]}"' in page
        assert page.count("# What it does") == sum(other["name"] == entry["name"] for other in listed)
    victims = [entry["name"] for entry in listed if entry["key"] == "ftl.gc.victim"]
    assert victims == schema["$defs"]["GcSpec"]["properties"]["victim"]["enum"]
    code, out, err = flashkeep("policies", "gredy")
    assert (code, out) == (2, "")
    assert "gredy" in err
    assert "greedy" in err


def test_keys_are_described_from_the_schema(flashkeep: Command) -> None:
    every = flashkeep.json("keys")["keys"]
    assert len(every) > 150
    for key in every:
        assert key["description"], key
        assert key["type"], key
    by_name = {key["key"]: key for key in every}
    assert by_name["redundancy.timeout_ms"]["used_by"] == {"redundancy.scheme": ["dvs"]}
    assert by_name["redundancy.timeout_ms"]["unit"] == "ms"
    assert by_name["ftl.gc.threshold"]["accepts"] == "0 or more, below 1"
    page = flashkeep("keys", "redundancy.timeout_ms").out
    for part in ("number, ms", "50", "redundancy.scheme = dvs", "--set redundancy.timeout_ms=50"):
        assert part in page
    table = flashkeep("keys", "ftl.gc").out.splitlines()
    assert [line.split()[0] for line in table] == [name for name in by_name if name.startswith("ftl.gc.")]
    assert flashkeep("keys", "timeout_ms").out == page, "the last word is enough"
    code, out, err = flashkeep("keys", "redundancy.timeot_ms")
    assert (code, out) == (2, "")
    assert "'redundancy.timeout_ms'" in err


def test_pages_of_workloads_have_their_keys_and_defaults(flashkeep: Command) -> None:
    page = flashkeep("workloads", "sirf-fin1").out
    assert "Published" in page
    keys = page.partition("# Keys")[2].splitlines()
    rows = {line.split()[0]: line.split()[1] for line in keys if line.startswith("  ")}
    info = flashkeep.json("trace", "info", "synth:sirf-fin1,requests=20k")
    assert rows["rate"] == "123"
    assert info["rate_per_s"] == pytest.approx(123, rel=0.05)
    assert float(rows["write"]) == pytest.approx(info["writes"] / info["requests"], abs=0.02)
    assert flashkeep("workloads", "synth:zipf").out == flashkeep("workloads", "zipf").out
    assert "theta" not in flashkeep("workloads", "random").out.partition("# Keys")[2]
    assert "sirf-fin1" in flashkeep("workloads", "fin").err


def test_every_preset_is_sound(flashkeep: Command) -> None:
    for entry in flashkeep.json("drives")["drives"]:
        assert tomllib.loads(flashkeep("drives", entry["name"]).out)
        assert flashkeep("check", entry["name"]).code == 0, entry["name"]


def test_schema_is_a_json_schema(flashkeep: Command) -> None:
    schema = json.loads(flashkeep("schema").out)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"flash", "ftl", "redundancy"} <= set(schema["properties"])


def test_check_echoes_a_drive_that_can_be_read_again(flashkeep: Command, mirrored: Path, tmp_path: Path) -> None:
    found = flashkeep.json("check", mirrored)
    assert set(found) == {"drive", "capacity_bytes", "tree", "warnings"}
    code, out, err = flashkeep("check", mirrored)
    assert (code, err) == (0, "")
    assert found["tree"].rstrip() in out
    again = tmp_path / "again.toml"
    again.write_text(out.split(found["tree"].splitlines()[0])[0])
    assert flashkeep.json("check", again)["drive"] == found["drive"]
    disk = flashkeep.json("check", "st3500630a")
    again.write_text(flashkeep("check", "st3500630a").out.split(disk["tree"].splitlines()[0])[0])
    assert flashkeep.json("check", again)["drive"] == disk["drive"]


def test_check_warns(flashkeep: Command, drive: Path) -> None:
    found = flashkeep.json("check", drive, "--set", "ftl.gc.threshold=0.9")
    assert any("threshold" in warning for warning in found["warnings"])
    assert "note: " in flashkeep("check", drive, "--set", "ftl.gc.threshold=0.9").out
