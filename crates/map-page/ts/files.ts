// Files that are dropped on the page, or opened: what they are, what `skein import` says of them, and what they can become.
// Owns: the drop and its list. Must not: make an object but by what everything is made by (apply.ts).
import type { Map as MapLibre } from "maplibre-gl";
import { apply, asPreview } from "./apply.ts";
import { post } from "./connection.ts";
import { element, items, outcome } from "./dom.ts";
import { boundsOf, cornersOf } from "./geometry.ts";
import { set } from "./layers.ts";
import { shapefileOf } from "./shapefile.ts";

/** As the server has it, so that a larger file is not sent at all. */
const LARGEST = 8 * 1024 * 1024;
/** Bytes of a .prj, which are sent beside the file. */
const LARGEST_REFERENCE = 4096;

interface Made { kind: string; name: string; spec: unknown; text?: string; canBeMade?: boolean }
interface Read { kind: string; said: string[]; hasAreas: boolean; objects: Made[]; geojson: GeoJSON.FeatureCollection }
interface Opened { name: string; content: string; projection: string | undefined }
const input = (id: string): HTMLInputElement => element<HTMLInputElement>(id);

export class Files {
  private file: Opened | undefined;
  /** Counts what was asked: only the answer to the last is shown. */
  private asked = 0;

  /** `begun`: another drawing ends. */
  constructor(private readonly map: MapLibre, private readonly begun: () => void) {
    const holds = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
    addEventListener("dragover", (event) => {
      if (!holds(event)) return;
      event.preventDefault();
      document.body.classList.add("drop");
    });
    addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("drop"); });
    addEventListener("drop", (event) => {
      document.body.classList.remove("drop");
      if (!holds(event)) return;
      // Else the browser opens the file in place of the page.
      event.preventDefault();
      void this.open([...(event.dataTransfer?.files ?? [])]);
    });
    element("open-file").addEventListener("click", () => input("file-input").click());
    input("file-input").addEventListener("change", () => {
      void this.open([...(input("file-input").files ?? [])]);
      input("file-input").value = "";
    });
    element("file-close").addEventListener("click", () => this.close());
    element<HTMLSelectElement>("file-areas").addEventListener("change", () => this.fields());
    element("file-form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.read();
    });
  }

  close(): void {
    this.asked += 1;
    this.file = undefined;
    element("file").hidden = true;
    set(this.map, "preview", []);
  }

  private async open(files: File[]): Promise<void> {
    const shapefile = shapefileOf(files);
    const file = shapefile?.shapes ?? files[0];
    if (!file) return;
    this.begun();
    this.close();
    if (files.length > 1 && !shapefile) return outcome("Drop one file at a time, or all files of one Shapefile; for several use `skein import`.", true);
    if (file.size > LARGEST) return outcome(`${file.name} has ${file.size} bytes, and the map reads ${LARGEST}; import it with \`skein import\`.`, true);
    const reference = shapefile?.reference;
    if (reference && reference.size > LARGEST_REFERENCE) return outcome(`${reference.name} has ${reference.size} bytes, and the map reads ${LARGEST_REFERENCE}; import the Shapefile with \`skein import\`.`, true);
    outcome("");
    const asked = this.asked;
    let content, projection;
    try {
      content = await base64(file);
      projection = await reference?.text();
    } catch {
      return outcome(`${file.name} cannot be read; a folder is no file.`, true);
    }
    if (asked !== this.asked) return;
    this.file = { name: file.name, content, projection };
    element<HTMLSelectElement>("file-areas").value = "";
    this.fields();
    await this.read();
  }

  private fields(): void {
    const { value } = element<HTMLSelectElement>("file-areas");
    for (const name of ["altitude", "spacing"]) {
      element(`label-file-${name}`).hidden = value !== "survey";
      input(`file-${name}`).disabled = value !== "survey";
    }
  }

  private areas(): unknown {
    const { value } = element<HTMLSelectElement>("file-areas");
    if (value === "survey") return { survey: { altitudeMeters: input("file-altitude").valueAsNumber, spacingMeters: input("file-spacing").valueAsNumber } };
    return value === "" ? undefined : { [value]: {} };
  }

  private async read(): Promise<void> {
    const { file } = this;
    if (!file) return;
    this.asked += 1;
    const { asked } = this;
    try {
      const read = await post<Read>("/api/files", { ...file, areas: this.areas() });
      if (asked === this.asked) this.show(file, read);
    } catch (error) {
      if (asked !== this.asked) return;
      set(this.map, "preview", []);
      if (element("file").hidden) this.file = undefined;
      items(element("file-objects"), []);
      outcome(`${file.name}: ${error instanceof Error ? error.message : String(error)}`, true);
    }
  }

  private show(file: Opened, read: Read): void {
    outcome("");
    set(this.map, "preview", asPreview(read.geojson.features));
    const bounds = boundsOf(read.geojson.features.flatMap((each) => cornersOf(each.geometry)));
    if (bounds) this.map.fitBounds(bounds, { padding: 80, maxZoom: 18, animate: false });
    element("file").hidden = false;
    element("file-title").textContent = `${file.name}: ${read.kind}`;
    // Once it has areas, what they are can be said again.
    if (read.hasAreas || element<HTMLSelectElement>("file-areas").value === "") element("file-form").hidden = !read.hasAreas;
    items(element("file-said"), read.said);
    element("file-objects").replaceChildren(...read.objects.map((made) => this.row(made)));
    element("label-file-namespace").hidden = !read.objects.some((made) => made.kind === "Mission" && made.canBeMade);
    element("file").scrollIntoView({ block: "nearest" });
  }

  private row(made: Made): HTMLElement {
    const row = document.createElement("li");
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: `Make ${made.kind} ${made.name}…`, disabled: !made.canBeMade });
    button.dataset.made = `${made.kind}/${made.name}`;
    button.addEventListener("click", () => void this.make(made, button));
    row.append(button);
    if (made.text) row.append(Object.assign(document.createElement("pre"), { textContent: made.text }));
    return row;
  }

  private async make({ kind, name, spec }: Made, button: HTMLButtonElement): Promise<void> {
    outcome("");
    try {
      const request = kind === "Mission" ? { mission: { namespace: input("file-namespace").value, name, spec } } : { geofence: { name, spec } };
      if (await apply(this.map, request)) button.disabled = true;
    } catch (error) {
      outcome(error instanceof Error ? error.message : String(error), true);
    }
  }
}

/** The bytes of a file in base64. */
function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => {
      const url = reader.result as string;
      resolve(url.slice(url.indexOf(",") + 1));
    };
    reader.onerror = () => reject(reader.error ?? new Error("it cannot be read"));
    reader.readAsDataURL(file);
  });
}
