//! The area of a survey: a polygon with holes.

use ::geo::algorithm::validation::{InvalidPolygon, RingRole};
use ::geo::{
    Area as _, BooleanOps as _, BoundingRect as _, Coord, LineString, Orient, Polygon, Rect, Validation,
    orient::Direction,
};
use model::geo::{Frame, Local, NoPlace, offset, shifted};
use model::units::{AltitudeAmsl, Meters, Wgs84};

/// Including those of holes.
pub const MAX_CORNERS: usize = 500;

pub const MIN_AREA_M2: f64 = 1.0;

/// Two corners nearer than this are one.
const CORNER_EPSILON_M: f64 = 0.01;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadArea {
    #[error("a corner of {ring} has no place")]
    Corner { ring: Ring, source: NoPlace },
    #[error("{0} has fewer than 3 different corners; give at least 3")]
    TooFewCorners(Ring),
    /// More than can be planned in time.
    #[error("the area has {0} corners, more than {MAX_CORNERS}; leave out some, or divide it")]
    TooManyCorners(usize),
    #[error("{0} crosses itself; list its corners in the order of a walk around it")]
    CrossesItself(Ring),
    #[error("{0} is not inside the area; move it, or leave it out")]
    HoleOutside(Ring),
    /// Two rings that meet in more than a point.
    #[error("{0} and {1} overlap; make one ring of them")]
    Overlap(Ring, Ring),
    #[error("the area is {0:.2} m² large, smaller than {MIN_AREA_M2} m²; check its corners")]
    TooSmall(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    Outer,
    /// From 0.
    Hole(usize),
}

impl std::fmt::Display for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Outer => write!(f, "the area's outer edge"),
            Self::Hole(number) => write!(f, "hole {number} of the area"),
        }
    }
}

impl From<RingRole> for Ring {
    fn from(role: RingRole) -> Self {
        match role {
            RingRole::Exterior => Self::Outer,
            RingRole::Interior(number) => Self::Hole(number),
        }
    }
}

/// In a flat frame around its middle: x is east and y is north, meters.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    frame: Frame,
    polygon: Polygon<f64>,
}

impl Area {
    /// The area inside `outer` and outside of the `holes`. A ring may repeat its first corner at its end.
    ///
    /// # Errors
    /// [`BadArea`], the first fault.
    pub fn new(outer: &[Wgs84], holes: &[Vec<Wgs84>]) -> Result<Self, BadArea> {
        let corners = outer.len() + holes.iter().map(Vec::len).sum::<usize>();
        if corners > MAX_CORNERS {
            return Err(BadArea::TooManyCorners(corners));
        }
        let frame = frame(outer).map_err(|source| BadArea::Corner {
            ring: Ring::Outer,
            source,
        })?;
        let exterior = ring(&frame, outer, Ring::Outer)?;
        let interiors = holes
            .iter()
            .enumerate()
            .map(|(number, hole)| ring(&frame, hole, Ring::Hole(number)));
        let polygon = Polygon::new(exterior, interiors.collect::<Result<_, _>>()?);
        polygon.check_validation().map_err(|invalid| reason(&invalid))?;
        let size = polygon.unsigned_area();
        if size < MIN_AREA_M2 {
            return Err(BadArea::TooSmall(size));
        }
        let polygon = polygon.orient(Direction::Default);
        Ok(Self { frame, polygon })
    }

    pub const fn frame(&self) -> &Frame {
        &self.frame
    }

    /// x is east and y is north, meters. The outer edge runs counterclockwise, holes run clockwise.
    pub const fn polygon(&self) -> &Polygon<f64> {
        &self.polygon
    }

    /// Without holes.
    pub fn square_meters(&self) -> f64 {
        self.polygon.unsigned_area()
    }

    /// As longitude and latitude, degrees: one polygon, or its parts on both sides of the 180th meridian (RFC 7946, section 3.1.9). Of each
    /// the closed rings: the outer edge, counterclockwise, then the holes, clockwise.
    pub fn polygons(&self) -> Vec<Vec<Vec<(f64, f64)>>> {
        let Some(seam) = self.seam() else {
            return vec![self.rings(&self.polygon, None)];
        };
        let Some(all) = self.polygon.bounding_rect() else {
            return Vec::new();
        };
        let (min, max) = (all.min(), all.max());
        let west = Rect::new(min, Coord { x: seam, y: max.y }).to_polygon();
        let east = Rect::new(Coord { x: seam, y: min.y }, max).to_polygon();
        let parts = [(west, 180.0), (east, -180.0)].map(|(side, edge)| {
            let part = self.polygon.intersection(&side).orient(Direction::Default);
            part.0
                .iter()
                .map(|polygon| self.rings(polygon, Some(edge)))
                .collect::<Vec<_>>()
        });
        parts.concat()
    }

