//! The route that an agent is ordered to fly, and the vehicle's progress on it.
//!
//! A level: the same route again changes nothing, and a restarted agent finds its place by the vehicle's position. A route older than the
//! last one taken is not flown, from any sender: its airspace may be another vehicle's by now.

use crate::geo::offset;
use crate::ids::Term;
use crate::lent::Room;
use crate::station::{Off, Tolerance};
use crate::units::{AltitudeAboveHome, AltitudeAmsl, Meters, Wgs84};
use serde::{Deserialize, Serialize};

pub const MOST_PLACES: usize = 16;

/// A place is reached within this, meters over ground: less than a vehicle may stray from its leg.
const REACHED: f64 = 1.2;

/// A place is reached within this, meters in altitude.
const REACHED_HEIGHT: f64 = 0.9;

/// A vehicle is on a leg within this, meters over ground and in altitude: the usual margin of a claim (`fleet::airspace::Rules::default`).
const ON_LEG: (f64, f64) = (2.5, 2.0);

/// Largest shift of a vehicle's own position estimate, meters over ground or in altitude; farther off, it was moved.
const MOVED: f64 = 4.0;

/// Higher for later orders, over all leaders; an agent refuses a number that is not higher than the last it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OrderNumber {
    pub term: Term,
    /// Among the grants of that leadership, from 1.
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waypoint {
    pub at: Wgs84,
    pub amsl: AltitudeAmsl,
}

impl Waypoint {
    /// How far `position` is from here: over ground, and above; meters.
    fn off(&self, position: &Self) -> (f64, f64) {
        let (east, north) = offset(self.at, position.at);
        (east.hypot(north), position.amsl.0 - self.amsl.0)
    }

    /// Meters.
    pub fn distance(&self, position: &Self) -> f64 {
        let (over_ground, above) = self.off(position);
        over_ground.hypot(above)
    }

    /// Whether a vehicle that should hold here has drifted off station, within the error of its position estimate.
    pub fn is_drifted_from(&self, position: &Self) -> bool {
        let (over_ground, above) = self.off(position);
        let off = Off {
            horizontal: Meters(over_ground),
            above: Meters(above),
        };
        !Tolerance::default().covers(off) && self.is_about(position)
    }

    /// Whether no person moved a vehicle that should hold here, within the error of its position estimate.
    pub fn is_about(&self, position: &Self) -> bool {
        let (over_ground, above) = self.off(position);
        over_ground <= MOVED && above.abs() <= MOVED
    }

    fn is_reached(&self, position: &Self) -> bool {
        let (over_ground, above) = self.off(position);
        over_ground <= REACHED && above.abs() <= REACHED_HEIGHT
    }
}

/// Straight legs, level or upright, to where the vehicle is to hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteOrder {
    /// Only a number higher than the last is taken.
    pub number: OrderNumber,
    /// Start, corners, end: one at least, at most [`MOST_PLACES`].
    pub places: Vec<Waypoint>,
    /// The airspace around the end in which a program may fly the vehicle; `None`: no program may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<Room>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub number: OrderNumber,
    /// Index of the next place; the number of places on arrival.
    pub next: usize,
}

impl RouteOrder {
    pub fn end(&self) -> Option<Waypoint> {
        self.places.last().copied()
    }

    /// How far `position` is inside of the room around the end, over ground and in altitude, meters; negative: outside. `None`: there is no
    /// room.
    pub fn depth(&self, position: &Waypoint) -> Option<(f64, f64)> {
        let room = self.room?;
        let (over_ground, up) = self.end()?.off(position);
        let in_height = f64::min(room.above.0 - up, room.below.0 + up);
        Some((room.radius.0 - over_ground, in_height))
    }

    /// `None` when a vehicle at `position` is nowhere on the route.
    pub fn progress(&self, before: Option<Progress>, position: &Waypoint, on_ground: bool) -> Option<Progress> {
        // A room was given where the vehicle held, and is its own anywhere in it. Whether it has left is checked elsewhere.
        if self.room.is_some() {
            return (!on_ground).then_some(Progress {
                number: self.number,
                next: self.places.len(),
            });
        }
        let known = before.filter(|before| before.number == self.number && !on_ground);
        let mut next = match known {
            Some(before) => before.next,
            None => self.joined(position, on_ground)?,
        };
        while !on_ground && self.places.get(next).is_some_and(|place| place.is_reached(position)) {
            next += 1;
        }
        Some(Progress {
            number: self.number,
            next,
        })
    }

