// A user's program with the Kubernetes client for JavaScript: Swarms, Drones, nodes, Leases and Events.
//
// Usage: node fleet.mjs NAMESPACE, with KUBECONFIG set. Ends with an assertion when an answer is not what a cluster's
// would be.

import assert from "node:assert/strict";
import * as k8s from "@kubernetes/client-node";

const GROUP = "skein.dev";
const VERSION = "v1alpha1";
const namespace = process.argv[2];

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const custom = config.makeApiClient(k8s.CustomObjectsApi);

/** The calls for one kind in the namespace. */
function kind(name, plural) {
  const place = { group: GROUP, version: VERSION, namespace, plural };
  const object = (metadata, spec) => ({ apiVersion: `${GROUP}/${VERSION}`, kind: name, metadata, spec });
  const as = (media) => k8s.setHeaderOptions("Content-Type", media);
  return {
    path: `/apis/${GROUP}/${VERSION}/namespaces/${namespace}/${plural}`,
    create: (metadata, spec) => custom.createNamespacedCustomObject({ ...place, body: object(metadata, spec) }),
    get: (name) => custom.getNamespacedCustomObject({ ...place, name }),
    list: (options) => custom.listNamespacedCustomObject({ ...place, ...options }),
    patch: (name, body, media) => custom.patchNamespacedCustomObject({ ...place, name, body }, as(media)),
    patchStatus: (name, body, media) => custom.patchNamespacedCustomObjectStatus({ ...place, name, body }, as(media)),
    apply: (name, spec, force) =>
      custom.patchNamespacedCustomObject(
        { ...place, name, body: object({ name }, spec), fieldManager: "fleet", force },
        as(k8s.PatchStrategy.ServerSideApply),
      ),
    replace: (name, body) => custom.replaceNamespacedCustomObject({ ...place, name, body }),
    scale: (name) => custom.getNamespacedCustomObjectScale({ ...place, name }),
    replaceScale: (name, body) => custom.replaceNamespacedCustomObjectScale({ ...place, name, body }),
    delete: (name, options) => custom.deleteNamespacedCustomObject({ ...place, name, ...options }),
    deleteAll: (labelSelector) => custom.deleteCollectionNamespacedCustomObject({ ...place, labelSelector }),
  };
}

/** The Status document with which a call is refused. */
async function refused(code, reason, call) {
  try {
    await call();
  } catch (refusal) {
    assert.ok(refusal instanceof k8s.ApiException, `${refusal}`);
    const status = typeof refusal.body === "string" ? JSON.parse(refusal.body) : refusal.body;
    assert.deepEqual([refusal.code, status.kind, status.reason, status.code], [code, "Status", reason, code]);
    return status;
  }
  throw new assert.AssertionError({ message: `${call} was not refused` });
}

const names = (list) => list.items.map((item) => item.metadata.name);

async function swarms() {
  const swarm = kind("Swarm", "swarms");
  const made = await swarm.create({ name: "alpha" }, { replicas: 2 });
  assert.equal(made.spec.template.spec.takeoffAltitudeMeters, 10);
  const merged = await swarm.patch("alpha", { spec: { replicas: 3 } }, k8s.PatchStrategy.MergePatch);
  assert.equal(merged.spec.replicas, 3);
  const patched = await swarm.patch("alpha", [{ op: "replace", path: "/spec/replicas", value: 4 }], k8s.PatchStrategy.JsonPatch);
  assert.deepEqual([patched.spec.replicas, patched.metadata.generation], [4, 3]);
  await refused(415, "UnsupportedMediaType", () => swarm.patch("alpha", {}, k8s.PatchStrategy.StrategicMergePatch));
  const conflict = await refused(409, "Conflict", () => swarm.apply("alpha", { replicas: 5 }, false));
  assert.match(conflict.message, /Apply failed with 1 conflict/);
  assert.equal((await swarm.apply("alpha", { replicas: 5 }, true)).spec.replicas, 5);

  const stale = await swarm.get("alpha");
  await swarm.replace("alpha", { ...stale, spec: { ...stale.spec, replicas: 6 } });
  assert.match((await refused(409, "Conflict", () => swarm.replace("alpha", stale))).message, /has been modified/);
  const scale = await swarm.scale("alpha");
  assert.deepEqual([scale.kind, scale.spec.replicas], ["Scale", 6]);
  scale.spec.replicas = 7;
  await swarm.replaceScale("alpha", scale);
  assert.equal((await swarm.get("alpha")).spec.replicas, 7);
  const invalid = await refused(422, "Invalid", () => swarm.create({ name: "bad" }, { replicas: 10001 }));
  assert.equal(invalid.details.causes[0].field, "spec.replicas");
  await swarm.delete("alpha");
  await refused(404, "NotFound", () => swarm.get("alpha"));
}

