"""Generates what this package takes from Skein's own sources.

    python tools/generate.py            writes the files
    python tools/generate.py --check    fails when a committed file differs from its source

* `models.py` from `crds/*.yaml`: a small generator of our own, as datamodel-code-generator gives classes of equal
  schemas in different resources different numbered names, and drops the ranges of validation rules.
* `_advice.py` from `docs/reference/conditions.md`: what each reason means and what to do.

`cargo xtask generate` runs it, and writes `fleet.descriptors`: gRPC messages are built from it at import, so no
generated code ties the package to one release of protobuf.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.alias_generators import to_camel, to_snake

PACKAGE = Path(__file__).parents[1] / "src" / "skein"
ROOT = Path(__file__).parents[3]

Schema = dict[str, Any]

# Names of classes where the field's own does not say what it is.
NAMES = {
    "polygon": "Place",
    "center": "Place",
    "eu": "EuropeanClass",
    "exclude": "Exclusion",
    "from": "PartStart",
    "location": "OperatorLocation",
    "metadata": "Metadata",
    "points": "Station",
    "refused": "RefusedVehicle",
    "values": "RuleValue",
    "actions": "WaypointAction",
    "anchor": "Station",
}
KIND_PREFIXED = {"spec", "status", "metadata", "template"}
RANGE = re.compile(r"^self (>=|>) (-?[\d.]+)(?: && self (<=|<) (-?[\d.]+))?$")


class Models:
    """All classes, in the order in which they are written."""

    def __init__(self, kinds: set[str]) -> None:
        self.kinds = kinds
        self.classes: dict[str, str] = {}
        self.by_schema: dict[str, str] = {}
        self.wanted: dict[str, set[str]] = {}

    def collect(self, schema: Schema, kind: str, path: list[str]) -> None:
        """Notes which short names are wanted by which schemas, so that a name with two meanings gets a prefix."""
        if schema.get("type") == "array":
            self.collect(schema["items"], kind, [*path[:-1], path[-1] + "[]"])
        elif "properties" in schema:
            if path and path[-1] != "conditions[]":
                self.wanted.setdefault(short(path), set()).add(key(schema))
            for name, child in schema["properties"].items():
                self.collect(child, kind, [*path, name])

    def type_of(self, schema: Schema, kind: str, path: list[str]) -> str:
        """The Python type, its class written when it needs one."""
        match schema.get("type"):
            case "string" if "enum" in schema:
                values = [value for value in schema["enum"] if value is not None]
                return f"Literal[{', '.join(json.dumps(value) for value in values)}]"
            case "string":
                return "datetime" if schema.get("format") == "date-time" else "str"
            case "integer":
                return "int"
            case "number":
                return "float"
            case "boolean":
                return "bool"
            case "array":
                return f"list[{self.type_of(schema['items'], kind, [*path[:-1], path[-1] + '[]'])}]"
            case "object" if "properties" in schema:
                return self.class_of(schema, kind, path)
            case "object" if isinstance(schema.get("additionalProperties"), dict):
                return f"dict[str, {self.type_of(schema['additionalProperties'], kind, path)}]"
        raise SystemExit(f"{kind}.{'.'.join(path)}: no Python type is known for {schema}; teach it to this generator")

    def class_of(self, schema: Schema, kind: str, path: list[str]) -> str:
        """The class of an object, shared by all that have the same schema."""
        if path[-1] == "conditions[]":
            return "Condition"
        same = key(schema)
        if path == ["spec"] or path == ["status"]:
            name = kind + path[0].capitalize()
        elif same in self.by_schema:
            return self.by_schema[same]
        else:
            name = short(path)
            if len(self.wanted[name]) > 1 or path[-1] in KIND_PREFIXED or name in self.kinds:
                name = kind + name
            if name in self.classes:
                name = kind + "".join(part[:1].upper() + part[1:] for part in path[1:]).replace("[]", "")
            if name in self.classes:
                raise SystemExit(f"{kind}.{'.'.join(path)}: two classes would be named {name}; add one to NAMES")
            self.by_schema[same] = name
        base = "Status" if path == ["status"] else "Model"
        lines = [f"class {name}({base}):", *doc(schema.get("description", name), 4)]
        required = set(schema.get("required", []))
        fields = sorted(schema["properties"].items(), key=lambda field: field[0] not in required)
        for field, child in fields:
            if path == ["status"] and field in ("conditions", "observedGeneration"):
                continue
            lines += ["", *self.field(field, child, field in required, kind, [*path, field])]
        self.classes[name] = "\n".join(lines)
        return name

    def field(self, name: str, schema: Schema, required: bool, kind: str, path: list[str]) -> Iterator[str]:
        """One field: its type, its range, and its meaning as a docstring."""
        python = to_snake(name)
        alias = ""
        if keyword.iskeyword(python) or hasattr(BaseModel, python):
            python, alias = f"{python}_", name
        elif to_camel(python) != name:
            alias = name
        type_ = self.type_of(schema, kind, path)
        limits = ", ".join(f"{word}={number}" for word, number in bounds(schema)) if path[0] == "spec" else ""
        if limits:
            type_ = f"Annotated[{type_}, Field({limits})]"
        if schema.get("nullable") or (not required and "default" not in schema):
            type_ += " | None"
        default = ""
        if "default" in schema and (required is False or schema["default"] is not None):
            value = schema["default"]
            default = f" = {value!r}" if not isinstance(value, dict | list) else f" = Field(default_factory={type_})"
            if isinstance(value, list):
                default = " = Field(default_factory=list)"
        elif not required:
            default = " = None"
        if alias:
            default = f' = Field({"default=None, " if not required else ""}alias="{alias}")'
        yield f"    {python}: {type_}{default}"
        if schema.get("description"):
            yield from doc(schema["description"], 4)

    def resource(self, crd: Schema) -> None:
        """The class of one kind."""
        names, version = crd["spec"]["names"], crd["spec"]["versions"][0]
        schema = version["schema"]["openAPIV3Schema"]
        kind = names["kind"]
        for part in ("spec", "status"):
            self.class_of(schema["properties"][part], kind, [part])
        lines = [
            f"class {kind}(Resource[{kind}Spec, {kind}Status]):",
            *doc(schema["description"], 4),
            "",
            f'    KIND: ClassVar[str] = "{kind}"',
            f'    PLURAL: ClassVar[str] = "{names["plural"]}"',
            f"    NAMESPACED: ClassVar[bool] = {crd['spec']['scope'] == 'Namespaced'}",
            "",
            f'    kind: str = "{kind}"',
        ]
        self.classes[kind] = "\n".join(lines)


def short(path: list[str]) -> str:
    """The short name of the class of a field; the items of a list are one each."""
    last = path[-1].removesuffix("[]")
    name = NAMES.get(last) or last[:1].upper() + last[1:]
    if last in KIND_PREFIXED and len(path) > 1:
        return ("" if path[-2] == "spec" else path[-2][:1].upper() + path[-2][1:]) + name
    plural = path[-1].endswith("[]") and last not in NAMES and name.endswith("s")
    return name[:-1] if plural else name


def key(schema: Schema) -> str:
    """The same for schemas that come to the same class, whatever their descriptions and rules say."""
    return json.dumps({**shape(schema), "nullable": None, "default": None}, sort_keys=True)


def shape(schema: Schema) -> Schema:
    """What of a schema the class has."""
    kept: Schema = {
        name: schema[name] for name in ("type", "format", "enum", "required", "nullable", "default") if name in schema
    }
    kept["bounds"] = sorted(bounds(schema))
    kept["properties"] = {name: shape(child) for name, child in schema.get("properties", {}).items()}
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            kept[part] = shape(schema[part])
    return kept


def bounds(schema: Schema) -> Iterator[tuple[str, str]]:
    """Limits of a number, from the schema and from rules such as `self >= 5 && self <= 80`."""
    if "minimum" in schema:
        yield "ge", str(int(schema["minimum"]))
    if "maximum" in schema:
        yield "le", str(int(schema["maximum"]))
    words = {">=": "ge", ">": "gt", "<=": "le", "<": "lt"}
    for rule in schema.get("x-kubernetes-validations", []):
        if schema.get("type") in ("integer", "number") and (found := RANGE.match(rule["rule"])):
            low, least, high, most = found.groups()
            number = int if schema["type"] == "integer" else float
            yield words[low], f"{number(least):g}"
            if high:
                yield words[high], f"{number(most):g}"


def doc(text: str, indent: int) -> list[str]:
    """A docstring."""
    text = " ".join(text.split()).replace("\\", "\\\\").replace('"""', "'''")
    pad = " " * indent
    lines = textwrap.wrap(text, 112)
    if len(lines) == 1 and not text.endswith('"'):
        return [f'{pad}"""{text}"""']
    return [f'{pad}"""{lines[0]}', *(pad + line for line in lines[1:]), f'{pad}"""']


