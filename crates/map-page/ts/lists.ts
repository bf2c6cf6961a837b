// The lists beside the map.
// Owns: their rows. Must not: order.
import { element, items } from "./dom.ts";
import type { Fleet, Vehicle } from "./model.ts";
import { geofenceLine, missionLine, needsEyes, percent, swarmLine, vehicleLine } from "./words.ts";

/** Rows of vehicles that are shown at once; the filter finds the others. */
const MOST = 300;
export interface Handlers { vehicle(id: string, more: boolean): void; swarm(key: string, more: boolean): void; anchor(key: string): void }

/** The items of each list by key, and what was written into a row: to ask the document for hundreds of them each second takes longer. */
const kept = new WeakMap<HTMLElement, Map<string, HTMLElement>>();
const written = new WeakMap<HTMLElement, Map<string, string | undefined>>();

/** Rows by key that stay the same elements, so that the focus does. */
function rows(list: HTMLElement, wanted: [string, (row: HTMLElement) => void][], kind: string, click: (key: string, more: boolean) => void): void {
  const had = kept.get(list) ?? new Map<string, HTMLElement>();
  const has = new Map<string, HTMLElement>();
  kept.set(list, has);
  let at: Element | null = list.firstElementChild;
  for (const [key, fill] of wanted) {
    let item = had.get(key);
    had.delete(key);
    if (!item) {
      item = document.createElement("li");
      item.dataset.key = key;
      const row = Object.assign(document.createElement("button"), { type: "button", className: "row" });
      row.dataset[kind] = key;
      row.append(document.createElement("b"), document.createElement("small"));
      row.addEventListener("click", (event) => click(key, event.shiftKey || event.ctrlKey || event.metaKey));
      item.append(row);
    }
    has.set(key, item);
    if (item === at) at = at.nextElementSibling;
    else list.insertBefore(item, at);
    fill(item.firstElementChild as HTMLElement);
  }
  for (const item of had.values()) item.remove();
}
/** Whether `value` is other than what was written there before. */
function isNew(row: HTMLElement, name: string, value: string | undefined): boolean {
  const before = written.get(row) ?? new Map<string, string | undefined>();
  if (before.size === 0) written.set(row, before);
  if (before.has(name) && before.get(name) === value) return false;
  before.set(name, value);
  return true;
}
function text(row: HTMLElement, title: string, line: string): void {
  const [first, second] = [row.children[0], row.children[1]];
  if (first && isNew(row, "title", title)) first.textContent = title;
  if (second && isNew(row, "line", line)) second.textContent = line;
}
function attribute(row: HTMLElement, name: string, value: string | undefined): void {
  if (!isNew(row, name, value)) return;
  if (value === undefined) row.removeAttribute(name);
  else row.setAttribute(name, value);
}

export function show(fleet: Fleet, selected: ReadonlySet<string>, swarm: string | undefined, handlers: Handlers): void {
  const now = Date.now();
  const all = Object.entries(fleet.vehicles);
  const query = element<HTMLInputElement>("filter").value.trim().toLowerCase();
  const matching = query === "" ? all : all.filter(([, v]) => [v.title, v.swarm, v.node, v.phase].some((part) => part.toLowerCase().includes(query)));
  const vehicleRow = ([id, v]: [string, Vehicle]): [string, (row: HTMLElement) => void] => [id, (row) => {
    text(row, `${v.flying === false ? "■" : v.flying ? "▲" : "?"} ${v.title}`, vehicleLine(v, now));
    row.classList.toggle("warn", needsEyes(v));
    attribute(row, "aria-pressed", String(selected.has(id)));
    attribute(row, "data-latitude", v.latitudeDegrees?.toString());
    attribute(row, "data-longitude", v.longitudeDegrees?.toString());
    attribute(row, "data-heading", v.headingDegrees?.toString());
    attribute(row, "data-flying", v.flying === undefined ? "unknown" : String(v.flying));
  }];
  rows(element("vehicles"), matching.slice(0, MOST).map(vehicleRow), "vehicle", handlers.vehicle);
  element("more").hidden = matching.length <= MOST;
  element("more").textContent = `${matching.length - MOST} more: use the filter.`;
  element("n-vehicles").textContent = String(all.length);
  const waiting = all.filter(([, v]) => v.waiting);
  element("n-waiting").textContent = String(waiting.length);
  element("section-waiting").hidden = waiting.length === 0;
  rows(element("waiting"), waiting.slice(0, MOST).map(([id, v]) => [id, (row) => text(row, v.title, v.message || v.reasons?.join("; ") || v.phase)]), "waiting", handlers.vehicle);

  const swarms = Object.entries(fleet.swarms);
  element("n-swarms").textContent = String(swarms.length);
  rows(element("swarms"), swarms.map(([key, s]) => [key, (row) => {
    text(row, key, swarmLine(s));
    attribute(row, "aria-pressed", String(key === swarm));
    const button = row.parentElement?.querySelector(".anchor");
    if (!s.formation?.movable) button?.remove();
    else if (!button) {
      const move = Object.assign(document.createElement("button"), { type: "button", className: "anchor", textContent: "Move…" });
      move.setAttribute("aria-label", `Move the formation of ${key}`);
      move.addEventListener("click", () => handlers.anchor(key));
      row.parentElement?.append(move);
    }
  }]), "swarm", handlers.swarm);

  const missions = Object.entries(fleet.missions);
  element("n-missions").textContent = String(missions.length);
  rows(element("missions"), missions.map(([key, m]) => [key, (row) => {
    text(row, key, missionLine(m, now));
    attribute(row, "data-state", m.state);
    attribute(row, "data-done", m.done ?? "");
    let bar = row.querySelector("progress");
    if (!bar) row.append((bar = Object.assign(document.createElement("progress"), { max: 100 })));
    bar.hidden = percent(m.done) === undefined;
    bar.value = percent(m.done) ?? 0;
  }]), "mission", (key) => {
    for (const [id, v] of Object.entries(fleetNow?.vehicles ?? {})) if (v.mission === key) handlers.vehicle(id, true);
  });
  fleetNow = fleet;
  const geofences = Object.entries(fleet.geofences);
  element("n-geofences").textContent = String(geofences.length);
  rows(element("geofences"), geofences.map(([key, g]) => [key, (row) => text(row, key, geofenceLine(g))]), "geofence", () => {});
  items(element("problems"), Object.values(fleet.problems ?? {}).map((problem) => `⚠ ${problem}`));
}
let fleetNow: Fleet | undefined;
