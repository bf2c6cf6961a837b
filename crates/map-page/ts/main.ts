// The page of `skein map`.
// Owns: what is selected, and joining the parts. Must not: decide what the parts decide.
import "maplibre-gl/dist/maplibre-gl.css";
import "./page.css";
import { Map as MapLibre, setWorkerUrl } from "maplibre-gl";
import { type Connection, follow } from "./connection.ts";
import { element, outcome } from "./dom.ts";
import { Drawing } from "./draw.ts";
import { Files } from "./files.ts";
import { boundsOf, cornersOf } from "./geometry.ts";
import type { Corner, Vehicle } from "./model.ts";
import { addLayers, basemap, update } from "./layers.ts";
import { show } from "./lists.ts";
import { order } from "./orders.ts";
import { Overlay } from "./overlay.ts";
import { count, span } from "./words.ts";

declare global { interface Window { skeinMap?: MapLibre; skeinOverlay?: Overlay } }

const connection: Connection = { lastHeardMs: Date.now(), state: "connecting", why: "" };
const dark = matchMedia("(prefers-color-scheme: dark)");
let selected = new Set<string>();
let swarm: string | undefined;

function start(): void {
  setWorkerUrl("/assets/worker.js");
  const map = new MapLibre({
    container: "map", center: [0, 20], zoom: 1.5, maxZoom: 22, maxPitch: 0, dragRotate: false, pitchWithRotate: false, touchPitch: false, boxZoom: false,
    // A fleet may be on both sides of 180°; the world is never smaller than the map, so that nothing is drawn twice.
    renderWorldCopies: true,
    attributionControl: { compact: true },
    style: { version: 8, sources: {}, layers: [{ id: "background", type: "background", paint: { "background-color": dark.matches ? "#161d23" : "#f1f4f7" } }] },
  });
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  dark.addEventListener("change", () => map.setPaintProperty("background", "background-color", dark.matches ? "#161d23" : "#f1f4f7"));
  const overlay = new Overlay(map, element<HTMLCanvasElement>("overlay"), element<HTMLCanvasElement>("crowd"));
  window.skeinOverlay = overlay;
  const frame = (): void => {
    overlay.draw(performance.now());
    requestAnimationFrame(frame);
  };
  map.once("load", () => {
    addLayers(map);
    const drawing = new Drawing(map, () => files.close());
    const files = new Files(map, () => drawing.end());
    window.skeinMap = map;
    const area = element("map");
    const whole = (): void => { map.setMinZoom(Math.log2(Math.max(area.clientWidth, 512) / 512)); };
    whole();
    map.on("resize", whole);
    let placed = false;
    let basemapAsked = false;

    const fit = (): void => {
      const seen: Corner[] = [];
      const { vehicles: flown, swarms, missions, geofences } = connection.fleet ?? {};
      const places = [...Object.values(flown ?? {}), ...Object.values(swarms ?? {}).flatMap((each) => each.formation?.slots ?? [])];
      for (const v of places) if (v.longitudeDegrees !== undefined && v.latitudeDegrees !== undefined) seen.push([v.longitudeDegrees, v.latitudeDegrees]);
      // Without a vehicle that has a position, the first look waits for one.
      if (seen.length === 0 && !placed) return;
      const areas = [...Object.values(missions ?? {}).map((m) => m.area ?? m.path), ...Object.values(geofences ?? {}).flatMap((fence) => fence.include ?? [])];
      const bounds = boundsOf(seen.concat(areas.flatMap(cornersOf)));
      if (bounds) map.fitBounds(bounds, { padding: Math.min(80, area.clientHeight / 6), maxZoom: 18, animate: false });
      placed ||= bounds !== undefined;
    };
    const vehicles = (): [string, Vehicle][] => [...selected].flatMap((id) => { const v = connection.fleet?.vehicles[id]; return v ? [[id, v] as [string, Vehicle]] : []; });
    const select = (ids: Iterable<string>, more: boolean, of?: string): void => {
      const asked = [...ids];
      if (more && asked.length === 1 && asked[0] && selected.has(asked[0])) selected.delete(asked[0]);
      else selected = new Set([...(more ? selected : []), ...asked]);
      selected = new Set(selected);
      swarm = more ? undefined : of;
      lists();
    };
    const lists = (): void => {
      const { fleet } = connection;
      overlay.selected = selected;
      const chosen = vehicles();
      element("selected").textContent = chosen.length === 0 ? "Nothing is selected" : `${swarm ? `Swarm ${swarm}: ` : ""}${count(chosen.length, "vehicle")} selected`;
      const usable = connection.state === "live";
      for (const verb of ["ground", "release", "resume"]) element<HTMLButtonElement>(`order-${verb}`).disabled = !usable || (chosen.length === 0 && !swarm);
      for (const id of ["draw-survey", "draw-fence"]) element<HTMLButtonElement>(id).disabled = !usable || !fleet?.about.objectsFrom;
      element<HTMLButtonElement>("select-none").disabled = chosen.length === 0 && !swarm;
      if (!fleet) return;
      show(fleet, selected, swarm, {
        vehicle: (id, more) => select([id], more),
        swarm: (key, more) => select(Object.entries(fleet.vehicles).filter(([, v]) => v.swarm && `${v.namespace}/${v.swarm}` === key).map(([id]) => id), more, key),
        anchor: (key) => { const found = connection.fleet?.swarms[key]; if (found) drawing.begin({ kind: "anchor", swarm: found }); },
      });
    };
    const age = (): void => {
      const now = Date.now();
      const lost = connection.fleet?.about.coordinatorLost;
      const old = connection.state !== "live" ? { since: connection.lastHeardMs, what: "The page is cut off", why: connection.why }
        : lost ? { since: lost.sinceAtMs, what: "The coordinator is away", why: lost.why } : undefined;
      document.body.classList.toggle("old", old !== undefined);
      const flag = element("connection");
      flag.dataset.state = old ? "old" : "live";
      flag.textContent = old ? (connection.fleet ? `⚠ ${span(now - old.since)} old` : connection.state) : "● live";
      const alert = element("cut-off");
      alert.hidden = !old || connection.state === "connecting";
      if (old) alert.textContent = `${old.what}: ${old.why}. All that is shown is ${span(now - old.since)} old.`;
      const all = Object.values(connection.fleet?.vehicles ?? {});
      const air = all.filter((v) => v.flying).length;
      const title = connection.fleet ? `${air} in the air` : "Skein";
      document.title = connection.fleet ? `${old ? "⚠ old: " : ""}${title} · Skein` : "Skein";
      element("count").textContent = connection.fleet ? `${title} of ${all.length}` : title;
      element("about").textContent = connection.fleet?.about.coordinator ?? "";
    };
    const changed = (): void => {
      const { fleet } = connection;
      if (fleet) {
        overlay.update(fleet, performance.now());
        update(map, fleet);
        selected = new Set([...selected].filter((id) => fleet.vehicles[id]));
        if (!placed) fit();
        if (fleet.about.basemap && !basemapAsked) {
          basemapAsked = true;
          basemap(map, dark.matches).catch((error: unknown) => outcome(`The base map cannot be shown: ${String(error)}`, true));
        }
      }
      age();
      lists();
    };

    const near = (at: Corner): string | undefined => {
      let best: [string | undefined, number] = [undefined, 22];
      for (const [id, [x, y]] of overlay.places(performance.now())) {
        const distance = Math.hypot(x - at[0], y - at[1]);
        if (distance < best[1]) best = [id, distance];
      }
      return best[0];
    };
    map.on("click", (event) => {
      if (drawing.active) return;
      const id = near([event.point.x, event.point.y]);
      const more = event.originalEvent.shiftKey || event.originalEvent.ctrlKey;
      if (id || !more) select(id ? [id] : [], more);
    });
    const boxButton = element("box");
    const boxing = (on: boolean): void => boxButton.setAttribute("aria-pressed", String(on));
    boxButton.addEventListener("click", () => boxing(boxButton.getAttribute("aria-pressed") !== "true"));
    const at = (event: PointerEvent): Corner => { const frame = area.getBoundingClientRect(); return [event.clientX - frame.left, event.clientY - frame.top]; };
    area.addEventListener("pointerdown", (event) => {
      if (drawing.active || !(event.shiftKey || boxButton.getAttribute("aria-pressed") === "true")) return;
      overlay.box = [at(event), at(event)];
      map.dragPan.disable();
      area.setPointerCapture(event.pointerId);
    }, true);
    area.addEventListener("pointermove", (event) => { if (overlay.box) overlay.box = [overlay.box[0], at(event)]; });
    const release = (): void => {
      const { box } = overlay;
      if (!box) return;
      overlay.box = undefined;
      map.dragPan.enable();
      boxing(false);
      const [[ax, ay], [bx, by]] = box;
      if (Math.hypot(ax - bx, ay - by) < 5) return;
      select([...overlay.places(performance.now())].filter(([, [x, y]]) => x >= Math.min(ax, bx) && x <= Math.max(ax, bx) && y >= Math.min(ay, by) && y <= Math.max(ay, by)).map(([id]) => id), true);
    };
    area.addEventListener("pointerup", release);
    area.addEventListener("pointercancel", release);
    for (const verb of ["ground", "release", "resume"]) element(`order-${verb}`).addEventListener("click", () => void order(verb, vehicles().map(([, v]) => v), swarm));
    element("select-none").addEventListener("click", () => select([], false));
    element("filter").addEventListener("input", lists);
    element("zoom-in").addEventListener("click", () => map.zoomIn());
    element("zoom-out").addEventListener("click", () => map.zoomOut());
    element("fit").addEventListener("click", fit);
    element("toggle-panel").addEventListener("click", () => {
      const closed = element("panel").classList.toggle("closed");
      element("toggle-panel").setAttribute("aria-expanded", String(!closed));
      map.resize();
    });
    setInterval(age, 1000);
    requestAnimationFrame(frame);
    void follow(connection, changed);
  });
}

try {
  start();
} catch (error) {
  const alert = element("cut-off");
  alert.hidden = false;
  alert.textContent = `The map cannot be shown: ${String(error)}. It needs a browser with WebGL 2; \`skein top\` shows the same in a terminal.`;
}
