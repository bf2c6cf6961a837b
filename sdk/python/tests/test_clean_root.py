"""What the trial of the wheel in a clean root fails over; the trial itself needs root and a system to enter."""

import importlib.util
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "clean_root.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("clean_root", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_demo_that_never_holds_is_ended_and_has_failed(tool: ModuleType) -> None:
    began = time.monotonic()
    with pytest.raises(SystemExit, match="did not fly and land within 1 s"):
        tool.fly(["/bin/sh", "-euc", "echo all are on their way; exec sleep 60"], most_s=1)
    assert time.monotonic() - began < 30


def test_a_demo_that_holds_is_interrupted_and_lands(tool: ModuleType) -> None:
    lands = "trap 'echo landed; exit 0' INT; echo all 5 hold; while :; do sleep 0.05; done"
    held_s, screen = tool.fly(["/bin/sh", "-euc", lands], most_s=60)
    assert held_s < 30
    assert screen.endswith("landed\n")


def test_a_wheel_beyond_its_budget_has_failed(tmp_path: Path) -> None:
    wheel = tmp_path / "skein_fleet-0-py3-none-any.whl"
    with wheel.open("wb") as file:
        file.truncate(40_100_000)
    done = subprocess.run([sys.executable, TOOL, tmp_path, wheel], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the wheel has 40.1 MB, more than 40" in done.stderr
