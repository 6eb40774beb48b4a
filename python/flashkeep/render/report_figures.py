"""The figures of `report`: each function draws a figure of runs, or returns why it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .figures import CAUSES, DASHES, HATCHES, MARKERS, Picture, count_unit, panels, plain_numbers, time_unit, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..results.folder_results import Found
    from .figures import Style

    Made = tuple[Picture | None, str]

POINTS = (("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999),
          ("p99_99", 0.9999), ("max", 1.0))  # fmt: skip


def distributions(runs: Sequence[Found], prefix: str) -> Made:
    """Distributions of response times, and their tails."""
    curves = {kind: [_distribution(run, kind) for run in runs] for kind in ("reads", "writes")}
    kinds = [kind for kind, found in curves.items() if any(found)]
    if not kinds:
        return None, "No response times: the runs are untimed, or nothing was asked of them."

    known = [curve[0] for found in curves.values() for curve in found if curve]
    one, unit = time_unit(min(times[0] for times in known), max(times[-1] for times in known))

    def draw(figure: Figure, style: Style) -> None:
        grid = figure.subplots(2, len(kinds), squeeze=False, sharex=True)
        for column, kind in enumerate(kinds):
            whole, tail = grid[0][column], grid[1][column]
            for at, (run, curve) in enumerate(zip(runs, curves[kind], strict=True)):
                if curve is not None:
                    times, shares = [time / one for time in curve[0]], curve[1]
                    _curve(whole, style, at, run.label, times, [100 * share for share in shares])
                    rest = [(time, 100 * (1 - share)) for time, share in zip(times, shares, strict=True) if share < 1]
                    _curve(tail, style, at, run.label, [time for time, _ in rest], [share for _, share in rest])
            whole.set(title=kind, xscale="log", ylim=(0, 102))
            tail.set(xscale="log", yscale="log", xlabel=f"response time, {unit}")
            plain_numbers(whole.xaxis, whole.yaxis, tail.xaxis, tail.yaxis)
        grid[0][0].set_ylabel("share of requests\nthat took no longer, %")
        grid[1][0].set_ylabel("share that took longer, %")
        _legend(figure, grid[0][0], runs)

    return Picture(f"{prefix}distributions", "Distribution of response times; below, how many took longer",
                   draw, (8.6, 5.4)), ""  # fmt: skip


def _distribution(run: Found, kind: str) -> tuple[list[float], list[float]] | None:
    if run.requests is not None:
        return run.requests.distribution(kind)
    told = run.summary["response_us"][kind.removesuffix("s")]
    known = [(told[name], share) for name, share in POINTS if told and told.get(name) is not None]
    return ([time for time, _ in known], [share for _, share in known]) if known else None


def _curve(axes: Axes, style: Style, at: int, label: str, x: list[float], y: list[float]) -> None:
    few = len(x) <= len(POINTS)
    axes.plot(x, y, color=style.series(at), linestyle=DASHES[at % 6], linewidth=1.7, label=wrapped(label, 40),
              drawstyle="default" if few else "steps-post", marker=MARKERS[at % 6] if few else "", markersize=4.5,
              markeredgecolor=style["ink"], markeredgewidth=0.5)  # fmt: skip


def _legend(figure: Figure, axes: Axes, runs: Sequence[Found]) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if len(runs) > 1:
        longest = max(len(line) for label in labels for line in label.splitlines())
        columns = min(len(labels), max(1, 90 // (longest + 8)))
        figure.legend(handles, labels, loc="outside upper center", ncols=columns, handlelength=3)


def over_time(runs: Sequence[Found], prefix: str) -> Made:
    """Percentiles of response times over time, with the failures of each run, and what drives did, of runs with a
    series."""
    told = [(run, _percentiles(run)) for run in runs if run.series is not None or run.requests is not None]
    kept = [(run, found) for run, found in told if found[0]]
    if not kept:
        return None, "No percentiles over time: they need the requests (--out), or a series (--series)."
    one, unit = time_unit(
        min(min(found["p50"]) for _, (_, found) in kept), max(max(found["max"]) for _, (_, found) in kept)
    )
    lines = _activity([run for run, _ in kept if run.series is not None])

    def draw(figure: Figure, style: Style) -> None:
        every = list(panels(figure, len(kept) + len(lines), sharex=True))
        for axes, (run, (seconds, found)) in zip(every, kept, strict=False):
            axes.sharey(every[0])
            for at, (name, values) in enumerate(found.items()):
                axes.plot(seconds, [value / one for value in values], label=name, color=style.series(at),
                          linestyle=DASHES[at], linewidth=1.4)  # fmt: skip
            axes.set(yscale="log", ylabel=f"response\ntime, {unit}")
            axes.set_title(run.label, loc="left", pad=6 + 9 * mark_failures(axes, style, run))
            plain_numbers(axes.xaxis, axes.yaxis)
        for axes, (label, drawn) in zip(every[len(kept) :], lines, strict=True):
            for at, (name, seconds, values) in enumerate(drawn):
                axes.plot(seconds, values, label=wrapped(name, 40), color=style.series(at), linestyle=DASHES[at % 6],
                          linewidth=1.4)  # fmt: skip
            axes.set(ylabel=label, ylim=(0, None))
            plain_numbers(axes.xaxis, axes.yaxis)
        if lines and len(kept) > 1:
            every[len(kept)].legend(fontsize=8)
        every[-1].set_xlabel("s simulated")
        handles, labels = every[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=4, handlelength=3)

    whole = all(run.series is not None for run, _ in kept)
    caption = f"Percentiles of response times, by when requests {'ended' if whole else 'arrived'}"
    if lines:
        caption += "; below, what the drive did"
    if any(marks(run) for run, _ in kept):
        caption += " (dashed: what failed and when, in letters that the table of phases explains)"
    return Picture(f"{prefix}over-time", caption, draw, (8.6, 1.0 + 1.9 * len(kept) + 1.4 * len(lines))), ""


def _percentiles(run: Found) -> tuple[list[float], dict[str, list[float]]]:
    """The middle of each interval, s, and percentiles of its requests, µs; of the series, if the run has one."""
    if run.series is None:
        return run.requests.over_time() if run.requests is not None else ([], {})
    has_any = run.series["response_us.all.count"] > 0
    names = ("p50", "p95", "p99", "max")
    return (
        _middles(run)[has_any].tolist(),
        {name: run.series[f"response_us.all.{name}"][has_any].tolist() for name in names},
    )


def _middles(run: Found) -> Any:
    assert run.series is not None
    return (run.series["start_ns"].astype(float) + run.series["end_ns"]) / 2e9


PARITY = ("parity", "partial_parity", "parity_gc")


def _activity(runs: Sequence[Found]) -> list[tuple[str, list[tuple[str, Any, Any]]]]:
    """What drives did, of runs with a series: the label of an axis, and a line for each run. Figures of zero in all
    runs are left out."""

    def rate(*names: str) -> Callable[[Any], Any]:
        return lambda series: (
            sum(series[f"operations.{name}"] for name in names)
            / ((series["end_ns"] - series["start_ns"]).clip(1) / 1e9)
        )

    kinds: tuple[tuple[str, Callable[[Any], Any]], ...] = (
        ("GC, pages\ncopied/s", rate("program.gc", "copyback.gc")),
        ("parity,\npages/s", rate(*(f"program.{cause}" for cause in PARITY))),
        ("requests\nin progress", lambda series: series["queue.mean"]),
        ("free blocks", lambda series: series["free_blocks"]),
    )
    found = [(label, [(run.label, _middles(run), of(run.series)) for run in runs]) for label, of in kinds]
    return [(label, lines) for label, lines in found if any(values.any() for _, _, values in lines)]


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def marks(run: Found) -> list[tuple[str, float]]:
    """A letter for each phase of a run but the one before the first failure, and when it begins, s."""
    phases = [phase for phase in run.summary["phases"] if phase["event"] or phase["from_s"] > 0]
    return [(LETTERS[at % 26], phase["from_s"]) for at, phase in enumerate(phases)]


def mark_failures(axes: Axes, style: Style, run: Found) -> int:
    """Lines where phases begin: failures, replacements, the end of rebuilds. Returns the number of rows of letters."""
    wide = axes.get_xlim()[1] - axes.get_xlim()[0]
    last, level, rows = float("-inf"), 0, 0
    for letter, at in marks(run):
        level = (level + 1) % 3 if at - last < 0.015 * wide else 0  # letters do not cover each other
        last, rows = at, max(rows, level + 1)
        axes.axvline(at, color=style["ink"], linestyle=DASHES[1], linewidth=1.0)
        axes.annotate(letter, (at, 1), xycoords=("data", "axes fraction"), xytext=(0, 2 + 9 * level),
                      textcoords="offset points", ha="center", fontsize=8, fontweight="bold")  # fmt: skip
    return rows


PARTS = {
    "queue": "waiting for a slot in the host queue", "cache": "memory", "buffer": "eviction", "lock": "stripe locked",
    "timer": "timers", "compute": "parity and decoding", "die": "die busy", "channel": "channel busy", "array": "array",
    "transfer": "transfer", "disk": "disk", "gc": "garbage collection", "maintenance": "maintenance",
    "rebuild": "rebuild", "retry": "read retries", "link": "link",
}  # fmt: skip
"""The parts of a response time and their labels."""


def breakdown(runs: Sequence[Found], prefix: str) -> Made:
    """Where response times went: the mean, and the slowest 1 %."""
    rows = []
    for run in runs:
        for kind, found in (run.summary.get("latency_us") or {}).items():
            for which, words in (("mean", "all"), ("slowest", "slowest 1 %")) if found else ():
                rows.append((f"{run.label}\n{kind}s, {words}", found[which]))
    if not rows:
        return None, "No parts of response times: the runs are untimed, or --no-breakdown left them out."

    def draw(figure: Figure, style: Style) -> None:
        axes = figure.subplots()
        totals = [sum(parts.values()) or 1 for _, parts in rows]
        ends = [0.0] * len(rows)
        for at, (part, words) in enumerate(PARTS.items()):
            values = [100 * parts[part] / total for (_, parts), total in zip(rows, totals, strict=True)]
            if any(values):
                axes.barh(range(len(rows)), values, 0.7, ends, label=words, color=style.series(at),
                          edgecolor=style["ink"], hatch=HATCHES[(at + at // 6) % 11])  # fmt: skip
                ends = [end + value for end, value in zip(ends, values, strict=True)]
        for at, total in enumerate(totals):
            axes.annotate(f"{total:,.3g} µs" if total < 1000 else f"{total:,.0f} µs", (100, at), xytext=(5, 0),
                          textcoords="offset points", va="center")  # fmt: skip
        axes.set_yticks(range(len(rows)), [label for label, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(0, 116)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("share of the response time, %")
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4)

    return Picture(f"{prefix}breakdown", "Where response times go: mean of all requests, and of the slowest 1 %", draw,
                   (8.6, 1.6 + 0.5 * len(rows))), ""  # fmt: skip


def amplification(runs: Sequence[Found], prefix: str) -> Made:
    """Pages programmed for each page written, by cause."""
    kept = [run for run in runs if run.summary["write_amplification"]["total"] is not None]
    if not kept:
        return None, "No write amplification: nothing was written."

    def draw(figure: Figure, style: Style) -> None:
        axes = figure.subplots()
        parts = [run.summary["write_amplification"] for run in kept]
        # Programs that the buffer saves are subtracted from the host's own pages.
        rows = {"host": [1 + (part["buffer"] or 0) for part in parts]}
        rows |= {cause: [part.get(cause) or 0 for part in parts] for cause in CAUSES if cause in parts[0]}
        _stacked(axes, style, kept, rows)
        for at in range(len(kept)):
            end = sum(values[at] for values in rows.values())
            axes.annotate(f"{end:.3f}", (end, at), xytext=(5, 0), textcoords="offset points", va="center")
        axes.margins(x=0.09)
        axes.set_xlabel("pages programmed for each page written")
        _causes(figure, [axes])

    caption = ("Write amplification by cause (host: less what the buffer saves; parity with partial and moved parity, "
               "wear with migration)")  # fmt: skip
    return Picture(f"{prefix}amplification", caption, draw, (8.6, 1.5 + 0.5 * len(kept))), ""


def operations(runs: Sequence[Found], prefix: str) -> Made:
    """Operations of the flash by cause."""
    kinds = [
        (kind, words) for kind, words in (("read", "pages read"), ("program", "pages programmed"),
                                          ("copyback", "pages copied within planes"), ("erase", "blocks erased"))
        if any(any(run.summary["operations"].get(kind, {}).values()) for run in runs)
    ]  # fmt: skip
    if not kinds:
        return None, "No operations: the flash did nothing."

    def draw(figure: Figure, style: Style) -> None:
        every = list(panels(figure, len(kinds)))
        for axes, (kind, words) in zip(every, kinds, strict=True):
            counts = [run.summary["operations"].get(kind, {}) for run in runs]
            one, unit = count_unit(max(sum(count.values()) for count in counts))
            _stacked(axes, style, runs, {cause: [count.get(cause, 0) / one for count in counts] for cause in CAUSES})
            axes.set_xlabel(f"{unit}{words}")
        _causes(figure, every)

    return Picture(f"{prefix}operations", "Operations of the flash by cause", draw,
                   (8.6, 0.8 + len(kinds) * (0.55 + 0.42 * len(runs)))), ""  # fmt: skip


def _stacked(axes: Axes, style: Style, runs: Sequence[Found], rows: Mapping[str, Sequence[float]]) -> None:
    """A horizontal bar for each run, with its causes one after the other."""
    ends = [0.0] * len(runs)
    for cause, values in rows.items():
        if any(values):
            axes.barh(range(len(runs)), values, 0.62, ends, label=CAUSES[cause], **style.cause(cause))
            ends = [end + value for end, value in zip(ends, values, strict=True)]
    axes.set_yticks(range(len(runs)), [wrapped(run.label) for run in runs])
    axes.set_ylim(len(runs) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", visible=True)
    plain_numbers(axes.xaxis)


def _causes(figure: Figure, every: Sequence[Axes]) -> None:
    """One legend of the causes that the panels have, in their order."""
    found: dict[str, Artist] = {}
    for axes in every:
        handles, labels = axes.get_legend_handles_labels()
        found |= dict(zip(map(str, labels), handles, strict=True))
    labels = [label for label in CAUSES.values() if label in found]
    figure.legend([found[label] for label in labels], labels, loc="outside upper center", ncols=4)


def utilization(runs: Sequence[Found], prefix: str) -> Made:
    """The utilization of channels and dies."""
    kept = [run for run in runs if run.summary["utilization"]["channel"]]
    if not kept:
        return None, "No utilisation: the runs are untimed."

    def draw(figure: Figure, style: Style) -> None:
        every = list(panels(figure, len(kept), sharey=True))
        for axes, run in zip(every, kept, strict=True):
            busy = run.summary["utilization"]
            channels = [100 * share for share in busy["channel"]]
            dies = [100 * (busy["die_mean"] or 0), 100 * (busy["die_max"] or 0)]
            axes.bar(range(len(channels)), channels, 0.8, color=style.series(0), edgecolor=style["ink"])
            wide = max(1.0, len(channels) / 10)  # as far apart as their labels need
            places = [len(channels) - 1 + 1.5 * wide, len(channels) - 1 + 2.5 * wide]
            axes.bar(places, dies, 0.8 * wide, color=style.series(1), edgecolor=style["ink"], hatch=HATCHES[1])
            few = range(0, len(channels), max(1, len(channels) // 16))
            axes.set_xticks([*few, *places], [*map(str, few), "dies,\nmean", "busiest\ndie"])
            axes.set_title(run.label, loc="left", wrap=True)
            axes.set_ylabel("busy, %")
            plain_numbers(axes.yaxis)
            axes.set_xlim(-0.8, max(len(channels) - 1 + 3.3 * wide, 9))
        several = any(run.summary["drive"].get("members") for run in kept)
        every[-1].set_xlabel("channel, those of one member after those of another" if several else "channel")

    return Picture(f"{prefix}utilization", "Share of the simulated time that channels and dies are busy", draw,
                   (8.6, 0.7 + 1.6 * len(kept))), ""  # fmt: skip


def wear(runs: Sequence[Found], prefix: str) -> Made:
    """The distribution of erase counts over blocks."""
    kept = [run for run in runs if run.summary["wear"].get("erases_histogram") and run.summary["wear"]["erases_total"]]
    if not kept:
        if any(run.summary["wear"]["erases_total"] for run in runs):
            return None, "No histogram of wear: the summaries are of a version that did not write one."
        return None, "No histogram of wear: no block was erased."

    def draw(figure: Figure, style: Style) -> None:
        from matplotlib.ticker import MaxNLocator

        every = list(panels(figure, len(kept), sharex=True))
        for at, (axes, run) in enumerate(zip(every, kept, strict=True)):
            table = run.summary["wear"]["erases_histogram"]
            axes.bar([bar["from"] - 0.5 for bar in table], [bar["blocks"] for bar in table],
                     [bar["to"] - bar["from"] + 1 for bar in table], align="edge", color=style.series(at),
                     edgecolor=style["ink"], linewidth=0.5, hatch=HATCHES[at % 6])  # fmt: skip
            axes.axvline(run.summary["wear"]["erases_mean"], color=style["ink"], linestyle=DASHES[1], linewidth=1.1)
            axes.set_title(run.label, loc="left", wrap=True)
            axes.set_ylabel("blocks")
            plain_numbers(axes.yaxis)
        every[-1].set_xlabel("erases of a block (dashed: mean)")
        every[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        plain_numbers(every[-1].xaxis)

    return Picture(f"{prefix}wear", "Histogram of wear: blocks by how often they were erased in the run", draw,
                   (8.6, 0.7 + 1.5 * len(kept))), ""  # fmt: skip


FIGURES: tuple[Callable[[Sequence[Found], str], Made], ...] = (
    distributions, breakdown, over_time, amplification, operations, utilization, wear,
)  # fmt: skip
"""The figures of a page, in order."""
