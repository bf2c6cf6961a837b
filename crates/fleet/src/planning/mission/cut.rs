//! The rest of the work, cut again, and the flight of one vehicle.

use super::area::flat;
use super::share::{CannotShare, Flier};
use super::stretch::{Joined, Stretch, Stretches};
use super::track::{Leg, Work};
use model::geo::offset;
use model::plan::item::{Item, of_waypoints};
use model::plan::route::Waypoint;
use model::units::{Meters, Wgs84};
use std::time::Duration;

/// One flight of a vehicle, from above its start to above its start.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFlight {
    /// The first with a place is above the start, and so is the last.
    pub items: Vec<Item>,
    pub places: Vec<Waypoint>,
    /// In calm air, from start to start at its altitude.
    pub time: Duration,
    /// For each item with a place: its number, or that of the last item that belongs to it, and what is flown when that is reached after
    /// the one before.
    pub(super) marks: Vec<(usize, Stretches)>,
}

impl PlannedFlight {
    /// What is flown when these items were reached: a leg counts with both of its ends.
    pub fn flown(&self, reached: impl Fn(usize) -> bool) -> Stretches {
        let pairs = self.marks.windows(2).filter_map(|pair| match pair {
            [(before, _), (item, done)] if reached(*before) && reached(*item) => Some(done),
            _ => None,
        });
        Stretches::new(pairs.flat_map(|done| done.all().iter().copied()))
    }

    pub fn has_begun(&self, reached: impl Fn(usize) -> bool) -> bool {
        let mut pairs = self.marks.windows(2);
        pairs.any(|pair| matches!(pair, [(before, _), (_, done)] if !done.is_empty() && reached(*before)))
    }

    /// The part of the leg to item `current` behind a vehicle at `at`. It is not flown before that item is reached.
    pub fn underway(&self, current: usize, at: Wgs84) -> Stretches {
        let next = self.marks.iter().position(|(item, _)| *item >= current);
        let leg = next.and_then(|next| Some((next, self.places.get(next.checked_sub(1)?)?, self.places.get(next)?)));
        let Some((next, before, here)) = leg else {
            return Stretches::default();
        };
        let ((east, north), (passed_east, passed_north)) = (offset(before.at, here.at), offset(before.at, at));
        let squared = east.mul_add(east, north * north);
        let behind = passed_east.mul_add(east, passed_north * north);
        let share = if squared > 0.0 {
            (behind / squared).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let leg = self.marks.get(next).map_or(&[][..], |(_, done)| done.all());
        let behind = |one: &Stretch| Stretch {
            from: one.from,
            to: (one.to - one.from).mul_add(share, one.from),
        };
        Stretches::new(leg.iter().map(behind))
    }

    pub fn to_reach(&self) -> impl Iterator<Item = usize> {
        self.marks.iter().map(|(item, _)| *item)
    }
}

impl Work {
    /// No hole of the area lies between.
    pub fn may_be_crossed(&self, from: Wgs84, to: Wgs84) -> bool {
        let ends = flat(&self.frame, from).ok().zip(flat(&self.frame, to).ok());
        ends.is_some_and(|(from, to)| self.around.is_straight(from, to))
    }

    /// Cuts `left` into parts of equal time for `fliers`. A flier without a part is left out, and so is work that none has the time for.
    ///
    /// # Errors
    /// [`CannotShare`], a fault of the fliers.
    pub fn cut(&self, left: &Stretches, fliers: &[Flier]) -> Result<Vec<(usize, Stretches)>, CannotShare> {
        if self.trimmed(left).is_empty() {
            return Ok(Vec::new());
        }
        let joined = Joined::of(self, left).ok_or(CannotShare::NoWay(0))?;
        // A setting on one vehicle's way is not set on another's.
        let together = if self.written.is_some() { 1 } else { fliers.len() };
        let plan = joined.work.share(fliers.get(..together).unwrap_or(fliers))?;
        let part = |share: &super::Share| {
            let (from, to) = share.ends();
            (share.flier, self.trimmed(&joined.old(from, to)))
        };
        let parts = plan.shares.iter().map(part);
        Ok(parts.filter(|(_, part)| !part.is_empty()).collect())
    }

    /// The flight of `part` from `start`, all `raised` by so much.
    ///
    /// # Errors
    /// [`CannotShare`], when `start` has no place.
    pub fn flight(&self, part: &Stretches, start: Wgs84, raised: Meters) -> Result<PlannedFlight, CannotShare> {
        let joined = Joined::of(self, part).ok_or(CannotShare::NoWay(0))?;
        let flier = Flier {
            start,
            speed: None,
            endurance: None,
        };
        let plan = joined.work.share(&[flier])?;
        let share = plan.shares.first().ok_or(CannotShare::NoWay(0))?;
        let mut flight = PlannedFlight {
            items: Vec::new(),
            places: Vec::new(),
            time: share.time,
            marks: Vec::new(),
        };
        if let Some(written) = &self.written {
            flight.add_written(written, part, start, raised);
            return Ok(flight);
        }
        let mut before = 0.0;
        let waypoints = joined.work.waypoints(&share.path);
        for ((mut waypoint, point), position) in waypoints.into_iter().zip(&share.path).zip(share.positions()) {
            waypoint.altitude = waypoint.altitude.raised(raised);
            let done = match point.leg {
                Leg::Work => joined.old(before, *position),
                Leg::Transit => Stretches::default(),
            };
            before = *position;
            for item in of_waypoints(std::slice::from_ref(&waypoint)) {
                if item.place().is_some() {
                    flight.marks.push((flight.items.len(), done.clone()));
                }
                flight.items.push(rounded(item));
            }
            flight.places.push(waypoint);
        }
        Ok(flight)
    }
}

/// To autopilots' precision: another version that computes a little otherwise makes the same.
pub(super) fn rounded(mut item: Item) -> Item {
    let to = |value: f64, steps: f64| (value * steps).round() / steps;
    let [.., latitude, longitude, height] = &mut item.params;
    *latitude = latitude.map(|degrees| to(degrees, 1e7));
    *longitude = longitude.map(|degrees| to(degrees, 1e7));
    *height = height.map(|meters| to(meters, 100.0));
    item
}
