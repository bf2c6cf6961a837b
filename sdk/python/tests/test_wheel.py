"""The wheel that carries the programs: built, installed from an index on loopback, flown, gone after uninstalling."""

from __future__ import annotations

import os
import platform
import shutil
import struct
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "wheel.py"
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def run(*words: str | Path, **environment: str) -> str:
    """Runs a command with nothing of this environment but what it is given and what finds the system's own programs."""
    own = {"PATH": "/usr/bin:/bin", "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=own)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the programs of this build. They are dynamic, so it is for this machine only."""
    folder = tmp_path_factory.mktemp("wheel")
    programs = []
    for name in ("skein", "skein-sitl"):
        program = folder / name
        shutil.copyfile(Path(os.environ["SKEIN_BIN"]).parent / name, program)
        # Symbols for debugging are nine tenths of them.
        if strip := shutil.which("strip"):
            run(strip, program)
        programs.append(program)
    command: list[str | Path] = [
        sys.executable,
        TOOL,
        "--arch",
        ARCH,
        "--allow-dynamic",
        "--out",
        folder / "out",
        *programs,
    ]
    return Path(run(*command).strip())


@pytest.fixture
def index(wheel: Path, tmp_path: Path) -> Iterator[str]:
    """An index of packages (PEP 503) on loopback: folders of files, as any web server lists them."""
    place = tmp_path / "index/skein-fleet"
    place.mkdir(parents=True)
    (place / wheel.name).symlink_to(wheel)
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path / "index")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_the_wheel_has_the_programs_the_package_and_its_license(wheel: Path) -> None:
    machine = platform.machine()
    assert wheel.name == f"skein_fleet-0.1.0-py3-none-manylinux_2_17_{machine}.manylinux2014_{machine}.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read("skein_fleet-0.1.0.dist-info/METADATA").decode()
    scripts = "skein_fleet-0.1.0.data/scripts"
    licenses = "skein_fleet-0.1.0.dist-info/licenses"
    for name in (f"{scripts}/skein", f"{scripts}/skein-sitl", "skein/py.typed", f"{licenses}/LICENSE"):
        assert name in names
    assert "Name: skein-fleet\n" in metadata
    assert "Provides-Extra: pytest\n" in metadata


def test_a_wheel_from_an_index_flies_the_demo_and_leaves_nothing(wheel: Path, index: str, tmp_path: Path) -> None:
    venv, tmp = tmp_path / "venv", tmp_path / "tmp"
    tmp.mkdir()
    run(sys.executable, "-m", "venv", venv)
    before = files(venv)
    pip: list[str | Path] = [venv / "bin/python", "-m", "pip"]
    # Its dependencies are those of this Python; the test in a clean root (tools/clean_root.py) installs them, too.
    run(*pip, "install", "--quiet", "--index-url", index, "--no-deps", "skein-fleet")
    said = run(venv / "bin/skein", "--version")
    assert said == run(os.environ["SKEIN_BIN"], "--version")
    assert run(venv / "bin/skein-sitl", "--version").startswith("skein-sitl 0.1.0")

    flown = run(venv / "bin/skein", "demo", "--once", "--speedup", "10", TMPDIR=str(tmp), HOME=str(tmp))
    assert "all 5 hold" in flown
    assert "never" not in flown
    assert list(tmp.iterdir()) == []

    # The package is that of the wheel, and finds the wheel's program though the environment is not activated.
    others = next(path for path in sys.path if path.endswith("site-packages"))
    imported = (
        "import sys; sys.path.append(sys.argv[1]); import skein, skein._program as p; print(skein.__file__, p.find())"
    )
    package, program = run(venv / "bin/python", "-c", imported, others).split()
    assert package.startswith(str(venv))
    assert program == str(venv / "bin/skein")

    run(*pip, "uninstall", "--quiet", "--yes", "skein-fleet")
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
        (None, "cannot be read: No such file"),
    ],
    ids=["script", "other-machine", "dynamic", "cut-off", "missing"],
)
def test_a_program_that_would_not_run_elsewhere_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    given = tmp_path / "skein"
    if content is not None:
        given.write_bytes(content)
    command: list[str | Path] = [sys.executable, TOOL, given, "--arch", "amd64", "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_of_the_same_files_it_makes_the_same_wheel_at_any_time(tmp_path: Path) -> None:
    given = tmp_path / "skein"
    given.write_bytes(program(183, 1))
    made = []
    for part in ("1", "2"):
        os.utime(given, (int(part), int(part)))
        command: list[str | Path] = [sys.executable, TOOL, given, "--arch", "arm64", "--out", tmp_path / part]
        made.append(Path(run(*command, SOURCE_DATE_EPOCH="1700000000").strip()).read_bytes())
    assert made[0] == made[1]
