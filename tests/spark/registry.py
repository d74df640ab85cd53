"""A schema registry for tests: the part of Confluent's interface that Flo reads, on loopback."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


class Registry(ThreadingHTTPServer):
    """Subjects with the versions of their schemas. A version that was deleted is shown on request."""

    def __init__(self, auth: tuple[str, str] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.subjects: dict[str, dict[int, dict[str, Any]]] = {}
        self.deleted = set[tuple[str, int]]()
        self.auth = auth
        self.asked = list[str]()
        self.broken = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def register(self, subject: str, id_: int, schema: str, **more: Any) -> None:
        """Adds a version. As in a registry, that of Avro has no type."""
        versions = self.subjects.setdefault(subject, {})
        number = len(versions) + 1
        versions[number] = {"subject": subject, "version": number, "id": id_, "schema": schema, **more}


class Handler(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        parts = urlsplit(self.path)
        code, answer = self.answer(parts.path.strip("/").split("/"), "true" in parse_qs(parts.query).get("deleted", []))
        body = b"<html>" if self.server.broken else json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self, path: list[str], deleted: bool) -> tuple[int, Any]:
        auth = self.server.auth
        expected = auth and "Basic " + base64.b64encode(":".join(auth).encode()).decode()
        if expected is not None and self.headers.get("Authorization") != expected:
            return 401, {"error_code": 401, "message": "Unauthorized"}
        subject = unquote(path[1])
        versions = self.server.subjects.get(subject, {})
        shown = {n: each for n, each in versions.items() if deleted or (subject, n) not in self.server.deleted}
        if not shown:
            return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
        return 200, list(shown) if len(path) == 3 else shown[int(path[3])]

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing."""


@contextmanager
def registry(auth: tuple[str, str] | None = None) -> Iterator[Registry]:
    """A registry that runs."""
    with Registry(auth) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
