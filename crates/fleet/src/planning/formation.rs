//! A formation: the places of many vehicles, in numbered slots.
//!
//! Owns: [`Formation`], its shapes, and the [`Station`] of each slot ([`Formation::slots`]). [`fill`](fill()) assigns vehicles.
//! Must not: know where vehicles are or how they get there.
//!
//! Slot k keeps its place when the number of slots changes, except in a circle, which is shared evenly: scaling a Swarm moves no vehicle
//! that stays.
//!
//! | shape | slot 0 | the others | the altitude step counts |
//! |---|---|---|---|
//! | points | as given | as given | – |
//! | line | at the anchor | right, left, right, … abreast | places from the anchor |
//! | column | at the anchor | behind one another | places from the anchor |
//! | vee | at the anchor | right, left, … along two arms that open backward | places from the anchor |
//! | grid | front row, left | row by row, backward; the front row is centered at the anchor | rows |
//! | circle | straight ahead of the anchor | clockwise; neighbors are the spacing apart | slots |

pub mod assign;
pub mod coverage;
pub mod fill;

pub use assign::assign;
pub use fill::fill;

use crate::airspace::Separation;
use assign::MAX_WEIGHED;
use model::geo::{offset, shifted};
use model::station::{Altitude, BadStation, Limits, Place, Station};
use model::units::{Heading, Meters};
use rstar::RTree;
use rstar::primitives::GeomWithData;

#[derive(Clone, Debug, PartialEq)]
pub enum Formation {
    Points(Vec<Place>),
    Around(Around),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Around {
    /// Place of the shape. Its heading and speed are those of each vehicle.
    pub anchor: Place,
    pub heading: Heading,
    pub shape: Shape,
    /// Between neighboring slots, over ground.
    pub spacing: Meters,
    /// Per place, row or slot; negative: lower.
    pub altitude_step: Meters,
}

/// Directions are as seen from the anchor, looking ahead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    Line,
    Column,
    Grid {
        columns: u16,
    },
    Circle,
    Vee {
        /// From the line of flight to each arm, degrees: above 0 and below 90.
        half_angle_deg: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadFormation {
    /// More slots than can be matched in time.
    #[error("{replicas} replicas are more than {MAX_WEIGHED} slots of one formation; use several Swarms")]
    TooManySlots { replicas: usize },
    #[error("{replicas} replicas but {points} points; add points or lower spec.replicas")]
    TooFewPoints { replicas: usize, points: usize },
    #[error("the spacing is {0} m; give a number above 0")]
    Spacing(f64),
    #[error("heading {0} is not from 0 up to 360; give degrees clockwise from north")]
    Heading(f64),
    #[error("the altitude step is not a finite number; give meters")]
    AltitudeStep,
    #[error("a grid needs at least one column")]
    NoColumns,
    #[error("the half angle of the vee is {0} degrees; give one above 0 and below 90")]
    HalfAngle(f64),
    #[error("slot {slot} cannot be flown")]
    Slot { slot: usize, source: BadStation },
    #[error(
        "slots {one} and {other} are {horizontal:.1} m apart over ground and need {needed:.1} m: the separation, and what each vehicle may be off; raise the spacing{}",
        if *.heights_count { ", or the altitude step" } else { " (altitudes above different homes do not separate; give AMSL for that)" }
    )]
    TooNear {
        one: usize,
        other: usize,
        /// Over ground, meters.
        horizontal: f64,
        /// Meters.
        needed: f64,
        /// Whether more difference of altitude would separate them: both are above mean sea level.
        heights_count: bool,
    },
}

impl Formation {
    /// The stations of slots 0 to `replicas` - 1. `separation`: between vehicles that hold side by side
    /// ([`Rules::pitch`](crate::airspace::Rules::pitch)).
    ///
    /// # Errors
    /// [`BadFormation`], the first fault: none of the slots must be used then.
    pub fn slots(
        &self,
        replicas: usize,
        separation: Separation,
        limits: &Limits,
    ) -> Result<Vec<Station>, BadFormation> {
        if replicas > MAX_WEIGHED {
            return Err(BadFormation::TooManySlots { replicas });
        }
        let places = match self {
            Self::Points(points) if points.len() < replicas => {
                let points = points.len();
                return Err(BadFormation::TooFewPoints { replicas, points });
            }
            Self::Points(points) => points[..replicas].to_vec(),
            Self::Around(around) => around.places(replicas)?,
        };
        let station = |(slot, place)| Station::new(place, limits).map_err(|source| BadFormation::Slot { slot, source });
        let slots: Vec<Station> = places.into_iter().enumerate().map(station).collect::<Result<_, _>>()?;
        match too_near(&slots, separation) {
            Some(near) => Err(near),
            None => Ok(slots),
        }
    }
}

