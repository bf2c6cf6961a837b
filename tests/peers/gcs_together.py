"""pymavlink, MAVProxy and MAVSDK look at one flying vehicle at the same time, through the agent; then MAVProxy takes over.

Usage: gcs_together.py ardupilot|px4 TCP-PORT UDP-PORT. Exit code 0 when each saw the vehicle fly, read a parameter,
and saw the mode change.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time

os.environ["MAVLINK20"] = "1"

from mavsdk import ComponentType, Configuration, Mavsdk  # noqa: E402
from mavsdk.plugins.param import Param, ParamError  # noqa: E402
from mavsdk.plugins.telemetry import LandedState, Telemetry  # noqa: E402
from pymavlink import mavutil  # noqa: E402

from simulator import wait_for  # noqa: E402

MAV = mavutil.mavlink
HEIGHT_M = 10.0
# A parameter, what MAVProxy is ordered so that a pilot takes over, and the mode that comes of it: its name and in HEARTBEAT.
# (MAVProxy's own word for PX4's modes fails in MAVProxy.)
SCENES = {
    "ardupilot": ("RTL_ALT", "mode LOITER", "LOITER", 5),
    "px4": ("MIS_TAKEOFF_ALT", "long DO_SET_MODE 1 4 5 0 0 0 0", "RTL", 5 << 24 | 4 << 16),
}


class Pymavlink:
    """A ground station by TCP; keeps the newest message of each kind of the autopilot, and beats."""

    def __init__(self, port, beats_hz=1):
        self.link = mavutil.mavlink_connection(f"tcp:127.0.0.1:{port}", source_system=255, source_component=190)
        self.seen = {}
        self.parameters = {}
        self._next_beat = 0.0
        self._beat_every = 1 / beats_hz

    def listen(self):
        now = time.monotonic()
        if now >= self._next_beat:
            self._next_beat = now + self._beat_every
            self.link.mav.heartbeat_send(MAV.MAV_TYPE_GCS, MAV.MAV_AUTOPILOT_INVALID, 0, 0, 0)
        while message := self.link.recv_match(blocking=False):
            if message.get_srcComponent() != 1:
                continue
            self.seen[message.get_type()] = message
            if message.get_type() == "PARAM_VALUE":
                self.parameters[message.param_id] = message.param_value

    def until(self, what, look, timeout_s=20):
        def step():
            self.listen()
            return look()

        result = wait_for(f"pymavlink: {what}", timeout_s, step)
        print(f"pymavlink: {what}")
        return result

    def flies(self):
        beat, place = self.seen.get("HEARTBEAT"), self.seen.get("GLOBAL_POSITION_INT")
        armed = beat and beat.base_mode & MAV.MAV_MODE_FLAG_SAFETY_ARMED
        return armed and place and abs(place.relative_alt / 1000 - HEIGHT_M) < 1.0

    def read(self, name):
        ask = self.link.mav.param_request_read_send
        system = self.seen["HEARTBEAT"].get_srcSystem()
        ask(system, 1, name.encode(), -1)
        return self.until(f"parameter {name}", lambda: self.parameters.get(name))


class Mavproxy:
    """MAVProxy without a terminal; keeps what it says."""

    def __init__(self, master, modules, folder):
        script = os.path.join(os.path.dirname(sys.executable), "mavproxy.py")
        command = [sys.executable, "-u", script, f"--master={master}", "--source-system=254", "--streamrate=-1",
                   f"--default-modules={modules}", f"--state-basedir={folder}", f"--logfile={folder}/mav.tlog"]
        self.said = ""
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, cwd=folder, text=True, bufsize=1)
        threading.Thread(target=self._keep, daemon=True).start()

    def _keep(self):
        for line in self._process.stdout:
            print(f"  mavproxy> {line.rstrip()}")
            self.said += line

    def command(self, line):
        self._process.stdin.write(line + "\n")

    def until(self, what, words, timeout_s=30):
        wait_for(f"MAVProxy: {what}", timeout_s, lambda: words in self.said)
        print(f"MAVProxy: {what}")

    def end(self):
        self._process.kill()
        self._process.wait()


def read_parameter(parameters, name):
    """MAVSDK asks for the type that one expects."""
    try:
        return parameters.get_param_float(name)
    except ParamError:
        return parameters.get_param_int(name)


def main():
    autopilot, tcp, udp = sys.argv[1:]
    parameter, take_over, mode, custom_mode = SCENES[autopilot]
    pymavlink = Pymavlink(tcp)
    pymavlink.until("the vehicle flies", pymavlink.flies)
    value = pymavlink.read(parameter)

    mavsdk = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))
    mavsdk.add_any_connection(f"udpout://127.0.0.1:{udp}")
    system = mavsdk.first_autopilot(timeout_s=20.0)
    assert system is not None, "MAVSDK saw no autopilot in 20 s"
    telemetry = Telemetry(system)
    wait_for("MAVSDK: the vehicle flies", 20, lambda: telemetry.landed_state() == LandedState.IN_AIR
             and abs(telemetry.position().relative_altitude_m - HEIGHT_M) < 1.0)
    print("MAVSDK: the vehicle flies")
    read = read_parameter(Param(system), parameter)
    assert abs(read - value) < 0.01, f"MAVSDK read {parameter} = {read}, pymavlink {value}"
    print(f"MAVSDK: parameter {parameter}")

    modes = [telemetry.flight_mode().name]
    telemetry.subscribe_flight_mode(lambda mode, _: modes.append(mode.name))
    with tempfile.TemporaryDirectory() as folder:
        mavproxy = Mavproxy(f"udpout:127.0.0.1:{udp}", "cmdlong,mode,param", folder)
        try:
            mavproxy.until("the vehicle is there", "Detected vehicle")
            mavproxy.until("all parameters", "parameters")
            mavproxy.command(f"param show {parameter}")
            mavproxy.until(f"parameter {parameter}", f"{parameter:<16} {value}")
            mavproxy.command(take_over)
            pymavlink.until(f"mode {mode}", lambda: pymavlink.seen["HEARTBEAT"].custom_mode == custom_mode)
            mavproxy.until(f"mode {mode}", f"Mode {mode}")
        finally:
            mavproxy.end()
    wait_for("MAVSDK: another mode", 20, lambda: len(set(modes)) > 1)
    print(f"MAVSDK: mode changed, {modes}")


if __name__ == "__main__":
    main()
