"""Fly a fleet of drones from Python.

    from skein import Fleet

    with Fleet() as fleet:
        fleet.swarms.patch("alpha", {"spec": {"replicas": 5}})
        fleet.swarms.wait_until("alpha", "Ready", timeout_s=120)

`skein.models` has every resource, `skein.errors` every error, `skein.testing` simulated fleets for tests.
"""

from skein import errors, models
from skein._coordinator import GroundResult
from skein._program import Imported, PlannedFlight, Preview, import_file, preview
from skein._sync import Collection, Fleet
from skein._watching import Event
from skein.errors import SkeinError, WaitTimeout, WillNotHappen
from skein.telemetry import Snapshot, VehiclePosition, VehicleState

__all__ = [
    "Collection",
    "Event",
    "Fleet",
    "GroundResult",
    "Imported",
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
]
