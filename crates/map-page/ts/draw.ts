// Drawing a survey, a Geofence or a new place for a formation, by clicks or by typing.
// Owns: the drawing, its form, its preview. Must not: apply what was not confirmed.
import type { Map as MapLibre } from "maplibre-gl";
import { TerraDraw, TerraDrawPolygonMode, TerraDrawSelectMode } from "terra-draw";
import { TerraDrawMapLibreGLAdapter } from "terra-draw-maplibre-gl-adapter";
import { apply } from "./apply.ts";
import { element, outcome } from "./dom.ts";
import { corners, cornersText } from "./geometry.ts";
import { set } from "./layers.ts";
import type { Corner, Swarm } from "./model.ts";

type Subject = { kind: "survey" } | { kind: "fence" } | { kind: "anchor"; swarm: Swarm };
const input = (id: string): HTMLInputElement => element<HTMLInputElement>(id);

export class Drawing {
  private subject: Subject | undefined;
  private readonly draw: TerraDraw;

  /** `begun`: a file that is shown is closed. */
  constructor(private readonly map: MapLibre, private readonly begun: () => void) {
    this.draw = new TerraDraw({
      adapter: new TerraDrawMapLibreGLAdapter({ map }),
      modes: [
        new TerraDrawPolygonMode(),
        new TerraDrawSelectMode({ flags: { polygon: { feature: { draggable: true, coordinates: { draggable: true, midpoints: true, deletable: true } } } } }),
      ],
    });
    this.draw.on("finish", (id) => {
      this.take();
      if (this.draw.getMode() !== "polygon") return;
      this.draw.setMode("select");
      this.draw.selectFeature(id);
      this.hint("Drag a corner to move it. Then fill in the form.");
      input("form-name").focus();
    });
    map.on("click", (event) => {
      if (this.subject?.kind === "anchor") {
        element<HTMLTextAreaElement>("form-corners").value = cornersText([[event.lngLat.lng, event.lngLat.lat]]);
        set(map, "preview", [{ type: "Feature", properties: {}, geometry: { type: "Point", coordinates: [event.lngLat.lng, event.lngLat.lat] } }]);
      }
    });
    element<HTMLTextAreaElement>("form-corners").addEventListener("change", () => this.typed());
    element("draw-survey").addEventListener("click", () => this.begin({ kind: "survey" }));
    element("draw-fence").addEventListener("click", () => this.begin({ kind: "fence" }));
    element("form-cancel").addEventListener("click", () => this.end());
    element("form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.preview();
    });
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.subject && !element<HTMLDialogElement>("confirm").open) this.end();
    });
  }

  /** Clicks on the map belong to the drawing. */
  get active(): boolean { return this.subject !== undefined; }

  begin(subject: Subject): void {
    this.end();
    this.begun();
    this.subject = subject;
    outcome("");
    const show = (name: string, shown: boolean): void => {
      element(`label-${name}`).hidden = !shown;
      input(`form-${name}`).disabled = !shown;
    };
    const { kind } = subject;
    show("name", kind !== "anchor");
    show("namespace", kind === "survey");
    show("altitude", kind !== "anchor");
    show("spacing", kind === "survey");
    show("parallelism", kind === "survey");
    show("heading", kind === "anchor");
    element("altitude-words").textContent = kind === "fence" ? "Ceiling above home, m" : "Altitude above home, m";
    input("form-altitude").value = kind === "fence" ? "120" : "30";
    element("form-title").textContent = kind === "survey" ? "New survey" : kind === "fence" ? "New Geofence" : `Move the formation of ${subject.swarm.name}`;
    element("corners-words").textContent = kind === "anchor" ? "Anchor: latitude, longitude" : "Corners: latitude, longitude; one a line";
    element("form").hidden = false;
    if (kind === "anchor") {
      const { anchor, headingDegrees } = subject.swarm.formation ?? {};
      input("form-heading").value = String(headingDegrees ?? 0);
      if (anchor) element<HTMLTextAreaElement>("form-corners").value = cornersText([[anchor.longitudeDegrees, anchor.latitudeDegrees]]);
      this.hint("Click where the anchor is to be, or type it.");
    } else {
      this.draw.start();
      this.draw.setMode("polygon");
      this.hint("Click the corners; Enter closes the shape, Escape cancels. Or type the corners.");
      // Enter must reach the drawing and not press the button again.
      this.map.getCanvas().focus();
    }
  }

  end(): void {
    this.subject = undefined;
    if (this.draw.enabled) {
      this.draw.clear();
      this.draw.stop();
    }
    set(this.map, "preview", []);
    element<HTMLTextAreaElement>("form-corners").value = "";
    element("form").hidden = true;
    this.hint("");
  }

  private hint(text: string): void {
    element("hint").textContent = text;
    element("hint").hidden = text === "";
  }

  /** From the drawing to the text. */
  private take(): void {
    const polygon = this.draw.getSnapshot().find((feature) => feature.geometry.type === "Polygon");
    if (polygon?.geometry.type === "Polygon") element<HTMLTextAreaElement>("form-corners").value = cornersText((polygon.geometry.coordinates[0] ?? []).slice(0, -1) as Corner[]);
  }

  /** From the text to the map. */
  private typed(): void {
    const places = corners(element<HTMLTextAreaElement>("form-corners").value, this.subject?.kind === "anchor" ? 1 : 3);
    if (typeof places === "string") return outcome(places, true);
    outcome("");
    if (this.draw.enabled) {
      this.draw.clear();
      this.draw.stop();
    }
    const geometry: GeoJSON.Geometry = this.subject?.kind === "anchor" ? { type: "Point", coordinates: places[0] ?? [] } : { type: "Polygon", coordinates: [[...places, ...places.slice(0, 1)]] };
    set(this.map, "preview", [{ type: "Feature", properties: { kind: "preview" }, geometry }]);
  }

  private request(subject: Subject): unknown {
    const places = corners(element<HTMLTextAreaElement>("form-corners").value, subject.kind === "anchor" ? 1 : 3);
    if (typeof places === "string") throw new Error(places);
    const polygon = places.map(([longitudeDegrees, latitudeDegrees]) => ({ latitudeDegrees, longitudeDegrees }));
    const name = input("form-name").value;
    const altitude = input("form-altitude").valueAsNumber;
    switch (subject.kind) {
      case "anchor":
        return { anchor: { namespace: subject.swarm.namespace, swarm: subject.swarm.name, ...polygon[0], headingDegrees: input("form-heading").valueAsNumber } };
      case "fence":
        return { geofence: { name, spec: { vehicleSelector: {}, include: [{ polygon }], ceilingMeters: altitude, breach: "Return" } } };
      case "survey":
        return { mission: { namespace: input("form-namespace").value, name, spec: {
          parallelism: input("form-parallelism").valueAsNumber,
          survey: { area: { polygon }, lineSpacingMeters: input("form-spacing").valueAsNumber, altitudeMeters: altitude },
        } } };
    }
  }

  private async preview(): Promise<void> {
    const { subject } = this;
    if (!subject) return;
    try {
      if (await apply(this.map, this.request(subject))) this.end();
    } catch (error) {
      outcome(error instanceof Error ? error.message : String(error), true);
    }
  }
}
