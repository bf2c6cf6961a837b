//! A route: straight legs, level or upright, to where the vehicle will hold or land.
//!
//! Owns: [`Route`], and how far along it a vehicle is. Must not: say whether it may be flown.

use super::{Margin, Tube, Volume};
use model::geo::Local;

/// Places nearer than this are one.
const POSITION_EPSILON_M: f64 = 0.01;

/// The altitude of a home wanders by no more than this.
const HOME_ALTITUDE_DRIFT_M: f64 = 0.5;

/// A route of one place is a hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    places: Vec<Local>,
    /// The airspace around its end in which a program may fly its vehicle.
    room: Option<Around>,
}

/// An upright cylinder around the end of a route, meters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Around {
    pub radius: f64,
    pub below: f64,
    pub above: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRoute {
    #[error("a route needs a place at least")]
    Empty,
    /// NaN or infinite.
    #[error("place {0} of the route is not finite")]
    NotFinite(usize),
    /// A leg that climbs while it moves: its tube would not be where it is flown.
    #[error("leg {0} is neither level nor upright; climb first, then cross")]
    Slanted(usize),
}

impl Route {
    /// A route through these places, without repeated ones.
    ///
    /// # Errors
    /// [`BadRoute`].
    pub fn through(places: impl IntoIterator<Item = Local>) -> Result<Self, BadRoute> {
        let mut kept: Vec<Local> = Vec::new();
        for (i, place) in places.into_iter().enumerate() {
            if !place.is_finite() {
                return Err(BadRoute::NotFinite(i));
            }
            if let Some(last) = kept.last() {
                let (ground, height) = (last.over_ground(place), (last.up - place.up).abs());
                if ground < POSITION_EPSILON_M && height < POSITION_EPSILON_M {
                    continue;
                }
                if ground >= POSITION_EPSILON_M && height >= POSITION_EPSILON_M {
                    return Err(BadRoute::Slanted(kept.len() - 1));
                }
            }
            kept.push(place);
        }
        if kept.is_empty() {
            return Err(BadRoute::Empty);
        }
        Ok(Self::of(kept))
    }

    /// The path that an autopilot flies by itself: on a leg that leads up or down it may be at any altitude of that leg, as PX4 changes its
    /// altitude at once and ArduCopter along a straight line.
    ///
    /// # Errors
    /// [`BadRoute`].
    pub fn along(places: impl IntoIterator<Item = Local>) -> Result<Self, BadRoute> {
        let mut kept: Vec<Local> = Vec::new();
        for (i, place) in places.into_iter().enumerate() {
            if !place.is_finite() {
                return Err(BadRoute::NotFinite(i));
            }
            let same = |last: &Local| {
                last.over_ground(place) < POSITION_EPSILON_M && (last.up - place.up).abs() < POSITION_EPSILON_M
            };
            if !kept.last().is_some_and(same) {
                kept.push(place);
            }
        }
        if kept.is_empty() {
            return Err(BadRoute::Empty);
        }
        Ok(Self::of(kept))
    }

    pub fn hold(place: Local) -> Self {
        Self::of(vec![place])
    }

    const fn of(places: Vec<Local>) -> Self {
        Self { places, room: None }
    }

    /// With the airspace around its end in which its vehicle may be anywhere.
    pub fn with_room(self, room: Option<Around>) -> Self {
        Self { room, ..self }
    }

    pub const fn room(&self) -> Option<Around> {
        self.room
    }

    /// Where it begins, each corner, where it ends.
    pub fn places(&self) -> &[Local] {
        &self.places
    }

    pub fn start(&self) -> Local {
        self.places[0]
    }

    pub fn end(&self) -> Local {
        self.places[self.places.len() - 1]
    }

    /// Whether it is upright and ends at the altitude of `end`, within what a home wanders.
    pub fn is_upright_to(&self, end: Local) -> bool {
        if self.room.is_some() {
            return false;
        }
        let last = self.end();
        let upright = self
            .places
            .iter()
            .all(|place| place.over_ground(last) < POSITION_EPSILON_M);
        upright && (last.up - end.up).abs() <= HOME_ALTITUDE_DRIFT_M
    }

    /// All of it when it is not longer.
    pub fn first(&self, meters: f64) -> Self {
        // The vehicle may be anywhere in the room, and turn to anywhere.
        if self.room.is_some() {
            return self.clone();
        }
        let (mut places, mut left) = (vec![self.start()], meters);
        for leg in self.legs() {
            let length = leg.length();
            if length > left {
                let stop = leg.at(left / length);
                places.extend((left >= POSITION_EPSILON_M).then_some(stop));
                return Self::of(places);
            }
            places.extend((length > 0.0).then_some(leg.to));
            left -= length;
        }
        Self::of(places)
    }

    pub fn is_hold(&self) -> bool {
        self.places.len() == 1 && self.room.is_none()
    }

