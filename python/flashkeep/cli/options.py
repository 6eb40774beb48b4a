"""The table of all commands and options of the command line, and the parser that uses it."""

from __future__ import annotations

import argparse

from ..inputs.run_options import OF_SERVED_DRIVES, RUN_OPTIONS, options_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn

    from ..inputs.run_options import RunOption


class UsageError(Exception):
    """The command line is invalid: one message, exit code 2."""


WRITTEN = (*(option.flag for option in options_of("writing") if option.kind == "file"),
           "--report", "--plot", "--output")  # fmt: skip
"""Options that name a file to write."""
WRITERS = ("age", "trace convert", "trace synth")
"""Commands whose place OUT or FILE is a file to write."""


class Option:
    """One option: its flag, its argument, and its purpose. `key` is its field of `Job` if that differs."""

    __slots__ = ("flag", "help", "metavar", "read", "repeat", "short")

    def __init__(
        self,
        flag: str,
        help: str,
        metavar: str | None = None,
        read: Callable[[str], object] = str,
        repeat: bool = False,
        short: str = "",
    ) -> None:
        self.flag, self.help, self.metavar, self.read, self.repeat = flag, help, metavar, read, repeat
        self.short = [short] if short else []

    @property
    def key(self) -> str:
        return self.flag.removeprefix("--").replace("-", "_")

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        text = self.help.replace("%", "%%")
        if self.metavar is None:
            parser.add_argument(self.flag, action="store_true", help=text)
        elif self.repeat:
            parser.add_argument(self.flag, action="append", default=[], metavar=self.metavar, type=self.read, help=text)
        else:
            parser.add_argument(*self.short, self.flag, metavar=self.metavar, type=self.read, help=text)


class Command:
    """A command: its words, its purpose, its arguments, its options, and an example."""

    __slots__ = ("example", "help", "name", "options", "places")

    def __init__(self, name: str, help: str, places: str, options: Iterable[Option], example: str = "") -> None:
        self.name, self.help, self.places, self.options = name, help, places, tuple(options)
        self.example = example

    @property
    def usage(self) -> str:
        return f"flashkeep {self.name} {self.places}".rstrip()

    def writes(self, arguments: dict[str, Any]) -> dict[str, str]:
        """The arguments that name files to write, and the option or place that each of them is."""
        flags = {option.key: option.flag for option in self.options if option.flag in WRITTEN}
        places = [place for place in ("OUT", "FILE") if place in self.places.split() and self.name in WRITERS]
        named = flags | {place.lower(): place for place in places}
        return {key: what for key, what in named.items() if arguments.get(key)}


def _refuse(accepted: str, found: str, hint: str = "") -> NoReturn:
    raise argparse.ArgumentTypeError(f"takes {accepted}; found {found!r}{hint}")


def whole(least: int, bits: int = 64) -> Callable[[str], int]:
    """Reads a whole number below a power of two: `1000`, `1_000`, `10k`, `5M`."""

    def read(text: str) -> int:
        digits, factor = text, 1
        if text[-1:] in ("k", "M", "G"):
            digits, factor = text[:-1], {"k": 10**3, "M": 10**6, "G": 10**9}[text[-1]]
        if not digits.isascii() or not all(part.isdigit() for part in digits.split("_")):
            _refuse(f"a whole number, {least} or more (10k, 5M)", text)
        # Longer numbers are refused before conversion: Python refuses thousands of digits.
        number = int(digits) * factor if len(digits) < 100 else 2**bits
        if not least <= number < 2**bits:
            _refuse(f"a whole number, {least} or more and below 2^{bits}", text)
        return number

    return read


def factor(text: str) -> float:
    """Reads a positive number."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 < number < float("inf"):
        _refuse("a number above 0, such as 0.5", text)
    return number


def number(text: str) -> float:
    """Reads a number from 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        _refuse("a number from 0, such as 3000", text)
    return value + 0.0


def one_of(*accepted: str) -> Callable[[str], str]:
    """Reads one of a few words."""

    def read(text: str) -> str:
        if text not in accepted:
            _refuse(" or ".join(accepted), text, did_you_mean(text, accepted))
        return text

    return read


