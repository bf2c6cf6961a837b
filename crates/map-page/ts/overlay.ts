// The vehicles, slots, trails, owned airspace and the grid, drawn on a canvas over the map (which is never turned, so that a place is two multiplications away).
// Owns: each frame. Must not: draw a vehicle where none was reported, or move one that is no longer reported.
import type { Map as MapLibreMap } from "maplibre-gl";
import { AirspaceShape } from "./airspace.ts";
import { between, free, mercator, metersPerUnit, shorter, step, type Box } from "./geometry.ts";
import type { Airspace, Corner, Fleet, Vehicle } from "./model.ts";
import { meters, needsEyes } from "./words.ts";

const TRAIL = 40;
const SPRITE = 30;
/** Sprites in a row of their sheet, and its rows. */
const SHEET = 32;
/** The line ahead of a vehicle is as long as it flies in this time, and no longer than so many pixels. */
const AHEAD = { seconds: 3, pixels: 50 };
interface Track { from: Corner; to: Corner; atMs: number; spanMs: number; trail: Corner[]; vehicle: Vehicle; sprite?: { of: Vehicle; number: number } }

export class Overlay {
  readonly tracks = new Map<string, Track>();
  selected: ReadonlySet<string> = new Set();
  /** Frames drawn, for measuring. */
  frames = 0;
  fleet: Fleet | undefined;
  box: [Corner, Corner] | undefined;
  private readonly context: CanvasRenderingContext2D;
  private readonly airspace = new AirspaceShape();
  /** All sprites, on one canvas. */
  private readonly sheet = document.createElement("canvas");
  private readonly sprites = new Map<string, number>();
  private sheetFor = "";
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");

  constructor(private readonly map: MapLibreMap, private readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d");
    if (!context) throw new Error("this browser has no canvas");
    this.context = context;
  }

  /** A new document: only vehicles that were reported again move. */
  update(fleet: Fleet, now: number): void {
    this.fleet = fleet;
    for (const id of this.tracks.keys()) if (fleet.vehicles[id]?.latitudeDegrees === undefined) this.tracks.delete(id);
    for (const [id, vehicle] of Object.entries(fleet.vehicles)) {
      const track = this.tracks.get(id);
      if (vehicle === track?.vehicle || vehicle.latitudeDegrees === undefined || vehicle.longitudeDegrees === undefined) continue;
      const to = mercator(vehicle.longitudeDegrees, vehicle.latitudeDegrees);
      if (!track) this.tracks.set(id, { from: to, to, atMs: now, spanMs: 0, trail: [to], vehicle });
      else {
        track.vehicle = vehicle;
        if (shorter(to[0], track.to[0], 1) === track.to[0] && to[1] === track.to[1]) continue;
        track.from = between(track.from, track.to, now - track.atMs, track.spanMs);
        track.spanMs = Math.min(1200, now - track.atMs);
        // The shorter way around the Earth.
        track.to = [shorter(to[0], track.from[0], 1), to[1]];
        track.atMs = now;
        track.trail.push(track.to);
        if (track.trail.length > TRAIL) track.trail.shift();
      }
    }
  }

  private transform(): { place: (at: Corner) => Corner; pixelsPerUnit: number } {
    const center = this.map.getCenter();
    const [x, y] = mercator(center.lng, center.lat);
    const pixelsPerUnit = 512 * 2 ** this.map.getZoom();
    const width = this.canvas.clientWidth / 2;
    const height = this.canvas.clientHeight / 2;
    return { place: (at) => [(shorter(at[0], x, 1) - x) * pixelsPerUnit + width, (at[1] - y) * pixelsPerUnit + height], pixelsPerUnit };
  }

  /** Where each vehicle is drawn, in pixels. */
  *places(now: number): Generator<[string, Corner]> {
    const { place } = this.transform();
    for (const [id, track] of this.tracks) yield [id, place(between(track.from, track.to, now - track.atMs, track.spanMs))];
  }

