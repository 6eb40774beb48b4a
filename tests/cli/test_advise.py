"""Advice on redundancy as a user meets it: the command `advise`, and `flashkeep.advise`."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flashkeep as fk
import pytest
from flashkeep.advising.conclusion import Limits, conclude
from flashkeep.advising.designs import designs_of, drives_of
from flashkeep.advising.notes import alike
from flashkeep.api import simulate
from flashkeep.cli import progress

if TYPE_CHECKING:
    from conftest import Command

WORKLOAD = "synth:random,requests=2000,rate=2k,write=0.5,footprint=2MiB"
SCHEMES = ["none", "mirror", "raid5", "raid6"]


MEDIUM_DRIVE = """\
description = "2 GB: the first requests of real traces fit into four of them."

[flash]
channels = 4
chips_per_channel = 2
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 256
pages_per_block = 64
page_kib = 16

[ftl]
over_provisioning = 0.1
"""


@pytest.fixture(scope="module")
def medium(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drives") / "medium.toml"
    path.write_text(MEDIUM_DRIVE)
    return path


@pytest.fixture(scope="module")
def advice(drive: Path) -> Any:
    return fk.advise(WORKLOAD, f"4*{drive}", schemes=SCHEMES, uber=1e-15)


def test_the_command_and_python_say_the_same(flashkeep: Command, drive: Path, advice: Any) -> None:
    said = flashkeep.json("advise", WORKLOAD, "--drives", f"4 * {drive}", "--schemes", ",".join(SCHEMES), "--uber",
                          "1e-15", "--workers", 1)  # fmt: skip
    told = advice.to_dict()
    assert said["drives"].pop("text") != told["drives"].pop("text")
    assert said == told


def test_rows_are_the_runs_and_the_model(advice: Any, tmp_path: Path, drive: Path) -> None:
    row = advice["raid5"]
    file = tmp_path / "array.toml"
    file.write_text(f'members = ["4 * {drive}"]\n\n[redundancy]\nscheme = "raid5"\n')
    healthy = fk.run(str(file), WORKLOAD, existing="all")
    assert row.response_us.read.p99 == healthy.response_us.read.p99
    assert row.response_us.write.mean == healthy.response_us.write.mean
    assert row.waf_bytes == healthy.waf_bytes
    wait_us = round(0.1 * 1e6 * (healthy.simulated_s or 0.0))
    fail = f"member:0@50%,replace_after={wait_us}us"
    failed = fk.run(str(file), WORKLOAD, existing="all", fail=fail, stop_rebuild="512MiB")
    assert row.failed_digest == failed.digest
    (degraded,) = [phase for phase in failed.phases if phase.phase == "degraded"]
    arrivals = failed.requests().arrival_ns / 1e9
    asked = (arrivals >= degraded.from_s) & (arrivals < degraded.until_s) & (failed.requests().op == 0)
    assert row.degraded_us.read.requests == asked.sum() >= 100
    for run, told in ((failed, row.degraded_us.read), (healthy, row.degraded_us.read.healthy)):
        times = sorted(run.requests().response_ns[asked] / 1000)
        assert told.mean == pytest.approx(sum(times) / len(times))
        assert told.p50 == times[(len(times) - 1) // 2]
        assert told.p99 == times[math.ceil(0.99 * len(times)) - 1]
        assert told.p99_9 is None, "fewer than 1,000 requests have none"
    assert row.rebuild_hours == failed.to_dict()["rebuilds"][-1]["full_member_hours"]
    fleet = fk.fleet(str(file), 5, uber=1e-15)
    assert row.p_loss == fleet.p_loss
    assert row.nines == fleet.nines
    assert row.usable_bytes == fleet.array.usable_bytes


def test_fleet_and_advise_say_the_same_of_equal_drives(drive: Path) -> None:
    drives = f"8*{drive},errors.uber_target=1e-15"
    advice = fk.advise(WORKLOAD, drives, schemes=["raid5", "raid6", "raid10", "6+2", "lrc=6+1+1"])
    for row, scheme in zip(advice, ("raid5", "raid6", "raid10", "6+2", "lrc=6+1+1"), strict=True):
        told = fk.fleet(f"8*{drive}:{scheme}", uber=1e-15)
        assert row.p_loss == told.p_loss, scheme
        assert row.array_loss.p == told.array_loss.p
        assert row.mttr_hours == told.assumptions.mttr_hours == "exponential, mean 24 h"
    assert advice.assumptions.uber == 1e-15
    assert (advice[2].scheme, advice[2].width) == ("mirror", 2)
    assert advice["lrc=6+1+1"].usable_bytes == pytest.approx(6 / 7 * advice["raid5"].usable_bytes, rel=0.01)


def test_a_measured_rebuild_is_the_repair_only_if_it_is_asked_for(drive: Path) -> None:
    plain = fk.advise(WORKLOAD, f"4*{drive}", schemes=["none", "raid5"], uber=1e-15)
    asked = fk.advise(WORKLOAD, f"4*{drive}", schemes=["none", "raid5"], uber=1e-15, rebuild="simulated")
    assert asked["raid5"].rebuild_hours == plain["raid5"].rebuild_hours
    told = fk.fleet(f"4*{drive}:raid5", uber=1e-15, rebuild=asked["raid5"].rebuild_hours)
    assert asked["raid5"].p_loss == told.p_loss != plain["raid5"].p_loss
    assert asked["none"].p_loss == plain["none"].p_loss
    assert "the simulated rebuild of a full member, after the failure is noticed" in asked.assumptions.mttr_from


def test_rebuilds_that_fit_the_dram_tell_nothing_of_a_full_member(drive: Path) -> None:
    buffered = fk.advise(WORKLOAD, f"4*{drive},buffer.dram_mib=4", schemes=["raid5"])["raid5"]
    assert buffered.rebuild_hours is None
    assert "times what the new drive's DRAM holds" in buffered.rebuild_reason
    assert buffered.p_loss is not None
    asked = fk.advise(WORKLOAD, f"4*{drive},buffer.dram_mib=4", schemes=["raid5"], rebuild="simulated")["raid5"]
    assert asked.p_loss is None
    assert "leave --rebuild away" in asked.fleet_reason


def test_codes_that_do_not_fit_name_shapes_that_do(flashkeep: Command, drive: Path) -> None:
    short = "synth:random,requests=100,rate=2k,footprint=1MiB"
    advice = fk.advise(short, f"6*{drive}", schemes=["raid5", "lrc=16+2+2", "5+2", "raid50=4"])
    assert advice["lrc=16+2+2"].reason.endswith("a code of lrc=16+2+2 is over 20 members, not 6; of 6: lrc=2+2+2")
    assert advice["5+2"].reason.endswith("of 6: 4+2")
    assert "raid50=2 (2 groups of 3) fits" in advice["raid50=4"].reason
    code, _, err = flashkeep("fleet", "24*1TB:lrc=16+2+2")
    assert code == 2
    assert "not 24; of 24: lrc=20+2+2, lrc=18+3+3, lrc=16+4+4, lrc=18+2+4" in err


def test_options_of_a_trace_say_where_they_belong(drive: Path) -> None:
    with pytest.raises(TypeError, match=r"'compact'; it belongs to the trace: flashkeep\.trace\(PATH, compact=…\)"):
        fk.advise(WORKLOAD, f"4*{drive}", compact=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'limit'; it belongs to the trace"):
        fk.compare(WORKLOAD, [str(drive)], limit=3)  # type: ignore[call-arg]


def test_capacity_and_tolerance_are_those_of_the_schemes(advice: Any) -> None:
    found = {row.scheme: (row.tolerance, round(4 / row.raw_per_usable, 1)) for row in advice}
    assert found == {"none": (0, 4.0), "mirror": (1, 2.0), "raid5": (1, 3.0), "raid6": (2, 2.0)}
    assert advice["none"].p_loss.value == pytest.approx(1 - 0.99**20)
    assert advice["raid6"].p_loss.value < advice["raid5"].p_loss.value < advice["none"].p_loss.value
    assert advice["raid6"].degraded_us.read.p50 > 0
    assert advice["none"].degraded_us is None


def test_the_front_has_what_nothing_beats(advice: Any) -> None:
    def figures(row: Any) -> list[float]:
        return [row.p_loss.value, row.response_us.read.p99, row.raw_per_usable]

    on_front = {row.scheme for row in advice.front}
    assert "none" in on_front  # the cheapest
    assert "raid6" in on_front  # the safest
    for row in advice:
        beaten = [
            other.scheme
            for other in advice
            if all(a < 0.99 * b for a, b in zip(figures(other), figures(row), strict=True))
        ]
        assert not (beaten and row.pareto), row.scheme


def test_default_schemes_need_equal_drives_alone(drive: Path) -> None:
    advice = fk.advise("synth:random,requests=100,rate=2k,footprint=1MiB", f"3*{drive}", mttr_hours=24)
    schemes = [row.scheme for row in advice]
    assert {"none", "mirror", "chained", "raid5", "raid6", "dvs"} <= set(schemes)
    assert not {"hpda", "griffin", "backup", "fra", "ppc", "python", "spd-raid4"} & set(schemes)
    assert "needs 4" in advice["raid6"].reason
    assert advice["mirror"].reason
    assert advice["raid6"].p_loss is None
    assert not advice["raid6"].pareto
    assert advice["raid5"].reason is None
    assert advice["raid5"].mttr_hours == "exponential, mean 24 h"
    assert advice["raid5"].p_loss.value == pytest.approx(fk.fleet("3*1TB:raid5").p_loss.value)


def test_schemes_that_fill_large_arrays_for_minutes_are_left_out_unless_they_are_named() -> None:
    large = drives_of("8 * tlc-datacenter")
    assert large.existing == "all"
    left_out = {each.scheme for each in designs_of(large, None, full=True) if each.drive is None}
    assert left_out == {"chained", "ds", "dvs", "declustered"}
    assert all("--schemes" in (each.reason or "--schemes") for each in designs_of(large, None, full=True))
    assert all(each.drive for each in designs_of(large, None, full=False))
    assert all(each.drive for each in designs_of(large, sorted(left_out), full=True))


def test_what_the_dram_takes_says_nothing_of_write_amplification(drive: Path) -> None:
    workload = "synth:random,requests=1k,write=1,size=4KiB,footprint=64KiB,rate=2000"
    for dram_mib, known in ((2, False), (0.5, True)):
        found = fk.advise(workload, f"4*{drive},buffer.dram_mib={dram_mib}", schemes=["none", "raid5"])
        assert all((row.waf_bytes is not None) is known for row in found)


def test_the_table_fits_and_states_its_assumptions(flashkeep: Command, drive: Path) -> None:
    words = ("advise", WORKLOAD, "--drives", f"4*{drive},price_per_gb=0.1", "--limit", 1000, "--schemes", "raid0,raid6")
    code, out, err = flashkeep(*words)
    assert (code, err) == (0, "")
    assert max(map(len, out.partition("note:")[0].splitlines()[1:])) <= 100
    assert ("The cheapest with P(loss) < 1e-4 in 5 years and read p99 < " in out) != ("comes closest" in out)
    for text in ("1,000 requests (--limit)", "p99", "USD", "P(loss)", "* none", "the drive names none",
                 "AFR 1 %", "24 h", "Pareto front", "the drives (price_per_gb)", "is as good as new",
                 "Limits: P(loss) default: one array of 10,000", "without   with"):  # fmt: skip
        assert text in out, text
    priced = flashkeep.json(*words)
    assert priced["front"][-1] == "cost.usd_per_usable_tb"
    assert priced["rows"][0]["cost"]["usd_per_usable_tb"] == pytest.approx(100, rel=0.05)
    assert priced["workload"]["requests"] == priced["limit"] == 1000


def test_of_a_long_workload_the_first_requests_are_simulated(drive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flashkeep.advising.sample.MOST_WRITTEN", 500 * 4096)
    workload = "synth:random,requests=1k,write=1,size=4KiB,footprint=2MiB,rate=2000"
    found = fk.advise(workload, f"4*{drive}", schemes=["raid5"])
    given = found.to_dict()
    assert (given["workload"]["requests"], given["limit"], given["sample_of"]) == (500, 500, 1000)
    assert found.notes[0].startswith("only the first 500 of 1,000 requests were simulated")
    assert "\n500 of 1,000 requests, 100.0 % writes" in repr(found)
    whole = fk.advise(fk.trace(workload, limit=1000), f"4*{drive}", schemes=["raid5"]).to_dict()
    assert (whole["workload"]["requests"], whole["sample_of"]) == (1000, None)


def test_the_uber_is_the_drive_s_unless_it_is_given(tmp_path: Path, drive: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(drive.read_text() + "\n[errors]\nuber_target = 3e-15\n")
    derived = tmp_path / "derived.toml"
    derived.write_text('base = "base.toml"\n')
    wanted: dict[str, Any] = {"schemes": ["raid5"], "mttr_hours": 24}
    short = "synth:random,requests=100,rate=2k,footprint=1MiB"
    assert fk.advise(short, f"3*{derived}", **wanted).assumptions.uber == 3e-15
    assert fk.advise(short, f"3*{derived},errors.uber_target=1e-14", **wanted).assumptions.uber == 1e-14
    assert fk.advise(short, f"3*{derived}", uber=0, **wanted).assumptions.uber == 0
    assert fk.advise(short, f"3*{drive}", **wanted).assumptions.uber == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--drives missing"),
        (("--drives", "tlc-client"), "N*DRIVE[,KEY=VALUE…] is accepted"),
        (("--drives", "8*1.92TB"), "no drive model"),
        (("--drives", "0*tlc-client"), "1 to 255"),
        (("--drives", "2*tlc-clint"), "tlc-client"),
        (("--drives", "2*tlc-client", "--schemes", "raid7"), "there is no scheme 'raid7'"),
        (("--drives", "2*tlc-client", "--afr", "2"), "--afr: found '2'"),
        (("--drives", "2*tlc-client", "--max-loss", "2"), "--max-loss: found '2'; a probability above 0"),
        (("--drives", "2*tlc-client", "--max-p99", "0"), "--max-p99: takes a number above 0"),
        (("--drives", "2*tlc-client", "--schemes", "raid6"), "no redundancy can be simulated; raid6:"),
    ],
)
def test_wrong_input_is_one_message(flashkeep: Command, words: tuple[str, ...], told: str) -> None:
    code, out, err = flashkeep("advise", "synth:random,requests=10", *words)
    assert (code, out) == (2, "")
    assert told in err
    assert len(err.splitlines()) == 1


NAMES = [
    "cloudphysics-2h.vscsi.zst", "exchange-disk0-33k.mqsim.zst", "financial1-head-10k.ssdsim.zst",
    "hadoop-9s.blkparse.zst", "iozone-100k.disksim.zst", "msr-hm0-1k.csv.zst", "systor17-1k.csv.zst",
    "tencent-cbs-50k.csv.zst", "tpcc-7k.ssdsim.zst", "websearch-60s.ssdsim.zst",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_real_traces_are_answered(
    flashkeep: Command, tmp_path: Path, real_traces: Path, medium: Path, name: str
) -> None:
    trace = real_traces / name
    code, out, err = flashkeep(
        "advise", trace, "--drives", f"4*{medium}", "--schemes", "none,raid5,raid6", "--limit", 600, "--compact",
        "--report", tmp_path / "page.html",
    )  # fmt: skip
    assert (code, err) == (0, ""), err
    assert "raid5" in out
    assert (tmp_path / "page.html").read_text().count("<tr>") > 3


@pytest.mark.parametrize(
    "workload",
    [
        "synth:random,requests=1k,write=1,size=4KiB,footprint=2MiB,rate=2000",
        "synth:random,requests=1k,write=0,size=4KiB,footprint=2MiB,rate=2000",
        "synth:random,requests=1k,size=4KiB,footprint=64KiB,rate=2000",  # fits into the DRAM
        "synth:random,requests=1k,size=4KiB,footprint=2MiB,rate=1M",  # saturates the drives
        "synth:random,requests=3,size=4KiB,footprint=2MiB,rate=2000",
        "synth:random,requests=1,size=4KiB,footprint=2MiB,rate=2000",
    ],
)
def test_workloads_that_lack_something_are_answered(
    flashkeep: Command, tmp_path: Path, drive: Path, workload: str
) -> None:
    for more in ((), ("--mttr-hours", 24)):
        code, out, err = flashkeep(
            "advise", workload, "--drives", f"4*{drive},buffer.dram_mib=1", "--schemes", "none,raid5", "--report",
            tmp_path / "page.html", *more,
        )  # fmt: skip
        assert (code, err) == (0, ""), err
        assert "raid5" in out
        assert (tmp_path / "page.html").exists()
    found = fk.advise(workload, f"4*{drive}", schemes=["none", "raid5"])
    assert len(found.to_frame("pandas")) == 2
    assert "raid5" in repr(found)


def row(scheme: str, loss: float, p99: float, cost: float, **more: Any) -> dict[str, Any]:
    times = {kind: {"p99": p99} for kind in ("read", "write")}
    return {"scheme": scheme, "width": None, "reason": None, "p_loss": {"low": loss, "value": loss, "high": loss},
            "response_us": times, "cost": None, "raw_per_usable": cost, "saturation": None, "lost_pages": None,
            **more}  # fmt: skip


ROWS = [row("none", 0.3, 100.0, 1.0), row("raid5", 2e-3, 150.0, 1.14), row("raid6", 5e-9, 170.0, 1.33),
        row("mirror", 3e-4, 90.0, 2.0)]  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "scheme", "meets", "words"),
    [
        (Limits(), "raid6", True, "The cheapest with P(loss) < 1e-4 in 5 years and read p99 < 180.0 µs"),
        (Limits(), "raid6", True, "Cheaper, but beyond a limit: none (P(loss) 0.3), raid5 (P(loss) 2e-3)."),
        (Limits(1e-2), "raid5", True, "raid5: P(loss) 2e-3, read p99 150.0 µs, write p99 150.0 µs, 1.14 raw TB"),
        (Limits("50%", 120.0), "none", True, "is none"),
        (Limits(1e-3, 120.0), "mirror", True, "raid5 (P(loss) 2e-3, p99 150.0 µs), raid6 (p99 170.0 µs)"),
        (Limits(1e-10, 1000.0), "raid6", False, "No redundancy has P(loss) < 1e-10 in 5 years and read p99 < 1,000 µs; "
                                                "raid6 comes closest: P(loss) 5e-9"),
    ],
)  # fmt: skip
def test_the_conclusion_is_the_cheapest_row_within_both_limits(
    limits: Limits, scheme: str, meets: bool, words: str
) -> None:
    found = conclude(ROWS, limits, "read", 5.0, False)
    assert (found["scheme"], found["meets"]) == (scheme, meets)
    assert words in found["text"]


def test_rows_that_say_nothing_are_no_conclusion() -> None:
    saturated = row("raid5", 1e-6, 1e6, 1.1, saturation={"offered_iops": 2.0, "reached_iops": 1.0, "busy_after_s": 1.0})
    lossy = row("dvs", 1e-6, 100.0, 1.1, lost_pages=3)
    unknown = row("raid6", 0.0, 100.0, 1.3, p_loss=None)
    found = conclude([saturated, lossy, unknown], Limits(), "read", 5.0, False)
    assert (found["scheme"], found["meets"]) == (None, False)
    assert found["text"].startswith("No conclusion")
    assert conclude([saturated, lossy, ROWS[3]], Limits(1.0), "read", 5.0, False)["scheme"] == "mirror"


def test_notes_that_differ_in_numbers_only_are_one() -> None:
    found = alike([
        ("none", ["a run programmed 0.5 % of the flash", "slow: 3 of 4"]),
        ("raid5", ["a run programmed 0.02 % of the flash"]),
        ("raid6", ["a run programmed 1,024 % of the flash", "slow: 3 of 4"]),
    ])  # fmt: skip
    assert found == ["a run programmed 0.02 to 1,024 % of the flash", "none, raid6: slow: 3 of 4"]


def test_an_assumption_that_the_model_refuses_is_a_reason_in_each_row(flashkeep: Command, drive: Path) -> None:
    short = "synth:random,requests=100,rate=2k,footprint=1MiB"
    code, out, err = flashkeep("advise", short, "--drives", f"4*{drive}", "--schemes", "none,raid5", "--wear",
                               "simulated")  # fmt: skip
    assert (code, err) == (0, "")
    assert "none: the model of fleets took no row" in out
    assert "leave --wear simulated" in out


def test_a_run_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch, drive: Path) -> None:
    def failing(job: Any, *others: Any) -> Any:
        if "raid5" in job["drive_text"] and job.get("fail"):
            raise RuntimeError("internal error: place.rs:1: why")
        if "raid6" in job["drive_text"]:
            raise MemoryError
        return simulate(job, *others)

    monkeypatch.setattr("flashkeep.advising.runs.simulate", failing)
    found = fk.advise(WORKLOAD, f"4*{drive}", schemes=SCHEMES)
    assert found["raid6"].reason == "out of memory"
    assert "place.rs:1: why" in found["raid5"].failed_reason
    assert found["raid5"].response_us.read.p99 > 0
    assert found["mirror"].reason is None
    assert "raid6: out of memory" in repr(found)


def test_progress_is_a_line_now_and_then_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    log = io.StringIO()
    monkeypatch.setattr("flashkeep.cli.progress.sys.stderr", log)
    monkeypatch.setattr("flashkeep.cli.progress.time.monotonic", lambda: now)
    state = progress.State()
    state.requests, state.share = 1000, 0.25
    for view in (progress.Line(False), progress.Line(True)):
        now = 0.0
        for second in range(0, 95, 5):
            now = float(second)
            view.draw([state])
        view.clear()
    written = log.getvalue().splitlines()
    assert len(written) == 3, "after 30, 60 and 90 s, and nothing with --quiet"
    assert written[0] == "30 s:  25 %  33 requests/s  2 min left"
    assert "\r" not in log.getvalue()
