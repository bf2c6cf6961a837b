"""The processes of a simulated fleet are bound to the life of the test."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from skein._program import find
from skein.testing import SimulatedFleet, simulated_fleet


def test_a_fleet_ends_with_the_test_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from skein.testing import simulated_fleet\n"
        f"with simulated_fleet(['k'], folder=Path({str(tmp_path)!r}), ready=False) as fleet:\n"
        "    print('up', flush=True)\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as test:
        assert test.stdout is not None
        assert test.stdout.readline() == "up\n"
        assert running(tmp_path)
        os.kill(test.pid, signal.SIGKILL)
        test.wait()
    until(lambda: not running(tmp_path))


def test_a_fleet_outlives_the_thread_that_started_it() -> None:
    with contextlib.ExitStack() as stack:
        started: list[SimulatedFleet] = []
        thread = threading.Thread(target=lambda: started.append(stack.enter_context(simulated_fleet(["t"]))))
        thread.start()
        task = Path("/proc/self/task") / str(thread.native_id)
        thread.join()
        until(lambda: not task.exists())
        started[0].vehicle("t").lose_link(0.1)
        started[0].vehicle("t").wait_until(lambda state: state.link_alive)


def test_a_fleet_ends_with_a_test_that_is_killed_while_it_starts(tmp_path: Path) -> None:
    (tmp_path / "skein-up").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "skein-up").chmod(0o755)
    script = (
        "from pathlib import Path\n"
        "from skein.testing import simulated_fleet\n"
        f"with simulated_fleet(['k'], folder=Path({str(tmp_path)!r})) as fleet:\n"
        "    pass\n"
    )
    environment = {**os.environ, "SKEIN_BIN": str(tmp_path / "skein-up"), "SKEIN_SITL_BIN": str(find("skein-sitl"))}
    with subprocess.Popen([sys.executable, "-c", script], env=environment) as test:
        until(lambda: (tmp_path / "skein.log").exists())
        os.kill(test.pid, signal.SIGKILL)
        test.wait()
    until(lambda: not running(tmp_path))


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def running(folder: Path) -> list[str]:
    """The processes whose command line names this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().decode(errors="replace")
            if str(folder) in words and "with simulated_fleet" not in words:
                found.append(words)
    return found
