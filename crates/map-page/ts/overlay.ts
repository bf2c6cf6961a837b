// The vehicles, slots, trails, owned airspace and the grid, drawn on a canvas over the map (which is never turned, so that a place is two multiplications away).
// Owns: each frame. Must not: draw a vehicle where none was reported, or move one that is no longer reported.
import type { Map as MapLibreMap } from "maplibre-gl";
import { AirspaceShape } from "./airspace.ts";
import { Crowd } from "./crowd.ts";
import { between, free, gone, mercator, metersPerUnit, shorter, step, type Box } from "./geometry.ts";
import type { Airspace, Corner, Fleet, Vehicle } from "./model.ts";
import { colors, SHEET, SPRITE, Sprites } from "./sprites.ts";
import { meters, needsEyes } from "./words.ts";

const TRAIL = 40;
/** More vehicles have no trails, names and airspace but those that are selected, and are drawn as a crowd. */
const FEW = 300;
/** The line ahead of a vehicle is as long as it flies in this time, and no longer than so many pixels. */
const AHEAD = { seconds: 3, pixels: 50 };
interface Track { id: string; from: Corner; to: Corner; atMs: number; spanMs: number; trail: Corner[]; vehicle: Vehicle; sprite: number }
/** A vehicle in this frame: its track, where it is drawn, and whether it is selected. */
interface Drawn { track: Track; x: number; y: number; selected: boolean }

export class Overlay {
  readonly tracks = new Map<string, Track>();
  selected: ReadonlySet<string> = new Set();
  /** Frames drawn, for measuring. */
  frames = 0;
  fleet: Fleet | undefined;
  box: [Corner, Corner] | undefined;
  private readonly context: CanvasRenderingContext2D;
  private readonly airspace = new AirspaceShape();
  private readonly sprites = new Sprites();
  private readonly crowd: Crowd;
  /** The edition of the sprites whose numbers the tracks have. */
  private edition = 0;
  /** The slots of all formations. */
  private slots: { at: Corner; covered: boolean }[] = [];
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");

  constructor(private readonly map: MapLibreMap, private readonly canvas: HTMLCanvasElement, crowd: HTMLCanvasElement) {
    const context = canvas.getContext("2d");
    if (!context) throw new Error("this browser has no canvas");
    this.context = context;
    this.crowd = new Crowd(crowd);
  }

  /** A new document: only vehicles that were reported again move. */
  update(fleet: Fleet, now: number): void {
    if (this.fleet?.swarms !== fleet.swarms) {
      this.slots = Object.values(fleet.swarms).flatMap((swarm) => swarm.formation?.slots ?? []).map((slot) => ({ at: mercator(slot.longitudeDegrees, slot.latitudeDegrees), covered: slot.covered === true }));
    }
    this.fleet = fleet;
    for (const id of this.tracks.keys()) if (fleet.vehicles[id]?.latitudeDegrees === undefined) this.tracks.delete(id);
    for (const id of Object.keys(fleet.vehicles)) {
      const vehicle = fleet.vehicles[id];
      const track = this.tracks.get(id);
      if (!vehicle || vehicle === track?.vehicle || vehicle.latitudeDegrees === undefined || vehicle.longitudeDegrees === undefined) continue;
      if (!track) {
        const to = mercator(vehicle.longitudeDegrees, vehicle.latitudeDegrees);
        this.tracks.set(id, { id, from: to, to, atMs: now, spanMs: 0, trail: [to], vehicle, sprite: -1 });
        continue;
      }
      const { longitudeDegrees, latitudeDegrees } = track.vehicle;
      track.vehicle = vehicle;
      track.sprite = -1;
      if (longitudeDegrees === vehicle.longitudeDegrees && latitudeDegrees === vehicle.latitudeDegrees) continue;
      track.from = between(track.from, track.to, now - track.atMs, track.spanMs);
      track.spanMs = Math.min(1200, now - track.atMs);
      const to = mercator(vehicle.longitudeDegrees, vehicle.latitudeDegrees);
      // The shorter way around the Earth.
      track.to = [shorter(to[0], track.from[0], 1), to[1]];
      track.atMs = now;
      track.trail.push(track.to);
      if (track.trail.length > TRAIL) track.trail.shift();
    }
  }

  private transform(): { place: (at: Corner) => Corner; pixelsPerUnit: number; middle: number } {
    const center = this.map.getCenter();
    const [x, y] = mercator(center.lng, center.lat);
    const pixelsPerUnit = 512 * 2 ** this.map.getZoom();
    const width = this.canvas.clientWidth / 2;
    const height = this.canvas.clientHeight / 2;
    return { place: (at) => [(shorter(at[0], x, 1) - x) * pixelsPerUnit + width, (at[1] - y) * pixelsPerUnit + height], pixelsPerUnit, middle: x };
  }

