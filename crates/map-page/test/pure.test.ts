// Tests of what the page decides without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { around, between, boundsOf, corners, cornersOf, cornersText, free, mercator, metersPerUnit, shorter, step, unwrapped, wrapped } from "../ts/geometry.ts";
import { backoffMs, type Corner, events, type Fleet, FleetDocument, merged, tokenOf, type Vehicle } from "../ts/model.ts";
import { shapefileOf } from "../ts/shapefile.ts";
import { key, look, SHEET } from "../ts/sprites.ts";
import { meters, needsEyes, percent, span, vehicleLine } from "../ts/words.ts";

test("a change replaces, adds and removes, and leaves the rest as it is", () => {
  const before = { a: { x: 1, y: [1, 2] }, b: { z: 3 } };
  const after = merged(before, { a: { x: null, y: [3], w: { q: 1, r: null } } }) as typeof before;
  assert.deepEqual(after, { a: { y: [3], w: { q: 1 } }, b: { z: 3 } });
  assert.equal(after.b, before.b);
  assert.deepEqual(before, { a: { x: 1, y: [1, 2] }, b: { z: 3 } });
});
test("a name in the feed cannot reach the prototype of objects", () => {
  merged({}, JSON.parse('{"__proto__": {"polluted": 1}}'));
  assert.equal(({} as { polluted?: number }).polluted, undefined);
});
const flying = (number: number, more: Partial<Vehicle> = {}): Vehicle => ({
  number, title: "", namespace: "", drone: "", swarm: "", node: "", phase: "Flying", flying: true, command: "Skein", link: "Live", latitudeDegrees: 47, longitudeDegrees: 8, ...more });
