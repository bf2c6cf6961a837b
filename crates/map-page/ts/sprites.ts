// The symbols of vehicles and slots, each painted once for each look and heading.
// Owns: what they look like, and the sheet that has them. Must not: say where one is drawn.
import type { Vehicle } from "./model.ts";
import { needsEyes } from "./words.ts";

/** A symbol is painted into a square of so many pixels of the page. */
export const SPRITE = 30;
/** Symbols in a row of the sheet, and its rows: all looks and headings that there are have room. */
export const SHEET = 32;
/** Headings are drawn to so many degrees. */
const STEP = 5;

/** The colors of the page. */
export interface Colors { ink: string; paper: string; blue: string; worry: string; still: string }
export const colors = (dark: boolean): Colors => dark
  ? { ink: "#f2f5f7", paper: "#11161b", blue: "#7cc0ff", worry: "#ffb270", still: "#aebbc6" }
  : { ink: "#10161c", paper: "#ffffff", blue: "#0b57a4", worry: "#a33b00", still: "#4a5763" };

/** Shape says what color says: an arrow points where the nose points, a circle has no known heading, a square is on the ground and has a nose, hollow is unknown or old. */
export interface Look { ground: boolean; heading: number | undefined; color: "worry" | "blue" | "still"; old: boolean }
export function look(vehicle: Vehicle): Look {
  return {
    ground: vehicle.flying === false,
    heading: vehicle.headingDegrees === undefined ? undefined : (Math.round(vehicle.headingDegrees / STEP) * STEP) % 360,
    color: needsEyes(vehicle) ? "worry" : vehicle.flying ? "blue" : "still",
    old: vehicle.flying === undefined || vehicle.link !== "Live" || !!vehicle.positionOldSinceAtMs,
  };
}

/** A number for each look, and for no two the same. */
export const key = ({ ground, heading, color, old }: Look): number =>
  ((heading === undefined ? 0 : 1 + heading / STEP) * 3 + (color === "worry" ? 2 : color === "blue" ? 1 : 0)) * 4 + (ground ? 2 : 0) + (old ? 1 : 0);
/** Keys of slots, which no look has. */
const SLOT = { covered: -1, free: -2 };

export class Sprites {
  /** All that were painted; the n-th is at column n % SHEET of row n / SHEET. */
  readonly canvas = document.createElement("canvas");
  /** Pixels of the sheet from one symbol to the next. */
  cell = 0;
  /** Changes when all have to be painted again. */
  edition = 0;
  private readonly context: CanvasRenderingContext2D;
  private readonly numbers = new Map<number, number>();
  private ratio = 0;
  private dark = false;
  private colors = colors(false);

  constructor() {
    // Its pixels are read, one symbol at a time, when they go to the graphics processor.
    const context = this.canvas.getContext("2d", { willReadFrequently: true });
    if (!context) throw new Error("this browser has no canvas");
    this.context = context;
  }

  /** How many there are. */
  get count(): number {
    return this.numbers.size;
  }

  /** For so many pixels of the screen to one of the page, and these colors; with others than before, all begins anew. */
  suit(ratio: number, dark: boolean): void {
    if (ratio === this.ratio && dark === this.dark) return;
    [this.ratio, this.dark, this.colors] = [ratio, dark, colors(dark)];
    this.cell = Math.ceil(SPRITE * ratio);
    this.canvas.width = this.canvas.height = SHEET * this.cell;
    this.numbers.clear();
    this.edition += 1;
  }

  of(vehicle: Vehicle): number {
    const shown = look(vehicle);
    const name = key(shown);
    return this.numbers.get(name) ?? this.paint(name, (context) => this.vehicle(context, shown));
  }

  slot(covered: boolean): number {
    const name = covered ? SLOT.covered : SLOT.free;
    return this.numbers.get(name) ?? this.paint(name, (context) => {
      context.setLineDash(covered ? [] : [3, 3]);
      context.lineWidth = 1.5;
      context.strokeStyle = this.colors.ink;
      context.arc(0, 0, 13, 0, 7);
      context.stroke();
      context.setLineDash([]);
    });
  }

  private paint(name: number, draw: (context: CanvasRenderingContext2D) => void): number {
    const number = this.numbers.size;
    this.numbers.set(name, number);
    const middle = (place: number): number => place * this.cell + (SPRITE * this.ratio) / 2;
    this.context.setTransform(this.ratio, 0, 0, this.ratio, middle(number % SHEET), middle(Math.floor(number / SHEET)));
    this.context.beginPath();
    draw(this.context);
    return number;
  }

  private vehicle(context: CanvasRenderingContext2D, { ground, heading, color: name, old }: Look): void {
    const { ink, paper } = this.colors;
    const color = this.colors[name];
    if (ground) {
      context.rect(-6, -6, 12, 12);
      if (heading !== undefined) nose(context, heading, color);
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
    context.strokeStyle = old ? color : name === "worry" ? ink : paper;
    context.fill();
    context.stroke();
  }
}

/** The nose of one on the ground, beyond the square that is drawn over it. */
function nose(context: CanvasRenderingContext2D, heading: number, color: string): void {
  const [east, north] = [Math.sin((heading * Math.PI) / 180), Math.cos((heading * Math.PI) / 180)];
  const line = new Path2D();
  line.lineTo(0, 0);
  line.lineTo(13 * east, -13 * north);
  context.lineWidth = 2.5;
  context.strokeStyle = color;
  context.stroke(line);
}
