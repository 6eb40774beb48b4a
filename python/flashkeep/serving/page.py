"""The live page of a served drive: a small HTTP server beside it.

`ThreadingHTTPServer` of the standard library suffices: there are one page, two kinds of answers and a few viewers, and
the package keeps having no dependencies. It never touches the model. Figures come from the sampler, and verbs go
through the control socket, where they have their order among the requests.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import socket
import threading
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from urllib.parse import parse_qs, urlsplit

from .._flashkeep import OptionError
from ..render.figures import style_sheet
from .answers import shown
from .control import ask
from .sampling import Sampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 64 << 10
"""The longest body of a request, bytes: that of a line on the control socket."""

CONNECTIONS = 32
"""The most connections at a time."""

VERBS_AT_ONCE = 4
"""The most verbs at a time: the control socket has 16 clients."""

SILENCE_S = 10
"""After this time without a request, a connection ends. Each has one request: none outlives the server."""

POLL_S = 0.1
"""How often the server looks whether it is to end."""

KEPT_ACTIONS = 200
"""Actions in the log."""

KEY_HEADER = "X-Flashkeep-Key"
"""The header that has the key. Forms and scripts of other sites cannot set it."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:"


def parse_address(address: str, allow_remote: bool) -> tuple[str, int]:
    """Host and port of `--http`."""
    accepted = "127.0.0.1:PORT is accepted; port 0 takes a free one"
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise OptionError(f"--http: found `{address}`; {accepted}")
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise OptionError(f"--http: found the host `{host}`; {accepted}") from None
    if not loopback and not allow_remote:
        raise OptionError(f"--http: other machines could reach {address}; {accepted}, and others with --allow-remote")
    return host, int(port)


def page_text() -> bytes:
    """The page: one file, with nothing loaded from elsewhere."""
    pages = files("flashkeep.render") / "pages"

    def text(*names: str) -> str:
        return "\n".join(pages.joinpath(*name.split("/")).read_text(encoding="utf-8") for name in names)

    style = style_sheet() + text("live/style.css")
    script = text("sweep/axes.js", "live/charts.js", "live/page.js")
    return text("live/page.html").replace("{{style}}", style).replace("{{script}}", script).encode()


class RefusedError(Exception):
    """A request that is refused: status and reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class LivePage(ThreadingHTTPServer):
    """Serves the page of a drive. It listens at once, so that a port in use is refused before the drive is prepared."""

    daemon_threads = True

    def __init__(self, address: str, allow_remote: bool, control: str) -> None:
        host, port = parse_address(address, allow_remote)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), Handler)
        except OSError as error:
            raise OptionError(f"--http: {address}: {error.strerror}") from None
        self.control, self.sampler = control, Sampler(control)
        self.key, self.run = secrets.token_urlsafe(16), secrets.token_hex(4)
        self.page = page_text()
        self.actions: deque[dict[str, Any]] = deque(maxlen=KEPT_ACTIONS)
        self.verbs = threading.BoundedSemaphore(VERBS_AT_ONCE)
        self._connections = threading.BoundedSemaphore(CONNECTIONS)
        self._thread = threading.Thread(target=self.serve_forever, args=(POLL_S,), name="flashkeep page", daemon=True)

    @property
    def url(self) -> str:
        """The address of the page, with the key that its buttons need."""
        host, port = self.server_address[:2]
        shown = f"[{host!s}]" if self.address_family == socket.AF_INET6 else str(host)
        return f"http://{shown}:{port}/#{self.key}"

    def start(self) -> None:
        """The drive is being served."""
        self.sampler.start()
        self._thread.start()

    def close(self) -> None:
        """Ends the server."""
        self.sampler.close()
        if self._thread.is_alive():
            self.shutdown()
        self.server_close()

    def server_bind(self) -> None:
        """Without the look-up of the host's name, which may ask a network."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers in a thread of its own, or not at all where there are too many."""
        if self._connections.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """The thread of a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes early is no error of the drive."""

    def carry_out(self, verb: str, arguments: list[str]) -> dict[str, Any]:
        """Carries out a verb and notes it in the log."""
        if not self.verbs.acquire(blocking=False):
            raise RefusedError(503, f"{VERBS_AT_ONCE} verbs are being carried out; try again")
        action = {"wall_s": self.sampler.wall_s(), "at": time.strftime("%H:%M:%S")}
        try:
            answer = ask(self.control, verb, *arguments)
            told, answer = shown(answer), {"ok": True, **answer}
        except (OSError, OptionError) as problem:
            told = str(problem)
            answer = {"ok": False, "error": told}
        finally:
            self.verbs.release()
        self.actions.append({**action, "verb": verb, "arguments": arguments, "ok": answer["ok"], "told": told})
        return answer


