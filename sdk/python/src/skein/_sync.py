"""The synchronous fleet, on the official `kubernetes` client."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import urllib3
from kubernetes import client, config

from skein import _events, _parts, _program, models
from skein._coordinator import (
    ANSWER_S,
    Coordinator,
    GroundResult,
    Target,
    ground_result,
    message,
    snapshot_of,
    watch_request,
)
from skein._events import ObjectEvent
from skein._http import api_error
from skein._parts import MANAGER, REQUEST_S, WATCH_S, Waiting, Wanted
from skein._watching import Event, Lines, Watching
from skein._where import Given, Route, choose
from skein.errors import FleetUnclear, NotFound, SkeinError, Unreachable, WaitTimeout
from skein.resource import Resource
from skein.telemetry import Snapshot, of_drone

R = TypeVar("R", bound=Resource[Any, Any])


class Collection(_parts.Requests[R]):
    """All objects of one kind. `namespace` is that of the fleet when left out."""

    def get(self, name: str, *, namespace: str | None = None) -> R:
        """One object. Raises `NotFound`."""
        return self._read(self._request("get", self._in(namespace), name=name))

    def list(
        self, *, labels: str | None = None, namespace: str | None = None, all_namespaces: bool = False
    ) -> Sequence[R]:
        """All objects that match a label selector such as "site=north", of one namespace or of all."""
        return self._list(self._in(namespace, all_namespaces), REQUEST_S, _parts.which(labels=labels))

    def _list(self, where: str | None, limit_s: float, which: Mapping[str, str]) -> Sequence[R]:
        body = self._request("list", where, _request_timeout=limit_s, **which)
        return [self._read(item) for item in body["items"]]

    def apply(self, object: R | Mapping[str, Any], *, force: bool = False, dry_run: bool = False) -> R:
        """Creates or changes an object by server-side apply, and returns it as it is then.

        Only what was set is sent and owned; what an earlier apply set and this one leaves out is removed. With
        `force`, fields of other owners are taken over, else that is a `Conflict`. With `dry_run` it is judged and not
        kept. Raises `Invalid` with the rule that it breaks.
        """
        where, arguments = self._applied(object, force, dry_run)
        return self._read(self._request("patch", where, **arguments))

    def patch(self, name: str, change: Mapping[str, Any], *, namespace: str | None = None) -> R:
        """Changes some fields, named as in the API, and leaves all others.

        `missions.patch("field", {"spec": {"suspend": True}})`
        """
        return self._read(self._request("patch", self._in(namespace), **self._patched(name, change)))

    def delete(self, name: str, *, namespace: str | None = None, missing_ok: bool = True) -> None:
        """Asks for its end. Vehicles land first, and only then is the object gone: see `wait_gone`."""
        try:
            self._request("delete", self._in(namespace), name=name)
        except NotFound:
            if not missing_ok:
                raise

    def events(self, name: str, *, namespace: str | None = None) -> Sequence[ObjectEvent]:
        """Kubernetes Events of one object, the oldest first, also those of an earlier object with this name. A server
        keeps them for a limited time, an hour as a rule.
        """
        where = self._in(namespace) or _events.NAMESPACE
        body = self._request("list", where, **_events.arguments(self._model.KIND, name))
        return _events.read(body["items"])

    def watch(
        self,
        *,
        name: str | None = None,
        labels: str | None = None,
        namespace: str | None = None,
        all_namespaces: bool = False,
    ) -> Iterator[Event[R]]:
        """Every object that is there as ADDED, then each change, for ever; it survives restarts of the API server.

        Raises `Unreachable` after ten failures in a row. Close the iterator, or leave its loop, to end it.
        """
        where = self._in(namespace, all_namespaces)
        return self._events(Watching(self._model), where, _parts.which(name, labels), None)

    def wait_until(self, name: str, wanted: Wanted[R], *, timeout_s: float = 60.0, namespace: str | None = None) -> R:
        """Waits until a condition holds for the present spec ("Ready", "Ready=False"), or a function says so.

        Returns the object. Raises `WaitTimeout` with the object's conditions, reasons, messages and what to do;
        `WillNotHappen` when the object has failed for good.
        """
        waiting = Waiting(self._model, name, wanted, timeout_s)
        self._wait(waiting, namespace)
        found: R = waiting.last
        return found

    def wait_gone(self, name: str, *, timeout_s: float = 120.0, namespace: str | None = None) -> None:
        """Waits until the object is gone, which is after its vehicles have landed. Raises `WaitTimeout`."""
        none: Any = None
        self._wait(Waiting(self._model, name, none, timeout_s), namespace)

    def _wait(self, waiting: Waiting, namespace: str | None) -> None:
        where, deadline = self._in(namespace), waiting.deadline
        try:
            found: R | None = self._read(
                self._request("get", where, name=waiting.name, _request_timeout=_parts.limit_s(deadline))
            )
        except NotFound:
            found = None
        except Unreachable as error:
            if deadline.left_s > 0:
                raise
            raise waiting.timeout(str(error)) from error
        if waiting.is_done(found):
            return
        try:
            for event in self._events(Watching(self._model), where, _parts.which(waiting.name), deadline):
                if waiting.is_done(None if event.type == "DELETED" else event.object):
                    return
        except Unreachable as error:
            raise waiting.timeout(str(error)) from error
        raise waiting.timeout()

    def _views(self, interval_s: float, where: str | None) -> Iterator[Sequence[R]]:
        """All objects of a namespace, or of all, now; then at changes, at most once in `interval_s`; for ever."""
        watching = Watching(self._model)
        while watching.version is None:
            try:
                watching.listed(self._request("list", where))
            except SkeinError as error:
                time.sleep(watching.failed(error))
        while True:
            interval = _parts.Deadline(interval_s)
            yield watching.objects
            with closing(self._events(watching, where, {}, None)) as events:
                next(events)
            for _ in self._events(watching, where, {}, _parts.Deadline(max(_parts.GATHER_S, interval.left_s))):
                pass

    def _events(
        self,
        watching: Watching[R],
        where: str | None,
        which: Mapping[str, str],
        deadline: _parts.Deadline | None,
    ) -> Generator[Event[R], None, None]:
        while not _parts.is_over(deadline):
            try:
                if watching.version is None:
                    limit_s = _parts.limit_s(deadline)
                    yield from watching.listed(self._request("list", where, _request_timeout=limit_s, **which))
                opened = time.monotonic()
                with closing(self._stream(watching, where, which, deadline)) as events:
                    for event in events:
                        yield event
                        if _parts.is_over(deadline) or (deadline and time.monotonic() - opened > _parts.LATE_S):
                            break
                if not _parts.is_over(deadline):
                    watching.ended(time.monotonic() - opened)
            except SkeinError as error:
                pause = watching.failed(error)
                time.sleep(pause if deadline is None else min(pause, deadline.left_s))

    def _stream(
        self, watching: Watching[R], where: str | None, which: Mapping[str, str], deadline: _parts.Deadline | None
    ) -> Generator[Event[R], None, None]:
        lasts = WATCH_S if deadline is None else max(1, min(WATCH_S, int(deadline.left_s) + 1))
        silence = lasts + 5.0 if deadline is None else max(0.01, min(lasts, deadline.left_s))
        response = self._open(
            "list",
            where,
            watch=True,
            resource_version=watching.version,
            allow_watch_bookmarks=True,
            timeout_seconds=lasts,
            _request_timeout=(_parts.limit_s(deadline), silence),
            **which,
        )
        lines = Lines()
        try:
            for piece in response.stream(amt=None, decode_content=True):
                yield from watching.lines(lines.push(piece))
        except urllib3.exceptions.ReadTimeoutError as error:
            if not _parts.is_over(deadline):
                raise Unreachable("the API server sent nothing for too long") from error
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"the connection to the API server ended: {error}") from error
        finally:
            response.close()
            response.release_conn()

    def _request(self, verb: str, namespace: str | None, **arguments: Any) -> Any:
        response = self._open(verb, namespace, **arguments)
        try:
            return json.loads(response.data)
        finally:
            response.release_conn()

    def _open(self, verb: str, namespace: str | None, **arguments: Any) -> Any:
        try:
            return self._call(verb, namespace, arguments)()
        except client.ApiException as error:
            raise api_error(error.status or 0, error.body, str(error.reason)) from None
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"the API server does not answer: {error}; is this the right fleet?") from error


def api_of(route: Route) -> tuple[client.ApiClient, str]:
    """A client for a route, and the namespace that its context names."""
    loaded = client.Configuration()
    # Left out, a GET that is not answered is sent four times, and takes four times as long as its caller allows.
    loaded.retries = urllib3.Retry(3, connect=0, read=0)
    try:
        if route.in_cluster:
            config.load_incluster_config(client_configuration=loaded)
            return client.ApiClient(loaded), _parts.namespace_of_pod()
        path = str(route.kubeconfig) if route.kubeconfig else None
        contexts, active = config.list_kube_config_contexts(config_file=path)
        chosen = next((one for one in contexts if one["name"] == route.context), active)
        namespace = chosen["context"].get("namespace") or "default"
        config.load_kube_config(config_file=path, context=route.context, client_configuration=loaded)
        return client.ApiClient(loaded), namespace
    except config.ConfigException as error:
        raise FleetUnclear(f"{route} cannot be used: {error}; see `kubectl config get-contexts`") from error


class Fleet(_parts.Orders):
    """A fleet, synchronous.

        with Fleet() as fleet:
            fleet.drones.wait_until("alpha", "Ready")

    Without arguments: the ground station (`skein up`) of this machine, else the cluster of the kubeconfig, else that
    of this Pod. `station` is the data folder of a ground station; `kubeconfig` and `context` name a cluster; `server`,
    `server_ca`, `client_cert` and `client_key` are where the coordinator listens and what it is shown, for telemetry
    and orders. `namespace` is where objects are that do not say it; the context's, or `default`, when left out.
    `field_manager` is who owns the fields that are applied: give each program a name of its own.

    Raises `FleetUnclear` when two fleets could be meant, or none. One thread at a time.
    """

    def __init__(
        self,
        *,
        station: Path | str | None = None,
        kubeconfig: Path | str | None = None,
        context: str | None = None,
        namespace: str | None = None,
        field_manager: str = MANAGER,
        server: str | None = None,
        server_ca: Path | str | None = None,
        client_cert: Path | str | None = None,
        client_key: Path | str | None = None,
    ) -> None:
        files = (station, kubeconfig, server_ca, client_cert, client_key)
        station_, kubeconfig_, ca, cert, key = (Path(file) if file else None for file in files)
        self._connect(choose(Given(station_, kubeconfig_, context, server, ca, cert, key)), namespace, field_manager)

    def _connect(self, route: Route, namespace: str | None, manager: str = MANAGER) -> None:
        self._manager = manager
        self._route = route
        self._client, found = api_of(route)
        self.namespace = namespace or found
        """Where objects are that do not say it."""
        self._coordinator = Coordinator(route.coordinator) if route.coordinator else None
        api = client.CustomObjectsApi(self._client)
        self.swarms = Collection(api, models.Swarm, self.namespace, self._manager)
        self.drones = Collection(api, models.Drone, self.namespace, self._manager)
        self.missions = Collection(api, models.Mission, self.namespace, self._manager)
        self.vehicles = Collection(api, models.Vehicle, self.namespace, self._manager)
        self.geofences = Collection(api, models.Geofence, self.namespace, self._manager)
        self.parameter_profiles = Collection(api, models.ParameterProfile, self.namespace, self._manager)
        self.operators = Collection(api, models.Operator, self.namespace, self._manager)
        self.ground_orders = Collection(api, models.GroundOrder, self.namespace, self._manager)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends its connections; nothing that flies is touched."""
        if self._coordinator:
            self._coordinator.close()
        self._client.close()

    def apply(self, object: R, *, force: bool = False, dry_run: bool = False) -> R:
        """Applies an object of any kind: see `Collection.apply`."""
        collection: Collection[R] = Collection(
            client.CustomObjectsApi(self._client), type(object), self.namespace, self._manager
        )
        return collection.apply(object, force=force, dry_run=dry_run)

    def ground(
        self,
        *,
        swarm: str | None = None,
        drone: str | None = None,
        vehicle: str | None = None,
        selector: str | None = None,
        all: bool = False,
        namespace: str | None = None,
    ) -> GroundResult:
        """Lands vehicles at once and keeps them on the ground until `release`: those of one Swarm, one Drone, one
        vehicle (by its node), a label selector, or all. What is made or edited later falls under it, too.

        Raises `OrderRefused` when a part of what was selected is not covered, `NotFound`, `Forbidden`, `Unreachable`.
        In a cluster without `server` it is given by the `skein` program, which proves who you are.
        """
        return self._order("Ground", self._target(swarm, drone, vehicle, selector, all, namespace))

    def release(
        self,
        *,
        swarm: str | None = None,
        drone: str | None = None,
        vehicle: str | None = None,
        selector: str | None = None,
        all: bool = False,
        namespace: str | None = None,
    ) -> GroundResult:
        """Ends a ground order. Vehicles that should fly TAKE OFF AGAIN: see first that everybody is clear.

        Raises as `ground` does.
        """
        return self._order("Release", self._target(swarm, drone, vehicle, selector, all, namespace))

    def resume(self, drone: str | None = None, *, vehicle: str | None = None, namespace: str | None = None) -> None:
        """Lets Skein go on with a vehicle that somebody else has taken over: by its Drone, or by its node where it
        stands down and its Drone is gone. Raises `OrderRefused` when there is nothing to resume.
        """
        request = self._resume_request(drone, vehicle, namespace)
        if self._coordinator:
            self._coordinator.call("Resume", request)
        else:
            _program.run(self._resume_words(request))

    def _order(self, verb: str, target: Target) -> GroundResult:
        if self._coordinator:
            return ground_result(self._coordinator.call(verb, target.request()))
        _program.run(self._order_words(verb, target))
        return GroundResult(None, None)

    def snapshot(self, *, timeout_s: float = ANSWER_S) -> Snapshot:
        """What every vehicle reports now. Raises `Unreachable`, also when there is no answer in this time."""
        if self._coordinator:
            return snapshot_of(self._coordinator.call("List", message("ListRequest")(), timeout_s))
        return Snapshot(tuple(of_drone(drone) for drone in self.drones._list(None, max(0.01, timeout_s), {})))

    def telemetry(self, *, interval_s: float = 0.5, namespace: str | None = None) -> Iterator[Snapshot]:
        """The whole fleet now, then at each change, at most once in `interval_s` (0.1 to 60 seconds), for ever.

        Of the Drones of all namespaces, unless one is named. From the coordinator where it is reached directly: a
        ground station, or with `server`. In a cluster without it, from the status of Drones, whose positions are as of
        the last transition (`VehicleState.source` says which).
        Taken up again when the stream breaks. Raises `Unreachable` after ten failures in a row.
        """
        request = watch_request(namespace, None, interval_s)
        if self._coordinator is None:
            for drones in self.drones._views(interval_s, namespace or None):
                yield Snapshot(tuple(of_drone(drone) for drone in drones))
        watching: Watching[models.Drone] = Watching(models.Drone)
        while self._coordinator:
            try:
                for snapshot in self._coordinator.watch(request):
                    watching.succeeded()
                    yield snapshot
            except SkeinError as error:
                time.sleep(watching.failed(error))

    def wait_until(self, wanted: Callable[[Snapshot], bool], *, timeout_s: float = 60.0) -> Snapshot:
        """Waits until telemetry is as wanted. Raises `WaitTimeout` with what each vehicle does instead.

        A coordinator that does not answer, as between two leaders, is asked again: at most ten times in a row.
        """
        deadline = _parts.Deadline(timeout_s)
        watching: Watching[models.Drone] = Watching(models.Drone)
        snapshot, why = Snapshot(()), ""
        while deadline.left_s > 0:
            pause_s = 0.1
            try:
                snapshot, why = self.snapshot(timeout_s=deadline.left_s), ""
                watching.succeeded()
            except SkeinError as error:
                pause_s, why = watching.failed(error), str(error)
            else:
                if wanted(snapshot):
                    return snapshot
            time.sleep(min(pause_s, deadline.left_s))
        raise WaitTimeout(_parts.fleet_timeout(wanted, timeout_s, snapshot, why), snapshot)


__all__ = ["Collection", "Fleet"]