    /// Where a vehicle that strays by `margin` from this route may be.
    pub fn volume(&self, margin: Margin) -> Volume {
        let tube = |leg: &[Local]| Tube::around(leg, margin.horizontal.0, margin.vertical.0, margin.vertical.0);
        let mut tubes: Vec<Tube> = self.places.windows(2).map(tube).collect();
        if let Some(room) = self.room {
            let radius = margin.horizontal.0 + room.radius;
            let (below, above) = (margin.vertical.0 + room.below, margin.vertical.0 + room.above);
            tubes.push(Tube::around(&[self.end()], radius, below, above));
        } else if self.is_hold() {
            tubes.push(tube(&self.places));
        }
        Volume::Tubes(tubes)
    }

    /// Whether a vehicle reported at `at` is on it, within `margin`.
    pub fn has(&self, at: Local, margin: Margin) -> bool {
        self.is_in_room(at, margin) || self.legs().any(|leg| leg.has(at, margin))
    }

    fn is_in_room(&self, at: Local, margin: Margin) -> bool {
        let (end, up) = (self.end(), at.up - self.end().up);
        self.room.is_some_and(|room| {
            end.over_ground(at) <= room.radius + margin.horizontal.0
                && up <= room.above + margin.vertical.0
                && -up <= room.below + margin.vertical.0
        })
    }

    /// Whether a vehicle reported at `at` is on a leg whose end `is_end`, within `margin`.
    pub fn leg_to(&self, is_end: impl Fn(&Local) -> bool, at: Local, margin: Margin) -> bool {
        self.legs().any(|leg| is_end(&leg.to) && leg.has(at, margin))
    }

    /// The rest of the route for a vehicle reported at `at`, from the nearest point of the first leg that it may be on. A leg counts as
    /// flown only when the vehicle is too far from it; near a corner it may be on either.
    pub fn from(&self, at: Local, margin: Margin) -> Self {
        if self.room.is_some() {
            return self.clone();
        }
        let legs: Vec<Leg> = self.legs().collect();
        let Some(now) = legs.iter().position(|leg| leg.has(at, margin)) else {
            return self.clone();
        };
        let mut places = vec![legs[now].nearest(at)];
        for place in self.places.iter().skip(now + 1).copied() {
            let last = places.len() - 1;
            if places[last].over_ground(place) < POSITION_EPSILON_M
                && (places[last].up - place.up).abs() < POSITION_EPSILON_M
            {
                places[last] = place;
            } else {
                places.push(place);
            }
        }
        Self::of(places)
    }

    fn legs(&self) -> impl Iterator<Item = Leg> {
        let count = self.places.len().max(2) - 1;
        let last = self.places.len() - 1;
        (0..count).map(move |i| Leg {
            from: self.places[i],
            to: self.places[(i + 1).min(last)],
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Leg {
    from: Local,
    to: Local,
}

impl Leg {
    fn is_upright(&self) -> bool {
        self.from.over_ground(self.to) < POSITION_EPSILON_M
    }

    /// Over ground, unless it is upright.
    fn share(&self, at: Local) -> f64 {
        let along = |point: Local| {
            let (e, n) = (self.to.east - self.from.east, self.to.north - self.from.north);
            match self.is_upright() {
                true => (point.up - self.from.up) * (self.to.up - self.from.up),
                false => (point.east - self.from.east) * e + (point.north - self.from.north) * n,
            }
        };
        let length = along(self.to);
        if length == 0.0 {
            return 0.0;
        }
        (along(at) / length).clamp(0.0, 1.0)
    }

    /// Where the rest of it begins for a vehicle at `at`: at the altitude of its begin, unless it is upright.
    fn nearest(&self, at: Local) -> Local {
        let nearest = self.at(self.share(at));
        match self.is_upright() {
            true => nearest,
            false => nearest.at_height(self.from.up),
        }
    }

    /// No longer than what is flown of it: over ground, unless it is upright.
    fn length(&self) -> f64 {
        match self.is_upright() {
            true => (self.to.up - self.from.up).abs(),
            false => self.from.over_ground(self.to),
        }
    }

    /// Where a part of it ends: at the altitude of its end, unless it is upright.
    fn at(&self, share: f64) -> Local {
        let between = |a: f64, b: f64| a + share * (b - a);
        let up = match self.is_upright() {
            true => between(self.from.up, self.to.up),
            false => self.to.up,
        };
        Local {
            east: between(self.from.east, self.to.east),
            north: between(self.from.north, self.to.north),
            up,
        }
    }

    fn has(&self, at: Local, margin: Margin) -> bool {
        let (low, high) = (self.from.up.min(self.to.up), self.from.up.max(self.to.up));
        let beside = self.nearest(at).over_ground(at);
        beside <= margin.horizontal.0 && low - at.up <= margin.vertical.0 && at.up - high <= margin.vertical.0
    }
}

#[cfg(test)]
mod tests;
