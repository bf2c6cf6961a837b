//! The shapes of several Geofences as those of one fence.

use super::circle::Measure;
use super::shape::{self, depth, on_grid};
use super::simplify::{self, Ring};
use super::{HOME_MARGIN, Limits, NoFence, Wanted};
use ::geo::algorithm::Validation;
use ::geo::{BooleanOps, Contains, Coord, Intersects, LineString, MultiPolygon, Polygon, unary_union};
use model::geo::{Frame, Local, shifted};
use model::rules::{Fence, Outline, Shape, Side};
use model::units::{AltitudeAmsl, Meters, Wgs84};
use std::f64::consts::TAU;

/// Vertices of a polygon that replaces an intersected circle; an inner one loses 0.5 % of the radius.
const CIRCLE_VERTICES: u32 = 32;

/// Deviation of a circle in latitude and longitude from a true one, as a share of its radius: meridians converge.
fn roundness(center: Wgs84, radius: f64) -> f64 {
    center.latitude_deg.to_radians().tan().abs() * radius / 6.3e6 + 1e-4
}

/// Most vertices of all shapes together that are simplified.
const MAX_SIMPLIFIED_VERTICES: usize = 2000;

/// Distance of home from the edge of the compiled fence: ArduCopter's FENCE_MARGIN, and more.
const HOME_MARGIN_LEFT_M: f64 = HOME_MARGIN / 2.0;

/// The plane in which the lines that autopilots draw in latitude and longitude are straight.
struct Plane(Frame);

impl Plane {
    fn over(wanted: &[&Wanted]) -> Result<Self, NoFence> {
        let (mut south, mut west, mut north, mut east) = (90.0_f64, 180.0_f64, -90.0_f64, -180.0_f64);
        let mut cover = |at: Wgs84| {
            (south, north) = (south.min(at.latitude_deg), north.max(at.latitude_deg));
            (west, east) = (west.min(at.longitude_deg), east.max(at.longitude_deg));
        };
        for (_, _, outline) in wanted.iter().flat_map(|w| w.shapes()) {
            match outline {
                Outline::Polygon(vertices) => vertices.iter().for_each(|&at| cover(at)),
                Outline::Circle { center, .. } => cover(*center),
            }
        }
        if east - west > 180.0 {
            return Err(NoFence::Antimeridian(names(wanted)));
        }
        let middle = Wgs84 {
            latitude_deg: f64::midpoint(south, north),
            longitude_deg: f64::midpoint(west, east),
        };
        Frame::at(on_grid(middle))
            .map(Self)
            .map_err(|_| NoFence::TooLarge(names(wanted)))
    }

    fn coord(&self, at: Wgs84) -> Option<Coord> {
        let local = self.0.local(at, AltitudeAmsl(0.0)).ok()?;
        Some(Coord {
            x: local.east,
            y: local.north,
        })
    }

    fn position(&self, point: Coord) -> Wgs84 {
        let point = Local {
            east: point.x,
            north: point.y,
            up: 0.0,
        };
        on_grid(self.0.position(point).0)
    }

    fn ring(&self, vertices: &[Wgs84]) -> Option<Vec<Coord>> {
        vertices.iter().map(|&at| self.coord(on_grid(at))).collect()
    }

    fn around(&self, center: Wgs84, radius: f64, side: Side) -> Option<Vec<Coord>> {
        let out = match side {
            Side::Inside => 1.0 - roundness(center, radius),
            Side::Outside => (1.0 + roundness(center, radius)) / (TAU / f64::from(2 * CIRCLE_VERTICES)).cos(),
        };
        let corner = |i: u32| {
            let angle = TAU * f64::from(i) / f64::from(CIRCLE_VERTICES);
            let (sin, cos) = angle.sin_cos();
            self.coord(shifted(center, radius * out * sin, radius * out * cos))
        };
        (0..CIRCLE_VERTICES).map(corner).collect()
    }

    fn polygon(&self, outline: &Outline, side: Side) -> Option<Polygon> {
        let points = match outline {
            Outline::Polygon(vertices) => self.ring(vertices)?,
            Outline::Circle { center, radius } => self.around(*center, radius.0, side)?,
        };
        Some(Polygon::new(LineString::from(points), vec![]))
    }
}

enum Inside {
    Anywhere,
    Circle { center: Wgs84, radius: f64 },
    Ring(Vec<Coord>),
}

