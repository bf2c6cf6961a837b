"""Other programs read mission files and print the items: one on each line, as [command, frame, goes on, [seven numbers]].

Usage: read_mission.py mavsdk-plan FILE
       read_mission.py mavwp FILE AGAIN

The second writes what it has read to the file AGAIN.
"""

import json
import math
import socket
import sys

from simulator import Simulator


def show(command, frame, goes_on, numbers):
    """One line; what is no number is null."""
    numbers = [None if math.isnan(number) else number for number in numbers]
    print("item", json.dumps([command, frame, bool(goes_on), numbers]))


# Frames whose items have a place: MAV_FRAME_MISSION is none.
MISSION_FRAME = 2


def mavsdk_plan(path):
    """MAVSDK reads files for a vehicle only."""
    from mavsdk import ComponentType, Configuration, Mavsdk
    from mavsdk.plugins.mission_raw import MissionRaw

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mavsdk = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))
    mavsdk.add_any_connection(f"udpin://127.0.0.1:{port}")
    with Simulator("--autopilot", "px4", "--speedup", "10", "--link", f"udp:127.0.0.1:{port}"):
        system = mavsdk.first_autopilot(timeout_s=10.0)
        assert system is not None, "MAVSDK saw no autopilot in 10 s"
        data = MissionRaw(system).import_qgroundcontrol_mission(path)
        for item in data.mission_items:
            scale = 1.0 if item.frame == MISSION_FRAME else 1e7
            place = [item.x / scale, item.y / scale, item.z]
            params = [item.param1, item.param2, item.param3, item.param4]
            show(item.command, item.frame, item.autocontinue, params + place)


def mavwp(path, again):
    """pymavlink's loader, which MAVProxy uses."""
    from pymavlink import mavwp as loaders

    loader = loaders.MAVWPLoader()
    loader.load(path)
    for item in loader.wpoints:
        numbers = [item.param1, item.param2, item.param3, item.param4, item.x, item.y, item.z]
        show(item.command, item.frame, item.autocontinue, numbers)
    loader.save(again)


def main():
    what, *files = sys.argv[1:]
    {"mavsdk-plan": mavsdk_plan, "mavwp": mavwp}[what](*files)


if __name__ == "__main__":
    main()
