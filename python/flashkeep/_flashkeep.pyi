"""The extension module: the simulator behind text (JSON) and bytes. See crates/python/src/lib.rs."""

import os
from collections.abc import Callable, Mapping, Sequence

__debug_assertions__: bool
__version__: str

class DriveError(ValueError):
    """A drive that cannot be meant: where it is wrong, and what is accepted."""

    path: str
    line: int | None
    field: str | None

class TraceError(ValueError):
    """A trace that cannot be read, or a workload that makes no sense."""

    path: str
    line: int | None
    field: str | None

class OptionError(ValueError):
    """An option that cannot be taken, or that contradicts another."""

def run(
    job: str,
    progress: Callable[[int, float | None, int], object] | None = None,
    tables: tuple[str, str, str] | None = None,
    in_memory: Sequence[tuple[str, bytes]] = (),
    series: dict[str, tuple[str, bytes]] | None = None,
    /,
) -> tuple[str, tuple[bytes, ...]]:
    """Simulates a job (JSON, the keys of `Job`): the summary (JSON) and one buffer a column of requests.

    `progress(requests, share, simulated_ns)` is called about every tenth of a second; what it raises ends the run, and
    if it returns True the run ends early, with a result for the requests admitted until then.
    `tables` are the files for all requests, for their sums a second at a time and for figures over time (compressed
    CSV). `in_memory` has traces that are not files, by the name that the job gives them. Into `series` go the columns
    of the figures over time: NumPy's name of the type, and the memory.
    """

class ServeStop:
    """Ends a server, which reads it without the GIL."""

    def set(self) -> None:
        """The server ends."""

def serve(
    job: str,
    options: str,
    started: Callable[[list[str], int], object],
    stop: ServeStop,
    /,
) -> str:
    """Serves the drive of a job (JSON) over NBD until `stop` is set: the summary (JSON).

    `options` are those of the server (JSON). `started(addresses, size)` is called when clients can connect. It needs a
    thread of its own, so that other threads can handle signals.
    """

class Command:
    """A command that a scheme in a file plans. See `flashkeep.extending`."""

    verb: str
    pages: tuple[int, ...]
    update: bool
    old_in_hand: bool

class View:
    """What a plan may look at. See `flashkeep.extending`."""

    def alive(self, member: int, /) -> bool:
        """Whether a member responds."""

    def has(self, member: int, page: int, /) -> bool:
        """Whether a member has the current contents of its page."""

    def backlog(self, member: int, page: int, /) -> int:
        """The time until a read of a member's page could start, ns; 0 where nothing is read."""

    def written(self, page: int, /) -> bool:
        """Whether a page of the scheme has contents; others are known zeros."""

def conformance(
    path: str, folder: str, only: str | None = None, tell: Callable[[int, int, str], object] | None = None, /
) -> str:
    """Tries the scheme of a file: `{"file", "members", "kept", "checks": [{"name", "promise", "members", "kept",
    "message"}, …]}`. `folder` is an empty one for drive files; `only` picks checks by a part of their names;
    `tell(number, total, name)` is called before each check."""

def check(drive: str, overrides: Sequence[str], text: str | None = None, /) -> str:
    """`{"drive": resolved, "members": [resolved], "files", "capacity_bytes", "tree": drawn, "warnings": […]}`, where
    `files` are the drive files that were read, by their paths. With a text, `drive` represents its path."""

def page_errors(
    drive: str,
    overrides: Sequence[str],
    text: str | None,
    bytes: int | None,
    conditions: tuple[float, float, float],
) -> str:
    """`{"rber", "codeword_failure", "page_failure", "uber", "codewords", "stages": […], "lifetime_cycles",
    "in_fitted_range"}`: what becomes of a page after (P/E cycles, days, reads of its block a page)."""

def fleet(options: str, /) -> str:
    """The probability that an array loses data, from options (JSON): see crates/python/src/fleet.rs."""

def fleet_array(drive: str, overrides: Sequence[str], text: str | None = None, /) -> str:
    """`{"name", "scheme", "tolerance", "fatal", "capacity_bytes", "disk", "cost_usd", "members": [the same, …]}`."""

def fleet_scheme(name: str, members: int, bytes: int, options: str | None = None, /) -> str:
    """A scheme over equal drives, with options in JSON: `{"tolerance", "usable_bytes", "fatal"}`."""

def fleet_local_code(data: int, local: int, parity: int, /) -> str:
    """The share of patterns of 0, 1, … missing members that lose data under a code with local parities: `[0, …]`."""

