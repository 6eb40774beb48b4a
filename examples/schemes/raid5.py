"""RAID-5: stripes of one page per member, one of them the XOR of the others, on another member in each stripe. It does
what the built-in `raid5` does.

flashkeep run 8CM-64,redundancy.scheme=python,redundancy.file=examples/schemes/raid5.py,redundancy.across=chip \
    synth:random,requests=10k
"""

from flashkeep.extending import Codeword, Command, Place, Step, View, read, write

REPAIR = 1000
"""The cost of a page that must be reconstructed: its whole stripe is read."""


class Scheme:
    """Stripes over members of so many pages; parity moves on after `unit` stripes."""

    def __init__(self, members: int, pages: int, unit: int) -> None:
        if members < 3:
            raise ValueError(f"{members} members; at least 3 are accepted")
        self.members = members
        self.unit = unit
        self.data = members - 1
        self.capacity = pages * self.data

    def parity(self, stripe: int) -> Place:
        """Parity moves one member to the left, beginning with the last one."""
        return self.members - 1 - stripe // self.unit % self.members, stripe

    def place(self, page: int) -> Place:
        """Data units count upwards over the members and skip the parity."""
        stripe, index = divmod(page, self.data)
        return index + (index >= self.parity(stripe)[0]), stripe

    def places(self, page: int) -> list[Place]:
        """Each page is stored once."""
        return [self.place(page)]

    def codewords(self, page: int) -> list[Codeword]:
        """The pages of a stripe protect each other."""
        stripe = page // self.data
        first = stripe * self.data
        return [Codeword([self.place(page) for page in range(first, first + self.data)], self.parity(stripe))]

    def plan(self, command: Command, view: View) -> list[list[Step]]:
        """A write reads what the new parity needs, and then writes data and parity side by side."""
        pages = [self.place(page) for page in command.pages]
        if command.verb == "read":
            return [[read(*place) for place in pages]]
        stripe = command.pages[0] // self.data
        reads = self.reads(command, stripe, view)
        return [[read(*place) for place in reads], [write(*place) for place in [*pages, self.parity(stripe)]]]

    def reads(self, command: Command, stripe: int, view: View) -> list[Place]:
        """What is replaced and the old parity, or what stays: whichever costs fewer reads. Known zeros are not read."""
        there = [page for page in range(stripe * self.data, (stripe + 1) * self.data) if view.written(page)]
        if not there:
            return []
        replaced = [self.place(page) for page in there if page in command.pages]
        stays = [self.place(page) for page in there if page not in command.pages]
        parity = self.parity(stripe)
        old = [parity] if command.old_in_hand else [*replaced, parity]
        return [*replaced, parity] if cost(old, view) <= cost(stays, view) else stays


def cost(places: list[Place], view: View) -> int:
    """The number of reads; a page that a member lacks counts for many."""
    return sum(1 if view.has(*place) else REPAIR for place in places)
