"""Tries the wheel that carries the programs where nothing but Python is: no Rust, no compiler, no network.

    debootstrap --variant=minbase --include=python3,python3-pip,python3-venv bookworm ROOT
    python tools/clean_root.py ROOT WHEEL

In ROOT, with a network of its own that has loopback only, each way to begin is run from an index on loopback, as often
as --times says, until five simulated vehicles hold; Ctrl-C lands them. It prints the seconds from the command to that,
and fails if that takes longer than a minute, if the wheel is larger than its budget, or if anything of Skein is left
after uninstalling.
It needs root, `ip` and `unshare`, and a Python of ROOT's version whose pip reaches an index with the dependencies.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

NAME = "skein-fleet"
TOOLS = ("pipx", "uv")
LIMIT_S = 60.0
FLIGHT_S = 300.0
"""A demo that has not held and landed within this, in seconds, is killed."""
MOST_MB = 40.0
"""The budget of the wheel, in millions of bytes."""
PORT = 8000
INDEX = f"http://127.0.0.1:{PORT}"
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PIP_INDEX_URL": INDEX,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
    "UV_DEFAULT_INDEX": INDEX,
    "UV_PYTHON_DOWNLOADS": "never",
}
WAYS = {
    "pip": f"python3 -m venv /venv && /venv/bin/pip install --quiet {NAME} && exec /venv/bin/skein demo",
    "pipx": f"exec /tools/bin/pipx run --spec {NAME} skein demo",
    "uvx": f"exec /tools/bin/uvx --from {NAME} skein demo",
}
CLEAN = "rm -rf /venv $HOME/.cache $HOME/.local"
"""Between two tries; the second of a way would find what the first has kept."""


def index(wheel: Path, to: Path) -> None:
    """Makes an index of the wheel, its dependencies and the tools: folders of files, as any web server lists them."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", folder]
        subprocess.run([*command, wheel, *TOOLS], check=True)
        for file in Path(folder).iterdir():
            # PEP 503 has names in this form.
            name = re.sub(r"[-_.]+", "-", file.name.partition("-")[0]).lower()
            (to / name).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to / name / file.name)


def inside(root: Path, script: str, **more: str) -> list[str]:
    """The command that runs a script in the root, in this network."""
    variables = [f"{name}={value}" for name, value in {**ENVIRONMENT, **more}.items()]
    return ["chroot", str(root), "/usr/bin/env", "-i", *variables, "/bin/sh", "-euc", script]


def run(root: Path, script: str) -> str:
    """What the script prints."""
    return subprocess.run(inside(root, script), check=True, stdout=subprocess.PIPE, text=True).stdout


def fly(command: Sequence[str], most_s: float = FLIGHT_S) -> tuple[float, str]:
    """The seconds until all hold, and the screen; lands them. After `most_s` it is killed, and has failed."""
    begun = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as demo:
        assert demo.stdout is not None
        screen, held_s = "", None
        watchdog = threading.Timer(most_s, os.killpg, (demo.pid, signal.SIGKILL))
        watchdog.start()
        for line in demo.stdout:
            screen += line
            if held_s is None and re.search(r"all \d+ hold", line):
                held_s = time.monotonic() - begun
                os.killpg(demo.pid, signal.SIGINT)
        watchdog.cancel()
    if demo.returncode or held_s is None or "touched down never" in screen:
        sys.exit(
            f"error: this did not fly and land within {most_s:.0f} s (exit code {demo.returncode}):\n"
            f"{command[-1]}\n{screen}"
        )
    return held_s, screen


def excess(wheel_bytes: int) -> str | None:
    """What is wrong with the size of the wheel."""
    size = wheel_bytes / 1e6
    return f"the wheel has {size:.1f} MB, more than {MOST_MB:.0f}" if size > MOST_MB else None


def left(root: Path) -> str:
    """What has Skein's name in the root, or is in its folder for temporary files."""
    return run(root, "find / /tmp/. -xdev '(' -name '*skein*' -o -path '/tmp/./*' ')' -not -path '/index/*' | sort")


def tried(root: Path, times: int) -> Mapping[str, list[float]]:
    """Tries each way in this network, which has loopback only."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    server = subprocess.Popen(
        inside(root, f"exec python3 -m http.server --bind 127.0.0.1 --directory /index {PORT} 2>/dev/null >&2")
    )
    try:
        end = time.monotonic() + 10
        while subprocess.run(
            inside(root, f"python3 -c 'import urllib.request as u; u.urlopen(\"{INDEX}\")' 2>&-")
        ).returncode:
            if time.monotonic() > end:
                sys.exit("error: the index does not answer")
        for program in ("cargo", "rustc", "cc", "gcc"):
            if (root / "usr/bin" / program).exists():
                sys.exit(f"error: {root} has {program}; make a root with nothing but Python")
        run(root, f"{CLEAN} /tools; python3 -m venv /tools && /tools/bin/pip install --quiet {' '.join(TOOLS)}")
        found: dict[str, list[float]] = {}
        for way, script in WAYS.items():
            for number in range(times):
                run(root, CLEAN)
                before = left(root)
                seconds, screen = fly(inside(root, script))
                found.setdefault(way, []).append(seconds)
                print(f"{way}: all hold {seconds:.1f} s after the command", flush=True)
                if way == "pip" and number == 0:
                    print(screen)
                if way == "pip":
                    run(root, f"/venv/bin/pip uninstall --quiet --yes {NAME}")
                    if left(root) != before:
                        sys.exit(f"error: this is left after uninstalling:\n{left(root)}")
        return found
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Tries the wheel of a release where nothing but Python is.")
    parser.add_argument("root", type=Path, metavar="ROOT", help="the folder of a system with python3, pip and venv")
    parser.add_argument("wheel", type=Path, metavar="WHEEL", help="the wheel")
    parser.add_argument("--times", type=int, default=3, metavar="N", help="how often each way is tried")
    parser.add_argument("--in-own-network", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if too_large := excess(given.wheel.stat().st_size):
        sys.exit(f"error: {too_large}")
    root, wheel = given.root.resolve(), given.wheel.resolve()
    if not given.in_own_network:
        shutil.rmtree(root / "index", ignore_errors=True)
        index(wheel, root / "index")
        own = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", sys.executable, __file__]
        sys.exit(
            subprocess.run([*own, str(root), str(wheel), "--times", str(given.times), "--in-own-network"]).returncode
        )
    for name, kind in (("proc", "proc"), ("dev/pts", "devpts")):
        subprocess.run(["mount", "-t", kind, kind, str(root / name)], check=True)
    found = tried(root, given.times)
    print(f"the wheel has {wheel.stat().st_size / 1e6:.1f} MB")
    for way, seconds in found.items():
        print(f"{way}: {', '.join(f'{one:.1f}' for one in seconds)} s; {WAYS[way].replace('exec ', '')}")
    slow = [one for seconds in found.values() for one in seconds if one > LIMIT_S]
    if slow:
        sys.exit(f"error: more than {LIMIT_S:.0f} s: {slow}")


if __name__ == "__main__":
    main()