def warmup(text: str) -> str:
    """Reads a number of requests or a percentage of them."""
    number = text.removesuffix("%")
    try:
        percent = float(number) if number != text else float(whole(0)(number))
    except (ValueError, argparse.ArgumentTypeError):
        percent = -1.0
    if percent < 0 or (number != text and not percent < 100):
        _refuse("a number of requests (5000) or a share below 100 % (10%)", text)
    return text if number != text else str(whole(0)(text))


def assignment(text: str) -> str:
    """Reads `key=value`; the model checks the keys."""
    key, equals, _ = text.partition("=")
    if not equals or not key.strip():
        _refuse("KEY=VALUE, such as redundancy.scheme=mirror", text)
    return text


def filled(text: str) -> str:
    """Reads any text that is not empty."""
    if not text:
        _refuse("a name", text)
    return text


def picture(text: str) -> str:
    """Reads the name of a figure's file."""
    if not text.endswith((".png", ".svg")):
        _refuse("a file that ends in .png or .svg", text)
    return text


def share(text: str) -> float:
    """Reads a share: above 0, up to 1."""
    number = factor(text)
    if number > 1:
        _refuse("a share above 0 and up to 1, such as 0.1", text)
    return number


JSON = Option("--json", "print one JSON object on standard output, and nothing else")
QUIET = Option("--quiet", "show no progress")


def _reader_of(option: RunOption) -> Callable[[str], object]:
    """How the value of an option of a run is read."""
    if option.kind == "word":
        return one_of(*(option.metavar or "").split("|"))
    if option.kind == "whole":
        return whole(option.least, option.bits)
    return {"assignment": assignment, "factor": factor, "warmup": warmup}.get(option.kind, filled)


def _option_of(option: RunOption) -> Option:
    """An option of a run on the command line."""
    about = f"{option.about[0].lower()}{option.about[1:].removesuffix('.')}"
    return Option(option.flag, about, option.metavar, _reader_of(option), option.repeat)


OF_RUNS = [(option.scope, _option_of(option)) for option in RUN_OPTIONS]


def _of(*scopes: str) -> list[Option]:
    """The options of runs with some scopes, in their order."""
    return [option for scope, option in OF_RUNS if scope in scopes]


((SET,), (SEED,), (SERIES,)) = (_of(scope) for scope in ("drive", "seed", "series"))
LIMIT, *READING = _of("reading")
MERGE = _of("placing")[-1]
WORKLOAD = _of("seed", "reading", "replaying", "placing", "running", "starting")
"""The options of a run that hold for several drives."""
FLOWS = ("flow", "flows", "alone")
"""Those of several workloads beside each other, of which only one can age a drive."""

OUT = (
    Option(
        "--out",
        "write summary.json, and tables of requests and seconds (Parquet; without PyArrow compressed CSV), to a "
        "directory",
        "DIR",
        filled,
    ),
    SERIES,
    Option("--force", "write to --out even if it is not empty"),
)

REPORT = Option("--report", "also write a page: loss against cost, and what each assumption changes", "FILE.html",
                filled)  # fmt: skip

LIFE = (
    Option("--years", "length of the mission (default 5)", "Y", factor),
    Option("--groups", "arrays in the fleet (default 1)", "N", whole(1)),
    Option("--afr", "share of drives that fails in a year, at a constant rate (default 1%)", "SHARE", filled),
    Option("--life", "instead: how long drives live, weibull:SHAPE:SCALE[:LOCATION] in hours", "LIFE", filled),
    Option("--wear", "also: when drives are worn out, hours until the rated endurance is used up, dwpd:WRITTEN:RATED, "
           "weibull:SHAPE:SCALE[:LOCATION], or simulated (default: never)", "LIFE", filled),
    Option("--wear-spread", "standard deviation of the logarithm of the rate at which groups are written "
           "(default 0)", "S", filled),
    Option("--uber", "probability of an error per bit that a rebuild without redundancy left reads (default: the "
           "errors.uber_target that the drive names, else 0)", "P", filled),
    Option("--latent-hours", "instead: mean time until a drive has an undetected error", "H", filled),
    Option("--scrub-hours", "how often all drives are scrubbed, which removes such errors: 168 is once a week; or a "
           "time, such as exponential:168 (default: never)", "H|TIME", filled),
)  # fmt: skip
"""How long drives of a fleet live, and the errors that a rebuild meets."""