  draw(now: number): void {
    this.frames += 1;
    const { canvas, context } = this;
    const ratio = Math.min(2, devicePixelRatio);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const dark = this.dark.matches;
    const ink = dark ? "#f2f5f7" : "#10161c";
    const paper = dark ? "#11161b" : "#ffffff";
    const sheetFor = `${ratio} ${dark}`;
    if (this.sheetFor !== sheetFor) this.newSheet(sheetFor);
    const cell = this.sheet.width / SHEET;
    const { place, pixelsPerUnit } = this.transform();
    const few = this.tracks.size <= 300;
    const blue = dark ? "#7cc0ff" : "#0b57a4";
    // Of thousands it would be one area without meaning: then that of those that are selected.
    const vehicles = this.fleet?.vehicles ?? {};
    const shown = few ? Object.values(vehicles) : this.selected.size <= 300 ? [...this.selected].map((id) => vehicles[id]) : [];
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
    for (const swarm of Object.values(this.fleet?.swarms ?? {})) {
      for (const slot of swarm.formation?.slots ?? []) {
        const [x, y] = place(mercator(slot.longitudeDegrees, slot.latitudeDegrees));
        context.beginPath();
        context.setLineDash(slot.covered ? [] : [3, 3]);
        context.lineWidth = 1.5;
        context.strokeStyle = ink;
        context.arc(x, y, 13, 0, 7);
        context.stroke();
      }
      const anchor = swarm.formation?.anchor;
      context.setLineDash([]);
      if (anchor) {
        const [x, y] = place(mercator(anchor.longitudeDegrees, anchor.latitudeDegrees));
        label(`⚓ ${swarm.name}`, x + 4, y + 26);
      }
    }
    const drawn: [Vehicle, boolean, number, number][] = [];
    for (const [id, track] of this.tracks) {
      const [x, y] = place(between(track.from, track.to, now - track.atMs, track.spanMs));
      if (x < -40 || y < -40 || x > width + 40 || y > height + 40) continue;
      const { vehicle } = track;
      const selected = this.selected.has(id);
      if ((few || (selected && this.selected.size <= 300)) && track.trail.length > 1) {
        context.beginPath();
        for (const point of track.trail.slice(0, -1)) context.lineTo(...place(point));
        context.lineTo(x, y);
        context.lineWidth = 1.5;
        context.strokeStyle = blue;
        context.stroke();
      }
      if (few || selected) this.ahead(vehicle, x, y, pixelsPerUnit, ink);
      if (selected) {
        context.beginPath();
        context.arc(x, y, 17, 0, 7);
        context.lineWidth = 3;
        context.strokeStyle = blue;
        context.stroke();
      }
      if (track.sprite?.of !== vehicle) track.sprite = { of: vehicle, number: this.symbol(vehicle, ink, paper, dark) };
      const { number } = track.sprite;
      context.drawImage(this.sheet, (number % SHEET) * cell, Math.floor(number / SHEET) * cell, SPRITE * ratio, SPRITE * ratio,
        x - SPRITE / 2, y - SPRITE / 2, SPRITE, SPRITE);
      if (few) drawn.push([vehicle, selected, x, y]);
    }
    if (few) this.names(drawn, label);
    if (this.box) {
      const [[ax, ay], [bx, by]] = this.box;
      context.setLineDash([6, 4]);
      context.lineWidth = 2;
      context.strokeStyle = ink;
      context.strokeRect(ax, ay, bx - ax, by - ay);
      context.setLineDash([]);
    }
  }

