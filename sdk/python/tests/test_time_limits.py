"""How long calls may take: waits end in time also where a server is silent, and streams are opened with pauses."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from conftest import ScriptedApi, listing

from skein import AsyncFleet, Fleet
from skein._coordinator import AsyncCoordinator, Coordinator, message
from skein._watching import Watching
from skein._where import Credentials
from skein.errors import Unreachable, WaitTimeout
from skein.models import Drone

Make = Callable[..., dict[str, Any]]
MOST_S = 5.0
"""A wait of half a second ends within this, in seconds, on a busy machine; a request may take 20."""


def wait_for_drone(api: ScriptedApi) -> None:
    with Fleet(kubeconfig=api.kubeconfig) as fleet:
        fleet.drones.wait_until("one", "Ready", timeout_s=0.5)


def wait_for_drone_later(api: ScriptedApi) -> None:
    async def wait() -> None:
        async with AsyncFleet(kubeconfig=api.kubeconfig) as fleet:
            await fleet.drones.wait_until("one", "Ready", timeout_s=0.5)

    asyncio.run(wait())


def wait_for_telemetry(api: ScriptedApi) -> None:
    with Fleet(kubeconfig=api.kubeconfig) as fleet:
        fleet.wait_until(lambda snapshot: True, timeout_s=0.5)


def wait_for_telemetry_later(api: ScriptedApi) -> None:
    async def wait() -> None:
        async with AsyncFleet(kubeconfig=api.kubeconfig) as fleet:
            await fleet.wait_until(lambda snapshot: True, timeout_s=0.5)

    asyncio.run(wait())


@pytest.mark.parametrize("wait", [wait_for_drone, wait_for_drone_later])
@pytest.mark.parametrize("answered", [0, 1, 2])
def test_a_wait_ends_in_time_whichever_request_is_not_answered(
    api: ScriptedApi, drone: Make, wait: Callable[[ScriptedApi], None], answered: int
) -> None:
    for answer in [drone("one", 1), listing(1, drone("one", 1))][:answered]:
        api.says(answer)
    for _ in range(5):
        api.is_silent()
    began = time.monotonic()
    with pytest.raises(WaitTimeout, match="nothing is known of it" if answered == 0 else "no conditions yet"):
        wait(api)
    assert time.monotonic() - began < MOST_S
    assert len(api.asked) == answered + 1


def test_a_wait_ends_in_time_also_where_a_server_falls_silent_after_an_event(api: ScriptedApi, drone: Make) -> None:
    api.says(drone("one", 1))
    api.says(listing(1, drone("one", 1)))
    api.streams({"type": "MODIFIED", "object": drone("one", 2)}, after_s=1.5, stays=True)
    api.is_silent()
    with Fleet(kubeconfig=api.kubeconfig) as fleet, pytest.raises(WaitTimeout):
        fleet.drones.wait_until("one", "Ready", timeout_s=3)
    assert "resourceVersion=2&" in api.asked[3][1], "a new stream, whose reads end at the deadline"


@pytest.mark.parametrize("wait", [wait_for_telemetry, wait_for_telemetry_later])
def test_a_wait_for_telemetry_ends_in_time_and_says_that_nothing_answered(
    api: ScriptedApi, wait: Callable[[ScriptedApi], None]
) -> None:
    for _ in range(5):
        api.is_silent()
    began = time.monotonic()
    with pytest.raises(WaitTimeout, match="does not answer"):
        wait(api)
    assert time.monotonic() - began < MOST_S


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Credentials]:
    """A coordinator that accepts connections and says nothing."""
    monkeypatch.setattr("skein._coordinator._credentials", lambda _: None)
    for module in (grpc, grpc.aio):
        plain = module.insecure_channel
        monkeypatch.setattr(module, "secure_channel", lambda to, _, options, plain=plain: plain(to, options=options))
    with socket.create_server(("127.0.0.1", 0)) as server:
        file = Path("/nonexistent")
        yield Credentials(f"127.0.0.1:{server.getsockname()[1]}", file, file, file)


def test_a_wait_bounds_the_call_to_a_silent_coordinator(api: ScriptedApi, silent: Credentials) -> None:
    async def wait() -> None:
        async with AsyncFleet(kubeconfig=api.kubeconfig) as fleet:
            fleet._coordinator = AsyncCoordinator(silent)
            await fleet.wait_until(lambda snapshot: True, timeout_s=0.5)

    began = time.monotonic()
    with Fleet(kubeconfig=api.kubeconfig) as fleet:
        fleet._coordinator = Coordinator(silent)
        with pytest.raises(WaitTimeout, match="does not answer"):
            fleet.wait_until(lambda snapshot: True, timeout_s=0.5)
    with pytest.raises(WaitTimeout, match="does not answer"):
        asyncio.run(wait())
    assert time.monotonic() - began < 2 * MOST_S


def test_a_snapshot_takes_no_longer_than_its_limit(api: ScriptedApi, silent: Credentials) -> None:
    began = time.monotonic()
    with pytest.raises(Unreachable):
        Coordinator(silent).call("List", message("ListRequest")(), limit_s=0.3)
    api.is_silent()
    with Fleet(kubeconfig=api.kubeconfig) as fleet, pytest.raises(Unreachable):
        fleet.snapshot(timeout_s=0.3)
    assert time.monotonic() - began < MOST_S


def test_a_stream_that_ends_at_once_without_an_event_has_failed(drone: Make) -> None:
    watching = Watching(Drone)
    watching.listed(listing(1))
    with pytest.raises(Unreachable, match="ended the watch at once"):
        watching.ended(0.5)
    watching.ended(1.5)
    list(watching.lines([b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "2"}}}']))
    with pytest.raises(Unreachable):
        watching.ended(0.5)


def watch(api: ScriptedApi) -> None:
    with Fleet(kubeconfig=api.kubeconfig) as fleet:
        for _ in fleet.drones.watch():
            pass


def watch_later(api: ScriptedApi) -> None:
    async def follow() -> None:
        async with AsyncFleet(kubeconfig=api.kubeconfig) as fleet:
            async for _ in fleet.drones.watch():
                pass

    asyncio.run(follow())


@pytest.mark.parametrize("follow", [watch, watch_later])
def test_streams_that_end_at_once_are_opened_with_pauses_and_not_for_ever(
    api: ScriptedApi, monkeypatch: pytest.MonkeyPatch, follow: Callable[[ScriptedApi], None]
) -> None:
    pauses: list[int] = []

    def delay_s(_: object, failures: int) -> float:
        pauses.append(failures)
        return 0.0

    monkeypatch.setattr("skein._backoff.Backoff.delay_s", delay_s)
    api.says(listing(1))
    for _ in range(40):
        api.streams()
    with pytest.raises(Unreachable, match=r"10 times in a row.*ended the watch at once"):
        follow(api)
    assert len(api.asked) == 1 + 10
    assert pauses == list(range(1, 10))