REPAIR = (
    Option("--repair", "repair all failed drives at once (default), or one after the other",
           "parallel|serial", one_of("parallel", "serial")),
    Option("--detect-hours", "time until a failure is noticed (default 0; before --rebuild 24, or 4 with --spares)",
           "TIME", filled),
    Option("--spares", "hot spares of each group of drives (default: no repair waits for one)", "N", whole(0, 10)),
    Option("--restock-hours", "time until a spare that was taken is replaced (default 24)", "TIME", filled),
    Option("--batch-frailty", "variance of a gamma factor of the failure rate that the drives of a group share: 1 for "
           "batches that differ as the models of a vendor do (default 0)", "V", filled),
    Option("--shock", "probability that a failure brings others at once: a second drive, or with SHARE each other "
           "drive with this probability; 0.01:0.9 for a fault of firmware (default 0)", "BETA[:SHARE]", filled),
    Option("--price", "a TOML file with per_drive or per_tb, in USD", "FILE", filled),
)  # fmt: skip
"""How the drives of a fleet are repaired, what correlates their failures, and what they cost."""

BAD_WRITTEN = Option("--bad-records", "refuse records that cannot be read or converted (default), "
                     "or skip and count them", "refuse|skip", one_of("refuse", "skip"))  # fmt: skip
"""The option of a command that also writes records."""

