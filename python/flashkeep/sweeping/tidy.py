"""The table of a sweep: a row for each cell, as CSV and, if PyArrow is installed, as Parquet."""

from __future__ import annotations

import csv
import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..inputs.drive_files import set_value
from ..results.figure_paths import flat
from ..results.writing import unfinished
from .assumptions import FleetFigures
from .task import FAILED, LOST, REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..fleets.options import Options
    from .cells import Cell
    from .folder import Folder

    Row = Mapping[str, Any]

CSV, PARQUET = "results.csv", "results.parquet"
FEW = 500
"""Rows that are kept in memory; more are read twice."""
BLOCK = 1 << 24
"""Bytes of CSV in a row group of Parquet; the longest row must be shorter."""

NOT_FIGURES = ("schema", "flashkeep", "seed", "digest", "drive", "options", "drive_changes", "warnings")
"""Groups of a summary that say what was run, not what came of it."""
NOT_FIGURES_OF_WORKLOAD = ("workload.name", "workload.format", "workload.synthetic", "workload.sha256")
LAST = ("status", "error", "digest")


@dataclass(slots=True)
class Written:
    """What the table has."""

    status: Counter[str] = field(default_factory=Counter)
    """The number of rows with each status."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why cells have no result, and how many."""
    note: str | None = None

    @property
    def exit_code(self) -> int:
        """1 if cells failed, else 3 if some lost pages, else 0. Refused cells are rows, and change nothing."""
        return 1 if self.status[FAILED] else 3 if self.status[str(LOST)] else 0


def write_table(cells: Sequence[Cell], folder: Folder, fleet: Options | None = None) -> Written:
    """Writes the table, sorted by cell; with assumptions about fleets it has their figures.

    It reads many cells twice, the columns first, so that memory does not grow with their number.
    """
    ordered = sorted(cells, key=lambda cell: cell.name)
    first = list(dict.fromkeys(["cell", *(key for cell in ordered for key in cell.labels)]))
    kinds: dict[str, Kind] = {}
    written = Written()
    fleets = FleetFigures(fleet)
    rows = list(_rows(ordered, folder, fleets)) if len(ordered) <= FEW else None
    for row in rows or _rows(ordered, folder, fleets):
        written.status[row["status"]] += 1
        if row["error"]:
            written.reasons[row["error"]] += 1
        for column, value in row.items():
            if column not in kinds:
                kinds[column] = Kind()
            kinds[column].see(value)
    columns = [*first, *_in_order(kinds, {*first, *LAST}), *LAST]
    source = os.path.join(folder.path, CSV)
    _write_csv(source, columns, rows or _rows(ordered, folder, fleets))
    try:
        import pyarrow as pa  # noqa: F401
    except ImportError:
        with suppress(FileNotFoundError):
            os.remove(os.path.join(folder.path, PARQUET))
        written.note = f"no {PARQUET}: it needs pyarrow (pip install 'flashkeep[reports]')"
        return written
    _write_parquet(os.path.join(folder.path, PARQUET), source, columns, kinds)
    return written


def _in_order(kinds: Mapping[str, Kind], others: set[str]) -> list[str]:
    """The columns of figures, in the order of the registry of figures, so that it does not depend on the rows."""
    from ..registry import read

    groups = {field["name"]: at for at, field in enumerate(read()["types"]["Summary"]["fields"])}
    figures = [column for column in kinds if column not in others]
    return sorted(figures, key=lambda column: groups.get(column.partition(".")[0], len(groups)))


def _rows(cells: Iterable[Cell], folder: Folder, fleets: FleetFigures) -> Iterator[Row]:
    for cell in cells:
        if cell.refused is not None:
            result: Mapping[str, Any] = {"status": REFUSED, "error": cell.refused}
        else:
            found = folder.result(cell.name)
            if found is None:
                continue  # not run yet, if the sweep was interrupted
            result = found
        summary = result.get("summary") or {}
        yield {
            **figures(summary),
            **(fleets.of(cell) if summary else {}),
            "cell": cell.name,
            **{key: _label(value) for key, value in cell.labels.items()},
            "status": str(result["status"]),
            "error": result["error"],
            "digest": summary.get("digest"),
        }


def figures(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a summary by their dotted paths."""
    kept = {key: value for key, value in summary.items() if key not in NOT_FIGURES}
    return {path: value for path, value in flat(kept).items() if path not in NOT_FIGURES_OF_WORKLOAD}


def _label(value: Any) -> Any:
    """A swept value; a list as a drive file has it."""
    if not isinstance(value, list):
        return value
    return set_value(value)


class Kind:
    """The kinds of values that a column has."""

    __slots__ = ("greatest", "kinds", "least")

    def __init__(self) -> None:
        self.kinds: set[type] = set()
        self.least = self.greatest = 0

    def see(self, value: Any) -> None:
        """Notes a value."""
        if value is None:
            return
        self.kinds.add(type(value))
        if type(value) is int:
            self.least, self.greatest = min(self.least, value), max(self.greatest, value)

    def arrow(self) -> Any:
        """The type of the column."""
        import pyarrow as pa

        if self.kinds == {int}:
            return pa.uint64() if self.least >= 0 and self.greatest >= 2**63 else pa.int64()
        if self.kinds and self.kinds <= {int, float}:
            return pa.float64()
        return pa.bool_() if self.kinds == {bool} else pa.string()


def _write_csv(path: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
    with unfinished(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([_text(row.get(column)) for column in columns])


def _text(value: Any) -> Any:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value


def _write_parquet(path: str, source: str, columns: Sequence[str], kinds: Mapping[str, Kind]) -> None:
    """The table in CSV, with types. Reading that is faster than making columns of Python values, for which PyArrow
    would load pandas."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    schema = pa.schema([(column, kinds.get(column, Kind()).arrow()) for column in columns])
    batches = pyarrow.csv.open_csv(
        source,
        read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=BLOCK),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=schema,
            null_values=[""],
            strings_can_be_null=True,
            true_values=["true"],
            false_values=["false"],
        ),
    )
    with unfinished(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