class Handler(BaseHTTPRequestHandler):
    """Answers a connection."""

    server: LivePage
    server_version, sys_version = "flashkeep", ""
    timeout = SILENCE_S

    def do_GET(self) -> None:
        """The page, or the figures."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """A verb."""
        self._answer(self._post)

    def _answer(self, work: Any) -> None:
        try:
            self._check_host()
            kind, body = work()
            self._send(200, kind, body)
        except RefusedError as refused:
            self._send(refused.status, "application/json", _json({"ok": False, "error": str(refused)}))

    def _check_host(self) -> None:
        """Refuses names that another site may have pointed here, and requests of other sites' pages."""
        host = self.headers.get("Host", "")
        name = ""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            ipaddress.ip_address(name)
        except ValueError:
            if name not in ("localhost", socket.gethostname().lower()):
                raise RefusedError(
                    403, f"Host: found `{host}`; an IP address, localhost and this machine are accepted"
                ) from None
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{host}":
            raise RefusedError(403, f"Origin: found `{origin}`; the page itself is accepted, http://{host}")

    def _get(self) -> tuple[str, bytes]:
        parts = urlsplit(self.path)
        if parts.path == "/":
            return "text/html; charset=utf-8", self.server.page
        if parts.path == "/figures":
            after = parse_qs(parts.query).get("after", ["0"])[-1]
            if not (after.isascii() and after.isdigit() and len(after) < 16):
                raise RefusedError(400, f"after: found `{after}`; the number of a sample is accepted")
            found = self.server.sampler.figures(int(after))
            return "application/json", _json({"run": self.server.run, **found, "actions": list(self.server.actions)})
        raise RefusedError(404, f"found {parts.path}; GET / and /figures, and POST /control are accepted")

    def _post(self) -> tuple[str, bytes]:
        if self.path != "/control":
            raise RefusedError(404, f"found {self.path}; POST /control is accepted")
        if not hmac.compare_digest(self.headers.get(KEY_HEADER, "").encode(), self.server.key.encode()):
            raise RefusedError(
                403, f"{KEY_HEADER}: wrong or missing; the key is in the address that flashkeep serve has printed"
            )
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise RefusedError(411, "Content-Length is missing")
        if len(length) > 9 or int(length) > LONGEST:
            raise RefusedError(413, f"a body of {length} bytes; {LONGEST} are accepted")
        verb, arguments = read_verb(self.rfile.read(int(length)))
        return "application/json", _json(self.server.carry_out(verb, arguments))

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind), ("Content-Length", str(len(body))), ("Cache-Control", "no-store"),
            ("Content-Security-Policy", POLICY + "; frame-ancestors 'none'"), ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
        ):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the library refuses, such as another method."""
        reason = message or explain or self.responses.get(code, ("refused", ""))[0]
        self._send(code, "application/json", _json({"ok": False, "error": reason}))

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: the terminal is the drive's."""


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def read_verb(body: bytes) -> tuple[str, list[str]]:
    """The verb of a body: `{"verb": "fail", "arguments": ["chip:0.0"]}`."""
    accepted = '{"verb": "fail", "arguments": ["chip:0.0"]} is accepted'
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"{error}; {accepted}") from None
    if not isinstance(asked, dict) or set(asked) - {"verb", "arguments"} or not isinstance(asked.get("verb"), str):
        raise RefusedError(400, accepted)
    arguments = asked.get("arguments", [])
    if not isinstance(arguments, list) or not all(type(each) in (str, int, float) for each in arguments):
        raise RefusedError(400, f"arguments: a list of texts and numbers; {accepted}")
    return asked["verb"], [str(each) for each in arguments]
