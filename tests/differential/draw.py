"""Draws a case: a drive, disk or array, a workload, options and faults. One seed, one case.

A draw is layered so that most are accepted. The shape (geometry, scheme, map) comes first and is sound by itself. A few
bundles of keys that need each other follow, then single keys: each key of the schema can be drawn, those without an
entry in `VALUES` over their range. Each decision has a random stream of its own, so that a new key does not change
what else a seed draws. `Case.attempt` n > 0 leaves out about n quarters of the keys beyond the shape: the campaign
uses it when a draw is refused.
"""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flashkeep.torturing import case as torture_case
from flashkeep.torturing import source as torture_source
from flashkeep.torturing.case import as_csv, command_line
from flashkeep.torturing.faults import Flash, draw_events, draw_slow, tags_of
from flashkeep.torturing.keys import STRESSES, errors, flush, literal, placement, suspension
from flashkeep.torturing.run_options import draw_options
from flashkeep.torturing.run_options import tags_of as tags_of_options
from flashkeep.torturing.workload import draw_requests

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from .bias import Bias

    Keys = dict[str, Any]
    Values = Callable[[random.Random, "Keys"], Any]

RELATIONS = ("unverified", "timeline", "series", "unmeasured", "table", "shifted", "halves")
"""Runs that must have the results of a case: without verification, with a timeline, with a series, without a breakdown
of latencies, with its table of requests as the trace. One whose requests come a second later has the same response
times. The halves of an untimed trace, between which the drive is saved, have as many operations as the whole."""

BESIDE_HALVES = ("warmup", "flush_at_end", "condition", "operations", "replay", "depth", "time_scale")
"""Options that have another meaning for a half, or with time."""

HELD = (
    "buffer.dram_mib",
    "buffer.pdram",
    "idle",
    "ageing",
    "errors",
    "disk.write_cache_mib",
    '"fra"',
    '"ds"',
    '"dvs"',
    "logical_page",
)
"""Parts of the keys of drives that are not at rest after each request, or that saving brings to rest."""

IDLE = ("idle", "soft", "timeout", "maintenance", "errors", "recall", "migrate", "scan", "disk", "flush", "gather")
"""Parts of the keys of drives that work when there is nothing to do, or whose data age."""

ATTEMPTS = 5
"""The last attempt has the shape alone."""

SCHEME = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "schemes", "raid5.py")
"""A redundancy scheme in Python."""

RBERS = os.path.join(os.path.dirname(__file__), "..", "api", "rber", "high.csv")
"""Raw bit error rates in a table."""

INSIDE = (
    "mirror", "raid4", "raid5", "raid6", "raid-tp", "lrc", "ds", "dvs", "fra", "ppc", "lifespan", "chained", "python",
    "declustered",
)  # fmt: skip
"""Schemes for the inside of a drive."""

LOGS = ("ds", "dvs", "lifespan")
OVER = (
    "none", "mirror", "raid4", "raid5", "raid6", "raid-tp", "lrc", "chained", "fra", "ppc", "diff-raid", "spd-raid4",
    *LOGS, "python", "declustered",
)  # fmt: skip
"""Schemes over drives or disks of one kind."""

MIXED = ("hpda", "griffin", "i-cash", "backup")
"""Schemes over drives and disks."""


MEMBERS_INSIDE = {"mirror": (2, 4, 6), "lrc": (6, 8), "raid-tp": (5, 6, 8)}
"""How many members schemes have in a drive, where some numbers are too small."""

MEMBERS_OVER = {"mirror": (2, 3, 4, 6), "none": (1, 2, 3), "lrc": (6, 7), "raid-tp": (5, 6)}
"""The same over drives."""

OUTER_MEMBERS = {"mirror": (2, 4), "none": (1, 2, 3), "lrc": (6,), "raid-tp": (5,)}
"""The same over arrays."""

LEAST_WIDTH = {"mirror": 2, "raid6": 4, "raid-tp": 5, "lrc": 6, "declustered": 4}
"""The members that a group of each scheme needs, where that is not three."""

SEGMENT_KIB = 64
"""Segments of backups: by default they are longer than the drives."""

SHARES = {
    "verify": 0.6, "existing": 0.65, "no_breakdown": 0.05, "untimed": 0.15, "flush_at_end": 0.05, "replay": 0.2,
    "warmup": 0.12, "time_scale": 0.33, "condition": 0.08, "operations": 0.25,
}  # fmt: skip
"""How often each option is drawn."""

NESTED_PAGES = 4096
"""The most pages of a drive in an array of arrays, which has up to 42 of them."""

CONDITION = "condition.round = 0.02\ncondition.most_rounds = 5\n"
"""Arrays are conditioned briefly: a random write to logs over logs moves up to a hundred pages."""

VOLATILE = ("buffer.dram_mib", 'flash.acknowledge = "transfer"', "disk.write_cache_mib")
"""Keys with which a power loss may take acknowledged data."""


