"""A stand-in of the Hugging Face Hub: a real HTTP server that speaks as much of its API as the client uses for models.

Repositories are kept in memory, as commits of whole files. Large files (``.safetensors``) go the way of Git LFS, the
others inside the commit, as on the Hub itself.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

Files = dict[str, bytes]


@dataclass
class Repository:
    """Branches, and what each commit holds."""

    private: bool = False
    commits: dict[str, Files] = field(default_factory=lambda: {"0" * 40: {}})
    branches: dict[str, str] = field(default_factory=lambda: {"main": "0" * 40})

    def commit_of(self, revision: str) -> str | None:
        return self.branches.get(revision, revision if revision in self.commits else None)

    def files(self, revision: str = "main") -> Files:
        return self.commits[self.branches[revision]]

    def commit(self, revision: str, files: Files) -> str:
        parent = self.branches[revision]
        content = {**self.commits[parent], **files}
        oid = hashlib.sha1(f"{parent}{sorted(content)}{len(self.commits)}".encode()).hexdigest()
        self.commits[oid] = content
        self.branches[revision] = oid
        return oid


@dataclass
class Hub:
    """What the server holds, and what it was asked.

    Attributes:
        url: Where it listens.
        token: The one it accepts for writing and for private models.
        requests: "METHOD path" of every request.
        refused: Parts of paths that are answered with the status given here.
        broken: Names of files whose download breaks off half way.
    """

    url: str = ""
    token: str = "hf_good"
    repositories: dict[str, Repository] = field(default_factory=dict)
    objects: Files = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)


@contextmanager
def running_hub() -> Iterator[Hub]:
    """Run a hub on a free port of this machine."""
    hub = Hub()

    class Bound(_Handler):
        pass

    Bound.hub = hub
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def use_hub(monkeypatch: pytest.MonkeyPatch, url: str, cache: Path) -> None:
    """Do what HF_ENDPOINT, HF_HUB_CACHE and HF_HUB_DISABLE_XET do when the client is imported."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)  # benchmarks turn it on when they are imported
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # the stand-in speaks Git LFS


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer("GET")

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self, method: str) -> None:
        path = unquote(self.path.partition("?")[0])
        self.hub.requests.append(f"{method} {path}")
        self.body = self._read()
        for part, status in self.hub.refused.items():
            if part in path:
                return self._json({"error": "refused"}, status)
        for kind, pattern, handler in _ROUTES:
            found = re.fullmatch(pattern, path)
            if found and kind == method:
                return handler(self, *found.groups())
        return self._json({"error": f"nothing at {method} {path}"}, 404)

    def _read(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _json(self, value: Any, status: int = 200, **headers: str) -> None:
        self._send(json.dumps(value).encode(), status, {"Content-Type": "application/json", **headers})

    def _send(self, data: bytes, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _may_write(self) -> bool:
        if self.headers.get("Authorization") == f"Bearer {self.hub.token}":
            return True
        self._json({"error": "Invalid username or password."}, 401)
        return False

    def _repository(self, name: str) -> Repository | None:
        found = self.hub.repositories.get(name)
        if found and found.private and self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            found = None  # the Hub does not tell that it is there
        if found is None:
            self._json({"error": "Repository not found"}, 404, **{"X-Error-Code": "RepoNotFound"})
        return found

    def _commit(self, repository: Repository, revision: str) -> str | None:
        commit = repository.commit_of(revision)
        if commit is None:
            self._json({"error": "Invalid rev id"}, 404, **{"X-Error-Code": "RevisionNotFound"})
        return commit

    # What the client asks for

    def create(self) -> None:
        if not self._may_write():
            return
        asked = json.loads(self.body)
        name = f"{asked['organization']}/{asked['name']}"
        status = 409 if name in self.hub.repositories else 200
        private = asked.get("visibility") == "private" or bool(asked.get("private"))
        self.hub.repositories.setdefault(name, Repository(private))
        self._json({"url": f"{self.hub.url}/{name}", "name": name}, status)

    def branch(self, name: str, branch: str) -> None:
        repository = self._repository(name)
        if repository and self._may_write():
            repository.branches.setdefault(branch, repository.branches["main"])
            self._json({})

    def info(self, name: str, revision: str = "main") -> None:
        repository = self._repository(name)
        commit = repository and self._commit(repository, revision)
        if repository and commit:
            siblings = [{"rfilename": path} for path in repository.commits[commit]]
            self._json({"id": name, "modelId": name, "sha": commit, "siblings": siblings, "tags": []})

    def tree(self, name: str, revision: str) -> None:
        repository = self._repository(name)
        commit = repository and self._commit(repository, revision)
        if repository and commit:
            self._json([self._entry(path, data) for path, data in repository.commits[commit].items()])

    def _entry(self, path: str, data: bytes) -> dict[str, Any]:
        entry: dict[str, Any] = {"type": "file", "path": path, "size": len(data), "oid": _blob(data)}
        if path.endswith(".safetensors"):
            entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
        return entry

    def validate(self) -> None:
        import yaml

        header = re.match(r"---\n(.*?)\n---\n", json.loads(self.body)["content"], re.DOTALL)
        if header is None or not isinstance(yaml.safe_load(header[1]), dict):
            self._json({"errors": [{"message": "no metadata"}]}, 400)
        else:
            self._json({"errors": [], "warnings": []})

    def preupload(self, name: str, revision: str) -> None:
        if self._repository(name) and self._may_write():
            modes = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                    "shouldIgnore": False,
                }
                for file in json.loads(self.body)["files"]
            ]
            self._json({"files": modes})

    def batch(self, name: str) -> None:
        objects = []
        for item in json.loads(self.body)["objects"]:
            action = {"upload": {"href": f"{self.hub.url}/lfs/{item['oid']}", "header": {}}}
            objects.append(item if item["oid"] in self.hub.objects else {**item, "actions": action})
        self._json({"transfer": "basic", "objects": objects})

    def put(self, oid: str) -> None:
        if hashlib.sha256(self.body).hexdigest() != oid:
            return self._json({"error": "the sum does not agree"}, 400)
        self.hub.objects[oid] = self.body
        return self._json({})

    def commit(self, name: str, revision: str) -> None:
        repository = self._repository(name)
        if not repository or not self._may_write():
            return
        files: Files = {}
        for line in self.body.splitlines():
            item = json.loads(line)
            if item["key"] == "file":
                files[item["value"]["path"]] = base64.b64decode(item["value"]["content"])
            elif item["key"] == "lfsFile":
                files[item["value"]["path"]] = self.hub.objects[item["value"]["oid"]]
        oid = repository.commit(revision, files)
        self._json({"success": True, "commitOid": oid, "commitUrl": f"{self.hub.url}/{name}/commit/{oid}"})

    def resolve(self, name: str, revision: str, path: str) -> None:
        repository = self._repository(name)
        commit = repository and self._commit(repository, revision)
        if not repository or not commit:
            return None
        data = repository.commits[commit].get(path)
        if data is None:
            headers = {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}
            return self._json({"error": "Entry not found"}, 404, **headers)
        if path in self.hub.broken and self.command == "GET":
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            return None
        large = path.endswith(".safetensors")
        etag = hashlib.sha256(data).hexdigest() if large else _blob(data)
        return self._send(data, 200, {"ETag": f'"{etag}"', "X-Repo-Commit": commit})


def _blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


_REPO = r"([\w.-]+/[\w.-]+)"
_ROUTES: list[tuple[str, str, Any]] = [
    ("POST", "/api/repos/create", _Handler.create),
    ("POST", "/api/validate-yaml", _Handler.validate),
    ("POST", rf"/api/models/{_REPO}/branch/(.+)", _Handler.branch),
    ("GET", rf"/api/models/{_REPO}/revision/(.+)", _Handler.info),
    ("GET", rf"/api/models/{_REPO}", _Handler.info),
    ("GET", rf"/api/models/{_REPO}/tree/([^/]+)", _Handler.tree),
    ("POST", rf"/api/models/{_REPO}/preupload/(.+)", _Handler.preupload),
    ("POST", rf"/{_REPO}\.git/info/lfs/objects/batch", _Handler.batch),
    ("PUT", r"/lfs/(\w+)", _Handler.put),
    ("POST", rf"/api/models/{_REPO}/commit/(.+)", _Handler.commit),
    ("GET", rf"/{_REPO}/resolve/([^/]+)/(.+)", _Handler.resolve),
    ("HEAD", rf"/{_REPO}/resolve/([^/]+)/(.+)", _Handler.resolve),
]
