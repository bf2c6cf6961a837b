//! Orders of coordinators from an input: of the leader, of deposed ones, and nonsense in between.

use crate::bytes::Bytes;
use model::assignment::{
    Assignment, Desired, Failsafe, GroundedWhy, OnCoordinatorLoss, OnLowBattery, Order, Preflight,
};
use model::ground::{GroundMark, GroundOrderId};
use model::ids::{DroneName, DroneUid, Term};
use model::kill::KillOrder;
use model::time::Moment;
use model::units::{AltitudeAboveHome, Percent};
use std::time::Duration;

const FLYING: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};

#[derive(Debug)]
pub struct Coordinators {
    last: Assignment,
    nonce: u64,
}

fn uid(number: u8) -> DroneUid {
    DroneUid(format!("drone-{number}"))
}

fn name(number: u8) -> DroneName {
    DroneName {
        namespace: "field".into(),
        name: format!("alpha-{number}"),
    }
}

impl Default for Coordinators {
    fn default() -> Self {
        Self {
            last: Assignment {
                term: Term(4),
                uid: uid(1),
                name: name(1),
                generation: 1,
                desired: FLYING,
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
            },
            nonce: 0,
        }
    }
}

impl Coordinators {
    /// A byte says what is changed in the last order; a change may take further bytes.
    pub fn order(&mut self, bytes: &mut Bytes<'_>) -> Order {
        let last = &mut self.last;
        last.generation += 1;
        match bytes.below(16) {
            0..=2 => last.desired = FLYING,
            3 => last.desired = grounded(GroundedWhy::Deleted),
            4 => {
                last.desired = grounded(GroundedWhy::Ordered);
                last.ground_mark = Some(GroundMark::Given(GroundOrderId(u64::from(bytes.below(3)))));
            }
            5 => {
                last.desired = FLYING;
                last.ground_mark = Some(GroundMark::Done(GroundOrderId(u64::from(bytes.below(3)))));
            }
            6 => last.ground_mark = None,
            7 => last.term = Term(last.term.0 + 1),
            // A coordinator that is deposed, or believes so.
            8 => {
                let mut old = last.clone();
                old.term = Term(u64::from(bytes.byte()));
                return Order::Assigned(old);
            }
            9 => {
                let number = bytes.below(3);
                (last.uid, last.name, last.generation) = (uid(number), name(number), 1);
            }
            10 => last.resume_after = u32::from(bytes.below(5)),
            11 => last.failsafe = failsafe(bytes),
            12 => {
                let mut old = last.clone();
                old.generation -= i64::from(bytes.below(8));
                return Order::Assigned(old);
            }
            13 => last.term = Term(last.term.0.saturating_sub(1)),
            14 => return Order::unassigned(last.term),
            _ => last.desired = grounded(GroundedWhy::Unbound),
        }
        Order::Assigned(last.clone())
    }

    /// A kill order about the last Drone or another, of now or of long ago, and when it was received.
    pub fn kill(&mut self, bytes: &mut Bytes<'_>, now: u64) -> (KillOrder, u64) {
        let how = bytes.byte();
        self.nonce += u64::from(how & 3 != 0);
        let late = [0, 0, 200, 1900, 2100, 9000];
        let received = now.saturating_sub(bytes.pick(&late));
        let seen = received.saturating_sub(bytes.pick(&[0, 500, 2900, 3100, 60_000]));
        let order = KillOrder {
            nonce: self.nonce,
            uid: if how & 4 == 0 {
                self.last.uid.clone()
            } else {
                uid(bytes.below(3))
            },
            term: if how & 24 == 0 {
                Term(self.last.term.0 + u64::from(bytes.below(3)))
            } else {
                self.last.term
            },
            last_report: Moment::at(Duration::from_millis(seen + u64::from(how & 32) * 10)),
        };
        (order, received)
    }
}

const fn grounded(why: GroundedWhy) -> Desired {
    Desired::Grounded { why }
}

fn failsafe(bytes: &mut Bytes<'_>) -> Failsafe {
    use OnCoordinatorLoss::{Continue, Hold, Land, Return};
    let reserve = Percent::new(bytes.pick(&[0, 20, 50, 100])).unwrap_or(model::assignment::USUAL_RESERVE);
    Failsafe {
        on_coordinator_loss: bytes.pick(&[Land, Return, Hold, Continue]),
        after: Duration::from_secs(bytes.pick(&[2, 10, 60, 0])),
        on_low_battery: bytes.pick(&[OnLowBattery::Return, OnLowBattery::Land, OnLowBattery::Continue]),
        reserve,
        preflight: bytes.pick(&[Preflight::Ignore, Preflight::Warn, Preflight::Refuse]),
    }
}
