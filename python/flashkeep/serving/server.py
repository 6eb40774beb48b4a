"""A drive that is served while Python continues: `with flashkeep.serve("tlc-client") as served: …`."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time

from .. import _flashkeep
from ..api import job_of, note_run
from ..inputs.run_options import OF_SERVED_DRIVES, RUN_OPTIONS
from ..results.provenance import Inputs
from ..results.result import Result
from ..results.tree_view import suggested
from .control import ask, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Any, SupportsIndex

    from ..inputs.drive_files import Drive
    from .page import LivePage

TICK_S = 0.1
"""How often waiting threads look for signals."""


class Addresses:
    """Where a drive is served: the addresses that were given, or sockets in a folder that only its user can read."""

    def __init__(self, listen: Sequence[str], control: str | None) -> None:
        self.folder = None if listen and control else tempfile.mkdtemp(prefix="flashkeep-", dir=_private_folder())
        self.listen = list(listen) or [f"unix:{self.folder}/nbd.sock"]
        self.control = path_of(control) if control else f"{self.folder}/control.sock"

    def remove(self) -> None:
        """Removes the folder."""
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def _private_folder() -> str | None:
    """The folder for sockets of the user, where the system has one. Paths of sockets are short."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    return folder if os.path.isdir(folder) and os.access(folder, os.W_OK) else None


def _check_folder(option: str, path: object) -> None:
    """Refuses a file that cannot be written at the end, before hours are spent."""
    if path and not os.access(folder := os.path.dirname(str(path)) or ".", os.W_OK):
        raise OSError(None, f"{option}: {path}: the folder {folder} is missing or cannot be written")
    if path and os.path.isdir(str(path)):
        raise OSError(None, f"{option}: {path} is a directory; name a file")


def uri_of(address: str) -> str:
    """The URI that clients of NBD take for an address."""
    kind, _, where = address.partition(":")
    if kind == "unix":
        from urllib.parse import quote

        return f"nbd+unix:///?socket={quote(where)}"
    return f"nbd://{where}"


def serve_job(
    job: Mapping[str, object],
    addresses: Addresses,
    options: Mapping[str, object],
    started: Callable[[list[str], int], object],
    stop: _flashkeep.ServeStop,
    command: str | None = None,
) -> dict[str, Any]:
    """Serves the drive of a job until `stop` is set, and returns the summary. `started` gets the addresses and the size
    of the drive when clients can connect."""
    given = {"listen": addresses.listen, "control": addresses.control, **options}
    inputs, began = Inputs(job), time.perf_counter()
    try:
        _check_folder("--save-aged", options.get("save_aged"))
        summary: dict[str, Any] = json.loads(_flashkeep.serve(json.dumps(job), json.dumps(given), started, stop))
    finally:
        addresses.remove()
    note_run(summary, time.perf_counter() - began)
    inputs.describe(summary, command)
    return summary


