"""The autopilot's failsafe watches over the ground station that is in charge, although a second one looks on.

Usage: gcs_failsafe.py ardupilot|px4 TCP-PORT. The vehicle flies. Exit code 0 when it flies on while both beat, and lands
once the first, with the same name as the second, is gone, as its own failsafe says.
"""

import struct
import sys
import time

from gcs_together import MAV, Pymavlink

# Beats a second: the vehicle's time runs faster than ours.
BEATS_HZ = 5
# The failsafe's parameter, its value that says land, its type, and the mode in HEARTBEAT that comes of it.
SCENES = {
    "ardupilot": ("FS_GCS_ENABLE", 5.0, MAV.MAV_PARAM_TYPE_INT8, 9),
    "px4": ("NAV_DLL_ACT", struct.unpack("<f", struct.pack("<i", 3))[0], MAV.MAV_PARAM_TYPE_INT32, 6 << 24 | 4 << 16),
}


def main():
    autopilot, port = sys.argv[1:]
    parameter, land, kind, landing = SCENES[autopilot]
    first, onlooker = Pymavlink(port, BEATS_HZ), Pymavlink(port, BEATS_HZ)
    first.until("the vehicle flies", first.flies)
    system = first.seen["HEARTBEAT"].get_srcSystem()
    first.link.mav.param_set_send(system, 1, parameter.encode(), land, kind)
    first.until(f"{parameter} is set", lambda: first.parameters.get(parameter) == land)

    def mode():
        onlooker.listen()
        beat = onlooker.seen.get("HEARTBEAT")
        return beat and beat.custom_mode

    began = time.monotonic()
    before = None
    while time.monotonic() - began < 5:
        first.listen()
        before = mode()
        assert before != landing, "it lands although the ground station in charge is there"
        time.sleep(0.01)
    print(f"both beat for 5 s, the mode is {before:#x}")
    first.link.close()
    lost = time.monotonic()
    onlooker.until("the vehicle lands", lambda: mode() == landing, timeout_s=30)
    print(f"it lands {time.monotonic() - lost:.1f} s after the ground station in charge was lost")


if __name__ == "__main__":
    main()
