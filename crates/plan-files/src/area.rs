//! Areas as people have them: polygons with holes of GeoJSON, KML and Shapefile, of any number of corners.
//!
//! Owns: the formats ([`geojson`], [`kml`], [`shapes`]); faults of a polygon ([`valid`]); fewer corners ([`simplify`]);
//! a survey in pieces (`divide`). Must not: know what is flown over an area. What is *allowed* shrinks: the outside of
//! an area moves inward and its holes outward, the outside of a forbidden place outward.

mod divide;
pub mod geojson;
pub mod kml;
pub mod shapes;
pub mod simplify;
pub mod valid;

use crate::{at, meters};
use ::geo::{Coord, LineString, MultiPolygon, Polygon, unary_union};
use divide::{Fitted, corners, fitted};
use model::geo::{Frame, HIGHEST_LATITUDE, Local, REACH, offset, shifted};
use model::units::{AltitudeAmsl, Wgs84};
use rstar::{AABB, RTree, RTreeObject};
use valid::{Fault, Rings};

pub const MOST_CORNERS: usize = 100_000;

pub const SMALLEST_M2: f64 = fleet::planning::mission::area::MIN_AREA_M2;

/// Each becomes an object of its own.
pub const MOST_AREAS: usize = 1000;

const SAME_CORNER_M: f64 = 0.01;

/// Corners of neighbors are snapped to this grid before they are united.
const GRID_M: f64 = 0.001;

const UNITED_AT_ONCE: usize = 16;

/// Edges whose boxes meet, counted from both: more in one step are not united.
const MOST_CROSSINGS: usize = 2_000_000;

/// Rings may repeat their first corner at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawPolygon {
    pub outer: Vec<Wgs84>,
    pub holes: Vec<Vec<Wgs84>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawArea {
    pub name: Option<String>,
    pub polygons: Vec<RawPolygon>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AreaFile {
    pub areas: Vec<RawArea>,
    pub not_taken: Vec<String>,
}

impl AreaFile {
    fn corners(&self) -> usize {
        let polygons = self.areas.iter().flat_map(|area| &area.polygons);
        polygons
            .map(|polygon| polygon.outer.len() + polygon.holes.iter().map(Vec::len).sum::<usize>())
            .sum()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Survey,
    Inclusion,
    Exclusion,
}

impl Purpose {
    /// Corners: of a survey in total, of a fence for each ring.
    const fn most(self) -> usize {
        match self {
            Self::Survey => fleet::planning::mission::area::MAX_CORNERS,
            Self::Inclusion | Self::Exclusion => 255,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    pub name: Option<String>,
    /// Open ring, like the holes.
    pub outer: Vec<Wgs84>,
    pub holes: Vec<Vec<Wgs84>>,
    /// Area without holes.
    pub square_meters: f64,
    pub notes: Vec<String>,
}

impl Area {
    #[must_use]
    pub fn corners(&self) -> usize {
        self.outer.len() + self.holes.iter().map(Vec::len).sum::<usize>()
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadArea {
    #[error(
        "{what}: corner {corner} is at latitude {latitude}, longitude {longitude}, which is no position; {}",
        crate::position_advice(*.latitude, *.longitude, "save the file in degrees (WGS 84, EPSG:4326)")
    )]
    NoPosition {
        what: String,
        corner: usize,
        latitude: f64,
        longitude: f64,
    },
    #[error(
        "{what}: latitude {latitude:.4} is too near to a pole; Skein flies between {HIGHEST_LATITUDE}° south and {HIGHEST_LATITUDE}° north"
    )]
    Polar { what: String, latitude: f64 },
    #[error("{what}: a corner ({corner}) is {distance} from the middle, and a site reaches {reach}; divide the area", distance = crate::check::beyond_reach(*.distance), reach = meters(REACH))]
    Far {
        what: String,
        corner: String,
        distance: f64,
    },
    #[error("{what}: {fault}")]
    Fault { what: String, fault: Fault },
    /// Polygons that are all slivers, or fully covered by their holes.
    #[error("{what} has no part larger than {SMALLEST_M2} m²; draw its corners again")]
    Nothing { what: String },
    /// Corners left after the outline was simplified as far as its purpose allows.
    #[error("{what} has {got} corners and cannot be drawn with {most}; divide it")]
    TooMany { what: String, got: usize, most: usize },
    #[error(
        "{what}: the edges of its polygons cross one another too often to be united; unite the polygons where they were drawn"
    )]
    Tangled { what: String },
    #[error("the file has {0} corners, more than {MOST_CORNERS}; divide it")]
    TooManyCorners(usize),
    #[error(
        "the file has {0} areas, and each would become an object; import at most {MOST_AREAS} at once, or unite those that are flown together"
    )]
    TooManyAreas(usize),
    #[error("the file has no polygon{0}; draw the area as a polygon")]
    NoPolygon(String),
}

