//! How old a leader's knowledge may be before it orders anything by it (invariant 16).
//!
//! Owns: [`Knowledge`] and which orders pass under it ([`may_send`]); which orders need the API server's own answer first
//! ([`begins_flight`], [`CONFIRMED_FOR`]); how a store that went back in time is detected ([`History`]).
//! Must not: read a clock, or know how objects are listed.
//!
//!   BeforeLeading ──all listed, by requests sent after the Lease was taken──► Current
//!   WentBack ──a person confirms what the store holds──► BeforeLeading
//!
//! A standby fills its caches before it leads, and its watches may be late by any time: acts of a former leader, such as a recorded ground
//! order, may be missing.

use model::assignment::{Assignment, Desired, GroundedWhy, Held, HeldDetails, Order};
use model::ground::GroundMark;
use model::ids::Term;
use model::vehicle::FlightTruth;
use std::fmt;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Knowledge {
    /// Its caches were filled before it led.
    #[default]
    BeforeLeading,
    /// All objects were listed after it took the Lease.
    Current,
    /// The API server's store went back in time, as after a restore from a backup. Its content may be superseded, so a person has to
    /// confirm it.
    WentBack,
}

impl Knowledge {
    /// Whether flights may begin, Drones be bound, and objects be written.
    pub const fn acts(self) -> bool {
        matches!(self, Self::Current)
    }
}

/// How long the API server's answer about a Drone, its Swarm or Mission, its node, ground orders and rules on board holds for one takeoff,
/// from before the question was sent. Watches may be dead or late meanwhile.
pub const CONFIRMED_FOR: Duration = Duration::from_secs(2);

/// Whether `order` may be sent to an agent that reports `held`. Without current knowledge only an order that keeps the present state, or a
/// ground order that was given to this leader itself (`here`).
pub fn may_send(knowledge: Knowledge, order: &Order, held: Option<&Held>, here: bool) -> bool {
    match order {
        _ if knowledge.acts() => true,
        Order::Assigned(a) => ordered(a, here) || keeps(a, held),
        Order::Unassigned { .. } => held.is_none(),
    }
}

/// A ground order that was given to this leader, or that an agent kept and nobody has recorded yet.
fn ordered(a: &Assignment, here: bool) -> bool {
    let by_order = matches!(
        a.desired,
        Desired::Grounded {
            why: GroundedWhy::Ordered
        }
    );
    by_order && (here || matches!(a.ground_mark, Some(GroundMark::Given(_))))
}

fn keeps(a: &Assignment, held: Option<&Held>) -> bool {
    let Some(held) = held.filter(|held| held.uid == a.uid) else {
        return false;
    };
    let grounded = matches!(a.desired, Desired::Grounded { .. });
    // A vehicle that is known to be on the ground stays there by any order that grounds it.
    let height = HeldDetails::of(a).altitude;
    let held_height = held.details.as_ref().and_then(|details| details.altitude);
    let same_height = held_height.is_none_or(|held| height == Some(held));
    let same = grounded == held.grounded && a.generation == held.generation && same_height;
    // A vehicle that a former leader ordered to fly and that has not taken off does not do so by this leader's order.
    if held.settled { grounded } else { same }
}

/// Whether `order` may begin a flight: then the API server itself confirms it before it is sent. A vehicle in the air for a Drone goes on
/// without.
pub fn begins_flight(order: &Order, held: Option<&Held>, truth: Option<FlightTruth>) -> bool {
    let Order::Assigned(a) = order else { return false };
    let flies = held.is_some_and(|held| held.uid == a.uid && !held.grounded && !held.settled);
    // Its agent has lost its memory. An agent that holds an order to land may do so by a ground order.
    let goes_on = held.is_none() && matches!(truth, Some(FlightTruth::Airborne(_)));
    matches!(a.desired, Desired::Flying { .. }) && !flies && !goes_on
}

/// The API server's store went back in time: what was read before is missing or different. The text says what was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WentBack(pub String);

/// Whether a watch event with `new` shows that the store went back, for an object that was `known` and a newest `asked` at the last full
/// list (resourceVersions). A later `known` is the answer to a request of our own, which the watch has yet to report.
pub const fn shows_restore(new: u64, known: u64, asked: u64) -> bool {
    new < known && known <= asked
}

/// Facts of one Lease reading about the age of its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Different for each new Lease.
    pub lease: String,
    /// At its last change, if that is a number.
    pub revision: Option<u64>,
    pub term: Term,
    /// `spec.acquireTime`, by its taker's clock: only compared with itself.
    pub taken: String,
    pub holder: Option<String>,
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holder = self.holder.as_deref().unwrap_or("no coordinator");
        write!(f, "term {}, taken at {}, held by {holder}", self.term, self.taken)?;
        self.revision
            .map_or(Ok(()), |revision| write!(f, ", resourceVersion {revision}"))
    }
}

