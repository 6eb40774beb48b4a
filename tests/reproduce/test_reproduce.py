"""`flashkeep reproduce`: what it leaves, and that what is done is not done again."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from flashkeep.reproduce import find
from flashkeep.reproduce.paper import Cell, Run
from flashkeep.reproduce.published import Published
from flashkeep.reproduce.reasons import AGREES, DIFFERS, SAME_SHAPE, VERDICTS
from flashkeep.reproduce.simulate import Setup, real_traces
from flashkeep.reproduce.verdicts import Near, Same, own_group, trend
from loads import loaded_by

SCALE = "0.0001"
"""That of the papers in `paper`."""


def load(out: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / f"{name}.json").read_text())
    return found


def test_a_paper_leaves_what_is_promised(paper: tuple[str, Path]) -> None:
    name, out = paper
    results = load(out, name)
    assert results["paper"] == name
    assert results["scale"] == float(SCALE)
    assert {workload["name"] for workload in results["workloads"]} == {w.name for w in find(name).workloads}
    assert all(workload["synthetic"] for workload in results["workloads"])
    for cell in results["cells"]:
        assert list(cell) == ["table", "row", "column", "published", "simulated", "unit", "verdict", "note"]
        assert cell["verdict"] in (*VERDICTS, None)
        assert (cell["verdict"] is None) == (cell["published"] is None or cell["simulated"] is None), cell
        assert all(text.isascii() for text in (cell["table"], cell["row"], cell["column"]))
    assert len({(cell["table"], cell["row"], cell["column"]) for cell in results["cells"]}) == len(results["cells"])
    counts = (results, results["predictions"], results["inputs"])
    judged = sum(sum(part["verdicts"].values()) for part in counts)
    assert judged == sum(cell["verdict"] is not None for cell in results["cells"])
    with (out / f"{name}.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(results["cells"])
    for line, cell in zip(lines, results["cells"], strict=True):
        assert line["row"] == cell["row"]
        assert line["simulated"] == ("" if cell["simulated"] is None else str(cell["simulated"]))
        assert line["provenance"] == results["provenance"]


def test_figures_are_svg_and_png(paper: tuple[str, Path]) -> None:
    name, out = paper
    figures = load(out, name)["figures"]
    assert {Path(figure).suffix for figure in figures} == {".svg", ".png"}
    for figure in figures:
        data = (out / figure).read_bytes()
        if figure.endswith(".png"):
            assert data.startswith(b"\x89PNG")
        else:
            ET.fromstring(data)
            assert b"prefers-color-scheme: dark" in data
            assert not re.search(rb"#0\d0\df\d", data), "a placeholder colour is left"


def test_the_page_is_one_file(paper: tuple[str, Path]) -> None:
    name, out = paper
    page = (out / f"{name}.html").read_text()
    assert loaded_by(page) == []
    results = load(out, name)
    assert results["provenance"] in page
    assert "A quick look" in page
    for verdict, count in results["verdicts"].items():
        assert re.search(rf"<b>{count}</b>\s*. {verdict}", page), verdict
    for table in results["rules"].values():
        assert table.split(";")[0] in page


def test_what_is_done_is_not_done_again(flashkeep: Command, aging: Path, tmp_path: Path) -> None:
    before, folder = load(aging, "aging"), tmp_path / "out"
    shutil.copytree(aging / "runs", folder / "runs")
    runs = {path: path.stat().st_mtime_ns for path in (folder / "runs").glob("**/*.*")}
    code, out, _ = flashkeep("reproduce", "aging", "--scale", SCALE, "--out", folder)
    assert code == 0
    assert re.search(r"\(0 runs, \d+ kept from before\)", out), out
    assert {path: path.stat().st_mtime_ns for path in (folder / "runs").glob("**/*.*")} == runs
    assert load(folder, "aging") == before
    # Another seed is another run.
    code, out, _ = flashkeep("reproduce", "aging", "--scale", SCALE, "--out", folder, "--seed", "2", "--json")
    assert code == 0
    (other,) = json.loads(out)["papers"]
    assert other["seed"] == 2
    assert other["cells"] != before["cells"]
    assert len(list((folder / "runs").glob("**/*.*"))) > len(runs)


def test_a_run_that_was_cut_short_is_done_again(flashkeep: Command, aging: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(aging / "runs", out / "runs")
    assert flashkeep("reproduce", "aging", "--scale", SCALE, "--out", out).code == 0
    before = load(out, "aging")
    victim = next(path for path in (out / "runs" / "cells").iterdir() if "synth:ageing-ts" in path.read_text())
    whole = json.loads(victim.read_text())
    victim.write_text(victim.read_text()[:100])
    code, said, _ = flashkeep("reproduce", "aging", "--scale", SCALE, "--out", out)
    assert code == 0
    assert "(1 runs, " in said
    assert json.loads(victim.read_text()) == whole
    assert load(out, "aging")["cells"] == before["cells"]


def test_ctrl_c_keeps_what_is_done(flashkeep: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = flashkeep.start("reproduce", "aging", "--scale", "0.1", "--workers", "1", "--out", out)
    until = time.monotonic() + 60
    while len(list((out / "runs" / "cells").glob("*.json"))) < 2:
        assert time.monotonic() < until
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    kept = list((out / "runs" / "cells").glob("*.json"))
    told = f"{out / 'runs'} has {len(kept)} finished runs, and the same command goes on from there"
    assert (process.returncode, err) == (130, f"flashkeep: interrupted; {told}\n")
    assert len(kept) >= 2
    assert all(json.loads(path.read_text())["summary"] for path in kept)
    assert not (out / "aging.html").exists()


def name_of(setup: Setup, run: Run) -> str:
    """The name of a run by all that its result depends on."""
    return setup.cell(run, setup.digests()).name


CSV = "time=0:ns,offset=1:sectors,size=2:sectors,op=3"


def test_a_trace_is_read_as_it_is_said(flashkeep: Command, tmp_path: Path) -> None:
    """As `run` reads it; what is not said is detected, and here it would be taken for SPC."""
    trace = tmp_path / "own.csv"
    trace.write_text("".join(f"{at * 4_000_000},{at % 97 * 8},8,{'RW'[at % 4 > 0]}\n" for at in range(1500)))
    given, read = f"ageing-ts={trace}", ("--format", "csv", "--columns", CSV)
    paper = find("aging")
    reading = {"format": "csv", "columns": CSV}
    real = real_traces(paper, [given], reading)
    assert real["ageing-ts"].requests == 1500
    run = next(run for run in paper.runs() if run.workload == "ageing-ts")
    told = Setup(paper, 1.0, 1, real, reading)
    assert reading.items() <= told.job(run).items()
    assert name_of(told, run) != name_of(Setup(paper, 1.0, 1, real), run), "read otherwise, it is another run"
    other = next(run for run in paper.runs() if run.workload == "ageing-src2")
    assert name_of(told, other) == name_of(Setup(paper, 1.0, 1, {}), other), "a stand-in is not read"
    code, _, err = flashkeep("reproduce", "aging", "--scale", "0.005", "--trace", given, *read, "--out", tmp_path)
    assert (code, err) == (0, "")
    (share,) = (
        cell["simulated"] for cell in load(tmp_path, "aging")["cells"]
        if (cell["table"], cell["row"], cell["column"]) == ("1", "ts_0", "write %")
    )  # fmt: skip
    assert share == pytest.approx(75.0, abs=0.1)


def test_a_real_trace_takes_the_stand_ins_place(flashkeep: Command, tmp_path: Path) -> None:
    trace = tmp_path / "own.ssdsim"
    trace.write_text("".join(f"{at * 400_000} 0 {at % 97 * 8} 8 {at % 2}\n" for at in range(1500)))
    out = tmp_path / "out"
    given = f"ageing-financial1={trace}"
    code, said, err = flashkeep("reproduce", "aging", "--scale", "0.005", "--trace", given, "--out", out)
    assert code == 0, err
    assert "Real traces: ageing-financial1" in said or "Real traces: ageing-financial1" in said.replace("; r", "; R")
    workloads = {workload["name"]: workload for workload in load(out, "aging")["workloads"]}
    assert not workloads["ageing-financial1"]["synthetic"]
    assert workloads["ageing-financial1"]["source"] == os.fspath(trace)
    assert workloads["ageing-ts"]["synthetic"]
    writes = [cell for cell in load(out, "aging")["cells"] if (cell["table"], cell["column"]) == ("1", "write %")]
    assert writes[-1]["row"] == "financial1"
    assert writes[-1]["simulated"] == pytest.approx(50.0, abs=0.1)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sirf2"], "there is no paper 'sirf2'; did you mean 'sirf1'?"),
        (["sirf1", "--scale", "2"], "takes a share above 0 and up to 1, such as 0.1; found '2'"),
        (["sirf1", "--trace", "sirf-fin3=x"], "there is no workload 'sirf-fin3' here; did you mean 'sirf-fin"),
        (["sirf1", "--trace", "sirf-fin1=nowhere.spc"], "nowhere.spc"),
        (["sirf1", "--trace", "sirf-fin1"], "takes KEY=VALUE"),
        (["sirf1", "--format", "spc"], "--format says how a file is read; there is no --trace NAME=PATH"),
        (["sirf1", "--trace", "sirf-fin1=x", "--format", "nope"], "nope"),
    ],
)
def test_bad_input_is_refused(flashkeep: Command, tmp_path: Path, arguments: list[str], told: str) -> None:
    code, out, err = flashkeep("reproduce", *arguments, cwd=tmp_path)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert not list(tmp_path.glob("**/*.json")), "nothing is simulated"


def test_an_out_that_is_a_file_is_refused(flashkeep: Command, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    code, _, err = flashkeep("reproduce", "aging", "--scale", SCALE, "--out", tmp_path / "out")
    assert code == 2
    assert "is a file, not a directory" in err


def cells(*numbers: tuple[float | None, float | None]) -> list[Cell]:
    return [Cell("T", str(at), "c", published, simulated, "%") for at, (published, simulated) in enumerate(numbers)]


def test_verdicts_follow_their_rules() -> None:
    rule = Near(10.0, 1.0, lambda cell: cell.column, "the rows")
    assert rule.judge(cells((30, 25), (20, 12), (10, 9))) == [AGREES] * 3
    assert rule.judge(cells((30, 65), (20, 50), (10, 40))) == [SAME_SHAPE] * 3
    assert rule.judge(cells((30, 19), (20, 70), (10, 9))) == [DIFFERS, DIFFERS, AGREES], "not in the paper's order"
    assert rule.judge(cells((-5, 4))) == [DIFFERS], "near, but of the other sign"
    assert rule.judge(cells((0.4, -3))) == [AGREES], "as good as level: any sign"
    assert rule.judge(cells((12.7, 51), (12.9, 50))) == [SAME_SHAPE] * 2, "as good as equal: any order"
    assert rule.judge(cells((50, 20))) == [DIFFERS], "one number has no shape"
    assert rule.judge(cells((10, 20))) == [AGREES], "up to ten, not below"
    assert rule.judge(cells((None, 20), (10, None))) == [None, None]
    share = Near(0.10, 0.0, own_group, "nothing", relative=True)
    assert share.judge(cells((200, 220), (200, 221))) == [AGREES, DIFFERS]
    assert Same().judge(cells((1, 1), (1, 0), (-1, 1))) == [AGREES, DIFFERS, DIFFERS]
    assert [trend(1, 2, 0.5), trend(2, 1, 0.5), trend(1, 1.2, 0.5), trend(None, 1, 0)] == [1.0, -1.0, 0.0, None]
    assert "10 points" in rule.text
    assert "10 %" in share.text


def test_published_numbers_lie_in_data_files() -> None:
    """The paper's own sum: the mean of its thirty values is the 15 % that it claims."""
    published = Published("sirf1")
    gains = [
        cell.published
        for table in ("VI", "VII")
        for cell in published.cells(table, lambda _: None)
        if cell.column == "dMRT" and cell.published is not None
    ]
    assert len(gains) == 30
    assert round(sum(gains) / 30, 2) == 15.08
    # Each gain of all requests lies between that of reads and that of writes, as a mean of both must.
    for row in published.rows("VI"):
        all_, reads, writes = (published.value("VI", row, column) for column in ("dMRT", "dMRRT", "dMWRT"))
        assert min(reads, writes) <= all_ <= max(reads, writes), row
    told = {f"{value:g}" for value in gains if value > 10}
    root = Path(__file__).parents[2] / "python" / "flashkeep" / "reproduce"
    for path in root.glob("*.py"):
        code = re.sub(r"\"[^\"]*\"", "", path.read_text())
        assert not {number for number in told if "." in number} & set(re.findall(r"\d+\.\d+", code)) - {"10.0"}
