// A fake feed for looking at the page without a fleet: `node test/feed.mjs PORT VEHICLES`, after `npm run build`.
// It lets in who opens /#token=any.
// Owns: made-up vehicles, served as FEED.md says, with its CSP. Must not: be part of the page.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const [port, vehicles] = [Number(process.argv[2] ?? 8099), Number(process.argv[3] ?? 12)];
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const types = { js: "text/javascript", css: "text/css", svg: "image/svg+xml", html: "text/html" };
const [lat, lon] = [47.3977, 8.5456];
const vehicle = (k, t) => {
  const side = Math.ceil(Math.sqrt(vehicles));
  const [angle, radius] = [t / 20 + k, 0.0002];
  const swarm = k % 2 ? "beta" : "demo";
  const common = { title: `default/${swarm}-${k}`, namespace: "default", drone: `${swarm}-${k}`, swarm, node: `node-${k}`, link: "Live", autopilot: "ArduPilot",
    latitudeDegrees: lat + Math.floor(k / side) * 0.0006 + radius * Math.sin(angle), longitudeDegrees: lon + (k % side) * 0.0009 + radius * 1.4 * Math.cos(angle) };
  if (k % 10 === 3) return { ...common, phase: "Pending", flying: false, waiting: true, command: "Skein", batteryPercent: 22, message: "the battery is at 22%, below 30%: charge it" };
  if (k % 10 === 5) return { ...common, latitudeDegrees: lat + Math.floor(k / side) * 0.0006, phase: "Unknown", command: "Unknown", link: "Lost", linkOldSinceAtMs: 1, positionOldSinceAtMs: Date.now() - 90000, message: "its agent is away" };
  return { ...common, phase: "Flying", flying: true, mode: "GUIDED", command: k % 10 === 7 ? "Other" : "Skein", batteryPercent: 90 - (k % 60), altitudeAboveHomeMeters: 30, speedMetersPerSecond: 1.1, courseDegrees: (((-angle * 180) / Math.PI) % 360 + 360) % 360, headingDegrees: (k * 40) % 360,
    airspace: { pieces: [{ core: [[common.longitudeDegrees, common.latitudeDegrees], [lon + (k % side) * 0.0009, lat + Math.floor(k / side) * 0.0006]], radiusMeters: 6, floorAmslMeters: 510, ceilingAmslMeters: 530 }] } };
};
const fleet = (t) => Object.fromEntries(Array.from({ length: vehicles }, (_, k) => [`drone/default/${k % 2 ? "beta" : "demo"}-${k}`, vehicle(k, t)]));
const square = (w, s, size) => ({ type: "Polygon", coordinates: [[[w, s], [w + size * 1.4, s], [w + size * 1.4, s + size], [w, s + size], [w, s]]] });
const document = () => ({
  about: { coordinator: "the coordinator of a fake fleet", objectsFrom: "a fake cluster", basemap: false, version: "0" }, vehicles: fleet(0),
  swarms: { "default/demo": { namespace: "default", name: "demo", replicas: 6, flying: 5, formation: { shape: "Grid", movable: true, coveredSlots: 2, anchor: { latitudeDegrees: lat + 0.0022, longitudeDegrees: lon, altitudeMeters: 30 }, headingDegrees: 0,
    slots: [0, 1, 2].map((slot) => ({ slot, latitudeDegrees: lat + 0.0022, longitudeDegrees: lon + slot * 0.0005, altitudeMeters: 30, covered: slot < 2 })) } },
    "default/beta": { namespace: "default", name: "beta", replicas: 6, flying: 4 } },
  missions: { "default/field": { namespace: "default", name: "field", what: "survey", state: "Progressing", done: "40%", vehicles: 2, area: square(lon + 0.003, lat, 0.0012), flown: { type: "LineString", coordinates: [[lon + 0.003, lat + 0.0003], [lon + 0.0046, lat + 0.0003]] }, path: { type: "LineString", coordinates: [[lon + 0.003, lat + 0.0003], [lon + 0.0046, lat + 0.0003], [lon + 0.0046, lat + 0.0009], [lon + 0.003, lat + 0.0009]] } } },
  geofences: { north: { name: "north", selected: vehicles, inForce: vehicles - 1, breach: "Return", ceilingMeters: 120, include: [square(lon - 0.001, lat - 0.0008, 0.0042)], exclude: [square(lon + 0.0015, lat + 0.0028, 0.0004)] } },
});
createServer(async (request, response) => {
  const path = new URL(request.url, "http://localhost").pathname;
  response.setHeader("Content-Security-Policy", csp);
  if (path === "/api/session") {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ session: "of a fake fleet" }));
  } else if (path.startsWith("/api/") && request.headers.authorization !== "Bearer of a fake fleet") {
    response.writeHead(401).end();
  } else if (path === "/api/feed") {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    let t = 0;
    response.write(`event: snapshot\ndata: ${JSON.stringify(document())}\n\n`);
    const timer = setInterval(() => {
      t += 1;
      const changes = Object.fromEntries(Object.entries(fleet(t)).filter(([, v]) => v.flying));
      response.write(`event: changes\ndata: ${JSON.stringify({ vehicles: changes })}\n\n`);
    }, 1000);
    request.on("close", () => clearInterval(timer));
  } else if (path.startsWith("/api/")) {
    response.setHeader("Content-Type", "application/json");
    const order = path.includes("orders");
    response.end(JSON.stringify(path.endsWith("preview")
      ? { confirm: "c", livesMs: 60000, does: "They land where they are, and stay on the ground until they are released.", whom: ["Swarm default/demo"], concerns: [{ title: "default/demo-0", flying: true }], what: "creates Mission default/x", yaml: "kind: Mission", text: "3 lines", geojson: { type: "FeatureCollection", features: [] } }
      : order ? { answers: [{ text: "default/demo: grounded", done: true }] } : { done: "Mission default/x created" }));
  } else {
    const file = path === "/" ? "index.html" : path.slice(1);
    const bytes = file.includes("..") ? undefined : await readFile(new URL(`../dist/${file}`, import.meta.url)).catch(() => undefined);
    response.writeHead(bytes ? 200 : 404, { "Content-Type": types[file.split(".").pop()] ?? "application/octet-stream" });
    response.end(bytes);
  }
}).listen(port, "127.0.0.1");
