import datetime

import pytest
from pydantic import ValidationError

from skein.errors import UnknownShape
from skein.models import Drone, DroneSpec, Failsafe, Mission, MissionSpec, Place, Station


def test_only_what_was_set_is_sent_under_the_names_of_the_api() -> None:
    drone = Drone.named("one", DroneSpec(takeoff_altitude_meters=15, failsafe=Failsafe(reserve_percent=30)))
    assert drone.to_apply() == {
        "apiVersion": "skein.dev/v1alpha1",
        "kind": "Drone",
        "metadata": {"name": "one"},
        "spec": {"takeoffAltitudeMeters": 15.0, "failsafe": {"reservePercent": 30}},
    }


def test_a_field_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValidationError, match="altitude_feet"):
        DroneSpec.model_validate({"altitude_feet": 30})


def test_a_value_outside_of_the_range_of_the_definition_is_refused() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 120"):
        DroneSpec(takeoff_altitude_meters=121)
    with pytest.raises(ValidationError, match="less than 360"):
        Station(latitude_degrees=47, longitude_degrees=8, altitude_meters=20, heading_degrees=360)
    with pytest.raises(ValidationError, match="latitude"):
        Place(latitude_degrees=91, longitude_degrees=8)


def test_an_object_of_a_newer_server_is_read_without_what_is_not_known() -> None:
    body = {"metadata": {"name": "one", "managedFields": []}, "spec": {"newField": 1}, "status": {"phase": "Soaring"}}
    drone = Drone.from_api(body)
    assert drone.status is not None
    assert drone.status.phase == "Soaring"


def test_a_value_of_a_newer_server_that_has_no_meaning_here_says_to_update() -> None:
    body = {"metadata": {"name": "one"}, "spec": {"failsafe": {"onLowBattery": "Glide"}}}
    with pytest.raises(UnknownShape, match=r"Drone one .* update it"):
        Drone.from_api(body)


def test_a_word_of_python_is_a_field_with_an_underscore() -> None:
    status = {"armingRefusals": [{"class": "NeedsHuman", "message": "no", "since": "2026-11-28T12:00:00Z"}]}
    drone = Drone.from_api({"metadata": {"name": "one"}, "spec": {}, "status": status})
    assert drone.status is not None
    assert drone.status.arming_refusals is not None
    refusal = drone.status.arming_refusals[0]
    assert refusal.class_ == "NeedsHuman"
    assert refusal.since == datetime.datetime(2026, 11, 28, 12, tzinfo=datetime.UTC)


def test_a_condition_of_an_older_generation_does_not_hold() -> None:
    ready = {
        "type": "Complete",
        "status": "True",
        "reason": "AllFlown",
        "message": "",
        "lastTransitionTime": "2026-11-28T12:00:00Z",
    }
    body = {"metadata": {"name": "m", "generation": 3}, "spec": {}}
    status = {"conditions": [ready], "observedGeneration": 2}
    mission = Mission.from_api({**body, "status": status})
    assert not mission.has("Complete")
    assert Mission.from_api({**body, "status": {**status, "observedGeneration": 3}}).has("Complete")
    assert mission.spec == MissionSpec()
