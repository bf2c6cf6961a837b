"""The programs of Skein that this package runs: where they are, and what they say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from skein import models
from skein.errors import ProgramFailed, ProgramMissing
from skein.resource import Resource

LIMIT_S = 60.0
"""A program that works on files has this long."""


def find(name: str = "skein", environment: Mapping[str, str] = os.environ) -> Path:
    """The path of `skein` or `skein-sitl`: of SKEIN_BIN or SKEIN_SITL_BIN, beside it, of the wheel, or on PATH."""
    variable = name.upper().replace("-", "_") + "_BIN"
    named = environment.get(variable)
    if named:
        if os.access(named, os.X_OK):
            return Path(named)
        raise ProgramMissing(f"{variable} is {named}, which is no program; set it to the path of `{name}`")
    beside = Path(environment.get("SKEIN_BIN", "/nonexistent")).parent / name
    if os.access(beside, os.X_OK):
        return beside
    # The wheel of a release brings the programs of its version; the folder is on PATH in an activated environment only.
    installed = Path(sysconfig.get_path("scripts")) / name
    if os.access(installed, os.X_OK):
        return installed
    found = shutil.which(name, path=environment.get("PATH"))
    if found:
        return Path(found)
    raise ProgramMissing(f"the program `{name}` is not on PATH; install Skein, or set {variable} to its path")


def run(arguments: Sequence[str], stdin: str = "") -> tuple[str, str]:
    """What `skein ARGUMENTS` prints, on standard output and standard error. Raises `ProgramFailed`."""
    try:
        done = subprocess.run(
            [str(find()), *arguments], input=stdin, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ProgramFailed(f"`skein {arguments[0]}` did not end within {LIMIT_S:.0f} s") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise ProgramFailed(f"`skein {' '.join(arguments[:2])}`: {said}", done.returncode)
    return done.stdout, done.stderr


@dataclass(frozen=True)
class PlannedFlight:
    """What one vehicle would fly."""

    start: tuple[float, float]
    """Latitude and longitude in degrees, WGS 84, where it takes off and lands."""
    time_s: float
    """From takeoff to landing, in seconds, in calm air."""
    flies_m: float
    """All of its way, to the meter."""
    work_m: float
    """What of that is work, to the meter."""


@dataclass(frozen=True)
class Preview:
    """What a Mission would come to, planned on this machine for calm air."""

    text: str
    """As `skein mission preview` prints it: lines, coverage, photos, flying time of each vehicle."""
    flights: list[PlannedFlight]
    geojson: dict[str, Any]
    """What would be flown, as a GeoJSON FeatureCollection in WGS 84."""


def planned_flights(geojson: Mapping[str, Any]) -> list[PlannedFlight]:
    """The flights of a preview; vehicles that take no part are left out."""
    features = geojson["features"]
    starts = {
        feature["properties"]["vehicle"]: feature["geometry"]["coordinates"]
        for feature in features
        if feature["properties"]["kind"] == "start"
    }
    shares = (feature["properties"] for feature in features if feature["properties"]["kind"] == "share")
    return [
        PlannedFlight(
            (starts[share["vehicle"]][1], starts[share["vehicle"]][0]),
            float(share["seconds"]),
            float(share["meters"]),
            float(share["workMeters"]),
        )
        for share in shares
    ]


def preview(mission: models.Mission, starts: Sequence[tuple[float, float]] = ()) -> Preview:
    """Plans a Mission without a server and without an aircraft.

    `starts`: where vehicles take off and land, one (latitude, longitude) in degrees each; without them they start
    where the work begins. Raises `ProgramFailed` with what is wrong with the Mission, as an API server would say it.
    """
    manifest = yaml.safe_dump(mission.to_apply())
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.geojson"
        places = [word for lat, lon in starts for word in ("--start", f"{lat},{lon}")]
        text, _ = run(["mission", "preview", "-", "--geojson", str(out), *places], manifest)
        geojson = json.loads(out.read_text())
    try:
        return Preview(text, planned_flights(geojson), geojson)
    except KeyError as error:
        why = f"`skein mission preview` writes flights without {error}; update the program and this Python package"
        raise ProgramFailed(why) from error


@dataclass(frozen=True)
class Imported:
    """What a file comes to."""

    objects: list[Resource[Any, Any]]
    """Missions, Geofences and ParameterProfiles, to be applied."""
    config_maps: list[dict[str, Any]]
    """ConfigMaps that such a Mission names (`keep_items`); apply them with the client of Kubernetes."""
    left_out: list[str]
    """What of the file has no place in them, and why, in the program's words."""


def import_file(path: Path | str, *options: str) -> Imported:
    """Makes objects of a plan, waypoints, a fence, parameters or a map: what `skein import PATH` prints.

    `options` are those of `skein import`, such as "--as", "survey". Raises `ProgramFailed` for a file that cannot be
    read or contradicts itself.
    """
    printed, said = run(["import", str(path), *options])
    imported = Imported([], [], [line for line in said.splitlines() if line.strip()])
    for body in yaml.safe_load_all(printed):
        if not body:
            continue
        model = getattr(models, str(body.get("kind")), None)
        if isinstance(model, type) and issubclass(model, Resource):
            imported.objects.append(model.from_api(body))
        else:
            imported.config_maps.append(body)
    return imported
