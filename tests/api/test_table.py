"""Printed tables, from made-up summaries."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

import pytest
from flashkeep.cli.progress import State, line
from flashkeep.render import table, text_list
from flashkeep.render.summary_rows import LOWER, Row, micros
from flashkeep.render.terminal import GREEN, RED, Page
from flashkeep.render.terminal import PLAIN as NORMAL
from flashkeep.render.verdict_text import change, in_words
from flashkeep.render.verdict_text import label as label_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from summaries import LATENCY, summary

PLAIN = Page()
BASE = summary(**{"response_us.read": {**LATENCY, "mean": 200.0}})
MIRROR = summary(
    **{
        "drive.name": "2CM-128",
        "response_us.read": {**LATENCY, "mean": 112.0},
        "response_us.write": {**LATENCY, "mean": 103.0},
        "operations.program.mirror": 500,
        "write_amplification.mirror": 1.0,
        "write_amplification.total": 2.0,
    }
)


def test_what_a_comparison_shows_in_words() -> None:
    assert in_words(BASE, MIRROR) == (
        "2CM-128 reads 44 % faster and writes 3 % slower than 1CNM-64; every page is programmed twice."
    )
    assert in_words(BASE, BASE) == "1CNM-64 reads and writes as fast as 1CNM-64."


def test_words_where_there_are_no_reads() -> None:
    writes_only = summary(**{"response_us.read": None})
    assert in_words(writes_only, writes_only) == "1CNM-64 writes as fast as 1CNM-64."
    nothing = summary(**{"response_us.read": None, "response_us.write": None})
    assert "no request" in in_words(nothing, nothing)


def row(text: str, label: str) -> list[str]:
    return next(line for line in text.splitlines() if label in line).split()


def test_changes_and_which_way_is_better() -> None:
    text = table.compare_report([BASE, MIRROR], PLAIN)
    assert row(text, "reads, mean") == ["reads,", "mean", "200.0", "112.0", "−44.0", "%", "↓", "lower"]
    assert row(text, "pages programmed for a page")[5:] == ["1.000", "2.000", "×", "2.0", "↓", "lower"]
    assert row(text, "requests a second")[-3:] == ["=", "↑", "higher"]
    assert row(text, "dies busy, mean")[-1] == "=", "neither way is better"


def test_colour_says_better_or_worse() -> None:
    text = table.compare_report([BASE, MIRROR], Page(colour=True))
    assert f"{GREEN}    −44.0 %{NORMAL}" in text
    assert f"{RED}      × 2.0{NORMAL}" in text


def test_large_numbers_do_not_run_into_each_other() -> None:
    slow = summary(**{"response_us.read": {**LATENCY, "mean": 2e14}})
    text = table.compare_report([BASE, slow, MIRROR], PLAIN)
    cells = ["reads,", "mean", "200.0", "200,000,000,000,000", "×", "1,000,000,000,000", "112.0"]
    assert row(text, "reads, mean")[:7] == cells


def test_response_times_of_a_saturated_drive_are_not_compared() -> None:
    saturation = {"offered_iops": 12_000.0, "reached_iops": 4_879.4, "busy_after_s": 9.0}
    slow = {**summary(**{"response_us.read": {**LATENCY, "mean": 2e8}}), "saturation": saturation}
    slow["drive"] = {**slow["drive"], "name": "dvs"}
    assert in_words(BASE, slow) == "dvs cannot carry 12,000/s; it reaches 4,879/s."
    assert in_words(slow, BASE) == "1CNM-64 carries 12,000/s, of which dvs reaches 4,879/s."
    text = table.compare_report([BASE, slow], PLAIN)
    assert row(text, "reads, mean") == ["reads,", "mean", "200.0", "200,000,000", "saturated", "↓", "lower"]
    assert f"{RED}  saturated" in table.compare_report([BASE, slow], Page(colour=True))


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        (100.0, 100.04, "="), (100.0, 199.9, "+99.9 %"), (100.0, 200.0, "× 2.0"), (100.0, 14_333.0, "× 143"),
        (100.0, 50.1, "−49.9 %"), (100.0, 50.0, "÷ 2.0"), (1000.0, 7.0, "÷ 143"), (100.0, 0.0, "−100.0 %"),
        (0.0, 5.0, ""), (-0.4, 0.1, ""), (None, 1.0, ""), (1.0, None, ""),
    ],
)  # fmt: skip
def test_a_change_is_a_factor_from_two_on(before: float | None, after: float | None, written: str) -> None:
    assert change(before, after) == written


def test_words_say_factors_too() -> None:
    reads, writes = {**LATENCY, "mean": 28_600.0}, {**LATENCY, "mean": 103.0}
    slow = summary(**{"drive.name": "slow", "response_us.read": reads, "response_us.write": writes})
    assert in_words(BASE, slow) == "slow reads 143 times slower and writes 3 % slower than 1CNM-64."
    assert in_words(slow, BASE).startswith("1CNM-64 reads 143 times faster and writes 3 % faster than slow")


def changed(name: str, changes: dict[str, Any], *pairs: str) -> dict[str, Any]:
    return summary(**{"drive.name": name, "drive_changes": changes, "options": {"drive": name, "set": list(pairs)}})


def test_every_header_shows_what_was_set() -> None:
    changes = {
        "redundancy.scheme": ["none", "raid5"],
        "redundancy.idle_ms": [None, 10.0],
        "buffer.dram_mib": [0.0, 32.0],
    }
    raid = changed("tlc-client", changes, "redundancy.scheme = raid5", "buffer.dram_mib=32", "ftl.gc.victim=greedy")
    assert label_of(raid) == "tlc-client (redundancy.scheme=raid5, buffer.dram_mib=32)", (
        "what has an effect, and no more"
    )
    plain = changed("tlc-client", {}, "redundancy.scheme=none")
    text = table.compare_report([plain, raid], PLAIN)
    assert text.startswith("tlc-client against tlc-client (redundancy.scheme=raid5, buffer.dram_mib=32) under")
    assert [line.split() for line in text.splitlines()[4:7]] == [
        ["tlc-client", "tlc-client", "Δ", "better"], ["redundancy.scheme=raid5"], ["buffer.dram_mib=32"]
    ]  # fmt: skip
    assert table.run_report(raid, PLAIN).startswith(label_of(raid))
    own = changed("x", {"a.list": [None, [1, 2]]})
    own["options"]["drive"] = "x,a.list=[1,2]"
    assert label_of(own) == "x (a.list=[1,2])"
    members = changed("array", {"members.0.flash.channels": [8, 4]}, "flash.channels=4")
    assert label_of(members) == "array (flash.channels=4)"


def test_a_narrow_page_has_several_tables() -> None:
    drives = [BASE, *(copy.deepcopy(MIRROR) for _ in range(4))]
    wide = table.compare_report(drives, PLAIN)
    narrow = table.compare_report(drives, Page(width=80))
    assert wide.count("better") == 1
    assert narrow.count("better") > 1
    assert max(len(line) for line in narrow.splitlines()[3:] if not line.endswith(".")) <= 80
    assert narrow.count("2CM-128 reads") == 4


def test_features_have_rows_where_they_are_used() -> None:
    plain = table.run_report(BASE, PLAIN)
    titles = ("Before time 0", "Map", "Several at once")
    assert not any(title in plain.splitlines() for title in titles)
    used = summary(
        **{
            "conditioning": {"rounds": 12, "write_amplification": 3.25, "pages_per_round": 9, "steady": True},
            "mapping": {"map": "dftl", "hits": 75, "misses": 25, "miss_rate": 0.25, "write_backs": 7},
            "commands": {"multi_plane": {"program": 31}, "cache": {"read": 0}, "wasted_pages": 3},
            "wear.lifetime_days": 400.0,
            "wear.tbw": 2.5,
            "wear.dwpd": 0.75,
            "integrity.power_cuts": 2,
            "integrity.recovery_us": [100.0, 300.0],
        }
    )
    text = table.run_report(used, PLAIN)
    assert all(title in text.splitlines() for title in titles)
    for label, written in {
        "rounds of writes": "12",
        "write amplification of the last": "3.250",
        "entries not there": "25",
        "share": "25.0",
        "translation pages written back": "7",
        "multi-plane programs": "31",
        "pages left out for them": "3",
        "lifetime under this workload, days": "400.0",
        "(TBW)": "2.500",
        "(DWPD)": "0.750",
        "power cuts": "2",
        "until requests were accepted again": "200.0",
        "mean power, W": "0.500",
    }.items():
        assert written in row(text, label), label
    assert "cache register" not in text, "zeros are left out"


def test_untimed_runs_say_so() -> None:
    untimed = summary(untimed=True, simulated_s=None)
    assert "untimed" in table.run_report(untimed, PLAIN).splitlines()[1]
    assert "untimed" not in table.run_report(BASE, PLAIN)
    nothing = {"response_us.all": None, "response_us.read": None, "response_us.write": None}
    first, other = (summary(untimed=True, **nothing, **{"write_amplification.total": wa}) for wa in (2.0, 1.5))
    assert in_words(first, other) == "1CNM-64 programs 25 % fewer pages than 1CNM-64."
    assert in_words(first, first) == "1CNM-64 programs as many pages as 1CNM-64."


def test_warnings_are_said_once() -> None:
    both, one = "garbage collection never ran (the drive was 12.3 % full at the end)", "the trace saturates the drive"
    text = table.compare_report([summary(warnings=[both, one]), {**MIRROR, "warnings": [both]}], PLAIN)
    assert text.count(f"note: {both}\n") == 1
    assert f"note: 1CNM-64: {one}\n" in text


def test_an_empty_run_can_be_read() -> None:
    empty = summary(
        **{"response_us": {"all": None, "read": None, "write": None}, "workload.requests": 0, "workload.writes": 0}
    )
    assert "0 requests" in table.run_report(empty, PLAIN)


@given(st.floats(min_value=0, max_value=1e12))
def test_times_keep_four_digits(value: float) -> None:
    written = float(micros(value).replace(",", ""))
    assert written == pytest.approx(value, rel=1e-3, abs=5.001e-4)


NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1)
VALUES = st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | st.text()
TABLES = st.dictionaries(NAMES, VALUES, max_size=4)
DRIVES = st.dictionaries(NAMES, VALUES | TABLES | st.dictionaries(NAMES, VALUES | TABLES, max_size=3), max_size=5)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no defect
@given(DRIVES)
def test_a_drive_as_toml_reads_back(values: dict[str, Any]) -> None:
    def kept(tree: dict[str, Any]) -> dict[str, Any]:
        """Without empty tables."""
        below = {key: kept(value) if isinstance(value, dict) else value for key, value in tree.items()}
        return {key: value for key, value in below.items() if value != {}}

    assert kept(tomllib.loads(text_list.toml(values))) == kept(values)


def test_progress_lines() -> None:
    half, unknown = State(), State()
    half.requests, half.share = 500_000, 0.5
    assert line([half], 2.0) == " 50 %  250 k requests/s  2 s left"
    unknown.requests = 100
    assert line([half, unknown], 1.0) == "500,100 requests  500 k requests/s"
    half.share = 0.001
    assert "left" not in line([half], 1.0)


def test_a_list_without_values_has_no_mean() -> None:
    """The utilization of each channel, after a run that served no request."""
    row = Row("channels", "utilization.channel", micros, LOWER)
    assert row.value({"utilization": {"channel": [None, None]}}) is None
    assert row.value({"utilization": {"channel": [None, 0.5]}}) == 0.5
