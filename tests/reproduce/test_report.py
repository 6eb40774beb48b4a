"""`flashkeep report`: a page of any results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import Command
from loads import loaded_by

WORKLOAD = "synth:zipf,requests=8k,rate=2k,write=0.7"


@pytest.fixture(scope="session")
def compared(flashkeep: Command, drive: Path, mirrored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compared") / "out"
    code, _, err = flashkeep("compare", WORKLOAD, drive, mirrored, "--out", out, "--quiet")
    assert code == 0, err
    return out


def page_of(flashkeep: Command, folder: Path, page: Path) -> str:
    code, out, err = flashkeep("report", folder, "-o", page)
    assert (code, err) == (0, ""), err
    assert str(page) in out
    text = page.read_text()
    assert loaded_by(text) == []
    return text


def test_a_comparison_has_every_figure(flashkeep: Command, compared: Path, tmp_path: Path) -> None:
    page = page_of(flashkeep, compared, tmp_path / "page.html")
    for caption in ("Distribution of response times", "Percentiles of response times", "Write amplification by cause",
                    "Operations of the flash by cause", "Share of the simulated time",
                    "Histogram of wear"):  # fmt: skip
        assert page.count(f"<figcaption>{caption}") == 1, caption
    assert 'class="faint missing"' not in page
    summaries = [json.loads((compared / name / "summary.json").read_text()) for name in ("01-small", "02-mirrored")]
    for summary in summaries:
        assert summary["drive"]["name"] in page
        assert summary["digest"][:12] in page
        bars = summary["wear"]["erases_histogram"]
        blocks = 4 * 32
        assert sum(bar["blocks"] for bar in bars) == blocks
        assert (bars[0]["from"], bars[-1]["to"]) == (summary["wear"]["erases_min"], summary["wear"]["erases_max"])
    assert "garbage collection" in page
    assert "Every figure" in page


def test_what_is_missing_is_said(flashkeep: Command, compared: Path, drive: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(compared, bare, ignore=shutil.ignore_patterns("*.parquet"))
    page = page_of(flashkeep, bare, tmp_path / "bare.html")
    assert "No requests of" in page
    assert "No percentiles over time" in page
    assert "<figcaption>Distribution of response times" in page
    untimed = tmp_path / "untimed"
    reads = "synth:random,requests=2k,rate=2k,write=0"
    assert flashkeep("run", drive, reads, "--untimed", "--out", untimed, "--quiet").code == 0
    page = page_of(flashkeep, untimed, tmp_path / "untimed.html")
    for missing in ("No response times", "No write amplification", "No utilisation", "no block was erased"):
        assert missing in page, missing


def test_runs_of_a_paper_are_results_too(flashkeep: Command, aging: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    cells = out / "runs" / "cells"
    cells.mkdir(parents=True)
    for path in (aging / "runs" / "cells").iterdir():
        if "synth:ageing-financial1" in path.read_text():
            shutil.copy(path, cells)
    page = page_of(flashkeep, out, tmp_path / "page.html")
    assert "synth:ageing-financial1,requests=1000" in page
    assert "Figures show the first 6 of 12 runs" in page
    for differs in ("(ageing.model=basic, ageing.aged_ratio=0.8)", "ageing.valid_ratio=0.3)"):
        assert differs in page, "drives of one name are told apart by what differs"


def test_failures_are_marked_and_notes_come_first(
    flashkeep: Command, mirrored: Path, drive: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    fails = ("--fail", "chip:1.0@2s,replace_after=1s")
    words = ("compare", WORKLOAD, mirrored, f"{mirrored},buffer.dram_mib=1", *fails, "--out", out, "--quiet")
    assert flashkeep(*words).code == 0
    page = page_of(flashkeep, out, tmp_path / "page.html")
    summary = json.loads((out / "01-mirrored" / "summary.json").read_text())
    phases = summary["phases"]
    assert len(phases) > 2
    for letter in "AB":
        assert page.count(f">{letter}</text>") >= 1, "on the time axis"
        assert f"<b>{letter}</b>" in page, "in the table of phases"
    assert "letters that the table of phases explains" in page
    assert "chip:1.0" in page.partition("Before, during and after")[2]
    label = "mirrored (buffer.dram_mib=1)"
    assert page.count(label) > 5, "wherever the run is named"
    assert page.index('<ul class="notes">') < page.index("<table") < page.index("<figure>")
    inputs = page.partition('id="inputs"')[2]
    assert "buffer.dram_mib: 0 → 1" in inputs
    assert summary["workload"]["sha256"] in inputs
    assert "flashkeep compare synth:zipf" in inputs


def test_bad_input_is_refused(flashkeep: Command, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder, told in ((empty, "there is no summary.json"), (tmp_path / "nowhere", "is not a directory")):
        code, _, err = flashkeep("report", folder, "-o", tmp_path / "page.html")
        assert code == 2
        assert told in err
    (empty / "summary.json").write_text('{"a": 1}')
    code, _, err = flashkeep("report", empty, "-o", tmp_path / "page.html")
    assert code == 2
    assert "found other JSON" in err
    (empty / "summary.json").write_text('{"a": ')
    code, _, err = flashkeep("report", empty, "-o", tmp_path / "page.html")
    assert code == 2
    assert "not JSON" in err
    assert flashkeep("report", empty).code == 2
    assert not (tmp_path / "page.html").exists()
