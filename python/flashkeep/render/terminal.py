"""A page of text: a terminal, or a file."""

from __future__ import annotations

GREEN, RED, DIM, BOLD, PLAIN = "\033[32m", "\033[31m", "\033[2m", "\033[1m", "\033[0m"


class Page:
    """The destination of text: its width, and whether it shows colours."""

    __slots__ = ("colour", "width")

    def __init__(self, colour: bool = False, width: int | None = None) -> None:
        self.colour, self.width = colour, width

    def paint(self, text: str, *codes: str) -> str:
        return f"{''.join(codes)}{text}{PLAIN}" if self.colour and text else text
