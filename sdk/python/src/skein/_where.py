"""Which fleet is meant: the order in which that is read is the one of the `skein` program.

Pure: `choose` decides on what it is given. It refuses where it is not clear, as an order to the wrong fleet flies or
lands the wrong vehicles.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skein.errors import FleetUnclear


@dataclass(frozen=True)
class Credentials:
    """Where the coordinator listens, which authority it is known by, and what it is shown (PEM files)."""

    address: str
    authority: Path
    certificate: Path
    key: Path


@dataclass(frozen=True)
class Route:
    """How a fleet is reached."""

    kubeconfig: Path | None = None
    context: str | None = None
    in_cluster: bool = False
    coordinator: Credentials | None = None
    program_options: tuple[str, ...] = field(default=())
    """Options with which the `skein` program asks the same fleet."""

    def __str__(self) -> str:
        if self.in_cluster:
            return "the cluster of this Pod"
        if self.context:
            return f"the cluster of context {self.context}"
        return f"the cluster of {self.kubeconfig}" if self.kubeconfig else "the cluster of the kubeconfig"


@dataclass(frozen=True)
class Given:
    """What the caller says."""

    station: Path | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    server: str | None = None
    server_ca: Path | None = None
    client_cert: Path | None = None
    client_key: Path | None = None


def station_route(folder: Path) -> Route:
    """The ground station (`skein up`) that keeps its data in this folder."""
    record = _record(folder)
    if record is None:
        raise FleetUnclear(f"no ground station runs with the data folder {folder}; start it with `skein up`")
    operator = folder / "operator"
    return Route(
        kubeconfig=Path(record["kubeconfig"]),
        coordinator=Credentials(
            record["server"].removeprefix("https://").rstrip("/"),
            operator / "ca.crt",
            operator / "operator.crt",
            operator / "operator.key",
        ),
        program_options=("--station", str(folder)),
    )


def _record(folder: Path) -> dict[str, str] | None:
    try:
        read = json.loads((folder / "operator" / "station.json").read_text())
        return {name: str(read[name]) for name in ("server", "kubeconfig")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def choose(given: Given, environment: Mapping[str, str] = os.environ) -> Route:
    """The route to the fleet that is meant by the arguments, then by the environment.

    Raises `FleetUnclear` when two could be meant, or none.
    """
    if given.station and (given.kubeconfig or given.context or given.server):
        raise FleetUnclear("station names a fleet already: leave out kubeconfig, context and server")
    if given.station:
        return station_route(given.station)
    home = Path(environment.get("HOME", "/nonexistent"))
    data = environment.get("XDG_DATA_HOME") or str(home / ".local/share")
    named = environment.get("SKEIN_STATION")
    folder = Path(named or f"{data}/skein")
    variable = environment.get("KUBECONFIG") or None
    kubeconfig = given.kubeconfig or (Path(variable) if variable and not given.context else None)
    record = _record(folder)
    if record and kubeconfig == Path(record["kubeconfig"]) and not given.server:
        return station_route(folder)
    # The environment's server is that of the fleet which the environment means, and of no other that is named here.
    named_here = given.kubeconfig or given.context
    coordinator = _direct(given, {} if named_here and not given.server else environment)
    if record and coordinator and not given.server and not named_here:
        raise FleetUnclear(
            f"a ground station runs on this machine, and SKEIN_SERVER names another one ({coordinator.address}): "
            "say which one with station=DIR, or with server=URL"
        )
    if given.kubeconfig or given.context or given.server:
        return _cluster(given.kubeconfig or (Path(variable) if variable else None), given.context, coordinator)
    if named:
        return station_route(folder)
    if record and variable:
        raise FleetUnclear(
            f"a ground station runs on this machine, and KUBECONFIG names a cluster ({variable}): say which one with "
            "station=DIR, or with context=NAME"
        )
    if record:
        return station_route(folder)
    if variable or (home / ".kube/config").is_file():
        return _cluster(Path(variable) if variable else None, None, coordinator)
    if "KUBERNETES_SERVICE_HOST" in environment:
        return Route(in_cluster=True, coordinator=coordinator)
    raise FleetUnclear(
        "no fleet is known here: no ground station (`skein up`) runs on this machine, and there is no kubeconfig; pass "
        "station=DIR or kubeconfig=FILE"
    )


def _cluster(kubeconfig: Path | None, context: str | None, coordinator: Credentials | None) -> Route:
    options: tuple[str, ...] = ()
    if kubeconfig:
        options += ("--kubeconfig", str(kubeconfig))
    if context:
        options += ("--context", context)
    if coordinator:
        options = (
            *("--server", f"https://{coordinator.address}", "--server-ca", str(coordinator.authority)),
            *("--client-cert", str(coordinator.certificate), "--client-key", str(coordinator.key)),
        )
    return Route(kubeconfig=kubeconfig, context=context, coordinator=coordinator, program_options=options)


def _direct(given: Given, environment: Mapping[str, str]) -> Credentials | None:
    server = given.server or environment.get("SKEIN_SERVER")
    if not server:
        return None
    names = ("SKEIN_SERVER_CA", "SKEIN_CLIENT_CERT", "SKEIN_CLIENT_KEY")
    passed = (given.server_ca, given.client_cert, given.client_key)
    files = [
        file or (Path(environment[name]) if environment.get(name) else None)
        for file, name in zip(passed, names, strict=True)
    ]
    authority, certificate, key = files
    if not server.startswith("https://"):
        raise FleetUnclear(f"server is {server!r}: pass https://HOST:PORT")
    if not (authority and certificate and key):
        raise FleetUnclear("server needs server_ca, client_cert and client_key, which `skein enroll --operator` makes")
    return Credentials(server.removeprefix("https://").rstrip("/"), authority, certificate, key)