#[derive(Clone, Debug, Default)]
pub struct History(Option<Reading>);

impl History {
    /// Whether the store went back since the last reading: the revision or the term fell, or the same term was taken a second time. Times
    /// are not ordered: clocks are set back. A Lease that was removed and made again has no history.
    pub fn went_back(&mut self, now: Reading) -> Option<WentBack> {
        let Some(before) = self.0.as_ref().filter(|before| before.lease == now.lease) else {
            self.0 = Some(now);
            return None;
        };
        let older = matches!((now.revision, before.revision), (Some(now), Some(before)) if now < before);
        let by_another = now.holder.is_some() && now.holder != before.holder;
        let twice = now.term == before.term && (by_another || now.taken != before.taken);
        if older || twice || now.term < before.term {
            return Some(WentBack(format!("the Lease says: {now}; read before: {before}")));
        }
        self.0 = Some(now);
        None
    }

    /// The term to lead above after the store went back, where its Lease has term `there`: no term that this coordinator has read may be
    /// used twice. `None` where the Lease is above them.
    pub fn term_to_skip(&self, there: Term) -> Option<Term> {
        let read = self.0.as_ref()?.term;
        (there <= read).then(|| read.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::assignment::Failsafe;
    use model::ground::GroundOrderId;
    use model::ids::{DroneName, DroneUid};
    use model::units::AltitudeAboveHome;

    const FLY: Desired = Desired::Flying {
        altitude: AltitudeAboveHome(10.0),
    };
    const STALE: [Knowledge; 2] = [Knowledge::BeforeLeading, Knowledge::WentBack];

    fn grounded(why: GroundedWhy) -> Desired {
        Desired::Grounded { why }
    }

    fn order(generation: i64, desired: Desired) -> Assignment {
        Assignment {
            term: Term(3),
            uid: DroneUid("u".into()),
            name: DroneName {
                namespace: "field".into(),
                name: "alpha-1".into(),
            },
            generation,
            desired,
            failsafe: Failsafe::default(),
            resume_after: 0,
            ground_mark: None,
            reported_flight: model::reported_flight::ReportedFlight::default(),
            routed: false,
            manner: model::station::Manner::default(),
            recalled: false,
            void: model::route_order::OrderNumber::default(),
            rules: None,
            plan: None,
            route: None,
        }
    }

    fn held(grounded: bool, settled: bool) -> Held {
        Held {
            uid: DroneUid("u".into()),
            term: Term(2),
            generation: 4,
            grounded,
            settled,
            details: None,
        }
    }

    fn passes(knowledge: Knowledge, a: &Assignment, held: Option<&Held>) -> bool {
        may_send(knowledge, &Order::Assigned(a.clone()), held, false)
    }

    #[test]
    fn a_leader_that_has_not_listed_yet_starts_no_flight_and_undoes_no_ground_order() {
        for knowledge in STALE {
            for held in [None, Some(held(true, true)), Some(held(true, false))] {
                assert!(!passes(knowledge, &order(4, FLY), held.as_ref()), "{held:?}");
            }
        }
        assert!(passes(Knowledge::Current, &order(4, FLY), Some(&held(true, true))));
    }

    #[test]
    fn it_lands_none_and_moves_none_to_another_height() {
        let flies = held(false, false);
        for knowledge in STALE {
            for why in [GroundedWhy::Deleted, GroundedWhy::Ordered, GroundedWhy::Waiting] {
                assert!(!passes(knowledge, &order(4, grounded(why)), Some(&flies)), "{why:?}");
            }
            assert!(!passes(knowledge, &order(3, FLY), Some(&flies)), "an older height");
            assert!(!passes(knowledge, &order(5, FLY), Some(&flies)), "it was not confirmed");
            let none = Order::unassigned(Term(3));
            assert!(!may_send(knowledge, &none, Some(&flies), false));
            assert!(may_send(knowledge, &none, None, false));
        }
    }

    #[test]
    fn it_keeps_what_flies_and_what_is_on_the_ground_as_they_are() {
        for knowledge in STALE {
            assert!(passes(knowledge, &order(4, FLY), Some(&held(false, false))));
            assert!(
                !passes(knowledge, &order(4, FLY), Some(&held(false, true))),
                "it would take off"
            );
            let waits = order(9, grounded(GroundedWhy::Waiting));
            assert!(
                passes(knowledge, &waits, Some(&held(false, true))),
                "it has not taken off"
            );
            assert!(passes(knowledge, &waits, Some(&held(true, true))));
            assert!(
                !passes(knowledge, &waits, Some(&held(true, false))),
                "it may land for another reason"
            );
        }
    }

    #[test]
    fn a_ground_order_that_it_was_given_itself_goes_through() {
        for knowledge in STALE {
            for held in [None, Some(held(false, false))] {
                let mut now = order(9, grounded(GroundedWhy::Ordered));
                now.ground_mark = Some(GroundMark::Given(GroundOrderId(7)));
                assert!(passes(knowledge, &now, held.as_ref()));
                now.ground_mark = Some(GroundMark::Done(GroundOrderId(7)));
                assert!(!passes(knowledge, &now, held.as_ref()), "it was recorded by another");
                assert!(may_send(knowledge, &Order::Assigned(now), held.as_ref(), true));
            }
        }
    }

    #[test]
    fn a_flight_is_begun_unless_the_vehicle_is_known_to_fly_for_this_drone() {
        let begins = |desired, held: Option<&Held>| begins_flight(&Order::Assigned(order(4, desired)), held, None);
        assert!(begins(FLY, None));
        assert!(begins(FLY, Some(&held(true, true))));
        assert!(begins(FLY, Some(&held(true, false))), "it lands");
        assert!(begins(FLY, Some(&held(false, true))), "it has not taken off yet");
        assert!(!begins(FLY, Some(&held(false, false))));
        assert!(!begins(grounded(GroundedWhy::Waiting), Some(&held(false, true))));
        let other = Held {
            uid: DroneUid("other".into()),
            ..held(false, false)
        };
        assert!(begins(FLY, Some(&other)));
        assert!(!begins_flight(&Order::unassigned(Term(1)), None, None));
        let fly = Order::Assigned(order(4, FLY));
        assert!(begins_flight(&fly, None, Some(FlightTruth::Disarmed)));
        let up = FlightTruth::Airborne(model::vehicle::Airborne::InAir);
        assert!(
            !begins_flight(&fly, None, Some(up)),
            "its agent has lost its memory in the air"
        );
        assert!(begins_flight(&fly, Some(&held(true, false)), Some(up)), "it lands");
    }

    fn reading(revision: u64, term: u64) -> Reading {
        Reading {
            lease: "uid-1".into(),
            revision: Some(revision),
            term: Term(term),
            taken: format!("when {term} was"),
            holder: Some(format!("leader {term}")),
        }
    }

    #[test]
    fn a_store_that_goes_on_did_not_go_back_and_one_that_was_restored_did() {
        let mut history = History::default();
        assert_eq!(history.went_back(reading(100, 5)), None);
        assert_eq!(history.went_back(reading(100, 5)), None, "read again");
        assert_eq!(history.went_back(reading(120, 5)), None);
        let back = |now: Reading| history.clone().went_back(now).is_some();
        assert!(back(reading(90, 5)), "its revision fell");
        assert!(back(reading(900, 4)), "its term fell");
        assert!(!back(reading(130, 6)), "another leads");
    }

    #[test]
    fn a_term_that_was_taken_twice_shows_a_restore_whatever_was_written_since() {
        let mut history = History::default();
        assert_eq!(history.went_back(reading(100, 5)), None);
        let free = Reading {
            holder: None,
            ..reading(120, 5)
        };
        assert_eq!(history.clone().went_back(free), None, "it was let go of");
        // The backup had term 4, and a coordinator that had read nothing before took the next.
        let by_another = Reading {
            holder: Some("another".into()),
            ..reading(130, 5)
        };
        let in_another_life = Reading {
            taken: "after the restore".into(),
            ..reading(130, 5)
        };
        assert!(history.went_back(in_another_life).is_some());
        let WentBack(text) = history.went_back(by_another).unwrap();
        assert_eq!(
            text,
            "the Lease says: term 5, taken at when 5 was, held by another, resourceVersion 130; read before: term 5, taken at when 5 was, \
             held by leader 5, resourceVersion 100"
        );
        assert_eq!(history.term_to_skip(Term(5)), Some(Term(6)));
        assert_eq!(history.went_back(reading(131, 6)), None);
    }

    #[test]
    fn after_a_restore_no_term_that_was_read_is_led_again() {
        let mut history = History::default();
        assert_eq!(history.term_to_skip(Term(3)), None, "nothing was read");
        assert_eq!(history.went_back(reading(100, 4)), None);
        assert!(history.went_back(reading(50, 3)).is_some());
        assert_eq!(history.term_to_skip(Term(3)), Some(Term(5)));
        assert_eq!(
            history.term_to_skip(Term(4)),
            Some(Term(5)),
            "term 4 was led before the restore, too"
        );
        assert_eq!(history.term_to_skip(Term(5)), None);
    }

    #[test]
    fn a_lease_removed_and_made_again_has_no_history_and_who_went_back_stays_back() {
        let mut history = History::default();
        assert_eq!(history.went_back(reading(100, 5)), None);
        assert!(history.went_back(reading(50, 2)).is_some());
        assert!(history.went_back(reading(51, 3)).is_some(), "it is still behind");
        let again = Reading {
            lease: "uid-2".into(),
            ..reading(60, 1)
        };
        assert_eq!(history.went_back(again), None);
    }
}