  /** Where each vehicle is drawn, in pixels. */
  *places(now: number): Generator<[string, Corner]> {
    const { place } = this.transform();
    for (const [id, track] of this.tracks) yield [id, place(between(track.from, track.to, now - track.atMs, track.spanMs))];
  }

  draw(now: number): void {
    this.frames += 1;
    const { canvas, context, sprites } = this;
    const ratio = Math.min(2, devicePixelRatio);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const { ink, paper, blue } = colors(this.dark.matches);
    sprites.suit(ratio, this.dark.matches);
    const { place, pixelsPerUnit, middle } = this.transform();
    const few = this.tracks.size <= FEW;
    // Of thousands it would be one area without meaning: then that of those that are selected.
    const vehicles = this.fleet?.vehicles ?? {};
    const shown = few ? Object.values(vehicles) : this.selected.size <= FEW ? [...this.selected].map((id) => vehicles[id]) : [];
    this.airspace.update(shown.flatMap((vehicle): Airspace[] => (vehicle?.airspace ? [vehicle.airspace] : [])));
    this.airspace.draw(context, place, pixelsPerUnit, blue);
    this.grid(width, height, pixelsPerUnit, ink, paper);
    context.font = "600 12px system-ui, sans-serif";
    const label = (text: string, x: number, y: number): void => {
      context.lineWidth = 3;
      context.strokeStyle = paper;
      context.strokeText(text, x, y);
      context.fillStyle = ink;
      context.fillText(text, x, y);
    };
    const crowd = !few && this.crowd.ready();
    if (!crowd) this.crowd.hide();
    const cell = sprites.cell;
    const stamp = (number: number, x: number, y: number): void => {
      if (crowd) this.crowd.add(x, y, number);
      else {
        context.drawImage(sprites.canvas, (number % SHEET) * cell, Math.floor(number / SHEET) * cell, SPRITE * ratio, SPRITE * ratio,
          x - SPRITE / 2, y - SPRITE / 2, SPRITE, SPRITE);
      }
    };
    const outside = (x: number, y: number): boolean => x < -40 || y < -40 || x > width + 40 || y > height + 40;
    for (const { at, covered } of this.slots) {
      const [x, y] = place(at);
      if (!outside(x, y)) stamp(sprites.slot(covered), x, y);
    }
    for (const swarm of Object.values(this.fleet?.swarms ?? {})) {
      const anchor = swarm.formation?.anchor;
      if (!anchor) continue;
      const [x, y] = place(mercator(anchor.longitudeDegrees, anchor.latitudeDegrees));
      label(`⚓ ${swarm.name}`, x + 4, y + 26);
    }
    if (this.edition !== sprites.edition) {
      this.edition = sprites.edition;
      for (const track of this.tracks.values()) track.sprite = -1;
    }
    const marked: Drawn[] = [];
    const top = place([0, 0])[1];
    const anySelected = this.selected.size > 0;
    for (const track of this.tracks.values()) {
      const { from, to } = track;
      const share = gone(now - track.atMs, track.spanMs);
      const east = from[0] + (to[0] - from[0]) * share - middle;
      const x = (east - Math.round(east)) * pixelsPerUnit + width / 2;
      const y = (from[1] + (to[1] - from[1]) * share) * pixelsPerUnit + top;
      if (outside(x, y)) continue;
      if (track.sprite < 0) track.sprite = sprites.of(track.vehicle);
      const selected = anySelected && this.selected.has(track.id);
      if (few || selected) marked.push({ track, x, y, selected });
      if (crowd) this.crowd.add(x, y, track.sprite);
    }
    this.marks(marked, few || this.selected.size <= FEW, place, pixelsPerUnit, ink, blue);
    if (crowd) this.crowd.draw(width, height, ratio, sprites);
    else if (few) for (const { track, x, y } of marked) stamp(track.sprite, x, y);
    else for (const [id, [x, y]] of this.places(now)) { const sprite = this.tracks.get(id)?.sprite ?? -1; if (sprite >= 0) stamp(sprite, x, y); }
    if (few) this.names(marked, label);
    if (this.box) {
      const [[ax, ay], [bx, by]] = this.box;
      context.setLineDash([6, 4]);
      context.lineWidth = 2;
      context.strokeStyle = ink;
      context.strokeRect(ax, ay, bx - ax, by - ay);
      context.setLineDash([]);
    }
  }

