"""Flies a square around the station of Drone `external` (examples/external-control.yaml) by velocities, with MAVSDK.

First, in another terminal: skein connect external --control
Then: pip install mavsdk==4.1.0; python offboard_box.py [PORT]

PORT is the UDP port to which `skein connect` brings MAVLink: 14550 unless its --to says otherwise.

Each set-point renews the lease, and MAVSDK repeats the last one by itself: to give the vehicle back, end the program.
It may send nothing but set-points, the mode for them and what only asks, so it neither arms nor lands, and sets no
rates of messages.
"""

import math
import sys
import time

from mavsdk import ComponentType, Configuration, Mavsdk
from mavsdk.plugins.offboard import Offboard, OffboardError, VelocityNedYaw
from mavsdk.plugins.telemetry import Position, Telemetry

# The box, from the place where the program begins: well inside of radiusMeters, as Skein stops the vehicle before it
# would leave that.
HALF_M = 10.0
SPEED_M_S = 2.0
CORNERS = [(HALF_M, HALF_M), (-HALF_M, HALF_M), (-HALF_M, -HALF_M), (HALF_M, -HALF_M)]


def offset_m(start: Position, now: Position) -> tuple[float, float]:
    """How far north and east of `start` the vehicle is."""
    north = math.radians(now.latitude_deg - start.latitude_deg) * 6_371_000.0
    east = math.radians(now.longitude_deg - start.longitude_deg) * 6_371_000.0
    return north, east * math.cos(math.radians(start.latitude_deg))


def fly_to(offboard: Offboard, telemetry: Telemetry, start: Position, corner: tuple[float, float]) -> None:
    """Flies straight to a corner, within a meter."""
    while True:
        north, east = offset_m(start, telemetry.position())
        to_north, to_east = corner[0] - north, corner[1] - east
        distance = math.hypot(to_north, to_east)
        if distance < 1.0:
            return
        speed = min(SPEED_M_S, distance)
        yaw = math.degrees(math.atan2(to_east, to_north))
        offboard.set_velocity_ned(VelocityNedYaw(speed * to_north / distance, speed * to_east / distance, 0.0, yaw))
        time.sleep(0.1)


def main() -> None:
    port = sys.argv[1] if len(sys.argv) > 1 else "14550"
    mavsdk = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))
    mavsdk.add_any_connection(f"udpin://127.0.0.1:{port}")
    system = mavsdk.first_autopilot(timeout_s=30.0)
    if system is None:
        sys.exit(f"no vehicle is heard on UDP port {port}; is `skein connect external --control` running?")
    telemetry, offboard = Telemetry(system), Offboard(system)
    while math.isnan(telemetry.position().latitude_deg):
        time.sleep(0.1)
    start = telemetry.position()
    # PX4 takes OFFBOARD only once set-points come.
    offboard.set_velocity_ned(VelocityNedYaw(0.0, 0.0, 0.0, 0.0))
    time.sleep(1.0)
    try:
        offboard.start()
    except OffboardError as refusal:
        sys.exit(f"refused: {refusal}; `kubectl get drone external -o wide` says whether a program may fly it")
    for corner in CORNERS:
        fly_to(offboard, telemetry, start, corner)
        print(f"at the corner {corner}", flush=True)
    # Silence ends the lease: Skein stops the vehicle and brings it back to its station.


if __name__ == "__main__":
    main()
