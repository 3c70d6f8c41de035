"""The part of the hub's interface that the client needs for downloads, on this machine."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What the server has and what it was asked for.

    Attributes:
        repo: OWNER/NAME of the only repository.
        files: its contents, by name.
        large: names of files that are kept in large file storage.
        sent: what is sent in place of a content, by name, while the description stays.
        requests: method and path of every request.
        address: of the server.
    """

    repo: str
    files: Mapping[str, bytes]
    large: frozenset[str] = frozenset()
    sent: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    address: str = ""

    def sibling(self, name: str) -> dict[str, object]:
        data = self.files[name]
        entry: dict[str, object] = {
            "rfilename": name,
            "size": len(data),
            "blobId": git_blob(data),
        }
        if name in self.large:
            sha256 = hashlib.sha256(data).hexdigest()
            entry["lfs"] = {"sha256": sha256, "size": len(data), "pointerSize": 130}
        return entry

    def leaf(self, name: str) -> dict[str, object]:
        data = self.files[name]
        leaf = {"type": "file", "path": name, "size": len(data), "oid": git_blob(data)}
        if name in self.large:
            sha256 = hashlib.sha256(data).hexdigest()
            leaf["lfs"] = {"oid": sha256, "size": len(data), "pointerSize": 130}
        return leaf

    def etag(self, name: str) -> str:
        data = self.files[name]
        return hashlib.sha256(data).hexdigest() if name in self.large else git_blob(data)


def git_blob(data: bytes) -> str:
    """Git's name for a content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve it on a free port of the loopback interface."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.requests.append(f"{self.command} {path}")
            api, files = f"/api/models/{hub.repo}", f"/{hub.repo}/resolve/{COMMIT}/"
            if path in (api, f"{api}/revision/main", f"{api}/revision/{COMMIT}"):
                siblings = [hub.sibling(name) for name in hub.files]
                self.answer({"id": hub.repo, "sha": COMMIT, "siblings": siblings})
            elif path == f"{api}/tree/{COMMIT}":
                self.answer([hub.leaf(name) for name in hub.files])
            elif path.startswith(files) and path.removeprefix(files) in hub.files:
                name = path.removeprefix(files)
                data = hub.sent.get(name, hub.files[name])
                tag = {"ETag": f'"{hub.etag(name)}"', "X-Repo-Commit": COMMIT}
                self.send(200, data, tag)
            elif path.startswith(f"{api}/revision/"):
                self.send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            else:
                self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

        def answer(self, value: object) -> None:
            self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

        def send(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
