"""Figures by dotted path, and as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..extras import need

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..choices import Library
    from .result import Columns

ORDER: tuple[Library, ...] = ("pandas", "polars")


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Every figure by its dotted path; items of lists by their number."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        _add(value, str(key), found)
    return found


def _add(value: Any, path: str, found: dict[str, Any]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _add(inner, f"{path}.{key}", found)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            _add(inner, f"{path}.{at}", found)
    else:
        found[path] = value


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
