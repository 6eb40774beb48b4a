"""A small NBD client, which keeps many requests outstanding: a peer of the server that shares no code with it."""

from __future__ import annotations

import socket
import struct
from typing import Any, NamedTuple

READ, WRITE, FLUSH, TRIM, CACHE, WRITE_ZEROES = 0, 1, 3, 4, 5, 6
FUA = 1


class Reply(NamedTuple):
    """The answer to a request: its number, the error number, and the bytes that were read, by their offset."""

    number: int
    error: int
    pieces: dict[int, bytes]


class Client:
    """A connection with structured replies."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect(path)
        self._file = self._socket.makefile("rb")
        self._numbers = 0
        self._outstanding: dict[int, tuple[int, dict[int, bytes]]] = {}
        assert self._read(">8s8sH")[:2] == (b"NBDMAGIC", b"IHAVEOPT")
        self._socket.sendall(struct.pack(">I", 3))
        self._option(8, b"")  # structured replies
        for kind, payload in self._option(7, struct.pack(">IH", 0, 0)):  # GO
            if kind == 3 and payload[:2] == b"\0\0":
                self.size, self.flags = struct.unpack(">QH", payload[2:12])

    def _read(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))

    def _bytes(self, length: int) -> bytes:
        found = self._file.read(length)
        assert len(found) == length, "the server has closed the connection"
        return found

    def _option(self, option: int, payload: bytes) -> list[tuple[int, bytes]]:
        self._socket.sendall(b"IHAVEOPT" + struct.pack(">II", option, len(payload)) + payload)
        replies: list[tuple[int, bytes]] = []
        while not replies or replies[-1][0] not in (1, *range(2**31, 2**31 + 20)):
            _, _, kind, length = self._read(">QIII")
            replies.append((kind, self._bytes(length)))
        return replies

    @property
    def outstanding(self) -> int:
        """Requests without an answer."""
        return len(self._outstanding)

    def send(self, kind: int, offset: int, length: int, data: bytes = b"", flags: int = 0) -> int:
        """Sends a request; its number."""
        self._numbers += 1
        header = struct.pack(">IHHQQI", 0x25609513, flags, kind, self._numbers, offset, length)
        self._socket.sendall(header + data)
        self._outstanding[self._numbers] = (0, {})
        return self._numbers

    def receive(self) -> Reply:
        """The next answer that is whole."""
        while True:
            (magic,) = self._read(">I")
            if magic == 0x67446698:
                error, number = self._read(">IQ")
                del self._outstanding[number]
                return Reply(number, error, {})
            assert magic == 0x668E33EF
            flags, kind, number, length = self._read(">HHQI")
            payload = self._bytes(length)
            error, pieces = self._outstanding[number]
            if kind == 1:
                pieces[struct.unpack(">Q", payload[:8])[0]] = payload[8:]
            elif kind == 2:
                offset, count = struct.unpack(">QI", payload)
                pieces[offset] = bytes(count)
            elif kind >= 2**15:
                error = error or struct.unpack(">I", payload[:4])[0]
            self._outstanding[number] = (error, pieces)
            if flags & 1:
                del self._outstanding[number]
                return Reply(number, error, pieces)

    def call(self, kind: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0) -> Reply:
        """Sends a request and waits for its answer; there are no others."""
        self.send(kind, offset, length, data, flags)
        return self.receive()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()
