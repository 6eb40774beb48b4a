"""The command line: the table of commands and options, what each command does, its progress and its threads."""

from __future__ import annotations


def main(argv: list[str] | None = None) -> int:
    """Runs a command and returns its exit code. What imports a module of this package does not load all commands."""
    from . import commands

    return commands.main(argv)
