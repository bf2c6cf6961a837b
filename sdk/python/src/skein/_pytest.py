"""The pytest plugin: fixture `fleet`, mark `skein`, and the log of a fleet with each failure.

It is loaded by every run of pytest where the package is installed, so it imports nothing of it before it is used.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from skein.testing import SimulatedFleet

_FLEET = pytest.StashKey["SimulatedFleet"]()


def pytest_configure(config: pytest.Config) -> None:
    """Declares the mark."""
    config.addinivalue_line(
        "markers",
        "skein(vehicles, *, autopilot, speedup, battery_percent_per_minute, faults, "
        "sitl_options, skein_options, ready): "
        "what the fixture `fleet` is made of; see skein.testing.simulated_fleet",
    )


@pytest.fixture
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedFleet]:
    """A fleet of simulated vehicles of this test's own: `a` an ArduPilot and `b` a PX4, unless a mark says otherwise.

    It is on loopback ports that were free, so that tests run in parallel under pytest-xdist.
    """
    from skein.testing import simulated_fleet

    mark = request.node.get_closest_marker("skein")
    arguments: tuple[Any, ...] = mark.args if mark else ()
    options: dict[str, Any] = dict(mark.kwargs) if mark else {}
    folder = tmp_path_factory.mktemp("skein")
    with simulated_fleet(*arguments, folder=folder, **options) as fleet:
        request.node.stash[_FLEET] = fleet
        yield fleet


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the end of the fleet's log to a failure."""
    report = yield
    found = item.stash.get(_FLEET, None)
    if report.failed and found is not None:
        report.sections.append(("skein log", found.log_end()))
    return report
