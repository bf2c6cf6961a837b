"""The notebook with the map, executed as it stands there on a simulated fleet."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent / "examples" / "survey.ipynb"


def test_the_notebook_flies_a_survey_and_shows_plan_and_tracks_on_maps(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "the notebook is kept without outputs"
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    maps = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    said = "".join(output.get("text", "") for output in outputs)
    planned, flown = maps
    assert planned.count("LineString") > 1
    assert [f"flown by {node}" in flown for node in "ab"] == [True, True]
    assert "VEHICLE   START" in said
    assert list(tmp_path.iterdir()) == []