@dataclass
class Case(torture_case.Case):
    """A case with the files of its drive."""

    seed: int = 0
    attempt: int = 0
    drive: str = ""
    """`drive.toml`, an array where there is a `member`."""
    members: dict[str, str] = field(default_factory=dict)
    aged: bool = False
    """The drive is first used and saved by a run of its own."""
    relation: str = ""
    """Another run that must have the same results (`RELATIONS`)."""
    flows: list[dict[str, Any]] = field(default_factory=list)
    """Keys of its workload as a flow, and those of flows beside it."""

    @property
    def name(self) -> str:
        """Names the case: `--only NAME` draws it again."""
        return f"{self.seed}.{self.attempt}" if self.attempt else str(self.seed)

    def write(self, folder: Path) -> None:
        """Writes its files."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "drive.toml").write_text(self.drive)
        for name, text in self.members.items():
            (folder / name).write_text(text)
        if self.requests is not None:
            (folder / "trace.csv").write_text(as_csv(self.requests, self.handles))

    def jobs(self, folder: Path, label: str) -> list[dict[str, Any]]:
        """The jobs for one version; `label` keeps the files that versions write apart."""
        job = {"drive": str(folder / "drive.toml"), **self.options}
        job["keep_requests"] = not self.options.get("untimed")
        if self.requests is not None:
            job["traces"] = [str(folder / "trace.csv")]
        for name in ("operations", "map"):
            if job.get(name):
                job[name] = str(folder / f"{label}.{name}.csv")
        if self.flows:
            own = {"name": "own", "workload": job.pop("traces")[0]}
            job["flow"] = [json.dumps(own | flow) for flow in self.flows]
        if not self.aged:
            return [job]
        saved = str(folder / f"{label}.aged")
        use: dict[str, Any] = {key: job[key] for key in ("drive", "seed", "wrap", "existing") if key in job}
        use["verify"] = job.get("verify", False)
        use |= {"traces": ["synth:random,requests=300,write=0.8,size=4KiB,depth=4"], "untimed": True}
        job.pop("existing", None)
        return [{**use, "save_aged": saved}, {**job, "aged": saved}]

    def table(self, folder: Path) -> str:
        """Where a related run finds the requests of the case."""
        return str(folder / "requests.csv")

    def related(self, folder: Path, label: str) -> list[dict[str, Any]]:
        """The jobs of the related run."""
        *before, job = self.jobs(folder, f"{label}.related")
        job.pop("operations", None)
        if self.relation == "unverified":
            job.pop("verify", None)
        elif self.relation == "timeline":
            job["timeline"] = str(folder / f"{label}.json")
        elif self.relation == "series":
            job["series"] = "40"
        elif self.relation == "unmeasured":
            job["no_breakdown"] = True
        elif self.relation == "shifted":
            job["traces"] = [str(folder / "shifted.csv")]
            later = [each._replace(time_ns=each.time_ns + 1_000_000_000) for each in self.requests or ()]
            (folder / "shifted.csv").write_text(as_csv(later, self.handles))
        elif self.relation == "table":
            job["traces"] = [self.table(folder)]
            job.pop("time_scale", None)
        elif self.relation == "halves":
            return [*before, *self.halves(folder, job)]
        return [*before, job]

    def halves(self, folder: Path, job: dict[str, Any]) -> list[dict[str, Any]]:
        """The jobs of the halves of its trace."""
        requests = self.requests or []
        half = len(requests) // 2
        for name, part in (("first", requests[:half]), ("second", requests[half:])):
            (folder / f"{name}.csv").write_text(as_csv(part, self.handles))
        saved = str(folder / "half.aged")
        return [
            {**job, "traces": [str(folder / "first.csv")], "save_aged": saved},
            {**job, "traces": [str(folder / "second.csv")], "aged": saved},
        ]

    def command(self, folder: Path) -> str:
        """The commands that run it."""
        return "; ".join(map(command_line, self.jobs(folder, "run")))


@dataclass
class Parts:
    """The parts that can fail beside the power: those of the flash of some drives, and others."""

    flash: list[Flash] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def below(self, path: str) -> Parts:
        """The same of a drive or array that is a member."""
        flash = [Flash(path + each.path, each.counts) for each in self.flash]
        return Parts(flash, [path + each for each in self.others])

    def names(self, source: Source) -> list[str]:
        """Some of them, for the events of a bias."""
        rng = source("places")
        return ["power", *self.others, *(part for each in self.flash * 2 for part in each.some(rng))]


class Source(torture_source.Source):
    """The random streams of a case, and the bias of its campaign."""

    def __init__(self, seed: int, bias: Bias | None = None) -> None:
        super().__init__(seed)
        self.bias = bias


def leaves(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The keys of the schema, with tables resolved: `flash.channels` → its definition."""
    definitions = schema["$defs"]
    found: dict[str, dict[str, Any]] = {}

    def walk(node: Mapping[str, Any], path: str) -> None:
        while "$ref" in node:
            rest = {key: value for key, value in node.items() if key != "$ref"}
            node = {**definitions[node["$ref"].rsplit("/", 1)[-1]], **rest}
        properties = node.get("properties")
        if properties and node.get("type") == "object":
            for key, inner in properties.items():
                walk(inner, f"{path}.{key}" if path else key)
        else:
            found[path] = dict(node)

    walk(schema, "")
    return found


def some(*values: Any) -> Values:
    """One of the values."""
    return lambda rng, _: rng.choice(values)