impl Around {
    fn places(&self, replicas: usize) -> Result<Vec<Place>, BadFormation> {
        if !(self.spacing.0 > 0.0 && self.spacing.0.is_finite()) {
            return Err(BadFormation::Spacing(self.spacing.0));
        }
        if !(0.0..360.0).contains(&self.heading.0) {
            return Err(BadFormation::Heading(self.heading.0));
        }
        if !self.altitude_step.0.is_finite() {
            return Err(BadFormation::AltitudeStep);
        }
        match self.shape {
            Shape::Grid { columns: 0 } => return Err(BadFormation::NoColumns),
            Shape::Vee { half_angle_deg } if !(half_angle_deg > 0.0 && half_angle_deg < 90.0) => {
                return Err(BadFormation::HalfAngle(half_angle_deg));
            }
            Shape::Line | Shape::Column | Shape::Grid { .. } | Shape::Circle | Shape::Vee { .. } => {}
        }
        Ok((0..replicas).map(|slot| self.place(slot, replicas)).collect())
    }

    fn place(&self, slot: usize, of: usize) -> Place {
        let InShape { ahead, right, rank } = self.shape.slot(slot, of);
        let (sin, cos) = self.heading.0.to_radians().sin_cos();
        let (ahead, right) = (ahead * self.spacing.0, right * self.spacing.0);
        Place {
            at: shifted(self.anchor.at, ahead * sin + right * cos, ahead * cos - right * sin),
            altitude: self.anchor.altitude.raised(Meters(rank * self.altitude_step.0)),
            ..self.anchor
        }
    }
}

/// A slot's place in units of the spacing, and its altitude steps above the anchor.
struct InShape {
    ahead: f64,
    right: f64,
    rank: f64,
}

impl Shape {
    #[allow(clippy::cast_precision_loss, reason = "slots are few")]
    fn slot(self, slot: usize, of: usize) -> InShape {
        let pair = slot.div_ceil(2) as f64;
        let side = if slot % 2 == 1 { pair } else { -pair };
        match self {
            Self::Line => InShape {
                ahead: 0.0,
                right: side,
                rank: pair,
            },
            Self::Column => InShape {
                ahead: -(slot as f64),
                right: 0.0,
                rank: slot as f64,
            },
            Self::Grid { columns } => {
                let columns = usize::from(columns).max(1);
                let row = (slot / columns) as f64;
                InShape {
                    ahead: -row,
                    right: (slot % columns) as f64 - (columns - 1) as f64 / 2.0,
                    rank: row,
                }
            }
            Self::Circle => {
                let angle = std::f64::consts::TAU * slot as f64 / of as f64;
                let radius = if of < 2 {
                    0.0
                } else {
                    0.5 / (std::f64::consts::PI / of as f64).sin()
                };
                InShape {
                    ahead: radius * angle.cos(),
                    right: radius * angle.sin(),
                    rank: slot as f64,
                }
            }
            Self::Vee { half_angle_deg } => {
                let (sin, cos) = half_angle_deg.to_radians().sin_cos();
                InShape {
                    ahead: -pair * cos,
                    right: side * sin,
                    rank: pair,
                }
            }
        }
    }
}

fn too_near(slots: &[Station], separation: Separation) -> Option<BadFormation> {
    let first = slots.first()?.place().at;
    let point = |(slot, station): (usize, &Station)| {
        let (east, north) = offset(first, station.place().at);
        GeomWithData::new([east, north], slot)
    };
    let tree = RTree::bulk_load(slots.iter().enumerate().map(point).collect());
    // Candidates within a larger radius, as the plane is not true far from its origin, then measured.
    let reach = (separation.horizontal.0 * 1.1 + 1.0).powi(2);
    for (one, station) in slots.iter().enumerate() {
        let (east, north) = offset(first, station.place().at);
        let near = tree.locate_within_distance([east, north], reach);
        let found = near.filter(|other| other.data > one).filter_map(|other| {
            let (horizontal, vertical) = between(station, &slots[other.data]);
            let heights = vertical.is_some_and(|vertical| vertical >= separation.vertical.0);
            (horizontal < separation.horizontal.0 && !heights).then_some((other.data, horizontal, vertical))
        });
        if let Some((other, horizontal, vertical)) = found.min_by_key(|found| found.0) {
            return Some(BadFormation::TooNear {
                one,
                other,
                horizontal,
                needed: separation.horizontal.0,
                heights_count: vertical.is_some(),
            });
        }
    }
    None
}

/// Distance over ground, and in altitude where it is known: altitudes above home count from different homes, which may differ by any
/// altitude.
fn between(one: &Station, other: &Station) -> (f64, Option<f64>) {
    let (east, north) = offset(one.place().at, other.place().at);
    let vertical = match (one.place().altitude, other.place().altitude) {
        (Altitude::Amsl(one), Altitude::Amsl(other)) => Some((one.0 - other.0).abs()),
        (Altitude::AboveHome(_), _) | (_, Altitude::AboveHome(_)) => None,
    };
    (east.hypot(north), vertical)
}

#[cfg(test)]
mod tests;
