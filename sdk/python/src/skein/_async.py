"""The fleet for asyncio, on `kubernetes_asyncio`: the calls of `Fleet`, awaited."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp
from kubernetes_asyncio import client, config

from skein import _events, _parts, _program, models
from skein._coordinator import (
    ANSWER_S,
    AsyncCoordinator,
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


class AsyncCollection(_parts.Requests[R]):
    """All objects of one kind: see `Collection`, whose calls these are."""

    async def get(self, name: str, *, namespace: str | None = None) -> R:
        """One object. Raises `NotFound`."""
        return self._read(await self._request("get", self._in(namespace), name=name))

    async def list(
        self, *, labels: str | None = None, namespace: str | None = None, all_namespaces: bool = False
    ) -> Sequence[R]:
        """All objects that match a label selector such as "site=north", of one namespace or of all."""
        return await self._list(self._in(namespace, all_namespaces), REQUEST_S, _parts.which(labels=labels))

    async def _list(self, where: str | None, limit_s: float, which: Mapping[str, str]) -> Sequence[R]:
        body = await self._request("list", where, _request_timeout=limit_s, **which)
        return [self._read(item) for item in body["items"]]

    async def apply(self, object: R | Mapping[str, Any], *, force: bool = False, dry_run: bool = False) -> R:
        """Creates or changes an object by server-side apply: see `Collection.apply`."""
        where, arguments = self._applied(object, force, dry_run)
        return self._read(await self._request("patch", where, **arguments))

    async def patch(self, name: str, change: Mapping[str, Any], *, namespace: str | None = None) -> R:
        """Changes some fields, named as in the API, and leaves all others."""
        return self._read(await self._request("patch", self._in(namespace), **self._patched(name, change)))

    async def delete(self, name: str, *, namespace: str | None = None, missing_ok: bool = True) -> None:
        """Asks for its end. Vehicles land first, and only then is the object gone: see `wait_gone`."""
        try:
            await self._request("delete", self._in(namespace), name=name)
        except NotFound:
            if not missing_ok:
                raise

    async def events(self, name: str, *, namespace: str | None = None) -> Sequence[ObjectEvent]:
        """Kubernetes Events of one object, the oldest first: see `Collection.events`."""
        where = self._in(namespace) or _events.NAMESPACE
        body = await self._request("list", where, **_events.arguments(self._model.KIND, name))
        return _events.read(body["items"])

    def watch(
        self,
        *,
        name: str | None = None,
        labels: str | None = None,
        namespace: str | None = None,
        all_namespaces: bool = False,
    ) -> AsyncIterator[Event[R]]:
        """Every object that is there as ADDED, then each change, for ever: see `Collection.watch`."""
        where = self._in(namespace, all_namespaces)
        return self._events(Watching(self._model), where, _parts.which(name, labels))

    async def wait_until(
        self, name: str, wanted: Wanted[R], *, timeout_s: float = 60.0, namespace: str | None = None
    ) -> R:
        """Waits until a condition holds for the present spec, or a function says so: see `Collection.wait_until`."""
        waiting = Waiting(self._model, name, wanted, timeout_s)
        await self._wait(waiting, namespace)
        found: R = waiting.last
        return found

    async def wait_gone(self, name: str, *, timeout_s: float = 120.0, namespace: str | None = None) -> None:
        """Waits until the object is gone, which is after its vehicles have landed. Raises `WaitTimeout`."""
        none: Any = None
        await self._wait(Waiting(self._model, name, none, timeout_s), namespace)

    async def _wait(self, waiting: Waiting, namespace: str | None) -> None:
        try:
            async with asyncio.timeout(waiting.deadline.left_s):
                await self._come_true(waiting, self._in(namespace))
        except WaitTimeout:
            raise
        except TimeoutError:
            raise waiting.timeout() from None

    async def _come_true(self, waiting: Waiting, where: str | None) -> None:
        try:
            found: R | None = self._read(await self._request("get", where, name=waiting.name))
        except NotFound:
            found = None
        if waiting.is_done(found):
            return
        try:
            async with aclosing(self._events(Watching(self._model), where, _parts.which(waiting.name))) as events:
                async for event in events:
                    if waiting.is_done(None if event.type == "DELETED" else event.object):
                        return
        except Unreachable as error:
            raise waiting.timeout(str(error)) from error

    async def _views(self, interval_s: float, where: str | None) -> AsyncGenerator[Sequence[R], None]:
        watching = Watching(self._model)
        while watching.version is None:
            try:
                watching.listed(await self._request("list", where))
            except SkeinError as error:
                await asyncio.sleep(watching.failed(error))
        while True:
            interval = _parts.Deadline(interval_s)
            yield watching.objects
            async with aclosing(self._events(watching, where, {})) as events:
                await anext(events)
            with suppress(TimeoutError):
                async with (
                    asyncio.timeout(max(_parts.GATHER_S, interval.left_s)),
                    aclosing(self._events(watching, where, {})) as events,
                ):
                    async for _ in events:
                        pass

    async def _events(
        self, watching: Watching[R], where: str | None, which: Mapping[str, str]
    ) -> AsyncGenerator[Event[R], None]:
        while True:
            try:
                if watching.version is None:
                    for event in watching.listed(await self._request("list", where, **which)):
                        yield event
                opened = time.monotonic()
                async with aclosing(self._stream(watching, where, which)) as events:
                    async for event in events:
                        yield event
                watching.ended(time.monotonic() - opened)
            except SkeinError as error:
                await asyncio.sleep(watching.failed(error))

    async def _stream(
        self, watching: Watching[R], where: str | None, which: Mapping[str, str]
    ) -> AsyncGenerator[Event[R], None]:
        response = await self._open(
            "list",
            where,
            watch=True,
            resource_version=watching.version,
            allow_watch_bookmarks=True,
            timeout_seconds=WATCH_S,
            _request_timeout=aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_S, sock_read=WATCH_S + 5.0),
            **which,
        )
        lines = Lines()
        try:
            async for piece in response.content.iter_any():
                for event in watching.lines(lines.push(piece)):
                    yield event
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unreachable(f"the connection to the API server ended: {error}") from error
        finally:
            response.close()

    async def _request(self, verb: str, namespace: str | None, **arguments: Any) -> Any:
        response = await self._open(verb, namespace, **arguments)
        try:
            return json.loads(await response.read())
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unreachable(f"the API server does not answer: {error}; is this the right fleet?") from error
        finally:
            response.release()

    async def _open(self, verb: str, namespace: str | None, **arguments: Any) -> Any:
        try:
            response = await self._call(verb, namespace, arguments)()
            if response.status >= 300:
                raise api_error(response.status, await response.read(), response.reason or "")
            return response
        except client.ApiException as error:
            raise api_error(error.status or 0, error.body, str(error.reason)) from None
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unreachable(f"the API server does not answer: {error}; is this the right fleet?") from error


async def _api_of(route: Route) -> tuple[client.ApiClient, str]:
    try:
        if route.in_cluster:
            loaded = client.Configuration()
            config.load_incluster_config(client_configuration=loaded)
            return client.ApiClient(loaded), _parts.namespace_of_pod()
        path = str(route.kubeconfig) if route.kubeconfig else None
        contexts, active = config.list_kube_config_contexts(config_file=path)
        chosen = next((one for one in contexts if one["name"] == route.context), active)
        namespace = chosen["context"].get("namespace") or "default"
        return await config.new_client_from_config(config_file=path, context=route.context), namespace
    except config.ConfigException as error:
        raise FleetUnclear(f"{route} cannot be used: {error}; see `kubectl config get-contexts`") from error


class AsyncFleet(_parts.Orders):
    """A fleet for asyncio; its arguments are those of `Fleet`. It is open inside `async with`.

    async with AsyncFleet() as fleet:
        async for snapshot in fleet.telemetry():
            ...
    """

    swarms: AsyncCollection[models.Swarm]
    drones: AsyncCollection[models.Drone]
    missions: AsyncCollection[models.Mission]
    vehicles: AsyncCollection[models.Vehicle]
    geofences: AsyncCollection[models.Geofence]
    parameter_profiles: AsyncCollection[models.ParameterProfile]
    operators: AsyncCollection[models.Operator]
    ground_orders: AsyncCollection[models.GroundOrder]

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
        self._route = choose(Given(station_, kubeconfig_, context, server, ca, cert, key))
        self._named = namespace
        self._manager = field_manager
        self._coordinator: AsyncCoordinator | None = None

    async def __aenter__(self) -> Self:
        self._client, found = await _api_of(self._route)
        self.namespace = self._named or found
        self._coordinator = AsyncCoordinator(self._route.coordinator) if self._route.coordinator else None
        self._api = client.CustomObjectsApi(self._client)
        self.swarms = AsyncCollection(self._api, models.Swarm, self.namespace, self._manager)
        self.drones = AsyncCollection(self._api, models.Drone, self.namespace, self._manager)
        self.missions = AsyncCollection(self._api, models.Mission, self.namespace, self._manager)
        self.vehicles = AsyncCollection(self._api, models.Vehicle, self.namespace, self._manager)
        self.geofences = AsyncCollection(self._api, models.Geofence, self.namespace, self._manager)
        self.parameter_profiles = AsyncCollection(self._api, models.ParameterProfile, self.namespace, self._manager)
        self.operators = AsyncCollection(self._api, models.Operator, self.namespace, self._manager)
        self.ground_orders = AsyncCollection(self._api, models.GroundOrder, self.namespace, self._manager)
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._coordinator:
            await self._coordinator.close()
        await self._client.close()

    async def apply(self, object: R, *, force: bool = False, dry_run: bool = False) -> R:
        """Applies an object of any kind: see `Collection.apply`."""
        collection: AsyncCollection[R] = AsyncCollection(self._api, type(object), self.namespace, self._manager)
        return await collection.apply(object, force=force, dry_run=dry_run)

    async def ground(
        self,
        *,
        swarm: str | None = None,
        drone: str | None = None,
        vehicle: str | None = None,
        selector: str | None = None,
        all: bool = False,
        namespace: str | None = None,
    ) -> GroundResult:
        """Lands vehicles at once and keeps them on the ground until `release`: see `Fleet.ground`."""
        target = self._target(swarm, drone, vehicle, selector, all, namespace)
        return await self._order("Ground", target)

    async def release(
        self,
        *,
        swarm: str | None = None,
        drone: str | None = None,
        vehicle: str | None = None,
        selector: str | None = None,
        all: bool = False,
        namespace: str | None = None,
    ) -> GroundResult:
        """Ends a ground order. Vehicles that should fly TAKE OFF AGAIN: see `Fleet.release`."""
        target = self._target(swarm, drone, vehicle, selector, all, namespace)
        return await self._order("Release", target)

    async def resume(
        self, drone: str | None = None, *, vehicle: str | None = None, namespace: str | None = None
    ) -> None:
        """Lets Skein go on with a vehicle that somebody else has taken over: see `Fleet.resume`."""
        request = self._resume_request(drone, vehicle, namespace)
        if self._coordinator:
            await self._coordinator.call("Resume", request)
        else:
            await asyncio.to_thread(_program.run, self._resume_words(request))

    async def _order(self, verb: str, target: Target) -> GroundResult:
        if self._coordinator:
            return ground_result(await self._coordinator.call(verb, target.request()))
        await asyncio.to_thread(_program.run, self._order_words(verb, target))
        return GroundResult(None, None)

    async def snapshot(self, *, timeout_s: float = ANSWER_S) -> Snapshot:
        """What every vehicle reports now. Raises `Unreachable`, also when there is no answer in this time."""
        if self._coordinator:
            return snapshot_of(await self._coordinator.call("List", message("ListRequest")(), timeout_s))
        return Snapshot(tuple(of_drone(drone) for drone in await self.drones._list(None, max(0.01, timeout_s), {})))

    async def telemetry(self, *, interval_s: float = 0.5, namespace: str | None = None) -> AsyncIterator[Snapshot]:
        """The whole fleet now, then at each change: see `Fleet.telemetry`."""
        request = watch_request(namespace, None, interval_s)
        if self._coordinator is None:
            async with aclosing(self.drones._views(interval_s, namespace or None)) as views:
                async for drones in views:
                    yield Snapshot(tuple(of_drone(drone) for drone in drones))
        watching: Watching[models.Drone] = Watching(models.Drone)
        while self._coordinator:
            try:
                async with aclosing(self._coordinator.watch(request)) as snapshots:
                    async for snapshot in snapshots:
                        watching.succeeded()
                        yield snapshot
            except SkeinError as error:
                await asyncio.sleep(watching.failed(error))

    async def wait_until(self, wanted: Callable[[Snapshot], bool], *, timeout_s: float = 60.0) -> Snapshot:
        """Waits until telemetry is as wanted. Raises `WaitTimeout` with what each vehicle does instead.

        A coordinator that does not answer, as between two leaders, is asked again: at most ten times in a row.
        """
        deadline = _parts.Deadline(timeout_s)
        watching: Watching[models.Drone] = Watching(models.Drone)
        snapshot, why = Snapshot(()), ""
        while deadline.left_s > 0:
            pause_s = 0.1
            try:
                snapshot, why = await self.snapshot(timeout_s=deadline.left_s), ""
                watching.succeeded()
            except SkeinError as error:
                pause_s, why = watching.failed(error), str(error)
            else:
                if wanted(snapshot):
                    return snapshot
            await asyncio.sleep(min(pause_s, deadline.left_s))
        raise WaitTimeout(_parts.fleet_timeout(wanted, timeout_s, snapshot, why), snapshot)


__all__ = ["AsyncCollection", "AsyncFleet"]
