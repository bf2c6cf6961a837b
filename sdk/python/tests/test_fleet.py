"""Against a real API, coordinator and agents, with simulated vehicles."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from skein import AsyncFleet, Fleet, Snapshot, import_file, models, preview
from skein.errors import Conflict, Invalid, NotFound, OrderRefused, ProgramFailed, WaitTimeout
from skein.models import Area, Drone, DroneSpec, Geofence, Mission, MissionSpec, Place, Survey, Swarm, SwarmSpec
from skein.testing import SimulatedFleet

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def fleet(station: SimulatedFleet) -> Iterator[SimulatedFleet]:
    """The fleet of all tests; afterwards it has no objects, and everything is on the ground."""
    yield station
    for drone in station.drones.list():
        station.drones.delete(drone.name)
    for swarm in station.swarms.list():
        station.swarms.delete(swarm.name)
    for order in station.ground_orders.list():
        with contextlib.suppress(NotFound):
            if order.spec.scope == "Drone":
                station.release(drone=order.spec.target, namespace=order.spec.namespace)
            else:
                station.release(all=True)
    for name in [drone.name for drone in station.drones.list()]:
        station.drones.wait_gone(name)


def test_objects_of_every_kind_can_be_listed(fleet: SimulatedFleet) -> None:
    for collection in (fleet.missions, fleet.geofences, fleet.parameter_profiles, fleet.operators, fleet.ground_orders):
        assert list(collection.list()) == []
    nodes = {vehicle.spec.node_name for vehicle in fleet.vehicles.list()}
    assert nodes <= {"a", "b"}


def test_a_drone_flies_and_lands_by_calls_that_wait(fleet: SimulatedFleet) -> None:
    fleet.apply(Drone.named("one", DroneSpec(node_name="a", takeoff_altitude_meters=12)))
    drone = fleet.drones.wait_until("one", "Ready")
    assert drone.status is not None
    assert drone.status.flying is True
    high = fleet.vehicle("a").wait_until(
        lambda state: bool(state.position and state.position.altitude_above_home_m > 10)
    )
    assert (high.drone, high.source, high.autopilot) == ("one", "coordinator", "ArduPilot")
    assert "bound to the vehicle of node a" in [event.message for event in fleet.drones.events("one")]
    fleet.drones.delete("one")
    fleet.drones.wait_gone("one")
    assert fleet.vehicle("a").state.flying is False


def test_a_rule_is_refused_in_its_own_words_and_a_dry_run_keeps_nothing(fleet: SimulatedFleet) -> None:
    body = {"kind": "Swarm", "metadata": {"name": "s"}, "spec": {"maxSurge": 0, "maxUnavailable": 0}}
    with pytest.raises(Invalid, match="maxSurge and maxUnavailable cannot both be 0"):
        fleet.swarms.apply(body)
    fleet.swarms.apply(Swarm.named("s", SwarmSpec(replicas=0)), dry_run=True)
    with pytest.raises(NotFound):
        fleet.swarms.get("s")


def test_every_example_is_read_written_and_accepted_as_it_is(fleet: SimulatedFleet) -> None:
    bodies = [body for file in EXAMPLES.glob("*.yaml") for body in yaml.safe_load_all(file.read_text())]
    ours = [body for body in bodies if body and body["apiVersion"] == "skein.dev/v1alpha1"]
    assert {body["kind"] for body in ours} >= {"Drone", "Swarm", "Mission", "Geofence", "ParameterProfile", "Operator"}
    for body in ours:
        body["metadata"].pop("namespace", None)
        object = getattr(models, body["kind"]).from_api(body)
        assert object.to_apply() == body
        assert fleet.apply(object, dry_run=True).name == body["metadata"]["name"]


def test_a_field_of_another_owner_is_a_conflict_unless_it_is_taken_over(fleet: SimulatedFleet) -> None:
    fleet.swarms.apply(Swarm.named("s", SwarmSpec(replicas=0, max_surge=2)))
    with Fleet(station=fleet.station, field_manager="somebody-else") as other:
        with pytest.raises(Conflict, match=r"maxSurge.*force=True"):
            other.swarms.apply(Swarm.named("s", SwarmSpec(max_surge=3)))
        assert other.swarms.apply(Swarm.named("s", SwarmSpec(max_surge=3)), force=True).spec.max_surge == 3
    assert fleet.swarms.patch("s", {"spec": {"maxSurge": 4}}).spec.max_surge == 4


def test_a_ground_order_lands_and_a_release_lets_fly_again(fleet: SimulatedFleet) -> None:
    fleet.apply(Drone.named("one", DroneSpec(node_name="b")))
    fleet.drones.wait_until("one", "Ready")
    assert fleet.ground(drone="one").drones == 1
    fleet.vehicle("b").wait_until(lambda state: state.flying is False)
    fleet.drones.wait_until("one", lambda drone: (c := drone.condition("Ready")) is not None and c.reason == "Grounded")
    with pytest.raises(WaitTimeout, match="skein release"):
        fleet.drones.wait_until("one", "Ready", timeout_s=3)
    fleet.release(drone="one")
    fleet.drones.wait_until("one", "Ready")
    with pytest.raises(NotFound):
        fleet.ground(swarm="nothing")
    with pytest.raises(OrderRefused):
        fleet.resume("one")


def test_the_asynchronous_fleet_watches_waits_and_reads_telemetry(fleet: SimulatedFleet) -> None:
    async def scenario() -> tuple[list[str], Snapshot]:
        changes: list[str] = []
        async with AsyncFleet(station=fleet.station) as here:

            async def follow() -> None:
                async for event in here.drones.watch(name="two"):
                    changes.append(event.type)
                    if event.type == "DELETED":
                        return

            following = asyncio.create_task(follow())
            await here.apply(Drone.named("two", DroneSpec(node_name="b")))
            await here.drones.wait_until("two", "Ready")
            async for snapshot in here.telemetry(interval_s=0.2):
                if (state := snapshot.drone("two")) and state.flying:
                    break
            with pytest.raises(WaitTimeout, match=r"b: Flying"):
                await here.wait_until(lambda snapshot: False, timeout_s=3)
            await here.drones.delete("two")
            await here.drones.wait_gone("two")
            await asyncio.wait_for(following, 20)
            return changes, snapshot

    changes, snapshot = asyncio.run(scenario())
    assert changes[0] == "ADDED"
    assert changes[-1] == "DELETED"
    state = snapshot.drone("two")
    assert state is not None
    assert state.node == "b"


def test_without_the_coordinator_telemetry_is_the_status_of_drones_and_says_so(fleet: SimulatedFleet) -> None:
    fleet.apply(Drone.named("one", DroneSpec(node_name="a")))
    fleet.drones.wait_until("one", "Ready")
    with Fleet(kubeconfig=fleet.kubeconfig) as cluster:
        for snapshot in cluster.telemetry():
            state = snapshot.drone("one")
            assert state is not None
            assert (state.source, state.flying, state.node) == ("status", True, "a")
            break


def test_satellites_that_are_lost_on_the_ground_keep_a_vehicle_down(fleet: SimulatedFleet) -> None:
    fleet.vehicle("b").lose_gps(25)
    fleet.vehicle("b").wait_until(lambda state: state.armable is False, timeout_s=10)
    fleet.apply(Drone.named("one", DroneSpec(node_name="b")))
    fleet.drones.wait_until("one", lambda drone: any(c.reason == "ArmingChecksFail" for c in drone.conditions))
    with pytest.raises(WaitTimeout, match="ArmingChecksFail"):
        fleet.drones.wait_until("one", "Ready", timeout_s=2)
    fleet.drones.wait_until("one", "Ready")


def test_a_mission_is_previewed_and_a_plan_imported(fleet: SimulatedFleet, tmp_path: Path) -> None:
    corners = [(47.3981, 8.5455), (47.3981, 8.5465), (47.3987, 8.5465)]
    area = Area(polygon=[Place(latitude_degrees=lat, longitude_degrees=lon) for lat, lon in corners])
    mission = Mission.named("m", MissionSpec(survey=Survey(area=area, altitude_meters=20, line_spacing_meters=12)))
    planned = preview(mission, starts=[(47.3978, 8.5455)])
    assert planned.flights[0].start == (47.3978, 8.5455)
    assert planned.flights[0].flies_m > planned.flights[0].work_m > 200
    assert planned.geojson["type"] == "FeatureCollection"
    corners_far = [(47.3981, 8.5455), (47.3981, 8.5565), (47.4087, 8.5565)]
    far = Area(polygon=[Place(latitude_degrees=lat, longitude_degrees=lon) for lat, lon in corners_far])
    long = preview(Mission.named("m", MissionSpec(survey=Survey(area=far, altitude_meters=20, line_spacing_meters=50))))
    assert long.flights[0].flies_m > 1000
    assert long.flights[0].flies_m % 10, "to the meter, where the table says kilometers"
    broken = Mission.named("m", MissionSpec())
    with pytest.raises(ProgramFailed, match="mission preview"):
        preview(broken)
    fence = tmp_path / "fence.geojson"
    ring = [[lon, lat] for lat, lon in [*corners, corners[0]]]
    fence.write_text(f'{{"type": "Polygon", "coordinates": [{ring}]}}')
    imported = import_file(fence, "--as", "inclusion", "--name", "field")
    assert [type(found) for found in imported.objects] == [Geofence]
    assert imported.objects[0].name == "field"
