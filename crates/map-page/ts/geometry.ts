// Plane geometry of the map.
// Owns: Web Mercator, movement between two reports, the area around a line, the step of the grid, room for names, corners as text. Must not: know the browser.
import type { Corner } from "./model.ts";

const METERS_AROUND = 40_075_016.686;

/** Web Mercator in 0..1, x to the east and y to the south. */
export function mercator(longitude: number, latitude: number): Corner {
  const sine = Math.sin((Math.max(-85.05, Math.min(85.05, latitude)) * Math.PI) / 180);
  return [longitude / 360 + 0.5, 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)];
}

/** Where `value` is after whole rounds, no more than half a round away from `to`: the shorter way around the Earth. */
export const shorter = (value: number, to: number, round: number): number => value + round * Math.round((to - value) / round);

/** A longitude from -180 to 180. */
export const wrapped = (longitude: number): number => (longitude >= -180 && longitude <= 180 ? longitude : shorter(longitude, 0, 360));

/** The geometry with each of its lines and rings going on beyond 180° where it crosses that, and not around the Earth; in one piece with the rest of it. */
export function unwrapped<G extends GeoJSON.Geometry>(geometry: G): G {
  if (geometry.type === "GeometryCollection") return geometry;
  let last: number | undefined;
  const walk = (value: unknown): unknown => {
    if (!Array.isArray(value)) return value;
    const [longitude, ...rest] = value as unknown[];
    if (typeof longitude !== "number") return value.map(walk);
    last = last === undefined ? longitude : shorter(longitude, last, 360);
    return [last, ...rest];
  };
  return { ...geometry, coordinates: walk(geometry.coordinates) };
}

/** West and south, east and north of the smallest box around all places; its east is beyond 180 where it crosses that. */
export function boundsOf(places: Corner[]): [Corner, Corner] | undefined {
  const longitudes = places.map(([longitude]) => wrapped(longitude)).sort((a, b) => a - b);
  const [first, last] = [longitudes[0], longitudes[longitudes.length - 1]];
  if (first === undefined || last === undefined) return undefined;
  // All but the widest gap between two neighbors around the Earth.
  let [west, east, widest] = [first, last, first + 360 - last];
  longitudes.forEach((longitude, at) => {
    const next = longitudes[at + 1];
    if (next === undefined || next - longitude <= widest) return;
    [west, east, widest] = [next, longitude + 360, next - longitude];
  });
  let [south, north] = [90, -90];
  for (const [, latitude] of places) [south, north] = [Math.min(south, latitude), Math.max(north, latitude)];
  return [[west, south], [east, north]];
}

/** Meters in one unit of `mercator` at a latitude. */
export const metersPerUnit = (latitude: number): number => METERS_AROUND * Math.cos((latitude * Math.PI) / 180);

/** How much of the way from one report to the next, which takes `spanMs`, is gone; it never goes beyond what was reported. */
export const gone = (sinceMs: number, spanMs: number): number => (spanMs <= 0 ? 1 : Math.max(0, Math.min(1, sinceMs / spanMs)));

/** Where something is that moves from one report to the next in `spanMs`. */
export function between(from: Corner, to: Corner, sinceMs: number, spanMs: number): Corner {
  const share = gone(sinceMs, spanMs);
  return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
}

/** The corners of all that is within `radius` of a place, a line or a triangle; all areas go round the same way. */
export function around(core: Corner[], radius: number): Corner[] {
  const steps = 24;
  // A corner of the circle lies outside of it, so that its sides touch the circle.
  const outer = radius / Math.cos(Math.PI / steps);
  const points = core.flatMap(([x, y]) => Array.from({ length: steps }, (_, k): Corner => {
    const angle = (2 * Math.PI * k) / steps;
    return [x + outer * Math.cos(angle), y + outer * Math.sin(angle)];
  })).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  // Half of the convex hull, from one end to before the other.
  const half = (sorted: Corner[]): Corner[] => {
    const hull: Corner[] = [];
    for (const point of sorted) {
      for (let [a, b] = hull.slice(-2); a && b && (b[0] - a[0]) * (point[1] - a[1]) <= (b[1] - a[1]) * (point[0] - a[0]); [a, b] = hull.slice(-2)) hull.pop();
      hull.push(point);
    }
    return hull.slice(0, -1);
  };
  return [...half(points), ...half(points.reverse())];
}

/** A step of 1, 2 or 5 times a power of ten that is at least `pixels` wide. */
export function step(metersPerPixel: number, pixels: number): number {
  const least = metersPerPixel * pixels;
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((factor) => factor * power >= least) ?? 10) * power;
}

/** Left, top, width and height in pixels. */
export type Box = [number, number, number, number];

/** The first of the boxes that covers none of those which are `taken`. */
export function free(boxes: Box[], taken: Box[]): Box | undefined {
  const covers = ([x, y, w, h]: Box) => ([ox, oy, ow, oh]: Box): boolean => x < ox + ow && ox < x + w && y < oy + oh && oy < y + h;
  return boxes.find((box) => !taken.some(covers(box)));
}

/** Corners that a person typed, "latitude, longitude" on each line; text: what is wrong. */
export function corners(text: string, least: number): Corner[] | string {
  const found: Corner[] = [];
  for (const line of text.split("\n").map((each) => each.trim()).filter(Boolean)) {
    const [latitude, longitude, ...more] = line.split(/[\s,;]+/).map(Number);
    if (latitude === undefined || longitude === undefined || more.length > 0 || !(Math.abs(latitude) <= 90) || !(Math.abs(longitude) <= 180)) {
      return `"${line}" is no place: write latitude, longitude in degrees, such as 47.3977, 8.5456`;
    }
    found.push([longitude, latitude]);
  }
  return found.length < least ? `${found.length} of at least ${least} places: click on the map, or type them` : found;
}
export const cornersText = (places: Corner[]): string => places.map(([longitude, latitude]) => `${latitude.toFixed(7)}, ${wrapped(longitude).toFixed(7)}`).join("\n");

/** All corners of an area or a line. */
export function cornersOf(geometry: GeoJSON.Geometry | undefined): Corner[] {
  if (!geometry || geometry.type === "GeometryCollection") return [];
  const flat = (value: unknown): Corner[] => (Array.isArray(value) ? (typeof value[0] === "number" ? [[value[0], value[1] as number]] : value.flatMap(flat)) : []);
  return flat(geometry.coordinates);
}
