"""What the synchronous and the asynchronous fleet have in common: names, bodies, deadlines, words. No I/O."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from skein._coordinator import Target, message
from skein._explain import explain
from skein._where import Route
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

LATE_S = 1.0
"""A silent server may delay the end of a wait by so much, in seconds: the limit of a read is set as a stream is opened,
so after an event that comes later than this it is opened again.
"""

GATHER_S = 0.1
"""Changes that a slow reader has left in a watch are gathered for so long before the next snapshot, in seconds."""

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


def limit_s(deadline: Deadline | None) -> float:
    """How long one request may take; never 0, which clients read as no limit."""
    return REQUEST_S if deadline is None else max(0.01, min(REQUEST_S, deadline.left_s))


def is_over(deadline: Deadline | None) -> bool:
    """Whether there is a deadline, and it has passed."""
    return deadline is not None and deadline.left_s == 0


def which(name: str | None = None, labels: str | None = None) -> dict[str, str]:
    """The selectors of a list or a watch."""
    selectors = {"label_selector": labels, "field_selector": f"metadata.name={name}" if name else None}
    return {key: value for key, value in selectors.items() if value}


class Requests(Generic[R]):
    """The requests of a collection, and what its answers are."""

    def __init__(self, api: Any, model: type[R], namespace: str, manager: str) -> None:
        self._api = api
        self._model = model
        self._manager = manager
        self._namespace = namespace if model.NAMESPACED else None

    def _in(self, namespace: str | None, all_namespaces: bool = False) -> str | None:
        named = namespace or self._namespace
        return named if self._model.NAMESPACED and not all_namespaces else None

    def _read(self, body: Any) -> R:
        return self._model.from_api(body)

    def _applied(self, object: R | Mapping[str, Any], force: bool, dry_run: bool) -> tuple[str | None, dict[str, Any]]:
        body = body_of(object, self._namespace)
        arguments = {
            "name": body["metadata"]["name"],
            "body": body,
            "field_manager": self._manager,
            "force": force,
            "_content_type": APPLY,
        }
        return body["metadata"].get("namespace"), {**arguments, **({"dry_run": "All"} if dry_run else {})}

    def _patched(self, name: str, change: Mapping[str, Any]) -> dict[str, Any]:
        return {"name": name, "body": dict(change), "field_manager": self._manager, "_content_type": MERGE}

    def _call(self, verb: str, namespace: str | None, arguments: Mapping[str, Any]) -> Callable[[], Any]:
        where = {} if namespace is None else {"namespace": namespace}
        call = getattr(self._api, f"{verb}_{'cluster' if namespace is None else 'namespaced'}_custom_object")
        kind = {"group": GROUP, "version": VERSION, "plural": self._model.PLURAL}
        # The clients read an answer 201 as nothing, so answers are read here.
        return partial(call, **{**kind, **where, "_request_timeout": REQUEST_S, "_preload_content": False, **arguments})


class Orders:
    """What a fleet asks the coordinator, or the `skein` program where it is not reached directly."""

    _route: Route
    namespace: str
    """Where objects are that do not say it."""

    def _of(self, named: str | None, namespace: str | None) -> str | None:
        return namespace or (self.namespace if named else None)

    def _target(
        self,
        swarm: str | None,
        drone: str | None,
        vehicle: str | None,
        selector: str | None,
        all: bool,
        namespace: str | None,
    ) -> Target:
        return Target(swarm, drone, vehicle, selector, all, self._of(swarm or drone, namespace))

    def _order_words(self, verb: str, target: Target) -> list[str]:
        return [*self._route.program_options, verb.lower(), *target.arguments()]

    def _resume_request(self, drone: str | None, vehicle: str | None, namespace: str | None) -> Any:
        if (drone is None) == (vehicle is None):
            raise ValueError("say a Drone, or vehicle=NODE")
        where = self._of(drone, namespace) or ""
        return message("ResumeRequest")(namespace=where, name=drone or "", node=vehicle or "")

    def _resume_words(self, request: Any) -> list[str]:
        whose = ["--vehicle", request.node] if request.node else [request.name, "--namespace", request.namespace]
        return [*self._route.program_options, "resume", *whose]


class Waiting:
    """What is waited for, and what was observed last."""

    def __init__(self, model: type[R], name: str, wanted: Wanted[R], timeout_s: float) -> None:
        self.model = model
        self.name = name
        self.wanted: Any = wanted
        self.deadline = Deadline(timeout_s)
        self.last: Any = None
        self._answered = False

    def is_done(self, object: Any) -> bool:
        """Whether this is it. Raises `WillNotHappen` when it never will be."""
        self.last = object
        self._answered = True
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
        if not self._answered:
            state = "  nothing is known of it: no request was answered in this time"
        more = f"\n  {why}" if why else ""
        return WaitTimeout(f"not within {self.deadline.seconds:g} s: {self.what}\n{state}{more}", self.last)


def namespace_of_pod() -> str:
    """The namespace of the Pod that this runs in."""
    inside = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
    return inside.read_text().strip() if inside.exists() else "default"


def fleet_timeout(wanted: Any, timeout_s: float, snapshot: Snapshot, why: str) -> str:
    """The words once telemetry is not as wanted in time."""
    named = getattr(wanted, "__name__", "what was waited for")
    states = [
        f"  {v.node or '(no vehicle)'}: {v.phase}, flying: {v.flying}, mode: {v.mode}, "
        f"battery: {v.battery_percent} %: {v.message}"
        for v in snapshot.vehicles
    ]
    lines = [f"not within {timeout_s:g} s: {named}", *(states or ["  no vehicle is known; see `skein status`"])]
    return "\n".join([*lines, f"  {why}"] if why else lines)
