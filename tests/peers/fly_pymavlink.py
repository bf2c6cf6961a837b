"""pymavlink arms, takes off and lands a simulated vehicle on a pseudo-terminal.

Usage: fly_pymavlink.py ardupilot|px4. Exit code 0 when the vehicle flew and landed.
"""

import math
import os
import sys
import tempfile
import time

os.environ["MAVLINK20"] = "1"

from pymavlink import mavutil  # noqa: E402

from simulator import Simulator, wait_for  # noqa: E402

SPEEDUP = 10
HEIGHT_M = 8.0
MAV = mavutil.mavlink
PREARM = MAV.MAV_SYS_STATUS_PREARM_CHECK


class Pilot:
    """A ground station with one vehicle: keeps the newest message of each kind, sends a heartbeat each second."""

    def __init__(self, port):
        self.link = mavutil.mavlink_connection(port, baud=57600, source_system=255, source_component=190)
        self.seen = {}
        self.acks = []
        self.landed_states = []
        self._next_beat = 0.0

    def listen(self):
        """Takes what has come; never blocks for long."""
        now = time.monotonic()
        if now >= self._next_beat:
            self._next_beat = now + 1.0
            self.link.mav.heartbeat_send(MAV.MAV_TYPE_GCS, MAV.MAV_AUTOPILOT_INVALID, 0, 0, 0)
        while message := self.link.recv_match(blocking=False):
            kind = message.get_type()
            self.seen[kind] = message
            if kind == "COMMAND_ACK":
                self.acks.append((message.command, message.result))
            elif kind == "STATUSTEXT":
                print(f"  text: {message.text}")
            elif kind == "EXTENDED_SYS_STATE":
                if self.landed_states[-1:] != [message.landed_state]:
                    self.landed_states.append(message.landed_state)

    def until(self, what, timeout_s, look):
        def step():
            self.listen()
            return look()

        result = wait_for(what, timeout_s, step)
        print(f"seen: {what}")
        return result

    def command(self, command, *params, timeout_s=5):
        """Sends COMMAND_LONG once and returns the verdict."""
        self.acks.clear()
        filled = list(params) + [0.0] * (7 - len(params))
        self.link.mav.command_long_send(self.link.target_system, 1, command, 0, *filled)
        name = MAV.enums["MAV_CMD"][command].name
        verdicts = lambda: [result for acked, result in self.acks if acked == command]  # noqa: E731
        return self.until(f"ack for {name}", timeout_s, lambda: bool(verdicts())) and verdicts()[-1]

    def accepted(self, command, *params):
        verdict = self.command(command, *params)
        assert verdict == MAV.MAV_RESULT_ACCEPTED, f"{MAV.enums['MAV_CMD'][command].name}: result {verdict}"

    def field(self, kind, name):
        message = self.seen.get(kind)
        return getattr(message, name) if message else None

    def armed(self):
        return bool((self.field("HEARTBEAT", "base_mode") or 0) & MAV.MAV_MODE_FLAG_SAFETY_ARMED)

    def height_m(self):
        return (self.field("GLOBAL_POSITION_INT", "relative_alt") or 0) / 1000


def fly(autopilot, pilot):
    heartbeat = pilot.until("a heartbeat", 10, lambda: pilot.seen.get("HEARTBEAT"))
    pilot.link.target_system = heartbeat.get_srcSystem()
    expected = {"ardupilot": MAV.MAV_AUTOPILOT_ARDUPILOTMEGA, "px4": MAV.MAV_AUTOPILOT_PX4}[autopilot]
    assert heartbeat.autopilot == expected, f"autopilot {heartbeat.autopilot}"

    for message, rate_hz in [(MAV.MAVLINK_MSG_ID_EXTENDED_SYS_STATE, 5), (MAV.MAVLINK_MSG_ID_SYS_STATUS, 1),
                             (MAV.MAVLINK_MSG_ID_GLOBAL_POSITION_INT, 4)]:
        pilot.accepted(MAV.MAV_CMD_SET_MESSAGE_INTERVAL, message, 1e6 / rate_hz)
    if autopilot == "ardupilot":
        pilot.accepted(MAV.MAV_CMD_DO_SET_MODE, 1, 4)
        pilot.until("boot ends", 10, lambda: pilot.field("HEARTBEAT", "system_status") == MAV.MAV_STATE_STANDBY)
        pilot.accepted(MAV.MAV_CMD_DO_SET_MODE, 1, 4)
        refused = pilot.command(MAV.MAV_CMD_COMPONENT_ARM_DISARM, 1)
        assert refused == MAV.MAV_RESULT_FAILED, f"arming before a position: result {refused}"
    pilot.until("the prearm bit", 20, lambda: (pilot.field("SYS_STATUS", "onboard_control_sensors_health") or 0) & PREARM)

    pilot.accepted(MAV.MAV_CMD_COMPONENT_ARM_DISARM, 1)
    if autopilot == "ardupilot":
        pilot.accepted(MAV.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, HEIGHT_M)
    else:
        pilot.accepted(MAV.MAV_CMD_REQUEST_MESSAGE, MAV.MAVLINK_MSG_ID_HOME_POSITION)
        home_m = pilot.until("home", 5, lambda: pilot.seen.get("HOME_POSITION")).altitude / 1000
        nan = math.nan
        pilot.accepted(MAV.MAV_CMD_NAV_TAKEOFF, nan, 0, 0, nan, nan, nan, home_m + HEIGHT_M)
    pilot.until("armed in the heartbeat", 5, pilot.armed)
    in_air = MAV.MAV_LANDED_STATE_IN_AIR
    pilot.until("in the air", 15, lambda: pilot.field("EXTENDED_SYS_STATE", "landed_state") == in_air)
    pilot.until(f"{HEIGHT_M} m", 10, lambda: abs(pilot.height_m() - HEIGHT_M) < 0.7)

    refused = pilot.command(MAV.MAV_CMD_COMPONENT_ARM_DISARM, 0)
    assert refused != MAV.MAV_RESULT_ACCEPTED, "a disarm in flight was accepted"
    pilot.accepted(MAV.MAV_CMD_NAV_LAND, 0, 0, 0, math.nan if autopilot == "px4" else 0)
    pilot.until("motors off after landing", 30, lambda: not pilot.armed())
    on_ground, takeoff, landing = 1, 3, 4
    assert pilot.landed_states == [on_ground, takeoff, in_air, landing, on_ground], pilot.landed_states
    assert pilot.height_m() < 0.5, pilot.height_m()


def main():
    autopilot = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        with Simulator("--autopilot", autopilot, "--speedup", str(SPEEDUP), "--link", f"pty:{folder}") as simulator:
            fly(autopilot, Pilot(simulator.vehicles[0]["endpoint"]))
        assert os.listdir(folder) == [], "the link to the pseudo-terminal was left behind"
    print(f"pymavlink flew {autopilot}")


if __name__ == "__main__":
    main()
