"""The process that keeps one simulated fleet: `skein-sitl`, `skein up`, and a relay on each vehicle's link.

It lives as long as its standard input is open, so nothing outlives the test, however that ends; and the relay is not
held up by what the test computes. Requests come as JSON lines on standard input, answers go to standard output:

    {"lose_link": "a", "seconds": 20}       nothing passes on the link of vehicle a, either way
    {"command": "a", "number": 50015}       the vehicle's port gets this MAV_CMD

It is run by its path and imports nothing of this package, so that it starts at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
START_S = 180.0
"""`skein up` has this long to start: a debug build on a busy machine, or one on a real API server, takes half of it."""


# The one MAVLink message that vehicles are sent from here: COMMAND_LONG (76) of MAVLink 2.
_COMMAND_LONG = 76
_CRC_EXTRA = 152
_SENDER = (255, 190)
"""System and component of a ground station."""


def crc(data: bytes) -> int:
    """CRC-16/MCRF4XX, as MAVLink computes it."""
    value = 0xFFFF
    for byte in data:
        step = (byte ^ value) & 0xFF
        step = (step ^ (step << 4)) & 0xFF
        value = ((value >> 8) ^ (step << 8) ^ (step << 3) ^ (step >> 4)) & 0xFFFF
    return value


def command_long(system: int, command: int, sequence: int) -> bytes:
    """A frame with this command and no parameters, for the autopilot (component 1) of a system."""
    payload = struct.pack("<7fHBBB", *(0.0,) * 7, command, system, 1, 0).rstrip(b"\0")
    head = struct.pack("<BBBBBB", len(payload), 0, 0, sequence & 0xFF, *_SENDER) + _COMMAND_LONG.to_bytes(3, "little")
    body = head + payload
    return b"\xfd" + body + struct.pack("<H", crc(body + bytes([_CRC_EXTRA])))


class Relay:
    """The link of one vehicle: a loopback port for its agent, and the simulator's own behind it."""

    def __init__(self, system: int, endpoint: str) -> None:
        self._system = system
        host, port = endpoint.removeprefix("tcp:").rsplit(":", 1)
        self._place = (host, int(port))
        self._lost_until = 0.0
        self._sequence = 0
        self._to_vehicle: asyncio.StreamWriter | None = None
        self._server: asyncio.Server | None = None

    async def open(self) -> int:
        """Listens; returns the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    def lose(self, seconds: float) -> None:
        """Drops everything from now on for so long."""
        self._lost_until = asyncio.get_running_loop().time() + seconds

    async def command(self, number: int) -> None:
        """Sends the vehicle a command on its own port."""
        if self._to_vehicle is None:
            raise ConnectionError("its agent is not connected")
        self._sequence += 1
        self._to_vehicle.write(command_long(self._system, number, self._sequence))
        await self._to_vehicle.drain()

    async def _serve(self, agent_reader: asyncio.StreamReader, agent: asyncio.StreamWriter) -> None:
        try:
            vehicle_reader, vehicle = await asyncio.open_connection(*self._place)
        except OSError:
            agent.close()
            return
        self._to_vehicle = vehicle
        pumps = {
            asyncio.create_task(self._pump(agent_reader, vehicle)),
            asyncio.create_task(self._pump(vehicle_reader, agent)),
        }
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        if self._to_vehicle is vehicle:
            self._to_vehicle = None
        agent.close()
        vehicle.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        clock = asyncio.get_running_loop().time
        with contextlib.suppress(ConnectionError):
            while piece := await reader.read(65536):
                if clock() < self._lost_until:
                    continue
                writer.write(piece)
                await writer.drain()


def _die_with_parent() -> None:
    """For children of this process, whose only thread starts them: it is the thread's end that counts."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _say(**said: Any) -> None:
    print(json.dumps(said), flush=True)


