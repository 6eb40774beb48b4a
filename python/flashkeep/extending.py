"""What a redundancy scheme in a Python file is made of: `redundancy.scheme = "python"`, `redundancy.file = "mine.py"`.

from flashkeep.extending import Codeword, Command, Place, Step, View, read, write

class Scheme:
    def __init__(self, members: int, pages: int, unit: int) -> None: ...
    def places(self, page: int) -> list[Place]: ...
    def codewords(self, page: int) -> list[Codeword]: ...
    def plan(self, command: Command, view: View) -> list[list[Step]]: ...

docs/extending.md is a tutorial; `flashkeep conformance mine.py` tries a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from ._flashkeep import Command, View

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    Tell = Callable[[int, int, str], object]

__all__ = ["Codeword", "Command", "Conformance", "Place", "Scheme", "Step", "View", "conformance", "read", "write"]

Place: TypeAlias = tuple[int, int]
"""A member, from 0, and its page, from 0."""

Step: TypeAlias = tuple[Literal["read", "write"], int, int, int]
"""What a plan does: consecutive pages of a member are read or written."""


class Codeword(NamedTuple):
    """Pages that protect each other, each on a member of its own."""

    data: Sequence[Place]
    """The places of consecutive pages of the scheme, in their order."""
    xor: Place
    """The place of their XOR."""
    rs: Place | None = None
    """The place of a second parity (Reed-Solomon), with which any two units may be missing."""


class Scheme(Protocol):
    """What a file's class `Scheme` has. It is called with the number of members, the pages of each, and for how many
    consecutive stripes parity is to stay with a member: the pages of a chunk over drives, 1 inside a drive."""

    capacity: int
    """The pages that it offers, numbered from 0."""

    def places(self, page: int) -> Sequence[Place]:
        """The places of a page's copies; with a codeword, the one of its data unit. Always the same for a page."""

    def codewords(self, page: int) -> Sequence[Codeword]:
        """The codeword of a page in a list, or an empty list if copies protect it. May be left out in that case."""

    def plan(self, command: Command, view: View) -> Sequence[Sequence[Step]]:
        """The stages of a command. Steps of a stage run side by side; a stage begins when all steps of the stage before
        are durable."""


def read(member: int, page: int, count: int = 1) -> Step:
    """Reads pages of a member: for the command, or for a parity that the plan writes."""
    return "read", member, page, count


def write(member: int, page: int, count: int = 1) -> Step:
    """Gives a member the command's pages that belong there (or trims them), or a parity."""
    return "write", member, page, count


class Conformance(NamedTuple):
    """What the conformance suite found."""

    file: str
    members: tuple[int, ...]
    """The numbers of members with which the scheme was tried."""
    checks: tuple[Mapping[str, Any], ...]
    """For each check `name`, `promise`, `members`, `kept`, and if it is not kept `message`."""

    @property
    def kept(self) -> bool:
        """Whether every promise is kept."""
        return all(check["kept"] for check in self.checks)

    @property
    def broken(self) -> tuple[Mapping[str, Any], ...]:
        """The checks whose promise is not kept."""
        return tuple(check for check in self.checks if not check["kept"])

    def to_dict(self) -> dict[str, Any]:
        """As `flashkeep conformance --json` prints it."""
        return {"file": self.file, "members": list(self.members), "kept": self.kept, "checks": list(self.checks)}


def conformance(path: str | PathLike[str], only: str | None = None, tell: Tell | None = None) -> Conformance:
    """Runs the conformance suite on the scheme of a Python file: failures, replacements and power losses at every step
    of random histories, with an oracle of the contents of every page.

    `only` picks the checks with a text in their names; `tell(number, total, name)` is called before each check. Raises
    `DriveError` if the file is wrong, or if the scheme returns something that cannot be.
    """
    import json
    import os
    import tempfile

    from . import _flashkeep

    with tempfile.TemporaryDirectory(prefix="flashkeep-") as folder:
        found = json.loads(_flashkeep.conformance(os.fspath(path), folder, only, tell))
    return Conformance(found["file"], tuple(found["members"]), tuple(found["checks"]))
