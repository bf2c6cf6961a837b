//! Whether a way stays where Geofences allow flight.

use super::shape::depth;
use super::{Origin, Wanted, shape};
use model::rules::{Outline, Side};
use model::units::{AltitudeAboveHome, Wgs84};

/// Least distance of a way from every edge, meters: ArduCopter's FENCE_MARGIN, at which it is stopped.
pub const WAY_MARGIN: f64 = 2.0;

/// Largest difference of two ways to compute one distance.
const DISTANCE_EPSILON_M: f64 = 0.05;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WayOutside {
    #[error(
        "the way there leaves spec.include[{index}] of Geofence {geofence}, or comes nearer than {WAY_MARGIN} m to its edge; give a station on this side, or widen the shape"
    )]
    Leaves {
        geofence: String,
        /// From 0.
        index: usize,
    },
    #[error(
        "the way there crosses spec.exclude[{index}] of Geofence {geofence}, or comes nearer than {WAY_MARGIN} m to it; give a station on this side, or make the shape smaller"
    )]
    Crosses {
        geofence: String,
        /// From 0.
        index: usize,
    },
    /// Out of the smaller shape that its autopilot holds.
    #[error(
        "the way there leads out of what its autopilot holds of Geofence {0}, which is smaller, as condition InForce says; give a station on \
         this side, or the Geofence more room"
    )]
    Held(String),
    /// Out of the former shape that its autopilot keeps until it has landed.
    #[error(
        "the way there leads out of Geofence {0} as it was before, which its autopilot keeps until it has landed; give a station on this side, \
         or land the vehicle"
    )]
    Former(String),
    #[error(
        "its Geofences were changed while it was in the air, and what its autopilot keeps until it has landed is not known; land the vehicle"
    )]
    Unknown,
    #[error(
        "the way there is up to {height:.1} m above home, and the ceiling of Geofence {geofence} is {ceiling} m; lower the station, or raise spec.ceilingMeters"
    )]
    Climbs {
        geofence: String,
        /// Meters above home.
        height: f64,
        /// Meters above home.
        ceiling: f64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoomOutside {
    #[error(
        "Geofence {0} does not allow all of it, with {WAY_MARGIN} m to spare; make spec.external smaller, move the station, or widen the Geofence"
    )]
    Geofence(String),
    #[error("what its autopilot keeps of its Geofences until it has landed is not known; land the vehicle")]
    Unknown,
}

/// Whether `wanted` allow a vehicle anywhere within `radius` of `center`, meters over ground, from the `lowest` to the `highest` above
/// home.
///
/// # Errors
/// The first that does not, and what to do.
pub fn room_outside(
    wanted: &[&Wanted],
    (center, radius): (Wgs84, f64),
    (lowest, highest): (AltitudeAboveHome, AltitudeAboveHome),
) -> Result<(), RoomOutside> {
    for w in wanted {
        if w.origin == Origin::Unknown {
            return Err(RoomOutside::Unknown);
        }
        // The edge of a shape is no nearer to the center than its depth there.
        let inside = |(side, _, outline): (Side, usize, &Outline)| at(outline, side, center) >= radius + WAY_MARGIN;
        let below = w.ceiling.is_none_or(|ceiling| highest.0 <= ceiling.0 - WAY_MARGIN);
        let above = w.floor.is_none_or(|floor| lowest.0 >= floor.0 + WAY_MARGIN);
        if !(w.shapes().all(inside) && below && above) {
            return Err(RoomOutside::Geofence(w.name.clone()));
        }
    }
    Ok(())
}

/// Whether a vehicle may fly the `rest` of its flight, from its first place to its last, which is above its `home`. It is judged from home
/// backward, where the flight ends: so a shape that came after the takeoff counts even where the vehicle is now on its wrong side. An
/// unknown fence of its autopilot was decided on when the flight began.
///
/// # Errors
/// The first that does not allow it, and what to do.
pub fn rest_outside(wanted: &[&Wanted], home: Wgs84, rest: &[(Wgs84, AltitudeAboveHome)]) -> Result<(), WayOutside> {
    let known = wanted.iter().copied().filter(|w| w.origin != Origin::Unknown);
    let wanted: Vec<&Wanted> = known.collect();
    let back = rest.iter().rev().copied();
    let way: Vec<_> = std::iter::once((home, AltitudeAboveHome(0.0))).chain(back).collect();
    way_outside(&wanted, &way)
}

