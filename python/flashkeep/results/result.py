"""Results of the Python interface: the summary of a run, and its requests."""

from __future__ import annotations

from .. import _flashkeep
from .tree_view import Summary

TYPE_CHECKING = False  # importing `typing` would delay every start of the command line by milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Literal

    from numpy.typing import NDArray

    from ..choices import Figure, Library


COLUMNS: tuple[tuple[str, Literal["Q", "I", "B"], str], ...] = (
    ("arrival_ns", "Q", "<u8"),
    ("response_ns", "Q", "<u8"),
    ("service_ns", "Q", "<u8"),
    ("offset", "Q", "<u8"),
    ("length", "I", "<u4"),
    ("op", "B", "|u1"),
)
"""The columns of a run's requests: name, code for `memoryview.cast`, NumPy's type.

`op` is 0 read, 1 write, 2 trim, 3 flush.
"""

PARTS = (
    "queue", "cache", "buffer", "lock", "timer", "compute", "die", "channel", "array", "transfer", "disk", "gc",
    "maintenance", "rebuild", "retry", "link",
)  # fmt: skip
"""The parts of a response time (`latency_us`). Requests have a column `PART_ns` for each, unless `breakdown=False`."""

ALL_COLUMNS = (*COLUMNS, *((f"{part}_ns", "Q", "<u8") for part in PARTS))
"""All columns; runs that did not measure where the time goes have the first ones only."""


CODES = {"<u8": "Q", "<u4": "I", "|u1": "B", "<f8": "d"}
"""NumPy's names of types, and the codes for `memoryview.cast`."""


class Columns:
    """A table in columns, which are read without copying."""

    __slots__ = ("_buffers", "_types")

    def __init__(self, columns: Mapping[str, tuple[str, bytes]]) -> None:
        self._types = {name: dtype for name, (dtype, _) in columns.items()}
        self._buffers = {name: memory for name, (_, memory) in columns.items()}

    def __len__(self) -> int:
        name, dtype = next(iter(self._types.items()))
        return len(self._buffers[name]) // int(dtype[2:])

    def keys(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._buffers)

    def __getitem__(self, column: str) -> NDArray[Any]:
        """A column as a NumPy array (read-only: it is the run's own memory)."""
        import numpy as np

        return np.frombuffer(self._buffers[column], dtype=self._types[column])

    def __getattr__(self, column: str) -> NDArray[Any]:
        if column.startswith("_") or column not in self._buffers:
            raise AttributeError(f"no column {column!r}; there are {', '.join(self._buffers)}")
        return self[column]

    def memory(self, column: str) -> memoryview[Any]:
        """A column without NumPy."""
        codes: Mapping[str, Any] = CODES
        return memoryview(self._buffers[column]).cast(codes[self._types[column]])

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """All columns as NumPy arrays."""
        return {column: self[column] for column in self._buffers}

    def to_frame(self, library: Library | None = None) -> Any:
        """A data frame of its own: "pandas" or "polars"; the first one that is installed if it is left out."""
        from .figure_paths import column_frame

        return column_frame(self, library)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as an Arrow stream: `polars.DataFrame(table)`, `pyarrow.table(table)`, DuckDB."""
        del requested_schema  # a producer may offer its own types, and leave the conversion to the consumer
        return _flashkeep.arrow_stream([(name, self._types[name], memory) for name, memory in self._buffers.items()])

    def _both(self) -> dict[str, tuple[str, bytes]]:
        return {name: (dtype, self._buffers[name]) for name, dtype in self._types.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._both(),))

    def __repr__(self) -> str:
        return f"<flashkeep.{type(self).__name__} {len(self):,} × {', '.join(self._buffers)}>"


class Requests(Columns):
    """Every request of a run in order of arrival, with a column for each figure."""

    __slots__ = ()

    def __init__(self, buffers: tuple[bytes, ...]) -> None:
        known = ((name, dtype) for name, _, dtype in ALL_COLUMNS)
        super().__init__({name: (dtype, memory) for (name, dtype), memory in zip(known, buffers, strict=False)})

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """The requests one by one, as named tuples. `pandas.DataFrame(requests)` takes them, but slowly: `to_frame`."""
        from collections import namedtuple

        one = namedtuple("Request", self._buffers)  # type: ignore[misc]
        return map(one._make, zip(*(self.memory(column) for column in self._buffers), strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Requests, (tuple(self._buffers.values()),))


class Series(Columns):
    """The figures of a run over time: a row for each interval. Columns have the paths of the figures in the summary,
    such as `series["operations.program.gc"]`; counts of all rows add up to that figure."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<flashkeep.Series {len(self):,} × {len(self._buffers)} columns>"


class Result(Summary):
    """The result of a run: `summary.json` as attributes, its requests, and its figures over time."""

    __slots__ = ("_requests", "_series")

    def __init__(
        self,
        summary: Mapping[str, Any],
        requests: Requests | Callable[[], Requests] | None = None,
        series: Series | Callable[[], Series] | None = None,
    ) -> None:
        super().__init__(summary)
        self._requests = requests
        self._series = series

    def requests(self) -> Requests:
        """Arrival, response and place of every request."""
        if self._requests is None:
            raise ValueError("this run kept no requests; leave out requests=False and untimed=True")
        if not isinstance(self._requests, Requests):
            self._requests = self._requests()  # they are read at first use
        return self._requests

    def has_requests(self) -> bool:
        """Whether the run kept its requests."""
        return self._requests is not None

    def series(self) -> Series:
        """Figures over time, of a run with `series="10ms"` (the length of an interval) or `series=200` (the largest
        number of them)."""
        if self._series is None:
            raise ValueError('this run kept no series; run it with series="10ms", or with a number of intervals')
        if not isinstance(self._series, Series):
            self._series = self._series()
        return self._series

    def has_series(self) -> bool:
        """Whether the run kept figures over time."""
        return self._series is not None

    def flat(self) -> dict[str, Any]:
        """Every figure by its dotted path; items of lists by their number: `utilization.channel.0`."""
        from .figure_paths import flat

        return flat(self._values)

    def to_frame(self, library: Library | None = None) -> Any:
        """The figures as a data frame with one row and a column for each dotted path.

        `library` is "pandas" or "polars"; the first one that is installed if it is left out.
        """
        from .figure_paths import frame

        return frame([self.flat()], library)

    def plot(self, figure: Figure = "distributions") -> Any:
        """One of the figures of `flashkeep report`, as a figure of matplotlib."""
        from ..render.plots import plot

        return plot([self], figure)

    def __reduce__(self) -> tuple[Any, ...]:
        requests = self.requests() if self.has_requests() else None
        return (Result, (self._values, requests, self.series() if self.has_series() else None))

    def __repr__(self) -> str:
        means = ((kind, (self._values["response_us"].get(kind) or {}).get("mean")) for kind in ("read", "write"))
        told = ", ".join(f"{kind}s {mean:,.1f} µs" for kind, mean in means if mean is not None)
        return f"<flashkeep.Result {self._values['drive'].get('name', '')}: {told}>"

    def _repr_html_(self) -> str:
        from ..render.html import result_page

        return result_page(self.to_dict())
