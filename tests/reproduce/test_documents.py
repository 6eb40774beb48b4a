"""Documents that are made from results: that the committed ones are, and that nothing in them is without a reason."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Command
from flashkeep.reproduce import PAPERS, find
from flashkeep.reproduce.collected import dump, read
from flashkeep.reproduce.documents import DOCUMENTS, Told, render, tell
from flashkeep.reproduce.reasons import AGREES, DIFFERS, VERDICTS, Number, Reason, explain, reason_for


@pytest.fixture(scope="module")
def committed() -> dict[str, Any]:
    """The results of the full run that the documents tell of."""
    return read(str(ROOT / "docs" / "validation.json"))


@pytest.fixture(scope="module")
def told(committed: dict[str, Any]) -> dict[str, Told]:
    return {name: tell(find(name), committed["papers"][name]) for name in PAPERS}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_committed_document_is_what_is_made_of_the_committed_results(committed: dict[str, Any], name: str) -> None:
    assert render(name, committed) == (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"), (
        "flashkeep reproduce documents docs/validation.json --out docs"
    )


def test_the_committed_results_are_of_a_full_run(committed: dict[str, Any]) -> None:
    assert dump(committed) == (ROOT / "docs" / "validation.json").read_text(encoding="utf-8")
    for name, paper in committed["papers"].items():
        assert paper["scale"] == 1.0
        assert {each[0] for each in paper["workloads"]} == {workload.name for workload in find(name).workloads}
        assert all(digest is None for _, _, digest in paper["workloads"]), "stand-ins only"


def test_nothing_is_off_without_a_reason(told: dict[str, Told]) -> None:
    for paper in told.values():
        assert paper.unexplained == []
        for why in paper.whys:
            points = [cell for cell in why.cells if cell.unit == "%"]
            if points:
                assert len(why.grids) > 1 or len(why.grids[0].columns) > 2, f"{why.title}: no ablation shows it"
        titles = {why.title for why in paper.whys}
        assert titles == {reason.title for reason in paper.paper.reasons}, "a reason for nothing"


def test_the_verdicts_of_the_documents_are_those_of_the_rules(told: dict[str, Told]) -> None:
    for paper in told.values():
        counted = dict.fromkeys(VERDICTS, 0)
        for table in paper.tables:
            for verdict, count in table.verdicts.items():
                counted[verdict] += 0 if table.is_input or table.is_prediction else count
        assert counted == paper.found["verdicts"]


def test_sirf_1_shows_what_it_must(told: dict[str, Told]) -> None:
    """The sign of every ΔMRRT, the order of the test pairs, the trend with the page size, a mean beside the paper's."""
    paper = told["sirf1"]
    signs = paper.same_sign("dMRRT")
    assert len(signs) == 30
    assert all(signs)
    for figure in ("Fig. 4", "Fig. 6"):
        assert paper.table(figure).verdicts[DIFFERS] == 0
    mean = paper.cell("text", "mean of TP1 to TP6", "dMRT")
    assert mean.simulated == pytest.approx(mean.published, abs=2.0)


def test_documents_follow_results(flashkeep: Command, small: Path, tmp_path: Path) -> None:
    out = tmp_path / "docs"
    code, said, err = flashkeep("reproduce", "documents", small, "--out", out)
    assert (code, err) == (0, "")
    assert said.splitlines() == [str(out / f"{name}.md") for name in DOCUMENTS] + [str(out / "validation.json")]
    text = (out / "validation.md").read_text()
    assert "0.01 % of the requests" in text
    assert "this is a quick look" in text
    for name in PAPERS:
        verdicts = json.loads((small / f"{name}.json").read_text())["verdicts"]
        assert f"| [`{name}`](#{name}) | {' | '.join(map(str, verdicts.values()))} |" in text
    # From the file that it leaves come the same documents.
    again = tmp_path / "again"
    assert flashkeep("reproduce", "documents", out / "validation.json", "--out", again).code == 0
    for path in out.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes(), path.name


def test_a_cell_that_is_off_is_listed(committed: dict[str, Any]) -> None:
    other = copy.deepcopy(committed)
    (table,) = (table for table in other["papers"]["sirf1"]["tables"] if table["name"] == "VI")
    cell = next(cell for cell in table["cells"] if cell[1:3] == ["TP1/TPC-C", "dMRRT"])
    assert cell[6] == AGREES
    assert "| VI: TP1/TPC-C, dMRRT | 46.9 % | 7.7 % |" not in render("validation", other)
    cell[4], cell[6] = 7.7, DIFFERS
    assert "| VI: TP1/TPC-C, dMRRT | 46.9 % | 7.7 % |" in render("validation", other)


def test_the_first_reason_that_covers_a_cell_explains_it() -> None:
    def number(row: str, simulated: float, verdict: str | None, table: str = "T") -> Number:
        return Number(table, row, "c", 20.0 if verdict else None, simulated, "%", verdict)

    first = Reason("first", "…", (("T", "a*", "*"),), (("ablation: *", "{row}", "{column}"), ("other", "*", "*")))
    rest, remark = Reason("rest", "…", (("T", "*", "*"),)), Reason("remark", "…")
    cells = [
        number("a1", 90, DIFFERS), number("a2", 21, AGREES), number("b", 31, AGREES), number("d", 30, AGREES),
        number("a1", 22, None, "ablation: x"), number("e", 7, None, "other"),
    ]  # fmt: skip
    assert [cell.is_off for cell in cells] == [True, False, True, False, False, False], "off by more than ten points"
    assert reason_for((first, rest), cells[0]) is first
    assert reason_for((first, rest), cells[2]) is rest
    assert reason_for((first, remark), cells[2]) is None
    whys = explain((first, rest, remark), cells)
    assert [(why.title, [cell.row for cell in why.cells]) for why in whys] == [
        ("first", ["a1"]), ("rest", ["b"]), ("remark", []),
    ]  # fmt: skip
    beside, other = whys[0].grids
    assert beside.columns == ("published", "simulated", "x")
    assert beside.rows == (("T: a1, c", ((20.0, "%"), (90, "%"), (22, "%"))),)
    assert (other.columns, other.rows) == (("c",), (("e", ((7, "%"),)),))
    assert explain((first,), cells[1:2]) == [], "no cell, no paragraph"


@pytest.mark.parametrize(
    ("made", "arguments", "told"),
    [
        ({}, ["nowhere"], "--out DIR missing"),
        ({}, ["nowhere", "--out", "docs"], "nowhere is not there"),
        ({}, [".", "--out", "docs"], "sirf1.json is not there"),
        ({"x.json": "{"}, ["x.json", "--out", "docs"], "x.json is not JSON"),
        ({"x.json": "[]"}, ["x.json", "--out", "docs"], "x.json has no results of all papers"),
    ],
)
def test_bad_input_is_refused(
    flashkeep: Command, tmp_path: Path, made: dict[str, str], arguments: list[str], told: str
) -> None:
    for name, text in made.items():
        (tmp_path / name).write_text(text)
    code, out, err = flashkeep("reproduce", "documents", *arguments, cwd=tmp_path)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert not (tmp_path / "docs").exists()
