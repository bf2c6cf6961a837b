"""The coordinator's gRPC service `skein.v1.Fleet`, and what its errors mean.

Messages are built from the descriptors that Skein itself is built with; TLS proves both ends, by the certificate that
`skein up` or `skein enroll --operator` has written.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from skein import telemetry
from skein._where import Credentials
from skein.errors import ApiError, Forbidden, NotFound, OrderRefused, SkeinError, Unreachable
from skein.telemetry import Snapshot

ANSWER_S = 20.0
"""One answer may take this long: a ground order writes every Swarm before it answers."""

_OPTIONS = [
    ("grpc.ssl_target_name_override", "skein-coordinator"),
    ("grpc.default_authority", "skein-coordinator"),
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.enable_http_proxy", 0),
]


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    described = descriptor_pb2.FileDescriptorSet.FromString(files("skein").joinpath("fleet.descriptors").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in described.file:
        pool.Add(file)
    return pool


@cache
def message(name: str) -> Any:
    """The class of a message of `skein.v1`."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"skein.v1.{name}"))


@dataclass(frozen=True)
class GroundResult:
    """What a ground order or a release came to; None where the `skein` program gave it and counts in words."""

    drones: int | None
    """Drones that it reached, or reaches as their agents connect."""
    agents: int | None
    """Agents connected at that moment."""


@dataclass(frozen=True)
class Target:
    """Whom an order concerns: exactly one of these. `namespace` belongs to a Swarm, a Drone or a selector."""

    swarm: str | None = None
    drone: str | None = None
    vehicle: str | None = None
    selector: str | None = None
    all: bool = False
    namespace: str | None = None

    def __post_init__(self) -> None:
        named = [name for name in ("swarm", "drone", "vehicle", "selector") if getattr(self, name)]
        if len(named) + bool(self.all) != 1:
            raise ValueError("say exactly one of swarm, drone, vehicle, selector and all=True")

    def request(self) -> Any:
        """As a GroundRequest."""
        request = message("GroundRequest")()
        if self.swarm:
            request.swarm.namespace, request.swarm.name = self.namespace or "", self.swarm
        elif self.drone:
            request.drone.namespace, request.drone.name = self.namespace or "", self.drone
        elif self.vehicle:
            request.node.name = self.vehicle
        elif self.selector:
            request.selector.selector, request.selector.namespace = self.selector, self.namespace or ""
        else:
            getattr(request, "all").SetInParent()  # noqa: B009 - the field has the name of a builtin
        return request

    def arguments(self) -> list[str]:
        """As arguments of `skein ground` and `skein release`."""
        if self.swarm:
            arguments = [self.swarm]
        elif self.drone:
            arguments = ["--drone", self.drone]
        elif self.vehicle:
            return ["--vehicle", self.vehicle]
        elif self.selector:
            arguments = ["--selector", self.selector]
        else:
            return ["--all"]
        return arguments + (["--namespace", self.namespace] if self.namespace else [])


