"""What a page in a browser asks for and complains of, and how bright its colours are."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, Request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def watch(page: Page) -> tuple[list[str], list[str]]:
    """What a page will ask for, and what it will complain of."""
    asked: list[str] = []
    wrong: list[str] = []

    def on_request(request: Request) -> None:
        asked.append(request.url)

    def on_console(message: ConsoleMessage) -> None:
        wrong.append(message.text)

    def on_error(error: Error) -> None:
        wrong.append(str(error))

    page.on("request", on_request)
    page.on("console", on_console)
    page.on("pageerror", on_error)
    return asked, wrong


def brightness(colour: str) -> float:
    """Of `rgb(r, g, b)`."""
    red, green, blue = (float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
    return 0.3 * red + 0.6 * green + 0.1 * blue


@contextmanager
def whole_page(browser: Browser, path: Path, scheme: str, width: int, text: str) -> Iterator[Page]:
    """A page, `light` or `dark`, that asks for nothing else, complains of nothing, is no wider than the window, and
    whose chart has a `text`, by its selector, in a colour that can be read."""
    dark = scheme == "dark"
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
    page = context.new_page()
    asked, wrong = watch(page)
    page.goto(path.as_uri(), wait_until="load")
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()], "it asks for more than itself"
    assert wrong == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = brightness(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    ink = brightness(page.evaluate(f"getComputedStyle(document.querySelector({text!r})).fill"))
    assert (ground < 60 and ink > 180) if dark else (ground > 230 and ink < 80), (ground, ink)
    yield page
    context.close()


def shows_all_text(chart: Locator) -> bool:
    """Whether no text of a chart is cut off."""
    inside = """chart => [...chart.querySelectorAll("text")].every((each) => {
        const own = each.getBoundingClientRect(), whole = chart.getBoundingClientRect();
        return own.left >= whole.left - 1 && own.right <= whole.right + 1 && own.bottom <= whole.bottom + 1;
    })"""
    return bool(chart.evaluate(inside))
