"""The manual page of the program, in roff's `man` macros, from the table of commands."""

from __future__ import annotations

from .options import COMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .options import Command

TEXT = """\
.TH FLASHKEEP 1 "" "flashkeep {version}" "User Commands"
.SH NAME
flashkeep \\- simulate flash storage from block traces
.SH SYNOPSIS
.B flashkeep
.I COMMAND
[\\fIarguments\\fR] [\\fIoptions\\fR]
.SH DESCRIPTION
flashkeep is a fast, deterministic, trace-driven simulator and reliability lab for flash storage.
.PP
.I DRIVE
is the name of a preset
.RB ( "flashkeep drives" )
or a path, which has a / or ends in .toml. Keys may follow it:
.BR tlc\\-client,redundancy.scheme=raid5 .
.PP
.I TRACE
is a file (plain, gzip or zstd; the format is detected), \\- for standard input, or a synthetic workload:
.BR synth:random,requests=1M,size=4KiB,rate=20k .
.SH COMMANDS
{commands}
.SH EXIT STATUS
{codes}
.SH ENVIRONMENT
.TP
.B NO_COLOR
Print no colours.
.TP
.B FLASHKEEP_TRACEBACK
Print a traceback when the program fails.
.SH FILES
A drive file is TOML;
.B flashkeep keys
describes its keys, and
.B flashkeep schema
prints its JSON Schema.
.SH SEE ALSO
.BR "flashkeep schemes" ,
.BR "flashkeep policies" ,
.BR "flashkeep workloads" ,
.BR "flashkeep formats" ,
.B flashkeep metrics
"""

CODES = (
    ("0", "done"),
    ("1", "the program failed: a bug, no memory, an output that cannot be written"),
    ("2", "the drive, the trace or an option is wrong"),
    ("3", "the run finished, and pages were lost or read wrong"),
    ("130", "interrupted; what was finished is kept in --out"),
    ("143", "terminated; the same"),
)


def page(version: str) -> str:
    """The manual page."""
    codes = "\n".join(f".TP\n.B {code}\n{_roff(meaning)}" for code, meaning in CODES)
    return TEXT.format(version=version, commands="\n".join(map(_command, COMMANDS)), codes=codes)


def _command(command: Command) -> str:
    lines = [f".SS {_roff(command.usage)}", _roff(f"{command.help[0].upper()}{command.help[1:]}.")]
    for option in command.options:
        flags = ", ".join(f"\\fB{_roff(flag)}\\fR" for flag in (*option.short, option.flag))
        value = f" \\fI{_roff(option.metavar)}\\fR" if option.metavar else ""
        lines += [".TP", f"{flags}{value}", _roff(option.help)]
    if command.example:
        lines += [".PP", "Example:", ".PP", ".EX", f"flashkeep {_roff(command.example)}", ".EE"]
    return "\n".join(lines)


def _roff(text: str) -> str:
    """Text in which nothing is a request or an escape."""
    plain = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...").replace("~", "\\(ti").replace("^", "\\(ha")
    )
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
