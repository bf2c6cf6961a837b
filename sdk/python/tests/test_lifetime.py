"""The processes of a simulated fleet are bound to the life of the test."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


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
    end = time.monotonic() + 20
    while running(tmp_path):
        assert time.monotonic() < end, running(tmp_path)
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