def _credentials(where: Credentials) -> grpc.ChannelCredentials:
    def read(path: Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise Unreachable(f"cannot read {path}: {error}; has the ground station ended?") from error

    return grpc.ssl_channel_credentials(read(where.authority), read(where.key), read(where.certificate))


def fault(error: grpc.RpcError, where: Credentials) -> SkeinError:
    """What a failed call means."""
    code, text = error.code(), error.details() or ""
    match code:
        case grpc.StatusCode.NOT_FOUND:
            return NotFound(text, 404, "NotFound")
        case grpc.StatusCode.PERMISSION_DENIED | grpc.StatusCode.UNAUTHENTICATED:
            return Forbidden(text, 403, "Forbidden")
        case grpc.StatusCode.UNAVAILABLE | grpc.StatusCode.DEADLINE_EXCEEDED | grpc.StatusCode.CANCELLED:
            return Unreachable(f"the coordinator at {where.address} does not answer: {text}; see that it runs")
        case grpc.StatusCode.FAILED_PRECONDITION:
            return OrderRefused(text)
        case _:
            return ApiError(f"the coordinator refused: {text}", 0, str(code))


def ground_result(answer: Any) -> GroundResult:
    """The result; raises `OrderRefused` when a part was not done."""
    not_done = [
        f"{left.object.kind} {left.object.namespace}/{left.object.name}: {left.why}" for left in answer.not_done
    ]
    if answer.hidden:
        not_done.append(f"{answer.hidden} more that you may neither order nor see")
    if not_done:
        raise OrderRefused("the order does not cover all that was selected: " + "; ".join(not_done), not_done)
    return GroundResult(answer.drones, answer.agents_told)


def snapshot_of(answer: Any) -> Snapshot:
    """The fleet of a ListResponse."""
    return Snapshot(tuple(telemetry.of_message(vehicle) for vehicle in answer.vehicles))


def watch_request(namespace: str | None, selector: str | None, interval_s: float) -> Any:
    """A WatchRequest; `interval_s` from 0.1 to 60."""
    if not 0.1 <= interval_s <= 60:
        raise ValueError(f"interval_s is {interval_s}: choose 0.1 to 60 seconds")
    return message("WatchRequest")(
        namespace=namespace or "", selector=selector or "", interval_ms=round(interval_s * 1000)
    )


def _calls(channel: Any) -> dict[str, Any]:
    def unary(name: str, answer: str) -> Any:
        return channel.unary_unary(
            f"/skein.v1.Fleet/{name}",
            request_serializer=lambda request: request.SerializeToString(),
            response_deserializer=message(answer).FromString,
        )

    return {
        "List": unary("List", "ListResponse"),
        "Ground": unary("Ground", "GroundResponse"),
        "Release": unary("Release", "GroundResponse"),
        "Resume": unary("Resume", "ResumeResponse"),
        "Watch": channel.unary_stream(
            "/skein.v1.Fleet/Watch",
            request_serializer=lambda request: request.SerializeToString(),
            response_deserializer=message("ListResponse").FromString,
        ),
    }


class Coordinator:
    """A connection, opened by its first call."""

    def __init__(self, where: Credentials) -> None:
        self._where = where
        self._channel = grpc.secure_channel(where.address, _credentials(where), options=_OPTIONS)
        self._calls = _calls(self._channel)

    def close(self) -> None:
        """Ends it."""
        self._channel.close()

    def call(self, name: str, request: Any, limit_s: float = ANSWER_S) -> Any:
        """One call, which may take so many seconds. Raises `SkeinError`."""
        try:
            return self._calls[name](request, timeout=min(limit_s, ANSWER_S))
        except grpc.RpcError as error:
            raise fault(error, self._where) from None

    def watch(self, request: Any) -> Iterator[Snapshot]:
        """The fleet now and at each change. Raises `SkeinError` when the stream ends."""
        stream = self._calls["Watch"](request)
        try:
            for answer in stream:
                yield snapshot_of(answer)
            raise Unreachable(f"the coordinator at {self._where.address} ended the stream")
        except grpc.RpcError as error:
            raise fault(error, self._where) from None
        finally:
            stream.cancel()


class AsyncCoordinator:
    """A connection, opened by its first call."""

    def __init__(self, where: Credentials) -> None:
        self._where = where
        self._channel = grpc.aio.secure_channel(where.address, _credentials(where), options=_OPTIONS)
        self._calls = _calls(self._channel)

    async def close(self) -> None:
        """Ends it."""
        await self._channel.close(None)

    async def call(self, name: str, request: Any, limit_s: float = ANSWER_S) -> Any:
        """One call, which may take so many seconds. Raises `SkeinError`."""
        try:
            return await self._calls[name](request, timeout=min(limit_s, ANSWER_S))
        except grpc.RpcError as error:
            raise fault(error, self._where) from None

    async def watch(self, request: Any) -> AsyncGenerator[Snapshot, None]:
        """The fleet now and at each change. Raises `SkeinError` when the stream ends."""
        stream = self._calls["Watch"](request)
        try:
            async for answer in stream:
                yield snapshot_of(answer)
            raise Unreachable(f"the coordinator at {self._where.address} ended the stream")
        except grpc.RpcError as error:
            raise fault(error, self._where) from None
        finally:
            stream.cancel()
