//! Stopping a vehicle's motors wherever it is: the one exception to "nothing of ours disarms a vehicle" (invariant 5).
//!
//! A kill is an edge, not a level: a person gives it twice, it reaches the agent on the stream that is open now, is sent to the autopilot
//! once, and is forgotten. Nothing stores it, repeats it, or gives it by itself.
//!
//! Owns: the order ([`KillOrder`]), whether an agent may carry it out ([`may_kill`]), the permit for one command ([`KillPermit`]), and the
//! outcome ([`KillOutcome`]).
//! Must not: be called by `fleet::flight::converge` or any failsafe.

use crate::assignment::Assignment;
use crate::ids::{DroneUid, Term};
use crate::time::Moment;
use std::time::Duration;

/// Longest time of a kill from its arrival at the agent to the wire; later it is dropped.
pub const KILL_LIFE: Duration = Duration::from_secs(2);

/// Largest age of the agent's last report that the coordinator had, when the order arrived: an order that a slow network held back is about
/// a vehicle that is elsewhere by now. Reports come at least once a second.
pub const LAST_REPORT_WITHIN: Duration = Duration::from_secs(3);

const REMEMBERED: usize = 64;

/// A confirmed order to stop the motors of one Drone's vehicle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillOrder {
    pub nonce: u64,
    pub uid: DroneUid,
    pub term: Term,
    /// `made` of the agent's last report that the coordinator had, on the agent's own clock.
    pub last_report: Moment,
}

