"""What a page in a browser asks for and complains of, and how bright its colours are."""

from __future__ import annotations

from playwright.sync_api import ConsoleMessage, Error, Page, Request


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
