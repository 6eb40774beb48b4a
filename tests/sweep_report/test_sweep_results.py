"""Sweeps in Python and from the command line: estimates, fronts, charts, several folders, refusals."""

from __future__ import annotations

import copy
import math
import pickle
import re
from pathlib import Path

import flashkeep as fk
import pytest
from conftest import Command
from flashkeep.sweep_report.folders import read_sweep
from flashkeep.sweep_report.layout import default, facets
from flashkeep.sweep_report.measures import measure
from flashkeep.sweep_report.page import sweep_page
from flashkeep.sweep_report.pareto import rounded
from flashkeep.sweep_report.sheet import T_95, estimate, sheet_of, student
from loads import loaded_by

from sweep_report.made import SCHEMES, SPARE, WORKLOADS, invented, write

P99 = "response_us.read.p99"


def test_intervals_are_those_of_student() -> None:
    assert estimate([]) is None
    one = estimate([3.0])
    assert one is not None
    assert (one.mean, one.half, one.n) == (3.0, None, 1)
    three = estimate([1.0, 2.0, 3.0])
    assert three is not None
    assert three.mean == 2
    assert three.half == pytest.approx(4.3027 / math.sqrt(3), rel=1e-4)
    equal = estimate([5.0, 5.0])
    assert equal is not None
    assert equal.half == 0
    # From tables of the distribution.
    for freedom, t in ((1, 12.7062), (30, 2.0423), (31, 2.0395), (60, 2.0003), (120, 1.9799), (1000, 1.9623)):
        assert student(freedom) == pytest.approx(t, abs=2e-4), freedom
    assert list(T_95) == sorted(T_95, reverse=True)


def test_a_sweep_in_python(swept: Path) -> None:
    sweep = fk.load_sweep(swept)
    assert len(sweep) == 63
    assert sweep.counts == {"0": 54, "2": 9}
    assert sweep.keys == {
        "workload": list(WORKLOADS),
        "redundancy.scheme": list(SCHEMES),
        "ftl.over_provisioning": list(SPARE),
    }
    frame = sweep.to_frame("pandas")
    assert len(frame) == 63
    done = frame[frame["status"] == "0"]
    assert done[P99].notna().all()
    cell = done.iloc[0]
    assert sweep[cell["cell"]].response_us.read.p99 == pytest.approx(cell[P99])
    assert "54 done, 9 refused" in repr(sweep)
    page = sweep._repr_html_()
    assert "redundancy.scheme" in page
    assert "±" in page
    assert loaded_by(page) == []
    again = pickle.loads(pickle.dumps(sweep))
    assert (again.folder, len(again)) == (sweep.folder, 63)
    assert len(copy.copy(sweep)) == 63
    with pytest.raises(KeyError):
        sweep["nothing"]


def test_fronts_have_no_cell_that_another_beats(swept: Path) -> None:
    sweep = fk.load_sweep(swept)
    for a, b in ((P99, "waf_bytes"), ("response_us.write.p99", "throughput.iops")):
        front = sweep.pareto(a, b)
        rows = front.rows()
        assert len(front) == len(rows)
        frame = sweep.to_frame("pandas")
        places = ["workload", "redundancy.scheme", "ftl.over_provisioning"]
        means = frame[frame["status"] == "0"].groupby(places)[[a, b]].mean()
        way = -measure(b).better
        for workload in WORKLOADS:
            points = [(rounded(x), way * rounded(y)) for x, y in means.loc[workload].to_numpy().tolist()]
            best = {
                one for one in points
                if not any(x <= one[0] and y <= one[1] and (x, y) != one for x, y in points)
            }  # fmt: skip
            found = {(rounded(row[a]), way * rounded(row[b])) for row in rows if row["workload"] == workload}
            assert sorted(best) == sorted(found)
        assert front.to_frame("pandas")["n"].tolist() == [3] * len(rows)
        assert front._repr_html_().count("<table>") == len(WORKLOADS)


def test_charts_in_python(swept: Path) -> None:
    sweep = fk.load_sweep(swept)
    for figure in (
        sweep.plot(),
        sweep.plot("waf_bytes", x="redundancy.scheme", by="workload", facets="ftl.over_provisioning"),
        sweep.plot("waf_bytes", where={"redundancy.scheme": "mirror"}),
        sweep.pareto(P99, "waf_bytes").plot(),
    ):
        assert figure._repr_png_().startswith(b"\x89PNG")
    assert len(sweep.plot().axes) == len(WORKLOADS)
    assert len(sweep.plot("waf_bytes", x="redundancy.scheme", facets=["ftl.over_provisioning", "workload"]).axes) == 6
    for wrong, told in (
        (lambda: sweep.plot("respons_us.read.p99"), "did you mean 'response_us.read.p99'"),
        (lambda: sweep.plot(x="flash.channels"), "what differs: workload, redundancy.scheme"),
        (lambda: sweep.plot(x="workload", by="workload"), "different keys"),
        (lambda: sweep.plot(facets=["workload", "redundancy.scheme", "ftl.over_provisioning"]), "at most two"),
        (lambda: sweep.plot(where={"redundancy.scheme": "raid9"}), "no cell has 'raid9'"),
        (lambda: sweep.pareto("wear.workload_dwpd", "waf_bytes"), "neither direction is better"),
    ):
        with pytest.raises(ValueError, match=re.escape(told)):
            wrong()


