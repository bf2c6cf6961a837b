// Files that are one Shapefile. Owns: which they are, by their names. Must not: read one.

/** Endings of what stands beside a .shp under its name; ArcGIS writes field.shp.xml. */
const BESIDE = /^\.(shx|dbf|prj|cpg|qpj|qmd|qml|qix|sbn|sbx|fbn|fbx|atx|shp\.xml)$/;

/** The .shp of files that are one Shapefile, and the .prj beside it. */
export function shapefileOf<T extends { name: string }>(files: T[]): { shapes: T; reference: T | undefined } | undefined {
  const name = (file: T): string => file.name.toLowerCase();
  const shapes = files.find((file) => name(file).endsWith(".shp"));
  if (!shapes) return undefined;
  const own = name(shapes).slice(0, -".shp".length);
  const isPart = (file: T): boolean => name(file).startsWith(own) && BESIDE.test(name(file).slice(own.length));
  if (!files.every((file) => file === shapes || isPart(file))) return undefined;
  return { shapes, reference: files.find((file) => name(file) === `${own}.prj`) };
}
