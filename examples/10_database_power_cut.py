"""Does my database survive a power cut? SQLite on ext4 on a served drive that loses power at random commits.

python 10_database_power_cut.py [CUTS] [kernel|fuse2fs]
"""

import random
import sqlite3
import sys
from contextlib import closing, suppress
from threading import Timer

import flashkeep as fk
from served_ext4 import exit_if_missing, mounted, take_files

# Two dies of small blocks: a crash image takes milliseconds.
DRIVE = "tlc-client,flash.channels=2,flash.chips_per_channel=1,flash.blocks_per_plane=64,flash.pages_per_block=96"
MODES = [("DELETE", "FULL"), ("DELETE", "EXTRA"), ("TRUNCATE", "FULL"), ("WAL", "FULL"), ("WAL", "NORMAL")]
TABLE = "CREATE TABLE t (n INTEGER PRIMARY KEY, bytes BLOB); PRAGMA wal_checkpoint(TRUNCATE)"
COUNT = "SELECT integrity_check, (SELECT count(*) FROM t WHERE n <= ?) FROM pragma_integrity_check"


def lost_rows(folder, acknowledged):
    """The acknowledged rows that a crash image lacks; None if it has no intact database."""
    with suppress(sqlite3.DatabaseError, OSError):
        take_files(folder / "image", ("db", "db-journal", "db-wal"), folder)
        with closing(sqlite3.connect(folder / "db")) as db:
            verdict, found = db.execute(COUNT, [acknowledged]).fetchone()
            return acknowledged - found if verdict == "ok" else None
    return None


def cut_power(journal, synchronous, cuts, lies=False, driver=None):
    """The acknowledged rows that each cut loses. The drive continues: a cut is a crash image."""
    draw, rows = random.Random(1), 0
    with (fk.serve(DRIVE, time="no-wait", ignore_flush=lies) as served, mounted(served.uri, driver) as (mount, folder),
          closing(sqlite3.connect(mount / "db", isolation_level=None)) as db):  # fmt: skip
        db.executescript(f"PRAGMA journal_mode={journal}; PRAGMA synchronous={synchronous}; {TABLE}")
        for cut in range(cuts):
            # Each row is a transaction. Every other cut comes within one, the others right after one.
            image = ("crash-image", folder / "image", ("none", "half", "all")[cut % 3], cut)
            cutter = Timer(cut % 2 * draw.random() / 200, served.control, image)
            before, within = ([[draw.randbytes(2000)]] * count for count in (draw.randint(1, 5), cut % 2))
            db.executemany("INSERT INTO t (bytes) VALUES (?)", before)
            cutter.start()
            db.executemany("INSERT INTO t (bytes) VALUES (?)", within)
            cutter.join()
            yield lost_rows(folder, rows + len(before))
            rows += len(before) + len(within)


if __name__ == "__main__":
    exit_if_missing()
    cuts, driver = int([*sys.argv, 100][1]), [*sys.argv, None, None][2]
    print("flush    journal   synchronous  cuts  damaged  lost rows  most rows lost")
    for lies, mode in [*((False, mode) for mode in MODES), *((True, mode) for mode in MODES[:2])]:
        lost = list(cut_power(*mode, cuts, lies, driver))
        rows = [found for found in lost if found is not None]
        print(f"{'ignored' if lies else 'obeyed':8} {mode[0]:9} {mode[1]:12} {cuts:4} {lost.count(None):8} "
              f"{len(rows) - rows.count(0):10} {max(rows, default=0):15}", flush=True)  # fmt: skip
