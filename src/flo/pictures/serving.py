"""A page that is served while something runs: on this machine only, by a thread of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from flo.core.errors import ElementError, FloError, brief

LOOPBACK = "127.0.0.1"
ASKED = Mapping[str, str]
"""What an address asks for, after its question mark."""


@dataclass(frozen=True)
class Answer:
    """A way to answer requests for a path: the type of the content, and how to make it."""

    type: str
    make: Callable[[ASKED], str]


class PageServer:
    """Serves a page at `url` until it is closed, or the process ends. Other machines cannot reach it."""

    def __init__(self, name: str, answers: Mapping[str, Answer], port: int | None = None) -> None:
        """`answers` has the path "/" and others. Without a port, a free one is chosen."""
        if port is not None and (not isinstance(port, int) or not 0 <= port < 1 << 16):
            raise ElementError(f"`port` must be an integer from 0 to 65,535; got {brief(port)}").at_users_line()
        try:
            self._server = ThreadingHTTPServer((LOOPBACK, port or 0), _handler(answers))
        except OSError as error:
            raise FloError(
                f"port {port} is not free: {error.strerror}",
                instead=(("no port", "chooses a free one"),),
            ).at_users_line() from None
        self._server.daemon_threads = True
        self.name, self.port = name, self._server.server_address[1]
        self.closed = False
        threading.Thread(target=self._server.serve_forever, name=f"flo page {self.port}", daemon=True).start()

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.port}/"

    def close(self) -> None:
        """Stop serving."""
        self.closed = True
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<the page of {self.name!r} at {self.url}>"

    def _repr_html_(self) -> str:
        return f'the page of {escape(self.name)}: <a href="{self.url}" target="_blank">{self.url}</a>'


def _handler(answers: Mapping[str, Answer]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers requests of this machine. A page of another host that names itself 127.0.0.1 is turned away, and so
        is one that asks for data from a browser of this machine."""

        def do_GET(self) -> None:
            path = urlsplit(self.path)
            answer = answers.get(path.path)
            host = (self.headers.get("Host") or "").rpartition(":")[0]
            foreign = path.path != "/" and self.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")
            if answer is None or foreign or host not in (LOOPBACK, "localhost"):
                self.send_error(404 if answer is None else 403)
                return
            try:
                text = answer.make({name: values[-1] for name, values in parse_qs(path.query).items()})
            except Exception as error:
                self.send_error(500, explain=f"{type(error).__name__}: {error}")
                return
            data = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", f"{answer.type}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("X-Frame-Options", "SAMEORIGIN")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Say nothing: the terminal is the user's."""

    return Handler
