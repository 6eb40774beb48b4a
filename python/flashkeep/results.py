"""Results of the Python interface: the summary of a run, and its requests."""

from __future__ import annotations

from . import _flashkeep
from .nodes import Summary

TYPE_CHECKING = False  # importing `typing` would delay every start of the command line by milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Literal

    import numpy as np
    from numpy.typing import NDArray

    from .choices import Figure, Library


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


class Requests:
    """Every request of a run in order of arrival, with a column for each figure; columns are read without copying."""

    __slots__ = ("_buffers",)

    def __init__(self, buffers: tuple[bytes, ...]) -> None:
        self._buffers = dict(zip((name for name, _, _ in ALL_COLUMNS), buffers, strict=False))

    def __len__(self) -> int:
        return len(self._buffers["op"])

    def keys(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._buffers)

    def __getitem__(self, column: str) -> NDArray[np.integer[Any]]:
        """A column as a NumPy array (read-only: it is the run's own memory)."""
        import numpy as np

        types = {name: dtype for name, _, dtype in ALL_COLUMNS}
        return np.frombuffer(self._buffers[column], dtype=types[column])

    def __getattr__(self, column: str) -> NDArray[np.integer[Any]]:
        if column.startswith("_") or column not in self._buffers:
            raise AttributeError(f"no column {column!r}; there are {', '.join(self._buffers)}")
        return self[column]

    def memory(self, column: str) -> memoryview[int]:
        """A column without NumPy."""
        codes = {name: code for name, code, _ in ALL_COLUMNS}
        return memoryview(self._buffers[column]).cast(codes[column])

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """The requests one by one, as named tuples, which `pandas.DataFrame(requests)` takes."""
        from collections import namedtuple

        one = namedtuple("Request", self._buffers)  # type: ignore[misc]
        return map(one._make, zip(*(self.memory(column) for column in self._buffers), strict=True))

    def to_numpy(self) -> dict[str, NDArray[np.integer[Any]]]:
        """All columns as NumPy arrays: what `pandas.DataFrame` and `polars.DataFrame` take."""
        return {column: self[column] for column in self._buffers}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns as an Arrow stream: `polars.DataFrame(requests)`, `pyarrow.table(requests)`, DuckDB."""
        del requested_schema  # a producer may offer its own types, and leave the conversion to the consumer
        kept = [(name, dtype, self._buffers[name]) for name, _, dtype in ALL_COLUMNS if name in self._buffers]
        return _flashkeep.arrow_stream(kept)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Requests, (tuple(self._buffers.values()),))

    def __repr__(self) -> str:
        return f"<flashkeep.Requests {len(self):,} × {', '.join(self._buffers)}>"


class Result(Summary):
    """The result of a run: `summary.json` as attributes, and its requests."""

    __slots__ = ("_requests",)

    def __init__(self, summary: Mapping[str, Any], requests: Requests | Callable[[], Requests] | None = None) -> None:
        super().__init__(summary)
        self._requests = requests

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

    def flat(self) -> dict[str, Any]:
        """Every figure by its dotted path; items of lists by their number: `utilization.channel.0`."""
        from .flat import flat

        return flat(self._values)

    def to_frame(self, library: Library | None = None) -> Any:
        """The figures as a data frame with one row and a column for each dotted path.

        `library` is "pandas" or "polars"; the first one that is installed if it is left out.
        """
        from .flat import frame

        return frame([self.flat()], library)

    def plot(self, figure: Figure = "distributions") -> Any:
        """One of the figures of `flashkeep report`, as a figure of matplotlib."""
        from .plots import plot

        return plot([self], figure)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Result, (self._values, self.requests() if self._requests is not None else None))

    def __repr__(self) -> str:
        means = ((kind, (self._values["response_us"].get(kind) or {}).get("mean")) for kind in ("read", "write"))
        told = ", ".join(f"{kind}s {mean:,.1f} µs" for kind, mean in means if mean is not None)
        return f"<flashkeep.Result {self._values['drive'].get('name', '')}: {told}>"

    def _repr_html_(self) -> str:
        from .html import result_page

        return result_page(self.to_dict())
