"""Fly a fleet of drones from Python.

    from skein import Fleet

    with Fleet() as fleet:
        fleet.swarms.patch("alpha", {"spec": {"replicas": 5}})
        fleet.swarms.wait_until("alpha", "Ready", timeout_s=120)

`AsyncFleet` is the same for asyncio. `skein.models` has every resource, `skein.errors` every error, `skein.testing`
simulated fleets for tests.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skein import errors, models, testing
    from skein._async import AsyncCollection, AsyncFleet
    from skein._coordinator import GroundResult
    from skein._events import ObjectEvent
    from skein._program import Imported, PlannedFlight, Preview, import_file, preview
    from skein._sync import Collection, Fleet
    from skein._watching import Event
    from skein.errors import SkeinError, WaitTimeout, WillNotHappen
    from skein.telemetry import Snapshot, VehiclePosition, VehicleState

# Loaded at first use: the clients of Kubernetes take a second each.
_HOMES = {
    "skein._async": ("AsyncCollection", "AsyncFleet"),
    "skein._coordinator": ("GroundResult",),
    "skein._events": ("ObjectEvent",),
    "skein._program": ("Imported", "PlannedFlight", "Preview", "import_file", "preview"),
    "skein._sync": ("Collection", "Fleet"),
    "skein._watching": ("Event",),
    "skein.errors": ("SkeinError", "WaitTimeout", "WillNotHappen"),
    "skein.telemetry": ("Snapshot", "VehiclePosition", "VehicleState"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = ("errors", "models", "testing")

__all__ = [
    "AsyncCollection",
    "AsyncFleet",
    "Collection",
    "Event",
    "Fleet",
    "GroundResult",
    "Imported",
    "ObjectEvent",
    "PlannedFlight",
    "Preview",
    "SkeinError",
    "Snapshot",
    "VehiclePosition",
    "VehicleState",
    "WaitTimeout",
    "WillNotHappen",
    "errors",
    "import_file",
    "models",
    "preview",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"skein.{name}")
    if name in _HOME:
        found = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'skein' has no attribute {name!r}")
