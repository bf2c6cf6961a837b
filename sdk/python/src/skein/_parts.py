"""What the synchronous and the asynchronous fleet have in common: names, bodies, deadlines, words. No I/O."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from skein._explain import explain
from skein.errors import WaitTimeout, WillNotHappen
from skein.resource import GROUP, VERSION, Resource
from skein.telemetry import Snapshot

R = TypeVar("R", bound=Resource[Any, Any])

Wanted = str | Callable[[R], bool]
"""A condition such as "Ready" or "Ready=False", or a function that says whether the object is as wanted."""

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
MANAGER = "skein-sdk"

REQUEST_S = 20.0
"""One request to the API server may take this long."""

WATCH_S = 60
"""One watch lasts this long, then it is taken up again; so a connection that is silently dead is noticed."""

FINAL = {"Mission": "Failed"}
"""The condition that a kind never leaves again."""


def body_of(object: Resource[Any, Any] | Mapping[str, Any], namespace: str | None) -> dict[str, Any]:
    """The body to apply; `namespace` is None for a kind in no namespace."""
    body = object.to_apply() if isinstance(object, Resource) else dict(object)
    body.setdefault("apiVersion", f"{GROUP}/{VERSION}")
    if namespace is not None:
        body["metadata"] = {"namespace": namespace, **body["metadata"]}
    if not body["metadata"].get("name"):
        raise ValueError("metadata.name is missing: server-side apply needs a name")
    return body


@dataclass
class Deadline:
    """A moment on the monotonic clock."""

    seconds: float

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.seconds

    @property
    def left_s(self) -> float:
        """Seconds until then; 0 once it is over."""
        return max(0.0, self._end - time.monotonic())


class Waiting:
    """What is waited for, and what was observed last."""

    def __init__(self, model: type[R], name: str, wanted: Wanted[R], timeout_s: float) -> None:
        self.model = model
        self.name = name
        self.wanted: Any = wanted
        self.deadline = Deadline(timeout_s)
        self.last: Any = None

    def is_done(self, object: Any) -> bool:
        """Whether this is it. Raises `WillNotHappen` when it never will be."""
        self.last = object
        if self.wanted is None:
            return object is None
        if object is None:
            return False
        done = object.has(self.wanted) if isinstance(self.wanted, str) else bool(self.wanted(object))
        final = FINAL.get(object.KIND)
        if not done and final and object.has(final):
            raise WillNotHappen(f"{self.what} cannot come true any more:\n{explain(object)}", object)
        return done

    @property
    def what(self) -> str:
        """What is waited for, in words."""
        kind = f"{self.model.KIND} {self.name}"
        if self.wanted is None:
            return f"{kind} is gone"
        named = self.wanted if isinstance(self.wanted, str) else getattr(self.wanted, "__name__", "the condition")
        return f"{kind}: {named}"

    def timeout(self, why: str = "") -> WaitTimeout:
        """The error once it is too late."""
        state = explain(self.last) if self.last is not None else f"  there is no {self.model.KIND} {self.name}"
        if self.last is None and self.wanted is None:
            state = "  it is gone"
        more = f"\n  {why}" if why else ""
        return WaitTimeout(f"not within {self.deadline.seconds:g} s: {self.what}\n{state}{more}", self.last)


def namespace_of_pod() -> str:
    """The namespace of the Pod that this runs in."""
    inside = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
    return inside.read_text().strip() if inside.exists() else "default"


def fleet_timeout(wanted: Any, timeout_s: float, snapshot: Snapshot) -> str:
    """The words once telemetry is not as wanted in time."""
    named = getattr(wanted, "__name__", "what was waited for")
    states = [
        f"  {v.node or '(no vehicle)'}: {v.phase}, flying: {v.flying}, mode: {v.mode}, "
        f"battery: {v.battery_percent} %: {v.message}"
        for v in snapshot.vehicles
    ]
    return "\n".join(
        [f"not within {timeout_s:g} s: {named}", *(states or ["  no vehicle is known; see `skein status`"])]
    )