/// Valid areas, united where their parts touch, with no more corners than can be used.
pub fn prepare(file: &AreaFile, purpose: Purpose) -> Result<Vec<Area>, Vec<BadArea>> {
    if file.areas.is_empty() {
        let others = if file.not_taken.is_empty() {
            String::new()
        } else {
            format!(" ({})", file.not_taken.join(", "))
        };
        return Err(vec![BadArea::NoPolygon(others)]);
    }
    if file.corners() > MOST_CORNERS {
        return Err(vec![BadArea::TooManyCorners(file.corners())]);
    }
    if file.areas.len() > MOST_AREAS {
        return Err(vec![BadArea::TooManyAreas(file.areas.len())]);
    }
    let (mut ready, mut wrong) = (Vec::new(), Vec::new());
    for (number, area) in file.areas.iter().enumerate() {
        let what = match &area.name {
            Some(name) => format!("area {name:?}"),
            None if file.areas.len() == 1 => "the area".to_owned(),
            None => format!("area {}", number + 1),
        };
        match one(area, &what, purpose) {
            Ok(areas) => ready.extend(areas),
            Err(error) => wrong.push(error),
        }
    }
    if ready.len() > MOST_AREAS {
        wrong.push(BadArea::TooManyAreas(ready.len()));
    }
    if wrong.is_empty() { Ok(ready) } else { Err(wrong) }
}

/// Web maps that were scrolled around the Earth have longitudes beyond 180°, as have areas that are drawn across it.
fn turned(area: &RawArea) -> Option<RawArea> {
    let all = || {
        let polygons = area.polygons.iter();
        polygons.flat_map(|polygon| std::iter::once(&polygon.outer).chain(&polygon.holes).flatten())
    };
    let is_position = |at: &Wgs84| at.latitude_deg.abs() <= 90.0 && at.longitude_deg.abs() <= 540.0;
    if !all().all(is_position) || !all().any(|at| at.longitude_deg.abs() > 180.0) {
        return None;
    }
    let turn = |at: &Wgs84| Wgs84 {
        latitude_deg: at.latitude_deg,
        longitude_deg: at.longitude_deg - 360.0 * (at.longitude_deg / 360.0).round(),
    };
    let polygons = area.polygons.iter().map(|polygon| RawPolygon {
        outer: polygon.outer.iter().map(turn).collect(),
        holes: polygon
            .holes
            .iter()
            .map(|hole| hole.iter().map(turn).collect())
            .collect(),
    });
    Some(RawArea {
        name: area.name.clone(),
        polygons: polygons.collect(),
    })
}

fn position(frame: &Frame, point: Coord) -> Wgs84 {
    let local = Local {
        east: point.x,
        north: point.y,
        up: 0.0,
    };
    frame.position(local).0
}

