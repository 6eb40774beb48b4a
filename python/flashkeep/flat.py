"""Figures by dotted path, and as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .extras import need

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .choices import Library
    from .results import Columns

ORDER: tuple[Library, ...] = ("pandas", "polars")


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Every figure by its dotted path; items of lists by their number."""
    return dict(_pairs(values, ""))


def _pairs(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield path, value
        return
    for key, inner in items:
        yield from _pairs(inner, f"{path}.{key}" if path else str(key))


def frame(rows: Sequence[Mapping[str, Any]], library: Library | None) -> Any:
    """A data frame with a column for each path that any row has."""
    module = _library(library)
    columns = dict.fromkeys(path for row in rows for path in row)
    table = {path: [row.get(path) for row in rows] for path in columns}
    if module.__name__ == "polars":
        return module.DataFrame(table, strict=False)
    return module.DataFrame(table)


def column_frame(columns: Columns, library: Library | None) -> Any:
    """A data frame of a table in columns."""
    module = _library(library)
    if module.__name__ == "polars":
        return module.DataFrame(columns)
    # The frame may be changed; the memory of the run may not.
    return module.DataFrame({name: column.copy() for name, column in columns.to_numpy().items()}, copy=False)


def _library(library: Library | None) -> Any:
    if library is not None and library not in ORDER:
        raise ValueError(f"library: found {library!r}; accepted: {', '.join(ORDER)}")
    return need("a data frame", "frames", *((library,) if library else ORDER))