  /** Below the symbols: where vehicles were, where they fly, and which of them are selected; one line for all of a kind. */
  private marks(marked: Drawn[], trails: boolean, place: (at: Corner) => Corner, pixelsPerUnit: number, ink: string, blue: string): void {
    if (marked.length === 0) return;
    const { context } = this;
    const stroke = (width: number, color: string): void => {
      context.lineWidth = width;
      context.strokeStyle = color;
      context.stroke();
      context.beginPath();
    };
    context.beginPath();
    if (trails) {
      for (const { track: { trail }, x, y } of marked) {
        if (trail.length < 2) continue;
        for (let at = 0; at < trail.length - 1; at += 1) {
          const [px, py] = place(trail[at] as Corner);
          if (at === 0) context.moveTo(px, py);
          else context.lineTo(px, py);
        }
        context.lineTo(x, y);
      }
      stroke(1.5, blue);
    }
    for (const { track: { vehicle }, x, y } of marked) this.ahead(vehicle, x, y, pixelsPerUnit);
    stroke(2, ink);
    for (const { x, y, selected } of marked) {
      if (!selected) continue;
      context.moveTo(x + 17, y);
      context.arc(x, y, 17, 0, 7);
    }
    stroke(3, blue);
  }

  /** Names where there is room, first of those that were selected or need eyes: these have one in any case. */
  private names(drawn: Drawn[], label: (text: string, x: number, y: number) => void): void {
    const taken: Box[] = drawn.map(({ x, y }) => [x - 11, y - 11, 22, 22]);
    const first = ({ track, selected }: Drawn): boolean => selected || needsEyes(track.vehicle);
    for (const one of [...drawn.filter(first), ...drawn.filter((one) => !first(one))]) {
      const { track: { vehicle }, selected, x, y } = one;
      if (this.map.getZoom() <= 14 && !selected) continue;
      const battery = vehicle.batteryPercent === undefined ? "" : ` ${Math.round(vehicle.batteryPercent)}%`;
      const text = `${needsEyes(vehicle) ? "⚠ " : ""}${vehicle.drone || vehicle.node}${battery}`;
      const width = this.context.measureText(text).width;
      const at = (left: number, top: number): Box => [left, top, width, 14];
      const right = at(x + 15, y - 7);
      const box = free([right, at(x - 15 - width, y - 7), at(x - width / 2, y + 15), at(x - width / 2, y - 29)], taken) ?? (first(one) ? right : undefined);
      if (!box) continue;
      taken.push(box);
      label(text, box[0], box[1] + 11);
    }
  }

  /** Adds to the path where it flies, which need not be where its nose points. */
  private ahead(vehicle: Vehicle, x: number, y: number, pixelsPerUnit: number): void {
    const { courseDegrees, speedMetersPerSecond, latitudeDegrees } = vehicle;
    if (courseDegrees === undefined || speedMetersPerSecond === undefined || latitudeDegrees === undefined) return;
    const length = Math.min(AHEAD.pixels, ((AHEAD.seconds * speedMetersPerSecond) / metersPerUnit(latitudeDegrees)) * pixelsPerUnit);
    const course = (courseDegrees * Math.PI) / 180;
    this.context.moveTo(x, y);
    this.context.lineTo(x + length * Math.sin(course), y - length * Math.cos(course));
  }

  private grid(width: number, height: number, pixelsPerUnit: number, ink: string, paper: string): void {
    const { context } = this;
    const center = this.map.getCenter();
    const perUnit = metersPerUnit(center.lat);
    const [cx, cy] = mercator(center.lng, center.lat);
    const size = step(perUnit / pixelsPerUnit, 80);
    const spacing = (size / perUnit) * pixelsPerUnit;
    if (!this.fleet?.about.basemap && this.map.getZoom() > 4) {
      // Fixed to the ground: the center of the whole degree's tenth is where lines begin.
      const [ox, oy] = mercator(Math.round(center.lng * 10) / 10, Math.round(center.lat * 10) / 10);
      const left = ((ox - cx) * pixelsPerUnit + width / 2) % spacing;
      const top = ((oy - cy) * pixelsPerUnit + height / 2) % spacing;
      context.globalAlpha = 0.14;
      context.strokeStyle = ink;
      context.lineWidth = 1;
      context.beginPath();
      for (let x = left - spacing; x < width + spacing; x += spacing) { context.moveTo(x, 0); context.lineTo(x, height); }
      for (let y = top - spacing; y < height + spacing; y += spacing) { context.moveTo(0, y); context.lineTo(width, y); }
      context.stroke();
      context.globalAlpha = 1;
    }
    context.font = "600 13px system-ui, sans-serif";
    context.fillStyle = paper;
    context.fillRect(10, height - 38, Math.max(spacing, 60) + 16, 30);
    context.fillStyle = ink;
    context.fillText(meters(size), 18, height - 20);
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(18, height - 20);
    context.moveTo(18, height - 18);
    context.lineTo(18, height - 13);
    context.lineTo(18 + spacing, height - 13);
    context.lineTo(18 + spacing, height - 18);
    context.stroke();
    context.fillText("▲ N", width - 40, 24);
  }
}