/// # Errors
/// An invalid shape, or inclusions without a common part.
pub fn check(wanted: &[&Wanted]) -> Result<(), NoFence> {
    for w in wanted {
        for (side, index, outline) in w.shapes() {
            shape::check(outline).map_err(|why| NoFence::Shape {
                geofence: w.name.clone(),
                list: match side {
                    Side::Inside => "include",
                    Side::Outside => "exclude",
                },
                index,
                why,
            })?;
        }
    }
    if wanted.iter().flat_map(|w| w.shapes()).next().is_none() {
        return Ok(());
    }
    let plane = Plane::over(wanted)?;
    let inside = included(wanted);
    let common = common(&plane, &inside, wanted)?;
    if common.is_some_and(|common| common.0.is_empty()) {
        return Err(NoFence::Empty(names(wanted)));
    }
    let all = wanted.iter().flat_map(|w| w.shapes());
    for (side, _, outline) in all {
        plane
            .polygon(outline, side)
            .ok_or_else(|| NoFence::TooLarge(names(wanted)))?;
    }
    Ok(())
}

/// The shapes of the fence, and notes. For another allowed home within `same`, meters, the result is the same, except for [`keeps_home`].
///
/// # Errors
/// Why there are none.
pub fn compile(
    wanted: &[&Wanted],
    limits: Limits,
    measure: Measure,
    home: Option<Wgs84>,
    same: &mut f64,
) -> Result<(Option<Fence>, Vec<String>), NoFence> {
    *same = 0.0;
    check(wanted)?;
    if wanted.iter().flat_map(|w| w.shapes()).next().is_none() {
        return Ok((None, Vec::new()));
    }
    let home = home.ok_or(NoFence::NoHome)?;
    home_is_allowed(wanted, home)?;
    *same = f64::INFINITY;
    let plane = Plane::over(wanted)?;
    let too_large = || NoFence::TooLarge(names(wanted));
    let home_point = plane.coord(home).ok_or_else(too_large)?;
    let mut notes = Vec::new();

    let inside = inclusion(&plane, wanted, home_point, same, &mut notes)?;
    let (rings, circles) = exclusions(&plane, wanted, &inside).ok_or_else(too_large)?;
    let mut fence = Draft {
        inside,
        rings,
        circles,
        limits,
        home: home_point,
    };
    fence.fit(wanted, same, &mut notes)?;
    fence.finish(&plane, wanted, measure, home).map(|fence| (fence, notes))
}

/// Whether home is on the right side of all `kept` shapes, by some more than needed.
pub fn keeps_home(kept: &[Shape], home: Wgs84) -> bool {
    kept.iter().all(|shape| {
        let depth = depth(&shape.outline, home);
        let left = match shape.side {
            Side::Inside => depth,
            Side::Outside => -depth,
        };
        left >= HOME_MARGIN - 1.0
    })
}

/// # Errors
/// The Geofence to which home is too near, or on whose wrong side.
pub fn home_is_allowed(wanted: &[&Wanted], home: Wgs84) -> Result<(), NoFence> {
    for w in wanted {
        for (side, index, outline) in w.shapes() {
            let (depth, geofence) = (depth(outline, home), w.name.clone());
            match side {
                Side::Inside if depth < HOME_MARGIN => return Err(NoFence::HomeOutside { geofence, index }),
                Side::Outside if depth > -HOME_MARGIN => return Err(NoFence::HomeExcluded { geofence, index }),
                Side::Inside | Side::Outside => {}
            }
        }
    }
    Ok(())
}

/// Without those that another one makes needless.
fn included<'a>(wanted: &[&'a Wanted]) -> Vec<&'a Outline> {
    let all: Vec<&Outline> = wanted.iter().flat_map(|w| &w.include).collect();
    without(&all, contains)
}

/// `all` without each that another makes `needless`; of two that do so to each other the first stays.
fn without<'a>(all: &[&'a Outline], needless: impl Fn(&Outline, &Outline) -> bool) -> Vec<&'a Outline> {
    let is_needless = |i: usize, one: &Outline| {
        all.iter().enumerate().any(|(j, other)| {
            let mutual = || needless(other, one);
            i != j && needless(one, other) && (j < i || !mutual())
        })
    };
    let kept = all.iter().enumerate().filter(|(i, one)| !is_needless(*i, one));
    kept.map(|(_, one)| *one).collect()
}

/// Whether `one` surely contains `other`. Polygons in polygons are left to the intersection.
fn contains(one: &Outline, other: &Outline) -> bool {
    match (one, other) {
        (one, other) if one == other => true,
        (Outline::Polygon(_), Outline::Polygon(_)) => false,
        (Outline::Circle { .. }, Outline::Polygon(vertices)) => vertices.iter().all(|&at| depth(one, at) >= 0.0),
        (one, Outline::Circle { center, radius }) => {
            depth(one, *center) >= radius.0 * (1.0 + roundness(*center, radius.0))
        }
    }
}

