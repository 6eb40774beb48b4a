"""Pages of the reference, made from what the program knows: keys, commands, schemes, policies, workloads, formats."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from flashkeep import _flashkeep
from flashkeep.cli import manual
from flashkeep.cli.options import COMMANDS
from flashkeep.inputs import keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Page = tuple[str, str, str]
    """Its path in the site, its title, its Markdown."""

KINDS: dict[str, tuple[str, str, Callable[[], str], Callable[[str], str]]] = {
    "schemes": ("Redundancy schemes", "flashkeep schemes", _flashkeep.schemes, _flashkeep.scheme_text),
    "policies": ("Policies", "flashkeep policies", _flashkeep.policies, _flashkeep.policy_text),
    "workloads": ("Synthetic workloads", "flashkeep workloads", _flashkeep.workloads, _flashkeep.workload_text),
    "formats": ("Trace formats", "flashkeep formats", _flashkeep.formats, _flashkeep.format_text),
}
"""What has manual pages: title, command, list, text of one."""

TABLES = {
    "": "The drive",
    "host": "Host interface", "buffer": "DRAM", "redundancy": "Redundancy", "ftl": "Flash translation layer",
    "flash": "Flash", "disk": "Disk", "start": "What exists before time 0", "ageing": "Ageing",
    "condition": "Conditioning",
}  # fmt: skip
"""Titles of the tables of a drive file."""

PUBLIC = (
    ("Drives", ("drive", "drives", "Drive", "Preset", "Presets")),
    ("Traces", ("trace", "Trace")),
    ("Runs", ("run", "compare", "age", "sweep", "torture", "fleet", "advise", "load", "load_comparison", "load_sweep")),
    ("Results", ("Result", "Comparison", "Requests", "Figures")),
    ("Errors", ("DriveError", "TraceError", "OptionError")),
)
"""The names of the package, in the order of the page."""


def pages() -> list[Page]:
    """All pages of the reference that are made."""
    return [
        ("reference/keys.md", "Keys of a drive file", drive_keys()),
        ("reference/command-line.md", "Command line", command_line()),
        ("reference/python.md", "Python", python()),
        *(page for kind in KINDS for page in manual_pages(kind)),
    ]


def drive_keys() -> str:
    """Every key of the schema: meaning, type, default, accepted values, and what uses it."""
    lines = [
        "# Keys of a drive file", "",
        "Every key, from the [JSON Schema](drive.schema.json) that `flashkeep schema` prints, and with which an editor "
        "can check drive files. `flashkeep keys KEY` prints the same for one key; `--set KEY=VALUE` sets it for a "
        "command.",
    ]  # fmt: skip
    table = None
    for key in keys.every():
        first = key.name.partition(".")[0] if "." in key.name else ""
        if first != table:
            table = first
            title = TABLES.get(table, table.capitalize())
            lines += ["", f"## {title}: `[{table}]`" if table else f"## {title}", ""]
        lines += ["", f"### `{key.name}`", "", cell(key.description), "", *_facts(key)]
    return "\n".join(lines)


def _facts(key: keys.Key) -> Iterator[str]:
    for name, text in key.page():
        if name.startswith("  "):
            yield f"    - `{name.strip()}`: {cell(text)}"
        else:
            yield f"- {name}: {cell(text) if name in ('type', 'accepts') else f'`{text}`'}"
            if name == "default" and any(key.values.values()):
                yield "- values:"


def command_line() -> str:
    """Every command with its options, and the exit codes: what the manual page has."""
    lines = [
        "# Command line", "",
        "`flashkeep COMMAND --help` prints the options of a command, `flashkeep man` all of this page as a manual page "
        "for `man`. `DRIVE` is a preset or a path that has a `/` or ends in `.toml`; keys may follow it: "
        "`tlc-client,redundancy.scheme=raid5`. `TRACE` is a file, `-` for standard input, or a "
        "[synthetic workload](workloads/index.md).",
    ]  # fmt: skip
    for command in COMMANDS:
        lines += ["", f"## `{command.name}`", "", f"```\n{command.usage}\n```", "", f"{sentence(command.help)}", ""]
        if command.options:
            lines += ["| option | |", "|---|---|"]
        for option in command.options:
            flags = ", ".join((*option.short, option.flag)) + (f" {option.metavar}" if option.metavar else "")
            lines.append(f"| `{flags.replace('|', chr(92) + '|')}` | {cell(option.help)} |")
        if command.example:
            lines += ["", f"Example: `flashkeep {command.example}`"]
    lines += ["", "## Exit codes", "", "| code | meaning |", "|--:|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in manual.CODES]
    return "\n".join(lines)


def python() -> str:
    """The public names of the package, which mkdocstrings fills in."""
    import flashkeep

    lines = ["# Python", "", "`import flashkeep as fk`. The guide is [From Python](../python.md)."]
    told = [name for _, names in PUBLIC for name in names]
    missing = [name for name in flashkeep.__all__ if name not in told and not name.startswith("_")]
    for title, names in (*PUBLIC, ("More", missing)):
        known = [name for name in names if name in flashkeep.__all__]
        lines += ["", f"## {title}", ""] if known else []
        lines += [line for name in known for line in (f"::: flashkeep.{name}", "")]
    return "\n".join(lines)


def manual_pages(kind: str) -> Iterator[Page]:
    """A list of what there is of a kind, and the page of each."""
    title, command, entries, text_of = KINDS[kind]
    known = json.loads(entries())
    lines = [f"# {title}", "", f"`{command}` lists them; `{command} NAME` prints the page of one."]
    by_key: dict[str, list[tuple[str, str]]] = {}
    for entry in known:
        by_key.setdefault(entry.get("key", ""), []).append((entry["name"], entry["description"]))
    for key, found in by_key.items():
        lines += ["", *([f"## `{key}`", ""] if key else []), "| name | |", "|---|---|"]
        lines += [f"| [`{name}`]({_file(kind, key, name)}) | {cell(about)} |" for name, about in found]
    yield f"reference/{kind}/index.md", title, "\n".join(lines)
    for key, found in by_key.items():
        for name, about in found:
            text = text_of(name)
            yield f"reference/{kind}/{_file(kind, key, name)}", name, _manual(name, about, _of_key(text, key))


def _of_key(text: str, key: str) -> str:
    """The part about the value of one key, where values of several keys share the name."""
    parts = re.split(r"^(?=[\w.]+ = \"[^\"]+\": )", text, flags=re.MULTILINE)
    own = [part for part in parts if key and part.startswith(f"{key} = ")]
    return own[0].partition("\n")[2] if own else text


def _file(kind: str, key: str, name: str) -> str:
    return f"{key.replace('.', '-')}-{name}.md" if kind == "policies" else f"{name}.md"


def _manual(name: str, about: str, text: str) -> str:
    """A manual page as a page of the site: its headings are below the name."""
    lines, fenced = [], False
    for line in text.strip().splitlines():
        fenced ^= line.startswith("```")
        heading = re.match(r"#+ (.*)", line)
        lines.append(f"## {heading[1]}" if heading and not fenced else line)
    body = "\n".join(lines)
    # Tables that the terminal shows in columns.
    body = re.sub(r"(?:^(?:synth:\S+|  \S.*)\n?(?:\n(?=  \S))?)+", _as_code, f"{body}\n", flags=re.MULTILINE)
    return f"# `{name}`\n\n{sentence(about)}\n\n{body}"


def _as_code(match: re.Match[str]) -> str:
    return f"```text\n{match[0].rstrip()}\n```\n" if match[0].startswith("synth:") else match[0]


def cell(text: str) -> str:
    """Text in a cell of a table: no bar ends it, and words in pointed brackets are no HTML."""
    parts = re.split(r"(`[^`]*`)", text)
    plain = [part if part.startswith("`") else part.replace("<", "&lt;").replace("*", r"\*") for part in parts]
    return "".join(plain).replace("|", r"\|")


def sentence(text: str) -> str:
    """A line of a list as a sentence."""
    told = cell(text)
    return f"{told[0].upper()}{told[1:]}{'' if told.endswith('.') else '.'}"
