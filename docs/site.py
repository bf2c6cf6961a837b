#!/usr/bin/env python3
"""Builds the site of the documents into target/site/VERSION, and checks llms.txt.

    python3 docs/site.py

target/site as a whole is what a web server serves: it leads to the newest version that has a folder there, and each page lets its reader
choose another one. So put the folders of earlier versions there first, where they should stay.

Fails on a link or an anchor that leads nowhere, on a page that the navigation leaves out, and on a page of docs/ that llms.txt does not
name. It needs Python 3.11 with `venv`; the packages of docs/requirements.txt are installed once, into target/site-venv.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "target"
SITE = TARGET / "site"
SOURCE = TARGET / "site-source"
REQUIREMENTS = ROOT / "docs/requirements.txt"

LINK = re.compile(r"\]\(([^)\s]+)\)")
# A line of llms.txt that names a page, as https://llmstxt.org has it: the address, and a sentence.
ENTRY = re.compile(r"- \[[^\]]+\]\(([^)\s]+)\): \S.*\.")


def pages() -> list[Path]:
    """The Markdown files of the repository, from its root."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [Path(line) for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def linked_files(page: Path) -> set[Path]:
    """The files that a page links to, from the root. What is not there is left to MkDocs, which names it."""
    targets = {link.split("#")[0] for link in LINK.findall((ROOT / page).read_text()) if "://" not in link}
    paths = {Path(os.path.normpath(page.parent / target)) for target in targets if target}
    return {path for path in paths if (ROOT / path).is_file()}


def stage() -> None:
    """Copies the pages and what they link to into SOURCE, where they have the same places as here, so the same links."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    found = pages()
    for path in {Path("llms.txt"), *found}.union(*map(linked_files, found)):
        (SOURCE / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, SOURCE / path)


def faults_of_llms_txt() -> list[str]:
    text = (ROOT / "llms.txt").read_text()
    lines = text.splitlines()
    faults = []
    if not (lines[0].startswith("# ") and any(line.startswith("> ") for line in lines[1:4])):
        faults.append("it does not begin with a title and a summary in a quotation")
    entries = [line for line in lines if line.startswith("- ")]
    faults += [f"this line is not `- [name](path): a sentence.`: {line}" for line in entries if not ENTRY.fullmatch(line)]
    named = {match[1] for match in map(ENTRY.fullmatch, entries) if match}
    faults += [f"{path} does not exist" for path in sorted(named) if not (ROOT / path).is_file()]
    wanted = {str(page) for page in pages() if page.parts[0] == "docs"}
    faults += [f"{path} is not named" for path in sorted(wanted - named)]
    return faults


def python_with_packages() -> Path:
    """The Python of the virtual environment, which is made again when the list of packages has changed."""
    folder = TARGET / "site-venv"
    python, marker = folder / "bin/python", folder / "made-from.txt"
    wanted = REQUIREMENTS.read_text()
    if not (marker.is_file() and marker.read_text() == wanted):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = [python, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--requirement", REQUIREMENTS]
        subprocess.run(install, check=True)
        marker.write_text(wanted)
    return python


def order_of(version: str) -> tuple[list[int], bool, str]:
    """By numbers; what comes before a release (1.0.0-rc.1) is older than it."""
    numbers, _, before = version.partition("-")
    return [int(number) for number in numbers.split(".")], not before, before


def list_versions() -> list[str]:
    """Writes which versions are there, as the theme's list of them reads it, and the page that leads to the newest. The newest is first."""
    folders = [index.parent.name for index in SITE.glob("*/index.html") if re.fullmatch(r"\d+\.\d+\.\d+(-.+)?", index.parent.name)]
    versions = sorted(folders, key=order_of, reverse=True)
    entries = [{"version": version, "title": version, "aliases": []} for version in versions]
    (SITE / "versions.json").write_text(json.dumps(entries))
    newest = f'<!doctype html><meta http-equiv="refresh" content="0; url={versions[0]}/"><a href="{versions[0]}/">Skein {versions[0]}</a>\n'
    (SITE / "index.html").write_text(newest)
    return versions


def main() -> int:
    faults = faults_of_llms_txt()
    for fault in faults:
        print(f"llms.txt: {fault}", file=sys.stderr)
    stage()
    version = re.search(r'^version = "([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    # The second switches an advertisement of the theme off.
    environment = os.environ | {"SKEIN_SITE_NAME": f"Skein {version}", "NO_MKDOCS_2_WARNING": "1"}
    command = [python_with_packages(), "-m", "mkdocs", "build", "--strict", "--config-file", ROOT / "docs/mkdocs.yml"]
    command += ["--site-dir", SITE / version]
    built = subprocess.run(command, env=environment, check=False).returncode == 0
    if built and not faults:
        print(f"the site of Skein {version}: {SITE / 'index.html'}; versions: {', '.join(list_versions())}")
    return 0 if built and not faults else 1


if __name__ == "__main__":
    sys.exit(main())
