"""Tables about one run: its phases, rebuilds, volumes, flows and placement handles. The terminal and the pages show the
same cells."""

from __future__ import annotations

from .summary_rows import count, micros, share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    Summary = dict[str, Any]


class RunTable:
    """A table: its title, the heads of its columns, and its rows as text."""

    __slots__ = ("heads", "name", "rows", "title", "words")

    def __init__(
        self, name: str, title: str, heads: Sequence[str], rows: list[list[str]], words: Sequence[int]
    ) -> None:
        self.name, self.title, self.heads, self.rows = name, title, heads, rows
        self.words = words  # the columns that are text


def run_tables(summary: Summary) -> Iterator[RunTable]:
    """The tables that a run has."""
    for table in (_phases(summary), _rebuilds(summary), _volumes(summary), _flows(summary),
                  _handles(summary)):  # fmt: skip
        if table.rows:
            yield table


def _phases(summary: Summary) -> RunTable:
    heads = ("phase", "from, s", "reads", "µs", "p99", "writes", "µs", "p99", "reconstructed", "lost",
             "exposed, page·s", "event")  # fmt: skip
    rows = [
        [
            phase["phase"], seconds(phase["from_s"]), *_counted(phase["response_us"]),
            count(phase["reconstructed_reads"]), count(phase["lost_pages"]), micros(phase["unprotected_page_s"]),
            phase["event"] or "",
        ]
        for phase in summary["phases"]
    ]  # fmt: skip
    return RunTable(
        "phases",
        "Before, during and after each failure (each phase has other requests)",
        heads,
        rows,
        (0, len(heads) - 1),
    )


def _rebuilds(summary: Summary) -> RunTable:
    heads = ("rebuilt", "from, s", "duration, s", "GiB", "MB/s", "of a full one", "a full one takes")
    rows = []
    for rebuild in summary.get("rebuilds") or ():
        end, whole = rebuild["end_s"], rebuild.get("share")
        rows.append([
            rebuild["member"], seconds(rebuild["start_s"]),
            "not finished" if end is None else seconds(end - rebuild["start_s"]), f"{rebuild['gib']:.3f}",
            _told(rebuild.get("mb_s")), "–" if whole is None else share(whole), _lasting(rebuild["full_member_hours"]),
        ])  # fmt: skip
    return RunTable("rebuilds", "Rebuilds", heads, rows, (0,))


def _volumes(summary: Summary) -> RunTable:
    heads = ("volume", "requests", *TIMES, "requests/s", "read, MiB/s", "written, MiB/s", "workload")
    rows = [
        [
            str(at), count(volume["requests"]), *_times(volume["response_us"]),
            *(_told(volume["throughput"][key]) for key in ("iops", "read_mib_s", "write_mib_s")), volume["workload"],
        ]
        for at, volume in enumerate(summary.get("volumes") or ())
    ]  # fmt: skip
    return RunTable("volumes", "Volumes", heads, rows, (0, len(heads) - 1))


def _flows(summary: Summary) -> RunTable:
    heads = ("flow", "requests", "mean, µs", "reads, p99", "writes, p99", "requests/s", "read, MiB/s",
             "written, MiB/s", "slowdown", "workload")  # fmt: skip
    rows = [
        [
            flow["name"], count(flow["requests"]),
            *(_told((flow["response_us"][kind] or {}).get(figure))
              for kind, figure in (("all", "mean"), ("read", "p99"), ("write", "p99"))),
            *(_told(flow["throughput"][key]) for key in ("iops", "read_mib_s", "write_mib_s")),
            _factor(flow["slowdown"]), flow["workload"],
        ]
        for flow in summary.get("flows") or ()
    ]  # fmt: skip
    fairness = summary.get("fairness")
    title = "Flows" if fairness is None else f"Flows (fairness, smallest slowdown over largest: {fairness:.2f})"
    return RunTable("flows", title, heads, rows, (0, len(heads) - 1))


def _handles(summary: Summary) -> RunTable:
    heads = ("handle", "written, MiB", "programmed, MiB", "erased, MiB", "write amplification")
    rows = [
        [
            row["data"] if row["handle"] is None else str(row["handle"]),
            *(f"{row[key] / 2**20:,.1f}" for key in ("host_bytes", "media_bytes", "erased_bytes")),
            "–" if row["waf"] is None else f"{row['waf']:.2f}",
        ]
        for row in summary.get("handles") or ()
    ]  # fmt: skip
    return RunTable("handles", "Placement handles", heads, rows, (0,))


def _factor(value: float | None) -> str:
    return "–" if value is None else f"× {value:.2f}"


TIMES = ("reads, µs", "p99", "writes, µs", "p99")


def _counted(told: Summary) -> list[str]:
    """The number of reads and of writes, each with mean and p99."""
    times = _times(told)
    counts = [count((told[kind] or {}).get("count", 0)) for kind in ("read", "write")]
    return [counts[0], *times[:2], counts[1], *times[2:]]


def _times(told: Summary) -> list[str]:
    """Mean and p99 of reads and writes."""
    return [_told((told[kind] or {}).get(figure)) for kind in ("read", "write") for figure in ("mean", "p99")]


def _told(value: float | None) -> str:
    return "–" if value is None else micros(value)


def _lasting(hours: float | None) -> str:
    if hours is None:
        return "–"
    return f"{hours:,.1f} h" if hours >= 1 else f"{micros(3600 * hours)} s"


def seconds(value: float) -> str:
    return f"{value:,.3f}"
