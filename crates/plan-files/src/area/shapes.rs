//! ESRI Shapefile: the `.shp` file, and the `.prj` beside it.

use super::{AreaFile, MOST_CORNERS, RawArea, RawPolygon};
use ::geo::Coord;
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

/// Whether the file is the `.shx` beside a Shapefile: the same head, and then where each shape begins, from byte 100 on.
#[must_use]
pub fn is_index(bytes: &[u8], name: &str) -> bool {
    const FIRST_SHAPE: [u8; 4] = 50_u32.to_be_bytes();
    let is_named = name.to_ascii_lowercase().ends_with(".shx");
    let is_table = bytes.len() % 8 == 4 && bytes.get(100..104) == Some(FIRST_SHAPE.as_slice());
    is_one(bytes) && (is_named || is_table)
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

/// Ring in degrees, and the box around it.
struct Drawn {
    corners: Vec<Coord>,
    low: Coord,
    high: Coord,
}

impl Drawn {
    fn of(ring: &[Wgs84]) -> Self {
        let corner = |at: &Wgs84| Coord {
            x: at.longitude_deg,
            y: at.latitude_deg,
        };
        let corners: Vec<Coord> = ring.iter().map(corner).collect();
        let none = |degrees: f64| Coord { x: degrees, y: degrees };
        let low = corners.iter().fold(none(f64::INFINITY), |low, at| Coord {
            x: low.x.min(at.x),
            y: low.y.min(at.y),
        });
        let high = corners.iter().fold(none(f64::NEG_INFINITY), |high, at| Coord {
            x: high.x.max(at.x),
            y: high.y.max(at.y),
        });
        Self { corners, low, high }
    }

    /// A corner may lie on the ring around it, the middle of an edge may not.
    fn point(&self) -> Option<Coord> {
        let first = *self.corners.first()?;
        let other = self.corners.iter().find(|corner| **corner != first)?;
        Some((first + *other) / 2.0)
    }

    fn has(&self, point: Coord) -> bool {
        let in_box = (self.low.x..=self.high.x).contains(&point.x) && (self.low.y..=self.high.y).contains(&point.y);
        in_box && super::valid::contains(&self.corners, point)
    }

    fn size(&self) -> f64 {
        (self.high.x - self.low.x) * (self.high.y - self.low.y)
    }
}

/// A hole belongs to the smallest outer ring around it, which may come before or after.
fn polygons(rings: Vec<(bool, Vec<Wgs84>)>) -> Vec<RawPolygon> {
    let alone = |outer: Vec<Wgs84>| RawPolygon {
        outer,
        holes: Vec::new(),
    };
    let count: usize = rings.iter().map(|(_, ring)| ring.len()).sum();
    if count > MOST_CORNERS {
        // It is refused by that number, and to sort so many takes long.
        return rings.into_iter().map(|(_, ring)| alone(ring)).collect();
    }
    let drawn: Vec<Drawn> = rings.iter().map(|(_, ring)| Drawn::of(ring)).collect();
    let is_dot: Vec<bool> = drawn.iter().map(|ring| ring.point().is_none()).collect();
    let mut outer: Vec<bool> = rings
        .iter()
        .zip(&is_dot)
        .map(|((is_outer, _), is_dot)| *is_outer || *is_dot)
        .collect();
    let mut owners = owners(&drawn, &outer);
    if owners.contains(&None) {
        // Some programs do not mind the direction: each second ring around a point is the edge of a hole.
        outer = (0..drawn.len())
            .map(|number| depth(&drawn, number).is_multiple_of(2))
            .collect();
        owners = self::owners(&drawn, &outer);
    }
    let mut polygons: Vec<RawPolygon> = Vec::new();
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    let mut holes: Vec<(usize, Vec<Wgs84>)> = Vec::new();
    for (number, (_, ring)) in rings.into_iter().enumerate() {
        match owners.get(number).copied().flatten() {
            Some(owner) if owner != number => holes.push((owner, ring)),
            _ => {
                numbers.insert(number, polygons.len());
                polygons.push(alone(ring));
            }
        }
    }
    for (owner, hole) in holes {
        if let Some(polygon) = numbers.get(&owner).and_then(|number| polygons.get_mut(*number)) {
            polygon.holes.push(hole);
        }
    }
    polygons
}

/// Number of the outer ring to which each ring belongs; an outer one belongs to itself.
fn owners(drawn: &[Drawn], outer: &[bool]) -> Vec<Option<usize>> {
    let is_outer = |number: usize| outer.get(number) == Some(&true);
    let owner = |(number, ring): (usize, &Drawn)| {
        if is_outer(number) {
            return Some(number);
        }
        let point = ring.point()?;
        let around = drawn
            .iter()
            .enumerate()
            .filter(|(other, around)| is_outer(*other) && around.has(point));
        let smallest = around.min_by(|(_, one), (_, other)| one.size().total_cmp(&other.size()));
        smallest.map(|(other, _)| other)
    };
    drawn.iter().enumerate().map(owner).collect()
}

fn depth(drawn: &[Drawn], number: usize) -> usize {
    let Some(point) = drawn.get(number).and_then(Drawn::point) else {
        return 0;
    };
    let around = drawn.iter().enumerate();
    around
        .filter(|(other, around)| *other != number && around.has(point))
        .count()
}

/// Number after the name in each `keyword` of a text in WKT.
fn numbers<'a>(text: &'a str, keyword: &'a str) -> impl Iterator<Item = f64> + 'a {
    let parts = text.split(keyword).skip(1);
    parts.filter_map(|part| part.split([',', ']']).nth(1)?.trim().parse().ok())
}

/// Takes degrees of WGS 84 (WKT of a `.prj`), not meters or other datums.
fn check(text: &str) -> Result<(), BadShapes> {
    let text = text.trim();
    let upper = text.to_ascii_uppercase();
    let degrees = upper.starts_with("GEOGCS") || upper.starts_with("GEOGCRS") || upper.starts_with("GEODCRS");
    // Other datums name WGS 84, too: TOWGS84 says how far they are from it.
    let datum = ["DATUM[", "ENSEMBLE["].iter().find_map(|start| {
        let (_, rest) = upper.split_once(*start)?;
        rest.split('"').nth(1)
    });
    let datum = datum.or(upper.split('"').nth(1)).unwrap_or_default();
    let wgs = [
        "WGS_1984",
        "WGS 84",
        "WGS84",
        "WGS_84",
        "WGS 1984",
        "WORLD GEODETIC SYSTEM 1984",
        "WORLD_GEODETIC_SYSTEM_1984",
    ]
    .iter()
    .any(|name| datum.contains(name));
    // Grads, and degrees from Paris.
    let of_unit = |factor: f64| (factor - 1_f64.to_radians()).abs() < 1e-5 || (factor - 1.0).abs() < 1e-9;
    let usual = numbers(&upper, "UNIT[").all(of_unit) && numbers(&upper, "PRIMEM[").all(|east| east.abs() < 1e-9);
    if text.is_empty() || (degrees && wgs && usual) {
        return Ok(());
    }
    let name = text.split('"').nth(1).unwrap_or("another reference");
    Err(BadShapes::Reference(name.to_owned()))
}