def models() -> str:
    """`models.py`."""
    crds = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "crds").glob("*.yaml"))]
    written = Models({crd["spec"]["names"]["kind"] for crd in crds})
    for crd in crds:
        if len(crd["spec"]["versions"]) != 1:
            raise SystemExit(f"{crd['metadata']['name']} has several versions; teach this generator which one to take")
        for part, schema in crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].items():
            written.collect(schema, crd["spec"]["names"]["kind"], [part])
    for crd in crds:
        written.resource(crd)
    head = (
        '"""Every resource of Skein. Generated from `crds/*.yaml` by `tools/generate.py`; do not edit."""\n\n'
        "from __future__ import annotations\n\n"
        "from datetime import datetime\n"
        "from typing import Annotated, ClassVar, Literal\n\n"
        "from pydantic import Field\n\n"
        "from skein.resource import Condition, Model, Resource, Status\n"
    )
    exported = sorted([*written.classes, "Condition"])
    names = "\n".join(f'    "{name}",' for name in exported)
    rebuild = "\n".join(f"{crd['spec']['names']['kind']}.model_rebuild()" for crd in crds)
    return "\n\n\n".join([head.rstrip(), *written.classes.values(), f"__all__ = [\n{names}\n]", rebuild]) + "\n"


HEADINGS = {
    "Reasons of Ready": "Drone",
    "Reasons of a Swarm's Ready": "Swarm",
    "Conditions of a Vehicle": "Vehicle",
    "Conditions of a Mission": "Mission",
    "Conditions of a Geofence or a ParameterProfile": "Geofence ParameterProfile",
    "Conditions of an Operator": "Operator",
    "Remote ID": "Vehicle Operator",
}


