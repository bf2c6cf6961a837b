"""A simulated fleet and its vehicles, as a test has them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from skein import models
from skein._program import find
from skein._sync import Fleet
from skein._where import station_route
from skein.errors import SimulatorFailed, WaitTimeout
from skein.telemetry import Snapshot, VehicleState
from skein.testing import _faults

READY_S = 60.0
"""Vehicles have this long to boot and to pass their arming checks."""


class SimulatedVehicle:
    """One vehicle: what it reports, and what may happen to it. All seconds are real ones."""

    def __init__(self, fleet: SimulatedFleet, name: str, autopilot: str) -> None:
        self._fleet = fleet
        self.name = name
        """Name of the vehicle and of its node."""
        self.autopilot = autopilot
        """`ardupilot` or `px4`."""

    @property
    def state(self) -> VehicleState:
        """What it reports now."""
        state = self._fleet.snapshot().vehicle(self.name)
        if state is None:
            raise SimulatorFailed(f"the coordinator does not know vehicle {self.name}: {self._fleet.log_end()}")
        return state

    def drone(self) -> models.Drone | None:
        """The Drone that it serves; None for none."""
        drones = self._fleet.drones.list(all_namespaces=True)
        return next((drone for drone in drones if drone.spec.node_name == self.name), None)

    def wait_until(self, wanted: Callable[[VehicleState], bool], *, timeout_s: float = 60.0) -> VehicleState:
        """Waits until what it reports is as wanted. Raises `WaitTimeout` with what every vehicle does instead."""

        def as_wanted(snapshot: Snapshot) -> bool:
            state = snapshot.vehicle(self.name)
            return state is not None and wanted(state)

        as_wanted.__name__ = f"vehicle {self.name}: {getattr(wanted, '__name__', 'what was waited for')}"
        found = self._fleet.wait_until(as_wanted, timeout_s=timeout_s).vehicle(self.name)
        assert found is not None, "it is as wanted"
        return found

    def lose_link(self, seconds: float) -> None:
        """Nothing passes between the autopilot and its agent for so long. Returns at once."""
        self._fleet.ask(lose_link=self.name, seconds=seconds)

    def set_battery(self, percent: int) -> None:
        """The charge is this, in percent, from now on; it drains from there."""
        self._command(_faults.battery(percent))

    def take_over(self, mode: str | None = None) -> None:
        """A person changes the flight mode, without Skein; left out: one in which the vehicle stays where it is,
        `brake` on ArduPilot and `follow` (without a target) on PX4.

        Sticks are not simulated: ArduPilot descends in `loiter`, and PX4 refuses `altitude` and `stabilize`.
        """
        self._command(_faults.mode(mode or {"ardupilot": "brake"}.get(self.autopilot, "follow")))

    def give_back(self) -> None:
        """The person chooses the mode in which Skein commands: GUIDED on ArduPilot, Hold on PX4."""
        self._command(_faults.mode({"ardupilot": "guided"}.get(self.autopilot, "hold")))

    def lose_gps(self, seconds: float) -> None:
        """The satellite receiver has no fix for so long. On the ground PX4 fails its arming checks meanwhile; ArduPilot
        does so only in modes that need a position.
        """
        self._command(_faults.no_gps(seconds * self._fleet.speedup))

    def reboot(self) -> None:
        """The autopilot's board restarts. In the air its motors stop."""
        self._command(_faults.other("reboot"))

    def stop_motor(self) -> None:
        """A motor stops."""
        self._command(_faults.other("motor-failure"))

    def _command(self, number: int) -> None:
        self._fleet.ask(command=self.name, number=number)