class Served:
    """A drive that is being served. At the end of its `with` block the server ends, and `result` is the result."""

    def __init__(
        self,
        job: Mapping[str, object],
        addresses: Addresses,
        options: Mapping[str, object],
        command: str | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """Returns when clients can connect. `interrupted` is asked while the drive is being prepared."""
        self._addresses, self._command = addresses, command
        of_server = {name: value for name, value in options.items() if name != "http"}
        self._page: LivePage | None = None
        if options.get("http") is not None:
            from .page import LivePage

            try:
                self._page = LivePage(str(options["http"]), bool(options["allow_remote"]), addresses.control)
            except BaseException:
                addresses.remove()
                raise
        self._end = _flashkeep.ServeStop()
        self._ready = threading.Event()
        self._uris: list[str] = []
        self._size = 0
        self._summary: dict[str, Any] | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, args=(job, of_server), name="flashkeep serve", daemon=True)
        self._thread.start()
        try:
            while not self._ready.wait(TICK_S):
                if interrupted():
                    self._end.set()
        except BaseException:
            self._end.set()
            self._close_page()
            raise
        if self._failure is not None:
            self._close_page()
            raise self._failure
        if self._page:
            self._page.start()

    def _close_page(self) -> None:
        if self._page:
            self._page.close()

    def _serve(self, job: Mapping[str, object], options: Mapping[str, object]) -> None:
        def started(addresses: list[str], size: int) -> None:
            self._uris, self._size = [uri_of(address) for address in addresses], size
            self._ready.set()

        try:
            self._summary = serve_job(job, self._addresses, options, started, self._end, self._command)
        except BaseException as failure:  # it is raised in the thread that waits
            self._failure = failure
        finally:
            self._ready.set()

    @property
    def uri(self) -> str:
        """The URI for clients of NBD."""
        return self._uris[0]

    @property
    def uris(self) -> list[str]:
        """The URIs of all addresses."""
        return list(self._uris)

    @property
    def size(self) -> int:
        """Bytes of the drive."""
        return self._size

    @property
    def http_url(self) -> str | None:
        """The address of the live page, with the key that its buttons need; none without `http`."""
        return self._page.url if self._page else None

    @property
    def control_socket(self) -> str:
        """The path of the control socket."""
        return self._addresses.control

    def control(self, verb: str, *arguments: object) -> dict[str, Any]:
        """Carries out a verb of the control socket and returns its answer: `control("fail", "chip:0.0")`."""
        return ask(self.control_socket, verb, *arguments)

    def wait(self, seconds: float) -> bool:
        """Waits for the end of the server, at most this long; whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def stop(self) -> Result:
        """Ends the server, once the outstanding requests are answered, and returns the result.

        It raises `OptionError` if the drive could not be saved; `summary()` has the figures then.
        """
        summary = self.summary()
        if problem := summary["serve"].get("not_saved"):
            raise _flashkeep.OptionError(problem)
        return Result(summary)

    def summary(self) -> dict[str, Any]:
        """The same, as in `summary.json`."""
        self._end.set()
        self._thread.join()
        self._close_page()
        if self._failure is not None:
            raise self._failure
        assert self._summary is not None
        return self._summary

    @property
    def result(self) -> Result:
        """The result of the run that the requests of the clients made; the server ends first."""
        return self.stop()

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except BaseException:
            if kind is None:
                raise


def serve_drive(drive: Drive, seed: SupportsIndex, options: Mapping[str, Any], given: Mapping[str, Any]) -> Served:
    """Serves a drive with options of a run, and with those that only a served drive has."""
    for name in options:
        if name in OF_SERVED_DRIVES:
            continue
        accepted = f"{', '.join(OF_SERVED_DRIVES[:-1])} and {OF_SERVED_DRIVES[-1]} are accepted"
        if any(name == option.in_python for option in RUN_OPTIONS):
            raise _flashkeep.OptionError(f"{name}: a served drive does not have this option of a run; {accepted}")
        raise TypeError(f"unexpected option {name!r}; {suggested(name, (*given, 'seed', *OF_SERVED_DRIVES))}")
    if given["on_cut"] not in ("fail", "wait"):
        raise _flashkeep.OptionError(f"on_cut: found {given['on_cut']!r}; 'fail' and 'wait' are accepted")
    if not isinstance(given["time"], str):
        raise _flashkeep.OptionError(f"time: found {given['time']!r}; 'real', 'no-wait' and 'scale=N' are accepted")
    for address in given["listen"]:
        if not isinstance(address, str):
            raise _flashkeep.OptionError(f"listen: found {address!r}; unix:PATH and tcp:127.0.0.1:PORT are accepted")
    if given["http"] is not None and not isinstance(given["http"], str):
        raise _flashkeep.OptionError(f"http: found {given['http']!r}; 127.0.0.1:PORT is accepted")
    job = job_of(drive, None, seed, options, False)
    of_server = {name: value for name, value in given.items() if name not in ("listen", "control")}
    return Served(job, Addresses(given["listen"], given["control"]), of_server)
