"""The wheel that carries the programs: built, installed without an index, and gone after uninstalling."""

from __future__ import annotations

import os
import platform
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "wheel.py"
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def run(*words: str | Path, **environment: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}


def test_the_wheel_brings_the_program_and_the_package_and_leaves_nothing(tmp_path: Path) -> None:
    """Of programs without debug symbols where `strip` is there: those are a tenth as large."""
    out, venv = tmp_path / "out", tmp_path / "venv"
    given = Path(os.environ["SKEIN_BIN"])
    programs = []
    for name in ("skein", "skein-sitl"):
        program = tmp_path / name
        shutil.copyfile(given.parent / name, program)
        if strip := shutil.which("strip"):
            run(strip, program)
        programs.append(program)
    # Twice the small one for the bytes: they are the same at another time of the day.
    command: list[str | Path] = [sys.executable, TOOL, "--arch", ARCH, "--allow-dynamic", "--out"]
    small = [run(*command, tmp_path / part, programs[1], SOURCE_DATE_EPOCH="1700000000") for part in ("1", "2")]
    first, second = (Path(path.strip()) for path in small)
    assert first.read_bytes() == second.read_bytes()

    wheel = Path(run(*command, out, *programs).strip())
    machine = platform.machine()
    assert wheel.name == f"skein-0.1.0-py3-none-manylinux_2_17_{machine}.manylinux2014_{machine}.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read("skein-0.1.0.dist-info/METADATA").decode()
    for name in ("skein-0.1.0.data/scripts/skein", "skein-0.1.0.data/scripts/skein-sitl", "skein/py.typed"):
        assert name in names
    assert "skein-0.1.0.dist-info/licenses/LICENSE" in names
    assert "Name: skein\n" in metadata
    assert "Provides-Extra: pytest\n" in metadata

    run(sys.executable, "-m", "venv", venv)
    before = files(venv)
    pip = [venv / "bin/python", "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", "--no-index", "--find-links", out, "--no-deps", "skein")
    said = run(venv / "bin/skein", "--version")
    assert said == run(given, "--version")
    assert said.startswith("skein 0.1.0")
    assert run(venv / "bin/skein-sitl", "--version").startswith("skein-sitl 0.1.0")
    # What `skein` depends on is what this Python has; the package itself is the new one.
    others = next(path for path in sys.path if path.endswith("site-packages"))
    imported = "import sys; sys.path.append(sys.argv[1]); import skein; print(skein.__file__)"
    assert run(venv / "bin/python", "-c", imported, others).startswith(str(venv))
    run(*pip, "uninstall", "--quiet", "--yes", "skein")
    assert files(venv) == before


def program(machine: int, kind: int) -> bytes:
    """An ELF-64 file with one program header (`man 5 elf`)."""
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, machine, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<I52x", kind)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"#!/bin/sh\n", "is not a 64-bit ELF program"),
        (program(183, 1), "is for ELF machine 183, not 62"),
        (program(62, 3), "asks for a dynamic loader"),
        (program(62, 1)[:64], "is cut off"),
        (None, "can not be read: No such file"),
    ],
)
def test_a_program_that_would_not_run_elsewhere_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    given = tmp_path / "skein"
    if content is not None:
        given.write_bytes(content)
    command = [sys.executable, TOOL, given, "--arch", "amd64", "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_static_program_is_taken(tmp_path: Path) -> None:
    given = tmp_path / "skein"
    given.write_bytes(program(183, 1))
    assert Path(run(sys.executable, TOOL, given, "--arch", "arm64", "--out", tmp_path / "out").strip()).is_file()