    /// Whether the vehicle is still on the leg of `progress`, or at the end.
    pub fn is_on(&self, progress: Progress, position: &Waypoint) -> bool {
        if self.room.is_some() {
            return progress.number == self.number;
        }
        let last = self.places.len().saturating_sub(1);
        let (from, to) = (progress.next.saturating_sub(1).min(last), progress.next.min(last));
        match (self.places.get(from), self.places.get(to)) {
            (Some(from), Some(to)) => progress.number == self.number && on_leg(from, to, position),
            _ => false,
        }
    }

    /// The end of the first leg that fits `position`, when no progress is known.
    fn joined(&self, position: &Waypoint, on_ground: bool) -> Option<usize> {
        let start = self.places.first()?;
        if on_ground {
            let (over_ground, _) = start.off(position);
            return (over_ground <= ON_LEG.0 && self.places.len() > 1).then_some(1);
        }
        if self.places.len() == 1 {
            return Some(0);
        }
        let legs = self.places.windows(2).map(|leg| on_leg(&leg[0], &leg[1], position));
        let legs = legs.enumerate().filter_map(|(leg, on)| on.then_some(leg));
        let legs: Vec<usize> = legs.collect();
        // Where a route crosses itself, the rest of it is ambiguous.
        let in_a_row = legs.windows(2).all(|pair| pair[1] == pair[0] + 1);
        legs.first().filter(|_| in_a_row).map(|leg| leg + 1)
    }

    /// The altitude to take off to: that of the first corner.
    pub fn takeoff_height(&self, home: AltitudeAmsl) -> Option<AltitudeAboveHome> {
        let corner = self.places.get(1)?;
        Some(AltitudeAboveHome(corner.amsl.0 - home.0)).filter(|height| height.0 > 0.0)
    }
}

