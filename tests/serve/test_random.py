"""Random requests, faults, power cuts and crash images: each sector has bytes that it may have, or is an error; and a
run of the recorded session has the response times of the server, to the digit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal, NamedTuple

import flashkeep as fk
import pytest
from nbd_client import FLUSH, FUA, READ, TRIM, WRITE, WRITE_ZEROES, Client, Reply

SECTOR = 512
ZEROS = bytes(SECTOR)
SPAN = 1 << 20
DEPTH = 8

DRIVES = {
    "lone": ("tlc-client", "chip:0.0"),
    "without DRAM": ("tlc-client,buffer.dram_mib=0", "channel:1"),
    "1CNM": ("1CNM-64", "die:0.0.0"),
    "raid5 within": ("tlc-client,redundancy.scheme=raid5", "chip:0.1"),
    "raid5 of drives": ("t7-ssd-raid5", "member:1"),
    "raid6 of drives": ("8-tlc-datacenter-raid6", "member:2"),
    "dvs": ("dvs-8chip", "chip:1.0"),
    "disk": ("st3500630a", "page:7"),
    "mirror of disk and drive": ("t7-hybrid-raid1", "member:0"),
    "log": ("t7-backup-8", "member:0"),
}


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
    number of the change that replaced it."""

    def __init__(self) -> None:
        sectors = range(SPAN // SECTOR)
        self.now = [{ZEROS} for _ in sectors]
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
        return [(self.changes, value) for value in self.now[sector]]

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
        if failed:
            self.now[sector] |= {new}
            return
        if asked.kind == TRIM:
            # Parts of pages stay, and nothing is promised of the others.
            self.trimmed.add(sector)
            self.older[sector] += self._replaced(sector)
            self.now[sector] |= {ZEROS}
            return
        self.trimmed.discard(sector)
        self.older[sector] = [] if asked.fua else self.older[sector] + self._replaced(sector)
        self.now[sector] = {new}

    def cut(self) -> None:
        for sector, older in enumerate(self.older):
            self.now[sector] |= {value for _, value in older}
            older.clear()

    def check_image(self, image: bytes, unreadable: set[int]) -> None:
        coming = {sector: asked for asked in self.under_way.values() for sector in asked.sectors}
        for sector in range(SPAN // SECTOR):
            found = image[sector * SECTOR : (sector + 1) * SECTOR]
            may = self.now[sector] | {value for _, value in self.older[sector]}
            if asked := coming.get(sector):
                may |= {asked.value(sector), ZEROS} if asked.kind != READ else set()
            assert sector in unreadable or found in may, f"sector {sector} of the image"


class Storm:
    """Random requests of one client."""

    def __init__(self, client: Client, seed: int) -> None:
        self.client, self.draw, self.model = client, random.Random(seed), Model()

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
            first = draw.randrange(SPAN // SECTOR)
            sectors = range(first, min(SPAN // SECTOR, first + draw.choice([1, 1, 2, 4, 8, 8, 8, 16, 32, 64])))
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
        for first in range(0, SPAN // SECTOR, 64):
            number = self.client.send(READ, first * SECTOR, 64 * SECTOR)
            self.model.under_way[number] = Asked(READ, range(first, first + 64), b"", False, 0)
            self.drain()


def sectors_of(ranges: list[dict[str, int]]) -> set[int]:
    return {
        sector
        for found in ranges
        for sector in range(found["offset"] // SECTOR, (found["offset"] + found["length"]) // SECTOR)
    }


@pytest.mark.parametrize("on_cut", ["fail", "wait"])
@pytest.mark.parametrize("name", DRIVES)
def test_bytes_are_right_or_an_error(name: str, on_cut: Literal["fail", "wait"], tmp_path: Path) -> None:
    drive, part = DRIVES[name]
    seed = sorted(DRIVES).index(name) * 2 + (on_cut == "wait")
    session, image = tmp_path / "session", tmp_path / "image"
    with fk.serve(drive, listen=[f"unix:{tmp_path}/nbd"], control=f"{tmp_path}/control", time="no-wait",
                  session=session, on_cut=on_cut, seed=seed) as served, \
            Client(f"{tmp_path}/nbd") as client:  # fmt: skip
        storm = Storm(client, seed)
        storm.ask(300)
        served.control("cut")
        storm.after_cut()
        storm.ask(200)
        served.control("fail", part, "transient" if on_cut == "fail" else "replace_after=1ms")
        if "page" not in part:
            served.control("slow", part, 3, "1s")
        for keep in ("model", "none", "half", "all"):
            storm.ask(60)
            found = served.control("crash-image", image, keep, seed)
            with image.open("rb") as file:
                storm.model.check_image(file.read(SPAN), sectors_of(found["unreadable"]))
        storm.ask(200)
        served.control("cut")
        storm.after_cut()
        storm.ask(200)
        storm.drain()
        storm.read_all()
        lost = sectors_of(served.control("stats")["lost"])
        summary = served.summary()
    assert summary["serve"]["unknown_pages"] == 0
    assert storm.model.errors == 0 or lost or on_cut == "fail"
    again = fk.run(drive, str(session), seed=seed).to_dict()
    assert again["response_us"] == summary["response_us"]
    assert again["service_us"] == summary["service_us"]
