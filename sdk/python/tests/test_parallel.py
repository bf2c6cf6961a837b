"""Simulated fleets of tests that run at the same time, and how long one takes to start."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skein.testing import simulated_fleet

FLEETS = 4
TEST = """
import time
from pathlib import Path
import pytest
from skein.models import Drone, DroneSpec

@pytest.mark.parametrize("number", range({fleets}))
@pytest.mark.skein(["a"], autopilot="ardupilot")
def test_it_flies_while_the_others_do(fleet, number):
    here = Path(__file__).parent
    (here / f"started-{{number}}").touch()
    end = time.monotonic() + 120
    while len(list(here.glob("started-*"))) < {fleets}:
        assert time.monotonic() < end, "the others do not start"
        time.sleep(0.05)
    fleet.apply(Drone.named(f"d{{number}}", DroneSpec(node_name="a")))
    fleet.drones.wait_until(f"d{{number}}", "Ready", timeout_s=120)
    assert [drone.name for drone in fleet.drones.list()] == [f"d{{number}}"]
"""


def test_four_fleets_fly_at_the_same_time_under_xdist(tmp_path: Path) -> None:
    (tmp_path / "test_each.py").write_text(TEST.format(fleets=FLEETS))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(FLEETS), "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert f"{FLEETS} passed" in done.stdout


def test_a_fleet_starts_by_itself_in_seconds_that_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    with simulated_fleet(ready=False) as fleet:
        up_s = time.monotonic() - begun
        fleet.wait_ready()
        ready_s = time.monotonic() - begun
    with capsys.disabled():
        print(f"\na fleet of two: {up_s:.1f} s until it answers, {ready_s:.1f} s until both vehicles may arm")
    assert up_s < ready_s