/// `None` for fewer than two inclusions.
fn common(plane: &Plane, inside: &[&Outline], wanted: &[&Wanted]) -> Result<Option<MultiPolygon>, NoFence> {
    let mut common: Option<MultiPolygon> = None;
    if inside.len() < 2 {
        return Ok(None);
    }
    for outline in inside {
        let polygon = plane
            .polygon(outline, Side::Inside)
            .ok_or_else(|| NoFence::TooLarge(names(wanted)))?;
        common = Some(match common {
            None => MultiPolygon::new(vec![polygon]),
            Some(common) => common.intersection(&polygon),
        });
    }
    Ok(common)
}

fn inclusion(
    plane: &Plane,
    wanted: &[&Wanted],
    home: Coord,
    same: &mut f64,
    notes: &mut Vec<String>,
) -> Result<Inside, NoFence> {
    let inside = included(wanted);
    let Some(common) = common(plane, &inside, wanted)? else {
        return Ok(match inside.first() {
            None => Inside::Anywhere,
            Some(Outline::Circle { center, radius }) => Inside::Circle {
                center: *center,
                radius: radius.0,
            },
            Some(Outline::Polygon(vertices)) => {
                Inside::Ring(plane.ring(vertices).ok_or_else(|| NoFence::TooLarge(names(wanted)))?)
            }
        });
    };
    if common.0.len() > 1 {
        let parts = common.0.len();
        notes.push(format!(
            "the inclusions have {parts} areas in common, and the one around home is the fence"
        ));
    }
    let round = inside.iter().filter(|o| matches!(o, Outline::Circle { .. })).count();
    if round > 0 {
        notes.push(format!(
            "{round} of the inclusions are circles that another cuts: polygons of {CIRCLE_VERTICES} vertices inside of them stand for them"
        ));
    }
    let part = common.0.into_iter().find(|part| part.contains(&::geo::Point(home)));
    let part = part.ok_or_else(|| NoFence::Empty(names(wanted)))?;
    let points = open(part.exterior());
    *same = same.min(Ring::new(Side::Inside, points.clone()).allowed(home).abs());
    Ok(Inside::Ring(points))
}

/// The points of a closed line, without the repeated first.
fn open(line: &LineString) -> Vec<Coord> {
    let mut points = line.0.clone();
    points.pop();
    points
}

/// Excluded polygons, and circles with their radius.
type Excluded = (Vec<Vec<Coord>>, Vec<(Wgs84, f64)>);

/// The exclusions with an effect: those that reach into the inclusions, and are not within another.
fn exclusions(plane: &Plane, wanted: &[&Wanted], inside: &Inside) -> Option<Excluded> {
    let all: Vec<&Outline> = wanted.iter().flat_map(|w| &w.exclude).collect();
    let room = match inside {
        Inside::Anywhere => None,
        Inside::Circle { center, radius } => {
            let center = *center;
            let circle = Outline::Circle {
                center,
                radius: Meters(*radius),
            };
            Some(plane.polygon(&circle, Side::Outside)?)
        }
        Inside::Ring(points) => Some(Polygon::new(LineString::from(points.clone()), vec![])),
    };
    let (mut rings, mut circles) = (Vec::new(), Vec::new());
    for outline in without(&all, |one, other| contains(other, one)) {
        let around = plane.polygon(outline, Side::Outside)?;
        if room.as_ref().is_some_and(|room| !room.intersects(&around)) {
            continue;
        }
        match outline {
            Outline::Circle { center, radius } => circles.push((*center, radius.0)),
            Outline::Polygon(_) => rings.push(open(around.exterior())),
        }
    }
    Some((rings, circles))
}

struct Draft {
    inside: Inside,
    rings: Vec<Vec<Coord>>,
    circles: Vec<(Wgs84, f64)>,
    limits: Limits,
    home: Coord,
}

impl Draft {
    fn holds(&self, polygons: &[usize]) -> bool {
        let circles = self.circles.len() + usize::from(matches!(self.inside, Inside::Circle { .. }));
        self.limits.holds(polygons, circles)
    }

    fn counts(&self) -> Vec<usize> {
        let inside = match &self.inside {
            Inside::Ring(points) => Some(points.len()),
            Inside::Anywhere | Inside::Circle { .. } => None,
        };
        inside.into_iter().chain(self.rings.iter().map(Vec::len)).collect()
    }

