"""An ext4 file system on a served drive, and files of its crash images: the programs that example 10 needs.

The served drive becomes a file (nbdfuse). The kernel mounts it through a loop device where we may, else fuse2fs does.
Crash images are repaired with e2fsck and read with debugfs, without mounting them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

os.environ["PATH"] += os.pathsep + "/usr/sbin"  # mke2fs, e2fsck, debugfs

SIZE = "64M"
"""The size of the file system: it takes the beginning of the drive."""


def missing() -> str:
    """The reason for which a served drive cannot be mounted here, or nothing."""
    programs = ("nbdfuse", "mke2fs", "e2fsck", "debugfs")
    lacking = [name for name in programs if not shutil.which(name)]
    if not kernel_mounts() and not shutil.which("fuse2fs"):
        lacking.append("fuse2fs")
    if lacking:
        return f"{', '.join(lacking)} not found: on Debian, apt-get install libnbd-bin e2fsprogs fuse2fs"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse cannot be opened: this needs a kernel with FUSE, and in a container --device /dev/fuse"
    return ""


def exit_if_missing() -> None:
    """Ends the program where a served drive cannot be mounted, and says why."""
    if reason := missing():
        sys.exit(f"A served drive cannot be mounted here: {reason}.")


def kernel_mounts() -> bool:
    """Whether this user and this kernel can mount ext4."""
    filesystems = Path("/proc/filesystems")
    known = filesystems.exists() and "\text4\n" in filesystems.read_text(encoding="ascii")
    return known and os.geteuid() == 0 and os.path.exists("/dev/loop-control")


def run(*command: str | Path, accepted: tuple[int, ...] = (0,)) -> str:
    """Runs a program, and returns its output; `OSError` with its messages if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode not in accepted:
        raise OSError(done.returncode, f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def _unmount(folder: Path) -> None:
    command = ("umount",) if os.geteuid() == 0 else (shutil.which("fusermount3") or "fusermount", "-u")
    for attempt in range(50):
        try:
            run(*command, folder)
            return
        except OSError:  # a program that has just ended may still be in it
            if attempt == 49:
                raise
            time.sleep(0.1)


def _as_file(uri: str, folder: Path, stack: contextlib.ExitStack) -> Path:
    """A served drive as a file."""
    folder.mkdir()
    served = subprocess.Popen(["nbdfuse", folder, uri], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    stack.callback(served.communicate)
    stack.callback(served.terminate)  # it unmounts its folder
    deadline = time.monotonic() + 10
    while not (folder / "nbd").exists():
        if served.poll() is not None or time.monotonic() > deadline:
            served.terminate()
            raise OSError(None, f"nbdfuse: {served.communicate()[1].strip() or 'no file after ten seconds'}")
        time.sleep(0.02)
    return folder / "nbd"


@contextlib.contextmanager
def mounted(uri: str, driver: str | None = None) -> Iterator[tuple[Path, Path]]:
    """A new ext4 file system with a journal on a served drive, and a folder for files beside it. The driver is `kernel`
    or `fuse2fs`."""
    driver = driver or ("kernel" if kernel_mounts() else "fuse2fs")
    if driver not in ("kernel", "fuse2fs"):
        raise ValueError(f"driver: found {driver!r}; 'kernel' and 'fuse2fs' are accepted")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        drive = _as_file(uri, folder / "drive", stack)
        run("mke2fs", "-q", "-F", "-t", "ext4", "-E", "nodiscard", drive, SIZE)
        mount = folder / "mounted"
        mount.mkdir()
        if driver == "kernel":
            loop = run("losetup", "--find", "--show", drive).strip()
            stack.callback(run, "losetup", "--detach", loop)
            run("mount", "-t", "ext4", loop, mount)
        else:
            run("fuse2fs", drive, mount, "-o", "fakeroot")
        stack.callback(_unmount, mount)
        yield mount, folder


def take_files(image: Path, names: tuple[str, ...], to: Path) -> None:
    """Repairs the file system of a crash image, as at boot, takes its files that are not empty, and removes the image.

    Raises `OSError` if there is no file system left, or not the first file.
    """
    for name in names:
        (to / name).unlink(missing_ok=True)
    try:
        run("e2fsck", "-fy", image, accepted=(0, 1))
        for name in names:
            run("debugfs", "-R", f"dump /{name} {to / name}", image)
    finally:
        image.unlink(missing_ok=True)
    for name in names:
        if (to / name).exists() and not (to / name).stat().st_size:
            (to / name).unlink()
    if not (to / names[0]).exists():
        raise FileNotFoundError(f"{names[0]}: not in the file system of {image}")
