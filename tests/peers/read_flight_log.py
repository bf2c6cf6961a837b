"""Opens the agent's flight logs with pymavlink and MAVProxy, and compares them with the simulator's log of the same wire.

Usage: read_flight_log.py ardupilot|px4 FOLDER NEWEST WIRE-LOG. Exit code 0 when they open and contain the flight, each
frame of the wire is there once, byte for byte, with nothing else but the agent's lines about the flight, and the agent
commanded nothing after somebody else had taken over.
"""

import glob
import os
import socket
import sys
import tempfile
import time

os.environ["MAVLINK20"] = "1"

from pymavlink import mavutil  # noqa: E402

from fly_mavsdk import free_udp_port  # noqa: E402
from gcs_together import MAV, SCENES, Mavproxy  # noqa: E402

AGENT = 191
STATUSTEXT = 253
ASKING = {
    MAV.MAV_CMD_GET_MESSAGE_INTERVAL,
    MAV.MAV_CMD_SET_MESSAGE_INTERVAL,
    MAV.MAV_CMD_REQUEST_MESSAGE,
    MAV.MAV_CMD_RUN_PREARM_CHECKS,
}


def records(path):
    """(microseconds, frame) of a .tlog, cut by the lengths in the frames."""
    with open(path, "rb") as file:
        rest = file.read()
    found = []
    while rest:
        start = rest[8]
        assert start in (0xFD, 0xFE), f"{path}: a frame begins with {start:#x}"
        length = 8 + rest[9] if start == 0xFE else 12 + rest[9] + (13 if rest[10] & 1 else 0)
        if len(rest) < 8 + length:
            break
        found.append((int.from_bytes(rest[:8], "big"), rest[8:8 + length]))
        rest = rest[8 + length:]
    return found


def number(path):
    return int(path.rsplit("-", 1)[1].removesuffix(".tlog"))


def compare(folder, wire_log):
    """Each direction of the wire is in the logs, in its order, and nothing else is but the agent's own lines."""
    logged = []
    for path in sorted(glob.glob(f"{folder}/*.tlog"), key=number):
        one = records(path)
        assert one, f"{path} is empty"
        logged += one
    wire = records(wire_log)
    assert not any(is_line(frame) for _, frame in wire), "the agent's lines are for the flight log only"
    lines = [frame for _, frame in logged if is_line(frame)]
    logged = [(when, frame) for when, frame in logged if not is_line(frame)]
    said = b"".join(frame[10:10 + frame[1]][1:51].rstrip(b"\0") for frame in lines)
    assert said.startswith(b"Skein: took off with no rules; Drone field/alpha") and said.endswith(b"Skein: landed"), said
    for who, is_it in [("the vehicle", lambda f: f[6] == 1), ("agent and guests", lambda f: f[6] != 1)]:
        here = [frame for _, frame in logged if is_it(frame)]
        there = [frame for _, frame in wire if is_it(frame)]
        assert len(here) > 20, f"only {len(here)} frames of {who}"
        # The vehicle spoke before the agent began, and goes on after it has ended.
        begin = there.index(here[0])
        assert there[begin:begin + len(here)] == here, f"{who}: {first_difference(here, there[begin:])}"
        print(f"{who}: {len(here)} of {len(there)} frames, byte for byte")


def is_line(frame):
    """Whether it is of a line about the flight that the agent writes to its log."""
    return frame[0] == 0xFD and frame[6] == AGENT and int.from_bytes(frame[7:10], "little") == STATUSTEXT


def first_difference(here, there):
    for n, (a, b) in enumerate(zip(here, there)):
        if a != b:
            return f"frame {n} is {a.hex()} in the flight log, {b.hex()} on the wire"
    return f"{len(here)} frames in the flight log, {len(there)} on the wire"


def open_with_pymavlink(path):
    log = mavutil.mavlink_connection(path)
    counts, bad, armed = {}, 0, set()
    while message := log.recv_match():
        kind = message.get_type()
        counts[kind] = counts.get(kind, 0) + 1
        bad += kind == "BAD_DATA"
        if kind == "HEARTBEAT" and message.get_srcComponent() == 1:
            armed.add(bool(message.base_mode & MAV.MAV_MODE_FLAG_SAFETY_ARMED))
    assert bad == 0, f"{bad} bad frames in {path}"
    assert armed == {True, False}, f"the log of the flight begins armed and ends disarmed: {armed}"
    assert counts.get("GLOBAL_POSITION_INT", 0) > 10, counts
    assert sum(counts.values()) == len(records(path)), "pymavlink sees other frames than there are"
    print(f"pymavlink: {sum(counts.values())} frames")


def hands_off(autopilot, wire_log):
    """After the mode of the one who took over was seen, the agent only asks."""
    *_, foreign = SCENES[autopilot]
    log = mavutil.mavlink_connection(wire_log)
    before, after, taken_over = [], [], False
    while message := log.recv_match(type=["HEARTBEAT", "COMMAND_LONG", "COMMAND_INT"]):
        if message.get_type() == "HEARTBEAT":
            taken_over |= message.get_srcComponent() == 1 and message.custom_mode == foreign
        elif message.get_srcComponent() == AGENT and message.command not in ASKING:
            (after if taken_over else before).append(message.command)
    assert taken_over and MAV.MAV_CMD_NAV_TAKEOFF in before, f"the agent flew first: {before}"
    assert after == [], f"the agent commanded {after} although another flew"
    print(f"the agent commanded {before} and kept its hands off after that")


def play_to_mavproxy(autopilot, path):
    """MAVProxy itself opens only live links; so it gets the vehicle's frames of the log as if they came from one."""
    _, _, foreign, _ = SCENES[autopilot]
    port = free_udp_port()
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as vehicle:
        mavproxy = Mavproxy(f"udpin:127.0.0.1:{port}", "arm,mode", folder)
        try:
            mavproxy.until("listens", "Waiting for heartbeat")
            for _, frame in records(path):
                if frame[6] == 1:
                    vehicle.sendto(frame, ("127.0.0.1", port))
                    time.sleep(0.001)
            for words in ("Detected vehicle", f"{foreign}>", "DISARMED"):
                mavproxy.until(f"follows the flight, {words}", words)
        finally:
            mavproxy.end()


def main():
    autopilot, folder, newest, wire_log = sys.argv[1:]
    compare(folder, wire_log)
    hands_off(autopilot, wire_log)
    open_with_pymavlink(newest)
    play_to_mavproxy(autopilot, newest)


if __name__ == "__main__":
    main()
