"""Events of Kubernetes about an object."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from conftest import ScriptedApi, listing

from skein import AsyncFleet, Fleet, ObjectEvent

NEW = {
    "metadata": {"creationTimestamp": "2026-11-28T12:00:00Z"},
    "eventTime": "2026-11-28T12:00:00.25Z",
    "series": {"count": 3, "lastObservedTime": "2026-11-28T12:09:00Z"},
    "type": "Warning",
    "reason": "Grounded",
    "note": "by ada",
    "reportingController": "skein-coordinator",
}
OLD = {
    "metadata": {"creationTimestamp": "2026-11-28T12:00:00Z"},
    "eventTime": None,
    "deprecatedLastTimestamp": "2026-11-28T12:01:00Z",
    "deprecatedCount": 2,
    "deprecatedSource": {"component": "kubelet"},
    "reason": "Bound",
}


def check(api: ScriptedApi, events: Any) -> None:
    early, late = (datetime(2026, 11, 28, 12, minute, tzinfo=UTC) for minute in (1, 9))
    assert events == [
        ObjectEvent("Normal", "Bound", "", early, 2, "kubelet"),
        ObjectEvent("Warning", "Grounded", "by ada", late, 3, "skein-coordinator"),
    ]
    path = api.asked.pop()[1]
    where, _, selector = path.partition("?fieldSelector=")
    assert where == "/apis/events.k8s.io/v1/namespaces/field/events"
    assert selector.replace("%3D", "=").replace("%2C", ",") == "regarding.kind=Drone,regarding.name=one"


def test_events_of_an_object_are_read_oldest_first(api: ScriptedApi) -> None:
    async def later() -> Any:
        async with AsyncFleet(kubeconfig=api.kubeconfig) as fleet:
            return await fleet.drones.events("one")

    api.says(listing(1, NEW, OLD))
    with Fleet(kubeconfig=api.kubeconfig) as fleet:
        check(api, fleet.drones.events("one"))
    api.says(listing(1, NEW, OLD))
    check(api, asyncio.run(later()))


def test_events_of_an_object_in_no_namespace_are_in_the_default_one(api: ScriptedApi) -> None:
    api.says(listing(1))
    with Fleet(kubeconfig=api.kubeconfig) as fleet:
        assert list(fleet.ground_orders.events("all")) == []
    assert api.asked[0][1].startswith("/apis/events.k8s.io/v1/namespaces/default/events?")


def test_a_watch_can_be_of_all_namespaces(api: ScriptedApi) -> None:
    drone = {"metadata": {"name": "one", "namespace": "hangar", "resourceVersion": "1"}, "spec": {}}

    async def later() -> str:
        async with AsyncFleet(kubeconfig=api.kubeconfig) as fleet:
            return (await anext(aiter(fleet.drones.watch(all_namespaces=True)))).object.namespace

    api.says(listing(1, drone))
    with Fleet(kubeconfig=api.kubeconfig) as fleet:
        assert next(fleet.drones.watch(all_namespaces=True)).object.namespace == "hangar"
    api.says(listing(1, drone))
    assert asyncio.run(later()) == "hangar"
    assert {path for _, path, _, _ in api.asked} == {"/apis/skein.dev/v1alpha1/drones"}
