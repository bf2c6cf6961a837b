"""pymavlink, MAVProxy and MAVSDK reach two flying vehicles of the same system id at the same time, through `skein connect`.

Usage: connect_fleet.py TCP-PORT UDP-PORT OTHER-UDP-PORT ARDUPILOT PX4, the last two by the numbers that they have here. Exit code 0 when each ground station saw both fly, all parameters of both came whole, and only the PX4 obeyed when it was told to
return.
"""

import os
import sys
import tempfile
import time

os.environ["MAVLINK20"] = "1"

from mavsdk import ComponentType, Configuration, Mavsdk  # noqa: E402
from mavsdk.plugins.telemetry import LandedState, Telemetry  # noqa: E402
from pymavlink import mavutil  # noqa: E402

from gcs_together import HEIGHT_M, MAV, Mavproxy  # noqa: E402
from simulator import wait_for  # noqa: E402

RTL_OF_PX4 = 5 << 24 | 4 << 16
# A download in which nothing new comes for so long asks for what is missing.
QUIET_S = 2.0


class Fleet:
    """A ground station by TCP that keeps the newest message of each kind of each autopilot, and all their parameters."""

    def __init__(self, port, system=255):
        self.link = mavutil.mavlink_connection(f"tcp:127.0.0.1:{port}", source_system=system, source_component=190)
        self.seen = {}
        self.parameters = {}
        self._next_beat = 0.0

    def listen(self):
        now = time.monotonic()
        if now >= self._next_beat:
            self._next_beat = now + 1
            self.link.mav.heartbeat_send(MAV.MAV_TYPE_GCS, MAV.MAV_AUTOPILOT_INVALID, 0, 0, 0)
        while message := self.link.recv_match(blocking=False):
            if message.get_srcComponent() != 1:
                continue
            system = message.get_srcSystem()
            self.seen[system, message.get_type()] = message
            if message.get_type() == "PARAM_VALUE" and message.param_index < message.param_count:
                self.parameters.setdefault(system, {})[message.param_index] = message

    def systems(self):
        return sorted(system for system, kind in self.seen if kind == "HEARTBEAT")

    def until(self, what, look, timeout_s=60):
        def step():
            self.listen()
            return look()

        result = wait_for(f"pymavlink: {what}", timeout_s, step)
        print(f"pymavlink: {what}")
        return result

    def flies(self, system):
        beat, place = self.seen.get((system, "HEARTBEAT")), self.seen.get((system, "GLOBAL_POSITION_INT"))
        armed = beat and beat.base_mode & MAV.MAV_MODE_FLAG_SAFETY_ARMED
        return armed and place and abs(place.relative_alt / 1000 - HEIGHT_M) < 1.0

    def download(self, system, timeout_s=120):
        """All parameters of a vehicle; how long it took and how many had to be asked for again."""
        self.parameters.pop(system, None)
        began = newest = time.monotonic()
        self.link.mav.param_request_list_send(system, 1)
        known, again = 0, 0
        while True:
            self.listen()
            got = self.parameters.get(system, {})
            total = next(iter(got.values())).param_count if got else None
            now = time.monotonic()
            assert now - began < timeout_s, f"system {system}: {len(got)} of {total} parameters in {timeout_s} s"
            if total is not None and len(got) >= total:
                return got, now - began, again
            if len(got) > known:
                known, newest = len(got), now
            elif now - newest > QUIET_S:
                newest = now
                if total is None:
                    self.link.mav.param_request_list_send(system, 1)
                for index in [index for index in range(total or 0) if index not in got][:32]:
                    self.link.mav.param_request_read_send(system, 1, b"", index)
                    again += 1
            time.sleep(0.002)


def main():
    tcp, udp, other_udp, *both = (int(word) for word in sys.argv[1:])
    px4 = both[1]
    fleet = Fleet(tcp)
    fleet.until("two vehicles", lambda: fleet.systems() == sorted(both))
    for system in both:
        fleet.until(f"vehicle {system} flies", lambda system=system: fleet.flies(system))
    names = {}
    for system in both:
        got, took_s, again = fleet.download(system)
        names[system] = {message.param_id for message in got.values()}
        print(f"pymavlink: all {len(got)} parameters of vehicle {system} in {took_s:.1f} s, {again} asked for again")
    assert "MIS_TAKEOFF_ALT" in names[px4] and "RTL_ALT" not in names[px4], "the parameters are another vehicle's"

    mavsdk = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))
    mavsdk.add_any_connection(f"udpin://127.0.0.1:{other_udp}")
    def pair():
        systems = mavsdk.get_systems()
        return systems if len(systems) == 2 and all(system.has_autopilot() for system in systems) else None

    systems = wait_for("MAVSDK: two vehicles", 60, pair)
    assert sorted(system.get_system_id() for system in systems) == sorted(both)
    for system in systems:
        telemetry = Telemetry(system)
        wait_for("MAVSDK: a vehicle flies", 60, lambda telemetry=telemetry: telemetry.landed_state() == LandedState.IN_AIR
                 and abs(telemetry.position().relative_altitude_m - HEIGHT_M) < 1.0)
    print("MAVSDK: two vehicles fly")

    with tempfile.TemporaryDirectory() as folder:
        mavproxy = Mavproxy(f"udp:127.0.0.1:{udp}", "cmdlong,mode,param", folder)
        try:
            for system in both:
                mavproxy.until(f"vehicle {system} is there", f"Detected vehicle {system}:1", timeout_s=60)
            mavproxy.command(f"vehicle {px4}")
            mavproxy.command("long DO_SET_MODE 1 4 5 0 0 0 0")
            fleet.until("the PX4 returns", lambda: fleet.seen[px4, "HEARTBEAT"].custom_mode == RTL_OF_PX4)
        finally:
            mavproxy.end()


if __name__ == "__main__":
    main()
