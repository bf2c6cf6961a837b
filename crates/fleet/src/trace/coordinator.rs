//! The coordinator's part of a trace: from a Drone's creation to the order to fly, and the whole.
//!
//! Owns: [`Track`], how far one Drone has come; in memory only: a leader that does not know it writes what it observes, into the same trace.
//! Must not: decide anything else.

use crate::time::Moment;
use crate::trace::Part;

/// Part of a takeoff with its start and end.
pub type Ended = (Part, Moment, Moment);

/// How far a Drone has come, as far as this leader has observed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// When it was bound, until the order to fly is sent.
    bound: Option<Moment>,
    /// When the order to fly was sent, until it flies.
    ordered: Option<Moment>,
    /// It has flown.
    flown: bool,
}

impl Track {
    /// A Drone that was created then is bound to its vehicle.
    #[must_use]
    pub fn bound(&mut self, created: Moment, now: Moment) -> Ended {
        self.bound = Some(now);
        (Part::Bind, created.min(now), now)
    }

    /// An order that begins a flight is sent. Only the first of a flight ends a span: routes and heights may change before it.
    #[must_use]
    pub fn ordered(&mut self, now: Moment) -> Option<Ended> {
        if self.ordered.is_some() {
            return None;
        }
        self.ordered = Some(now);
        Some((Part::Order, self.bound.take().unwrap_or(now), now))
    }

    /// An order to be on the ground is sent: the next flight is another.
    pub const fn grounded(&mut self) {
        self.ordered = None;
    }

    /// The vehicle, which was on the ground, is in the air.
    #[must_use]
    pub fn airborne(&mut self, created: Moment, now: Moment) -> Ended {
        let ordered = self.ordered.take();
        let again = std::mem::replace(&mut self.flown, true);
        let start = if again { ordered.unwrap_or(now) } else { created };
        (Part::Flight { again }, start.min(now), now)
    }
}