async function drones() {
  const drone = kind("Drone", "drones");
  for (let number = 0; number < 5; number += 1) {
    await drone.create({ name: `d${number}`, labels: { odd: `${number % 2}` } }, { nodeName: `n-${number % 2}` });
  }
  assert.deepEqual(names(await drone.list({ labelSelector: "odd=1" })), ["d1", "d3"]);
  assert.deepEqual(names(await drone.list({ fieldSelector: "spec.nodeName=n-0" })), ["d0", "d2", "d4"]);
  const seen = [];
  let page = await drone.list({ limit: 2 });
  for (;;) {
    seen.push(...names(page));
    if (!page.metadata._continue && !page.metadata.continue) break;
    page = await drone.list({ limit: 2, _continue: page.metadata._continue ?? page.metadata.continue });
  }
  assert.deepEqual(seen, ["d0", "d1", "d2", "d3", "d4"]);
  const status = { status: { phase: "Flying", flying: true } };
  assert.equal((await drone.patchStatus("d0", status, k8s.PatchStrategy.MergePatch)).status.phase, "Flying");
  await drone.deleteAll("odd");
  assert.deepEqual(names(await drone.list({})), []);

  await drone.create({ name: "held", finalizers: ["skein.dev/landed"] }, {});
  await drone.delete("held", { propagationPolicy: "Background" });
  assert.ok((await drone.get("held")).metadata.deletionTimestamp);
  await drone.patch("held", { metadata: { finalizers: null } }, k8s.PatchStrategy.MergePatch);
  await refused(404, "NotFound", () => drone.get("held"));
}

/** Follows a kind from a version until so many events have come. */
async function follow(path, resourceVersion, count) {
  const seen = [];
  const watch = new k8s.Watch(config);
  await new Promise((resolve, reject) => {
    let request;
    const deadline = setTimeout(() => reject(new Error(`only ${JSON.stringify(seen)} came`)), 30_000);
    const event = (type, object) => {
      seen.push([type, object.metadata.name, object.metadata.resourceVersion]);
      if (seen.length === count) {
        clearTimeout(deadline);
        resolve();
        request?.abort();
      }
    };
    const end = (error) => {
      clearTimeout(deadline);
      return seen.length < count ? reject(error ?? new Error("the watch ended")) : resolve();
    };
    watch.watch(path, { resourceVersion }, event, end).then((started) => {
      request = started;
      if (seen.length >= count) request.abort();
    }, reject);
  });
  return seen;
}

async function watches() {
  const swarm = kind("Swarm", "swarms");
  const start = (await swarm.list({})).metadata.resourceVersion;
  await swarm.create({ name: "one" }, {});
  const first = await follow(swarm.path, start, 1);
  await swarm.patch("one", { spec: { replicas: 2 } }, k8s.PatchStrategy.MergePatch);
  await swarm.create({ name: "two" }, {});
  await swarm.delete("one");
  const rest = await follow(swarm.path, first[0][2], 3);
  const notices = [...first, ...rest].map(([type, name]) => `${type} ${name}`);
  assert.deepEqual(notices, ["ADDED one", "MODIFIED one", "ADDED two", "DELETED one"]);
}