COMMANDS = (
    Command("run", "simulate one drive under one workload, or under several flows (--flow)", "DRIVE [TRACE...]", (
        SET, *WORKLOAD, *OUT,
        *_of("writing"),
        JSON, QUIET), "run 2CM-128 oltp.spc --set buffer.dram_mib=32 --out results"),
    Command("serve", "serve a drive over NBD: any program reads and writes it, and it fails on command", "DRIVE", (
        Option("--listen", "where clients connect: unix:PATH, or tcp:127.0.0.1:PORT (default: a socket in a private "
               "folder); repeatable", "ADDRESS", filled, True),
        Option("--allow-remote", "accept addresses of --listen and --http that other machines reach"),
        Option("--control", "the socket for `flashkeep control` (default: beside that of --listen)", "PATH", filled),
        Option("--http", "serve a live page there, 127.0.0.1:PORT: figures over time, and buttons to fail, slow or cut "
               "the drive", "ADDRESS", filled),
        Option("--time", "real: a reply leaves when its simulated time has come (default); scale=N: N times slower; "
               "no-wait: at once", "real|scale=N|no-wait", filled),
        Option("--session", "record all requests and faults: run DRIVE FILE repeats their response times", "FILE",
               filled),
        Option("--store", "keep the bytes in a file instead of in memory", "FILE", filled),
        Option("--on-cut", "requests that a power cut ends fail (default), or all but FLUSH are served after the "
               "recovery", "fail|wait", one_of("fail", "wait")),
        Option("--ignore-flush", "a drive that lies: FLUSH is answered at once, and FUA ignored"),
        SET, *_of("seed"),
        *(option for option in _of("replaying", "running", "starting") if option.key in OF_SERVED_DRIVES),
        Option("--save-aged", "save the drive at the end", "FILE", filled),
        JSON, QUIET), "serve tlc-client"),
    Command("control", "control a served drive: fail, slow, stall, cut, crash-image, unflushed, stats, errors, age, "
            "flush, snapshot", "SOCKET VERB [ARGUMENT...]", (JSON,), "control control.sock fail chip:0.0"),
    Command("age", "age a drive and save it: by ageing.model, an untimed TRACE, or until writes are steady",
            "DRIVE FILE [TRACE]", (
        SET, *(option for option in WORKLOAD if option.key not in FLOWS), JSON, QUIET), "age tlc-client worn.fk"),
    Command("compare", "run the same workload on several drives and compare them; several files of a trace may come "
            "first", "TRACE DRIVE...", (
        SET, *WORKLOAD, *OUT, JSON, QUIET), "compare synth:sirf-build 1CNM-64 2CM-128"),
    Command("check", "read and check a drive, print its keys, draw its tree; simulate nothing", "DRIVE", (SET, JSON),
            "check tlc-client --set redundancy.scheme=raid5"),
    Command("errors", "how likely the reads of a page fail, after given P/E cycles, days and reads; simulate nothing",
            "[DRIVE]", (
        Option("--cycles", "P/E cycles of the block (default 0)", "C", number),
        Option("--days", "days since the page was programmed (default 0)", "D", number),
        Option("--reads", "reads of the block, divided by its pages (default 0)", "R", number),
        Option("--preset", "constants of the RBER: tlc-72l (default), mlc-3xnm or mlc-2ynm", "NAME", filled),
        Option("--page-kib", "size of the page (default: the drive's, or 16)", "N", factor),
        SET, JSON), "errors --cycles 3000 --days 365"),
    Command("drives", "list the presets; print one", "[NAME]", (JSON,), "drives 2CM-128"),
    Command("drives import", "configurations of other simulators as drive files, MQSim's workloads as flows", "FILE", (
        Option("--output", "the drive file, or the file of flows (default: standard output)", "FILE", filled,
               short="-o"),
        Option("--scenario", "of a workload.xml, the scenario whose flows are written (default 1)", "N", whole(1)),
        Option("--format", "mqsim, ssdsim or disksim (default: found from the content)", "mqsim|ssdsim|disksim",
               one_of("mqsim", "ssdsim", "disksim")),
        Option("--force", "replace the drive file if it exists"), JSON),
            "drives import ssdconfig.xml -o mine.toml"),
    Command("schemes", "list the redundancy schemes; print the manual page of one", "[NAME]", (JSON,), "schemes dvs"),
    Command("policies", "list policies (victims, schedulers, maps, …); print the manual page of one", "[NAME]",
            (JSON,), "policies d-choices"),
    Command("conformance", "try the redundancy scheme of a Python file: failures, power losses, rebuilds", "FILE", (
        Option("--only", "run the checks with a text in their names, such as inside:: or rebuild", "TEXT", filled),
        JSON, QUIET), "conformance examples/schemes/mirror.py"),
    Command("workloads", "list the synthetic workloads; print the manual page of one", "[NAME]", (JSON,),
            "workloads sirf-fin1"),
    Command("keys", "list the keys of a drive file; describe one, or those of a table", "[KEY]", (JSON,),
            "keys ftl.gc"),
    Command("formats", "list the trace formats; print the manual page of one", "[NAME]", (JSON,), "formats msr"),
    Command("trace info", "describe a trace", "TRACE...", (
        *READING, LIMIT, SEED,
        Option("--plot", "also draw rate, data and addresses over time, and sizes", "FILE.png|FILE.svg", picture),
        Option("--drive", "drive whose size a synthetic workload uses", "DRIVE", filled), SET, JSON),
            "trace info oltp.spc"),
    Command("trace convert", "convert a trace to another format", "IN... OUT", (
        Option("--to", "format to write (default: from the suffix of OUT)", "FORMAT", filled),
        *(BAD_WRITTEN if option.flag == BAD_WRITTEN.flag else option for option in READING),
        MERGE, LIMIT, JSON), "trace convert oltp.spc oltp.ssdsim.zst"),
    Command("trace synth", "write a synthetic workload as a trace", "WORKLOAD OUT", (
        SEED,
        Option("--to", "format to write (default: from the suffix of OUT)", "FORMAT", filled),
        Option("--drive", "drive whose size the workload uses", "DRIVE", filled), SET, JSON),
            "trace synth synth:random,requests=1M,footprint=8GiB random.msr.gz"),
    Command("reproduce", "simulate a paper's tables and figures and compare them (all: every paper)", "PAPER", (
        Option("--trace", "replace a synthetic workload of the paper by a real trace: sirf-fin1=Financial1.spc; "
               "repeatable", "NAME=PATH", assignment, True),
        *READING[:4],
        Option("--scale", "share of the requests, for a quick look (default 1)", "F", share),
        Option("--out", "directory of results (default: named after the paper); runs with results there are not "
               "repeated", "DIR", filled),
        Option("--workers", "parallel runs (default: one per core)", "N", whole(1)),
        SEED, JSON, QUIET), "reproduce sirf1 --scale 0.01"),
    Command("reproduce documents", "write validation.md, hybrid.md and dvs.md from the results of reproduce all, "
            "or from validation.json", "RESULTS", (
                Option("--out", "directory of the documents, and of validation.json", "DIR", filled), QUIET),
            "reproduce documents docs/validation.json --out docs"),
    Command("sweep", "run all cells of a plan, in parallel, and write one table; the same command resumes", "PLAN", (
        Option("--out", "directory of results (default: named after the plan)", "DIR", filled),
        Option("--workers", "parallel runs (default: one per core)", "N", whole(1)),
        Option("--dask", "run on the workers of a Dask cluster, by its scheduler's address", "ADDRESS", filled),
        Option("--dry-run", "check all cells, and estimate the time; run nothing"),
        Option("--minimize", "search the plan for the smallest value of a figure (mean over workloads and seeds), "
               "instead of running all cells", "FIGURE", filled),
        Option("--maximize", "search for the largest value", "FIGURE", filled),
        Option("--subject-to", "a condition that each cell must meet: 'wear.dwpd >= 1'; repeatable", "CONDITION",
               filled, True),
        Option("--trials", "choices of drive, variant and keys that a search tries (default 50)", "N", whole(1)),
        JSON, QUIET), "sweep plan.toml --out results"),
    Command("torture", "try random workloads, failures, power losses and error bursts on a small version of a "
            "drive, and check all contents", "DRIVE", (
        SET,
        Option("--cases", "cases to try (default 10000; with --minutes as many as fit)", "N", whole(1)),
        Option("--minutes", "end after M minutes", "M", factor),
        SEED,
        Option("--workers", "parallel processes (default: one per core)", "N", whole(1)),
        Option("--only", "try this case alone; repeatable", "CASE", whole(0), True),
        Option("--keep", "directory of the files of reduced cases (default: the current one)", "DIR", filled),
        JSON, QUIET), "torture 8-tlc-datacenter-raid6 --minutes 5"),
    Command("fleet", "the probability that a fleet of arrays loses data, for drive lives, repairs and latent errors "
            "that you name; several arrays are compared", "ARRAY...", (
        SET,
        *LIFE,
        Option("--mttr-hours", "time of a repair: hours (the mean of an exponential time), fixed:H, uniform:H or "
               "weibull:SHAPE:SCALE[:LOCATION]; other times are given alike (default 24)", "TIME", filled),
        Option("--rebuild", "instead: as long as the array's simulated rebuild takes, or H hours, after the failure "
               "was noticed (--detect-hours)", "simulated|H", filled),
        Option("--workload", "under which --rebuild and --wear simulated run the array (rebuild: default one "
               "sequential read at a time)", "TRACE", filled),
        *REPAIR,
        Option("--method", "how the probability is found (default auto)", "auto|exact|plain|biasing|splitting",
               one_of("auto", "exact", "plain", "biasing", "splitting")),
        Option("--rel-error", "end sampling when half the 95 % interval is this share of the estimate (default 1%)",
               "SHARE", filled),
        Option("--samples", "end sampling after N paths (default 10M)", "N", whole(1)),
        Option("--threads", "threads, which change no result (default: one per core)", "N", whole(1, 10)),
        REPORT, SEED, JSON, QUIET), "fleet 8*1.92TB:raid5 8*1.92TB:raid6 --uber 1e-17 --report fleet.html"),
    Command("advise", "the redundancies for drives under a trace: response times, rebuild, life, probability of loss "
            "and cost in one table", "TRACE...", (
        Option("--drives", "the drives of the array: 8*tlc-datacenter, or 8*./mine.toml,KEY=VALUE", "N*DRIVE", filled),
        Option("--handles", "instead: what separation by this number of placement handles saves on one drive, "
               "--drives DRIVE", "N", whole(2)),
        Option("--schemes", "redundancies, with commas between (default: all that suit equal drives)", "A,B,…", filled),
        *LIFE,
        Option("--mttr-hours", "time of a repair, as fleet takes it (default 24, as there)", "TIME", filled),
        Option("--rebuild", "instead: the measured rebuild of each redundancy, after its failure was noticed",
               "simulated", one_of("simulated")),
        *REPAIR,
        Option("--max-loss", "P(loss) that the conclusion allows (default 1e-4: one array of 10,000)", "P", filled),
        Option("--max-p99", "p99 of reads that it allows, or of writes if nothing is read, in µs (default: twice the "
               "lowest of the table)", "US", factor),
        *_of("seed", "reading", "placing", "replaying"),
        Option("--workers", "parallel runs (default: one per core)", "N", whole(1)),
        Option("--report", "also write a page: loss against response time and cost", "FILE.html", filled),
        JSON, QUIET), "advise oltp.spc --drives 8*tlc-datacenter --years 5"),
    Command("report", "show results of run, compare, reproduce or sweep as one page", "DIR...", (
        Option("--output", "the page to write", "FILE", filled, short="-o"),
        Option("--figures", "write each figure of the page to a directory, as SVG and PNG", "FOLDER", filled), QUIET),
            "report results -o results.html"),
    Command("metrics", "list the figures of a run: path, description, unit and which direction is better", "[PATH]", (
        Option("--schema", "print the JSON Schema of summary.json"), JSON), "metrics write_amplification"),
    Command("schema", "print the JSON Schema of a drive file", "", ()),
    Command("completion", "print the completion script of a shell: bash, zsh or fish", "SHELL", (),
            "completion bash >> ~/.bashrc"),
    Command("man", "print the manual page of this program, for man(1)", "", (), "man | man -l -"),
)  # fmt: skip

