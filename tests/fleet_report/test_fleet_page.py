"""The page of fleets in Chromium: no network, no error, what it says follows from the model."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest
from browsing import shows_all_text, whole_page
from conftest import Command
from playwright.sync_api import Browser

ARRAYS = ("8*1.92TB:raid5", "8*1.92TB:raid6", "9*1.92TB:6+3")


@pytest.fixture(scope="module")
def path(flashkeep: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    (folder / "prices.toml").write_text("per_tb = 100\n")
    page = folder / "fleet.html"
    code, out, err = flashkeep("fleet", *ARRAYS, "--uber", "1e-17", "--price", folder / "prices.toml", "--report", page)
    assert code == 0, err  # a slow machine gets progress on standard error
    assert "3 arrays, 5 figures" in out
    return page


@pytest.mark.parametrize("width", [400, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_whole(browser: Browser, path: Path, scheme: str, width: int) -> None:
    with whole_page(browser, path, scheme, width, "figure svg text") as page:
        charts = page.locator("figure svg:visible").all()
        assert len(charts) == 5  # the wide or the narrow ones
        for chart in charts:
            assert shows_all_text(chart), "a text is cut off"
            # Nothing of a chart is out of sight.
            box = chart.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


def test_it_says_what_a_tenth_of_the_loss_costs(path: Path) -> None:
    told = re.sub(r"<[^>]+>", " ", path.read_text())
    assert "at most a tenth of the loss of 8*1.92TB:raid5 is 8*1.92TB:raid6" in told
    # 13.44 TB against 11.52 TB from equal drives.
    assert "+16.7 % USD for each usable TB" in told
    raid6 = fk.fleet(ARRAYS[1], uber=1e-17)
    assert f"1 of {1 / raid6.p_loss.value / 1e6:.1f} million such arrays" in told
    assert "a repaired drive is as good as new" in told
    body = path.read_text()
    assert body.index('class="provenance"') < body.index('class="words"') < body.index("<table")


def test_notes_come_first(tmp_path: Path) -> None:
    results = [fk.fleet("8*1TB:raid6", mttr_hours="fixed:24", rel_error="20%"), fk.fleet("40*1TB:30+10")]
    fk.fleet_report(results, tmp_path / "fleet.html")
    body = (tmp_path / "fleet.html").read_text()
    assert "hold different amounts of data" in body
    assert "counts the first loss of each group only" in body
    assert body.index('class="notes"') < body.index('class="words"')


def numbers(path: Path, title: str) -> dict[str, float]:
    """The changed values of an assumption, and P(loss) with each."""
    row = re.search(
        rf'<tr><th scope="row">{re.escape(title)}</th><td>[^<]*</td><td>([^<]*)</td></tr>', path.read_text()
    )
    assert row is not None, title
    parts = (part.partition(": ") for part in row[1].split("; "))
    return {told: float(rest.partition(" (")[0].replace("−", "-")) for told, _, rest in parts}


def test_bars_are_what_the_model_says_of_changed_assumptions(tmp_path: Path) -> None:
    result = fk.fleet(ARRAYS[1], uber=1e-17)
    result.report(tmp_path / "one.html")
    cases: tuple[tuple[str, tuple[str, ...], list[dict[str, Any]]], ...] = (
        ("drives that fail in a year (AFR)", ("0.5 %", "2 %"), [{"afr": 0.005}, {"afr": 0.02}]),
        ("time of a repair", ("12 h", "48 h"), [{"mttr_hours": 12}, {"mttr_hours": 48}]),
        ("errors of a bit that is read (UBER)", ("5e-18", "2e-17"), [{"uber": 5e-18}, {"uber": 2e-17}]),
        ("time until a failure is noticed", ("24 h",), [{"detect_hours": 24}]),
        ("hot spares of a group", ("none, a new drive after 24 h",), [{"spares": 0, "restock_hours": 24}]),
        ("failures that bring a second one (shock)", ("1 %",), [{"shock": 0.01}]),
        ("order of repairs", ("serial",), [{"repair": "serial"}]),
    )
    for title, told, options in cases:
        found = numbers(tmp_path / "one.html", title)
        assert tuple(found) == told
        for p_loss, changed in zip(found.values(), options, strict=True):
            assert p_loss == pytest.approx(fk.fleet(ARRAYS[1], **{"uber": 1e-17, **changed}).p_loss.value, rel=0.05)


def test_a_tenth_of_the_loss_is_reached_or_cannot_be(tmp_path: Path) -> None:
    result = fk.fleet(ARRAYS[0], uber=1e-17)
    result.report(tmp_path / "one.html")
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td></tr>',
                      (tmp_path / "one.html").read_text())  # fmt: skip
    found = {title: (needed, remark) for title, _, needed, remark in rows}
    afr = float(found["drives that fail in a year (AFR)"][0].removesuffix(" %")) / 100
    assert fk.fleet(ARRAYS[0], uber=1e-17, afr=afr).p_loss.value == pytest.approx(result.p_loss.value / 10, rel=0.02)
    needed, remark = found["time of a repair"]
    assert needed == "–"
    # Latent errors stay, however short repairs are.
    floor = fk.fleet(ARRAYS[0], uber=1e-17, mttr_hours=0.001).p_loss.value
    assert f"÷ {result.p_loss.value / floor:.3g}" in remark
    assert remark.startswith("cannot")
    more = fk.fleet("9*1.92TB:7+2", uber=1e-17).p_loss.value
    factor = float(found["one more drive of redundancy in each group"][1].partition("÷ ")[2].partition(", d")[0]
                   .replace(",", ""))  # fmt: skip
    assert factor == pytest.approx(result.p_loss.value / more, rel=0.01)


def test_times_of_all_forms_are_changed_as_a_whole(tmp_path: Path) -> None:
    options: dict[str, Any] = {"life": "weibull:1.12:461386", "mttr_hours": "weibull:2:12:6", "latent_hours": 9259,
               "scrub_hours": "uniform:336", "years": 10}  # fmt: skip
    result = fk.fleet("8*1TB:raid5", rel_error="10%", **options)
    result.report(tmp_path / "one.html")
    found = numbers(tmp_path / "one.html", "time until scrubbing removes it")
    assert tuple(found) == ("up to 168 h", "up to 672 h")
    halved = fk.fleet("8*1TB:raid5", rel_error="10%", **{**options, "scrub_hours": "uniform:168"}).p_loss
    assert found["up to 168 h"] == pytest.approx(halved.value, rel=0.25)
    lives = numbers(tmp_path / "one.html", "characteristic life of a drive")
    assert lives["26.3 years"] > result.p_loss.value > lives["105 years"]


def test_equal_arrays_are_told_apart(tmp_path: Path) -> None:
    results = [fk.fleet("8*1TB:raid5", mttr_hours=hours) for hours in (12, 24)]
    fk.fleet_report(results, tmp_path / "two.html")
    body = (tmp_path / "two.html").read_text()
    assert "8*1TB:raid5 (mttr_hours=12)" in body
    assert "8*1TB:raid5 (mttr_hours=24)" in body


def test_an_array_that_loses_nothing_has_a_page(tmp_path: Path) -> None:
    result = fk.fleet("8*1TB:raid6", method="plain", samples=1000)
    assert result.p_loss.value == 0
    result.report(tmp_path / "none.html")
    assert "No path of the simulation lost data" in (tmp_path / "none.html").read_text()


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    results = [fk.fleet("8*1TB:raid5", years=years) for years in (5, 10)]
    with pytest.raises(fk.OptionError, match="missions of 5 and 10 years"):
        fk.fleet_report(results, tmp_path / "fleet.html")
    with pytest.raises(fk.OptionError, match="at least one"):
        fk.fleet_report([], tmp_path / "fleet.html")
    assert not list(tmp_path.iterdir())


def test_several_arrays_are_one_table_and_one_json(flashkeep: Command, tmp_path: Path) -> None:
    code, out, err = flashkeep("fleet", *ARRAYS, "--uber", "1e-17", "--quiet")
    assert (code, err) == (0, "")
    first = out.splitlines()[1:5]
    assert [line.split()[0] for line in first] == ["array", *ARRAYS]
    page = tmp_path / "fleet.html"
    said = flashkeep.json("fleet", *ARRAYS, "--uber", "1e-17", "--report", page, "--quiet")
    assert said == {"fleets": [fk.fleet(array, uber=1e-17).to_dict() for array in ARRAYS]}
    assert page.exists()
    assert -math.log10(said["fleets"][0]["p_loss"]["value"]) == pytest.approx(said["fleets"][0]["nines"])


@pytest.mark.parametrize("place", [".", "-"])
def test_a_page_needs_a_file(flashkeep: Command, place: str) -> None:
    code, out, err = flashkeep("fleet", ARRAYS[0], "--report", place)
    assert (code, out) == (2, "")
    assert err.startswith("flashkeep: ") or "--report" in err
    assert err.count("\n") == 1