def fleet_schemes() -> str:
    """What sets schemes over drives apart: `[{"name", "copies", "defers", "memory", "disks", "file", "sizes"}, …]`."""

def drives() -> str:
    """`[{"name", "description"}, …]`: the presets."""

def drive_text(name: str, /) -> str:
    """A preset's file, whole."""

def schemes() -> str:
    """`[{"name", "description"}, …]`: the redundancy schemes."""

def scheme_text(name: str, /) -> str:
    """A scheme's manual page."""

def metrics() -> str:
    """Every figure that a summary can hold: `{"types": {NAME: {…}}, "metrics": [{"id", "path", …}, …]}`."""

def run_options() -> str:
    """The options of a run: `[{"name", "about", "scope", "metavar", "kind", "least", "bits", "repeat"}, …]`."""

def table_rows() -> str:
    """The rows of the tables: `[[heading, [[label, path, kind, unit, better, always], …]], …]`."""

def policies() -> str:
    """`[{"name", "key", "description"}, …]`: the policies that a drive file may name, but for schemes."""

def policy_text(name: str, /) -> str:
    """The manual pages of the policies of that name."""

def formats() -> str:
    """`[{"name", "description"}, …]`: the trace formats."""

def has_footprint(workload: str) -> bool:
    """Whether a synthetic workload says itself how many bytes it spreads over."""

def workloads() -> str:
    """`[{"name", "description"}, …]`: the synthetic workloads."""

def workload_text(name: str, /) -> str:
    """A synthetic workload's manual page."""

def drive_changes(
    drive: str,
    overrides: Sequence[str],
    text: str | None = None,
    files: Mapping[str, str] = ...,
    copies: Mapping[str, str] = ...,
    /,
) -> str:
    """`{"key": [before, here], …}`: values that differ from the preset that the drive is based on, or from its file.
    `files` and `copies` are those of a job."""

def sha256_of_file(path: str, /) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""

def sha256_of_bytes(bytes: bytes, /) -> str:
    """SHA-256 of bytes in memory, in hexadecimal."""

def toml_lines(text: str, /) -> list[tuple[str, int]]:
    """The line of each key of a TOML text by its dotted path; items of lists have their number. Empty if the text is
    not TOML."""

def schema() -> str:
    """The JSON Schema of a drive file."""

def format_text(name: str, /) -> str:
    """A format's manual page."""

def flow_tables(flow: Sequence[str], flows: str | os.PathLike[str] | None = None, /) -> list[str]:
    """The flows of options `flow` and `flows` as tables in JSON that need no other file."""

def trace_files(trace: str) -> list[str]:
    """The files that a trace's path names: itself, those of a directory, or those that fit a pattern."""

def trace_info(
    traces: Sequence[str],
    *,
    format: str | None = None,
    sector_bytes: int | None = None,
    columns: str | None = None,
    bad_records: str | None = None,
    action: str | None = None,
    overlay: bool = False,
    repeat: int | None = None,
    limit: int | None = None,
    seed: int | None = None,
    drive: str | None = None,
    set: Sequence[str] = (),
    in_memory: Sequence[tuple[str, bytes]] = (),
) -> str:
    """What is in a trace, or in several together: the keys of `trace info --json`. `drive` is what a synthetic workload
    fills; `in_memory` the traces that are not files, by name."""

def trace_convert(
    traces: Sequence[str],
    out: str,
    *,
    to: str | None = None,
    format: str | None = None,
    sector_bytes: int | None = None,
    columns: str | None = None,
    bad_records: str | None = None,
    action: str | None = None,
    overlay: bool = False,
    repeat: int | None = None,
    limit: int | None = None,
    merge_devices: bool = False,
) -> str:
    """Rewrites a trace (`-`: to standard output): `{"requests", "from", "format", "lost", "warnings"}`. The ending of
    `out` gives the format where `to` does not."""

def trace_synth(
    workload: str,
    out: str,
    *,
    to: str | None = None,
    seed: int | None = None,
    drive: str | None = None,
    set: Sequence[str] = (),
) -> str:
    """Makes a workload and writes it as a trace (`-`: to standard output): `{"requests", "format"}`, and `"lost"`
    where something was. The ending of `out` gives the format where `to` does not."""

def arrow_stream(columns: Sequence[tuple[str, str, bytes]], /) -> object:
    """A capsule with an Arrow C stream of columns: each its name, NumPy's name of its type, and its memory."""
