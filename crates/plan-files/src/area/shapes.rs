//! ESRI Shapefile: the `.shp` file, and the `.prj` beside it.

use super::{AreaFile, RawArea, RawPolygon};
use model::units::Wgs84;
use shapefile::{PolygonRing, Shape, ShapeReader};
use std::collections::BTreeMap;
use std::io::Cursor;

#[derive(Debug, thiserror::Error)]
pub enum BadShapes {
    #[error("the Shapefile cannot be read ({0}); save it again")]
    Broken(String),
    /// The missing part could be a polygon, and bytes after the end would not be read.
    #[error("the Shapefile says that it has {said} bytes, and has {got}; save or copy it again")]
    Length { said: u64, got: usize },
    #[error("the coordinates of the Shapefile are in {0:?} (its .prj file); save it in degrees (WGS 84, EPSG:4326)")]
    Reference(String),
}

#[must_use]
pub fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0, 0, 0x27, 0x0a]) && bytes.len() >= 100
}

pub fn read(bytes: &[u8], projection: Option<&str>) -> Result<AreaFile, BadShapes> {
    if let Some(text) = projection {
        check(text)?;
    }
    // In words of 16 bits, big-endian.
    if let Some(&[a, b, c, d]) = bytes.get(24..28) {
        let said = u64::from(u32::from_be_bytes([a, b, c, d])) * 2;
        if u64::try_from(bytes.len()).is_ok_and(|got| got != said) {
            let got = bytes.len();
            return Err(BadShapes::Length { said, got });
        }
    }
    let broken = |error: shapefile::Error| BadShapes::Broken(error.to_string());
    let shapes = ShapeReader::new(Cursor::new(bytes))
        .and_then(ShapeReader::read)
        .map_err(broken)?;
    let mut file = AreaFile::default();
    let mut others: BTreeMap<&'static str, usize> = BTreeMap::new();
    for shape in shapes {
        let rings: Vec<(bool, Vec<Wgs84>)> = match &shape {
            Shape::Polygon(polygon) => polygon
                .rings()
                .iter()
                .map(|ring| flat(ring, |point| (point.x, point.y)))
                .collect(),
            Shape::PolygonM(polygon) => polygon
                .rings()
                .iter()
                .map(|ring| flat(ring, |point| (point.x, point.y)))
                .collect(),
            Shape::PolygonZ(polygon) => polygon
                .rings()
                .iter()
                .map(|ring| flat(ring, |point| (point.x, point.y)))
                .collect(),
            Shape::NullShape => continue,
            Shape::Point(_)
            | Shape::PointM(_)
            | Shape::PointZ(_)
            | Shape::Multipoint(_)
            | Shape::MultipointM(_)
            | Shape::MultipointZ(_) => {
                *others.entry("points").or_default() += 1;
                continue;
            }
            Shape::Polyline(_) | Shape::PolylineM(_) | Shape::PolylineZ(_) | Shape::Multipatch(_) => {
                *others.entry("lines").or_default() += 1;
                continue;
            }
        };
        file.areas.push(RawArea {
            name: None,
            polygons: polygons(rings),
        });
    }
    file.not_taken = others
        .into_iter()
        .map(|(kind, count)| format!("{kind}: {count}"))
        .collect();
    Ok(file)
}

fn flat<P>(ring: &PolygonRing<P>, xy: impl Fn(&P) -> (f64, f64)) -> (bool, Vec<Wgs84>) {
    let place = |point: &P| {
        let (longitude_deg, latitude_deg) = xy(point);
        Wgs84 {
            latitude_deg,
            longitude_deg,
        }
    };
    let is_outer = matches!(ring, PolygonRing::Outer(_));
    (is_outer, ring.points().iter().map(place).collect())
}

/// A hole belongs to the outer ring around it, which may come before or after.
fn polygons(rings: Vec<(bool, Vec<Wgs84>)>) -> Vec<RawPolygon> {
    let (outers, holes): (Vec<_>, Vec<_>) = rings.into_iter().partition(|(is_outer, _)| *is_outer);
    let mut polygons: Vec<RawPolygon> = outers
        .into_iter()
        .map(|(_, outer)| RawPolygon {
            outer,
            holes: Vec::new(),
        })
        .collect();
    for (_, hole) in holes {
        let around = |polygon: &RawPolygon| {
            let coords = |ring: &[Wgs84]| {
                ring.iter()
                    .map(|at| ::geo::Coord {
                        x: at.longitude_deg,
                        y: at.latitude_deg,
                    })
                    .collect::<Vec<_>>()
            };
            coords(&hole)
                .first()
                .is_some_and(|point| super::valid::contains(&coords(&polygon.outer), *point))
        };
        let index = polygons.iter().position(around).unwrap_or_default();
        match polygons.get_mut(index) {
            Some(polygon) => polygon.holes.push(hole),
            // All rings run the other way: some programs write holes only.
            None => polygons.push(RawPolygon {
                outer: hole,
                holes: Vec::new(),
            }),
        }
    }
    polygons
}

/// Takes degrees of WGS 84 (WKT of a `.prj`), not meters or other datums.
fn check(text: &str) -> Result<(), BadShapes> {
    let text = text.trim();
    let upper = text.to_ascii_uppercase();
    let degrees = upper.starts_with("GEOGCS") || upper.starts_with("GEOGCRS") || upper.starts_with("GEODCRS");
    let wgs = ["WGS_1984", "WGS 84", "WGS84", "WGS_84"]
        .iter()
        .any(|name| upper.contains(name));
    if text.is_empty() || (degrees && wgs) {
        return Ok(());
    }
    let name = text.split('"').nth(1).unwrap_or("another reference");
    Err(BadShapes::Reference(name.to_owned()))
}
