"""The page of a sweep in Chromium: no network, no error, charts, fronts, and a table that sorts and filters."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import flashkeep as fk
import pytest
from browsing import shows_all_text, watch, whole_page
from conftest import Command
from flashkeep.registry import read
from playwright.sync_api import Browser, Page

from sweep_report.made import SCHEMES, SPARE, WORKLOADS, invented

P99 = "response_us.read.p99"


@pytest.fixture(scope="module")
def path(flashkeep: Command, swept: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("page") / "sweep.html"
    code, out, err = flashkeep("report", swept, "-o", page)
    assert (code, err) == (0, ""), err
    assert "63 cells" in out
    return page


@pytest.fixture
def page(browser: Browser, path: Path) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    asked, wrong = watch(page)
    page.goto(path.as_uri(), wait_until="load")
    yield page
    assert asked == [path.as_uri()] or all(url.startswith(("data:", "blob:")) for url in asked[1:])
    assert wrong == []
    context.close()


def column(page: Page, at: int) -> list[str]:
    return page.locator(f"#body tr td:nth-child({at + 1})").all_text_contents()


def place(page: Page, name: str) -> int:
    """The number of a column in the table."""
    names = page.locator("#head button").evaluate_all("buttons => buttons.map((button) => button.dataset.sort)")
    return int(names.index(name))


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


@pytest.mark.parametrize("width", [400, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_whole(browser: Browser, path: Path, scheme: str, width: int) -> None:
    with whole_page(browser, path, scheme, width, "#multiples text") as page:
        hidden = "holder => holder.scrollWidth - holder.clientWidth"
        assert page.locator("#multiples").evaluate(hidden) <= 0, "a part of the chart is beyond its edge"
        for chart in ("#multiples svg", "#front svg"):
            box = page.locator(chart).bounding_box()
            assert box is not None
            assert box["width"] > 300
            assert box["height"] > 150
            assert shows_all_text(page.locator(chart)), f"{chart}: a text is cut off"


def test_without_a_script_there_are_the_default_figures(browser: Browser, path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri(), wait_until="load")
    assert page.locator("#static figure svg").count() >= 4
    assert page.locator("#static figure svg").first.is_visible()
    assert not page.locator("#multiples").is_visible()
    assert page.get_by_text("need a script").is_visible()
    context.close()


def test_it_says_what_was_swept(page: Page) -> None:
    counts = page.locator(".counts li").all_inner_texts()
    assert [" ".join(count.split()) for count in counts] == ["54 done", "9 refused"]
    told = page.locator("main").inner_text()
    assert "raid7" in told
    for text in (*WORKLOADS, "small.toml", "redundancy.scheme", "0.15, 0.25, 0.4", "1, 2, 3"):
        assert text in told, text
    body = page.content()
    assert body.index('class="provenance"') < body.index('class="notes"') < body.index("<table")


def test_the_table_sorts_by_clicking_and_by_keys(page: Page) -> None:
    at = place(page, P99)
    head = page.locator(f'#head button[data-sort="{P99}"]')
    head.click()
    found = [number(text) for text in column(page, at) if text != "–"]
    assert len(found) == 54
    assert found == sorted(found)
    assert column(page, at)[-9:] == ["–"] * 9, "cells without a value are last"
    assert page.locator("#head th").nth(at).get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")  # the heading has kept the focus
    found = [number(text) for text in column(page, at) if text != "–"]
    assert found == sorted(found, reverse=True)
    assert column(page, at)[-9:] == ["–"] * 9
    page.locator('#head button[data-sort="ftl.over_provisioning"]').focus()
    page.keyboard.press("Space")
    spare = [float(text) for text in column(page, place(page, "ftl.over_provisioning"))]
    assert spare == sorted(spare)


def test_the_table_filters_by_text_and_by_values(page: Page) -> None:
    scheme = place(page, "redundancy.scheme")
    page.locator('select[data-filter="redundancy.scheme"]').select_option(label="mirror")
    assert set(column(page, scheme)) == {"mirror"}
    assert page.locator("#count").inner_text() == "18 of 63 cells"
    page.locator('select[data-filter="ftl.over_provisioning"]').select_option(label="0.25")
    assert page.locator("#count").inner_text() == "6 of 63 cells"
    page.locator("#search").fill("ZIPF")
    assert page.locator("#count").inner_text() == "3 of 63 cells"
    page.locator("#search").fill("zipf random")
    assert page.locator("#count").inner_text() == "0 of 63 cells"
    page.locator("#search").fill("")
    for select in page.locator("select[data-filter]").all():
        select.select_option("")
    assert page.locator("#count").inner_text() == "63 of 63 cells"


def test_the_reader_chooses_columns(page: Page) -> None:
    before = page.locator("#head th").count()
    page.locator("#chosen").click()
    page.locator("#find-column").fill("wear.erases_max")
    page.locator('input[data-column="wear.erases_max"]').check()
    assert page.locator("#head th").count() == before + 1
    assert page.locator('input[data-column="wear.erases_total"]').is_hidden()
    page.locator('input[data-column="wear.erases_max"]').uncheck()
    assert page.locator("#head th").count() == before


def test_drop_down_lists_change_the_chart(page: Page, swept: Path) -> None:
    sweep = fk.load_sweep(swept)
    assert page.locator("#multiples .panel").count() == len(WORKLOADS)
    assert page.locator("#multiples .point").count() == len(WORKLOADS) * len(SCHEMES) * len(SPARE)
    assert page.locator("#legend span").all_inner_texts() == list(SCHEMES)
    rows = [row for row in sweep if row["redundancy.scheme"] == "mirror" and row["ftl.over_provisioning"] == 0.25
            and row["workload"] == WORKLOADS[0]]  # fmt: skip
    mean = sum(row[P99] for row in rows) / 3
    told = page.locator("#multiples .panel").first.locator(".point title").all_text_contents()
    mine = next(each for each in told if "scheme mirror" in each and "over_provisioning 0.25" in each)
    assert number(mine.partition(": ")[2].partition(" ±")[0]) == pytest.approx(mean, rel=1e-3)
    assert mine.endswith("(n = 3)")
    page.locator("#figure").select_option("waf_bytes")
    assert page.locator("#multiples-told").inner_text().startswith("write amplification in bytes over ftl.over")
    page.locator("#column").select_option("")
    assert page.locator("#multiples .panel").count() == 1
    assert page.locator("#multiples .point").count() == len(SCHEMES) * len(SPARE)
    held = page.locator('select[data-held="workload"]')
    assert WORKLOADS[0] in page.locator("#multiples-told").inner_text()
    held.select_option(WORKLOADS[1])
    assert WORKLOADS[1] in page.locator("#multiples-told").inner_text()
    page.locator("#row").select_option("redundancy.scheme")  # lines give the key to the panels
    assert page.locator("#by").input_value() == ""
    assert page.locator("#multiples .panel").count() == len(SCHEMES)
    page.locator("#x").select_option("workload")
    page.locator("#scale").select_option("logarithmic")
    assert "logarithmic axis" in page.locator("#multiples-told").inner_text()


def test_the_front_is_that_of_python(page: Page, swept: Path) -> None:
    for a, b in ((P99, "waf_bytes"), ("response_us.write.p99", "throughput.iops")):
        page.locator("#figure-a").select_option(a)
        page.locator("#figure-b").select_option(b)
        rows = fk.load_sweep(swept).pareto(a, b).rows()
        assert page.locator("#front .best").count() == len(rows)
        listed = page.locator("#front-list tbody tr").all()
        found = [(line.locator("td").nth(0).inner_text(), line.locator("td").nth(1).inner_text()) for line in listed]
        assert found == [(row["redundancy.scheme"], f"{row['ftl.over_provisioning']:g}") for row in rows]


def test_ten_thousand_rows_stay_usable(flashkeep: Command, browser: Browser, tmp_path: Path) -> None:
    numeric = [metric["path"] for metric in read()["metrics"] if metric["kind"] == "number" and not metric["list"]]
    figures = [P99, "response_us.write.p99", "waf_bytes", "wear.tbw", *numeric[-50:]]
    folder = invented(tmp_path / "big", 10_000, dict.fromkeys(figures))
    assert flashkeep("report", folder, "-o", tmp_path / "big.html").code == 0
    page = browser.new_page()
    _, wrong = watch(page)
    began = time.monotonic()
    page.goto((tmp_path / "big.html").as_uri(), wait_until="load")
    page.locator("#body tr").first.wait_for(state="attached")
    assert time.monotonic() - began < 3
    page.locator("#chosen").click()
    page.evaluate(
        "[...document.querySelectorAll('#columns input')].slice(0, 45).forEach((box) => box.checked || box.click())"
    )
    assert page.locator("#head th").count() >= 40
    began = time.monotonic()
    page.locator(f'#head button[data-sort="{P99}"]').click()
    page.locator("#search").fill("raid5")
    assert page.locator("#count").inner_text() == "2,500 of 10,000 cells; rows 1 to 100"
    page.locator("#after").click()
    assert "rows 101 to 200" in page.locator("#count").inner_text()
    assert time.monotonic() - began < 3
    found = [number(text) for text in column(page, place(page, P99))]
    assert found == sorted(found)
    assert wrong == []
    page.close()
