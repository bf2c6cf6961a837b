// An object that a person has asked for: shown, confirmed, made.
// Owns: that nothing is made which was not confirmed. Must not: say what is asked for.
import type { Map as MapLibre } from "maplibre-gl";
import { confirmed } from "./confirm.ts";
import { post } from "./connection.ts";
import { outcome } from "./dom.ts";
import { set } from "./layers.ts";

interface Preview { confirm: string; livesMs: number; what: string; yaml: string; text?: string; geojson: GeoJSON.FeatureCollection; warnings?: string[] }

/** Features as what is only looked at. */
export const asPreview = (features: GeoJSON.Feature[]): GeoJSON.Feature[] => features.map((each) => ({ ...each, properties: { ...each.properties, kind: "preview" } }));

/** Whether it was made. */
export async function apply(map: MapLibre, request: unknown): Promise<boolean> {
  const preview = await post<Preview>("/api/objects/preview", request);
  set(map, "preview", asPreview(preview.geojson.features));
  const yes = await confirmed({ title: `Apply: ${preview.what}?`, does: preview.text ?? "Nothing is changed yet.", yes: "Apply", livesMs: preview.livesMs, warnings: preview.warnings, yaml: preview.yaml });
  if (!yes) {
    outcome("Not applied; nothing was changed.");
    return false;
  }
  const answer = await post<{ done: string }>("/api/objects", { confirm: preview.confirm });
  outcome(`✓ ${answer.done}`);
  return true;
}
