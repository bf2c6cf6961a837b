// Thousands of symbols at once: one call to the graphics processor, on a canvas above the overlay.
// Owns: WebGL for them. Must not: know what they are. Where there is no WebGL, they are drawn on the overlay one by one.
import { SHEET, SPRITE, type Sprites } from "./sprites.ts";

const VERTEX = `#version 300 es
in vec3 symbol; // its middle in pixels of the page, and its number in the sheet
uniform vec2 page;
uniform vec2 sizes; // of a symbol in pixels of the page; how much of its cell it fills
out vec2 place;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 at = symbol.xy + (corner - 0.5) * sizes.x;
  gl_Position = vec4(at.x / page.x * 2.0 - 1.0, 1.0 - at.y / page.y * 2.0, 0.0, 1.0);
  float row = floor((symbol.z + 0.5) / ${SHEET}.0);
  place = (vec2(symbol.z - row * ${SHEET}.0, row) + corner * sizes.y) / ${SHEET}.0;
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec2 place;
uniform sampler2D sheet;
out vec4 color;
void main() { color = texture(sheet, place); }`;

/** What is on the graphics processor. */
interface Loaded { gl: WebGL2RenderingContext; buffer: WebGLBuffer; room: number; page: WebGLUniformLocation | null; sizes: WebGLUniformLocation | null; edition: number; count: number }

export class Crowd {
  private loaded: Loaded | undefined;
  private failed = false;
  /** For each symbol: x, y, number. */
  private symbols = new Float32Array(3 * 1024);
  private length = 0;

  constructor(private readonly canvas: HTMLCanvasElement) {
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      this.loaded = undefined;
      this.failed = true;
    });
    canvas.addEventListener("webglcontextrestored", () => { this.failed = false; });
  }

  /** Whether it can draw. */
  ready(): boolean {
    if (!this.loaded && !this.failed) {
      this.loaded = load(this.canvas);
      this.failed = !this.loaded;
    }
    return this.loaded !== undefined;
  }

  hide(): void {
    this.canvas.hidden = true;
  }

  add(x: number, y: number, number: number): void {
    if (this.length + 3 > this.symbols.length) {
      const more = new Float32Array(2 * this.symbols.length);
      more.set(this.symbols);
      this.symbols = more;
    }
    this.symbols[this.length] = x;
    this.symbols[this.length + 1] = y;
    this.symbols[this.length + 2] = number;
    this.length += 3;
  }

  /** Draws what was added since the last time, the first at the bottom. */
  draw(width: number, height: number, ratio: number, sprites: Sprites): void {
    const { loaded, canvas, length } = this;
    this.length = 0;
    if (!loaded) return;
    canvas.hidden = false;
    const { gl } = loaded;
    const size = [Math.round(width * ratio), Math.round(height * ratio)] as const;
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    this.paint(loaded, sprites);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (length === 0) return;
    if (loaded.room < length) {
      loaded.room = this.symbols.length;
      gl.bufferData(gl.ARRAY_BUFFER, 4 * loaded.room, gl.DYNAMIC_DRAW);
    }
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, this.symbols, 0, length);
    gl.uniform2f(loaded.page, width, height);
    gl.uniform2f(loaded.sizes, SPRITE, (SPRITE * ratio) / sprites.cell);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, length / 3);
  }

  /** Brings the symbols there that were painted since. */
  private paint(loaded: Loaded, sprites: Sprites): void {
    const { gl } = loaded;
    const { cell } = sprites;
    if (loaded.edition !== sprites.edition) {
      [loaded.edition, loaded.count] = [sprites.edition, 0];
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, SHEET * cell, SHEET * cell, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    }
    const context = loaded.count < sprites.count ? sprites.canvas.getContext("2d") : null;
    for (; context && loaded.count < sprites.count; loaded.count += 1) {
      const [x, y] = [(loaded.count % SHEET) * cell, Math.floor(loaded.count / SHEET) * cell];
      gl.texSubImage2D(gl.TEXTURE_2D, 0, x, y, gl.RGBA, gl.UNSIGNED_BYTE, context.getImageData(x, y, cell, cell));
    }
  }
}

function load(canvas: HTMLCanvasElement): Loaded | undefined {
  const gl = canvas.getContext("webgl2", { antialias: false, depth: false });
  if (!gl) return undefined;
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(kind);
    if (!shader) return undefined;
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  const buffer = gl.createBuffer();
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return undefined;
  gl.useProgram(program);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  const symbol = gl.getAttribLocation(program, "symbol");
  gl.enableVertexAttribArray(symbol);
  gl.vertexAttribPointer(symbol, 3, gl.FLOAT, false, 0, 0);
  gl.vertexAttribDivisor(symbol, 1);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, true);
  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  return { gl, buffer, room: 0, page: gl.getUniformLocation(program, "page"), sizes: gl.getUniformLocation(program, "sizes"), edition: -1, count: 0 };
}
