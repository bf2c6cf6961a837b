"""Telemetry of a cluster whose coordinator is not reached directly: the status of Drones, whole each time."""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import pytest
from conftest import ScriptedApi, listing

from skein import AsyncFleet, Fleet, Snapshot

Make = Callable[..., dict[str, Any]]
Read = Callable[..., list[tuple[float, list[str]]]]


def names(snapshot: Snapshot) -> list[str]:
    return [state.drone for state in snapshot.vehicles]


def synchronous(api: ScriptedApi, count: int, **options: Any) -> list[tuple[float, list[str]]]:
    read: list[tuple[float, list[str]]] = []
    with Fleet(kubeconfig=api.kubeconfig) as fleet:
        for snapshot in fleet.telemetry(**options):
            read.append((time.monotonic(), names(snapshot)))
            if len(read) == count:
                break
    return read


def asynchronous(api: ScriptedApi, count: int, **options: Any) -> list[tuple[float, list[str]]]:
    read: list[tuple[float, list[str]]] = []

    async def follow() -> None:
        async with AsyncFleet(kubeconfig=api.kubeconfig) as fleet, aclosing(fleet.telemetry(**options)) as snapshots:  # type: ignore[type-var]
            async for snapshot in snapshots:
                read.append((time.monotonic(), names(snapshot)))
                if len(read) == count:
                    break

    asyncio.run(follow())
    return read


@pytest.fixture(params=[synchronous, asynchronous])
def read(request: pytest.FixtureRequest) -> Read:
    found: Read = request.param
    return found


def test_the_first_snapshot_is_the_whole_fleet_of_all_namespaces(api: ScriptedApi, drone: Make, read: Read) -> None:
    elsewhere = drone("two", 2, "u2")
    elsewhere["metadata"]["namespace"] = "hangar"
    api.says(listing(5, drone("one", 1), elsewhere))
    assert read(api, 1)[0][1] == ["one", "two"]
    assert [path for _, path, _, _ in api.asked] == ["/apis/skein.dev/v1alpha1/drones"]


def test_a_namespace_that_is_named_is_the_only_one(api: ScriptedApi, drone: Make, read: Read) -> None:
    api.says(listing(5, drone("one", 1)))
    assert read(api, 1, namespace="hangar")[0][1] == ["one"]
    assert [path for _, path, _, _ in api.asked] == ["/apis/skein.dev/v1alpha1/namespaces/hangar/drones"]


def test_a_fleet_without_drones_is_an_empty_snapshot(api: ScriptedApi, read: Read) -> None:
    api.says(listing(5))
    assert read(api, 1)[0][1] == []


def test_changes_come_together_and_no_more_often_than_the_interval(api: ScriptedApi, drone: Make, read: Read) -> None:
    api.says(listing(5, drone("one", 1)))
    api.streams({"type": "ADDED", "object": drone("two", 6, "u2")}, stays=True)
    api.streams(
        {"type": "ADDED", "object": drone("three", 7, "u3")}, {"type": "DELETED", "object": drone("one", 8)}, stays=True
    )
    api.streams({"type": "DELETED", "object": drone("two", 9, "u2")}, stays=True)
    api.streams({"type": "MODIFIED", "object": drone("three", 10, "u3")}, stays=True)
    # Long beside what a busy machine keeps a program waiting.
    snapshots = read(api, 3, interval_s=1.5)
    assert [drones for _, drones in snapshots] == [["one"], ["two", "three"], ["three"]]
    moments = [moment for moment, _ in snapshots]
    assert all(later - before >= 1.49 for before, later in pairwise(moments)), moments
    versions = [path.partition("resourceVersion=")[2].partition("&")[0] for _, path, _, _ in api.asked]
    assert versions == ["", "5", "6", "8", "9"], "it lists once"


def test_a_change_that_never_ends_does_not_hold_up_a_snapshot(api: ScriptedApi, drone: Make, read: Read) -> None:
    api.says(listing(5, drone("one", 1)))
    api.streams({"type": "ADDED", "object": drone("two", 6, "u2")}, stays=True)
    api.streams(*({"type": "MODIFIED", "object": drone("two", 7 + n, "u2")} for n in range(200)), after_s=0.05)
    first, second = read(api, 2, interval_s=0.3)
    assert second[1] == ["one", "two"]
    assert second[0] - first[0] < 5


def test_an_interval_that_cannot_be_is_refused(api: ScriptedApi, read: Read) -> None:
    with pytest.raises(ValueError, match=r"choose 0\.1 to 60 seconds"):
        read(api, 1, interval_s=0.01)
