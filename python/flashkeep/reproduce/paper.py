"""The parts of a paper: workloads, runs, tables with cells, notes, figures. Nothing is simulated here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol

from .reasons import Number, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..render.figures import Picture


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload of the paper: `synth:NAME`, or the real trace that `--trace NAME=PATH` puts in its place."""

    name: str
    title: str
    """The paper's name for it."""
    requests: int
    """The number of requests at full scale."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow of a run: reads of the run's workload in a closed loop."""

    name: str
    depth: int
    share: float
    """Its share of the requests of the run."""


@dataclass(frozen=True, slots=True)
class Run:
    """One simulation: a drive, a workload, and changed values and options."""

    drive: str
    workload: str
    set: tuple[str, ...] = ()
    """Values of the drive, as on the command line: `buffer.dram_mib=32`."""
    synth: str = ""
    """More keys of the synthetic workload: `bursts=0.1:100`. A real trace is taken as it is."""
    options: tuple[tuple[str, object], ...] = ()
    """Keys of a job: `("time_scale", 0.1)`."""
    at_most: int | None = None
    """The largest number of requests at any scale."""
    at_least: int = 0
    """The smallest number of requests at any scale: fewer give no result."""
    beside: tuple[str, ...] = ()
    """The workloads of an array's other volumes; the number of requests is for all volumes together."""
    flows: tuple[Flow, ...] = ()
    """The workload as several flows beside each other, each with its share of the requests."""
    info: bool = False
    """No simulation: the statistics of the workload, as in `trace info`."""


class Results:
    """The summaries of a paper's runs."""

    __slots__ = ("_summaries", "real", "scale", "seed")

    def __init__(
        self, summaries: Mapping[Run, dict[str, Any]], real: Iterable[str], scale: float = 1.0, seed: int = 1
    ) -> None:
        self._summaries = summaries
        self.real = frozenset(real)
        """The workloads for which the user has given a trace."""
        self.scale = scale
        self.seed = seed
        """The share of the requests and the seed, for what `find` computes itself."""

    def __getitem__(self, run: Run) -> dict[str, Any]:
        return self._summaries[run]

    def __contains__(self, run: Run) -> bool:
        return run in self._summaries

    def figure(self, run: Run, path: str) -> float | None:
        """A figure of a run by its path, `response_us.read.mean` or `flows.0.slowdown`; none without it."""
        value: Any = self._summaries[run]
        for key in path.split("."):
            if value is None:
                return None
            value = value[int(key)] if isinstance(value, list) else value[key]
        return None if value is None else float(value)


@dataclass(slots=True)
class Cell:
    """A published and a simulated number. `published` is none if the paper has no such number, as for ablations."""

    table: str
    row: str
    column: str
    published: float | None
    simulated: float | None
    unit: str
    verdict: str | None = None
    note: str = ""
    page: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.row, self.column

    @property
    def number(self) -> Number:
        """The data about the cell that a reason needs."""
        return Number(self.table, self.row, self.column, self.published, self.simulated, self.unit, self.verdict)


class Rule(Protocol):
    """The rule by which the cells of a table are judged."""

    @property
    def text(self) -> str:
        """The rule in words."""

    def judge(self, cells: Sequence[Cell]) -> list[str | None]:
        """A verdict for each cell; none if one of the two numbers is missing."""


@dataclass(slots=True)
class Table:
    """Cells that belong together, the rule by which they are judged, and notes about them."""

    name: str
    title: str
    cells: list[Cell]
    rule: Rule | None = None
    notes: Sequence[str] = ()
    is_input: bool = False
    """Whether the cells are inputs: their agreement is no evidence, and their verdicts are counted separately."""
    is_prediction: bool = False
    """Whether the cells depend on what is not published of the paper's traces: they are predictions rather than
    reproductions, and their verdicts are counted separately."""

    @property
    def called(self) -> str:
        """`Table VI`; or its name, where that is no number."""
        return f"Table {self.name}" if self.name.isupper() or self.name.isdigit() else self.name


@dataclass(slots=True)
class Findings:
    """The results of a paper's runs."""

    tables: list[Table]
    pictures: list[Picture] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its description, its runs, and the evaluation of the runs."""

    name: str
    title: str
    citation: str
    workloads: tuple[Workload, ...]
    runs: Callable[[], Iterable[Run]]
    find: Callable[[Results], Findings]
    stand_ins: str
    """A description of the synthetic workloads, in a sentence."""
    misprints: tuple[str, ...]
    """Misprints and ambiguities of the paper, where they matter."""
    reasons: tuple[Reason, ...]
    """Reasons for deviations."""
    trace_options: tuple[tuple[str, object], ...] = ()
    """How the paper maps addresses of a real trace to its drives."""


def described(
    name: str,
    workloads: tuple[Workload, ...],
    runs: Callable[[], Iterable[Run]],
    find: Callable[[Results], Findings],
    trace_options: tuple[tuple[str, object], ...],
    **numbers: int,
) -> Paper:
    """A paper with the texts of `data/NAME.toml`; `numbers` fill the placeholders in its description of stand-ins."""
    told = tomllib.loads(files(__package__).joinpath("data", f"{name}.toml").read_text(encoding="utf-8"))
    return Paper(
        name, _line(told["title"]), told["citation"], workloads, runs, find,
        _line(told["stand_ins"]).format(**numbers), tuple(map(_line, told["misprints"])),
        tuple(_reason(why) for why in told["why"]), trace_options,
    )  # fmt: skip


def _line(text: str) -> str:
    """A paragraph without its line breaks."""
    return " ".join(text.split())


def _reason(why: dict[str, Any]) -> Reason:
    cells, shown = (
        tuple((table, row, column) for table, row, column in why.get(key, ())) for key in ("cells", "shown")
    )
    return Reason(why["title"], _line(why["text"]), cells, shown)
