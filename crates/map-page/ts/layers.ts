// What the map shows of areas and lines: Geofences, Missions, routes, previews; and the base map.
// Owns: MapLibre's sources and layers. Must not: draw vehicles or text.
import { type GeoJSONSource, type LayerSpecification, type Map as MapLibre, addProtocol } from "maplibre-gl";
import { FetchSource, PMTiles, Protocol } from "pmtiles";
import { unwrapped } from "./geometry.ts";
import type { Fleet } from "./model.ts";
import { credentials } from "./session.ts";

const feature = (kind: string, geometry: GeoJSON.Geometry | undefined): GeoJSON.Feature[] => (geometry ? [{ type: "Feature", properties: { kind }, geometry }] : []);
const shownKinds: Record<string, [string, number[] | undefined]> = {
  include: ["#0a8a4c", undefined], exclude: ["#d0223a", [3, 2]], area: ["#8a5cd6", [2, 2]], path: ["#8a5cd6", undefined], flown: ["#0a8a4c", undefined],
  route: ["#1f7ad1", [4, 2]], preview: ["#e07b00", [2, 1]],
};

/** Adds the sources and layers, once the style is there. */
export function addLayers(map: MapLibre): void {
  for (const source of ["areas", "work", "routes", "preview"]) map.addSource(source, { type: "geojson", data: { type: "FeatureCollection", features: [] } });
  for (const source of ["areas", "work", "routes", "preview"]) {
    for (const [kind, [color, dashes]] of Object.entries(shownKinds)) {
      if (["include", "exclude", "area", "preview"].includes(kind)) {
        map.addLayer({ id: `${source}-${kind}-fill`, type: "fill", source, filter: ["all", ["==", ["get", "kind"], kind], ["==", ["geometry-type"], "Polygon"]], paint: { "fill-color": color, "fill-opacity": kind === "include" ? 0.05 : 0.15 } });
      }
      map.addLayer({ id: `${source}-${kind}`, type: "line", source, filter: ["==", ["get", "kind"], kind], paint: { "line-color": color, "line-width": kind === "flown" ? 5 : 2.5, ...(dashes ? { "line-dasharray": dashes } : {}) } });
    }
  }
  map.addLayer({ id: "preview-points", type: "circle", source: "preview", filter: ["==", ["geometry-type"], "Point"], paint: { "circle-radius": 6, "circle-color": "#e07b00" } });
}

export const set = (map: MapLibre, source: string, features: GeoJSON.Feature[]): void => {
  map.getSource<GeoJSONSource>(source)?.setData({ type: "FeatureCollection", features: features.map((each) => ({ ...each, geometry: unwrapped(each.geometry) })) });
};

let before: Partial<Fleet> = {};
let routes: number[][][] = [];
/** Brings the layers up to a document; what has not changed costs nothing. */
export function update(map: MapLibre, fleet: Fleet): void {
  if (before.geofences !== fleet.geofences) {
    set(map, "areas", Object.values(fleet.geofences).flatMap((fence) => [...(fence.include ?? []).flatMap((each) => feature("include", each)), ...(fence.exclude ?? []).flatMap((each) => feature("exclude", each))]));
  }
  if (before.missions !== fleet.missions) {
    set(map, "work", Object.values(fleet.missions).flatMap((m) => [...feature("area", m.area), ...feature("path", m.path), ...feature("flown", m.flown)]));
  }
  const now: number[][][] = [];
  for (const { route } of Object.values(fleet.vehicles)) if (route) now.push(route);
  if (now.length !== routes.length || now.some((route, at) => route !== routes[at])) {
    set(map, "routes", now.filter((route) => route.length > 1).flatMap((route) => feature("route", { type: "LineString", coordinates: route })));
  }
  routes = now;
  before = fleet;
}

/** Shows `--basemap`: pictures, or the areas and lines of its vector layers, without text. */
export async function basemap(map: MapLibre, dark: boolean): Promise<void> {
  const url = `${location.origin}/basemap.pmtiles`;
  const file = new PMTiles(new FetchSource(url, new Headers(credentials())));
  const protocol = new Protocol();
  protocol.add(file);
  addProtocol("pmtiles", protocol.tile);
  const header = await file.getHeader();
  const metadata = (await file.getMetadata()) as { vector_layers?: { id: string }[]; attribution?: string };
  const attribution = (metadata.attribution ?? "").replace(/<[^>]*>/g, "");
  const first = map.getStyle().layers.find((layer) => layer.id !== "background")?.id;
  if (header.tileType !== 1) {
    map.addSource("basemap", { type: "raster", url: `pmtiles://${url}`, tileSize: 256, attribution });
    map.addLayer({ id: "basemap", type: "raster", source: "basemap" }, first);
    return;
  }
  map.addSource("basemap", { type: "vector", url: `pmtiles://${url}`, attribution });
  for (const { id } of metadata.vector_layers ?? []) {
    const water = id.includes("water");
    const color = water ? (dark ? "#17324a" : "#b5d6ee") : id.includes("build") ? (dark ? "#39434c" : "#d5d9dd") : dark ? "#20282f" : "#e6ebe2";
    const layers: LayerSpecification[] = [
      { id: `base-${id}`, type: "fill", source: "basemap", "source-layer": id, filter: ["==", ["geometry-type"], "Polygon"], paint: { "fill-color": color } },
      { id: `base-${id}-line`, type: "line", source: "basemap", "source-layer": id, filter: ["==", ["geometry-type"], "LineString"], paint: { "line-color": water ? color : dark ? "#59656f" : "#a7b0b8", "line-width": 1.2 } },
    ];
    for (const layer of layers) map.addLayer(layer, first);
  }
}
