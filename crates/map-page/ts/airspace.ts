// The airspace that vehicles own, drawn below all else as one area.
// Owns: its shape, made again only when what is owned has changed. Must not: say which vehicle owns what; the words of the lists do.
import { around, mercator, metersPerUnit, shorter } from "./geometry.ts";
import type { Airspace, Corner } from "./model.ts";

/** The shape is kept in these parts of a unit, small enough to be exact as the canvas keeps it. */
const PER_UNIT = 40_000_000;

export class AirspaceShape {
  private shown: readonly Airspace[] = [];
  private path = new Path2D();
  private origin: Corner = [0, 0];

  update(owned: readonly Airspace[]): void {
    if (owned.length === this.shown.length && owned.every((each, at) => each === this.shown[at])) return;
    this.shown = owned;
    this.path = new Path2D();
    const pieces = owned.flatMap((each) => each.pieces ?? []);
    const first = pieces[0]?.core[0];
    if (first) this.origin = mercator(...first);
    for (const piece of pieces) {
      const core = piece.core.map((at) => mercator(...at)).map(([x, y]): Corner => [(shorter(x, this.origin[0], 1) - this.origin[0]) * PER_UNIT, (y - this.origin[1]) * PER_UNIT]);
      const radius = (piece.radiusMeters / metersPerUnit(piece.core[0]?.[1] ?? 0)) * PER_UNIT;
      around(core, radius).forEach((corner, at) => (at === 0 ? this.path.moveTo(...corner) : this.path.lineTo(...corner)));
      this.path.closePath();
    }
  }

  /** On a canvas on which nothing is drawn yet. */
  draw(context: CanvasRenderingContext2D, place: (at: Corner) => Corner, pixelsPerUnit: number, color: string): void {
    if (this.shown.length === 0) return;
    const scale = pixelsPerUnit / PER_UNIT;
    const [x, y] = place(this.origin);
    context.save();
    context.transform(scale, 0, 0, scale, x, y);
    // The edge of all together: of lines around each piece, that outside of all pieces.
    context.lineWidth = 4 / scale;
    context.setLineDash([2 / scale, 3 / scale]);
    context.strokeStyle = color;
    context.stroke(this.path);
    context.globalCompositeOperation = "destination-out";
    context.fill(this.path);
    context.globalCompositeOperation = "source-over";
    context.globalAlpha = 0.13;
    context.fillStyle = color;
    context.fill(this.path);
    context.restore();
  }
}