fn one(area: &RawArea, what: &str, purpose: Purpose) -> Result<Vec<Area>, BadArea> {
    let turned = turned(area);
    let mut notes = Vec::new();
    if turned.is_some() {
        notes.push(format!(
            "{what}: longitudes beyond 180° were turned by 360°, as a map has them that was scrolled around the Earth"
        ));
    }
    let area = turned.as_ref().unwrap_or(area);
    let frame = frame(area, what)?;
    let mut valid: Vec<Rings> = Vec::new();
    let several = area.polygons.len() > 1;
    let mut slivers = 0;
    for (number, polygon) in area.polygons.iter().enumerate() {
        let mut rings = vec![ring(&frame, &polygon.outer, what)?];
        for hole in &polygon.holes {
            rings.push(ring(&frame, hole, what)?);
        }
        let rings = Rings(rings);
        let outer = rings.0.first().map_or(&[][..], Vec::as_slice);
        if outer.len() < 3 || valid::area(outer).abs() < SMALLEST_M2 {
            if !several && outer.len() >= 3 && valid::area(outer).abs() > 0.0 && valid::fault(&rings, &frame).is_none()
            {
                return Err(BadArea::Nothing { what: what.to_owned() });
            }
            if several {
                slivers += 1;
                continue;
            }
        }
        if let Some(fault) = valid::fault(&rings, &frame) {
            let what = if several {
                format!("{what}, polygon {}", number + 1)
            } else {
                what.to_owned()
            };
            return Err(BadArea::Fault { what, fault });
        }
        valid.push(rings);
    }
    if slivers > 0 {
        notes.push(format!(
            "{what}: polygons left out, as each is smaller than {SMALLEST_M2} m²: {slivers}"
        ));
    }
    if valid.is_empty() {
        return Err(BadArea::Nothing { what: what.to_owned() });
    }
    if valid.len() > 1 {
        let united = united(&valid).ok_or_else(|| BadArea::Tangled { what: what.to_owned() })?;
        if united.len() < valid.len() {
            notes.push(format!(
                "{what}: polygons that touch were united: {} from {}",
                united.len(),
                valid.len()
            ));
            valid = united;
        }
    }
    if valid.len() > MOST_AREAS {
        return Err(BadArea::TooManyAreas(valid.len()));
    }
    let many = valid.len() > 1;
    let mut areas = Vec::new();
    for (number, mut rings) in valid.into_iter().enumerate() {
        let what = if many {
            format!("{what}, part {}", number + 1)
        } else {
            what.to_owned()
        };
        let mut notes = if number == 0 {
            std::mem::take(&mut notes)
        } else {
            Vec::new()
        };
        if purpose == Purpose::Exclusion && rings.0.len() > 1 {
            notes.push(format!(
                "{what}: holes in a place that must not be entered are closed: {}",
                rings.0.len() - 1
            ));
            rings.0.truncate(1);
        }
        let before = corners(&rings);
        let holes = rings.0.len().saturating_sub(1);
        let fitted = fitted(&rings, purpose).map_err(|got| BadArea::TooMany {
            what: what.clone(),
            got,
            most: purpose.most(),
        })?;
        let pieces = fitted.len();
        if pieces > 1 {
            notes.push(format!(
                "{what}: it was divided into {pieces} areas, as {before} corners and {holes} holes are too many for one"
            ));
        }
        for (
            number,
            Fitted {
                rings,
                before,
                moved,
                is_far,
            },
        ) in fitted.into_iter().enumerate()
        {
            let what = if pieces > 1 {
                format!("{what}, piece {}", number + 1)
            } else {
                what.clone()
            };
            let after = corners(&rings);
            if after < before {
                let way = match purpose {
                    Purpose::Survey | Purpose::Inclusion => "inward",
                    Purpose::Exclusion => "outward",
                };
                let far = if is_far {
                    ", more than a twentieth of its extent: look at it on a map, and draw it with fewer corners or divide it if that is too far"
                } else {
                    ""
                };
                notes.push(format!(
                    "{what}: {before} corners were simplified to {after}; its edge moved {way} by up to {}{far}",
                    meters(moved)
                ));
            }
            let square_meters = rings.square_meters();
            let mut places = rings.0.iter().map(|ring| {
                ring.iter()
                    .map(|point| rounded(position(&frame, *point)))
                    .collect::<Vec<_>>()
            });
            areas.push(Area {
                name: area.name.clone(),
                outer: places.next().unwrap_or_default(),
                holes: places.collect(),
                square_meters,
                notes: std::mem::take(&mut notes),
            });
        }
    }
    Ok(areas)
}

/// Snaps to a grid of a millimeter, as people write degrees.
fn rounded(at: Wgs84) -> Wgs84 {
    let round = |degrees: f64| (degrees * 1e8).round() / 1e8;
    Wgs84 {
        latitude_deg: round(at.latitude_deg),
        longitude_deg: round(at.longitude_deg),
    }
}

/// `None` when edges cross too often. A few neighbors at a time, which drops what lies under others: a thousand
/// overlapping polygons have hundreds of thousands of crossings.
fn united(all: &[Rings]) -> Option<Vec<Rings>> {
    let west = |rings: &Rings| rings.0.iter().flatten().map(|at| at.x).fold(f64::INFINITY, f64::min);
    let mut sorted = all.to_vec();
    sorted.sort_by(|one, other| west(one).total_cmp(&west(other)));
    united_by_halves(&sorted)
}

fn united_by_halves(sorted: &[Rings]) -> Option<Vec<Rings>> {
    if sorted.len() <= UNITED_AT_ONCE {
        return united_at_once(sorted);
    }
    let (first, second) = sorted.split_at(sorted.len() / 2);
    let mut parts = united_by_halves(first)?;
    parts.extend(united_by_halves(second)?);
    united_at_once(&parts)
}

struct Boxed([[f64; 2]; 2]);

impl RTreeObject for Boxed {
    type Envelope = AABB<[f64; 2]>;

    fn envelope(&self) -> Self::Envelope {
        let Self([from, to]) = self;
        AABB::from_corners(*from, *to)
    }
}

