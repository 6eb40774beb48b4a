"""The command `flashkeep advise`."""

from __future__ import annotations

import textwrap
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ..cli.progress import Line
from ..fleets.defaults import USUAL_UBER
from ..fleets.options import Options
from ..fleets.rebuild import SAMPLE
from ..fleets.wear import SHAPE
from ..inputs.run_options import names_of
from ..inputs.traces import PLACING, READING, Trace
from ..render import text_list
from ..render.summary_rows import micros
from ..render.terminal import BOLD, DIM, Page
from ..render.verdict_text import cannot_carry
from .api import advise_on
from .conclusion import Limits, name_of, probability

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Column = tuple[tuple[str, ...], Callable[[dict[str, Any]], str]]

RUNNING = names_of("replaying")
WIDTH = 100
"""Columns of a table where the page has no width."""
NONE = "–"


def run(arguments: dict[str, Any], say: Callable[[str], None], print_json: Callable[[object], None], page: Page) -> int:
    """Simulates, asks the fleet's model, and prints what they say. Returns the exit code."""
    from ..cli.options import UsageError

    if arguments["drives"] is None:
        raise UsageError("flashkeep advise: --drives missing: the drives of the array, such as --drives "
                         "'8*tlc-datacenter'")  # fmt: skip
    trace = Trace(tuple(arguments["trace"]), {key: arguments[key] for key in (*READING, *PLACING)})
    model = Options(**{field.name: arguments.get(field.name) for field in fields(Options)})
    limits = Limits(arguments["max_loss"], arguments["max_p99"])
    options = {key: arguments[key] for key in RUNNING if arguments[key] is not None}
    schemes = None if arguments["schemes"] is None else [each.strip() for each in arguments["schemes"].split(",")]
    seed = 1 if arguments["seed"] is None else arguments["seed"]
    if arguments["handles"] is not None:
        return _on_handles(arguments, trace, seed, options, say, print_json, page)
    found = advise_on(trace, arguments["drives"], schemes, model, limits, seed, options, arguments["workers"],
                      Line(arguments["quiet"]))  # fmt: skip
    if arguments["json"]:
        print_json(found)
    else:
        say(told(found, page))
    if arguments["report"] is not None:
        from ..fleet_pages.advice import write_page

        written = write_page(found, arguments["report"])
        if not arguments["json"] and not arguments["quiet"]:
            say(written)
    return 0


def _on_handles(
    arguments: dict[str, Any],
    trace: Trace,
    seed: int,
    options: dict[str, Any],
    say: Callable[[str], None],
    print_json: Callable[[object], None],
    page: Page,
) -> int:
    from ..cli.options import UsageError

    for name in ("schemes", "report", "rebuild", "max_loss", "max_p99"):
        if arguments[name] is not None:
            raise UsageError(f"flashkeep advise: --{name.replace('_', '-')}: is for redundancies, and --handles "
                             "compares placements of data on one drive")  # fmt: skip
    from .handles import advise_on_handles
    from .handles import told as told_of_handles

    found = advise_on_handles(trace, arguments["drives"], arguments["handles"], seed, options,
                              arguments["workers"], Line(arguments["quiet"]))  # fmt: skip
    if arguments["json"]:
        print_json(found)
    else:
        say(told_of_handles(found, page))
    return 0


def told(found: dict[str, Any], page: Page) -> str:
    """The result as a table: the rows, the conclusion, why rows are missing, what a failure costs, the assumptions, the
    notes."""
    page = Page(page.colour, page.width or WIDTH)
    rows = [row for row in found["rows"] if row["reason"] is None]

    def filled(text: str) -> str:
        return textwrap.fill(text, page.width or WIDTH, subsequent_indent="  ", break_on_hyphens=False)

    parts = [_head(found, page), "", *_blocks(rows, columns_of(found), page), ""]
    parts += [page.paint(filled(found["conclusion"]["text"]), BOLD), filled(limits_in_words(found)),
              filled(f"* {front_in_words(found)}")]  # fmt: skip
    parts += [filled(f"{name_of(row)}: {reason}") for row in found["rows"] for reason in reasons_of(row)]
    if lines := failure_table(found):
        parts += ["", page.paint(FAILURE_TITLE, BOLD), *(page.paint(line, DIM) for line in lines[:2]), *lines[2:]]
    parts += ["", page.paint("Assumptions", BOLD), text_list.listing(assumptions_of(found), page)]
    parts += [filled(f"note: {note}") for note in found["notes"]]
    return "\n".join(parts)


