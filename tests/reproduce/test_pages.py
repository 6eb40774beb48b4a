"""Pages in a real browser: light and dark, wide and narrow, without a network and without an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import brightness, watch
from conftest import Command
from playwright.sync_api import Browser

WIDTHS = {"wide": 1280, "narrow": 390}


@pytest.fixture(scope="module", params=["aging", pytest.param("small", marks=pytest.mark.full)])
def pages(
    flashkeep: Command,
    drive: Path,
    mirrored: Path,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> list[Path]:
    """Those of one paper, or of all, and a page of results."""
    papers: Path = request.getfixturevalue(request.param)
    folder = tmp_path_factory.mktemp("pages")
    results = folder / "results"
    workload = "synth:zipf,requests=5k,rate=2k,write=0.7"
    assert flashkeep("compare", workload, drive, mirrored, "--out", results, "--quiet").code == 0
    assert flashkeep("report", results, "-o", folder / "report.html").code == 0
    return sorted([*papers.glob("*.html"), folder / "report.html"])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_whole(browser: Browser, pages: list[Path], scheme: str, width: str) -> None:
    dark = scheme == "dark"
    for path in pages:
        context = browser.new_context(
            viewport={"width": WIDTHS[width], "height": 900}, color_scheme="dark" if dark else "light"
        )
        page = context.new_page()
        asked, wrong = watch(page)
        page.goto(path.as_uri(), wait_until="load")
        assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()], "it asks for more than itself"
        assert wrong == []
        room = page.evaluate("document.documentElement.scrollWidth")
        assert room <= WIDTHS[width], f"{path.name} is {room} pixels wide"
        assert page.locator("figure svg").count() >= 2
        ground = brightness(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        ink = brightness(page.evaluate("getComputedStyle(document.querySelector('figure svg text')).fill"))
        assert (ground < 60 and ink > 180) if dark else (ground > 230 and ink < 80), (ground, ink)
        for figure in page.locator("figure svg").all():
            box = figure.bounding_box()
            assert box is not None
            assert box["width"] > 300
            assert box["height"] > 80
        context.close()