def by_schema(definition: Mapping[str, Any]) -> Values:
    """Values for a key from its definition alone."""
    names = definition.get("enum") or [each["const"] for each in definition.get("oneOf", ()) if "const" in each]
    if names:
        return some(*names)
    kind = definition.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if "boolean" in kinds:
        return some(True, False)
    if "integer" in kinds or "number" in kinds:
        return lambda rng, _: _number(rng, definition, "integer" in kinds)
    return some(definition.get("default"))


def _number(rng: random.Random, definition: Mapping[str, Any], whole: bool) -> float:
    """Mostly of the default's magnitude, at times the least or a large value."""
    default = definition.get("default") or 1
    least = definition.get("minimum", definition.get("exclusiveMinimum", 0))
    most = definition.get("maximum", definition.get("exclusiveMaximum", math.inf))
    way = rng.random()
    value = least if way < 0.1 and "minimum" in definition else default * 2.0 ** rng.uniform(-3, 3)
    if "exclusiveMaximum" in definition and value >= most:
        value = (least + most) / 2
    value = min(max(value, least), most)
    return max(round(value), math.ceil(least)) if whole else float(f"{value:.3g}") or value


def _half_of_channels(rng: random.Random, keys: Keys) -> int:
    channels = keys["flash.channels"]
    return rng.choice([n for n in (1, 2, 4, 8) if channels % n == 0])


