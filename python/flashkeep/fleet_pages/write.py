"""Writes the page of fleets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..render import pages
from .page import fleet_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..cli.progress import Counted
    from .page import Asked


def write_page(asked: Sequence[Asked], path: str, view: Counted) -> str:
    """Writes the page; returns a description of its contents."""
    try:
        page, drawn = fleet_page(asked, view)
    finally:
        view.clear()
    pages.write(path, page)
    arrays, figures = len(asked), len(drawn)
    return f"{path}: {arrays} array{'s' * (arrays != 1)}, {figures} figure{'s' * (figures != 1)}"