#[derive(Clone, Copy, Debug)]
pub struct KillQuestion<'a> {
    pub order: &'a KillOrder,
    pub arrived: Moment,
    pub held: Option<&'a Assignment>,
    pub highest_term: Term,
    /// Whether the coordinator confirmed the held assignment on the stream that is open now.
    pub confirmed: bool,
    pub used: &'a UsedNonces,
    pub now: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKill {
    #[error("this order came before; give a new one with `skein kill`")]
    UsedBefore,
    #[error("the vehicle of this node does not serve Drone {0}; see `skein status`")]
    OtherDrone(DroneUid),
    #[error("the order is of term {got}, but term {highest} was received; ask the coordinator that leads")]
    OtherTerm { got: Term, highest: Term },
    /// The stream is new, and no report on it says which Drone the vehicle serves.
    #[error("the coordinator has only just connected to the agent; try again")]
    Unconfirmed,
    #[error("the order was under way for too long; check where the vehicle is now, and try again")]
    TooLate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kill command dropped: older than {} s", KILL_LIFE.as_secs())]
pub struct KillExpired;

/// Permit to send one stop command, within [`KILL_LIFE`] of the order's arrival. Neither `Clone` nor constructible elsewhere: sending
/// consumes it.
#[derive(Debug, PartialEq, Eq)]
pub struct KillPermit {
    arrived: Moment,
}

impl KillPermit {
    /// Consumes the permit when the command is written to the wire.
    ///
    /// # Errors
    /// [`KillExpired`]: the command must be dropped.
    pub fn spend(self, now: Moment) -> Result<(), KillExpired> {
        if now.since(self.arrived) <= KILL_LIFE {
            Ok(())
        } else {
            Err(KillExpired)
        }
    }
}

/// Orders that an agent has had since it started, the newest last. Forgotten ones are too old to be carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedNonces(Vec<u64>);

impl UsedNonces {
    pub fn has(&self, nonce: u64) -> bool {
        self.0.contains(&nonce)
    }

    pub fn note(&mut self, nonce: u64) {
        if self.0.len() >= REMEMBERED {
            self.0.remove(0);
        }
        self.0.push(nonce);
    }
}

/// Whether this order may stop the motors. The caller notes the nonce whatever the answer.
///
/// # Errors
/// [`NoKill`], the first reason against it.
pub fn may_kill(q: &KillQuestion<'_>) -> Result<KillPermit, NoKill> {
    if q.used.has(q.order.nonce) {
        return Err(NoKill::UsedBefore);
    }
    let other = || NoKill::OtherDrone(q.order.uid.clone());
    let held = q.held.filter(|held| held.uid == q.order.uid).ok_or_else(other)?;
    if q.order.term != q.highest_term || held.term != q.order.term {
        return Err(NoKill::OtherTerm {
            got: q.order.term,
            highest: q.highest_term,
        });
    }
    if !q.confirmed {
        return Err(NoKill::Unconfirmed);
    }
    let late = q.now.since(q.arrived) > KILL_LIFE || q.arrived.since(q.order.last_report) > LAST_REPORT_WITHIN;
    // A report from the future was made by another process.
    if late || q.order.last_report > q.arrived {
        return Err(NoKill::TooLate);
    }
    Ok(KillPermit { arrived: q.arrived })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KillOutcome {
    /// The text says why.
    NotSent(String),
    Accepted,
    /// The MAV_RESULT.
    Refused(String),
    /// The command may have been carried out or not.
    NoAnswer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillAnswer {
    pub nonce: u64,
    pub outcome: KillOutcome,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::{Desired, Failsafe, GroundedWhy};
    use crate::ids::DroneName;
    use crate::units::AltitudeAboveHome;

    fn at(ms: u64) -> Moment {
        Moment::at(Duration::from_millis(ms))
    }

    fn held(desired: Desired) -> Assignment {
        Assignment {
            term: Term(3),
            uid: DroneUid("u".into()),
            name: DroneName {
                namespace: "field".into(),
                name: "alpha-1".into(),
            },
            generation: 1,
            desired,
            failsafe: Failsafe::default(),
            resume_after: 0,
            ground_mark: None,
            reported_flight: crate::reported_flight::ReportedFlight::default(),
            routed: false,
            manner: crate::station::Manner::default(),
            recalled: false,
            void: crate::route_order::OrderNumber::default(),
            rules: None,
            plan: None,
            route: None,
        }
    }

    fn order() -> KillOrder {
        KillOrder {
            nonce: 11,
            uid: DroneUid("u".into()),
            term: Term(3),
            last_report: at(9_500),
        }
    }

    /// The answer to `order`, which came at 10 s, with one circumstance changed.
    fn answer(order: &KillOrder, change: impl FnOnce(&mut KillQuestion<'_>)) -> Result<KillPermit, NoKill> {
        answer_after(&UsedNonces::default(), order, change)
    }

    fn answer_after(
        used: &UsedNonces,
        order: &KillOrder,
        change: impl FnOnce(&mut KillQuestion<'_>),
    ) -> Result<KillPermit, NoKill> {
        let held = held(Desired::Grounded {
            why: GroundedWhy::Ordered,
        });
        let mut question = KillQuestion {
            order,
            arrived: at(10_000),
            held: Some(&held),
            highest_term: Term(3),
            confirmed: true,
            used,
            now: at(10_010),
        };
        change(&mut question);
        may_kill(&question)
    }

    #[test]
    fn a_confirmed_order_that_has_just_come_stops_the_motors_of_the_drone_that_is_held() {
        let permit = answer(&order(), |_| ()).unwrap();
        assert_eq!(permit.spend(at(10_020)), Ok(()));
        let flying = held(Desired::Flying {
            altitude: AltitudeAboveHome(10.0),
        });
        let used = UsedNonces::default();
        let question = KillQuestion {
            order: &order(),
            arrived: at(10_000),
            held: Some(&flying),
            highest_term: Term(3),
            confirmed: true,
            used: &used,
            now: at(10_000),
        };
        assert!(may_kill(&question).is_ok(), "whatever the Drone wants");
    }

    #[test]
    fn an_order_for_another_drone_or_of_another_leadership_stops_nothing() {
        let other = KillOrder {
            uid: DroneUid("v".into()),
            ..order()
        };
        assert_eq!(answer(&other, |_| ()), Err(NoKill::OtherDrone(other.uid.clone())));
        assert_eq!(
            answer(&order(), |q| q.held = None),
            Err(NoKill::OtherDrone(order().uid))
        );
        for term in [Term(2), Term(4)] {
            let highest = Term(3);
            let refused = NoKill::OtherTerm { got: term, highest };
            assert_eq!(answer(&KillOrder { term, ..order() }, |_| ()), Err(refused));
        }
        let deposed = answer(&order(), |q| q.highest_term = Term(4));
        assert!(matches!(deposed, Err(NoKill::OtherTerm { .. })));
    }

    #[test]
    fn an_order_is_carried_out_once() {
        let mut used = UsedNonces::default();
        used.note(11);
        assert_eq!(answer_after(&used, &order(), |_| ()), Err(NoKill::UsedBefore));
        for nonce in 0..10_000 {
            used.note(nonce);
        }
        assert!(used.has(9_999) && used.0.len() <= REMEMBERED);
    }

    #[test]
    fn an_order_that_was_held_up_on_its_way_stops_nothing() {
        for seen in [6_999, 10_001] {
            let late = KillOrder {
                last_report: at(seen),
                ..order()
            };
            assert_eq!(answer(&late, |_| ()), Err(NoKill::TooLate), "{seen}");
        }
        let oldest = KillOrder {
            last_report: at(7_000),
            ..order()
        };
        assert!(answer(&oldest, |_| ()).is_ok());
        assert_eq!(answer(&order(), |q| q.now = at(12_001)), Err(NoKill::TooLate));
        let permit = || answer(&order(), |_| ()).unwrap();
        assert_eq!(permit().spend(at(12_000)), Ok(()));
        assert_eq!(permit().spend(at(12_001)), Err(KillExpired));
    }

    #[test]
    fn on_a_stream_that_has_just_opened_nothing_is_stopped() {
        assert_eq!(answer(&order(), |q| q.confirmed = false), Err(NoKill::Unconfirmed));
    }
}
