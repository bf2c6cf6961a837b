"""Runs a command with a simulated fleet around it: `python -m skein.testing --vehicles a b -- python survey.py`."""

from __future__ import annotations

import argparse
import subprocess
import sys

from skein.errors import SkeinError
from skein.testing._fleet import environment, simulated_fleet


def main() -> int:
    """The command line. Its exit code is the command's."""
    parser = argparse.ArgumentParser(
        prog="python -m skein.testing",
        description="Runs a command with a simulated fleet around it: Fleet(), skein and kubectl mean that fleet.",
    )
    parser.add_argument("--vehicles", nargs="+", default=["a", "b"], metavar="NAME", help="names of the vehicles")
    parser.add_argument("--autopilot", choices=["ardupilot", "px4", "mixed"], default="mixed")
    parser.add_argument("--speedup", type=float, default=10.0, help="simulated seconds to a real one, 1 to 20")
    words = sys.argv[1:]
    if "--" not in words:
        parser.error("say the command after --, such as: -- python survey.py")
    split = words.index("--")
    given = parser.parse_args(words[:split])
    try:
        with simulated_fleet(given.vehicles, autopilot=given.autopilot, speedup=given.speedup) as fleet:
            return subprocess.run(words[split + 1 :], env=environment(fleet), check=False).returncode
    except SkeinError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
