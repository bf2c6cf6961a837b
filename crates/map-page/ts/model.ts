// The document of the feed, as FEED.md describes it.
// Owns: its types and how a change is applied to it. Must not: know the browser.
export type Corner = [number, number];
export interface Place { longitudeDegrees: number; latitudeDegrees: number; altitudeMeters: number; altitudeReference?: string }
/** All within `radiusMeters` of one to three places. */
export interface AirspacePiece { core: Corner[]; radiusMeters: number; floorAmslMeters: number; ceilingAmslMeters: number; onGround?: boolean }
export interface Airspace { pieces?: AirspacePiece[]; notShown?: number; everywhere?: boolean }
export interface Vehicle {
  /** That of its rows in `moves`. */
  number?: number;
  title: string; namespace: string; drone: string; swarm: string; node: string; mission?: string;
  phase: string; message?: string; waiting?: boolean; flying?: boolean; activity?: string; mode?: string; reasons?: string[];
  command: "Skein" | "Other" | "AutopilotFailsafe" | "Nobody" | "Unknown"; commandText?: string; autopilot?: string; systemId?: number;
  latitudeDegrees?: number; longitudeDegrees?: number; altitudeAmslMeters?: number; altitudeAboveHomeMeters?: number; positionOldSinceAtMs?: number;
  headingDegrees?: number; courseDegrees?: number; speedMetersPerSecond?: number; batteryPercent?: number; batteryOldSinceAtMs?: number;
  link?: "Live" | "Late" | "Lost"; linkOldSinceAtMs?: number; home?: Corner; route?: number[][]; airspace?: Airspace; station?: Place;
}
export interface Slot extends Place { slot: number; covered?: boolean; drone?: string; message?: string }
export interface Formation { shape: string; movable: boolean; anchor?: Place; headingDegrees?: number; spacingMeters?: number; coveredSlots?: number; slots?: Slot[] }
export interface Swarm { namespace: string; name: string; replicas: number; flying: number; ready?: boolean; message?: string; grounded?: boolean; formation?: Formation }
export interface Mission {
  namespace: string; name: string; what: string; state: string; reason?: string; message?: string; done?: string; vehicles?: number; failures?: number;
  estimatedCompletionAtMs?: number; area?: GeoJSON.Geometry; path?: GeoJSON.Geometry; flown?: GeoJSON.Geometry;
}
export interface Geofence {
  name: string; breach?: string; ceilingMeters?: number; floorMeters?: number; selected?: number; inForce?: number; reason?: string; message?: string;
  include?: GeoJSON.Geometry[]; exclude?: GeoJSON.Geometry[];
}
export interface Fleet {
  about: { coordinator: string; objectsFrom: string; basemap: boolean; version: string; coordinatorLost?: { sinceAtMs: number; why: string } };
  problems?: Record<string, string>; vehicles: Record<string, Vehicle>; swarms: Record<string, Swarm>;
  missions: Record<string, Mission>; geofences: Record<string, Geofence>;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** The document after a JSON Merge Patch (RFC 7396). What has not changed stays the same object. */
export function merged(document: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(document) ? { ...document } : {};
  for (const [key, value] of Object.entries(patch)) {
    // An assignment to it would be one of the prototype.
    if (key === "__proto__") continue;
    if (value === null) delete result[key];
    else result[key] = isObject(value) ? merged(result[key], value) : value;
  }
  return result;
}

/** A vehicle that has moved: its number; longitude and latitude, degrees × 10⁷; altitude AMSL and above home, decimeters; course, degrees; speed, decimeters a second; heading, degrees. */
export type Move = [number: number, longitude: number, latitude: number, amsl: number | null, aboveHome: number | null, course: number | null, speed: number | null, heading: number | null];

/** The document of one connection to the feed. */
export class FleetDocument {
  /** The ids of vehicles by their numbers; a number is never given twice. */
  private readonly ids = new Map<number, string>();

  constructor(public fleet: Fleet) {
    this.note(fleet.vehicles);
  }

  private note(vehicles: Record<string, Partial<Vehicle> | null> | undefined): void {
    for (const [id, vehicle] of Object.entries(vehicles ?? {})) if (vehicle?.number !== undefined) this.ids.set(vehicle.number, id);
  }

  /** Applies an event `changes`: a merge patch, and the moves of vehicles beside it. */
  change({ moves = [], ...patch }: { moves?: Move[]; vehicles?: Record<string, Partial<Vehicle> | null> }): void {
    this.note(patch.vehicles);
    const fleet = merged(this.fleet, patch) as Fleet;
    if (moves.length > 0) {
      const vehicles = patch.vehicles ? fleet.vehicles : { ...fleet.vehicles };
      const scaled = (value: number | null, parts: number): number | undefined => (value === null ? undefined : value / parts);
      for (const [number, longitude, latitude, amsl, aboveHome, course, speed, heading] of moves) {
        const id = this.ids.get(number);
        const vehicle = id === undefined ? undefined : vehicles[id];
        if (id === undefined || !vehicle) continue;
        vehicles[id] = {
          ...vehicle, longitudeDegrees: longitude / 1e7, latitudeDegrees: latitude / 1e7, altitudeAmslMeters: scaled(amsl, 10), altitudeAboveHomeMeters: scaled(aboveHome, 10),
          courseDegrees: scaled(course, 1), speedMetersPerSecond: scaled(speed, 10), headingDegrees: scaled(heading, 1),
        };
      }
      fleet.vehicles = vehicles;
    }
    this.fleet = fleet;
  }
}

export interface SseEvent { name: string; data: string }

/** Splits a stream of Server-Sent Events: the whole events in `text`, and the rest that is not whole. */
export function events(text: string): { events: SseEvent[]; rest: string } {
  const blocks = text.replaceAll("\r\n", "\n").split("\n\n");
  const rest = blocks.pop() ?? "";
  const found: SseEvent[] = [];
  for (const block of blocks) {
    let name = "message";
    const data: string[] = [];
    for (const line of block.split("\n")) {
      if (line.startsWith("event:")) name = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
    }
    if (data.length > 0) found.push({ name, data: data.join("\n") });
  }
  return { events: found, rest };
}

/** The token in the fragment of an address, which no browser sends to a server. */
export const tokenOf = (fragment: string): string | undefined => new URLSearchParams(fragment.replace(/^#/, "")).get("token") ?? undefined;

/** How long to wait before the n-th attempt to connect (from 0), with jitter in 0..1. */
export const backoffMs = (attempt: number, jitter: number): number => Math.min(15_000, 500 * 2 ** Math.min(attempt, 10)) * (0.5 + jitter / 2);
