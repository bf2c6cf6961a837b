"""Simulated fleets for tests: all of Skein on loopback ports, with autopilots that are simulated, and faults on demand.

    with simulated_fleet(["a", "b"], autopilot="px4") as fleet:
        fleet.vehicle("a").lose_link(5)

pytest has such a fleet as fixture `fleet`; `@pytest.mark.skein(...)` takes the same arguments.

The programs `skein` and `skein-sitl` are found on PATH, or named by SKEIN_BIN and SKEIN_SITL_BIN; without the latter,
`skein-sitl` may be beside SKEIN_BIN.

The vehicles' physics run `speedup` times as fast as time passes. The clocks of Skein itself, which say when a link is
lost, do not: all seconds here are real ones.
"""

from skein.testing._fleet import SimulatedFleet, SimulatedVehicle, simulated_fleet

__all__ = ["SimulatedFleet", "SimulatedVehicle", "simulated_fleet"]
