"""The picture of a trace: its rate, its data and its addresses over time, and its sizes."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _flashkeep
from ..extras import need
from ..inputs.tabular import RECORD
from ..results.writing import put
from .figures import DASHES, Picture, count_unit, draw, panels, plain, plain_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .figures import Style

BINS = 200
"""Intervals of time."""
MOST_POINTS = 20_000
"""Requests whose addresses are shown: this number in equal steps."""
OPS = ("reads", "writes", "trims")
TIMES = ((3, 86400e6, "days"), (3, 3600e6, "h"), (1, 1e6, "s"), (1, 1e3, "ms"), (0, 1.0, "µs"))
"""Units of time: from how many of them on each is used, its µs, its name."""


def records_of(
    paths: Sequence[str], options: Mapping[str, Any], tables: Mapping[str, bytes] | None = None
) -> np.ndarray[Any, Any]:
    """The requests of a trace as records, in the order of their arrival; `tables` are those in memory, by name.

    Raises what reading the trace raises.
    """
    if tables and paths[0] in tables:
        return np.frombuffer(tables[paths[0]], RECORD)[: options.get("limit")]
    folder, name = tempfile.mkstemp(suffix=".records")
    os.close(folder)
    try:
        if paths[0].startswith("synth:"):
            kept = {key: options[key] for key in ("seed", "drive", "set") if key in options}
            _flashkeep.trace_synth(paths[0], name, to="records", **kept)
        else:
            kept = {key: value for key, value in options.items() if key not in ("seed", "drive", "set")}
            _flashkeep.trace_convert(list(paths), name, to="records", **kept)
        return np.fromfile(name, RECORD)[: options.get("limit")]
    finally:
        os.unlink(name)


def write(path: str, paths: Sequence[str], options: Mapping[str, Any]) -> None:
    """Draws the picture of a trace as PNG or SVG, as the name of the file says."""
    need("--plot", "reports", "matplotlib")
    name = " ".join(os.path.basename(each) for each in paths)
    drawn = draw(picture(name, records_of(paths, options)))
    put(os.path.realpath(path), drawn.png if path.endswith(".png") else drawn.svg.encode())


def _unit(us: float) -> tuple[float, str]:
    """The unit of an axis of times up to this one, and its µs."""
    return next((one, name) for least, one, name in TIMES if us >= least * one)


def picture(name: str, found: np.ndarray[Any, Any]) -> Picture:
    """Four panels over time, or over the number of the request where all arrive at once."""
    start = found["arrival_ns"].min() if len(found) else 0
    us = (found["arrival_ns"] - start) / 1e3
    timed = len(found) > 0 and us.max() > 0
    one, unit = _unit(float(us.max())) if timed else (1.0, "")
    at = us / one if timed else np.arange(len(found), dtype=float)
    label = f"time, {unit}" if timed else "request (all arrive at once: a closed loop)"
    present = [op for op in range(len(OPS)) if (found["op"] == op).any()]

    def drawn(figure: Figure, style: Style) -> None:
        rate, data, where, sizes = panels(figure, 4)
        end = float(at.max(initial=1.0)) or 1.0
        edges = np.linspace(0, end, BINS + 1)
        seconds = end * one / 1e6 / BINS if timed else None
        for op in present:
            mine = found["op"] == op
            look: dict[str, Any] = {"label": OPS[op], "color": style.series(op), "linestyle": DASHES[op]}
            for axes, weights in ((rate, None), (data, found["length"][mine] / 2**20)):
                heights, _ = np.histogram(at[mine], edges, weights=weights)
                axes.step(edges[:-1], heights / seconds if seconds else heights, where="post", linewidth=1.2, **look)
            step = max(1, int(mine.sum()) // MOST_POINTS)
            where.scatter(at[mine][::step], found["offset"][mine][::step] / 2**30, s=2, linewidth=0, rasterized=True,
                          color=style.series(op), label=OPS[op])  # fmt: skip
            ordered = np.sort(found["length"][mine]) / 1024
            sizes.step(ordered, np.arange(1, len(ordered) + 1) / len(ordered), where="post", linewidth=1.4, **look)
        each = f"in {len(found) / BINS:,.3g} requests"
        rate.set(ylabel="requests/s" if timed else each, ylim=(0, None))
        data.set(ylabel="MiB/s" if timed else f"MiB {each}", ylim=(0, None))
        where.set(ylabel="address, GiB")
        _label_times((rate, data, where), label, end)
        sizes.set(xscale="log", xlabel="size, KiB", ylabel="share of requests\nup to this size", ylim=(0, 1.02))
        plain_numbers(sizes.xaxis, sizes.yaxis)
        kib = found["length"][found["length"] > 0] / 1024
        powers = [2.0**power for power in range(-1, 23) if kib.min(initial=4) <= 2.0**power <= kib.max(initial=4)]
        sizes.set_xticks(powers, [plain(power) for power in powers])
        sizes.set_xticks([], minor=True)
        handles, labels = rate.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=3, handlelength=3)

    most, thousands = count_unit(len(found))
    total = f"{len(found) / most:,.4g} {thousands}requests"
    return Picture("trace", f"{name}: {total} over time, their addresses and their sizes", drawn, (8.6, 8.2))


def _label_times(all_axes: Sequence[Axes], label: str, end: float) -> None:
    for axes in all_axes:
        axes.set(xlim=(0, end))
        plain_numbers(axes.xaxis, axes.yaxis)
    all_axes[-1].set_xlabel(label)
