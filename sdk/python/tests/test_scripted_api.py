"""Both clients against an API server that follows a script: what they ask, and what they make of answers."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import ScriptedApi, listing

from skein import AsyncFleet, Event, Fleet, Snapshot
from skein._backoff import Backoff
from skein._coordinator import Target
from skein._watching import Lines, Watching
from skein.errors import Conflict, Forbidden, Invalid, NotFound, Unreachable, WaitTimeout, WillNotHappen
from skein.models import Drone, DroneSpec

Make = Callable[..., dict[str, Any]]


def told(events: list[Event[Drone]]) -> list[tuple[str, str]]:
    return [(event.type, event.object.name) for event in events]


def test_apply_is_server_side_with_a_field_manager_of_its_own(api: ScriptedApi, drone: Make) -> None:
    api.says(drone("one", 1), 201)
    with Fleet(kubeconfig=api.kubeconfig) as fleet:
        assert fleet.namespace == "field"
        assert fleet.drones.apply(Drone.named("one", DroneSpec())).metadata.uid == "u1"
    method, path, content, body = api.asked[0]
    assert (method, content) == ("PATCH", "application/apply-patch+yaml")
    assert path.startswith("/apis/skein.dev/v1alpha1/namespaces/field/drones/one?")
    assert "fieldManager=skein-sdk" in path
    assert "force=False" in path or "force=false" in path or "force" not in path
    assert body == {
        "apiVersion": "skein.dev/v1alpha1",
        "kind": "Drone",
        "metadata": {"name": "one", "namespace": "field"},
        "spec": {},
    }


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (404, NotFound, "none"),
        (403, Forbidden, "ask for the right"),
        (422, Invalid, "rule"),
        (401, Forbidden, "log in"),
    ],
)
def test_each_refusal_is_an_error_of_its_own(api: ScriptedApi, code: int, error: type[Exception], words: str) -> None:
    status = {"kind": "Status", "message": "there is none: rule", "reason": "R"}
    api.says(status, code)
    with Fleet(kubeconfig=api.kubeconfig) as fleet, pytest.raises(error, match=words):
        fleet.drones.get("one")

    async def ask() -> None:
        api.says(status, code)
        async with AsyncFleet(kubeconfig=api.kubeconfig) as fleet:
            await fleet.drones.get("one")

    with pytest.raises(error, match=words):
        asyncio.run(ask())


def test_a_conflict_names_the_fields_and_their_owner(api: ScriptedApi) -> None:
    causes = [{"reason": "FieldManagerConflict", "message": 'conflict with "kubectl"', "field": ".spec.replicas"}]
    api.says({"message": "Apply failed with 1 conflict:", "reason": "Conflict", "details": {"causes": causes}}, 409)
    with Fleet(kubeconfig=api.kubeconfig) as fleet, pytest.raises(Conflict, match=r"replicas.*kubectl.*force=True"):
        fleet.drones.apply(Drone.named("one", DroneSpec()))


SCRIPT = [("ADDED", "one"), ("ADDED", "two"), ("DELETED", "two"), ("ADDED", "three"), ("MODIFIED", "one")]


def play(api: ScriptedApi, drone: Make) -> None:
    api.says(listing(5, drone("one", 1)))
    api.streams({"type": "ADDED", "object": drone("two", 6, "u2")})
    api.streams(
        {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}},
        {"type": "ERROR", "object": {"code": 410, "message": "too old"}},
    )
    api.says(listing(12, drone("one", 1), drone("three", 11, "u3")))
    api.streams({"type": "MODIFIED", "object": drone("one", 13)})


def test_a_watch_goes_on_where_it_was_and_lists_again_when_that_is_gone(api: ScriptedApi, drone: Make) -> None:
    play(api, drone)
    events: list[Event[Drone]] = []
    with Fleet(kubeconfig=api.kubeconfig) as fleet:
        for event in fleet.drones.watch():
            events.append(event)
            if len(events) == len(SCRIPT):
                break
    assert told(events) == SCRIPT
    versions = [path.partition("resourceVersion=")[2].partition("&")[0] for _, path, _, _ in api.asked]
    assert versions == ["", "5", "6", "", "12"]


def test_the_asynchronous_watch_does_the_same(api: ScriptedApi, drone: Make) -> None:
    play(api, drone)

    async def watch() -> list[Event[Drone]]:
        events: list[Event[Drone]] = []
        async with AsyncFleet(kubeconfig=api.kubeconfig) as fleet:
            async for event in fleet.drones.watch():
                events.append(event)
                if len(events) == len(SCRIPT):
                    break
        return events

    assert told(asyncio.run(watch())) == SCRIPT


def test_failures_in_a_row_are_bounded_and_their_delays_are_capped(drone: Make) -> None:
    watching = Watching(Drone, Backoff(first_s=1, cap_s=4, tries=5))
    delays = [watching.failed(Unreachable("gone")) for _ in range(4)]
    assert all(0.5 <= delay <= 4 for delay in delays)
    assert delays[3] >= 2
    with pytest.raises(Unreachable, match=r"5 times in a row.*gone"):
        watching.failed(Unreachable("gone"))
    watching.succeeded()
    assert watching.failed(Unreachable("gone")) <= 1
    with pytest.raises(Forbidden):
        watching.failed(Forbidden("no"))


def test_lines_are_put_together_from_pieces() -> None:
    lines = Lines()
    pieces = [b'{"a', b'":1}\n{"b":', b"2}\n\n"]
    assert [line for piece in pieces for line in lines.push(piece)] == [b'{"a":1}', b'{"b":2}']


def test_a_wait_that_ends_says_why_and_what_to_do(api: ScriptedApi, drone: Make) -> None:
    waits = drone("one", 1, ready=("False", "NoFreeVehicle", "2 nodes: 2 cordoned"))
    api.says(waits)
    api.says(listing(1, waits))
    with Fleet(kubeconfig=api.kubeconfig) as fleet, pytest.raises(WaitTimeout) as error:
        fleet.drones.wait_until("one", "Ready", timeout_s=0.5)
    text = str(error.value)
    assert "not within 0.5 s: Drone one: Ready" in text
    assert "phase: Preparing" in text
    assert "Ready is False: NoFreeVehicle: 2 nodes: 2 cordoned" in text
    assert "to do: free, charge or connect a vehicle" in text
    assert error.value.object.name == "one"


def test_an_asynchronous_wait_keeps_its_deadline(api: ScriptedApi, drone: Make) -> None:
    waits = drone("one", 1, ready=("False", "Grounded", "by ada"))
    api.says(waits)
    api.says(listing(1, waits))

    async def wait() -> None:
        async with AsyncFleet(kubeconfig=api.kubeconfig) as fleet:
            await fleet.drones.wait_until("one", "Ready", timeout_s=0.5)

    began = time.monotonic()
    with pytest.raises(WaitTimeout, match="skein release"):
        asyncio.run(wait())
    assert time.monotonic() - began < 5


def test_a_wait_for_what_has_failed_for_good_ends_at_once(api: ScriptedApi, drone: Make) -> None:
    body = drone("m", 1, ready=("True", "BackoffLimitExceeded", "7 failures"))
    body["kind"] = "Mission"
    del body["status"]["phase"]
    body["status"]["conditions"][0]["type"] = "Failed"
    api.says(body)
    with Fleet(kubeconfig=api.kubeconfig) as fleet, pytest.raises(WillNotHappen, match="7 failures"):
        fleet.missions.wait_until("m", "Complete", timeout_s=30)


def test_an_order_names_exactly_one_target() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        Target()
    with pytest.raises(ValueError, match="exactly one"):
        Target(swarm="a", all=True)
    assert Target(drone="d", namespace="n").arguments() == ["--drone", "d", "--namespace", "n"]
    assert Target(all=True).request().WhichOneof("target") == "all"
    request = Target(vehicle="v").request()
    assert (request.WhichOneof("target"), request.node.name) == ("node", "v")


def test_a_wait_outlives_the_moment_between_two_leaders_but_not_a_coordinator_that_is_gone(
    api: ScriptedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skein._backoff.Backoff.delay_s", lambda self, failures: 0.0)
    answers: list[Exception | Snapshot] = []

    def answer(_: object, timeout_s: float = 0) -> Snapshot:
        answered = answers.pop(0)
        if isinstance(answered, Exception):
            raise answered
        return answered

    async def answer_later(fleet: object, timeout_s: float = 0) -> Snapshot:
        return answer(fleet)

    monkeypatch.setattr(Fleet, "snapshot", answer)
    monkeypatch.setattr(AsyncFleet, "snapshot", answer_later)
    silent = [Unreachable("this coordinator does not lead")]

    async def wait() -> None:
        async with AsyncFleet(kubeconfig=api.kubeconfig) as fleet:
            await fleet.wait_until(lambda snapshot: True, timeout_s=30)

    with Fleet(kubeconfig=api.kubeconfig) as fleet:
        answers[:] = silent * 9 + [Snapshot(())]
        fleet.wait_until(lambda snapshot: True, timeout_s=30)
        answers[:] = silent * 9 + [Snapshot(())]
        asyncio.run(wait())
        answers[:] = silent * 10
        with pytest.raises(Unreachable, match=r"10 times in a row.*does not lead"):
            fleet.wait_until(lambda snapshot: True, timeout_s=30)
        answers[:] = silent * 10
        with pytest.raises(Unreachable, match=r"10 times in a row.*does not lead"):
            asyncio.run(wait())
