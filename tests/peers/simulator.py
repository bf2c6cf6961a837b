"""Starts skein-sitl for one test and ends it again.

Owns: the process and its endpoint list. Must not: speak MAVLink.
"""

import json
import os
import select
import subprocess
import sys
import time


class Simulator:
    """A running skein-sitl; use as a context manager. `vehicles` is the printed list."""

    def __init__(self, *flags):
        self._command = [binary(), "--until-stdin-closes", *flags]
        self.vehicles = []

    def __enter__(self):
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.vehicles.append(self._next_vehicle(timeout_s=20))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise RuntimeError("skein-sitl did not end within 10 s of SIGTERM")
        finally:
            self._process.stdin.close()
            self._process.stdout.close()

    def _next_vehicle(self, timeout_s):
        ready, _, _ = select.select([self._process.stdout], [], [], timeout_s)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            raise RuntimeError(f"no vehicle was listed within {timeout_s} s by {' '.join(self._command)}")
        return json.loads(line)


def binary():
    """The simulator to test, from SKEIN_SITL."""
    path = os.environ.get("SKEIN_SITL")
    if not path or not os.path.exists(path):
        sys.exit("set SKEIN_SITL to the skein-sitl binary (`cargo build -p sitl` makes target/debug/skein-sitl)")
    return path


def wait_for(what, timeout_s, look, every_s=0.02):
    """Calls `look` until it gives something true; names `what` was missing otherwise."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {what}")
        time.sleep(every_s)
