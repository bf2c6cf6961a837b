"""A user's program with the Kubernetes client for Python: Swarms, Drones, nodes, Leases and Events.

Usage: fleet.py NAMESPACE, with KUBECONFIG set. Ends with an assertion when an answer is not what a cluster's would be.
"""

import datetime
import json
import sys

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

GROUP, VERSION = "skein.dev", "v1alpha1"


def main(namespace):
    config.load_kube_config()
    core = client.CoreV1Api()
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=namespace)))
    swarms(Custom(namespace, "swarms"))
    drones(Custom(namespace, "drones"))
    watches(Custom(namespace, "swarms"))
    nodes(core, namespace)
    leases(client.CoordinationV1Api(), namespace)
    events(core, client.EventsV1Api(), namespace)
    found = [resource.name for resource in client.CustomObjectsApi().get_api_resources(GROUP, VERSION).resources]
    assert {"swarms", "drones", "swarms/scale", "drones/status"} <= set(found), found
    core.delete_namespace(namespace)
    print("all is well")


class Custom:
    """The calls for one kind in one namespace."""

    def __init__(self, namespace, plural):
        self.api = client.CustomObjectsApi()
        self.place = (GROUP, VERSION, namespace, plural)
        self.kind = {"swarms": "Swarm", "drones": "Drone"}[plural]

    def object(self, name, spec, **metadata):
        metadata["name"] = name
        return {"apiVersion": f"{GROUP}/{VERSION}", "kind": self.kind, "metadata": metadata, "spec": spec}

    def create(self, name, spec, **metadata):
        return self.api.create_namespaced_custom_object(*self.place, self.object(name, spec, **metadata))

    def get(self, name):
        return self.api.get_namespaced_custom_object(*self.place, name)

    def list(self, **options):
        return self.api.list_namespaced_custom_object(*self.place, **options)

    def patch(self, name, patch, **options):
        return self.api.patch_namespaced_custom_object(*self.place, name, patch, **options)

    def patch_status(self, name, patch):
        return self.api.patch_namespaced_custom_object_status(*self.place, name, patch)

    def replace(self, name, body):
        return self.api.replace_namespaced_custom_object(*self.place, name, body)

    def delete(self, name, **options):
        return self.api.delete_namespaced_custom_object(*self.place, name, **options)


def swarms(api):
    made = api.create("alpha", {"replicas": 2}, labels={"field": "north"})
    assert made["metadata"]["generation"] == 1, made
    assert made["spec"]["template"]["spec"]["takeoffAltitudeMeters"] == 10, made

    # Three ways to patch: a merge patch, a JSON patch, and an apply.
    assert api.patch("alpha", {"spec": {"replicas": 3}})["spec"]["replicas"] == 3
    changed = api.patch("alpha", [{"op": "replace", "path": "/spec/replicas", "value": 4}],
                        _content_type="application/json-patch+json")
    assert (changed["spec"]["replicas"], changed["metadata"]["generation"]) == (4, 3), changed
    refused(409, "Conflict", apply, api, "alpha", {"replicas": 5}, False)
    assert apply(api, "alpha", {"replicas": 5}, True)["spec"]["replicas"] == 5

    stale = api.get("alpha")
    stale["spec"]["replicas"] = 6
    assert api.replace("alpha", stale)["spec"]["replicas"] == 6
    status = refused(409, "Conflict", api.replace, "alpha", stale)
    assert "the object has been modified" in status["message"], status

    scale = api.api.get_namespaced_custom_object_scale(*api.place, "alpha")
    assert (scale["kind"], scale["spec"]["replicas"]) == ("Scale", 6), scale
    scale["spec"]["replicas"] = 7
    api.api.replace_namespaced_custom_object_scale(*api.place, "alpha", scale)
    api.api.patch_namespaced_custom_object_scale(*api.place, "alpha", {"spec": {"replicas": 8}})
    assert api.get("alpha")["spec"]["replicas"] == 8

    status = refused(422, "Invalid", api.create, "bad", {"replicas": 10001})
    assert status["details"]["causes"][0]["field"] == "spec.replicas", status
    assert refused(409, "AlreadyExists", api.create, "alpha", {})["details"]["name"] == "alpha"
    api.delete("alpha")
    assert refused(404, "NotFound", api.get, "alpha")["message"] == 'swarms.skein.dev "alpha" not found'


def apply(api, name, spec, force):
    return api.api.patch_namespaced_custom_object(
        *api.place, name, api.object(name, spec), field_manager="fleet", force=force,
        _content_type="application/apply-patch+yaml")


