"""Fixtures: one simulated fleet for the tests of real calls, and an API server that follows a script.

With `--api real` the fleet is on a real Kubernetes API (`real_station.py`), and only the tests that use it are run.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import real_station
import yaml

from skein._program import find
from skein.testing import SimulatedFleet, simulated_fleet

NEEDING = ("test_tutorial.py", "test_lifetime.py", "test_notebook.py", "test_own_code.py", "test_parallel.py")
"""The files whose every test runs the programs."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which Kubernetes API the fleet of the tests is on."""
    parser.addoption("--api", choices=["embedded", "real"], default="embedded", help="embedded: that of `skein up`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without the programs, only pure tests run; CI names them, so that nothing is left out there in silence."""
    if config.getoption("--api") == "real":
        others = [item for item in items if "station" not in getattr(item, "fixturenames", ())]
        items[:] = [item for item in items if item not in others]
        config.hook.pytest_deselected(items=others)
    if os.environ.get("SKEIN_BIN"):
        return
    for item in items:
        needs = {"station", "wheel"} & set(getattr(item, "fixturenames", ()))
        if needs or item.path.name in NEEDING:
            item.add_marker(pytest.mark.skip(reason="SKEIN_BIN does not name the program skein"))


@pytest.fixture(scope="module")
def station(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedFleet]:
    """A fleet for all tests of a file: an ArduPilot `a` and a PX4 `b`. Each test cleans up after itself."""
    with pytest.MonkeyPatch.context() as patch:
        if request.config.getoption("--api") == "real":
            wrapper = tmp_path_factory.mktemp("real") / "skein"
            command = [sys.executable, real_station.__file__, str(find("skein").resolve().parent)]
            wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
            wrapper.chmod(0o755)
            patch.setenv("SKEIN_SITL_BIN", str(find("skein-sitl")))
            patch.setenv("SKEIN_BIN", str(wrapper))
        with simulated_fleet() as fleet:
            yield fleet


@dataclass
class Answer:
    """One answer of a scripted API server: pieces of its body, each after so many seconds."""

    code: int = 200
    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    stays: bool = False
    """The connection stays open after the last piece."""
    comes: bool = True
    """False: the request gets no answer."""


class ScriptedApi:
    """An API server on loopback: answers in the order of `answers`, and keeps what was asked."""

    def __init__(self, folder: Path) -> None:
        self.answers: list[Answer] = []
        self.asked: list[tuple[str, str, str, Any]] = []
        self.over = threading.Event()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                api.asked.append((self.command, self.path, self.headers.get("Content-Type") or "", body))
                answer = api.answers.pop(0) if api.answers else Answer(503, [(0, b"{}")])
                with contextlib.suppress(ConnectionError):
                    self.give(answer)

            def give(self, answer: Answer) -> None:
                self.close_connection = answer.stays or not answer.comes
                if not answer.comes:
                    api.over.wait(30)
                    return
                self.send_response(answer.code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for after_s, piece in answer.pieces:
                    api.over.wait(after_s)
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                if answer.stays:
                    api.over.wait(30)
                else:
                    self.wfile.write(b"0\r\n\r\n")

            do_PATCH = do_GET
            do_DELETE = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(
            yaml.safe_dump(
                {
                    "current-context": "scripted",
                    "clusters": [
                        {"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.server.server_address[1]}"}}
                    ],
                    "users": [{"name": "u", "user": {"token": "abc"}}],
                    "contexts": [{"name": "scripted", "context": {"cluster": "c", "user": "u", "namespace": "field"}}],
                }
            )
        )

    def says(self, body: Any, code: int = 200) -> None:
        """The next answer."""
        self.answers.append(Answer(code, [(0, json.dumps(body).encode())]))

    def streams(self, *events: Any, stays: bool = False, after_s: float = 0) -> None:
        """The next answer, of a watch: events, each after so many seconds."""
        self.answers.append(Answer(200, [(after_s, json.dumps(event).encode() + b"\n") for event in events], stays))

    def is_silent(self) -> None:
        """The next request gets no answer."""
        self.answers.append(Answer(comes=False))


def listing(version: int, *items: Any) -> dict[str, Any]:
    """The answer to a list."""
    return {"metadata": {"resourceVersion": str(version)}, "items": list(items)}


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedApi]:
    """A scripted API server, the only fleet that there is."""
    for name in ("SKEIN_STATION", "SKEIN_SERVER", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    api = ScriptedApi(tmp_path)
    yield api
    api.over.set()
    api.server.shutdown()
    api.server.server_close()


@pytest.fixture
def drone() -> Callable[..., dict[str, Any]]:
    """Makes a Drone as an API server has it."""

    def make(name: str, version: int, uid: str = "u1", ready: tuple[str, str, str] | None = None) -> dict[str, Any]:
        body: dict[str, Any] = {
            "apiVersion": "skein.dev/v1alpha1",
            "kind": "Drone",
            "metadata": {
                "name": name,
                "namespace": "field",
                "uid": uid,
                "resourceVersion": str(version),
                "generation": 2,
            },
            "spec": {},
        }
        if ready:
            status, reason, message = ready
            body["status"] = {
                "observedGeneration": 2,
                "phase": "Preparing",
                "conditions": [
                    {
                        "type": "Ready",
                        "status": status,
                        "reason": reason,
                        "message": message,
                        "lastTransitionTime": "2026-11-28T12:00:00Z",
                    }
                ],
            }
        return body

    return make