async def _simulator(setup: dict[str, Any], folder: Path) -> tuple[Process, list[dict[str, Any]]]:
    with (folder / "sitl.log").open("wb") as log:
        simulator = await asyncio.create_subprocess_exec(
            *(setup["sitl"], "--names", ",".join(setup["names"]), "--autopilot", setup["autopilot"]),
            *("--speedup", str(setup["speedup"]), "--link", "tcp:127.0.0.1:0", "--port", "network"),
            *("--faults", str(folder / "faults.txt"), "--until-stdin-closes", *setup["sitl_options"]),
            stdin=PIPE,
            stdout=PIPE,
            stderr=log,
            preexec_fn=_die_with_parent,
        )
    vehicles: list[dict[str, Any]] = []
    assert simulator.stdout is not None
    for _ in setup["names"]:
        line = await simulator.stdout.readline()
        if not line:
            raise RuntimeError(f"skein-sitl ended: {(folder / 'sitl.log').read_text().strip()}")
        vehicles.append(json.loads(line))
    return simulator, vehicles


async def _station(setup: dict[str, Any], folder: Path, ports: dict[str, int]) -> Process:
    nodes = [word for name, port in ports.items() for word in ("--node", f"{name}=tcp:127.0.0.1:{port}")]
    ours = ("SKEIN_", "KUBECONFIG")
    with (folder / "skein.log").open("wb") as log:
        station = await asyncio.create_subprocess_exec(
            *(setup["skein"], "up", "--data-dir", str(folder / "station"), "--listen", "127.0.0.1:0"),
            *("--log", "text", *nodes, *setup["skein_options"]),
            stdin=DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_die_with_parent,
            env={name: value for name, value in os.environ.items() if not name.startswith(ours)},
        )
    record = folder / "station/operator/station.json"
    end = asyncio.get_running_loop().time() + START_S
    while not record.exists():
        if station.returncode is not None or asyncio.get_running_loop().time() > end:
            raise RuntimeError(f"skein up did not start: {(folder / 'skein.log').read_text()[-2000:]}")
        await asyncio.sleep(0.05)
    return station


async def _requests(relays: dict[str, Relay]) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        asked = json.loads(line)
        try:
            if "lose_link" in asked:
                relays[asked["lose_link"]].lose(float(asked["seconds"]))
            else:
                await relays[asked["command"]].command(int(asked["number"]))
            _say(ok=True)
        except (ConnectionError, KeyError) as error:
            _say(error=str(error))


async def _run(setup: dict[str, Any], children: list[Process], relays: dict[str, Relay]) -> None:
    folder = Path(setup["folder"])
    simulator, vehicles = await _simulator(setup, folder)
    children.append(simulator)
    relays.update((vehicle["name"], Relay(vehicle["system_id"], vehicle["endpoint"])) for vehicle in vehicles)
    ports = {name: await relay.open() for name, relay in relays.items()}
    station = await _station(setup, folder, ports)
    children.append(station)
    _say(ready=True, vehicles={vehicle["name"]: vehicle["autopilot"] for vehicle in vehicles})
    ends = [asyncio.create_task(child.wait()) for child in children]
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)


async def _keep(setup: dict[str, Any]) -> None:
    children: list[Process] = []
    relays: dict[str, Relay] = {}
    # Standard input is read from the beginning, so that a test that is killed meanwhile leaves nothing behind either.
    parts = [asyncio.create_task(part) for part in (_run(setup, children, relays), _requests(relays))]
    try:
        done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        for end in done:
            end.result()
    except (RuntimeError, BrokenPipeError) as error:
        with contextlib.suppress(BrokenPipeError):
            _say(error=str(error))
    finally:
        for part in parts:
            part.cancel()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
        # No vehicle of these is anywhere but in the memory of these processes.
        await asyncio.gather(*(child.wait() for child in children))


def main() -> None:
    """The process; its argument is the set-up, as JSON."""
    asyncio.run(_keep(json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
