"""MAVSDK arms, takes off and lands a simulated vehicle over UDP.

Usage: fly_mavsdk.py ardupilot|px4. Exit code 0 when the vehicle flew and landed.
"""

import socket
import sys

from mavsdk import ComponentType, Configuration, Mavsdk
from mavsdk.plugins.action import Action, ActionError
from mavsdk.plugins.telemetry import LandedState, Telemetry

from simulator import Simulator, wait_for

SPEEDUP = 10
HEIGHT_M = 6.0


def free_udp_port():
    """A port that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def armed(action):
    """Tries to arm; a refusal is an answer, not an error."""
    try:
        action.arm()
        return True
    except ActionError as refusal:
        print(f"arming refused: {refusal}")
        return False


def fly(autopilot, system):
    action, telemetry = Action(system), Telemetry(system)
    telemetry.set_rate_landed_state(5.0)
    telemetry.set_rate_position(4.0)
    telemetry.set_rate_health(1.0)
    seen = []

    def remember(state):
        if seen[-1:] != [state]:
            seen.append(state)

    telemetry.subscribe_landed_state(lambda state, _: remember(state))
    action.set_takeoff_altitude(HEIGHT_M)
    wait_for("health: a global position", 20, lambda: telemetry.health().is_global_position_ok)
    print("seen: global position")
    if autopilot == "ardupilot":
        # It arms in its boot mode already at half of the time until GUIDED is ready.
        wait_for("health: armable", 20, lambda: telemetry.health().is_armable)
    wait_for("arming accepted", 20, lambda: armed(action), every_s=0.3)
    print("seen: armed")
    action.takeoff()
    wait_for("in the air", 20, lambda: telemetry.landed_state() == LandedState.IN_AIR)
    height_m = wait_for("height", 10, lambda: abs(telemetry.position().relative_altitude_m - HEIGHT_M) < 0.8)
    print(f"seen: in the air at {HEIGHT_M} m ({height_m})")
    action.land()
    wait_for("motors off after landing", 30, lambda: not telemetry.armed())
    print("seen:", [state.name for state in seen])
    expected = [LandedState.TAKING_OFF, LandedState.IN_AIR, LandedState.LANDING, LandedState.ON_GROUND]
    assert seen[-4:] == expected, seen


def main():
    autopilot = sys.argv[1]
    port = free_udp_port()
    mavsdk = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))
    mavsdk.add_any_connection(f"udpin://127.0.0.1:{port}")
    with Simulator("--autopilot", autopilot, "--speedup", str(SPEEDUP), "--link", f"udp:127.0.0.1:{port}"):
        system = mavsdk.first_autopilot(timeout_s=10.0)
        assert system is not None, "MAVSDK saw no autopilot in 10 s"
        fly(autopilot, system)
    print(f"MAVSDK flew {autopilot}")


if __name__ == "__main__":
    main()
