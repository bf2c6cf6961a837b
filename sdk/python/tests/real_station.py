"""`skein up` on a real Kubernetes API: the control plane, the coordinator and the agents as processes of their own.

    real_station.py PROGRAMS up --data-dir DIR --node NAME=LINK...

It takes the options of `skein up` that a simulated fleet has, and leaves the same files in DIR, so that a test cannot
tell which one it has; all other commands are for `skein` of the folder PROGRAMS. Coordinator and agents are who they
are in a cluster: ServiceAccounts, with the rights of `deploy/rbac.yaml`. Everything ends with this process.

The binaries of the control plane are those in KUBEBUILDER_ASSETS, else those that `cargo xtask test --only cluster` has
put into the cache.
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SYSTEM = "skein-system"
PATIENCE_S = 120.0
"""What may take long on a busy machine has so many seconds."""
USERS = {"admin": "system:masters", "system:kube-controller-manager": ""}
"""Who is known by a token from the start, and the groups."""


def assets(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of the control plane's binaries; None when they are not there."""
    cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "skein"
    cache = Path(environment.get("SKEIN_CACHE") or cache)
    named = environment.get("KUBEBUILDER_ASSETS")
    folders = [Path(named)] if named else sorted((cache / "control-plane").glob("v*/"), key=lambda path: path.name)
    return next((folder for folder in reversed(folders) if (folder / "kube-apiserver").exists()), None)


class Station:
    """The processes and the files of one."""

    def __init__(self, programs: Path, binaries: Path, folder: Path) -> None:
        self.programs = programs
        self.binaries = binaries
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        for part in ("operator", "logs", "pki", "agents"):
            (folder / part).mkdir(parents=True, exist_ok=True)

    def start(self, path: Path, *words: str, name: str = "", **environment: str) -> None:
        """Starts a process that ends with this one; its log is a file of its own unless it is one of Skein."""
        own_log = (self.folder / "logs" / path.name).open("wb") if path.parent == self.binaries else None
        self.processes[name or path.name] = subprocess.Popen(
            [path, *words],
            stdin=subprocess.DEVNULL,
            stdout=own_log,
            stderr=own_log,
            env={**os.environ, **environment},
            preexec_fn=die_with_parent,
        )

    def kubectl(self, *words: str, stdin: str = "") -> str:
        """What kubectl prints for the administrator."""
        command: list[str | Path] = [
            self.binaries / "kubectl",
            "--kubeconfig",
            self.kubeconfig,
            "--request-timeout=10s",
            *words,
        ]
        home = {**os.environ, "HOME": str(self.folder)}
        return subprocess.run(command, input=stdin, check=True, capture_output=True, text=True, env=home).stdout

    def until(self, what: str, done: Callable[[], Any]) -> None:
        """Asks again until it is done without an error."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                if done():
                    return
                why = ""
            except subprocess.CalledProcessError as error:
                why = error.stderr
            ended = [name for name, process in self.processes.items() if process.poll() is not None]
            if ended or time.monotonic() > end:
                sys.exit(f"{what} is not there; ended: {ended}; {why}")
            time.sleep(0.05)

    def write_kubeconfig(self, path: Path, server: str, token: str) -> Path:
        """A kubeconfig for who shows this token."""
        authority = base64.b64encode((self.folder / "pki/apiserver.crt").read_bytes()).decode()
        cluster = {"server": server, "certificate-authority-data": authority}
        context = {"cluster": "real", "user": "user", "namespace": "default"}
        config = {
            **{"apiVersion": "v1", "kind": "Config", "current-context": "real"},
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "real", "context": context}],
        }
        path.write_text(json.dumps(config))
        return path

    def start_control_plane(self) -> str:
        """Starts it with the CRDs, and the rights of Skein's own programs. Returns its URL."""
        etcd, peer, port = free_ports(3)
        tokens = {user: secrets.token_hex(16) for user in USERS}
        lines = [f'{token},{user},{user},"{USERS[user]}"\n' for user, token in tokens.items()]
        (self.folder / "tokens.csv").write_text("".join(lines))
        key = self.folder / "service-accounts.pem"
        key.write_text(signing_key())
        etcd_url, peer_url = (f"http://127.0.0.1:{port}" for port in (etcd, peer))
        self.start(
            self.binaries / "etcd",
            *(f"--data-dir={self.folder / 'etcd'}", "--unsafe-no-fsync"),
            *(f"--listen-client-urls={etcd_url}", f"--advertise-client-urls={etcd_url}"),
            *(f"--listen-peer-urls={peer_url}", f"--initial-advertise-peer-urls={peer_url}"),
            f"--initial-cluster=default={peer_url}",
        )
        self.start(
            self.binaries / "kube-apiserver",
            *(f"--etcd-servers={etcd_url}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"),
            *(f"--secure-port={port}", f"--cert-dir={self.folder / 'pki'}", "--endpoint-reconciler-type=none"),
            *("--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=RBAC"),
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            *(f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}"),
        )
        # Its key is written after its certificate.
        self.until("the certificate of the API server", (self.folder / "pki/apiserver.key").exists)
        server = f"https://127.0.0.1:{port}"
        controllers = self.write_kubeconfig(
            self.folder / "controllers.kubeconfig", server, tokens["system:kube-controller-manager"]
        )
        self.write_kubeconfig(self.kubeconfig, server, tokens["admin"])
        self.until("the API server", lambda: self.kubectl("get", "--raw", "/readyz"))
        files = ("crds", "deploy/namespace.yaml", "deploy/rbac.yaml")
        self.kubectl("apply", *(word for file in files for word in ("-f", str(ROOT / file))))
        self.kubectl("wait", "--for=condition=Established", "crd", "--all")
        # The one that watches kubelets would find none.
        self.start(
            self.binaries / "kube-controller-manager",
            *(f"--kubeconfig={controllers}", "--leader-elect=false", "--secure-port=0"),
            *("--use-service-account-credentials", "--controllers=*,-node-lifecycle-controller,-ttl-controller"),
        )
        return server

    def add_node(self, name: str) -> None:
        """Makes a drone node, as its kubelet would."""
        labels = {"node-role.kubernetes.io/drone": "", "kubernetes.io/hostname": name}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(node))
        ready = {"type": "Ready", "status": "True", "reason": "Test", "message": "set by the test"}
        for change, more in (
            ({"status": {"conditions": [ready]}}, ["--subresource=status"]),
            ({"spec": {"taints": None}}, []),
        ):
            self.kubectl("patch", "node", name, "--type=merge", "-p", json.dumps(change), *more)

    def start_coordinator(self, server: str) -> str:
        """Starts it as its ServiceAccount, and enrolls an operator. Returns its URL."""
        token = self.kubectl("create", "token", "skein-coordinator", "-n", SYSTEM, "--duration=24h").strip()
        kubeconfig = self.write_kubeconfig(self.folder / "coordinator.kubeconfig", server, token)
        listening = self.folder / "coordinator.address"
        self.start(
            self.programs / "skein-coordinator",
            *("--listen", "127.0.0.1:0", "--listen-file", str(listening), "--namespace", SYSTEM),
            KUBECONFIG=str(kubeconfig),
        )
        published = ("get", "configmap", "skein-ca", "-n", SYSTEM, "-o", "jsonpath={.data.ca\\.crt}")
        self.until(
            "the coordinator", lambda: listening.exists() and listening.read_text().strip() and self.kubectl(*published)
        )
        (self.folder / "ca.crt").write_text(self.kubectl(*published))
        return self.enroll_operator(f"https://{listening.read_text().strip()}")

    def enroll_operator(self, coordinator: str) -> str:
        """Makes the certificate of the tests, and waits until it counts."""
        skein, keys = self.programs / "skein", self.folder / "operator"
        enroll = ("enroll", "--operator", "tests", "--out", str(keys), "--kubeconfig", str(self.kubeconfig))
        subprocess.run([skein, *enroll], check=True, stdout=subprocess.DEVNULL)
        shown = ("--client-cert", str(keys / "operator.crt"), "--client-key", str(keys / "operator.key"))
        ask: list[str | Path] = [skein, "--server", coordinator, "--server-ca", str(keys / "ca.crt"), *shown, "status"]
        self.until("the certificate", lambda: subprocess.run(ask, check=True, capture_output=True, text=True))
        return coordinator

    def start_agent(self, node: str, link: str, coordinator: str) -> None:
        """Starts the agent of a node with the token that its Pod would have."""
        bound = ("--bound-object-kind", "Node", "--bound-object-name", node)
        asked = ("create", "token", "skein-agent", "-n", SYSTEM, "--audience", "skein-coordinator", "--duration=24h")
        token = self.folder / "agents" / f"{node}.token"
        token.write_text(self.kubectl(*asked, *bound))
        self.start(
            self.programs / "skein-agent",
            *("--state-dir", str(self.folder / "agents" / node)),
            name=f"agent of {node}",
            NODE=node,
            SKEIN_LINK=link,
            SKEIN_COORDINATOR=coordinator,
            SKEIN_COORDINATOR_CA=str(self.folder / "ca.crt"),
            SKEIN_TOKEN_FILE=str(token),
        )