def _width(rng: random.Random, keys: Keys) -> int | None:
    """All members, or groups of them that hold a stripe of the scheme; none where there is no such number."""
    if "members" in keys:
        sizes = [sum(int(each.split(" * ")[0]) for each in keys["members"])]
    else:
        levels = ("channels", "chips_per_channel", "dies_per_chip")
        depth = ("channel", "chip", "die").index(keys.get("redundancy.across", "channel"))
        sizes = [keys["flash." + each] for each in levels[: depth + 1]]
    total, least = math.prod(sizes), LEAST_WIDTH.get(keys["redundancy.scheme"], 3)
    widths = [n for n in range(least, total + 1) if total % n == 0 and _is_box(total // n, sizes)]
    return rng.choice(widths) if widths else None


def _is_box(parts: int, sizes: list[int]) -> bool:
    """Whether that many dies, for example, are whole channels, or whole chips of one channel, or dies of one chip."""
    for size in reversed(sizes):
        if size % parts == 0:
            return True
        if parts % size:
            return False
        parts //= size
    return False


TIMES = some(25, 60.5, [20, 80], [40.0, 60.0, 90.0])

VALUES: dict[str, Values] = {
    "price_per_gb": some(0, 0.5, 2),
    "name": some("a drive", "b"),
    "description": some("drawn"),
    "array.volumes": some(1, 2),
    "flash.sector_bytes": some(512, 512, 1024, 4096),
    "flash.pin_bytes_per_sector": some(512, 528, 1024),
    "flash.control_gang": _half_of_channels,
    "flash.page_types": some("interleaved", "01", "0:01", "0011"),
    "flash.timing.read_us": TIMES,
    "flash.timing.program_us": some(200, 900.25, [200, 1300], [300, 700, 1500]),
    "flash.timing.erase_us": some(1500, 100, 5000),
    "flash.timing.program_sigma": some(0, 0.05, 0.4),
    "flash.timing.bus_ns_per_byte": some(3, 10, 25.5, 0.5, 0),
    "flash.timing.command_ns": some(0, 100, 5000),
    "flash.timing.erase_command_ns": some(0, 100, 5000),
    "flash.timing.erase_setup_ns": some(0, 100, 5000),
    "flash.timing.suspend_program_us": some(0, 5, 60.5),
    "flash.timing.suspend_erase_us": some(0, 20, 400),
    "flash.timing.resume_us": some(0, 3, 50.25),
    "flash.commands.register_ns": some(0, 1000, 20000),
    "flash.slc.blocks": some(0, 1, 2, 4, 7),
    "flash.slc.pages_per_block": some(1, 2, 3, 4),
    "flash.slc.read_us": some(5, 25.5),
    "flash.slc.program_us": some(40, 200),
    "flash.commands.suspensions": some(0, 1, 2, 10),
    "errors.model": some("kim", "kim", "table"),
    "errors.file": some(RBERS),
    "errors.scale": some(0.5, 1, 2, 3, 4),
    "errors.cycles": some(0, 500, 3000, 10_000),
    "errors.retention_days": some(0, 30, 365),
    "errors.page_reads": some(0, 10, 1000),
    "errors.block_sigma": some(0, 0.2, 1),
    "errors.layer_sigma": some(0, 0.2, 1),
    "errors.layers": some(1, 2, 64),
    "errors.type_factors": some(0.5, 1, 1.5),
    "errors.temperature_c": some(25, 40, 70),
    "errors.ecc.user_bits": some(4096, 8192),
    "errors.ecc.codeword_bits": some(9200, 18_400),
    "errors.ecc.corrects": some(20, 40, 72),
    "errors.ecc.corrects_soft": some(72, 110, 200),
    "errors.ecc.decode_us": some(0, 5, 20.5),
    "errors.ecc.decode_soft_us": some(0, 50),
    "errors.ecc.soft_sensings": some(0, 1, 3),
    "errors.ecc.miscorrects": some(0),
    "errors.retry.steps": some(0, 1, 4, 10),
    "errors.retry.sense_us": some(20, 90.5),
    "errors.maintenance.reclaim_reads": some(0.5, 3, 100),
    "errors.maintenance.refresh_days": some(1, 100),
    "errors.maintenance.scrub_days": some(1e-8, 1e-6, 1e-4),
    "errors.maintenance.retire_after": some(1, 3),
    "ftl.allocation": some("dynamic", "dynamic-in-channel", "dynamic-in-chip", "CWDP", "CWD", "CW", "C", "PDWC",
                           "WC", "DP"),
    "ftl.gc.file": some(os.path.join(os.path.dirname(__file__), "greedy.py")),
    "flash.pages_per_program": some(1, 2, 2, 4),
    "ftl.stride_pages": some(0, 1, 3, 8),
    "ftl.gather_us": some(0, 50, 1000),
    "ftl.cache_kib": some(0.03125, 0.25, 1, 64),
    "ftl.log_blocks": some(1, 2, 4),
    "ftl.streams": some(1, 2, 3, 4),
    "ftl.handles": some(1, 2, 3, 4),
    "ftl.gc.threshold": some(0.01, 0.05, 0.1, 0.2, 0.35),
    "ftl.gc.soft_threshold": some(0.1, 0.3, 0.6),
    "ftl.gc.turn_ms": some(0.2, 3, 40),
    "ftl.slc.idle_us": some(0, 100, 2000, 1e6),
    "ftl.slc.fold_above": some(0, 0.5, 1),
    "ftl.slc.erase_budget": some(3, 20, 1000),
    "ftl.gc.window": some(1, 4, 64),
    "ftl.gc.choices": some(1, 2, 10),
    "ftl.wear.erase_budget": some(3, 20, 100, 3000),
    "ftl.wear.rate_limit_below": some(0.7, 0.8, 0.9, 1.0),
    "ftl.wear.rate_limit_window": some(0.1, 0.5, 0.7),
    "buffer.dram_mib": some(0, 0.03125, 0.125, 1),
    "buffer.hit_us": some(0, 1, 20),
    "redundancy.file": some(SCHEME),
    "redundancy.stripe_kib": some(4, 8, 16, 64, 0),
    "redundancy.shares": some(0.2, 0.4, 0.8),
    "redundancy.timeout_ms": some(0, 0.1, 1, 50),
    "redundancy.idle_ms": some(0, 0.1, 1, 10),
    "redundancy.shadow": some(0.02, 0.1, 0.3),
    "redundancy.nvram_mib": some(0.0625, 0.25, 1),
    "redundancy.log_mib": some(1, 4, 16),
    "redundancy.width": _width,
    "redundancy.spares": some(0, 1, 2),
    "redundancy.parity_drives": some(2, 2, 3),
    "redundancy.stripe_data": some(1, 2, 2, 3),
    "redundancy.stripe_parities": some(1, 2),
    "redundancy.distributed_spares": some(0, 1, 1, 2),
    "redundancy.narrowest": some(2, 3, 4),
    "redundancy.rebuild_share": some(0.05, 0.5, 1),
    "redundancy.rebuild_depth": some(1, 3, 20),
    "redundancy.migrate_after_s": some(0, 0.01, 1),
    "redundancy.scan_every": some(10, 100, 2000),
    "redundancy.scan_pages": some(10, 100, 4000),
    "redundancy.segment_kib": some(16, 64, 2048),
    "disk.capacity_gb": some(0.01, 0.1, 1),
    "disk.cylinders": some(10, 100, 1000),
    "disk.seek.pieces": some([0.5, 0.1, 100, 2.0, 0.01]),
    "disk.seek.points": some([1, 0.5, 100, 2.5]),
    "disk.zones": some(1, 2, 4),
    "host.queue_depth": some(0, 1, 2, 8, 32),
    "host.link_us_per_sector": some(0, 0.1, 2),
    "ageing.aged_ratio": some(0.1, 0.5, 0.7, 0.9),
    "ageing.valid_ratio": some(0, 0.1, 0.3, 0.6),
    "condition.write_kib": some(4, 8, 16),
    "condition.round": some(0.25, 0.5),
    "condition.most_rounds": some(5, 10),
}  # fmt: skip

TOGETHER = {
    "errors.": ("model", "file"),
    "flash.energy.": ("voltage_v",),
    "buffer.energy.": ("voltage_v",),
    "disk.power.": ("idle_w",),
}
"""Keys that the others of a table need, by prefix."""

NEVER = {"base", "members"}
"""Keys of the file rather than of the model; `members` is drawn as an array."""

SHAPE = {
    "flash.channels", "flash.chips_per_channel", "flash.dies_per_chip", "flash.planes_per_die",
    "flash.blocks_per_plane", "flash.pages_per_block", "flash.page_kib", "ftl.over_provisioning", "ftl.map",
    "redundancy.scheme", "redundancy.across", "ageing.model",
}  # fmt: skip
"""Keys that are part of the shape and not drawn again."""


def flash_shape(source: Source, schemes: tuple[str, ...], small: bool) -> Keys:
    """Geometry and scheme of a drive that are sound by themselves."""
    scheme = source.pick("scheme", schemes) if schemes and source.chance("redundant", 0.6) else "none"
    across = source.pick("across", ("channel", "channel", "channel", "chip", "die"))
    members = 1 if scheme == "none" else source.pick("members", MEMBERS_INSIDE.get(scheme, (4, 4, 5, 6, 8)))
    keys: Keys = {
        "flash.channels": source.pick("channels", (1, 2, 2, 4)),
        "flash.chips_per_channel": source.pick("chips", (1, 1, 2, 3)),
        "flash.dies_per_chip": source.pick("dies", (1, 1, 1, 2)),
        "flash.planes_per_die": source.pick("planes", (1, 1, 2, 2, 4)),
        "flash.blocks_per_plane": source.pick("blocks", (12, 16, 24, 32) if small else (12, 16, 24, 32, 64)),
        "flash.pages_per_block": source.pick("pages", (4, 6, 8, 16)),
        "flash.page_kib": source.pick("page", (4, 4, 4, 8, 2)),
        "ftl.over_provisioning": source.pick("op", (0.25, 0.5, 0.5, 1.0, 0.8)),
    }
    if scheme != "none":
        level = {"channel": "flash.channels", "chip": "flash.chips_per_channel", "die": "flash.dies_per_chip"}[across]
        keys["redundancy.scheme"] = scheme
        if scheme == "python":
            keys["redundancy.file"] = SCHEME
        if across != "channel":
            keys["redundancy.across"] = across
        if level != "flash.channels" or members > keys["flash.channels"]:
            keys["flash.channels"] = 1
        keys[level] = members
    return keys


def shrunk(keys: Keys, most: int) -> Keys:
    """A geometry with one plane, die or chip instead of several, until the drive has at most `most` pages. What its
    scheme is across stays."""
    names = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block")
    across = keys.get("redundancy.across")
    found = dict(keys)
    for level, name in (("plane", names[3]), ("die", names[2]), ("chip", names[1])):
        if level != across and math.prod(found["flash." + each] for each in names) > most:
            found["flash." + name] = 1
    return found


BUNDLED = tuple(stress for name, stress in STRESSES.items() if name != "placement")
"""Stresses among the bundles, whose number decides which ones a seed draws; handles are drawn apart from them."""


def bundles(source: Source, keys: Keys) -> Keys:
    """Keys that need each other."""
    page = keys["flash.page_kib"]
    offered: list[Keys] = [
        {"ftl.pool": "element", "flash.busy_unit": "chip"},
        {"ftl.pool": "gang", "flash.bus": "operations", "flash.busy_unit": "chip"},
        {"ftl.pool": source.pick("pool", ("element", "gang"))},
        {"flash.bus": "operations"},
        {"flash.bus": "rounds", "ftl.gc.run": source.pick("run", ("steps", "hold-channel"))},
        {"flash.bus": "rounds", "flash.control_gang": _half_of_channels(source("rounds"), keys)},
        {"flash.control_gang": _half_of_channels(source("gang"), keys)},
        {"flash.bus": "operations", "flash.control_gang": _half_of_channels(source("gang"), keys)},
        {"flash.busy_unit": "plane"},
        {"flash.busy_unit": "chip"},
        {"ftl.logical_page_kib": page / 2},
        {"ftl.logical_page_kib": page / 2, "ftl.gather_us": 100},
        {"ftl.logical_page_kib": page * 2},
        {"flash.pages_per_program": source.pick("word line", (2, 2, 4))},
        {"flash.pages_per_program": 2, "flash.commands.multi_plane": "match", "ftl.gather_us": 50,
         "ftl.logical_page_kib": page / source.pick("places", (1, 2, 4))},
        {"ftl.map": "dftl", "ftl.cache_kib": 0.25},
        {"ftl.map": "block"},
        {"ftl.map": "hybrid"},
        {"ftl.wear.erase_budget": source.pick("budget", (10, 50, 1000)), "ftl.wear.levelling": "both"},
        {"ftl.streams": 3, "ftl.gc.victim": "cost-benefit", "flash.blocks_per_plane": 32},
        {"ftl.gc.separate": True, "flash.blocks_per_plane": 32},
        {"ftl.map_memory": "pcm"},
        {"buffer.dram_mib": source.pick("dram", (0.0625, 0.25))},
        {"buffer.dram_mib": 0.125, "buffer.evict": "stripe"},
        {"buffer.dram_mib": source.pick("dram", (0.03125, 0.25)), "buffer.write_policy": "through"},
        {"buffer.dram_mib": source.pick("dram", (0.03125, 0.125, 0.25)), "buffer.protected": True, **flush(source)},
        {"buffer.dram_mib": 0.125, **flush(source)},
        {f"flash.energy.{each}": 10 for each in ("voltage_v", "read_ma", "program_ma", "erase_ma", "transfer_ma",
                                                 "standby_ma")},
        {"ageing.model": source.pick("ageing", ("basic", "approach1", "approach2", "steady"))},
        {"flash.timing.read_us": [25, 60], "flash.timing.program_us": [200, 900]},
        {"flash.acknowledge": "transfer"},
        {"flash.summary_page": True},
        {"flash.slc.blocks": source.pick("slc", (1, 3)), "ftl.slc.idle_us": source.pick("idle", (0, 100, 3000))},
        {"flash.slc.blocks": source.pick("slc", (2, 4)), "ftl.slc.fold": "full", "ftl.slc.idle_us": 1000},
        {"start.existing": "all"},
        {"redundancy.read": source.pick("read", ("around-busy", "hedge=p50", "hedge=p90")), "ftl.gc.threshold": 0.3,
         "ftl.gc.turn_ms": source.pick("turn", (0.5, 4, 30))} if "redundancy.scheme" in keys else {},
        {"errors.model": "kim", "errors.cycles": 3000, "errors.retention_days": 365,
         "errors.retry.pipelined": source.pick("pipelined", (False, True))},
        *(stress(source) for stress in (*BUNDLED, errors, suspension)),
    ]  # fmt: skip
    found: Keys = {}
    for index in source("bundles").sample(range(len(offered)), source.pick("how many bundles", (0, 1, 1, 2, 3))):
        found |= offered[index]
    return found | (placement(source) if source.chance("placement", 0.1) else {})


def singles(source: Source, keys: Keys, known: Mapping[str, Mapping[str, Any]], tables: tuple[str, ...]) -> Keys:
    """Single keys of the tables, by the schema."""
    wanted = [
        key for key in known
        if key.split(".")[0] in tables and key not in SHAPE | NEVER and key not in keys
        and not (key.startswith("redundancy.") and "redundancy.scheme" not in keys)
    ]  # fmt: skip
    count = min(source.pick("how many keys", (0, 0, 1, 2, 3, 5, 8)), len(wanted))
    # By a rank of each key's own, so that a new key moves none of the others.
    wanted.sort(key=lambda key: source("rank " + key).random())
    chosen = wanted[:count]
    for prefix, needed in TOGETHER.items():
        if any(key.startswith(prefix) for key in chosen):
            chosen += [prefix + key for key in needed if prefix + key not in chosen]
    return {key: value(source, key, keys, known) for key in chosen}


def value(source: Source, key: str, keys: Keys, known: Mapping[str, Mapping[str, Any]]) -> Any:
    """A value for a key."""
    return VALUES.get(key, by_schema(known[key]))(source("value " + key), keys)


def toml(keys: Mapping[str, Any]) -> str:
    """A drive file: dotted keys, a line each."""
    return "".join(f"{key} = {literal(value)}\n" for key, value in keys.items() if value is not None)


def thinned(source: Source, extras: Keys, attempt: int) -> Keys:
    """Fewer keys with each attempt."""
    keep = 1 - attempt / (ATTEMPTS - 1)
    # Keys of a table that need each other stay or go together.
    return {key: value for key, value in extras.items() if source("keep " + _family(key)).random() < keep}


def _family(key: str) -> str:
    return next((prefix for prefix in TOGETHER if key.startswith(prefix)), key)


FLASH_TABLES = ("price_per_gb", "name", "description", "flash", "errors", "ftl", "buffer", "redundancy", "host",
                "start", "ageing", "condition")  # fmt: skip


def flash_drive(
    source: Source,
    known: Mapping[str, Mapping[str, Any]],
    attempt: int,
    schemes: tuple[str, ...],
    small: bool = False,
    most_pages: int | None = None,
) -> Keys:
    """All keys of a drive with flash."""
    keys = flash_shape(source, schemes, small)
    if most_pages is not None:
        keys = shrunk(keys, most_pages)
    extras = bundles(source, keys)
    extras |= singles(source, {**keys, **extras}, known, FLASH_TABLES)
    return keys | thinned(source, extras, attempt) | (source.bias.keys(source, keys) if source.bias else {})


DISK_PAGE_KIB = 4
"""Logical pages of disks."""


def disk(source: Source, known: Mapping[str, Mapping[str, Any]], attempt: int, small: bool = False) -> Keys:
    """All keys of a disk; a small one has few pages."""
    keys: Keys = {"disk.capacity_gb": 0.01 if small else source.pick("gb", (0.01, 0.1))}
    extras = singles(source, keys, known, ("price_per_gb", "disk", "host", "start"))
    if small:
        extras.pop("disk.page_kib", None)
    return keys | thinned(source, extras, attempt)


def draw(seed: int, known: Mapping[str, Mapping[str, Any]], attempt: int = 0, bias: Bias | None = None) -> Case:
    """The case of a seed; `known` is what `leaves` found in the schema."""
    source = Source(seed, bias)
    kind = source.pick("kind", bias.kinds if bias else ("flash",) * 14 + ("array",) * 4 + ("mixed", "disk"))
    case = Case(seed=seed, attempt=attempt)
    if kind == "flash":
        keys = flash_drive(source, known, attempt, INSIDE)
        case.drive = toml(keys)
        parts = parts_of(keys)
        page = keys["flash.page_kib"]
    elif kind == "disk":
        keys = disk(source, known, attempt)
        case.drive = toml(keys)
        parts, page = Parts(), DISK_PAGE_KIB
    else:
        keys, page, parts = (nested if kind == "nested" else array)(source, known, attempt, kind, case)
    case.tags |= {kind, f"scheme={keys.get('redundancy.scheme', 'none')}", f"map={keys.get('ftl.map', 'page')}"}
    texts = "\n".join((case.drive, *case.members.values()))
    case.tags |= {tag for tag in ("erase_budget", "ageing.model", "dram_mib") if tag in texts}
    case.tags |= {"errors"} if "errors.model" in texts else set()
    case.tags |= {"volatile"} if any(word in texts for word in VOLATILE) else set()
    tagged = ("flash.", "ftl.", "redundancy.")
    case.tags |= {line.replace(" = ", "=") for line in texts.splitlines() if line.startswith(tagged)}
    workload(source, case, page)
    options(source, case, kind)
    if case.members and "condition" in case.tags:
        case.drive += CONDITION
    if source.chance("faults", 0.4):
        count = len(case.requests) if case.requests else 40
        add_events(case, draw_events(source("which faults"), parts.flash, parts.others, count, 1))
    if source.chance("slow parts", 0.2):
        count = len(case.requests) if case.requests else 40
        add_events(case, draw_slow(source("which slow parts"), parts.flash, parts.others, count))
    if bias:
        add_events(case, bias.events(source, parts.names(source)))
        if bias.verify:
            case.options["verify"] = True
            case.options.pop("untimed", None)
            case.tags = (case.tags | {"verify"}) - {"untimed"}
    case.relation = case.relation if holds(case) else ""
    case.tags |= {f"relation={case.relation}"} if case.relation else set()
    return case


def array(
    source: Source, known: Mapping[str, Mapping[str, Any]], attempt: int, kind: str, case: Case
) -> tuple[Keys, float, Parts]:
    """An array's keys, the page size of its members, and the parts that can fail. One of a `nested` array is small."""
    inner = kind == "nested"
    schemes = INSIDE if source.chance("nested", 0.15) else ()
    member = flash_drive(source, known, attempt, schemes, small=True, most_pages=NESTED_PAGES if inner else None)
    parts = parts_of(member).below("member:0/")
    case.members["member.toml"] = toml(member)
    page = member["flash.page_kib"]
    if kind == "mixed":
        scheme = source.pick("mixed scheme", MIXED)
        count = 1 if scheme in {"griffin", "i-cash"} else source.pick("drives", (2, 4))
        disks = {"hpda": 2, "griffin": 1, "i-cash": 1}.get(scheme) or source.pick("disks", (1, 2, count))
        case.members["disk.toml"] = toml(disk(source, known, attempt))
        members = [f"{count} * ./member.toml", f"{disks} * ./disk.toml"]
        total = count + disks
    else:
        scheme = source.pick("over", OVER)
        total = source.pick("array members", MEMBERS_OVER.get(scheme, (4, 5, 6)))
        members = [f"{total} * ./member.toml"]
        if scheme not in LOGS and source.chance("of disks", 0.1):
            case.members = {"disk.toml": toml(disk(source, known, attempt, small=inner))}
            members = [f"{total} * ./disk.toml"]
            parts, page = Parts(), DISK_PAGE_KIB
    keys = over(scheme, members, lambda: page * source.pick("extent", (2, 4, 7, 16)))
    keys |= thinned(source, singles(source, keys, known, ("array", "redundancy", "host", "buffer")), attempt)
    case.drive = toml(keys)
    parts.others += [f"member:{at}" for at in range(total)]
    return keys, page, parts


def over(scheme: str, members: list[str], extent_kib: Callable[[], float]) -> Keys:
    """A scheme over members, with the keys that it needs."""
    keys: Keys = {"members": members, "redundancy.scheme": scheme}
    if scheme == "python":
        keys["redundancy.file"] = SCHEME
    if scheme in LOGS:
        keys["redundancy.extent_kib"] = extent_kib()
    if scheme == "backup":
        keys["redundancy.segment_kib"] = SEGMENT_KIB
    return keys


def nested(
    source: Source, known: Mapping[str, Mapping[str, Any]], attempt: int, kind: str, case: Case
) -> tuple[Keys, float, Parts]:
    """An array of arrays: the outer keys, the page size, and the parts that can fail."""
    inner, page, parts = array(source, known, attempt, kind, case)
    case.members["inner.toml"] = case.drive
    scheme = source.pick("outer", OVER)
    total = source.pick("outer members", OUTER_MEMBERS.get(scheme, (4, 5)))
    keys = over(scheme, [f"{total} * ./inner.toml"], lambda: page * source.pick("outer extent", (2, 4, 16)))
    outer = Source(case.seed + 2**40, source.bias)
    keys |= thinned(outer, singles(outer, keys, known, ("redundancy", "host", "buffer")), attempt)
    if source.bias:
        keys |= {key: value for key, value in source.bias.keys(outer, inner).items() if key.startswith("buffer")}
    case.drive = toml(keys)
    case.tags |= {f"inner={inner['redundancy.scheme']}"}
    at = source("which outer").randrange(total)
    parts = parts.below(f"member:{at}/")
    parts.others += [f"member:{n}" for n in range(total)]
    return keys, page, parts


def parts_of(keys: Keys) -> Parts:
    """The parts of a drive that can fail."""
    names = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block")
    others = ["member:0", "member:1"] if "redundancy.scheme" in keys else []
    if keys.get("redundancy.scheme") == "ppc":
        others.append("nvram")
    return Parts([Flash("", tuple(keys["flash." + name] for name in names))], others)


def workload(source: Source, case: Case, page: float) -> None:
    """A trace of few requests, or a synthetic workload."""
    rng = source("workload")
    if source.chance("csv", 0.5):
        reach = rng.choice((64, 512, 4096)) * 1024
        case.requests = draw_requests(rng, int(page * 1024), reach, rng.choice((5, 40, 150, 400)))
        case.options["wrap"] = True
        case.tags.add("csv")
        return
    name = rng.choice(("random", "random", "sequential", "zipf"))
    sector = rng.choice((512, 1024, 4096, int(page * 1024)))
    sizes = rng.choice((f"{sector}", f"{4 * sector}", f"{sector}:0.7/{8 * sector}:0.3", "4KiB", "16KiB:0.5/4KiB:0.5"))
    words = [f"synth:{name}", f"requests={rng.choice((50, 300, 800, 2000))}", f"size={sizes}"]
    words.append(f"write={rng.choice((0, 0.3, 0.5, 0.7, 1, 1))}")
    if rng.random() < 0.4:
        words.append(f"footprint={rng.choice(('64KiB', '256KiB', '512KiB'))}")
    if name == "zipf":
        words.append(f"theta={rng.choice((0.5, 0.99))}")
    words.append(rng.choice(("depth=1", "depth=4", "depth=16", "rate=100", "rate=2k", "rate=20k", "rate=200k")))
    case.options["traces"] = [",".join(words)]


def name_handles(source: Source, case: Case) -> None:
    """Writes name placement handles, if a drive has some."""
    case.give_handles((case.drive, *case.members.values()))
    if case.handles > 1 and case.requests is None and source.chance("handle of a workload", 0.7):
        case.options["traces"] = [f"{case.options['traces'][0]},handle={case.handles - 1}"]


def options(source: Source, case: Case, kind: str) -> None:
    """Options of the run."""
    shares = dict(SHARES)
    if case.requests is None:
        del shares["replay"]  # a synthetic workload names its own
    only_disks = kind == "disk" or (kind == "nested" and "disk.toml" in case.members)
    if only_disks or "ageing.model" in case.tags:
        del shares["condition"]
    if kind != "flash":
        del shares["operations"]
    job = case.options = {**case.options, **draw_options(source, shares)}
    name_handles(source, case)
    case.aged = source.chance("aged", 0.06) and "condition" not in job and kind == "flash"
    case.relation = source.pick("relation", ("",) * 9 + RELATIONS)
    if case.relation == "halves":
        job |= {"untimed": True, "existing": source.pick("existing before halves", ("none", "all"))}
        for name in BESIDE_HALVES:
            job.pop(name, None)
    if not holds(case):
        case.relation = ""
    case.tags |= tags_of_options(job) | ({"aged"} if case.aged else set())
    flows(source, case)


def holds(case: Case) -> bool:
    """Whether the results of the related run must be those of the case."""
    job, drives = case.options, "".join((case.drive, *case.members.values()))
    match case.relation:
        case "unverified":
            return "verify" in job
        case "timeline" | "series":
            return "untimed" not in job
        case "shifted":
            return case.requests is not None and "faults" not in case.tags and not any(key in drives for key in IDLE)
        case "table":
            # It does not name handles; it has fewer requests than the shares of failures are of, if the drive ends
            # before them; caches of maps begin with the entries that a synthetic workload may use; what a power loss
            # interrupts is not in it.
            whole = case.handles == 1 and not any(key in drives for key in ("erase_budget", "dftl"))
            return whole and not {"untimed", "power"} & {*job, *case.tags} and "rate=" in str(job.get("traces"))
        case "halves":
            # A drive that is saved with its contents keeps blocks for its recovery, which block maps need elsewhere.
            held = (*HELD, "hybrid") if "verify" in job else HELD
            at_rest = "untimed" in job and not any(key in drives for key in held) and "flash" in case.tags
            return at_rest and case.requests is not None and len(case.requests) > 1 and "fail" not in job
    return True


def flows(source: Source, case: Case) -> None:
    """Sometimes another flow is beside the workload; each may have a share of the write cache."""
    if case.relation or not source.chance("flows", 0.1):
        return
    rng = source("which flows")
    other = f"synth:random,requests={rng.choice((50, 300))},size=4KiB:0.5/16KiB:0.5,write={rng.choice((0.5, 1))}"
    case.flows = [{}, {"name": "other", "workload": f"{other},{rng.choice(('depth=3', 'rate=2k', 'rate=200k'))}"}]
    for flow in case.flows:
        flow["priority"] = rng.choice(("urgent", "medium", "low"))
    dram = re.search(r"^buffer\.dram_mib = (?!0$)", case.drive, re.MULTILINE)
    if dram and 'write_policy = "through"' not in case.drive:
        for flow in rng.sample(case.flows, rng.choice((0, 1, 2))):
            flow["cache_share"] = rng.choice((0.1, 0.4, 0.5))
    case.tags.add("flows")


def add_events(case: Case, events: list[str]) -> None:
    """More events of a case, and their tags."""
    case.options["fail"] = [*case.options.get("fail", ()), *events]
    case.tags |= tags_of(events)
