"""The recipe of docs/how-to/use-an-mcp-server.md, with its commands and configurations as they are written there.

Usage: use_mcp_servers.py REPOSITORY NODE-PACKAGES, in an empty folder, with KUBECONFIG of an administrator set. Ends with an assertion
when a server cannot do what the page says of it, or when anything but a dry run is admitted.
"""

import asyncio
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

from mcp import Client, MCPError, StdioServerParameters

REFUSED = "you may plan and not command: only dry runs are admitted"
FORBIDDEN = 'is forbidden: User "system:serviceaccount:field:planner" cannot'
DRY_RUN = "mission.skein.dev/meadow created (server dry run)"
PATIENCE_S = 240
WRITERS = {"resources_create_or_update", "resources_delete", "resources_scale"}
SKEIN = {"apiVersion": "skein.dev/v1alpha1"}


def main(repository, packages):
    page = (repository / "docs/how-to/use-an-mcp-server.md").read_text()
    assert REFUSED in page and DRY_RUN in page, "the page says something else than this test"
    tested = (repository / "docs/compatibility.md").read_text()
    commands = re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S)
    configurations = [json.loads(text) for text in re.findall(r"^```json\n(.*?)^```", page, re.M | re.S)]
    pathlib.Path("examples").symlink_to(repository / "examples")
    shutil.copy("examples/mission.yaml", "mission.yaml")
    fleet()
    make_account(*commands)
    before = stored()
    reader, planner = (server(configuration, packages, tested) for configuration in configurations)
    asyncio.run(reads(reader))
    reader.args.remove("--read-only")
    asyncio.run(is_refused_what_it_offers(reader))
    asyncio.run(plans_and_is_refused_the_rest(planner))
    assert stored() == before, "something was written"
    print("all is well")


def fleet():
    run("kubectl create namespace field")
    run("kubectl create -f examples/bench.yaml")
    drone = {**SKEIN, "kind": "Drone", "metadata": {"name": "kestrel"}, "spec": {"nodeName": "n-1", "grounded": True}}
    run("kubectl create -f -", json.dumps(drone))


def make_account(account, kubeconfig, trial):
    until("the namespace's certificate", lambda: run("kubectl -n field get configmap kube-root-ca.crt"))
    run(account)
    run(kubeconfig)
    as_planner = "kubectl --kubeconfig=planner.kubeconfig"

    def in_force():
        # An Operator moves no vehicle.
        said = run(f"{as_planner} create -f examples/operator.yaml || true")
        run("kubectl delete --ignore-not-found -f examples/operator.yaml")
        assert REFUSED in said, said

    until("the policy to be in force", in_force)
    admitted, refused = trial.splitlines()
    assert DRY_RUN in run(admitted)
    said = run(f"! {refused}")
    assert REFUSED in said, said


async def reads(server):
    async with Client(server, read_timeout_seconds=PATIENCE_S) as client:
        tools = (await client.list_tools()).tools
        assert all(tool.annotations.read_only_hint for tool in tools), tools
        for kind, name in ("Swarm", "bench"), ("Drone", "kestrel"):
            assert name in await done(client, "resources_list", **SKEIN, kind=kind)
        assert "grounded: true" in await done(client, "resources_get", **SKEIN, kind="Swarm", namespace="default", name="bench")
        for kind in "Mission", "Vehicle", "GroundOrder", "Geofence", "ParameterProfile", "Operator":
            await done(client, "resources_list", **SKEIN, kind=kind)
        await refused(client, FORBIDDEN, "resources_list", apiVersion="v1", kind="Secret")
        for tool in WRITERS:
            await refused(client, "", tool, **SKEIN, kind="Swarm", name="bench", namespace="default")


