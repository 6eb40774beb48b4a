"""Reads a run's requests for `report`: response times by operation, and over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..results.table_files import OPS, read_columns, table_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Times = NDArray[np.int64]

SHARES = (0.0, *(at / 200 for at in range(1, 200)), 0.997, 0.998, 0.999, 0.9995, 0.9999, 0.99999, 1.0)
"""The shares at which a distribution is drawn: evenly spaced, and closer at its end."""
OVER_TIME = (50.0, 95.0, 99.0)
BINS = 80


@dataclass(frozen=True, slots=True)
class Requests:
    """Every request of a run: when it arrived, and how long it took."""

    arrival_ns: Times
    response_ns: Times
    kinds: dict[str, NDArray[np.bool_]]

    def distribution(self, kind: str) -> tuple[list[float], list[float]] | None:
        """Response times, µs, and the share of requests that took no longer; empty without requests."""
        import numpy as np

        times = self.response_ns[self.kinds[kind]]
        if not times.size:
            return None
        # Shares finer than one request have no meaning.
        shares = [share for share in SHARES if share in (0.0, 1.0) or (1 - share) * times.size >= 1]
        found = np.quantile(times, shares, method="inverted_cdf") / 1000
        return found.tolist(), shares

    def over_time(self) -> tuple[list[float], dict[str, list[float]]]:
        """The middle of each interval, s, and percentiles of the requests that arrived in it, µs."""
        import numpy as np

        edges = np.linspace(self.arrival_ns[0], self.arrival_ns[-1] + 1, BINS + 1)
        cuts = np.searchsorted(self.arrival_ns, edges)
        middles: list[float] = []
        told: dict[str, list[float]] = {**{f"p{percent:g}": [] for percent in OVER_TIME}, "max": []}
        for at in range(BINS):
            times = self.response_ns[cuts[at] : cuts[at + 1]]
            if times.size:
                middles.append(float(edges[at] + edges[at + 1]) / 2e9)
                for name, value in zip(told, np.percentile(times, (*OVER_TIME, 100.0)), strict=True):
                    told[name].append(float(value) / 1000)
        return middles, told


def read_requests(folder: str | None) -> Requests | None:
    """The requests of a run's folder; none if there is no table, or if it is empty."""
    import numpy as np

    path = table_in(folder, "requests")
    if path is None:
        return None
    read = read_columns(path, ("arrival_ns", "response_ns", "op"))
    arrival, response = (np.frombuffer(read[name], np.int64) for name in ("arrival_ns", "response_ns"))
    if not arrival.size:
        return None
    order = np.argsort(arrival, kind="stable")
    op = np.frombuffer(read["op"], np.uint8)[order]
    kinds = {"reads": op == OPS.index("read"), "writes": op == OPS.index("write")}
    return Requests(arrival[order], response[order], kinds)
