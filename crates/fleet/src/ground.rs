//! Ground orders that must outlive the coordinator that gave them (invariant 9).
//!
//! A ground order is in force at once, but it can take long until it is recorded on the objects (`spec.grounded`), as while
//! the Kubernetes API is away. Until then it lives in the memory of the coordinator, and on the disk of every agent that
//! was notified: an agent keeps the order's id until it is notified that the order is recorded or released. A coordinator that
//! receives an id it does not know has been restarted since, and gives the order anew.
//!
//! Owns: [`GroundOrderId`], [`GroundMark`], and when an agent keeps or drops an order ([`kept`]).
//! Must not: decide what a grounded vehicle does ([`crate::converge`]).

use crate::assignment::{Assignment, Desired, GroundedWhy};
use serde::{Deserialize, Serialize};

/// One ground order, by a number that no other has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroundOrderId(pub u64);

/// What has become of a ground order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GroundMark {
    /// It was given and is in memory only.
    Given(GroundOrderId),
    /// It is recorded on the objects, or was released before it did: nobody needs to keep it any more.
    Done(GroundOrderId),
}

/// The order that an agent keeps after taking `order`, if it kept `before`.
#[must_use]
pub fn kept(before: Option<GroundOrderId>, order: &Assignment) -> Option<GroundOrderId> {
    let ordered = matches!(
        order.desired,
        Desired::Grounded {
            why: GroundedWhy::Ordered
        }
    );
    match order.ground_mark {
        Some(GroundMark::Given(id)) if ordered => Some(id),
        Some(GroundMark::Done(id)) if before == Some(id) => None,
        Some(GroundMark::Given(_) | GroundMark::Done(_)) | None => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::Failsafe;
    use crate::ids::{DroneName, DroneUid, Term};
    use crate::units::AltitudeAboveHome;

    const ID: GroundOrderId = GroundOrderId(7);
    const OTHER: GroundOrderId = GroundOrderId(8);
    const FLY: Desired = Desired::Flying {
        altitude: AltitudeAboveHome(10.0),
    };

    fn order(desired: Desired, ground_mark: Option<GroundMark>) -> Assignment {
        Assignment {
            term: Term(1),
            uid: DroneUid("u".into()),
            name: DroneName {
                namespace: "field".into(),
                name: "alpha-1".into(),
            },
            generation: 1,
            desired,
            failsafe: Failsafe::default(),
            resume_after: 0,
            ground_mark,
            reported_flight: crate::flight_record::ReportedFlight::default(),
            routed: false,
            manner: crate::station::Manner::default(),
            void: crate::airspace::OrderNumber::default(),
            rules: None,
            route: None,
        }
    }

    fn grounded(why: GroundedWhy) -> Desired {
        Desired::Grounded { why }
    }

    #[test]
    fn an_order_is_kept_from_the_moment_it_is_given_until_it_is_done() {
        let given = order(grounded(GroundedWhy::Ordered), Some(GroundMark::Given(ID)));
        assert_eq!(kept(None, &given), Some(ID));
        assert_eq!(kept(Some(OTHER), &given), Some(ID), "the newer one is in force");
        for desired in [FLY, grounded(GroundedWhy::Ordered)] {
            assert_eq!(kept(Some(ID), &order(desired, Some(GroundMark::Done(ID)))), None);
            assert_eq!(kept(Some(ID), &order(desired, Some(GroundMark::Done(OTHER)))), Some(ID));
            assert_eq!(kept(Some(ID), &order(desired, None)), Some(ID));
            assert_eq!(kept(None, &order(desired, Some(GroundMark::Done(ID)))), None);
        }
    }

    #[test]
    fn a_word_that_grounds_nobody_gives_no_ground_order() {
        for desired in [FLY, grounded(GroundedWhy::Deleted), grounded(GroundedWhy::Unbound)] {
            assert_eq!(kept(None, &order(desired, Some(GroundMark::Given(ID)))), None);
        }
    }
}
