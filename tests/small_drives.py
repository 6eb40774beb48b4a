"""The small drive that tests of keys and of errors write."""

from __future__ import annotations

DRIVE = """\
[flash]
channels = {channels}
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = {blocks}
pages_per_block = {pages}
page_kib = 4
timing = {{ read_us = 50, program_us = 300, erase_us = 1000, bus_ns_per_byte = 10 }}

[ftl]
over_provisioning = 0.5

[start]
existing = "all"
"""


def small_drive(channels: int = 1, blocks: int = 32, pages: int = 16) -> str:
    """A drive file: full, with one die of one plane a channel, 50 % over-provisioning and round times. Of its pages of
    4 KiB each takes 40.96 µs over the channel: 90.96 µs to read, 340.96 µs to write."""
    return DRIVE.format(channels=channels, blocks=blocks, pages=pages)
