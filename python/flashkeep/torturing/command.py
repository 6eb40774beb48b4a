"""The command `flashkeep torture`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from ..sweeping.command import progress_line
from .api import torture_drive
from .keys import STRESSES

if TYPE_CHECKING:
    from collections.abc import Callable

    from .api import TortureResult

CLEAN, FOUND, INTERRUPTED, TERMINATED = 0, 3, 130, 143
"""The exit codes."""

TOLD = ("power", "faults", "transient", "replace_after", "slow", "stall", "dram_flush", "reads_around", "hedged",
        "open", "closed", "untimed", "flush_at_end", "twice", *STRESSES)  # fmt: skip
"""The tags in the order in which they are printed."""

WORDS = {
    "power": "power loss", "faults": "failures", "transient": "transient ones", "replace_after": "replacements",
    "slow": "slow parts", "stall": "stalls",
    "dram_flush": "drawn DRAM flushing", "open": "open replay", "closed": "closed loops",
    "flush_at_end": "flushed at the end", "twice": "run twice", "errors": "errors of flash",
    "commands": "flash commands", "collection": "ways to collect", "queue": "short host queues",
    "turns": "collection in turns", "reads_around": "reads around busy parts", "hedged": "hedged reads",
}  # fmt: skip


def run(arguments: dict[str, Any], say: Callable[[str], None], print_json: Callable[[object], None]) -> int:
    """Tries cases and says what was found. Returns the exit code."""
    from ..cli.commands import Terminated

    with progress_line(arguments["quiet"], "cases") as show:
        wanted = len(arguments["only"]) or arguments["cases"] or 0
        result = torture_drive(
            arguments["drive"],
            arguments["set"],
            cases=arguments["cases"],
            minutes=arguments["minutes"],
            seed=1 if arguments["seed"] is None else arguments["seed"],
            workers=arguments["workers"],
            only=arguments["only"],
            keep=arguments["keep"] or "",
            tick=lambda done, _: show(done, max(wanted, done)),
            stops=(KeyboardInterrupt, Terminated),
        )
    if arguments["json"]:
        print_json(result.to_dict())
    else:
        say(told(result, arguments["drive"], arguments["set"]))
    if result.stopped is not None:
        return INTERRUPTED if result.stopped is KeyboardInterrupt else TERMINATED
    return CLEAN if result.clean else FOUND


def told(result: TortureResult, drive: str, overrides: list[str]) -> str:
    """The result as text."""
    campaign = result.campaign
    cost = result.cpu_ms_per_case
    lines = [f"reduced: {note}" for note in result.small.notes]
    ends = ", ".join(f"{count:,} {name}" for name, count in sorted(campaign.outcomes.items()))
    costs = f", {cost:.2f} ms of CPU each" if cost is not None else ""
    stopped = " until it was interrupted" if result.stopped else ""
    lines.append(f"{campaign.cases:,} cases{stopped} in {campaign.wall_s:.1f} s{costs}: {ends or 'none'}")
    having = [f"{WORDS.get(tag, tag)} {campaign.coverage[tag]:,}" for tag in TOLD if campaign.coverage[tag]]
    lines.append(f"with: {', '.join(having) or 'nothing'}")
    if result.clean:
        lines.append("nothing is wrong")
    again = ["flashkeep", "torture", drive, *(word for pair in overrides for word in ("--set", pair))]
    for found in result.findings:
        first = found["cases"][0]
        lines.append(
            f"{found['kind']}: {found['count']:,} cases ({', '.join(map(str, found['cases']))}): {found['detail']}"
        )
        if found["command"]:
            size = f"{found['requests']:,} requests, {found['events']:,} events"
            lines.append(f"  reduced to {size}{'' if found['repeats'] else ' (the command alone does not show it)'}:")
            lines.append(f"  {found['command']}")
        lines.append(f"  case {first}: {shlex.join([*again, '--seed', str(campaign.seed), '--only', str(first)])}")
    return "\n".join(lines)