WIDTH = 79
"""The width of help, so that it fits a terminal of 80 columns."""

OVERVIEW = """\
usage: flashkeep COMMAND …

A fast, deterministic, trace-driven simulator of flash storage.

{commands}

DRIVE is a preset (flashkeep drives) or a path with a / or ending in .toml; keys
may follow it: tlc-client,redundancy.scheme=raid5 (flashkeep keys). TRACE is a
file, - for standard input, or a workload (flashkeep workloads) such as
synth:random,requests=1M,size=4KiB,rate=20k.

flashkeep COMMAND --help shows a command's options; --version the version.

  flashkeep compare synth:sirf-build 1CNM-64 2CM-128
"""


def overview() -> str:
    """The text of `flashkeep --help`."""
    return OVERVIEW.format(commands=_listed(COMMANDS, 0))


def _listed(commands: Iterable[Command], skip: int) -> str:
    """Commands and their purposes in two columns; `skip` words of their names are left out."""
    import textwrap

    lines = []
    for command in commands:
        words = " ".join([*command.name.split()[skip:], command.places]).strip()
        first, *more = textwrap.wrap(command.help, WIDTH - 33)
        lines += [f"  {words:29}  {first}", *(f"{'':33}{line}" for line in more)]
    return "\n".join(lines)


