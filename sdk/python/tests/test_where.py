import json
from pathlib import Path

import pytest

from skein._where import Given, choose
from skein.errors import FleetUnclear


def make_station(folder: Path) -> Path:
    (folder / "operator").mkdir(parents=True)
    record = {"server": "https://127.0.0.1:1", "listen": "x", "kubeconfig": str(folder / "kubeconfig")}
    (folder / "operator/station.json").write_text(json.dumps(record))
    return folder


def test_the_station_of_this_machine_is_meant_where_nothing_else_is_named(tmp_path: Path) -> None:
    folder = make_station(tmp_path / ".local/share/skein")
    route = choose(Given(), {"HOME": str(tmp_path)})
    assert route.coordinator is not None
    assert route.coordinator.address == "127.0.0.1:1"
    assert route.program_options == ("--station", str(folder))


def test_the_kubeconfig_of_a_station_means_the_station(tmp_path: Path) -> None:
    folder = make_station(tmp_path / "s")
    named = {"SKEIN_STATION": str(folder), "KUBECONFIG": str(folder / "kubeconfig")}
    assert choose(Given(), named).coordinator is not None


def test_a_station_and_another_kubeconfig_are_refused(tmp_path: Path) -> None:
    make_station(tmp_path / ".local/share/skein")
    with pytest.raises(FleetUnclear, match="say which one"):
        choose(Given(), {"HOME": str(tmp_path), "KUBECONFIG": "/other"})
    with pytest.raises(FleetUnclear, match="leave out"):
        choose(Given(station=tmp_path, context="c"), {})


def test_a_station_that_does_not_run_says_how_to_start_it(tmp_path: Path) -> None:
    with pytest.raises(FleetUnclear, match="skein up"):
        choose(Given(station=tmp_path), {})


def test_a_cluster_is_asked_through_the_program_by_the_same_context(tmp_path: Path) -> None:
    route = choose(Given(kubeconfig=tmp_path / "k", context="c"), {"HOME": str(tmp_path)})
    assert route.coordinator is None
    assert route.program_options == ("--kubeconfig", str(tmp_path / "k"), "--context", "c")


def test_inside_a_pod_its_cluster_is_meant() -> None:
    assert choose(Given(), {"HOME": "/nonexistent", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}).in_cluster
    with pytest.raises(FleetUnclear, match="no fleet is known"):
        choose(Given(), {"HOME": "/nonexistent"})


def test_a_server_needs_what_proves_both_ends(tmp_path: Path) -> None:
    with pytest.raises(FleetUnclear, match="https"):
        choose(Given(server="http://h:1"), {"HOME": str(tmp_path)})
    with pytest.raises(FleetUnclear, match="skein enroll"):
        choose(Given(server="https://h:1"), {"HOME": str(tmp_path)})


def test_a_server_of_the_environment_is_not_that_of_another_fleet_that_is_named(tmp_path: Path) -> None:
    names = ("SKEIN_SERVER_CA", "SKEIN_CLIENT_CERT", "SKEIN_CLIENT_KEY")
    server = {"HOME": str(tmp_path), "SKEIN_SERVER": "https://x:1", **dict.fromkeys(names, "/file")}
    assert choose(Given(context="c"), server).coordinator is None
    assert choose(Given(kubeconfig=tmp_path / "k"), server).coordinator is None
    make_station(tmp_path / ".local/share/skein")
    with pytest.raises(FleetUnclear, match="SKEIN_SERVER names another one"):
        choose(Given(), server)