async def is_refused_what_it_offers(server):
    bench = {**SKEIN, "kind": "Swarm", "name": "bench", "namespace": "default"}
    order = {**SKEIN, "kind": "GroundOrder", "metadata": {"name": "all"}, "spec": {}}
    async with Client(server, read_timeout_seconds=PATIENCE_S) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names >= WRITERS, names
        mission = pathlib.Path("mission.yaml").read_text()
        await refused(client, REFUSED, "resources_create_or_update", resource=mission)
        takeoff = pathlib.Path("examples/bench.yaml").read_text().replace("grounded: true", "grounded: false")
        await refused(client, REFUSED, "resources_create_or_update", resource=takeoff)
        await refused(client, REFUSED, "resources_scale", **bench, scale=3)
        await refused(client, REFUSED, "resources_delete", **bench)
        await refused(client, FORBIDDEN, "resources_create_or_update", resource=json.dumps(order))


async def plans_and_is_refused_the_rest(server):
    bench = {"resourceType": "swarm", "name": "bench", "namespace": "default"}
    async with Client(server, read_timeout_seconds=PATIENCE_S) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == set(server.env["ALLOWED_TOOLS"].split(",")), names
        assert "bench" in await done(client, "kubectl_get", resourceType="swarms", allNamespaces=True)
        assert "kestrel" in await done(client, "kubectl_get", resourceType="drones", allNamespaces=True)

        async def both_ways(dry, command, flags=None, **arguments):
            flags = flags or {}
            said = await done(client, "kubectl_generic", command=command, flags={**flags, "dry-run": "server"}, **arguments)
            assert dry in said, said
            await refused(client, REFUSED, "kubectl_generic", command=command, flags=flags, **arguments)

        await both_ways(DRY_RUN, "apply", {"filename": "mission.yaml"})
        await both_ways("bench patched", "patch", {"type": "merge", "patch": '{"spec":{"grounded":false}}'}, **bench)
        await both_ways("bench scaled", "scale", {"replicas": 3}, **bench)
        await both_ways('"bench" deleted', "delete", **bench)
        invalid = pathlib.Path("mission.yaml").read_text().replace("parallelism: 2", "parallelism: -1")
        pathlib.Path("invalid.yaml").write_text(invalid)
        flags = {"filename": "invalid.yaml", "dry-run": "server"}
        await refused(client, "spec.parallelism", "kubectl_generic", command="apply", flags=flags)
        await refused(client, FORBIDDEN, "kubectl_get", resourceType="secrets", namespace="field")


async def done(client, tool, **arguments):
    failed, said = await call(client, tool, arguments)
    assert not failed, f"{tool} {arguments}: {said}"
    return said


async def refused(client, reason, tool, **arguments):
    failed, said = await call(client, tool, arguments)
    assert failed and reason in said, f"{tool} {arguments}: {said}"


async def call(client, tool, arguments):
    """Whether the tool failed, and its text: some servers answer with a result that is an error, some with an error."""
    try:
        answer = await client.call_tool(tool, arguments)
    except MCPError as error:
        return True, str(error)
    return answer.is_error, "".join(part.text for part in answer.content)


def server(configuration, packages, tested):
    """The server of a configuration, from the installed package instead of the registry."""
    skein = configuration["mcpServers"]["skein"]
    (yes, package), args = skein["args"][:2], skein["args"][2:]
    assert (skein["command"], yes) == ("npx", "-y"), skein
    name, version = package.split("@")
    installed = json.loads((packages / name / "package.json").read_text())["version"]
    assert installed == version, f"the page names {package}, and {installed} is installed"
    assert f"{name} {version}" in tested, f"docs/compatibility.md lacks {name} {version}"
    return StdioServerParameters(command=str(packages / ".bin" / name), args=args, env=skein.get("env", {}))


def stored():
    kinds = "swarms,drones,missions,vehicles,groundorders,geofences,parameterprofiles,operators"
    items = json.loads(run(f"kubectl get {kinds} -A -o json"))["items"]
    # Other tests write in namespaces of their own.
    return [item for item in items if item["metadata"].get("namespace") in {None, "default", "field"}]


def run(commands, typed=None):
    ran = subprocess.run(["bash", "-ec", commands], input=typed, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert ran.returncode == 0, f"{commands}\n{ran.stdout}"
    return ran.stdout


def until(what, check):
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return check()
        except AssertionError as error:
            assert time.monotonic() < end, f"waited for {what}: {error}"
        time.sleep(0.2)


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / "node_modules")