def advice() -> str:
    """`_advice.py`."""
    table: dict[str, dict[str, tuple[str, str]]] = {}
    kinds: list[str] = []
    for line in (ROOT / "docs/reference/conditions.md").read_text().splitlines():
        if line.startswith("## "):
            kinds = HEADINGS.get(line[3:].strip(), "").split()
        cells = [plain(cell) for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        reasons = re.findall(r"`([A-Z][A-Za-z0-9]+)`", line.split("|")[1]) if cells else []
        for kind in kinds:
            for reason in reasons:
                means, do = cells[1], cells[2] if len(cells) > 2 else ""
                table.setdefault(kind, {}).setdefault(reason, (means, do))
    lines = [
        '"""What each reason means and what to do. Generated from `docs/reference/conditions.md` by',
        "`tools/generate.py`; do not edit.",
        '"""',
        "",
        "ADVICE: dict[str, dict[str, tuple[str, str]]] = {",
    ]
    for kind in sorted(table):
        lines.append(f'    "{kind}": {{')
        for reason in sorted(table[kind]):
            means, do = table[kind][reason]
            lines.append(f"        {json.dumps(reason)}: ({json.dumps(means)}, {json.dumps(do)}),")
        lines.append("    },")
    return "\n".join([*lines, "}"]) + "\n"


def plain(cell: str) -> str:
    """A cell of a table without links."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell).strip()


def formatted(name: str, text: str) -> bytes:
    """As `ruff format` writes it."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(PACKAGE / name), "-"]
    return subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Generates models and advice of this package.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a committed file differs")
    check = parser.parse_args().check
    made = {
        "models.py": formatted("models.py", models()),
        "_advice.py": formatted("_advice.py", advice()),
    }
    stale = [name for name, text in made.items() if not same(PACKAGE / name, text)]
    if check and stale:
        raise SystemExit(f"not as their sources say: {', '.join(stale)}; run `python tools/generate.py` and commit")
    for name in stale:
        (PACKAGE / name).write_bytes(made[name])


def same(path: Path, text: bytes) -> bool:
    """Whether the file has this content."""
    return path.exists() and path.read_bytes() == text


if __name__ == "__main__":
    main()