def _head(found: dict[str, Any], page: Page) -> str:
    return f"{page.paint(title(found), BOLD)}\n{page.paint(subtitle(found), DIM)}"


def title(found: dict[str, Any]) -> str:
    """The drives and the workload."""
    drives = found["drives"]
    return f"{drives['text']} ({drives['capacity_bytes'] / 1e12:.4g} TB each) under {found['workload']['name']}"


def subtitle(found: dict[str, Any]) -> str:
    """The simulated arrays."""
    workload = found["workload"]
    requests = workload["requests"]
    counted = f"{requests:,} requests"
    if found["sample_of"] is not None:
        counted = f"{requests:,} of {found['sample_of']:,} requests"
    elif found["limit"] is not None:
        counted += " (--limit)"
    writes = f"{100 * workload['writes'] / requests:.1f} % writes" if requests else "no requests"
    span = found["simulated_s"]
    lasting = "" if span is None else f"{span:,.1f} s simulated, "
    return f"{counted}, {writes}, {lasting}seed {found['seed']}"


def columns_of(found: dict[str, Any]) -> list[Column]:
    """Headings of up to three lines, the unit in the last, and what writes a cell."""

    def times(key: str, kind: str, which: str) -> Callable[[dict[str, Any]], str]:
        return lambda row: _number(None if row["saturation"] else row[key] and row[key][kind][which])

    cost: Column = (("raw", "per", "TB"), lambda row: _plain(row["raw_per_usable"], "{:.2f}"))
    if any(row["cost"] for row in found["rows"]):
        cost = (("USD", "per", "TB"),
                lambda row: _plain(row["cost"] and row["cost"]["usd_per_usable_tb"], "{:,.1f}"))  # fmt: skip
    return [
        (("", "usable", "TB"), lambda row: _plain(row["usable_bytes"] and row["usable_bytes"] / 1e12, "{:.3g}")),
        (("read", "mean", "µs"), times("response_us", "read", "mean")),
        (("read", "p99", "µs"), times("response_us", "read", "p99")),
        (("write", "mean", "µs"), times("response_us", "write", "mean")),
        (("write", "p99", "µs"), times("response_us", "write", "p99")),
        (("", "WAF", "×"), lambda row: _plain(row["waf_bytes"], "{:.2f}")),
        (("flash", "life", "years"), lambda row: _plain(row["life_years"], "{:,.3g}")),
        (("full", "rebuild", "h"), lambda row: _plain(row["rebuild_hours"], "{:.3g}")),
        (("P(loss)", f"in {found['years']:g}", "years"), lambda row: _loss(row["p_loss"] and row["p_loss"]["value"])),
        (("of it", "only a", "sector"), lambda row: _loss(row["sector_loss"] and row["sector_loss"]["p"]))
        if any(row["sector_loss"] and row["sector_loss"]["p"] for row in found["rows"])
        else (("", "", "nines"), lambda row: _plain(row["nines"], "{:.1f}")),
        cost,
    ]  # fmt: skip


def _number(value: float | None) -> str:
    return NONE if value is None else micros(value)


def _loss(value: float | None) -> str:
    return NONE if value is None else "0" if value == 0 else probability(value)


def _plain(value: float | None, form: str) -> str:
    if value is None:
        return NONE
    # Three digits of a number from a thousand on would be written with an exponent.
    return f"{value:,.0f}" if form.endswith("g}") and value >= 1000 else form.format(value)