    fn fit(&mut self, wanted: &[&Wanted], same: &mut f64, notes: &mut Vec<String>) -> Result<(), NoFence> {
        if self.holds(&self.counts()) {
            return Ok(());
        }
        let circles = self.circles.len() + usize::from(matches!(self.inside, Inside::Circle { .. }));
        let too_many = |vertices: usize| NoFence::TooMany {
            needed: vertices + circles,
            holds: self.limits.items,
            autopilot: self.limits.autopilot,
            geofences: names(wanted),
        };
        let before: usize = self.counts().iter().sum();
        if before > MAX_SIMPLIFIED_VERTICES {
            return Err(too_many(before));
        }
        if let Some(united) = self.united(same) {
            let fewer = united.iter().map(Vec::len).sum::<usize>() < self.rings.iter().map(Vec::len).sum();
            if fewer {
                self.rings = united;
            }
        }
        let mut rings: Vec<Ring> = Vec::new();
        if let Inside::Ring(points) = &self.inside {
            rings.push(Ring::new(Side::Inside, points.clone()));
        }
        let outside = self.rings.iter().cloned();
        rings.extend(outside.map(|points| Ring::new(Side::Outside, points)));
        let lost = simplify::fit(&mut rings, self.home, same, |counts| self.holds(counts)).map_err(too_many)?;
        let after: usize = rings.iter().map(|ring| ring.points.len()).sum();
        notes.push(format!(
            "{before} vertices became {after}, as {} holds no more; the vehicle is kept up to {lost:.1} m further inside",
            self.limits.autopilot
        ));
        let mut points = rings.into_iter().map(|ring| ring.points);
        if let Inside::Ring(inside) = &mut self.inside
            && let Some(first) = points.next()
        {
            *inside = first;
        }
        self.rings = points.collect();
        Ok(())
    }

    /// The excluded polygons as one, with what they enclose; `None` if they enclose home.
    fn united(&self, same: &mut f64) -> Option<Vec<Vec<Coord>>> {
        let polygon = |points: &Vec<Coord>| Polygon::new(LineString::from(points.clone()), vec![]);
        // To the union, a polygon in the other direction than the first is a hole.
        let oriented = |points: &Vec<Coord>| polygon(&Ring::new(Side::Outside, points.clone()).points);
        let polygons: Vec<Polygon> = self.rings.iter().map(oriented).collect();
        let united = unary_union(&polygons);
        let filled: Vec<Vec<Coord>> = united.0.iter().map(|part| open(part.exterior())).collect();
        let home = ::geo::Point(self.home);
        for points in &filled {
            *same = same.min(Ring::new(Side::Outside, points.clone()).allowed(self.home).abs());
        }
        let encloses = |points: &Vec<Coord>| polygon(points).intersects(&home);
        (!filled.iter().any(encloses)).then_some(filled)
    }

    /// On the grid of the wire. Polygons first: PX4 takes each vertex of a polygon behind a circle for a fence of its own.
    fn finish(
        self,
        plane: &Plane,
        wanted: &[&Wanted],
        measure: Measure,
        home: Wgs84,
    ) -> Result<Option<Fence>, NoFence> {
        let too_fine = || NoFence::TooFine(names(wanted));
        let at_edge = || NoFence::HomeAtEdge {
            autopilot: self.limits.autopilot,
            geofences: names(wanted),
        };
        let mut shapes = Vec::new();
        let inside = match &self.inside {
            Inside::Ring(points) => Some((Side::Inside, points)),
            Inside::Anywhere | Inside::Circle { .. } => None,
        };
        for (side, points) in inside.into_iter().chain(self.rings.iter().map(|p| (Side::Outside, p))) {
            let mut vertices: Vec<Wgs84> = points.iter().map(|&point| plane.position(point)).collect();
            vertices.dedup();
            if vertices.len() > 1 && vertices.first() == vertices.last() {
                vertices.pop();
            }
            let on_wire = plane.ring(&vertices).ok_or_else(too_fine)?;
            let polygon = Polygon::new(LineString::from(on_wire.clone()), vec![]);
            if vertices.len() < 3 || !polygon.is_valid() {
                return Err(too_fine());
            }
            if Ring::new(side, on_wire).allowed(self.home) < HOME_MARGIN_LEFT_M {
                return Err(at_edge());
            }
            shapes.push(Shape {
                side,
                outline: Outline::Polygon(vertices),
            });
        }
        let inside = match self.inside {
            Inside::Circle { center, radius } => Some((Side::Inside, center, radius)),
            Inside::Anywhere | Inside::Ring(_) => None,
        };
        let outside = self
            .circles
            .iter()
            .map(|&(center, radius)| (Side::Outside, center, radius));
        for (side, center, radius) in inside.into_iter().chain(outside) {
            let center = on_grid(center);
            let radius = measure.radius(center, radius, side);
            let depth = radius - measure.distance(center, home);
            let left = match side {
                Side::Inside => depth,
                Side::Outside => -depth,
            };
            if left < HOME_MARGIN_LEFT_M {
                return Err(at_edge());
            }
            shapes.push(Shape {
                side,
                outline: Outline::Circle {
                    center,
                    radius: Meters(radius),
                },
            });
        }
        Ok((!shapes.is_empty()).then_some(Fence { shapes }))
    }
}

fn names(wanted: &[&Wanted]) -> String {
    let names: Vec<&str> = wanted.iter().map(|w| w.name.as_str()).collect();
    names.join(", ")
}