fn on_leg(from: &Waypoint, to: &Waypoint, position: &Waypoint) -> bool {
    let (e, n) = offset(from.at, to.at);
    let up = to.amsl.0 - from.amsl.0;
    let (pe, pn) = offset(from.at, position.at);
    let above = position.amsl.0 - from.amsl.0;
    let length = e * e + n * n + up * up;
    let share = if length > 0.0 {
        ((pe * e + pn * n + above * up) / length).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (pe - share * e).hypot(pn - share * n) <= ON_LEG.0 && (above - share * up).abs() <= ON_LEG.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geo::shifted;
    use crate::ids::Term;

    const HOME: Wgs84 = Wgs84 {
        latitude_deg: 47.397_742,
        longitude_deg: 8.545_594,
    };
    const SEA: f64 = 488.0;

    fn place(east: f64, north: f64, up: f64) -> Waypoint {
        Waypoint {
            at: shifted(HOME, east, north),
            amsl: AltitudeAmsl(SEA + up),
        }
    }

    fn route() -> RouteOrder {
        RouteOrder {
            number: number(1),
            places: vec![
                place(0.0, 0.0, 0.0),
                place(0.0, 0.0, 30.0),
                place(50.0, 0.0, 30.0),
                place(50.0, 0.0, 20.0),
            ],
            room: None,
        }
    }

    const fn number(count: u64) -> OrderNumber {
        OrderNumber { term: Term(3), count }
    }

    fn next(before: Option<usize>, at: Waypoint) -> Option<usize> {
        let before = before.map(|next| Progress {
            number: number(1),
            next,
        });
        route().progress(before, &at, false).map(|progress| progress.next)
    }

    #[test]
    fn corners_are_flown_one_after_the_other() {
        assert_eq!(next(Some(1), place(0.3, 0.2, 12.0)), Some(1));
        assert_eq!(next(Some(1), place(0.3, 0.2, 29.4)), Some(2));
        assert_eq!(next(Some(2), place(25.0, 0.0, 30.0)), Some(2));
        assert_eq!(next(Some(2), place(49.2, 0.0, 30.1)), Some(3));
        assert_eq!(next(Some(3), place(50.0, 0.0, 25.0)), Some(3));
        assert_eq!(next(Some(3), place(50.0, 0.2, 20.4)), Some(4), "it has arrived");
        assert_eq!(next(Some(4), place(52.0, 0.2, 20.4)), Some(4), "and drifts");
    }

    #[test]
    fn a_place_is_as_deep_in_the_airspace_of_a_program_as_its_nearest_side_is_away() {
        let lent = RouteOrder {
            places: vec![place(0.0, 0.0, 20.0)],
            room: Some(Room {
                radius: Meters(30.0),
                below: Meters(10.0),
                above: Meters(20.0),
                lease: crate::lent::USUAL_LEASE,
            }),
            ..route()
        };
        let depth = |north, up| {
            let (over_ground, in_height) = lent.depth(&place(0.0, north, up)).unwrap();
            (over_ground.round(), in_height.round())
        };
        assert_eq!(depth(0.0, 20.0), (30.0, 10.0));
        assert_eq!(depth(25.0, 35.0), (5.0, 5.0));
        assert_eq!(depth(32.0, 8.0), (-2.0, -2.0));
        assert_eq!(route().depth(&place(0.0, 0.0, 20.0)), None);
        let progress = |on_ground| lent.progress(None, &place(0.0, 25.0, 30.0), on_ground);
        assert_eq!(
            progress(false).map(|progress| progress.next),
            Some(1),
            "it is there anywhere in it"
        );
        assert_eq!(progress(true), None);
    }

    #[test]
    fn an_agent_that_knows_no_progress_finds_the_first_leg_that_its_vehicle_may_be_on() {
        assert_eq!(next(None, place(0.0, 0.0, 12.0)), Some(1));
        assert_eq!(next(None, place(25.0, 0.5, 30.5)), Some(2));
        assert_eq!(next(None, place(50.0, 0.0, 24.0)), Some(3));
        assert_eq!(next(None, place(50.0, 0.0, 20.1)), Some(4));
        assert_eq!(next(None, place(25.0, 9.0, 30.0)), None, "it is not on the route");
        let of_another = Progress {
            number: number(2),
            next: 3,
        };
        let found = route().progress(Some(of_another), &place(0.0, 0.0, 12.0), false);
        assert_eq!(found.map(|p| p.next), Some(1));
    }

    #[test]
    fn where_a_route_comes_back_to_itself_only_what_was_known_counts() {
        let mut back = route();
        back.places[2] = place(2.0, 0.0, 30.0);
        back.places[3] = place(2.0, 0.0, 20.0);
        let progress = |before, at| back.progress(before, &at, false).map(|progress| progress.next);
        assert_eq!(
            progress(None, place(1.0, 0.0, 25.0)),
            None,
            "it may be on its way up or down"
        );
        let known = Progress {
            number: number(1),
            next: 3,
        };
        assert_eq!(progress(Some(known), place(1.0, 0.0, 25.0)), Some(3));
        assert!(back.is_on(known, &place(1.0, 0.0, 25.0)) && !back.is_on(known, &place(9.0, 0.0, 25.0)));
    }

    #[test]
    fn on_the_ground_only_a_route_that_begins_there_is_begun() {
        let ground = |east| route().progress(None, &place(east, 0.0, 0.1), true);
        assert_eq!(ground(0.5).map(|p| p.next), Some(1));
        assert_eq!(ground(5.0), None);
        let hold = RouteOrder {
            number: number(1),
            places: vec![place(0.0, 0.0, 10.0)],
            room: None,
        };
        assert_eq!(hold.progress(None, &place(0.0, 0.0, 0.0), true), None);
        assert_eq!(
            hold.progress(None, &place(9.0, 0.0, 10.0), false).map(|p| p.next),
            Some(0)
        );
        assert_eq!(route().takeoff_height(AltitudeAmsl(SEA)), Some(AltitudeAboveHome(30.0)));
    }
}