def _blocks(rows: Sequence[dict[str, Any]], columns: Sequence[Column], page: Page) -> list[str]:
    """The table, in as many parts below each other as its width needs; each begins with the names."""
    names = ["", "", "  scheme", *(f"{'*' if row['pareto'] else ' '} {name_of(row)}" for row in rows)]
    cells = [[*heads, *(write(row) for row in rows)] for heads, write in columns]
    wide = max(map(len, names))
    room = (page.width or WIDTH) - wide
    parts: list[list[list[str]]] = [[]]
    for column in cells:
        used = sum(_gap(each) + max(map(len, each)) for each in parts[-1])
        if parts[-1] and used + _gap(column) + max(map(len, column)) > room:
            parts.append([])
        parts[-1].append(column)
    lines = []
    for part in parts:
        widths = [max(map(len, column)) for column in part]
        for at, name in enumerate(names):
            line = f"{name:{wide}}" + "".join(f"{'':{_gap(column)}}{column[at]:>{width}}" for column, width in
                                              zip(part, widths, strict=True))  # fmt: skip
            lines.append(page.paint(line.rstrip(), DIM) if at < 3 else line.rstrip())
        if part is not parts[-1]:
            lines.append("")
    return lines


def _gap(column: Sequence[str]) -> int:
    """Spaces before a column: a percentile is beside its mean."""
    return 1 if column[1] == "p99" else 2


def front_in_words(found: dict[str, Any]) -> str:
    latency = "read" if "response_us.read.p99" in found["front"] else "write"
    cost = "cost of a usable TB" if "cost.usd_per_usable_tb" in found["front"] else "raw bytes for each usable byte"
    return f"no other row is better in P(loss), {latency} p99 or {cost} and not worse in the others (Pareto front)"


def limits_in_words(found: dict[str, Any]) -> str:
    """Where the limits of the conclusion come from."""
    given = found["conclusion"]
    return (f"Limits: P(loss) {given['max_loss_from']} (--max-loss); {given['latency']} p99 {given['max_p99_from']} "
            "(--max-p99)")  # fmt: skip


def reasons_of(row: dict[str, Any]) -> list[str]:
    """Why a row is missing, or figures of it."""
    if row["reason"] is not None:
        return [str(row["reason"])]
    found = []
    if row["saturation"]:
        found.append(f"{cannot_carry(row['saturation'])}: its response times grow with the length of the trace")
    elif row["failed_saturation"]:
        found.append(f"with a member failed and rebuilt it {cannot_carry(row['failed_saturation'])}")
    if row["tolerance"]:
        found += dict.fromkeys(filter(None, (row["fleet_reason"], row["failed_reason"], row["rebuild_reason"])))
    elif row["fleet_reason"]:
        found.append(row["fleet_reason"])
    return found


FAILURE_TITLE = "The same requests without and with a failed member"

FAILURE_HEADS = (
    ("", "redundancy"), ("member 0", "is"), ("", "requests"), ("p50, µs", "without"), ("", "with"),
    ("p99, µs", "without"), ("", "with"), ("p99.9, µs", "without"), ("", "with"),
)  # fmt: skip


def failure_rows(found: dict[str, Any]) -> list[list[str]]:
    """For each row and phase, of reads and writes that arrived then: how many, and the percentiles of their response
    times in the run without a failure and in the run with it."""
    lines = []
    for row in found["rows"]:
        for phase, told in (("degraded", "missing"), ("rebuilding", "being rebuilt")):
            for kind, times in (row[f"{phase}_us"] or {}).items():
                if times["requests"]:
                    cells = [_number(which[key]) for key in ("p50", "p99", "p99_9")
                             for which in (times["healthy"], times)]  # fmt: skip
                    lines.append([name_of(row), told, f"{times['requests']:,} {kind}s", *cells])
    return lines


