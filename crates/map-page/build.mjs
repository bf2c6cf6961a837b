// Builds the page into dist/, and its tests into node_modules/.tests/ when called with `test`.
// Owns: what is bundled, and under which names. Must not: fetch anything.
import { cp, mkdir, rm } from "node:fs/promises";
import { build } from "esbuild";

const common = { bundle: true, format: "esm", target: "es2022", legalComments: "none", logLevel: "warning" };
if (process.argv[2] === "test") {
  await build({ ...common, entryPoints: ["test/pure.test.ts"], platform: "node", outdir: "node_modules/.tests", outExtension: { ".js": ".mjs" } });
} else {
  await rm("dist", { recursive: true, force: true });
  await mkdir("dist/assets", { recursive: true });
  await build({ ...common, minify: true, outdir: "dist/assets", entryPoints: { page: "ts/main.ts" } });
  await build({ ...common, minify: true, outfile: "dist/assets/worker.js", entryPoints: ["node_modules/maplibre-gl/dist/maplibre-gl-worker.mjs"] });
  await cp("index.html", "dist/index.html");
  await cp("favicon.svg", "dist/assets/favicon.svg");
}