def drones(api):
    for number in range(5):
        api.create(f"d{number}", {"nodeName": f"n-{number % 2}"}, labels={"odd": str(number % 2)})
    names = lambda answer: [item["metadata"]["name"] for item in answer["items"]]
    assert names(api.list()) == ["d0", "d1", "d2", "d3", "d4"]
    assert names(api.list(label_selector="odd=1")) == ["d1", "d3"]
    assert names(api.list(field_selector="spec.nodeName=n-0")) == ["d0", "d2", "d4"]
    page, seen = api.list(limit=2), []
    while True:
        seen += names(page)
        token = page["metadata"].get("continue")
        if not token:
            break
        page = api.list(limit=2, _continue=token)
    assert seen == ["d0", "d1", "d2", "d3", "d4"], seen

    kept = api.patch_status("d0", {"status": {"phase": "Flying", "flying": True}})
    assert (kept["status"]["phase"], kept["metadata"]["generation"]) == ("Flying", 1), kept
    status = refused(422, "Invalid", api.patch, "d0", {"spec": {"nodeName": "elsewhere"}})
    assert "never changes" in status["message"], status
    api.create("dry", {}, annotations={"note": "x"}) and api.delete("dry", dry_run="All")
    assert api.get("dry")["metadata"]["annotations"] == {"note": "x"}
    api.api.delete_collection_namespaced_custom_object(*api.place, label_selector="odd")
    assert names(api.list()) == ["dry"]

    # A finalizer keeps it until it is taken off.
    api.patch("dry", {"metadata": {"finalizers": ["skein.dev/landed"]}})
    api.delete("dry", propagation_policy="Background")
    assert api.get("dry")["metadata"]["deletionTimestamp"]
    api.patch("dry", {"metadata": {"finalizers": None}})
    refused(404, "NotFound", api.get, "dry")


def watches(api):
    """What happened while nobody watched is sent when the watch goes on from where it was left."""
    start = api.list()["metadata"]["resourceVersion"]
    api.create("one", {})
    first = follow(api, start, 1)
    assert [(kind, name) for kind, name, _ in first] == [("ADDED", "one")], first
    api.patch("one", {"spec": {"replicas": 2}})
    api.create("two", {})
    api.delete("one")
    rest = follow(api, first[-1][2], 3)
    assert [(kind, name) for kind, name, _ in rest] == [("MODIFIED", "one"), ("ADDED", "two"), ("DELETED", "one")], rest
    api.delete("two")


def follow(api, version, count):
    seen = []
    watcher = watch.Watch()
    for event in watcher.stream(api.api.list_namespaced_custom_object, *api.place, resource_version=version, timeout_seconds=30):
        metadata = event["object"]["metadata"]
        seen.append((event["type"], metadata["name"], metadata["resourceVersion"]))
        if len(seen) == count:
            watcher.stop()
    return seen


def nodes(core, name):
    label = {"node-role.kubernetes.io/drone": ""}
    core.create_node(client.V1Node(metadata=client.V1ObjectMeta(name=name, labels=label)))
    condition = client.V1NodeCondition(type="Ready", status="True", reason="Test", message="set by a test")
    core.patch_node_status(name, {"status": {"conditions": [core.api_client.sanitize_for_serialization(condition)]}})
    core.patch_node(name, {"spec": {"unschedulable": True}})
    node = core.read_node(name)
    assert node.spec.unschedulable and node.status.conditions[0].status == "True", node
    node.metadata.labels["camera"] = "thermal"
    assert core.replace_node(name, node).metadata.labels["camera"] == "thermal"
    listed = core.list_node(label_selector="camera=thermal", field_selector=f"metadata.name={name}")
    assert [item.metadata.name for item in listed.items] == [name], listed
    core.delete_node(name)
    refused(404, "NotFound", core.read_node, name)


def leases(api, namespace):
    now = datetime.datetime.now(datetime.timezone.utc)
    spec = client.V1LeaseSpec(holder_identity="me", lease_duration_seconds=15, acquire_time=now, renew_time=now)
    api.create_namespaced_lease(namespace, client.V1Lease(metadata=client.V1ObjectMeta(name="claim"), spec=spec))
    lease = api.read_namespaced_lease("claim", namespace)
    assert lease.spec.renew_time == now, (lease.spec.renew_time, now)
    lease.spec.holder_identity = "you"
    assert api.replace_namespaced_lease("claim", namespace, lease).spec.holder_identity == "you"
    refused(409, "Conflict", api.replace_namespaced_lease, "claim", namespace, lease)
    api.delete_namespaced_lease("claim", namespace)


def events(core, newer, namespace):
    about = client.V1ObjectReference(api_version=f"{GROUP}/{VERSION}", kind="Drone", name="d0", namespace=namespace)
    body = client.CoreV1Event(
        metadata=client.V1ObjectMeta(name="low"), involved_object=about, reason="LowBattery",
        message="the battery is low", type="Warning", source=client.V1EventSource(component="test"))
    core.create_namespaced_event(namespace, body)
    found = core.list_namespaced_event(namespace, field_selector="involvedObject.name=d0").items
    assert [event.message for event in found] == ["the battery is low"], found

    # One of the newer API is seen through the older one.
    body = client.EventsV1Event(
        metadata=client.V1ObjectMeta(name="bound"), event_time=datetime.datetime.now(datetime.timezone.utc), regarding=about,
        reporting_controller="skein.dev/test", reporting_instance="test-1", action="Bind", reason="Bound", type="Normal",
        note="bound to n-0")
    newer.create_namespaced_event(namespace, body)
    event = core.read_namespaced_event("bound", namespace)
    assert (event.message, event.involved_object.name, event.action) == ("bound to n-0", "d0", "Bind"), event


def refused(code, reason, call, *args):
    """The Status document with which `call` is refused."""
    try:
        answer = call(*args)
    except ApiException as refusal:
        status = json.loads(refusal.body)
        assert (refusal.status, status["kind"], status["reason"], status["code"]) == (code, "Status", reason, code), status
        return status
    raise AssertionError(f"{call} was not refused: {answer}")


main(sys.argv[1])