def failure_table(found: dict[str, Any]) -> list[str]:
    """The same as lines, the first two of them headings."""
    rows = failure_rows(found)
    if not rows:
        return []
    table = [list(line) for line in zip(*FAILURE_HEADS, strict=True)] + rows
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines: list[str] = []
    before = ["", ""]
    for number, row in enumerate(table):
        # A name is not repeated below itself.
        shown = ["" if number > 2 and row[: at + 1] == before[: at + 1] else row[at] for at in range(2)] + row[2:]
        before = row[:2]
        cells = [f"{cell:{width}}" if at < 2 else f"{cell:>{width}}"
                 for at, (cell, width) in enumerate(zip(shown, widths, strict=True))]  # fmt: skip
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines


def assumptions_of(found: dict[str, Any]) -> list[tuple[str, str]]:
    given = found["assumptions"]
    model = _model(found) if given["life"] is not None else [("P(loss)", "none: the model of fleets took no row")]
    rows = [
        *model,
        ("the failure", f"in a second run member 0 fails after {100 * given['failed_at']:g} % of the requests, and "
         f"an empty one replaces it after {100 * given['missing']:g} % of the run's time; it ends "
         f"once {SAMPLE} are rebuilt, or with the trace"),
        ("the start", _start(found)),
        ("full rebuild", "what a full member takes at the speed that the rebuild has beside this workload"),
        ("cost", f"from {given['cost_from']}" if given["cost_from"] else "no prices: give --price, or price_per_gb of "
         "the drives"),
    ]  # fmt: skip
    rows += [("TB", "10^12 bytes; costs and raw bytes are for each usable one"),
             ("WAF", "bytes programmed for each byte that the host wrote; none if the DRAM could hold all of them"),
             ("life of flash", "until the most written member has programmed what its erase budget allows, if this "
              "workload continues")]  # fmt: skip
    if any(row["width"] for row in found["rows"]):
        rows.append(("mirror 2", "a number is redundancy.width: stripes over groups of that size"))
    if found["options"]:
        rows.append(("options", ", ".join(f"{key}={value}" for key, value in found["options"].items())))
    return rows + [("rule", rule) for rule in given["rules"]]


def _start(found: dict[str, Any]) -> str:
    told = {"all": "all pages hold data (--existing reads: only those that the trace reads)",
            "reads": "new drives, with the pages that the trace reads (--existing)",
            "none": "new drives, without data (--existing)"}  # fmt: skip
    return told.get(found["options"].get("existing"), "as the drives say (start.existing, ageing.model)")


def _model(found: dict[str, Any]) -> list[tuple[str, str]]:
    """What P(loss) follows from."""
    given = found["assumptions"]
    mttr = f"{given['mttr_hours']}: " if given["mttr_hours"] else ""
    rows = [
        ("repair time", f"{mttr}{given['mttr_from']}"),
        ("life", f"{given['life']} (AFR {100 * given['afr']:.3g} %)"),
        *([("wear", _wear(given))] if given["wear_from"] else []),
        ("uber", f"{given['uber']:g}, {given['uber_from']}" if given["uber_from"] else _whether(given)),
    ]
    if any(row["p_loss"] and row["p_loss"]["low"] < row["p_loss"]["high"] for row in found["rows"]):
        rows.append(("P(loss)", f"sampled until half its 95 % interval is {100 * given['rel_error']:g} % of it; "
                     "overlapping intervals count as equal"))  # fmt: skip
    for key in ("repair", "detect_hours", "spares", "restock_hours", "latent_hours", "scrub_hours"):
        if given[key] is not None:
            rows.append((key, str(given[key])))
    rows += [(key, f"{given[key]:g}") for key in ("batch_frailty", "shock", "hours_per_year")]
    return rows


def _wear(given: dict[str, Any]) -> str:
    return f"{given['wear_from']}, spread {given['wear_spread'] or 0:g}; shape {SHAPE:g}, unless one is given"


def _whether(given: dict[str, Any]) -> str:
    if given["latent_hours"] is not None:
        return "none: latent errors arise with time"
    uber = given["uber"] or 0.0
    return (f"{uber:g}: the drive names none, so no rebuild meets an unreadable sector; --uber {USUAL_UBER} is what "
            "enterprise drives are rated for")  # fmt: skip