    /// Meters east of its middle to the 180th meridian, where that cuts it.
    fn seam(&self) -> Option<f64> {
        let (middle, _) = self.frame.position(Local {
            east: 0.0,
            north: 0.0,
            up: 0.0,
        });
        let meridian = Wgs84 {
            longitude_deg: 180.0,
            ..middle
        };
        let seam = self.place(meridian).ok()?.x;
        let all = self.polygon.bounding_rect()?;
        (all.min().x < seam && seam < all.max().x).then_some(seam)
    }

    /// `edge`: the longitude of the 180th meridian on this side, where the part reaches to it.
    fn rings(&self, part: &Polygon<f64>, edge: Option<f64>) -> Vec<Vec<(f64, f64)>> {
        let position = |corner: &Coord<f64>| {
            let local = Local {
                east: corner.x,
                north: corner.y,
                up: 0.0,
            };
            let at = self.frame.position(local).0;
            // A cut lies on the meridian, to which rounding gives either sign.
            let crossed = edge.filter(|edge| edge * at.longitude_deg < 0.0);
            (crossed.unwrap_or(at.longitude_deg), at.latitude_deg)
        };
        let rings = std::iter::once(part.exterior()).chain(part.interiors());
        rings.map(|ring| ring.0.iter().map(position).collect()).collect()
    }

    /// In the frame of the area.
    ///
    /// # Errors
    /// [`NoPlace`].
    pub fn place(&self, at: Wgs84) -> Result<Coord<f64>, NoPlace> {
        flat(&self.frame, at)
    }
}

pub(super) fn frame(positions: &[Wgs84]) -> Result<Frame, NoPlace> {
    let Some(&first) = positions.first() else {
        return Frame::at(Wgs84 {
            latitude_deg: 0.0,
            longitude_deg: 0.0,
        });
    };
    // Checks it, so that distances from it are finite.
    Frame::at(first)?;
    let mut least = (0.0_f64, 0.0_f64);
    let mut most = (0.0_f64, 0.0_f64);
    for &position in positions {
        let (east, north) = offset(first, model::geo::position(position)?);
        least = (least.0.min(east), least.1.min(north));
        most = (most.0.max(east), most.1.max(north));
    }
    Frame::at(shifted(first, least.0.midpoint(most.0), least.1.midpoint(most.1)))
}

pub(super) fn flat(frame: &Frame, at: Wgs84) -> Result<Coord<f64>, NoPlace> {
    let local = frame.local(at, AltitudeAmsl(0.0))?;
    Ok(Coord {
        x: local.east,
        y: local.north,
    })
}

pub(super) fn apart(one: Coord<f64>, other: Coord<f64>) -> Meters {
    Meters((one.x - other.x).hypot(one.y - other.y))
}

fn ring(frame: &Frame, corners: &[Wgs84], which: Ring) -> Result<LineString<f64>, BadArea> {
    let mut points: Vec<Coord<f64>> = Vec::with_capacity(corners.len() + 1);
    for &corner in corners {
        let point = flat(frame, corner).map_err(|source| BadArea::Corner { ring: which, source })?;
        if points
            .last()
            .is_none_or(|last| apart(*last, point).0 > CORNER_EPSILON_M)
        {
            points.push(point);
        }
    }
    while points.len() > 1
        && points
            .first()
            .zip(points.last())
            .is_some_and(|(a, b)| apart(*a, *b).0 <= CORNER_EPSILON_M)
    {
        points.pop();
    }
    if points.len() < 3 {
        return Err(BadArea::TooFewCorners(which));
    }
    points.extend(points.first().copied());
    Ok(LineString::new(points))
}

fn reason(invalid: &InvalidPolygon) -> BadArea {
    match invalid {
        InvalidPolygon::TooFewPointsInRing(ring) => BadArea::TooFewCorners((*ring).into()),
        InvalidPolygon::SelfIntersection(ring) => BadArea::CrossesItself((*ring).into()),
        InvalidPolygon::NonFiniteCoord(ring, _) => BadArea::Corner {
            ring: (*ring).into(),
            source: NoPlace::OutOfReach,
        },
        InvalidPolygon::InteriorRingNotContainedInExteriorRing(ring) => BadArea::HoleOutside((*ring).into()),
        InvalidPolygon::IntersectingRingsOnALine(one, other)
        | InvalidPolygon::IntersectingRingsOnAnArea(one, other) => BadArea::Overlap((*one).into(), (*other).into()),
    }
}