/// Whether straight legs between `places`, at altitudes above home, stay where all `wanted` allow. A shape or ceiling on whose wrong side
/// the way begins is judged only once the way is on its right side: leaving it is good. From within the margin the way may not come nearer.
/// Floors are not judged: each way begins below.
///
/// # Errors
/// The first that does not, and what to do.
pub fn way_outside(wanted: &[&Wanted], places: &[(Wgs84, AltitudeAboveHome)]) -> Result<(), WayOutside> {
    for w in wanted {
        let geofence = || w.name.clone();
        if w.origin == Origin::Unknown {
            return Err(WayOutside::Unknown);
        }
        for (side, index, outline) in w.shapes() {
            // A way that begins within the margin comes no nearer; on the wrong side, nothing is judged before it is on the right one.
            let mut nearest = f64::NEG_INFINITY;
            let mut strays = |((from, _), (to, _)): (&(Wgs84, _), &(Wgs84, _))| {
                nearest = nearest.max(least(outline, side, *from, *from)).min(WAY_MARGIN);
                nearest >= 0.0 && least(outline, side, *from, *to) < nearest - DISTANCE_EPSILON_M
            };
            if places.iter().zip(places.iter().skip(1)).any(&mut strays) {
                let geofence = geofence();
                return Err(match (w.origin, side) {
                    (Origin::Held, _) => WayOutside::Held(geofence),
                    (Origin::Former, _) => WayOutside::Former(geofence),
                    (_, Side::Inside) => WayOutside::Leaves { geofence, index },
                    (_, Side::Outside) => WayOutside::Crosses { geofence, index },
                });
            }
        }
        if let Some(AltitudeAboveHome(ceiling)) = w.ceiling {
            let mut highest = f64::INFINITY;
            let climbs = |(_, height): &&(Wgs84, AltitudeAboveHome)| {
                if height.0 <= ceiling {
                    highest = highest.min(height.0.max(ceiling - WAY_MARGIN));
                }
                height.0 > highest + DISTANCE_EPSILON_M
            };
            if let Some((_, AltitudeAboveHome(height))) = places.iter().find(climbs).copied() {
                if w.origin == Origin::Former {
                    return Err(WayOutside::Former(geofence()));
                }
                return Err(WayOutside::Climbs {
                    geofence: geofence(),
                    height,
                    ceiling,
                });
            }
        }
    }
    Ok(())
}

/// Least distance of a straight leg on the right side of `outline`, meters; negative: on the wrong one.
fn least(outline: &Outline, side: Side, from: Wgs84, to: Wgs84) -> f64 {
    let ends = f64::min(at(outline, side, from), at(outline, side, to));
    match (outline, side) {
        // A circle is convex: an end is the farthest from its center.
        (Outline::Circle { .. }, Side::Inside) => ends,
        (Outline::Circle { center, radius }, Side::Outside) => shape::distance(*center, from, to) - radius.0,
        (Outline::Polygon(vertices), _) => {
            let next = vertices.iter().skip(1).chain(vertices.first());
            let edges = vertices.iter().zip(next);
            edges.fold(ends, |least, (&one, &other)| {
                if shape::cross(from, to, one, other) {
                    return f64::NEG_INFINITY;
                }
                // Of two lines that do not cross, the nearest points include an end.
                let near = f64::min(shape::distance(one, from, to), shape::distance(other, from, to));
                least.min(near)
            })
        }
    }
}

fn at(outline: &Outline, side: Side, place: Wgs84) -> f64 {
    match side {
        Side::Inside => depth(outline, place),
        Side::Outside => -depth(outline, place),
    }
}
