"""`flashkeep sweep --minimize`: the best choice of a plan."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from flashkeep import cli

PLAN = """
workload = "synth:random,requests=300,write=0.5,size=4KiB,footprint=64MiB,rate=5k"
drive = "2CM-128"
seed = [1, 2]
[grid]
flash.timing.read_us = [20, 25, 30, 35, 40, 45, 50, 55]
flash.timing.program_us = [200, 250, 300, 350, 400, 450, 500, 550]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def found(plan: Path, capsys: pytest.CaptureFixture[str], *more: str, out: str = "out") -> dict[str, Any]:
    capsys.readouterr()
    command = ["sweep", str(plan), "--out", str(plan.parent / out), "--json", "--quiet", *more]
    assert cli.main(command) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def means(plan: Path, figure: str) -> dict[tuple[str, str], float]:
    """The figure of each choice, over its seeds, from the table of all cells."""
    with open(plan.parent / "all" / "results.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    kept: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        kept.setdefault((row["flash.timing.read_us"], row["flash.timing.program_us"]), []).append(float(row[figure]))
    return {key: sum(values) / len(values) for key, values in kept.items()}


def test_all_choices_are_tried_if_there_are_few(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found(plan, capsys, out="all")
    best = found(plan, capsys, "--minimize", "response_us.read.mean", "--trials", "64")
    expected = means(plan, "response_us.read.mean")
    keys = tuple(str(value) for key, value in best["best"]["keys"].items() if key.startswith("flash"))
    assert best["best"]["value"] == pytest.approx(min(expected.values()))
    assert expected[keys[0], keys[1]] == min(expected.values())
    assert (best["trials"], best["choices"], best["ran"]) == (64, 64, 128)


def test_a_search_finds_the_best_with_a_share_of_the_runs(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found(plan, capsys, out="all")
    reads = means(plan, "response_us.read.mean")
    best = found(
        plan,
        capsys,
        "--maximize",
        "response_us.read.mean",
        "--trials",
        "25",
        "--subject-to",
        "response_us.write.p50 > 0",
        "--subject-to",
        "response_us.write.max <= 1e9",
    )
    assert best["ran"] <= 50
    top = sorted(reads.values(), reverse=True)
    assert best["best"]["value"] >= top[6], "among the best tenth of all choices"


def test_conditions_hold_in_every_cell(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found(plan, capsys, out="all")
    limit = sorted(means(plan, "response_us.read.mean").values())[32]
    below = f"response_us.read.mean < {limit}"
    best = found(plan, capsys, "--maximize", "response_us.read.mean", "--subject-to", below, "--trials", "64")
    with open(plan.parent / "out" / "results.csv", newline="", encoding="utf-8") as file:
        rows = {row["cell"]: float(row["response_us.read.mean"]) for row in csv.DictReader(file)}
    assert all(rows[cell] < limit for cell in best["best"]["cells"])
    none = found(plan, capsys, "--minimize", "response_us.read.mean", "--subject-to", "response_us.read.mean < 1",
                 "--trials", "64")  # fmt: skip
    assert none["best"] is None
    assert none["ran"] == 0


def test_the_same_search_goes_on_from_where_it_ended(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = found(plan, capsys, "--minimize", "response_us.read.p99", "--trials", "8")
    longer = found(plan, capsys, "--minimize", "response_us.read.p99", "--trials", "16")
    whole = found(plan, capsys, "--minimize", "response_us.read.p99", "--trials", "16", "--workers", "1", out="whole")
    assert (short["ran"], longer["ran"], whole["ran"]) == (16, 16, 32)
    assert longer["best"] == whole["best"]
    assert (plan.parent / "out" / "trials.csv").read_bytes() == (plan.parent / "whole" / "trials.csv").read_bytes()
    assert (plan.parent / "out" / "results.csv").read_bytes() == (plan.parent / "whole" / "results.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--minimize", "response_us.raed.p99"], "did you mean 'response_us.read.p99'"),
        (["--minimize", "waf_bytes", "--maximize", "waf_bytes"], "exclude each other"),
        (["--subject-to", "waf_bytes < 2"], "goes with --minimize"),
        (["--minimize", "waf_bytes", "--subject-to", "waf_bytes = 2"], "'FIGURE < NUMBER'"),
        (["--minimize", "waf_bytes", "--subject-to", "waf_bytes < x"], "'FIGURE < NUMBER'"),
        (["--minimize", "waf_bytes", "--subject-to", "waf < 3"], "there is no figure 'waf'"),
    ],
)
def test_goals_that_make_no_sense(
    plan: Path, capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    assert cli.main(["sweep", str(plan), "--out", str(plan.parent / "out"), *options]) == 2
    assert told in capsys.readouterr().err