class SimulatedFleet(Fleet):
    """A fleet whose vehicles are simulated on this machine. Made by `simulated_fleet`."""

    def __init__(self, process: subprocess.Popen[str], folder: Path, speedup: float, ready: Mapping[str, Any]) -> None:
        self._process = process
        self.folder = folder
        """Its files: `skein.log`, `sitl.log`, and the data folder `station`."""
        self.speedup = speedup
        """Simulated seconds to a real one."""
        self._connect(station_route(folder / "station"), None)
        self._vehicles = {
            name: SimulatedVehicle(self, name, autopilot) for name, autopilot in ready["vehicles"].items()
        }

    def __enter__(self) -> Self:
        return self

    @property
    def station(self) -> Path:
        """The data folder, for `Fleet(station=...)`, `AsyncFleet(station=...)` and `skein --station`."""
        return self.folder / "station"

    @property
    def kubeconfig(self) -> Path:
        """For kubectl and other clients of Kubernetes."""
        return self.station / "kubeconfig"

    def vehicle(self, name: str) -> SimulatedVehicle:
        """One vehicle by its name."""
        try:
            return self._vehicles[name]
        except KeyError:
            raise KeyError(f"there is no vehicle {name!r}; there are {', '.join(self._vehicles)}") from None

    def ask(self, **request: Any) -> None:
        """Asks the process that keeps it. Raises `SimulatorFailed`."""
        if self._process.stdin is None or self._process.stdout is None:
            raise SimulatorFailed("the simulated fleet has no pipes")
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise SimulatorFailed(f"the simulated fleet has ended: {self.log_end()}") from error
        _answer(self._process, self.folder)

    def log_end(self, lines: int = 40) -> str:
        """The end of the log of `skein up`."""
        return _log_end(self.folder, lines)

    def wait_ready(self, *, timeout_s: float = READY_S) -> None:
        """Waits until every vehicle passes its arming checks. Raises `WaitTimeout`."""

        def ready(snapshot: Snapshot) -> bool:
            states = [snapshot.vehicle(name) for name in self._vehicles]
            return all(state is not None and state.armable and state.position for state in states)

        ready.__name__ = "every vehicle passes its arming checks"
        self.wait_until(ready, timeout_s=timeout_s)


def _log_end(folder: Path, lines: int = 40) -> str:
    with contextlib.suppress(OSError):
        return "\n".join((folder / "skein.log").read_text(errors="replace").splitlines()[-lines:])
    return "(no log)"


def _answer(process: subprocess.Popen[str], folder: Path) -> dict[str, Any]:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise SimulatorFailed(f"the simulated fleet has ended; the end of its log:\n{_log_end(folder)}")
    said: dict[str, Any] = json.loads(line)
    if "error" in said:
        raise SimulatorFailed(said["error"])
    return said


@contextlib.contextmanager
def simulated_fleet(
    vehicles: Sequence[str] = ("a", "b"),
    *,
    autopilot: Literal["ardupilot", "px4", "mixed"] = "mixed",
    speedup: float = 10.0,
    battery_percent_per_minute: float = 0.0,
    faults: Sequence[str] = (),
    sitl_options: Sequence[str] = (),
    skein_options: Sequence[str] = (),
    folder: Path | None = None,
    ready: bool = True,
) -> Iterator[SimulatedFleet]:
    """Starts a fleet on free loopback ports, and ends it with all its processes.

    `vehicles` are names; with autopilot `mixed` every second one is a PX4. `speedup`: simulated seconds to a real one,
    1 to 20. `battery_percent_per_minute`: what a battery loses in a simulated minute with motors on; left out, its
    charge changes only by `set_battery`. `faults`: lines of the simulator's script (`skein-sitl --help`), such as
    "a: on arm deny denied". `sitl_options` and `skein_options` go to `skein-sitl` and `skein up` as they are.
    `folder` keeps files and logs; left out, they are removed at the end. With `ready=False` it does not
    wait for arming checks.

    Needs the programs `skein` and `skein-sitl`: on PATH, or named by SKEIN_BIN (and SKEIN_SITL_BIN). Raises
    `ProgramMissing`, `SimulatorFailed`, `WaitTimeout`.
    """
    if not 1 <= speedup <= 20:
        raise ValueError(f"speedup is {speedup}: choose 1 to 20; beyond that reports are too old before the next comes")
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="skein-", ignore_cleanup_errors=True)))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "faults.txt").write_text("\n".join([*faults, *_faults.script()]) + "\n")
        setup = {
            "skein": str(find("skein")),
            "sitl": str(find("skein-sitl")),
            "names": list(vehicles),
            "autopilot": autopilot,
            "speedup": speedup,
            "folder": str(folder),
            "sitl_options": ["--battery-percent-per-minute", str(battery_percent_per_minute), *sitl_options],
            "skein_options": list(skein_options),
        }
        process = subprocess.Popen(
            [sys.executable, "-I", str(Path(__file__).with_name("_host.py")), json.dumps(setup)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        stack.callback(_end, process)
        fleet = SimulatedFleet(process, folder, speedup, _answer(process, folder))
        stack.callback(fleet.close)
        if ready:
            try:
                fleet.wait_ready()
            except WaitTimeout as error:
                raise SimulatorFailed(f"{error}\nthe end of its log:\n{fleet.log_end()}") from error
        yield fleet


def _end(process: subprocess.Popen[str]) -> None:
    if process.stdin:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()


def environment(fleet: SimulatedFleet) -> dict[str, str]:
    """The environment in which `Fleet()`, `skein` and kubectl mean this fleet."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SKEIN_SERVER")}
    return {**kept, "SKEIN_STATION": str(fleet.station), "KUBECONFIG": str(fleet.kubeconfig)}
