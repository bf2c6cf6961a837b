"""The synchronous fleet, on the official `kubernetes` client."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import urllib3
from kubernetes import client, config

from skein import _parts, _program, models
from skein._coordinator import Coordinator, GroundResult, Target, ground_result, message, snapshot_of, watch_request
from skein._http import api_error
from skein._parts import APPLY, MANAGER, MERGE, REQUEST_S, WATCH_S, Waiting, Wanted, body_of
from skein._watching import Event, Lines, Watching
from skein._where import Given, Route, choose
from skein.errors import FleetUnclear, NotFound, SkeinError, Unreachable, WaitTimeout
from skein.resource import GROUP, VERSION, Resource
from skein.telemetry import Snapshot, of_drone

R = TypeVar("R", bound=Resource[Any, Any])


class Collection(Generic[R]):
    """All objects of one kind. `namespace` is that of the fleet when left out."""

    def __init__(self, api: client.CustomObjectsApi, model: type[R], namespace: str, manager: str) -> None:
        self._api = api
        self._model = model
        self._manager = manager
        self._namespace = namespace if model.NAMESPACED else None

    def get(self, name: str, *, namespace: str | None = None) -> R:
        """One object. Raises `NotFound`."""
        return self._read(self._request("get", self._in(namespace), name=name))

    def list(
        self, *, labels: str | None = None, namespace: str | None = None, all_namespaces: bool = False
    ) -> Sequence[R]:
        """All objects that match a label selector such as "site=north", of one namespace or of all."""
        where = None if all_namespaces else self._in(namespace)
        body = self._request("list", where, **_selector(labels))
        return [self._model.from_api(item) for item in body["items"]]

    def apply(self, object: R | Mapping[str, Any], *, force: bool = False, dry_run: bool = False) -> R:
        """Creates or changes an object by server-side apply, and returns it as it is then.

        Only what was set is sent and owned; what an earlier apply set and this one leaves out is removed. With
        `force`, fields of other owners are taken over, else that is a `Conflict`. With `dry_run` it is judged and not
        kept. Raises `Invalid` with the rule that it breaks.
        """
        body = body_of(object, self._namespace)
        more = {"dry_run": "All"} if dry_run else {}
        return self._read(
            self._request(
                "patch",
                body["metadata"].get("namespace"),
                name=body["metadata"]["name"],
                body=body,
                field_manager=self._manager,
                force=force,
                _content_type=APPLY,
                **more,
            )
        )

    def patch(self, name: str, change: Mapping[str, Any], *, namespace: str | None = None) -> R:
        """Changes some fields, named as in the API, and leaves all others.

        `missions.patch("field", {"spec": {"suspend": True}})`
        """
        return self._read(
            self._request(
                "patch",
                self._in(namespace),
                name=name,
                body=dict(change),
                field_manager=self._manager,
                _content_type=MERGE,
            )
        )

    def delete(self, name: str, *, namespace: str | None = None, missing_ok: bool = True) -> None:
        """Asks for its end. Vehicles land first, and only then is the object gone: see `wait_gone`."""
        try:
            self._request("delete", self._in(namespace), name=name)
        except NotFound:
            if not missing_ok:
                raise

    def watch(
        self, *, name: str | None = None, labels: str | None = None, namespace: str | None = None
    ) -> Iterator[Event[R]]:
        """Every object that is there as ADDED, then each change, for ever; it survives restarts of the API server.

        Raises `Unreachable` after ten failures in a row. Close the iterator, or leave its loop, to end it.
        """
        return self._events(name, labels, namespace, None)

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
        try:
            found: R | None = self.get(waiting.name, namespace=namespace)
        except NotFound:
            found = None
        if waiting.is_done(found):
            return
        try:
            for event in self._events(waiting.name, None, namespace, waiting.deadline):
                if waiting.is_done(None if event.type == "DELETED" else event.object):
                    return
        except Unreachable as error:
            raise waiting.timeout(str(error)) from error
        raise waiting.timeout()

    def _events(
        self, name: str | None, labels: str | None, namespace: str | None, deadline: _parts.Deadline | None
    ) -> Iterator[Event[R]]:
        watching = Watching(self._model)
        fields = {"field_selector": f"metadata.name={name}"} if name else {}
        which = {**_selector(labels), **fields}
        while deadline is None or deadline.left_s > 0:
            try:
                if watching.version is None:
                    yield from watching.listed(self._request("list", self._in(namespace), **which))
                yield from self._stream(watching, self._in(namespace), which, deadline)
            except SkeinError as error:
                pause = watching.failed(error)
                time.sleep(pause if deadline is None else min(pause, deadline.left_s))

    def _stream(
        self, watching: Watching[R], namespace: str | None, which: Mapping[str, str], deadline: _parts.Deadline | None
    ) -> Iterator[Event[R]]:
        lasts = WATCH_S if deadline is None else max(1, min(WATCH_S, int(deadline.left_s) + 1))
        silence = lasts + 5.0 if deadline is None else max(0.1, min(lasts, deadline.left_s))
        response = self._open(
            "list",
            namespace,
            watch=True,
            resource_version=watching.version,
            allow_watch_bookmarks=True,
            timeout_seconds=lasts,
            _request_timeout=(REQUEST_S, silence),
            **which,
        )
        lines = Lines()
        try:
            for piece in response.stream(amt=None, decode_content=True):
                yield from watching.lines(lines.push(piece))
        except urllib3.exceptions.ReadTimeoutError as error:
            if deadline is None or deadline.left_s > 0:
                raise Unreachable("the API server sent nothing for too long") from error
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"the connection to the API server ended: {error}") from error
        finally:
            response.close()
            response.release_conn()

    def _in(self, namespace: str | None) -> str | None:
        return (namespace or self._namespace) if self._model.NAMESPACED else None

    def _read(self, body: Any) -> R:
        return self._model.from_api(body)

    def _request(self, verb: str, namespace: str | None, **arguments: Any) -> Any:
        response = self._open(verb, namespace, **arguments)
        try:
            return json.loads(response.data)
        finally:
            response.release_conn()

    def _open(self, verb: str, namespace: str | None, **arguments: Any) -> Any:
        kind = "namespaced" if namespace is not None else "cluster"
        call = getattr(self._api, f"{verb}_{kind}_custom_object")
        if namespace is not None:
            arguments["namespace"] = namespace
        arguments.setdefault("_request_timeout", REQUEST_S)
        # The client reads an answer 201 as nothing, so answers are read here.
        arguments["_preload_content"] = False
        try:
            return call(group=GROUP, version=VERSION, plural=self._model.PLURAL, **arguments)
        except client.ApiException as error:
            raise api_error(error.status or 0, error.body, str(error.reason)) from None
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"the API server does not answer: {error}; is this the right fleet?") from error


def _selector(labels: str | None) -> dict[str, str]:
    return {"label_selector": labels} if labels else {}


def api_of(route: Route) -> tuple[client.ApiClient, str]:
    """A client for a route, and the namespace that its context names."""
    try:
        if route.in_cluster:
            loaded = client.Configuration()
            config.load_incluster_config(client_configuration=loaded)
            return client.ApiClient(loaded), _parts.namespace_of_pod()
        path = str(route.kubeconfig) if route.kubeconfig else None
        contexts, active = config.list_kube_config_contexts(config_file=path)
        chosen = next((one for one in contexts if one["name"] == route.context), active)
        namespace = chosen["context"].get("namespace") or "default"
        return config.new_client_from_config(config_file=path, context=route.context), namespace
    except config.ConfigException as error:
        raise FleetUnclear(f"{route} cannot be used: {error}; see `kubectl config get-contexts`") from error


class Fleet:
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
        return self._order("Ground", Target(swarm, drone, vehicle, selector, all, self._of(swarm or drone, namespace)))

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
        return self._order("Release", Target(swarm, drone, vehicle, selector, all, self._of(swarm or drone, namespace)))

    def resume(self, drone: str | None = None, *, vehicle: str | None = None, namespace: str | None = None) -> None:
        """Lets Skein go on with a vehicle that somebody else has taken over: by its Drone, or by its node where it
        stands down and its Drone is gone. Raises `OrderRefused` when there is nothing to resume.
        """
        if (drone is None) == (vehicle is None):
            raise ValueError("say a Drone, or vehicle=NODE")
        if self._coordinator:
            request = message("ResumeRequest")(
                namespace=self._of(drone, namespace) or "", name=drone or "", node=vehicle or ""
            )
            self._coordinator.call("Resume", request)
            return
        whose = ["--vehicle", vehicle] if vehicle else [str(drone), "--namespace", str(self._of(drone, namespace))]
        _program.run([*self._route.program_options, "resume", *whose])

    def _order(self, verb: str, target: Target) -> GroundResult:
        if self._coordinator:
            return ground_result(self._coordinator.call(verb, target.request()))
        _program.run([*self._route.program_options, verb.lower(), *target.arguments()])
        return GroundResult(None, None)

    def _of(self, named: str | None, namespace: str | None) -> str | None:
        return namespace or (self.namespace if named else None)

    def snapshot(self) -> Snapshot:
        """What every vehicle reports now."""
        if self._coordinator:
            return snapshot_of(self._coordinator.call("List", message("ListRequest")()))
        return Snapshot(tuple(of_drone(drone) for drone in self.drones.list(all_namespaces=True)))

    def telemetry(self, *, interval_s: float = 0.5, namespace: str | None = None) -> Iterator[Snapshot]:
        """The whole fleet now, then at each change, at most once in `interval_s` (0.1 to 60 seconds), for ever.

        From the coordinator where it is reached directly: a ground station, or with `server`. In a cluster without it,
        from the status of Drones, whose positions are as of the last transition (`VehicleState.source` says which).
        Taken up again when the stream breaks. Raises `Unreachable` after ten failures in a row.
        """
        watching: Watching[models.Drone] = Watching(models.Drone)
        while self._coordinator:
            try:
                for snapshot in self._coordinator.watch(watch_request(namespace, None, interval_s)):
                    watching.succeeded()
                    yield snapshot
            except SkeinError as error:
                time.sleep(watching.failed(error))
        states: dict[str, models.Drone] = {}
        for event in self.drones.watch(namespace=namespace):
            states.pop(event.object.metadata.uid or "", None)
            if event.type != "DELETED":
                states[event.object.metadata.uid or ""] = event.object
            yield Snapshot(tuple(of_drone(drone) for drone in states.values()))

    def wait_until(self, wanted: Callable[[Snapshot], bool], *, timeout_s: float = 60.0) -> Snapshot:
        """Waits until telemetry is as wanted. Raises `WaitTimeout` with what each vehicle does instead.

        A coordinator that does not answer, as between two leaders, is asked again: at most ten times in a row.
        """
        deadline = _parts.Deadline(timeout_s)
        watching: Watching[models.Drone] = Watching(models.Drone)
        snapshot = Snapshot(())
        while deadline.left_s > 0:
            pause_s = 0.1
            try:
                snapshot = self.snapshot()
                watching.succeeded()
            except SkeinError as error:
                pause_s = watching.failed(error)
            else:
                if wanted(snapshot):
                    return snapshot
            time.sleep(min(pause_s, deadline.left_s))
        raise WaitTimeout(_parts.fleet_timeout(wanted, timeout_s, snapshot), snapshot)


__all__ = ["Collection", "Fleet"]