def die_with_parent() -> None:
    """The process is killed when the one that started it ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


def signing_key() -> str:
    """A new private key on P-256 for the tokens of ServiceAccounts, as RFC 5915 has it, without its public half."""
    scalar = bytearray(secrets.token_bytes(32))
    # From 1 to the order of the curve, which begins with 0xff.
    scalar[0] &= 0x7F
    scalar[31] |= 1
    head, curve = bytes.fromhex("30310201010420"), bytes.fromhex("a00a06082a8648ce3d030107")
    text = base64.b64encode(head + bytes(scalar) + curve).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{text[:64]}\n{text[64:]}\n-----END EC PRIVATE KEY-----\n"


def main() -> None:
    """The command line."""
    programs, words = Path(sys.argv[1]), sys.argv[2:]
    if words[:1] != ["up"]:
        os.execv(programs / "skein", [str(programs / "skein"), *words])
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--node", action="append", default=[])
    given, _ = parser.parse_known_args(words[1:])
    binaries = assets()
    if binaries is None:
        sys.exit("no control plane: set KUBEBUILDER_ASSETS, or run `cargo xtask test --only cluster`")
    station = Station(programs, binaries, given.data_dir)
    server = station.start_control_plane()
    nodes = dict(node.split("=", 1) for node in given.node)
    for name in nodes:
        station.add_node(name)
    coordinator = station.start_coordinator(server)
    for name, link in nodes.items():
        station.start_agent(name, link, coordinator)
    # Last, and whole at once: who finds it begins.
    record = station.folder / "operator/station.json"
    record.with_suffix(".new").write_text(json.dumps({"server": coordinator, "kubeconfig": str(station.kubeconfig)}))
    record.with_suffix(".new").rename(record)
    os.wait()
    sys.exit("a process of the station has ended")


if __name__ == "__main__":
    main()
