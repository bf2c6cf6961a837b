"""pymavlink lands a vehicle through the agent, by TCP, unless it has landed by itself.

Usage: gcs_land.py TCP-PORT. Exit code 0 when the vehicle has landed and disarmed.
"""

import sys

from gcs_together import MAV, Pymavlink


def main():
    gcs = Pymavlink(sys.argv[1])
    gcs.until("the vehicle", lambda: gcs.seen.get("HEARTBEAT"))
    if armed(gcs):
        beat = gcs.seen["HEARTBEAT"]
        nan = float("nan") if beat.autopilot == MAV.MAV_AUTOPILOT_PX4 else 0
        gcs.link.mav.command_long_send(beat.get_srcSystem(), 1, MAV.MAV_CMD_NAV_LAND, 0, 0, 0, 0, nan, 0, 0, 0)
        ack = gcs.until("an answer", lambda: gcs.seen.get("COMMAND_ACK"))
        assert (ack.command, ack.result) == (MAV.MAV_CMD_NAV_LAND, MAV.MAV_RESULT_ACCEPTED), ack
    gcs.until("motors off", lambda: not armed(gcs), timeout_s=60)


def armed(gcs):
    return bool(gcs.seen["HEARTBEAT"].base_mode & MAV.MAV_MODE_FLAG_SAFETY_ARMED)


if __name__ == "__main__":
    main()
