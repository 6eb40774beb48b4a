"""The combinations of keys and options that must work, by feature: each passes `check`, and runs with `--verify`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

Keys = dict[str, Any]

SMALL: Keys = {
    "flash.channels": 4,
    "flash.chips_per_channel": 2,
    "flash.planes_per_die": 2,
    "flash.blocks_per_plane": 16,
    "flash.pages_per_block": 8,
    "ftl.over_provisioning": 0.9,
}
"""A drive of 8 MiB, on which garbage collection runs after some thousand pages."""
BUSY = "synth:random,requests=3k,write=0.7,size=4KiB,rate=3k"
SHORT = "synth:random,requests=600,write=0.7,size=4KiB,rate=2k"
DISK: Keys = {"disk.capacity_gb": 0.02}
MAPS = ("page", "dftl", "block", "hybrid")
LOGS = ("ds", "dvs", "lifespan")
VICTIMS = ("greedy-last", "fifo", "cost-benefit", "random", "d-choices", "rga", "windowed-greedy")
OVER_DISKS = ("hpda", "griffin", "i-cash", "backup")
FULL = ("--existing", "all")


@dataclass(frozen=True)
class Combination:
    """A drive or an array, its workload, and the options of the run."""

    name: str
    keys: Keys = field(default_factory=dict)
    options: tuple[str, ...] = ()
    members: tuple[tuple[str, Keys], ...] = ()
    """The number of members, as in `4 *`, and their keys."""
    workload: str = BUSY
    loses: bool = False
    """Whether pages may be lost: more fails than the redundancy survives."""


def drive(name: str, *options: str, workload: str = BUSY, loses: bool = False, **keys: Any) -> Combination:
    """A small drive with these keys; `__` stands for a dot."""
    return Combination(name, {**SMALL, **dotted(keys)}, options, (), workload, loses)


def array(
    name: str, scheme: str, members: list[tuple[str, Keys]], *options: str, loses: bool = False, **keys: Any
) -> Combination:
    """An array of small drives, or of other members, under a scheme."""
    tops = {"redundancy.scheme": scheme, **dotted(keys)}
    return Combination(name, tops, options, tuple(members), SHORT, loses)


def dotted(keys: Keys) -> Keys:
    return {name.replace("__", "."): value for name, value in keys.items()}


def small(count: int, **keys: Any) -> tuple[str, Keys]:
    return (f"{count} *", {**SMALL, **dotted(keys)})


def disks(count: int) -> tuple[str, Keys]:
    return (f"{count} *", DISK)


def disk_members(scheme: str, **keys: Any) -> list[tuple[str, Keys]]:
    return [small(4, **keys), disks(2)] if scheme == "hpda" else [small(1, **keys), disks(1)]


def logs_in_drives() -> Iterator[Combination]:
    more: dict[str, Keys] = {
        "pools of elements": {"ftl__pool": "element", "flash__busy_unit": "chip"},
        "pools of gangs": {"ftl__pool": "gang", "flash__busy_unit": "chip", "flash__bus": "operations"},
        "rounds": {"flash__bus": "rounds"},
        "rounds of gangs": {"flash__bus": "rounds", "flash__control_gang": 2},
        "summary pages": {"flash__summary_page": True},
        "streams": {"ftl__streams": 2},
        "separate streams": {"ftl__gc__separate": True},
        "migration": {"ftl__wear__levelling": "migration"},
        "rate limit": {"ftl__wear__levelling": "rate-limit"},
        "erase budget": {"ftl__wear__erase_budget": 1000, "ftl__wear__levelling": "both"},
        "soft threshold": {"ftl__gc__soft_threshold": 0.3},
        "basic ageing": {"ageing__model": "basic"},
        "ageing 1": {"ageing__model": "approach1"},
        "ageing 2": {"ageing__model": "approach2", "ageing__valid_ratio": 0.3},
        **{f"victims {victim}": {"ftl__gc__victim": victim} for victim in VICTIMS},
    }
    for scheme, (name, keys) in product(LOGS, more.items()):
        yield drive(f"{scheme}, {name}", redundancy__scheme=scheme, **keys)
    large: Keys = {"flash__chips_per_channel": 8, "flash__blocks_per_plane": 8, "flash__pages_per_block": 2048}
    for scheme in LOGS:
        yield drive(
            f"{scheme}, large superblocks",
            workload=SHORT,
            redundancy__scheme=scheme,
            **{**large, "flash__planes_per_die": 4, "ftl__over_provisioning": 2.0},
        )


def logs_over_devices() -> Iterator[Combination]:
    for scheme in LOGS:
        yield array(f"{scheme} over drives", scheme, [small(5)])
        yield array(f"{scheme} over drives, a failure", scheme, [small(5)], "--fail", "member:1@50%")
        yield array(f"{scheme} over drives, power loss", scheme, [small(5)], "--fail", "power@50%")


def parity_with_old_versions() -> Iterator[Combination]:
    for scheme in ("fra", "ppc"):
        yield array(f"{scheme} over drives", scheme, [small(5)])
        loses = scheme == "fra"  # Pages whose parity is to be written in idle time.
        yield array(f"{scheme} over drives, a failure", scheme, [small(5)], "--fail", "member:1@50%", loses=loses)
        for name in MAPS:
            yield drive(f"{scheme}, map {name}", redundancy__scheme=scheme, ftl__map=name)
            failure = ("--fail", "channel:1@50%", *FULL)
            keys = {"redundancy__scheme": scheme, "ftl__map": name}
            yield drive(f"{scheme}, map {name}, a failure", *failure, loses=loses, **keys)
        yield drive(f"{scheme}, static allocation", redundancy__scheme=scheme, ftl__allocation="CWDP")


def maps() -> Iterator[Combination]:
    more: dict[str, Keys] = {
        "pools of elements": {"ftl__pool": "element", "flash__busy_unit": "chip"},
        "pools of gangs": {"ftl__pool": "gang", "flash__busy_unit": "chip", "flash__bus": "operations"},
        "rounds": {"flash__bus": "rounds"},
        "least-busy": {"redundancy__scheme": "mirror", "redundancy__read_policy": "least-busy"},
        "migration": {"ftl__wear__levelling": "migration"},
        "erase budget": {"ftl__wear__erase_budget": 1000, "ftl__wear__levelling": "both"},
        "rate limit": {"ftl__wear__erase_budget": 1000, "ftl__wear__levelling": "rate-limit"},
        "memory pcm": {"ftl__map_memory": "pcm"},
        "memory mram": {"ftl__map_memory": "mram"},
        "copies in flash": {"ftl__read_in_flight": "flash"},
    }
    for name, (what, keys) in product(MAPS, more.items()):
        yield drive(f"map {name}, {what}", ftl__map=name, **keys)
    for name, victim in product(("dftl", "hybrid"), VICTIMS):
        yield drive(f"map {name}, victims {victim}", ftl__map=name, ftl__gc__victim=victim)
    places = ("channel:1", "chip:1.0", "die:1.0.0", "plane:1.0.0.1", "block:1.0.0.1.3", "page:1.0.0.1.3.2")
    for name, place in product(MAPS, places):
        keys = {"ftl__map": name, "redundancy__scheme": "raid5"}
        for what, tail in (("", ""), (", transient", ",transient"), (", replaced", ",replace_after=10ms")):
            yield drive(f"map {name}, {place}{what}", *FULL, "--fail", f"{place}@40%{tail}", **keys)
        yield drive(f"map {name}, {place}, no redundancy", *FULL, "--fail", f"{place}@40%", loses=True, ftl__map=name)


def page_sizes() -> Iterator[Combination]:
    more: dict[str, Keys] = {
        "gangs": {"flash__control_gang": 2, "flash__bus": "rounds"},
        "gangs, transfers": {"flash__control_gang": 2},
        **{f"copyback {how}": {"ftl__gc__copyback": how} for how in ("on", "parity", "parity-skip")},
        **{f"planes {how}": {"ftl__plane_choice": how} for how in ("most-free", "same")},
        "reads from flash": {"ftl__read_in_flight": "flash"},
        "rounds": {"flash__bus": "rounds"},
    }
    for name, keys in more.items():
        yield drive(f"pages of 2 KiB, {name}", ftl__logical_page_kib=2, **keys)
    yield drive("pages of 8 KiB, DRAM", ftl__logical_page_kib=8, buffer__dram_mib=1)


def pools() -> Iterator[Combination]:
    more: dict[str, Keys] = {
        "dies": {"flash__busy_unit": "die", "flash__dies_per_chip": 2},
        "planes": {"flash__busy_unit": "plane"},
        "plane pairs": {"flash__busy_unit": "plane-pair"},
        "gangs": {"flash__control_gang": 2, "flash__bus": "rounds"},
        "multi-plane": {"flash__commands__multi_plane": "match"},
        "multi-plane skip": {"flash__commands__multi_plane": "skip"},
        "parity-skip": {"ftl__gc__copyback": "parity-skip"},
        "a mirror over chips": {"redundancy__scheme": "mirror", "redundancy__across": "chip"},
    }
    for pool, (name, keys) in product(("element", "gang"), more.items()):
        yield drive(f"pools of {pool}s, {name}", ftl__pool=pool, **keys)


def rounds() -> Iterator[Combination]:
    more: dict[str, Keys] = {
        "collection runs": {"ftl__gc__run": "hold-channel"},
        "soft threshold": {"ftl__gc__soft_threshold": 0.3},
        "multi-plane": {"flash__commands__multi_plane": "match"},
        "multi-plane skip": {"flash__commands__multi_plane": "skip"},
    }
    for gang, (name, keys) in product((1, 2), more.items()):
        yield drive(f"rounds, gangs of {gang}, {name}", flash__bus="rounds", flash__control_gang=gang, **keys)
    for unit in ("chip", "die", "plane-pair", "plane"):
        yield drive(f"dynamic-in-chip, {unit}", ftl__allocation="dynamic-in-chip", flash__busy_unit=unit)
        keys = {"flash__dies_per_chip": 2, "flash__busy_unit": unit}
        yield drive(f"gangs over dies, {unit}", flash__control_gang=2, **keys)
        yield drive(f"gangs in rounds over dies, {unit}", flash__control_gang=2, flash__bus="rounds", **keys)


def reads_and_summaries() -> Iterator[Combination]:
    more: dict[str, Keys] = {
        "alone": {},
        "rounds": {"flash__bus": "rounds"},
        "operations": {"flash__bus": "operations"},
        "DRAM": {"buffer__dram_mib": 1},
        "multi-plane": {"flash__commands__multi_plane": "match"},
        "cache programs": {"flash__commands__cache_program": True},
        "cache reads": {"flash__commands__cache_read": True},
        "pools": {"ftl__pool": "element"},
        "a mirror": {"redundancy__scheme": "mirror"},
        "raid5": {"redundancy__scheme": "raid5"},
        "dvs": {"redundancy__scheme": "dvs"},
        "collection runs": {"ftl__gc__run": "hold-channel"},
    }
    for name, keys in more.items():
        yield drive(f"reads in flight from flash, {name}", ftl__read_in_flight="flash", **keys)
    for name in ("multi-plane", "cache programs", "cache reads"):
        yield drive(f"summary pages, {name}", flash__summary_page=True, **more[name])
    yield drive("summary pages, multi-plane skip", flash__summary_page=True, flash__commands__multi_plane="skip")
    for how in ("migration", "rate-limit", "both"):
        yield drive(f"leveling without a budget, {how}", ftl__wear__levelling=how)


def suspension() -> Iterator[Combination]:
    more: dict[str, Keys] = {
        "alone": {},
        "gangs": {"flash__control_gang": 2},
        "acknowledged transfers": {"flash__acknowledge": "transfer"},
        "DRAM": {"buffer__dram_mib": 1},
        "multi-plane": {"flash__commands__multi_plane": "match"},
        "cache programs": {"flash__commands__cache_program": True},
        "cache reads": {"flash__commands__cache_read": True},
        "summary pages": {"flash__summary_page": True},
        "reads in flight from flash": {"ftl__read_in_flight": "flash"},
        "copyback": {"ftl__gc__copyback": "on"},
        "collection runs": {"ftl__gc__run": "hold-channel"},
        "soft thresholds": {"ftl__gc__soft_threshold": 0.4},
        "pools": {"ftl__pool": "element", "flash__busy_unit": "die", "flash__dies_per_chip": 2},
        "shared flash pages": {"ftl__logical_page_kib": 1},
        "hybrid map": {"ftl__map": "hybrid"},
        "a mirror": {"redundancy__scheme": "mirror"},
        "raid5": {"redundancy__scheme": "raid5"},
        "dvs": {"redundancy__scheme": "dvs"},
    }
    for name, keys in more.items():
        suspended: Keys = {"flash__commands__suspend": "program-erase", **keys}
        yield drive(f"suspension, {name}", **suspended)
        if name in {"alone", "cache programs", "shared flash pages", "pools", "raid5", "dvs", "acknowledged transfers"}:
            yield drive(f"suspension, {name}, power loss", "--fail", "power@50%", **suspended)


def ageing() -> Iterator[Combination]:
    for model in ("basic", "approach1", "approach2", "steady"):
        keys: Keys = {"ageing__model": model}
        yield drive(f"ageing {model}, everything exists", *FULL, **keys)
        for name in MAPS if model != "steady" else ():
            yield drive(f"ageing {model}, map {name}", ftl__map=name, **keys)
        for scheme, count in (("mirror", 2), ("raid5", 4), ("raid6", 4), ("fra", 4), ("ppc", 4), ("none", 2)):
            yield array(f"ageing {model}, members of {scheme}", scheme, [small(count, **keys)])
        for scheme in ("chained", "raid4", "spd-raid4", "diff-raid", "declustered", *LOGS):
            yield array(f"ageing {model}, members of {scheme}", scheme, [small(5, **keys)])
        for scheme in OVER_DISKS:
            yield array(f"ageing {model}, members of {scheme}", scheme, disk_members(scheme, **keys))
        parity = small(2, redundancy__scheme="raid5", **keys)
        yield array(f"ageing {model}, members with parity", "mirror", [parity])
        sizes = [small(2, **keys), small(2, **{**keys, "flash__page_kib": 8})]
        yield array(f"ageing {model}, members with pages of two sizes", "raid5", sizes)


def aged_logs() -> Iterator[Combination]:
    cut, failure = ("--fail", "power@50%"), ("--fail", "member:1@50%,replace_after=10ms")
    models: dict[str, Keys] = {
        "basic": {"ageing__model": "basic"},
        "approach1": {"ageing__model": "approach1"},
        "approach2": {"ageing__model": "approach2", "ageing__valid_ratio": 0.3},
    }
    outer = {"none": 2, "mirror": 2, "raid4": 4, "raid5": 4, "raid6": 4, "fra": 4, "ppc": 4}
    outer |= {"chained": 5, "spd-raid4": 5, "diff-raid": 5, "declustered": 5, **dict.fromkeys(LOGS, 5)}
    for within, (model, keys) in product(LOGS, models.items()):
        inner = {"redundancy__scheme": within, **keys}
        for scheme, count in outer.items():
            name = f"ageing {model}, {within} in members of {scheme}"
            yield array(name, scheme, [small(count, **inner)])
            yield array(f"{name}, everything exists", scheme, [small(count, **inner)], *FULL)
            yield array(f"{name}, power loss", scheme, [small(count, **inner)], *cut)
            if scheme in ("mirror", "raid5", "raid6"):
                yield array(f"{name}, a failure", scheme, [small(count, **inner)], *failure)
        for scheme in OVER_DISKS:
            yield array(f"ageing {model}, {within} in members of {scheme}", scheme, disk_members(scheme, **inner))


def power_loss() -> Iterator[Combination]:
    cut = ("--fail", "power@50%")
    for scheme in ("none", "mirror", "raid5", "dvs"):
        yield drive(f"power loss, {scheme}, untimed", *cut, "--untimed", redundancy__scheme=scheme)
        yield drive(f"power loss, {scheme}, conditioned", *cut, "--condition", redundancy__scheme=scheme)
        yield drive(f"power loss, {scheme}, saved", *cut, "--aged", "SAVED", redundancy__scheme=scheme)
    for model in ("basic", "approach1", "approach2", "steady"):
        yield drive(f"power loss, ageing {model}", *cut, ageing__model=model)
    for scheme in OVER_DISKS:
        yield array(f"power loss, {scheme}", scheme, disk_members(scheme), *cut)
    over_disks = {"none": 2, "mirror": 2, "raid4": 4, "raid5": 4, "raid6": 5, "raid-tp": 6, "lrc": 7}
    for scheme, count in over_disks.items():
        yield array(f"power loss, {scheme} over disks", scheme, [disks(count)], *cut)
        yield array(f"power loss, {scheme}, DRAM in members", scheme, [small(count, buffer__dram_mib=1)], *cut)
        safe = small(count, buffer__dram_mib=1, buffer__protected=True)
        yield array(f"power loss, {scheme}, protected DRAM in members", scheme, [safe], *cut)
        for within in ("raid5", "fra", "ppc", "ds", "dvs", "lifespan"):
            inner = small(count, redundancy__scheme=within)
            yield array(f"power loss, {scheme}, {within} in members", scheme, [inner], *cut)
    yield array("power loss, one member", "none", [small(1)], *cut)
    yield array("power loss, one member with DRAM", "none", [small(1, buffer__dram_mib=1)], *cut)


def faults() -> Iterator[Combination]:
    pair = [disks(2)]
    yield array("a part of a disk", "mirror", pair, *FULL, "--fail", "member:1/page:100@50%")
    lone = Combination("a lone disk fails", DISK, ("--fail", "disk@50%"), (), SHORT, loses=True)
    yield lone
    parts = ("--fail", "page:100@50%")
    yield Combination("a page of a lone disk", DISK, parts, (), SHORT, loses=True)
    keys: Keys = {"redundancy__scheme": "ppc"}
    yield drive("the NVRAM of a drive for a moment", "--fail", "nvram@50%,transient", **keys)
    worn: Keys = {"redundancy__scheme": "raid5", "ftl__wear__erase_budget": 50}
    for place in ("channel:1", "chip:1.0", "die:1.0.0", "plane:1.0.0.1", "block:1.0.0.1.3"):
        yield drive(f"{place}, worn", "--fail", f"{place}@worn", **worn)
    for place in ("block:1.0.0.1.3", "page:1.0.0.1.3.2"):
        replaced = ("--fail", f"{place}@40%,replace_after=10ms")
        yield drive(f"{place}, replaced", *FULL, *replaced, redundancy__scheme="raid5")
    for pool, multi in (("element", "off"), ("gang", "off"), ("element", "skip")):
        for place in ("plane:1.0.0.1", "die:1.0.0", "chip:1.0"):
            pooled: Keys = {"ftl__pool": pool, "flash__commands__multi_plane": multi, "redundancy__scheme": "raid5"}
            replaced = ("--fail", f"{place}@40%,replace_after=10ms")
            yield drive(f"{place} of a pool of a {pool}, multi-plane {multi}", *FULL, *replaced, **pooled)


def lone_disks() -> Iterator[Combination]:
    for name, options in (
        ("conditioned", ("--condition",)),
        ("saved", ("--aged", "SAVED")),
        ("map", ("--map", "FILE")),
        ("operations", ("--operations", "FILE")),
        ("timeline", ("--timeline", "FILE")),
    ):
        yield Combination(f"a lone disk, {name}", DISK, options, (), SHORT)


def widths() -> Iterator[Combination]:
    for scheme, width in (("mirror", 2), ("raid5", 4), ("raid6", 4), ("raid4", 4)):
        yield array(f"{scheme} of {width} over 8 drives", scheme, [small(8)], redundancy__width=width)
        failure = ("--fail", "member:1@50%", "--fail", "member:6@60%")
        yield array(
            f"{scheme} of {width} over 8 drives, failures", scheme, [small(8)], *failure, redundancy__width=width
        )


def slc_caches() -> Iterator[Combination]:
    more: dict[str, Keys] = {
        "alone": {},
        "pools of elements": {"ftl__pool": "element", "flash__busy_unit": "chip"},
        "pools of several units": {"ftl__pool": "gang", "flash__planes_per_die": 2, "flash__busy_unit": "plane"},
        "rounds": {"flash__bus": "rounds"},
        "rounds, held channel": {"flash__bus": "rounds", "ftl__gc__run": "hold-channel"},
        "held channel": {"ftl__gc__run": "hold-channel"},
        "multi-plane": {"flash__planes_per_die": 2, "flash__commands__multi_plane": "skip"},
        "cache commands": {"flash__commands__cache_program": True, "flash__commands__cache_read": True},
        "small pages": {"ftl__logical_page_kib": 2, "ftl__gather_us": 100},
        "word lines": {"flash__pages_per_program": 2},
        "summary pages": {"flash__summary_page": True},
        "streams": {"ftl__streams": 2},
        "copyback": {"ftl__gc__copyback": "parity-skip"},
        "soft threshold": {"ftl__gc__soft_threshold": 0.3},
        "migration": {"ftl__wear__levelling": "migration"},
        "dftl": {"ftl__map": "dftl", "ftl__cache_kib": 0.25},
        "least room": {"ftl__plane_choice": "most-free", "flash__planes_per_die": 2},
        "ageing": {"ageing__model": "approach2", "ageing__valid_ratio": 0.3},
        "a small budget": {"ftl__slc__erase_budget": 3},
        "DRAM": {"buffer__dram_mib": 0.0625},
        **{scheme: {"redundancy__scheme": scheme} for scheme in ("raid5", "mirror", "ppc", "fra")},
    }
    for fold, (name, keys) in product(("idle", "full"), more.items()):
        cache: Keys = {"flash__slc__blocks": 2, "ftl__slc__fold": fold, "ftl__slc__idle_us": 200}
        yield drive(f"SLC cache folded {fold}, {name}", **{**cache, **keys})
    cache = {"flash__slc__blocks": 2, "ftl__slc__idle_us": 200}
    yield drive("SLC cache, power loss", "--fail", "power@50%", **cache)
    yield drive("SLC cache, untimed", "--untimed", **cache)
    yield drive("SLC cache, conditioned", "--condition", **cache)
    yield drive("SLC cache, a plane fails", "--fail", "plane:0.0.0.0@50%", loses=True, **cache)
    yield array("SLC caches of members", "raid6", [small(5, **cache)], "--fail", "member:1@50%")
    for scheme in LOGS:
        yield array(f"{scheme} over drives with SLC caches", scheme, [small(5, **cache)])


GROUPS = {
    "SLC caches": slc_caches,
    "logs in drives": logs_in_drives,
    "logs over devices": logs_over_devices,
    "parity with old versions": parity_with_old_versions,
    "maps": maps,
    "page sizes": page_sizes,
    "pools": pools,
    "rounds": rounds,
    "reads and summaries": reads_and_summaries,
    "suspension": suspension,
    "ageing": ageing,
    "aged logs": aged_logs,
    "power loss": power_loss,
    "faults": faults,
    "lone disks": lone_disks,
    "widths": widths,
}
