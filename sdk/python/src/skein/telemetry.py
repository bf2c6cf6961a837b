"""What vehicles report now, and where the report comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Source = Literal["coordinator", "status"]

_FLYING = {7: True, 8: True, 9: True, 5: False, 6: False}
_AUTOPILOTS = {1: "ArduPilot", 2: "PX4"}


@dataclass(frozen=True)
class VehiclePosition:
    """Degrees in WGS 84, north and east positive; altitudes in meters."""

    latitude_deg: float
    longitude_deg: float
    altitude_above_home_m: float
    altitude_amsl_m: float | None = None
    """Above mean sea level; None from a status, which does not have it."""


@dataclass(frozen=True)
class VehicleState:
    """One vehicle. None stands for what is not known; nothing is guessed."""

    source: Source
    """`coordinator`: at most half a second old. `status`: as of the last transition, or change of 25 % of charge."""
    node: str
    drone: str
    """Name of the Drone that it serves; "" for none."""
    namespace: str
    """Namespace of that Drone; "" for none."""
    swarm: str
    phase: str
    message: str
    """Why it is in this phase, as a sentence."""
    connected: bool
    """Whether its agent is connected to the coordinator."""
    link_alive: bool
    """Whether the agent hears its autopilot."""
    flying: bool | None = None
    """In the air by its autopilot's own report."""
    armable: bool | None = None
    """Whether the autopilot's arming checks pass."""
    mode: str | None = None
    """Flight mode, as the autopilot names it."""
    autopilot: str | None = None
    """ArduPilot or PX4."""
    position: VehiclePosition | None = None
    heading_deg: float | None = None
    """Where the nose points, clockwise from true north."""
    battery_percent: int | None = None
    battery_volts: float | None = None
    age_s: float | None = None
    """How old the report is, in seconds; None from a status."""


@dataclass(frozen=True)
class Snapshot:
    """The whole fleet at one moment."""

    vehicles: Sequence[VehicleState]

    def vehicle(self, node: str) -> VehicleState | None:
        """That of a node."""
        return next((vehicle for vehicle in self.vehicles if vehicle.node == node), None)

    def drone(self, name: str, namespace: str | None = None) -> VehicleState | None:
        """That which serves a Drone."""
        return next(
            (v for v in self.vehicles if v.drone == name and (namespace is None or v.namespace == namespace)), None
        )


def of_message(vehicle: Any) -> VehicleState:
    """From a message `skein.v1.Vehicle`."""
    report = vehicle.report if vehicle.HasField("report") else None

    def optional(message: Any, name: str) -> Any:
        return getattr(message, name) if message is not None and message.HasField(name) else None

    position = optional(report, "position")
    battery = optional(report, "battery")
    identity = optional(report, "identity")
    return VehicleState(
        source="coordinator",
        node=vehicle.node,
        drone=vehicle.drone_name,
        namespace=vehicle.drone_namespace,
        swarm=vehicle.swarm,
        phase=vehicle.phase,
        message=vehicle.message,
        connected=vehicle.agent_connected,
        link_alive=bool(report is not None and report.link_alive),
        flying=_FLYING.get(report.truth) if report is not None else None,
        armable=optional(report, "ready"),
        mode=optional(report, "mode"),
        autopilot=_AUTOPILOTS.get(identity.autopilot) if identity is not None else None,
        position=None
        if position is None
        else VehiclePosition(
            position.latitude_deg, position.longitude_deg, position.altitude_above_home_m, position.altitude_amsl_m
        ),
        heading_deg=optional(report, "heading_deg"),
        battery_percent=optional(battery, "remaining_percent"),
        battery_volts=optional(battery, "volts"),
        age_s=vehicle.report_age_ms / 1000 if report is not None else None,
    )


def of_drone(drone: Any) -> VehicleState:
    """From the status of a `skein.models.Drone`."""
    status = drone.status
    ready, connected, armable = (drone.condition(name) for name in ("Ready", "Connected", "Armable"))
    position = getattr(status, "position", None)
    battery = getattr(status, "battery", None)
    vehicle = getattr(status, "vehicle", None)
    is_connected = connected is not None and connected.status == "True"
    return VehicleState(
        source="status",
        node=drone.spec.node_name or "",
        drone=drone.name,
        namespace=drone.namespace,
        swarm=(drone.metadata.labels or {}).get("skein.dev/swarm", ""),
        phase=getattr(status, "phase", None) or "Pending",
        message=ready.message if ready else "",
        connected=is_connected,
        link_alive=is_connected,
        flying=getattr(status, "flying", None),
        armable={"True": True, "False": False}.get(armable.status) if armable else None,
        mode=getattr(status, "mode", None),
        autopilot=vehicle.autopilot if vehicle else None,
        position=VehiclePosition(
            position.latitude_degrees, position.longitude_degrees, position.altitude_above_home_meters
        )
        if position
        else None,
        battery_percent=battery.remaining_percent if battery else None,
    )
