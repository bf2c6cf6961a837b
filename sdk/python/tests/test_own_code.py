"""Code of somebody's own flies a vehicle through `skein connect --control`: the example, with MAVSDK as it is."""

from __future__ import annotations

import math
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
import yaml

from skein import VehiclePosition
from skein._program import find
from skein.models import Drone
from skein.testing import SimulatedFleet, simulated_fleet

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "sdk/python/examples/offboard_box.py"
EXAMPLE = ROOT / "examples/external-control.yaml"
SPEEDUP = 4.0
CORNER_M = math.hypot(10, 10)
"""How far the corners of the program's square are from its middle."""


def may_be_flown(drone: Drone) -> bool:
    ready = drone.condition("Ready")
    return ready is not None and "a program may fly it" in ready.message


@contextmanager
def connected(fleet: SimulatedFleet, *words: str) -> Iterator[int]:
    """`skein connect` to a port of this test; the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [str(find()), "--station", str(fleet.station), "connect", *words, "--to", f"udp:127.0.0.1:{port}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as connection:
        try:
            assert connection.stdout is not None
            assert "FOR A PROGRAM" in connection.stdout.readline()
            yield port
        finally:
            connection.terminate()


def offset_m(position: VehiclePosition, station: object) -> tuple[float, float]:
    """How far it is from its station: over ground, and up."""
    lat, lon, up = (getattr(station, name) for name in ("latitude_degrees", "longitude_degrees", "altitude_meters"))
    north = math.radians(position.latitude_deg - lat) * 6_371_000
    east = math.radians(position.longitude_deg - lon) * 6_371_000 * math.cos(math.radians(lat))
    return math.hypot(north, east), position.altitude_above_home_m - up


@pytest.mark.parametrize("autopilot", ["ardupilot", "px4"])
def test_mavsdk_flies_a_square_within_its_box_and_gives_the_vehicle_back(
    autopilot: Literal["ardupilot", "px4"],
) -> None:
    # PX4 fails over after a second without set-points. So it does in real seconds, by which Skein notices the silence.
    options = ["--boot-speedup", "20"]
    if autopilot == "px4":
        options += ["--param", f"COM_OF_LOSS_T={SPEEDUP:g}"]
    with simulated_fleet(["a"], autopilot=autopilot, speedup=SPEEDUP, sitl_options=options) as fleet:
        drone = fleet.drones.apply(yaml.safe_load(EXAMPLE.read_text()))
        box, station = drone.spec.external, drone.spec.station
        assert box is not None
        fleet.drones.wait_until(drone.name, may_be_flown, timeout_s=120)
        offsets: list[tuple[float, float]] = []
        reasons: set[str] = set()
        with connected(fleet, drone.name, "--control") as port:
            program = subprocess.Popen(
                [sys.executable, PROGRAM, str(port)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            end = time.monotonic() + 120
            while program.poll() is None and time.monotonic() < end:
                position = fleet.vehicle("a").state.position
                ready = fleet.drones.get(drone.name).condition("Ready")
                assert position is not None
                assert ready is not None
                offsets.append(offset_m(position, station))
                reasons.add(ready.reason)
                time.sleep(0.2)
            program.kill()
            said, _ = program.communicate()
            assert program.returncode == 0, f"{said}\n{fleet.log_end()}"
            assert said.count("at the corner") == 4
            fleet.drones.wait_until(drone.name, may_be_flown, timeout_s=60)
        assert "ExternalControl" in reasons
        flown = [over_ground for over_ground, _ in offsets]
        assert CORNER_M - 3 < max(flown) < box.radius_meters, flown
        assert all(-box.below_meters < up < box.above_meters for _, up in offsets), offsets
        position = fleet.vehicle("a").wait_until(lambda state: state.position is not None).position
        assert position is not None
        assert offset_m(position, station)[0] < 3, "it holds at its station again"
        fleet.drones.delete(drone.name)
        fleet.drones.wait_gone(drone.name)