test("a move is applied to the vehicle with its number, and nothing else becomes another object", () => {
  const before = { vehicles: { "node/a": flying(3, { courseDegrees: 5, mode: "GUIDED" }), "node/b": flying(4) }, swarms: {} } as unknown as Fleet;
  const document = new FleetDocument(before);
  document.change({ moves: [[3, 85456001, 473977001, 5101, -3, null, 12, 359], [99, 1, 1, 1, 1, 1, 1, 1]] });
  const { "node/a": a, "node/b": b } = document.fleet.vehicles;
  assert.deepEqual({ ...a }, flying(3, { mode: "GUIDED", latitudeDegrees: 47.3977001, longitudeDegrees: 8.5456001, altitudeAmslMeters: 510.1, altitudeAboveHomeMeters: -0.3, courseDegrees: undefined, speedMetersPerSecond: 1.2, headingDegrees: 359 }));
  assert.equal(b, before.vehicles["node/b"]);
  assert.equal(document.fleet.swarms, before.swarms);
  assert.equal(before.vehicles["node/a"]?.longitudeDegrees, 8);
  assert.equal(Object.keys(document.fleet.vehicles).length, 2);
});
test("what comes and goes with the moves is there before they are applied", () => {
  const document = new FleetDocument({ vehicles: { "node/a": flying(1) } } as unknown as Fleet);
  document.change({ vehicles: { "node/a": null, "node/b": flying(2), "node/c": { mode: "AUTO" } }, moves: [[1, 1, 1, 1, 1, 1, 1, 1], [2, 90000000, 0, 0, 0, 0, 0, 0]] });
  assert.deepEqual(Object.keys(document.fleet.vehicles), ["node/b", "node/c"]);
  assert.equal(document.fleet.vehicles["node/b"]?.longitudeDegrees, 9);
  assert.equal("moves" in document.fleet, false);
});
test("each look has a symbol of its own, and all have room on the sheet", () => {
  const [commands, links] = [["Skein", "Other"] as const, ["Live", "Lost"] as const];
  const looks = new Map<number, string>();
  for (let heading = -1; heading <= 360; heading += 1) for (const state of [true, false, undefined]) for (const command of commands) for (const link of links) {
    const shown = look(flying(1, { headingDegrees: heading < 0 ? undefined : heading, flying: state, command, link }));
    const text = JSON.stringify(shown);
    assert.equal(looks.get(key(shown)) ?? text, text);
    looks.set(key(shown), text);
  }
  assert.ok(looks.size > 73 && looks.size + 2 <= SHEET * SHEET, `${looks.size}`);
});
test("events that arrive in pieces are whole, and comments are none", () => {
  const first = events(": alive\n\nevent: changes\ndata: {\"a\"");
  assert.deepEqual(first.events, []);
  const second = events(`${first.rest}:1}\n\nevent: x`);
  assert.deepEqual(second.events, [{ name: "changes", data: '{"a":1}' }]);
  assert.equal(second.rest, "event: x");
});
test("the token is in the fragment of the address, which no server is sent", () => {
  assert.equal(tokenOf("#token=0a1b"), "0a1b");
  assert.equal(tokenOf(""), undefined);
  assert.equal(tokenOf("#vehicles"), undefined);
});
test("the wait before an attempt grows, has jitter and a cap", () => {
  assert.equal(backoffMs(0, 1), 500);
  assert.equal(backoffMs(0, 0), 250);
  assert.equal(backoffMs(3, 1), 4000);
  assert.equal(backoffMs(1e6, 1), 15_000);
});
test("a vehicle is drawn between its reports and never beyond the last", () => {
  assert.deepEqual(between([0, 0], [10, 20], 500, 1000), [5, 10]);
  assert.deepEqual(between([0, 0], [10, 20], 5000, 1000), [10, 20]);
  assert.deepEqual(between([0, 0], [10, 20], 0, 0), [10, 20]);
});
test("meters on the map are meters on the ground", () => {
  assert.deepEqual(mercator(0, 0), [0.5, 0.5]);
  const north = (mercator(8, 47)[1] - mercator(8, 47.0001)[1]) * metersPerUnit(47);
  assert.ok(Math.abs(north - 11.13) < 0.02, `${north}`);
});
test("the area around a line holds all that is near to it and little more, and goes round as that around a place does", () => {
  const area = (of: Corner[]): number => of.reduce((sum, [x, y], at) => { const [nx, ny] = of[(at + 1) % of.length] ?? [0, 0]; return sum + (x * ny - nx * y) / 2; }, 0);
  const near = (value: number, wanted: number): boolean => value >= wanted && value < wanted * 1.01;
  assert.ok(near(area(around([[5, 5]], 2)), 4 * Math.PI), `${area(around([[5, 5]], 2))}`);
  assert.ok(near(area(around([[0, 0], [30, 40]], 2)), 200 + 4 * Math.PI));
  assert.ok(near(area(around([[0, 0], [10, 0], [0, 10]], 1)), 50 + 20 + 10 * Math.SQRT2 + Math.PI));
  assert.ok(near(area(around([[0, 0], [0, 0]], 2)), 4 * Math.PI));
});
test("the step of the grid is a round number", () => {
  assert.deepEqual([step(1, 80), step(0.1, 80), step(0.01, 20), step(2, 100), step(1, 60)], [100, 10, 0.2, 200, 100]);
});
test("a name goes where it covers nothing, and nowhere where it would", () => {
  assert.deepEqual(free([[0, 0, 10, 10], [20, 0, 10, 10]], []), [0, 0, 10, 10]);
  assert.deepEqual(free([[0, 0, 10, 10], [20, 0, 10, 10]], [[9, 9, 5, 5]]), [20, 0, 10, 10]);
  assert.deepEqual(free([[0, 0, 10, 10]], [[10, 0, 5, 5], [0, 10, 5, 5]]), [0, 0, 10, 10]);
  assert.equal(free([[0, 0, 10, 10]], [[-5, -5, 30, 30]]), undefined);
});
test("corners can be typed, and what is wrong with them is named", () => {
  assert.deepEqual(corners("47.1, 8.5\n\n47.2 8.6\n", 2), [[8.5, 47.1], [8.6, 47.2]]);
  assert.match(corners("47.1, x", 1) as string, /"47.1, x" is no place/);
  assert.match(corners("147, 8", 1) as string, /is no place/);
  assert.match(corners("47, 8", 3) as string, /1 of at least 3/);
  assert.deepEqual(corners(cornersText([[8.5, 47.1]]), 1), [[8.5, 47.1]]);
});
test("what is old or unknown is named with its age", () => {
  const vehicle: Vehicle = { title: "a", namespace: "", drone: "", swarm: "", node: "", phase: "Flying", flying: true, command: "Skein", link: "Live", latitudeDegrees: 1, longitudeDegrees: 2, batteryPercent: 70 };
  assert.equal(vehicleLine(vehicle, 0), "Flying · battery 70% · link live · Skein is in command");
  assert.equal(needsEyes(vehicle), false);
  const piece = { core: [[2, 1] as Corner], radiusMeters: 5, floorAmslMeters: 480.6, ceilingAmslMeters: 510.2 };
  const owns = (airspace: Vehicle["airspace"]): string | undefined => vehicleLine({ ...vehicle, airspace }, 0).split(" · ")[4];
  assert.deepEqual([owns({ pieces: [piece, { ...piece, ceilingAmslMeters: 490 }] }), owns({ pieces: [piece], notShown: 2 }), owns({ everywhere: true }), owns({ pieces: [] })],
    ["owns airspace from 480 to 511 m AMSL", "owns airspace from 480 to 511 m AMSL (2 more pieces not drawn)", "owns all airspace, as nothing is known of where it is", undefined]);
  const old: Vehicle = { ...vehicle, link: "Lost", linkOldSinceAtMs: 1000, positionOldSinceAtMs: 1000, batteryOldSinceAtMs: 1000 };
  assert.equal(vehicleLine(old, 61_000), "Flying · battery 70%, 60 s old · position 60 s old · link lost for 60 s · Skein is in command");
  const waits: Vehicle = { ...vehicle, phase: "Pending", flying: false, command: "Nobody", link: undefined, latitudeDegrees: undefined, batteryPercent: undefined, message: "no vehicle is free" };
  assert.match(vehicleLine(waits, 0), /^Pending · position unknown · .*no vehicle is free$/);
  assert.equal(needsEyes(waits), false);
  for (const worry of [old, { ...vehicle, flying: undefined }, { ...vehicle, command: "Other" as const }]) assert.equal(needsEyes(worry), true);
});
test("values read as people write them", () => {
  assert.deepEqual([span(1400), span(180_000), span(7_300_000), span(-5)], ["1 s", "3 min", "2 h", "0 s"]);
  assert.deepEqual([meters(12.345), meters(1500)], ["12.3 m", "1.5 km"]);
  assert.deepEqual([percent("40%"), percent("?"), percent(undefined)], [40, undefined, undefined]);
});
test("what lies across 180° is drawn and framed once, the shorter way around the Earth", () => {
  assert.deepEqual([shorter(-179, 179, 360), shorter(0.999, 0.001, 1) < 0, wrapped(180.5), wrapped(180), wrapped(-180)], [181, true, -179.5, 180, -180]);
  const ring = [[179.9985, -16.843], [-179.999, -16.843], [-179.9992, -16.841], [179.9985, -16.843]];
  const drawn = unwrapped({ type: "Polygon", coordinates: [ring, [[-179.9995, -16.842, 5]]] }).coordinates as number[][][];
  assert.deepEqual(drawn.flat().map(([longitude]) => Math.round((longitude ?? 0) * 1e4) / 1e4), [179.9985, 180.001, 180.0008, 179.9985, 180.0005]);
  assert.equal(drawn[1]?.[0]?.[2], 5);
  assert.deepEqual(boundsOf(ring as Corner[]), [[179.9985, -16.843], [180.001, -16.841]]);
  assert.deepEqual(boundsOf([[8.5, 47.4], [8.6, 47.3]]), [[8.5, 47.3], [8.6, 47.4]]);
  assert.deepEqual([boundsOf([[8.5, 47.4]]), boundsOf([])], [[[8.5, 47.4], [8.5, 47.4]], undefined]);
  assert.equal(cornersText([[180.001, -16.8]]), "-16.8000000, -179.9990000");
});
test("the corners of an area and of a line are found", () => {
  assert.deepEqual(cornersOf({ type: "Polygon", coordinates: [[[1, 2], [3, 4, 50]]] }), [[1, 2], [3, 4]]);
  assert.deepEqual([cornersOf({ type: "LineString", coordinates: [[1, 2]] }), cornersOf(undefined)], [[[1, 2]], []]);
});
test("files that are dropped together are one Shapefile only if all stand beside its .shp under its name", () => {
  const of = (...names: string[]) => {
    const found = shapefileOf(names.map((name) => ({ name })));
    return found && [found.shapes.name, found.reference?.name];
  };
  assert.deepEqual(of("field.dbf", "Field.SHP", "field.PRJ", "field.shp.xml", "field.cpg"), ["Field.SHP", "field.PRJ"]);
  assert.deepEqual(of("field.shp"), ["field.shp", undefined]);
  for (const other of ["wall.shp", "wall.prj", "field.kml", "field2.dbf", "field"]) assert.equal(of("field.shp", other), undefined, other);
  assert.equal(of("field.dbf", "field.prj"), undefined);
});