/** The library's own cache of a kind, as controllers use it. */
async function informer() {
  const swarm = kind("Swarm", "swarms");
  const known = new Map();
  const follower = k8s.makeInformer(config, swarm.path, () => swarm.list({}));
  for (const change of ["add", "update"]) follower.on(change, (object) => known.set(object.metadata.name, object.spec.replicas));
  follower.on("delete", (object) => known.delete(object.metadata.name));
  await follower.start();
  await swarm.create({ name: "three" }, { replicas: 3 });
  await swarm.patch("two", { spec: { replicas: 2 } }, k8s.PatchStrategy.MergePatch);
  await until(() => known.get("two") === 2 && known.get("three") === 3, () => [...known]);
  await swarm.delete("two");
  await until(() => !known.has("two"), () => [...known]);
  await follower.stop();
}

async function until(condition, seen) {
  const end = Date.now() + 30_000;
  while (!condition()) {
    assert.ok(Date.now() < end, `last seen: ${JSON.stringify(seen())}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function nodes() {
  const name = namespace;
  await core.createNode({ body: { metadata: { name, labels: { "node-role.kubernetes.io/drone": "" } } } });
  const strategic = k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.StrategicMergePatch);
  const ready = { type: "Ready", status: "True", reason: "Test", message: "set by a test" };
  await core.patchNodeStatus({ name, body: { status: { conditions: [ready] } } }, strategic);
  await core.patchNode({ name, body: { spec: { unschedulable: true } } }, strategic);
  const node = await core.readNode({ name });
  assert.deepEqual([node.spec.unschedulable, node.status.conditions[0].status], [true, "True"]);
  node.metadata.labels.camera = "thermal";
  assert.equal((await core.replaceNode({ name, body: node })).metadata.labels.camera, "thermal");
  assert.deepEqual(names(await core.listNode({ labelSelector: "camera=thermal", fieldSelector: `metadata.name=${name}` })), [name]);
  await core.deleteNode({ name });
  await refused(404, "NotFound", () => core.readNode({ name }));
}

async function leases() {
  const api = config.makeApiClient(k8s.CoordinationV1Api);
  const renewTime = new k8s.V1MicroTime(Date.now());
  const body = { metadata: { name: "claim" }, spec: { holderIdentity: "me", leaseDurationSeconds: 15, renewTime } };
  await api.createNamespacedLease({ namespace, body });
  const lease = await api.readNamespacedLease({ name: "claim", namespace });
  assert.equal(new Date(lease.spec.renewTime).getTime(), renewTime.getTime());
  lease.spec.holderIdentity = "you";
  await api.replaceNamespacedLease({ name: "claim", namespace, body: lease });
  await refused(409, "Conflict", () => api.replaceNamespacedLease({ name: "claim", namespace, body: lease }));
  await api.deleteNamespacedLease({ name: "claim", namespace });
}

async function events() {
  const involvedObject = { apiVersion: `${GROUP}/${VERSION}`, kind: "Drone", name: "d0", namespace };
  const body = { metadata: { name: "low" }, involvedObject, reason: "LowBattery", message: "the battery is low", type: "Warning" };
  await core.createNamespacedEvent({ namespace, body });
  const found = await core.listNamespacedEvent({ namespace, fieldSelector: "involvedObject.name=d0" });
  assert.deepEqual(found.items.map((event) => event.message), ["the battery is low"]);
  const newer = config.makeApiClient(k8s.EventsV1Api);
  assert.equal((await newer.readNamespacedEvent({ name: "low", namespace })).regarding.kind, "Drone");
}

await core.createNamespace({ body: { metadata: { name: namespace } } });
await swarms();
await drones();
await watches();
await informer();
await nodes();
await leases();
await events();
await core.deleteNamespace({ name: namespace });
console.log("all is well");
