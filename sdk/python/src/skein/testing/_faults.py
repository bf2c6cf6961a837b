"""Faults that a test switches on while a vehicle flies.

`skein-sitl` begins a fault of its script when a command arrives. So the script has a line for each fault with a command
number that nobody else uses, and the test sends that command on the vehicle's own link. The vehicle never gets it
(`lose-command`), so it neither answers nor does anything about it.
"""

from __future__ import annotations

from collections.abc import Iterator

MODES = {
    **{name: name for name in ("stabilize", "altitude", "loiter", "hold", "brake", "guided", "auto", "return", "land")},
    # PX4's AUTO with sub mode FOLLOW_TARGET: without a target it stays where it is.
    "follow": str(4 << 16 | 8 << 24),
}
"""Modes that a person may choose, with the simulator's word; one that an autopilot lacks changes nothing."""

LONGEST_S = 2000
"""The longest fault with a duration, in simulated seconds."""

_BATTERY = 50_000
_MODE = 51_000
_NO_GPS = 52_000
_OTHERS = {"reboot": 55_000, "motor-failure": 55_001}


def battery(percent: int) -> int:
    """The charge is this, 0 to 100 percent."""
    if not 0 <= percent <= 100:
        raise ValueError(f"percent is {percent}: choose 0 to 100")
    return _BATTERY + percent


def mode(name: str) -> int:
    """A pilot changes the mode by radio control."""
    if name not in MODES:
        raise ValueError(f"mode is {name!r}: choose one of {', '.join(MODES)}")
    return _MODE + list(MODES).index(name)


def no_gps(simulated_s: float) -> int:
    """The satellite receiver has no fix for so long."""
    seconds = max(1, round(simulated_s))
    if seconds > LONGEST_S:
        raise ValueError(
            f"no fix for {seconds} simulated seconds: at most {LONGEST_S}; lower the duration or the speedup"
        )
    return _NO_GPS + seconds


def other(name: str) -> int:
    """`reboot` or `motor-failure`, at once."""
    return _OTHERS[name]


def script() -> Iterator[str]:
    """The lines for `skein-sitl --faults`."""
    faults = {_BATTERY + percent: f"battery {percent}" for percent in range(101)}
    faults |= {_MODE + index: f"mode {word}" for index, word in enumerate(MODES.values())}
    faults |= {_NO_GPS + seconds: f"no-gps for {seconds}" for seconds in range(1, LONGEST_S + 1)}
    faults |= {number: name for name, number in _OTHERS.items()}
    for number, fault in faults.items():
        yield f"on {number} every {fault}"
        yield f"on {number} every lose-command"
