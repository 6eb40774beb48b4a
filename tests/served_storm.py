"""Random requests, faults, power cuts and crash images of a served drive, and a model of the bytes that it may have."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

import flashkeep as fk
from nbd_client import FLUSH, FUA, READ, TRIM, WRITE, WRITE_ZEROES, Client, Reply

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from flashkeep.serving.server import Served

SECTOR = 512
ZEROS = bytes(SECTOR)
SPAN = 1 << 20
DEPTH = 8
CUT = "cut"
IMAGES = ("model", "none", "half", "all")


class Asked(NamedTuple):
    """A request under way: its sectors, and what they hold if it is carried out."""

    kind: int
    sectors: range
    data: bytes
    fua: bool
    sent: int
    """How many changes had ended when it was sent."""

    def value(self, sector: int) -> bytes:
        at = (sector - self.sectors.start) * SECTOR
        return self.data[at : at + SECTOR] if self.data else ZEROS


class Model:
    """The values that each sector may hold: `now` as far as the client knows, and `older` after a power cut, with the
    number of the change that replaced it. Where a power cut forgets trims (docs/power.md), a trimmed sector may hold
    each value that it `ever` had."""

    def __init__(self, sectors: range, forgets_trims: bool) -> None:
        self.now = [{ZEROS} for _ in sectors]
        self.ever = [{ZEROS} for _ in sectors]
        self.forgets_trims = forgets_trims
        self.older: list[list[tuple[int, bytes]]] = [[] for _ in sectors]
        self.changes = 0
        self.trimmed: set[int] = set()
        self.under_way: dict[int, Asked] = {}
        self.errors = 0

    def busy(self, sectors: range) -> bool:
        """Whether a request is under way for one of the sectors."""
        return any(
            asked.sectors.start < sectors.stop and sectors.start < asked.sectors.stop
            for asked in self.under_way.values()
        )

    def finish(self, reply: Reply) -> None:
        asked = self.under_way.pop(reply.number)
        if asked.kind == READ:
            self.errors += reply.error != 0
            self._found(reply)
        elif asked.kind == FLUSH:
            if not reply.error:
                self._flushed(asked.sent)
        else:
            self.changes += 1
            for sector in asked.sectors:
                self._change(sector, asked, failed=reply.error != 0)

    def _flushed(self, sent: int) -> None:
        """Changes that had ended when a FLUSH was sent are durable: values that they replaced do not come back."""
        for sector, older in enumerate(self.older):
            if older and sector not in self.trimmed:
                self.older[sector] = [entry for entry in older if entry[0] > sent]

    def _replaced(self, sector: int) -> list[tuple[int, bytes]]:
        values = self.ever if self.forgets_trims and sector in self.trimmed else self.now
        return [(self.changes, value) for value in values[sector]]

    def _found(self, reply: Reply) -> None:
        for offset, data in reply.pieces.items():
            for at in range(0, len(data), SECTOR):
                sector, found = (offset + at) // SECTOR, data[at : at + SECTOR]
                assert found in self.now[sector], f"sector {sector} has bytes that it cannot have"
                if len(self.now[sector]) > 1:
                    self.older[sector] += self._replaced(sector)
                    self.now[sector] = {found}

    def _change(self, sector: int, asked: Asked, failed: bool) -> None:
        new = asked.value(sector)
        self.ever[sector].add(new)
        if failed:
            self.now[sector] |= {new}
            return
        if asked.kind == TRIM:
            # Parts of pages stay, and nothing is promised of the others.
            self.trimmed.add(sector)
            self.older[sector] += self._replaced(sector)
            self.now[sector] |= {ZEROS}
            return
        self.older[sector] = [] if asked.fua else self.older[sector] + self._replaced(sector)
        self.trimmed.discard(sector)
        self.now[sector] = {new}

    def after_a_cut(self, sector: int, coming: Asked | None) -> set[bytes]:
        """What a sector may hold after a power cut, which may end a request for it."""
        trims = sector in self.trimmed or (coming is not None and coming.kind == TRIM)
        known = self.ever[sector] if self.forgets_trims and trims else self.now[sector]
        new = {coming.value(sector), ZEROS} if coming else set()
        return known | {value for _, value in self.older[sector]} | new

    def cut(self) -> None:
        coming = self._coming()
        for sector, older in enumerate(self.older):
            self.now[sector] = self.after_a_cut(sector, coming.get(sector))
            older.clear()

    def _coming(self) -> dict[int, Asked]:
        """The request under way that changes a sector."""
        changes = (asked for asked in self.under_way.values() if asked.kind != READ)
        return {sector: asked for asked in changes for sector in asked.sectors}

    def check_image(self, image: bytes, unreadable: set[int]) -> None:
        coming = self._coming()
        for sector in range(len(self.now)):
            found = image[sector * SECTOR : (sector + 1) * SECTOR]
            may = self.after_a_cut(sector, coming.get(sector))
            assert sector in unreadable or found in may, f"sector {sector} of the image"


class Storm:
    """Random requests of one client."""

    def __init__(self, client: Client, seed: int, forgets_trims: bool) -> None:
        self.client, self.draw = client, random.Random(seed)
        self.sectors = range(min(SPAN, client.size) // SECTOR)
        self.model = Model(self.sectors, forgets_trims)

    def ask(self, count: int) -> None:
        for _ in range(count):
            self._ask()
            while self.client.outstanding >= DEPTH:
                self.model.finish(self.client.receive())

    def drain(self) -> None:
        while self.client.outstanding:
            self.model.finish(self.client.receive())

    def after_cut(self) -> None:
        """Requests that the cut has ended fail, or are served with what is left."""
        self.model.cut()
        self.drain()
        self.model.cut()

    def _ask(self) -> None:
        draw = self.draw
        kind = draw.choices([READ, WRITE, FLUSH, TRIM, WRITE_ZEROES], [45, 42, 4, 5, 4])[0]
        sectors, data, fua = range(0), b"", False
        if kind != FLUSH:
            first = draw.choice(self.sectors)
            sectors = range(first, min(len(self.sectors), first + draw.choice([1, 1, 2, 4, 8, 8, 8, 16, 32, 64])))
            if self.model.busy(sectors):
                return
        if kind in (WRITE, WRITE_ZEROES):
            fua = draw.random() < 0.1
        if kind == WRITE and draw.random() < 0.9:
            data = draw.randbytes(len(sectors) * SECTOR)
        sent = data or bytes(len(sectors) * SECTOR) if kind == WRITE else b""
        number = self.client.send(kind, sectors.start * SECTOR, len(sectors) * SECTOR, sent, FUA if fua else 0)
        self.model.under_way[number] = Asked(kind, sectors, data, fua, self.model.changes)

    def read_all(self) -> None:
        for first in self.sectors[::64]:
            sectors = self.sectors[first : first + 64]
            number = self.client.send(READ, first * SECTOR, len(sectors) * SECTOR)
            self.model.under_way[number] = Asked(READ, sectors, b"", False, 0)
            self.drain()


def sectors_of(ranges: list[dict[str, int]]) -> set[int]:
    return {
        sector
        for found in ranges
        for sector in range(found["offset"] // SECTOR, (found["offset"] + found["length"]) // SECTOR)
    }


def storm_of(
    drive: str | Path,
    faults: Sequence[Sequence[Any]],
    on_cut: Literal["fail", "wait"],
    seed: int,
    folder: Path,
    *,
    forgets_trims: bool = False,
) -> int:
    """Serves a drive under random requests, with two power cuts, faults between them, and crash images. Checks that
    each sector has bytes that it may have or is an error, and that a run of the session has the same times. Returns how
    many reads failed without a page that is lost."""
    session, image = folder / "session", folder / "image"
    with fk.serve(drive, listen=[f"unix:{folder}/nbd"], control=f"{folder}/control", time="no-wait",
                  session=session, on_cut=on_cut, seed=seed) as served, \
            Client(f"{folder}/nbd") as client:  # fmt: skip
        storm = Storm(client, seed, forgets_trims)
        storm.ask(300)
        served.control(CUT)
        storm.after_cut()
        storm.ask(200)
        for fault in faults:
            with suppress(fk.OptionError):  # a drawn drive does not have this part
                served.control(*fault)
        _check_images(served, storm, image, seed)
        storm.ask(200)
        served.control(CUT)
        storm.after_cut()
        storm.ask(200)
        storm.drain()
        storm.read_all()
        lost = sectors_of(served.control("stats")["lost"])
        summary = served.summary()
    assert summary["serve"]["unknown_pages"] == 0
    again = fk.run(drive, str(session), seed=seed).to_dict()
    assert again["response_us"] == summary["response_us"]
    assert again["service_us"] == summary["service_us"]
    return 0 if lost else storm.model.errors


def _check_images(served: Served, storm: Storm, image: Path, seed: int) -> None:
    for keep in IMAGES:
        storm.ask(60)
        found = served.control("crash-image", image, keep, seed)
        with image.open("rb") as file:
            storm.model.check_image(file.read(SPAN), sectors_of(found["unreadable"]))
