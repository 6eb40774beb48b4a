"""What both kinds of advice have in common: rows, notes, and the keys of `--json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..results.tree_view import Figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..choices import Library


class Found:
    """Rows, with what they follow from."""

    __slots__ = ("_found",)

    def __init__(self, found: Mapping[str, Any]) -> None:
        self._found = dict(found)

    @property
    def rows(self) -> list[Figures]:
        """The rows: their keys are attributes."""
        return [Figures(row) for row in self._found["rows"]]

    @property
    def notes(self) -> list[str]:
        """What the runs warn of."""
        return list(self._found["notes"])

    def to_dict(self) -> dict[str, Any]:
        """The same as `flashkeep advise --json`."""
        copy: dict[str, Any] = Figures(self._found).to_dict()
        return copy

    def to_frame(self, library: Library | None = None) -> Any:
        """The rows as a data frame, with their keys by dotted path."""
        from ..results.figure_paths import flat, frame

        return frame([flat(row) for row in self._found["rows"]], library)

    def __len__(self) -> int:
        return len(self._found["rows"])

    def __iter__(self) -> Iterator[Figures]:
        return iter(self.rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._found,))