fn is_tangled(all: &[Rings]) -> bool {
    let edges = all.iter().flat_map(|rings| &rings.0).flat_map(|ring| {
        let next = ring.iter().skip(1).chain(ring.first());
        ring.iter().zip(next).map(|(a, b)| Boxed([[a.x, a.y], [b.x, b.y]]))
    });
    let tree = RTree::bulk_load(edges.collect());
    let over = tree
        .iter()
        .flat_map(|edge| tree.locate_in_envelope_intersecting(edge.envelope()));
    over.take(MOST_CROSSINGS + 1).count() > MOST_CROSSINGS
}

fn united_at_once(all: &[Rings]) -> Option<Vec<Rings>> {
    if is_tangled(all) {
        return None;
    }
    let snap = |point: &Coord| Coord {
        x: (point.x / GRID_M).round() * GRID_M,
        y: (point.y / GRID_M).round() * GRID_M,
    };
    let polygons: Vec<Polygon> = all.iter().map(|rings| polygon_of(rings, snap)).collect();
    Some(rings_of(&unary_union(&polygons)))
}

fn polygon_of(rings: &Rings, corner: impl Fn(&Coord) -> Coord) -> Polygon {
    let mut lines = rings
        .0
        .iter()
        .map(|ring| LineString::from(ring.iter().map(&corner).collect::<Vec<_>>()));
    Polygon::new(
        lines.next().unwrap_or_else(|| LineString::new(Vec::new())),
        lines.collect(),
    )
}

fn rings_of(MultiPolygon(polygons): &MultiPolygon) -> Vec<Rings> {
    let open = |line: &LineString| {
        let mut points = line.0.clone();
        points.pop();
        points
    };
    let rings = |polygon: &Polygon| {
        let holes = polygon.interiors().iter().map(open);
        Rings(
            std::iter::once(open(polygon.exterior()))
                .chain(holes)
                .filter(|ring| valid::area(ring).abs() >= GRID_M)
                .collect(),
        )
    };
    polygons.iter().map(rings).filter(|rings| !rings.0.is_empty()).collect()
}

fn frame(area: &RawArea, what: &str) -> Result<Frame, BadArea> {
    let corners = || {
        area.polygons
            .iter()
            .flat_map(|polygon| std::iter::once(&polygon.outer).chain(&polygon.holes))
            .flatten()
    };
    let nothing = || BadArea::Nothing { what: what.to_owned() };
    let first = *corners().next().ok_or_else(nothing)?;
    let (mut west, mut east, mut south, mut north) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
    for (index, corner) in corners().enumerate() {
        let Wgs84 {
            latitude_deg: latitude,
            longitude_deg: longitude,
        } = *corner;
        if model::geo::position(*corner).is_err() {
            return Err(BadArea::NoPosition {
                what: what.to_owned(),
                corner: index + 1,
                latitude,
                longitude,
            });
        }
        if latitude.abs() > HIGHEST_LATITUDE {
            return Err(BadArea::Polar {
                what: what.to_owned(),
                latitude,
            });
        }
        let (x, y) = offset(first, *corner);
        (west, east, south, north) = (west.min(x), east.max(x), south.min(y), north.max(y));
    }
    let middle = shifted(first, west.midpoint(east), south.midpoint(north));
    let frame = Frame::at(middle).map_err(|_| BadArea::Polar {
        what: what.to_owned(),
        latitude: middle.latitude_deg,
    })?;
    let outside = corners().find(|corner| frame.local(**corner, AltitudeAmsl(0.0)).is_err());
    match outside {
        Some(corner) => {
            let (x, y) = offset(middle, *corner);
            Err(BadArea::Far {
                what: what.to_owned(),
                corner: at(*corner),
                distance: x.hypot(y),
            })
        }
        None => Ok(frame),
    }
}

fn ring(frame: &Frame, corners: &[Wgs84], what: &str) -> Result<Vec<Coord>, BadArea> {
    let mut points: Vec<Coord> = Vec::with_capacity(corners.len());
    let near = |a: &Coord, b: &Coord| (a.x - b.x).hypot(a.y - b.y) <= SAME_CORNER_M;
    for corner in corners {
        let local = frame.local(*corner, AltitudeAmsl(0.0)).map_err(|_| BadArea::Far {
            what: what.to_owned(),
            corner: at(*corner),
            distance: REACH,
        })?;
        let point = Coord {
            x: local.east,
            y: local.north,
        };
        if points.last().is_none_or(|last| !near(last, &point)) {
            points.push(point);
        }
    }
    while points.len() > 1 && points.first().zip(points.last()).is_some_and(|(a, b)| near(a, b)) {
        points.pop();
    }
    Ok(points)
}

#[cfg(test)]
mod tests;
