"""A mirror: every page once on each member, read in turn. It does what the built-in `mirror` does.

flashkeep run 2CM-128,redundancy.scheme=python,redundancy.file=examples/schemes/mirror.py synth:random,requests=10k
"""

from flashkeep.extending import Command, Place, Step, View, read, write


class Scheme:
    """A mirror over members of so many pages. It has no stripes, so chunks do not matter to it."""

    def __init__(self, members: int, pages: int, unit: int) -> None:
        self.members = members
        self.capacity = pages
        self.turn = 0

    def places(self, page: int) -> list[Place]:
        """Each member has the page at the same place."""
        return [(member, page) for member in range(self.members)]

    def plan(self, command: Command, view: View) -> list[list[Step]]:
        """A read goes to one copy, a write or a trim to all of them, side by side."""
        first, count = command.pages[0], len(command.pages)
        if command.verb != "read":
            return [[write(member, first, count) for member in range(self.members)]]
        return [[read(self.reader(page, command.update, view), page) for page in command.pages]]

    def reader(self, page: int, update: bool, view: View) -> int:
        """The next member in turn. The old part of a page that is written in part comes from the less busy one."""
        in_turn = [(self.turn + n) % self.members for n in range(self.members)]
        if update:
            return min(in_turn, key=lambda member: (not view.has(member, page), view.backlog(member, page)))
        self.turn = (self.turn + 1) % self.members
        return in_turn[0]