def group_help(group: str) -> str:
    """The text of `flashkeep trace --help`."""
    import textwrap

    within = [command for command in COMMANDS if command.name.startswith(f"{group} ")]
    words = ", ".join(command.name.partition(" ")[2] for command in within)
    examples = "\n".join(
        textwrap.fill(f"flashkeep {command.example}", WIDTH, initial_indent="  ", subsequent_indent="      ",
                      break_on_hyphens=False, break_long_words=False)
        for command in within if command.example
    )  # fmt: skip
    return (
        f"usage: flashkeep {group} SUBCOMMAND …\n\nSubcommands: {words}.\n\n{_listed(within, 1)}\n\n"
        f"flashkeep {group} SUBCOMMAND --help shows the options of one.\n\n{examples}"
    )


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'run'?` if a known word is near, else empty."""
    import difflib  # the import takes 4 ms and is needed for mistyped words only

    near = difflib.get_close_matches(word, list(known), 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


class _Parser(argparse.ArgumentParser):
    """argparse, with its errors as `UsageError`."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message.removeprefix("argument "))


class _Formatter(argparse.HelpFormatter):
    """Help of a fixed width, for any terminal: as tests check it."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=WIDTH)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Only the text at the end has lines of its own."""
        return text if "\n" in text else super()._fill_text(text, width, indent)


def parser_of(command: Command) -> argparse.ArgumentParser:
    """The parser of a command."""
    parser = _Parser(
        prog=f"flashkeep {command.name}",
        usage=f"{command.usage}{' [options]' if command.options else ''}",
        description=f"{command.help[0].upper()}{command.help[1:]}.",
        epilog=_epilog(command),
        allow_abbrev=False,
        formatter_class=_Formatter,
    )
    for place in command.places.split():
        name = place.strip("[].").lower()
        optional, several = place.startswith("["), "..." in place
        arity = ("*" if several else "?") if optional else "+" if several else None
        parser.add_argument(name, metavar=place.strip("[]."), nargs=arity, type=filled)
    for option in command.options:
        option.add_to(parser)
    return parser


def _epilog(command: Command) -> str | None:
    told = []
    if command.example:
        told.append(f"example:\n  flashkeep {command.example}")
    within = [other.name for other in COMMANDS if other.name.startswith(f"{command.name} ")]
    if within:
        told.append(f"see also: {', '.join(f'flashkeep {name}' for name in within)}")
    return "\n\n".join(told) or None


def parse(argv: list[str]) -> tuple[Command, dict[str, Any]]:
    """The command, and its arguments by key."""
    command, rest = find_command(argv)
    parser = parser_of(command)
    try:
        for word in rest:
            if word.startswith("--") and word.endswith("=--"):  # argparse takes this for the end of the options
                raise UsageError(f"{word.removesuffix('=--')} takes a value; found '--'")
        found, extra = parser.parse_known_intermixed_args(rest)
        if extra:
            raise UsageError(_unknown(extra[0], command))
    except UsageError as error:
        message = str(error)
        missing = "the following arguments are required: "
        if message.startswith(missing):
            message = f"{message.removeprefix(missing)} missing; usage: {command.usage}"
        raise UsageError(f"flashkeep {command.name}: {message}") from None
    arguments = vars(found)
    if written := command.writes(arguments):
        from .written import check_written

        check_written(command.name, written, arguments)
    return command, arguments


def is_group(word: str) -> bool:
    """Whether a word needs a subcommand after it: `trace`."""
    names = [command.name for command in COMMANDS]
    return word not in names and any(name.startswith(f"{word} ") for name in names)


def find_command(argv: list[str]) -> tuple[Command, list[str]]:
    names = {command.name: command for command in COMMANDS}
    for words in (2, 1):
        name = " ".join(argv[:words])
        if name in names:
            return names[name], argv[words:]
    typed = argv[0]
    group = [name for name in names if name.startswith(f"{typed} ")]
    if group:
        found = f", not {argv[1]!r}" if len(argv) > 1 else ""
        known = ", ".join(name.partition(" ")[2] for name in group)
        raise UsageError(f"flashkeep {typed}: needs a subcommand: {known}{found}")
    what = "option" if typed.startswith("-") else "command"
    hint = did_you_mean(typed, [*names, "--help", "--version"]) or f"; there are {', '.join(names)}"
    raise UsageError(f"flashkeep: there is no {what} {typed!r}{hint}")


def _unknown(word: str, command: Command) -> str:
    if not word.startswith("-"):
        return f"unexpected argument {word!r}; usage: {command.usage}"
    flag = word.partition("=")[0]
    hint = did_you_mean(flag, [option.flag for option in command.options])
    return f"there is no option {flag!r}" + (hint or f"; flashkeep {command.name} --help lists them")
