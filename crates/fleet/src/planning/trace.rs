//! The coordinator's part of a trace: from a Drone's creation to the order to fly, and the whole.

use model::time::Moment;
use model::trace::Part;

pub type Ended = (Part, Moment, Moment);

/// As far as this leader has observed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Track {
    bound: Option<Moment>,
    ordered: Option<Moment>,
    flown: bool,
}

impl Track {
    /// The order to fly may be faster than the answer to the write that bound the Drone.
    pub fn bound(&mut self, created: Moment, now: Moment) -> Ended {
        let end = self.ordered.unwrap_or(now).min(now);
        self.bound = Some(end).filter(|_| self.ordered.is_none());
        (Part::Bind, created.min(end), end)
    }

    /// An order that begins a flight. Only the first of a flight ends a span: routes and altitudes may change before it.
    pub fn ordered(&mut self, now: Moment) -> Option<Ended> {
        if self.ordered.is_some() {
            return None;
        }
        self.ordered = Some(now);
        Some((Part::Order, self.bound.take().unwrap_or(now), now))
    }

    /// An order to be on the ground: the next flight is another.
    pub const fn grounded(&mut self) {
        self.ordered = None;
    }

    /// Observed on the ground before (`was_down`), or unknown: then it took off only if this leader ordered it.
    pub fn airborne(&mut self, was_down: bool, created: Moment, now: Moment) -> Option<Ended> {
        if !was_down && self.ordered.is_none() {
            return None;
        }
        let ordered = self.ordered.take();
        let again = std::mem::replace(&mut self.flown, true);
        let start = if again { ordered.unwrap_or(now) } else { created };
        Some((Part::Flight { again }, start.min(now), now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(second: u64) -> Moment {
        Moment::at(Duration::from_secs(second))
    }

    #[test]
    fn the_order_begins_where_binding_has_ended_and_the_flight_is_all_of_it() {
        let mut track = Track::default();
        assert_eq!(track.bound(at(1), at(3)), (Part::Bind, at(1), at(3)));
        assert_eq!(track.ordered(at(7)), Some((Part::Order, at(3), at(7))));
        assert_eq!(track.ordered(at(8)), None, "the route has changed");
        assert_eq!(
            track.airborne(true, at(1), at(15)),
            Some((Part::Flight { again: false }, at(1), at(15)))
        );
    }

    #[test]
    fn a_leader_that_knows_nothing_of_the_drone_goes_on_in_its_trace() {
        let mut track = Track::default();
        assert_eq!(track.ordered(at(7)), Some((Part::Order, at(7), at(7))));
        let flight = Some((Part::Flight { again: false }, at(1), at(15)));
        assert_eq!(Track::default().airborne(true, at(1), at(15)), flight);
        assert_eq!(track.airborne(false, at(1), at(15)), flight, "it was ordered to");
    }

    #[test]
    fn a_vehicle_that_is_heard_again_in_the_air_has_not_taken_off() {
        let mut track = Track::default();
        assert_eq!(track.airborne(false, at(1), at(9)), None);
        let _ = (track.ordered(at(10)), track.airborne(true, at(1), at(15)));
        assert_eq!(track.airborne(false, at(1), at(99)), None);
    }

    #[test]
    fn an_order_that_is_faster_than_the_answer_to_the_binding_ends_it() {
        let mut track = Track::default();
        assert_eq!(track.ordered(at(3)), Some((Part::Order, at(3), at(3))));
        assert_eq!(track.bound(at(1), at(4)), (Part::Bind, at(1), at(3)));
        assert_eq!(track.ordered(at(5)), None);
    }

    #[test]
    fn a_later_flight_of_the_same_drone_begins_with_its_order() {
        let mut track = Track::default();
        let _ = (track.ordered(at(2)), track.airborne(true, at(1), at(5)));
        track.grounded();
        assert_eq!(track.ordered(at(90)), Some((Part::Order, at(90), at(90))));
        track.grounded();
        assert_eq!(
            track.ordered(at(100)),
            Some((Part::Order, at(100), at(100))),
            "it had to wait again"
        );
        assert_eq!(
            track.airborne(true, at(1), at(104)),
            Some((Part::Flight { again: true }, at(100), at(104)))
        );
    }

    #[test]
    fn no_span_ends_before_it_began_whatever_the_clocks_say() {
        let mut track = Track::default();
        assert_eq!(track.bound(at(9), at(3)), (Part::Bind, at(3), at(3)));
        assert_eq!(
            track.airborne(true, at(9), at(4)),
            Some((Part::Flight { again: false }, at(4), at(4)))
        );
    }
}
