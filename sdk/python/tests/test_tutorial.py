"""The tutorial's code, executed as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from skein._program import find

ROOT = Path(__file__).parents[3]
TUTORIAL = ROOT / "docs/tutorial/python.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_example_is_about_fifteen_lines() -> None:
    lines = (ROOT / "sdk/python/examples/survey.py").read_text().partition("async def main")[2].partition("\n\n\n")[0]
    assert len(lines.splitlines()) <= 15


def test_every_block_of_the_tutorial_works_as_it_stands_there(tmp_path: Path) -> None:
    for program in ("skein", "skein-sitl"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / program).symlink_to(find(program).resolve())
    (tmp_path / "sdk").symlink_to(ROOT / "sdk")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SKEIN_", "PYTEST"))}
    environment["PATH"] = f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{environment['PATH']}"
    executed = 0
    for language, text in BLOCK.findall(TUTORIAL.read_text()):
        if language == "python":
            named = re.match(r"# (\w+\.py)\n", text)
            assert named, f"the first line of a block names its file:\n{text}"
            (tmp_path / named[1]).write_text(text)
        elif language == "sh" and text.startswith("pip install"):
            continue  # check.sh installs with this very line
        elif language == "sh":
            done = subprocess.run(["sh", "-ec", text], cwd=tmp_path, env=environment, capture_output=True, text=True)
            if done.returncode:
                pytest.fail(f"{text}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}")
            executed += 1
    assert executed == 3


def test_the_tutorial_names_every_fault() -> None:
    from skein.testing import SimulatedVehicle

    told = TUTORIAL.read_text()
    faults = {name for name in vars(SimulatedVehicle) if not name.startswith("_")}
    assert all(f"{name}(" in told for name in faults - {"state", "drone", "wait_until"})
