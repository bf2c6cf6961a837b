"""Builds the wheel of skein-fleet that carries the programs: the package, and `skein` and `skein-sitl` as its scripts.

    python tools/wheel.py PROGRAM... --arch amd64|arm64 --out DIR

Needs the packages of requirements-wheel.txt. The same files give the same wheel, byte for byte: all times in it are
SOURCE_DATE_EPOCH, or without that the newest of the SDK's files.
"""

from __future__ import annotations

import argparse
import os
import shutil
import struct
import sys
import tempfile
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

SDK = Path(__file__).resolve().parent.parent
LICENSE = SDK.parent.parent / "LICENSE"

# A static program with musl asks for no C library, so it runs with the oldest that the tag names, and with none.
# pip takes "manylinux2014" since 19.3, and the other name of the same since 20.3.
PLATFORMS = {
    "amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64",
}

MACHINES = {"amd64": 62, "arm64": 183}
"""`e_machine` in the header of an ELF file."""

INTERPRETER = 3
"""`p_type` of the program header that names a dynamic loader."""


class Unfit(Exception):
    """A program that a wheel cannot carry."""


def check(path: Path, arch: str, allow_dynamic: bool = False) -> None:
    """Raises `Unfit` unless the file is a static program for `arch`."""
    try:
        with path.open("rb") as file:
            header = file.read(64)
            if header[:6] != b"\x7fELF\x02\x01":
                raise Unfit(f"{path} is not a 64-bit ELF program")
            (machine,) = struct.unpack_from("<H", header, 18)
            (table,) = struct.unpack_from("<Q", header, 32)
            size, count = struct.unpack_from("<HH", header, 54)
            kinds: list[int] = []
            for index in range(count):
                file.seek(table + index * size)
                kinds += struct.unpack("<I", file.read(4))
    except OSError as error:
        raise Unfit(f"{path} cannot be read: {error.strerror}") from error
    except struct.error as error:
        raise Unfit(f"{path} is cut off: its ELF header is not whole") from error
    if machine != MACHINES[arch]:
        raise Unfit(f"{path} is for ELF machine {machine}, not {MACHINES[arch]}: name its architecture by --arch")
    if INTERPRETER in kinds and not allow_dynamic:
        raise Unfit(
            f"{path} asks for a dynamic loader, so it does not run everywhere: give a static program as "
            "`cargo xtask release` builds, or --allow-dynamic for a wheel of this machine only"
        )


class ProgramWheel(WheelBuilder):
    """The wheel of pyproject.toml, but for one platform."""

    platform = ""

    def get_default_build_data(self) -> dict[str, Any]:
        """What pyproject.toml leaves open: the tag."""
        return {**super().get_default_build_data(), "pure_python": False, "tag": f"py3-none-{self.platform}"}


def build(programs: Sequence[Path], arch: str, out: Path, texts: Sequence[Path], sboms: Sequence[Path]) -> Path:
    """Builds the wheel. `texts` are licenses besides that of Skein, `sboms` say what is linked into the programs."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("pyproject.toml", "README.md"):
            shutil.copyfile(SDK / name, root / name)
        shutil.copytree(SDK / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for file in [LICENSE, *texts, *sboms]:
            shutil.copyfile(file, root / file.name)
        for program in programs:
            (root / "bin").mkdir(exist_ok=True)
            shutil.copyfile(program, root / "bin" / program.name)
            (root / "bin" / program.name).chmod(0o755)
        os.environ.setdefault("SOURCE_DATE_EPOCH", str(newest()))
        plugins = PluginManager()
        config = deepcopy(ProjectMetadata(str(root), plugins).config)
        config["project"]["license-files"] = sorted(file.name for file in [LICENSE, *texts])
        config["tool"]["hatch"]["build"]["targets"]["wheel"] |= {
            "shared-scripts": {f"bin/{name}": name for name in sorted(program.name for program in programs)},
            "sbom-files": sorted(file.name for file in sboms),
        }
        builder = ProgramWheel(str(root), plugins, config)
        builder.platform = PLATFORMS[arch]
        (built,) = builder.build(directory=str(out.resolve()), versions=["standard"])
        return Path(built)


def newest() -> int:
    """The time of the newest file of the SDK, in seconds since 1970."""
    sources = [path for path in (SDK / "src").rglob("*") if path.suffix != ".pyc" and path.is_file()]
    return max(int(path.stat().st_mtime) for path in [*sources, SDK / "pyproject.toml", SDK / "README.md"])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Builds the wheel that carries the programs.")
    parser.add_argument("programs", nargs="+", type=Path, metavar="PROGRAM", help="a static program: skein, skein-sitl")
    parser.add_argument("--arch", required=True, choices=sorted(PLATFORMS), help="the machine that they are for")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="the folder for the wheel")
    parser.add_argument("--license", action="append", default=[], type=Path, metavar="FILE", help="a license besides")
    parser.add_argument("--sbom", action="append", default=[], type=Path, metavar="FILE", help="what is linked")
    parser.add_argument("--allow-dynamic", action="store_true", help="not for others to use: takes any program")
    given = parser.parse_args()
    try:
        for program in given.programs:
            check(program, given.arch, given.allow_dynamic)
    except Unfit as error:
        sys.exit(f"error: {error}")
    print(build(given.programs, given.arch, given.out, given.license, given.sbom))


if __name__ == "__main__":
    main()
