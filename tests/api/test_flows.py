"""Several workloads on one device: host queues, arbitration, slowdowns, and figures of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest
from conftest import Command
from flashkeep.render import table
from flashkeep.render.run_tables import run_tables
from flashkeep.render.terminal import Page

DIE = """\
name = "die"
[flash]
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 64
pages_per_block = 16
page_kib = 4
timing = { read_us = 100, program_us = 400, erase_us = 1000, bus_ns_per_byte = 0, command_ns = 0 }
[ftl]
over_provisioning = 0.6
[start]
existing = "all"
"""
"""One die, on which reads of 100 µs follow each other."""

TLC = "tlc-client,flash.pages_per_block=144"
READS = "synth:random,requests={},write=0,size=4KiB,depth={}"


@pytest.fixture
def die(tmp_path: Path) -> Path:
    path = tmp_path / "die.toml"
    path.write_text(DIE)
    return path


def run(drive: Path | str, flows: Any, keys: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return fk.run(fk.drive(drive).replace(**(keys or {})), flows=flows, **options).to_dict()


def means(summary: dict[str, Any]) -> list[float]:
    return [flow["response_us"]["all"]["mean"] for flow in summary["flows"]]


@pytest.mark.parametrize(("drive", "workload", "options"), [
    ("2CM-128", "synth:sirf-tpcc,requests=4k", {}),
    ("ssdsim-basic", "synth:sirf-fin1,requests=3k", {}),
    ("ssdsim-basic", "synth:sirf-fin1,requests=3k", {"replay": "closed", "depth": 3}),
    (TLC, "synth:random,requests=4k,write=0.6,size=4KiB:0.6/20KiB:0.4,depth=16", {}),
    ("2CM-128,host.queue_depth=4,start.existing=reads,start.scan=true", "synth:sirf-fin1,requests=2k",
     {"warmup": "300"}),
    (TLC, "synth:random,requests=2k,write=0.6,size=4KiB,rate=20k", {"limit": 900}),
    ("8-tlc-datacenter-raid6,member.flash.pages_per_block=36", "synth:random,requests=1k,size=16KiB,rate=20k", {}),
    ("2CM-128", "synth:sirf-tpcc,requests=2k", {"untimed": True}),
    ("2CM-128", "synth:sirf-tpcc,requests=2k", {"verify": True, "fail": ["power@20ms"]}),
])  # fmt: skip
def test_one_flow_is_the_run_of_its_workload(drive: str, workload: str, options: dict[str, Any]) -> None:
    limit = {"limit": options.pop("limit")} if "limit" in options else {}
    plain = fk.run(drive, fk.trace(workload, **limit), **options).to_dict()
    flow = json.loads(fk._flashkeep.run(json.dumps({"drive": drive, "flow": [json.dumps({"name": "one",
                      "workload": workload})], "seed": 1, **limit, **options}), None, None, [], None)[0])  # fmt: skip
    assert flow["digest"] == plain["digest"]
    (only,) = flow["flows"]
    assert only["response_us"] == plain["response_us"]
    assert only["latency_us"] == plain["latency_us"]
    assert only["throughput"] == plain["throughput"]
    for key in ("workload", "operations", "response_us", "queue", "utilization", "wear", "warnings", "integrity"):
        left, right = ({**one[key], "sha256": None} if key == "workload" else one[key] for one in (flow, plain))
        assert left == right, key


def test_flows_of_volumes_are_the_volumes_of_an_array(die: Path) -> None:
    pair = die.with_name("pair.toml")
    pair.write_text('members = ["2 * ./die.toml"]\n[array]\nvolumes = 2\n[redundancy]\nscheme = "none"\n')
    workloads = [READS.format(300, 3), "synth:zipf,requests=200,write=0.5,size=4KiB,depth=3"]
    volumes = fk.run(pair, fk.trace(*workloads)).to_dict()
    flows = [{"name": str(at), "workload": workload, "volume": at} for at, workload in enumerate(workloads)]
    beside = run(pair, flows)
    assert beside["digest"] == volumes["digest"]
    assert [flow["response_us"] for flow in beside["flows"]] == [one["response_us"] for one in volumes["volumes"]]
    assert (beside["volumes"], volumes["flows"]) == ([], [])


@pytest.mark.parametrize(("keys", "counts", "expected"), [
    # All are in the die's queue: each waits for all 15 others.
    ({}, (2000, 6000), (1600, 1600)),
    # Every second read is one of the first flow.
    ({"host.queue_depth": 16, "host.fetch": 1}, (3000, 3000), (800, 2400)),
    ({"host.fetch": 2}, (3000, 3000), (800, 2400)),
    ({"host.queue_depth": 1}, (3000, 3000), (200, 200)),
    # In order of arrival.
    ({"host.fetch": 1, "host.queues": 1}, (2000, 6000), (1600, 1600)),
], ids=["no limit", "turns", "fetch", "depth", "one queue"])  # fmt: skip
def test_queues_share_a_die(
    die: Path, keys: dict[str, Any], counts: tuple[int, int], expected: tuple[float, float]
) -> None:
    """Closed loops of depth 4 and 12 over one die of 100 µs: times follow from Little's law. The queue depth of the
    drive bounds each loop."""
    found = run(die, {"a": READS.format(counts[0], 4), "b": READS.format(counts[1], 12)}, keys)
    for mean, value in zip(means(found), expected, strict=True):
        assert mean == pytest.approx(value, rel=0.02)


@pytest.mark.parametrize(("arbitration", "flows", "shares"), [
    ("round-robin", [{"weight": 3}, {"priority": "urgent"}], (1, 1)),
    ("weighted", [{"weight": 3}, {}], (3, 1)),
    ("weighted", [{"weight": 2}, {"weight": 5}], (2, 5)),
    ("priority", [{"priority": "high"}, {"priority": "low"}], (4, 1)),
    ("priority", [{}, {"priority": "low"}], (2, 1)),
    ("priority", [{"priority": "urgent"}, {}], (1, 0)),
])  # fmt: skip
def test_arbitration_divides_the_fetches(
    die: Path, arbitration: str, flows: list[dict[str, Any]], shares: tuple[int, int]
) -> None:
    keys = {"host.queue_depth": 1, "host.arbitration": arbitration}
    tables = [{"name": name, "workload": "synth:random,requests=5k,write=0,size=4KiB,rate=1000k", **more}
              for name, more in zip("ab", flows, strict=True)]  # fmt: skip
    found = run(die, tables, keys, limit=2800)
    counts = [flow["requests"] for flow in found["flows"]]
    assert counts[0] / sum(counts) == pytest.approx(shares[0] / sum(shares), abs=0.01)


def test_entries_bound_closed_loops_and_what_is_fetched(die: Path) -> None:
    flows = {"a": READS.format(500, 8), "b": "synth:random,requests=500,write=0,size=4KiB,rate=100k"}
    found = run(die, flows, {"host.entries": 2})
    assert "the closed loop of a keeps 2 requests outstanding, not 8: host.entries admits no more" in found["warnings"]
    alone = run(die, {"a": READS.format(500, 8)}, {"host.entries": 2})
    assert means(alone) == [pytest.approx(200, rel=0.01)]
    assert alone["queue"]["max"] == 2


def test_orders_without_effect_are_noted(die: Path) -> None:
    flows = [{"name": "a", "workload": READS.format(20, 2), "priority": "low", "weight": 2},
             {"name": "b", "workload": READS.format(20, 2)}]  # fmt: skip
    for arbitration, depth, said in (
        ("round-robin", 0, 'host.arbitration = "round-robin" does not use the priorities and weights of flows'),
        ("weighted", 1, 'host.arbitration = "weighted" does not use the priorities of flows'),
        ("priority", 0, "host.arbitration: no effect without host.queue_depth or host.fetch"),
        ("round-robin", 0, "host.order: no effect with several workloads"),
    ):  # fmt: skip
        keys = {"host.arbitration": arbitration, "host.queue_depth": depth, "host.order": "c-look"}
        assert [note for note in run(die, flows, keys)["warnings"] if note.startswith(said)], said


def test_slowdown_and_fairness(die: Path) -> None:
    flows = [{"name": "a", "workload": READS.format(1000, 2)}, {"name": "b", "workload": READS.format(3000, 6)}]
    found = run(die, flows, alone=True)
    slowdowns = [flow["slowdown"] for flow in found["flows"]]
    assert slowdowns == [pytest.approx(4, rel=0.01), pytest.approx(4 / 3, rel=0.01)]
    assert found["fairness"] == pytest.approx(1 / 3, rel=0.01)
    assert found["digest"] == run(die, flows)["digest"]
    (shown,) = (one for one in run_tables(found) if one.name == "flows")
    assert shown.rows[0][-2] == f"× {slowdowns[0]:.2f}"
    assert "fairness" in table.run_report(found, Page())
    without = run(die, flows)
    assert [flow["slowdown"] for flow in without["flows"]] == [None, None]
    assert without["fairness"] is None
    both = table.compare_report([found, without], Page())
    assert "a: mean, µs" in both


def test_operations_of_flows_are_those_of_the_drive(die: Path) -> None:
    keys = {"redundancy.scheme": "raid5", "redundancy.across": "channel", "flash.channels": 4}
    writes = "synth:random,requests=800,write=1,size=2KiB:0.5/4KiB:0.5,rate=500"
    flows = {"reads": READS.format(700, 2), "writes": writes, "more": writes}
    for scheme in ({}, keys):
        found = run(die, flows, scheme)
        of = [flow["operations"] for flow in found["flows"]]
        for kind, cause in (("read", "host"), ("program", "host"), ("read", "update"), ("program", "parity")):
            assert sum(one[kind][cause] for one in of) == found["operations"][kind][cause], (kind, cause)
        assert sum(one["program"]["gc"] for one in of) == 0
        assert 600 < found["flows"][0]["operations"]["read"]["host"] <= 700, "others are read from memory"
        assert found["flows"][0]["waf_bytes"] is None
    plain = run(die, flows)["flows"][1]
    programs = plain["operations"]["program"]["host"]
    assert plain["waf_bytes"] == pytest.approx(programs * 4096 / plain["bytes_written"])
    cached = run(die, flows, {"buffer.dram_mib": 1})["flows"][1]
    assert cached["waf_bytes"] is None


def test_runs_with_flows_repeat_and_add_up(die: Path) -> None:
    flows = {"a": READS.format(400, 3), "b": "synth:zipf,requests=300,write=0.7,size=4KiB,rate=3k"}
    options = {"warmup": 50, "verify": True, "fail": ["power@50ms"]}
    once, again = (run(die, flows, {"host.fetch": 3}, **options) for _ in range(2))
    assert once["digest"] == again["digest"]
    assert sum(flow["requests"] for flow in once["flows"]) == 650
    counts = [flow["response_us"]["all"]["count"] for flow in once["flows"]]
    assert sum(counts) == once["response_us"]["all"]["count"]
    result = fk.run(die, flows=flows)
    assert [flow.name for flow in result.flows] == ["a", "b"]


def test_files_of_flows(flashkeep: Command, die: Path) -> None:
    trace = die.with_name("few.ssdsim")
    trace.write_text("".join(f"{1000 * at} 0 {at % 50 * 8} 8 1\n" for at in range(100)))
    file = die.with_name("flows.toml")
    file.write_text('[[flow]]\nname = "db"\nworkload = "few.ssdsim"\npriority = "high"\n'
                    f'[[flow]]\nname = "scan"\nworkload = "{READS.format(200, 4)}"\ndepth = 2\n')  # fmt: skip
    found = flashkeep.json("run", die, "--flows", file, "--format", "ssdsim", "--alone")
    assert [flow["requests"] for flow in found["flows"]] == [100, 200]
    assert found["fairness"] is not None
    assert found["workload"]["sha256"]
    scan = READS.format(200, 4).replace(",", ";")
    texts = ("--flow", f"db={trace},priority=high", "--flow", f"scan={scan},depth=2")
    assert flashkeep.json("run", die, *texts, "--format", "ssdsim")["digest"] == found["digest"]
    both = flashkeep.json("compare", die, f"{die},host.fetch=1", *texts, "--format", "ssdsim")["runs"]
    assert both[0]["digest"] == found["digest"] != both[1]["digest"]
    shown = flashkeep("run", die, *texts, "--format", "ssdsim").out
    assert "Flows" in shown


@pytest.mark.parametrize(("arguments", "said"), [
    (("--flow", "db"), "--flow 1: found `db`; NAME=WORKLOAD"),
    (("--flow", "db=synth:random,priority=hi"), "--flow 1 (db): priority: found `hi`; `urgent`"),
    (("--flow", "db=synth:random,requests=9"), "commas within synth:… are written `;`"),
    (("--flow", "db=synth:random,volume=1"), "--flow 1 (db): volume: found 1; 0 to 0 are accepted"),
    (("--flow", "db=no-such.spc"), "no-such.spc"),
    (("--flow", "db=synth:random,cache_share=0.5"), "--flow 1 (db): cache_share: the device has no write cache"),
    (("--set", "buffer.dram_mib=1", "--flow", "a=synth:random,cache_share=0.6", "--flow",
      "b=synth:random,cache_share=0.5"), "--flow 2 (b): cache_share: found 0.5; with the shares of the flows before"),
    (("--set", "buffer.dram_mib=1", "--flow", "a=synth:random,cache_share=1", "--flow", "b=synth:random"),
     "--flow 2 (b): cache_share: missing; the shares of the other flows leave no room"),
    (("--flow", "a=synth:random", "--flow", "a=synth:random"), "--flow 2 (a): name: another flow"),
    (("synth:random", "--flow", "a=synth:random"), "a flow names its own workload"),
    (("synth:random", "--alone"), "--alone: needs --flow"),
    (("--flow", "a=synth:random", "--replay", "batch"), "flows are `open` or `closed`"),
    (("--flows", "no-such.toml"), "--flows: no-such.toml: cannot be read"),
    ((), "TRACE missing"),
])  # fmt: skip
def test_wrong_flows_are_refused(flashkeep: Command, die: Path, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = flashkeep("run", die, *arguments)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert said in err


def test_wrong_files_of_flows_are_refused(flashkeep: Command, die: Path) -> None:
    file = die.with_name("flows.toml")
    for text, said in (
        ("[[flow]]\nname = 3\n", "flow 1: name: found 3"), ("a = 1\n", "a: not a key of flows"), ("", "no flow;"),
        ('[[flow]]\nname = "a"\nworkload = "synth:random"\nrate = 1\n', "flow 1 (a): rate: not a key"),
        ('[[flow]]\nname = "a"\nworkload = "synth:random"\nhandle = 1\n', "flow 1 (a): handle: found 1; only 0 is"),
        ('flow = ["a"]\n', 'flow 1: found "a"; a table'), ("a\n", "not TOML"),
    ):  # fmt: skip
        file.write_text(text)
        code, _, err = flashkeep("run", die, "--flows", file)
        assert code == 2
        assert said in err
    with pytest.raises(fk.OptionError, match="flow 1: found 'a'; a table"):
        fk.run(die, flows=["a"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="a trace, or flows"):
        fk.run(die)


def test_a_sweep_has_flows_instead_of_workloads(die: Path) -> None:
    file = die.with_name("flows.toml")
    file.write_text(f'[[flow]]\nname = "a"\nworkload = "{READS.format(400, 4)}"\n'
                    f'[[flow]]\nname = "b"\nworkload = "{READS.format(1200, 12)}"\n')  # fmt: skip
    plan = die.with_name("plan.toml")
    options = '[options]\nflows = "flows.toml"\nalone = true\n'
    plan.write_text(f'drive = "die.toml"\n[grid]\n"host.fetch" = [0, 1]\n{options}')
    rows = fk.sweep(plan, workers=1).to_frame("pandas")
    found = dict(zip(rows["host.fetch"], rows["flows.0.response_us.all.mean"], strict=True))
    assert found == {0: pytest.approx(1600, rel=0.02), 1: pytest.approx(800, rel=0.02)}
    assert rows["fairness"].notna().all()
    plan.write_text(f'drive = "die.toml"\nworkload = "synth:random"\n{options}')
    with pytest.raises(ValueError, match="a plan with flows has none"):
        fk.sweep(plan)
