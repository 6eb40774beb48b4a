"""`[fleet]` in a plan: the probability of data loss as columns of the table."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest
from conftest import SMALL_DRIVE
from flashkeep import cli

WORKLOAD = "synth:random,requests=300,write=0.5,rate=2k,footprint=1MiB"


def written(folder: Path, more: str) -> Path:
    (folder / "small.toml").write_text("price_per_gb = 0.1\n" + SMALL_DRIVE)
    for scheme in ("raid5", "raid6"):
        (folder / f"{scheme}.toml").write_text(f'members = ["5 * small.toml"]\n[redundancy]\nscheme = "{scheme}"\n')
    plan = folder / "plan.toml"
    plan.write_text(f'workload = "{WORKLOAD}"\ndrive = ["small.toml", "raid5.toml", "raid6.toml"]\n{more}')
    return plan


def swept(folder: Path, more: str, *words: str) -> dict[str, dict[str, str]]:
    """The rows by drive."""
    assert cli.main(["sweep", str(written(folder, more)), "--out", str(folder / "out"), "--quiet", *words]) == 0
    with open(folder / "out" / "results.csv", newline="", encoding="utf-8") as file:
        return {row["drive"]: row for row in csv.DictReader(file)}


def test_columns_are_what_fleet_says(tmp_path: Path) -> None:
    rows = swept(tmp_path, "[fleet]\nafr = '2%'\nmttr_hours = 12\nuber = 1e-15\nspares = 1\n")
    for drive, row in rows.items():
        found: Any = fk.fleet(str(tmp_path / drive), afr="2%", mttr_hours=12, uber=1e-15, spares=1)
        assert float(row["fleet.p_loss.value"]) == found.p_loss.value, drive
        assert float(row["fleet.nines"]) == found.nines
        assert float(row["fleet.nomdl"]) == found.nomdl
        assert float(row["fleet.cost.usd"]) == found.cost.usd
    assert float(rows["small.toml"]["fleet.p_loss.value"]) == pytest.approx(1 - 0.98**5)
    assert float(rows["raid6.toml"]["fleet.nines"]) > float(rows["raid5.toml"]["fleet.nines"])


def test_resuming_with_other_assumptions_runs_nothing_and_leaves_no_old_figure(tmp_path: Path) -> None:
    first = swept(tmp_path, "[fleet]\nafr = 0.01\n")
    timings = (tmp_path / "out" / "timings.csv").read_text()
    second = swept(tmp_path, "[fleet]\nafr = 0.05\n")
    without = swept(tmp_path, "")
    assert (tmp_path / "out" / "timings.csv").read_text() == timings
    for drive in first:
        assert first[drive]["cell"] == second[drive]["cell"] == without[drive]["cell"]
        assert float(second[drive]["fleet.p_loss.value"]) > float(first[drive]["fleet.p_loss.value"])
        assert not [column for column in without[drive] if column.startswith("fleet.")]


def test_loss_is_a_figure_of_the_report_and_of_pareto_fronts(tmp_path: Path) -> None:
    swept(tmp_path, "[fleet]\nmttr_hours = 12\n")
    results = fk.load_sweep(tmp_path / "out")
    front = results.pareto("fleet.p_loss.value", "response_us.read.p99").rows()
    assert front[0]["drive"] == "raid6.toml"  # the safest
    assert results.pareto("fleet.nines", "waf_bytes").rows()[0]["drive"] == "raid6.toml"
    page = tmp_path / "page.html"
    assert cli.main(["report", str(tmp_path / "out"), "-o", str(page), "--quiet"]) == 0
    assert "nines of keeping all data" in page.read_text()


def test_a_search_may_set_a_limit_on_the_loss(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--minimize", "waf_bytes", "--subject-to", "fleet.nines >= 7")
    swept(tmp_path, "[fleet]\nmttr_hours = 12\n", *words)
    with open(tmp_path / "out" / "trials.csv", newline="", encoding="utf-8") as file:
        feasible = {row["drive"]: row["feasible"] for row in csv.DictReader(file)}
    assert feasible == {"small.toml": "false", "raid5.toml": "false", "raid6.toml": "true"}
    plan = written(tmp_path, "")
    assert cli.main(["sweep", str(plan), "--out", str(tmp_path / "other"), "--quiet", *words]) == 2
    assert "fleet.nines needs the assumptions of [fleet]" in capsys.readouterr().err