def test_keys_that_are_not_shown_are_held_or_follow(tmp_path: Path) -> None:
    """A variant sets keys together: a chart over one of them holds nothing, a chart without them holds the variant."""
    plan = 'workload = "w"\ndrive = "d"\n\n[grid]\nz = [3, 4]\n'
    plan += "".join(f'\n[[variant]]\nname = "{name}"\nx = {x}\ny = "{y}"\n' for name, x, y in ("a1p", "b2q"))
    table = [
        {"cell": f"{variant}{z}", "workload": "w", "drive": "d", "variant": variant, "seed": 1, "x": x, "y": y, "z": z,
         P99: x * z, "status": "0", "error": "", "digest": f"{x}{z}"}
        for variant, x, y in (("a", 1, "p"), ("b", 2, "q")) for z in (3, 4)
    ]  # fmt: skip
    write(tmp_path / "variants", plan, table)
    sheet = sheet_of([read_sweep(str(tmp_path / "variants"))])
    assert [one.name for one in sheet.free(["x", "z"])] == []
    assert [one.name for one in sheet.free(["z"])] == ["variant"]
    layout = default(sheet)
    assert (layout.x, layout.by, layout.held) == ("z", "variant", {})
    ((facet,),), missing = facets(sheet, measure(P99), layout)
    assert missing == []
    assert [[(x, one.mean) for x, one, _ in curve.points] for curve in facet.traces] == [
        [(3, 3), (4, 4)],
        [(3, 6), (4, 8)],
    ]


def test_pages_say_what_failed_and_what_is_not_run(tmp_path: Path) -> None:
    folder = invented(tmp_path / "partly", 70, [P99, "waf_bytes"], {3: "failed", 5: "3"})
    sweep = read_sweep(str(folder))
    assert sweep.planned() == 80
    page, drawn = sweep_page([sweep], [])
    assert "<b>10</b>not run yet" in page
    assert "<b>1</b>failed" in page
    assert "done, and pages were lost" in page
    assert "cell 3" in page
    assert any("hollow: pages were lost" in figure.caption for figure in drawn)


def test_a_sweep_without_figures_has_a_page(tmp_path: Path) -> None:
    folder = invented(tmp_path / "none", 2, [P99], {0: "2", 1: "failed"})
    page, drawn = sweep_page([read_sweep(str(folder))], [])
    assert drawn == []
    assert "<b>0</b>done" in page


def test_figures_for_papers(flashkeep: Command, swept: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures"
    code, _, err = flashkeep("report", swept, "-o", tmp_path / "page.html", "--figures", figures)
    assert (code, err) == (0, ""), err
    names = sorted(path.name for path in figures.iterdir())
    assert "response-read-p99.svg" in names
    assert "pareto-response-read-p99-waf-bytes.png" in names
    assert len(names) % 2 == 0
    for path in figures.iterdir():
        assert path.read_bytes()[:4] in (b"<svg", b"\x89PNG"), path
    (tmp_path / "file").touch()
    code, _, err = flashkeep("report", swept, "-o", tmp_path / "page.html", "--figures", tmp_path / "file")
    assert code == 2
    assert "is a file" in err


def test_several_folders_are_side_by_side(flashkeep: Command, swept: Path, tmp_path: Path) -> None:
    single = tmp_path / "single"
    small = swept.parent / "small.toml"
    assert flashkeep("run", small, WORKLOADS[0], "--out", single, "--quiet").code == 0
    other = invented(tmp_path / "other", 80, [P99, "waf_bytes"])
    assert flashkeep("report", swept, other, single, "-o", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    data = page.partition('type="application/json">')[2]
    assert '"name":"folder"' in data
    assert f'["{swept.name}","other","single"]' in data
    assert "Single runs beside them" in page
    code, out, err = flashkeep("report", single, single, "-o", tmp_path / "runs.html")
    assert (code, err) == (0, ""), err
    assert "1 run," in out, "a folder that is named twice is read once"


def test_pages_are_equal_and_hold_any_text(swept: Path, tmp_path: Path) -> None:
    first, second = (sweep_page([read_sweep(str(swept))], [])[0] for _ in range(2))
    assert first == second
    assert (
        loaded_by(first.replace('<script id="data"', "").replace('const SVG = "http://www.w3.org/2000/svg"', "")) == []
    )
    folder = invented(tmp_path / "bad", 3, [P99], {0: "failed"})
    table = (folder / "results.csv").read_text().replace("cell 0", "</script><script>alert(1)</script>")
    (folder / "results.csv").write_text(table)
    page, _ = sweep_page([read_sweep(str(folder))], [])
    assert "</script><script>alert" not in page


def test_bad_folders_are_refused(flashkeep: Command, swept: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    (folder / "cells").mkdir(parents=True)
    plan, table = folder / "plan.toml", folder / "results.csv"
    plan.write_text((swept / "plan.toml").read_text())
    for text, told in (
        (None, "has no results.csv"),
        ("", "the column cell is missing"),
        ("cell,workload,drive,seed,status,error,digest\na,b\n", "results.csv:2: found 2 columns"),
    ):
        if text is not None:
            table.write_text(text)
        code, _, err = flashkeep("report", folder, "-o", tmp_path / "page.html")
        assert code == 2, err
        assert told in err
    plan.write_text("workload = [")
    code, _, err = flashkeep("report", folder, "-o", tmp_path / "page.html")
    assert code == 2
    assert "not TOML" in err
    with pytest.raises(ValueError, match="is not the folder of a sweep"):
        fk.load_sweep(tmp_path)
    assert not (tmp_path / "page.html").exists()