  /** Names where there is room, first of those that were selected or need eyes: these have one in any case. */
  private names(drawn: [Vehicle, boolean, number, number][], label: (text: string, x: number, y: number) => void): void {
    const taken: Box[] = drawn.map(([, , x, y]) => [x - 11, y - 11, 22, 22]);
    const first = ([vehicle, selected]: [Vehicle, boolean, number, number]): boolean => selected || needsEyes(vehicle);
    for (const one of [...drawn.filter(first), ...drawn.filter((one) => !first(one))]) {
      const [vehicle, selected, x, y] = one;
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

  /** Where it flies, which need not be where its nose points. */
  private ahead(vehicle: Vehicle, x: number, y: number, pixelsPerUnit: number, ink: string): void {
    const { courseDegrees, speedMetersPerSecond, latitudeDegrees } = vehicle;
    if (courseDegrees === undefined || speedMetersPerSecond === undefined || latitudeDegrees === undefined) return;
    const length = Math.min(AHEAD.pixels, ((AHEAD.seconds * speedMetersPerSecond) / metersPerUnit(latitudeDegrees)) * pixelsPerUnit);
    const course = (courseDegrees * Math.PI) / 180;
    this.context.beginPath();
    this.context.moveTo(x, y);
    this.context.lineTo(x + length * Math.sin(course), y - length * Math.cos(course));
    this.context.lineWidth = 2;
    this.context.strokeStyle = ink;
    this.context.stroke();
  }

  /** Shape says what color says: an arrow points where the nose points, a circle has no known heading, a square is on the ground and has a nose, hollow is unknown or old. */
  private symbol(vehicle: Vehicle, ink: string, paper: string, dark: boolean): number {
    const old = vehicle.flying === undefined || vehicle.link !== "Live" || !!vehicle.positionOldSinceAtMs;
    const worry = needsEyes(vehicle);
    const color = worry ? (dark ? "#ffb270" : "#a33b00") : vehicle.flying ? (dark ? "#7cc0ff" : "#0b57a4") : dark ? "#aebbc6" : "#4a5763";
    // Painted once for each look and heading.
    const heading = vehicle.headingDegrees === undefined ? undefined : Math.round(vehicle.headingDegrees / 5) * 5;
    const key = `${vehicle.flying === false} ${heading} ${color} ${old}`;
    const known = this.sprites.get(key);
    if (known !== undefined) return known;
    if (this.sprites.size === SHEET * SHEET) this.newSheet(this.sheetFor);
    const number = this.sprites.size;
    this.sprites.set(key, number);
    const context = this.sheet.getContext("2d");
    if (!context) return number;
    const ratio = Number.parseFloat(this.sheetFor);
    const middle = (place: number): number => place * (this.sheet.width / SHEET) + (SPRITE * ratio) / 2;
    context.setTransform(ratio, 0, 0, ratio, middle(number % SHEET), middle(Math.floor(number / SHEET)));
    context.beginPath();
    if (vehicle.flying === false) {
      context.rect(-6, -6, 12, 12);
      if (heading !== undefined) this.nose(context, heading, color);
    } else if (heading === undefined) context.arc(0, 0, 7, 0, 7);
    else {
      context.rotate((heading * Math.PI) / 180);
      context.moveTo(0, -11);
      context.lineTo(8, 9);
      context.lineTo(0, 5);
      context.lineTo(-8, 9);
      context.closePath();
    }
    context.fillStyle = old ? paper : color;
    context.lineWidth = old ? 2.5 : 1.5;
    context.strokeStyle = old ? color : worry ? ink : paper;
    context.fill();
    context.stroke();
    return number;
  }

  /** An empty sheet; all sprites are painted again. */
  private newSheet(sheetFor: string): void {
    this.sheetFor = sheetFor;
    this.sheet.width = this.sheet.height = SHEET * Math.ceil(SPRITE * Number.parseFloat(sheetFor));
    this.sprites.clear();
    for (const track of this.tracks.values()) delete track.sprite;
  }

  /** The nose of one on the ground, beyond the square that is drawn over it. */
  private nose(context: CanvasRenderingContext2D, heading: number, color: string): void {
    const [east, north] = [Math.sin((heading * Math.PI) / 180), Math.cos((heading * Math.PI) / 180)];
    const nose = new Path2D();
    nose.lineTo(0, 0);
    nose.lineTo(13 * east, -13 * north);
    context.lineWidth = 2.5;
    context.strokeStyle = color;
    context.stroke(nose);
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
