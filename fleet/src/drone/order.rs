//! What the agent of a node is told, from what is known of the Drone bound to it.
//!
//! Owns: [`for_node`] and [`order`]. Must not: land anything for want of knowledge. Where something is not known, the
//! answer is `None`: nothing new is said, and the agent goes on with what it holds.

use crate::assignment::{Assignment, Desired, GroundedWhy, Held, Order};
use crate::drone::{Claimed, Facts, Ground};
use crate::flight_record::Told;
use crate::ground::{GroundMark, GroundOrderId};
use crate::ids::{DroneUid, Term};

/// The order for the vehicle that serves `drone`; `held` is what the agent reports to hold.
#[must_use]
pub fn order(term: Term, drone: &Facts, held: Option<&Held>) -> Option<Order> {
    let held = held.filter(|h| h.uid == drone.uid);
    // A vehicle is lifted only under a claim and a finalizer. One that serves this Drone already keeps being told.
    if held.is_none() && (drone.claim != Claimed::Ours || !(drone.guarded || drone.deleting)) {
        return None;
    }
    let desired = if drone.deleting {
        Desired::Grounded {
            why: GroundedWhy::Deleted,
        }
    } else {
        match drone.ground {
            Ground::Ordered => Desired::Grounded {
                why: GroundedWhy::Ordered,
            },
            Ground::No => Desired::Flying {
                altitude: drone.altitude,
            },
            Ground::Unknown if held.is_some_and(|h| !h.grounded) => Desired::Flying {
                altitude: drone.altitude,
            },
            Ground::Unknown => return None,
        }
    };
    Some(Order::Assigned(Assignment {
        term,
        uid: drone.uid.clone(),
        name: drone.name.clone(),
        generation: drone.generation,
        desired,
        failsafe: drone.failsafe,
        resume_after: drone.resume_after,
        ground_mark: drone.ground_mark,
        // Whoever holds the Drone knows better.
        told: if held.is_none() { drone.told } else { Told::default() },
    }))
}

/// What to say to the agent of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Say {
    /// This.
    Order(Order),
    /// Nothing new.
    Nothing,
    /// First find out, from the API server and not from a cache, whether the Drone that the agent holds is bound to the
    /// node; no Drone of that uid is known here.
    AskFor(DroneUid),
}

/// What to say to the agent of a node that `drones` name as theirs (more than one only if people set `spec.nodeName`).
///
/// `held` is what the agent reports to hold: `None` before its first report, `Some(None)` when it holds nothing.
/// `stranger_gone` is whether the API server said that the Drone held is not bound to this node.
#[must_use]
pub fn for_node(term: Term, drones: &[Facts], held: Option<Option<&Held>>, stranger_gone: bool) -> Say {
    let holds = held.flatten();
    if let Some(stranger) = holds.filter(|h| drones.iter().all(|drone| drone.uid != h.uid)) {
        if !stranger_gone {
            return Say::AskFor(stranger.uid.clone());
        }
        if !stranger.settled {
            // Its vehicle comes down before it serves anybody else.
            return Say::Order(Order::Unassigned { term });
        }
    }
    let order = match served(drones, holds) {
        Some(drone) => order(term, drone, holds),
        None => held.map(|_| Order::Unassigned { term }),
    };
    order.map_or(Say::Nothing, Say::Order)
}

/// Of the Drones that name a node, the one that its vehicle serves: what the agent holds, or else who has the claim. One
/// without a claim may be about to get it, so that the node is not told that it has no Drone.
fn served<'a>(drones: &'a [Facts], held: Option<&Held>) -> Option<&'a Facts> {
    let by_agent = drones
        .iter()
        .find(|drone| held.is_some_and(|held| held.uid == drone.uid));
    let by_claim = || drones.iter().find(|drone| drone.claim == Claimed::Ours);
    by_agent
        .or_else(by_claim)
        .or_else(|| drones.iter().find(|drone| drone.claim == Claimed::Nobody))
}

/// Whether an agent that reports `held`, and to keep the ground order `latch`, acts on `order`. If not, the order is sent
/// again.
#[must_use]
pub fn taken(order: &Order, held: Option<&Held>, latch: Option<GroundOrderId>) -> bool {
    match (order, held) {
        (Order::Unassigned { .. }, held) => held.is_none(),
        (Order::Assigned(_), None) => false,
        (Order::Assigned(a), Some(h)) => {
            let grounded = matches!(a.desired, Desired::Grounded { .. });
            let heard = match a.ground_mark {
                Some(GroundMark::Given(id)) => latch == Some(id),
                Some(GroundMark::Done(id)) => latch != Some(id),
                None => true,
            };
            heard && (h.uid == a.uid) && (h.term, h.generation, h.grounded) == (a.term, a.generation, grounded)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::Failsafe;
    use crate::ids::{DroneName, DroneUid};
    use crate::units::AltitudeAboveHome;

    const TERM: Term = Term(7);

    fn bound() -> Facts {
        Facts {
            uid: DroneUid("u".into()),
            name: DroneName {
                namespace: "field".into(),
                name: "alpha-good-bird".into(),
            },
            generation: 2,
            deleting: false,
            guarded: true,
            claim: Claimed::Ours,
            altitude: AltitudeAboveHome(10.0),
            failsafe: Failsafe::default(),
            ground: Ground::No,
            resume_after: 0,
            ground_mark: None,
            told: crate::flight_record::Told::default(),
        }
    }

    fn held(grounded: bool) -> Held {
        Held {
            uid: DroneUid("u".into()),
            term: TERM,
            generation: 2,
            grounded,
            settled: false,
        }
    }

    fn desired(drone: &Facts, held: Option<&Held>) -> Option<Desired> {
        match order(TERM, drone, held)? {
            Order::Assigned(a) => Some(a.desired),
            Order::Unassigned { .. } => None,
        }
    }

    const FLY: Option<Desired> = Some(Desired::Flying {
        altitude: AltitudeAboveHome(10.0),
    });
    const DELETED: Option<Desired> = Some(Desired::Grounded {
        why: GroundedWhy::Deleted,
    });
    const ORDERED: Option<Desired> = Some(Desired::Grounded {
        why: GroundedWhy::Ordered,
    });

    #[test]
    fn only_an_agent_that_does_not_hold_the_drone_is_told_of_its_flight() {
        let told = Told {
            takeovers: 2,
            so_far: crate::flight_record::SoFar::Over,
        };
        let drone = Facts { told, ..bound() };
        for (held, expected) in [(None, told), (Some(held(false)), Told::default())] {
            let Some(Order::Assigned(order)) = order(TERM, &drone, held.as_ref()) else {
                panic!("it is told nothing")
            };
            assert_eq!(order.told, expected);
        }
    }

    #[test]
    fn a_bound_drone_with_claim_and_finalizer_flies() {
        assert_eq!(desired(&bound(), None), FLY);
    }

    #[test]
    fn nothing_is_lifted_without_a_claim_or_without_the_finalizer() {
        for claim in [Claimed::Nobody, Claimed::Other] {
            let drone = Facts { claim, ..bound() };
            assert_eq!(desired(&drone, None), None);
            assert_eq!(
                desired(&drone, Some(&held(false))),
                FLY,
                "what serves it already goes on"
            );
        }
        assert_eq!(
            desired(
                &Facts {
                    guarded: false,
                    ..bound()
                },
                None
            ),
            None
        );
    }

    #[test]
    fn a_deleted_drone_and_a_ground_order_bring_it_down() {
        assert_eq!(
            desired(
                &Facts {
                    deleting: true,
                    ..bound()
                },
                None
            ),
            DELETED
        );
        assert_eq!(
            desired(
                &Facts {
                    ground: Ground::Ordered,
                    ..bound()
                },
                Some(&held(false))
            ),
            ORDERED
        );
        assert_eq!(
            desired(
                &Facts {
                    deleting: true,
                    ground: Ground::Unknown,
                    ..bound()
                },
                None
            ),
            DELETED
        );
    }

    #[test]
    fn a_drone_whose_swarm_is_not_known_goes_on_flying_but_does_not_take_off() {
        let drone = Facts {
            ground: Ground::Unknown,
            ..bound()
        };
        assert_eq!(desired(&drone, Some(&held(false))), FLY);
        assert_eq!(desired(&drone, Some(&held(true))), None);
        assert_eq!(desired(&drone, None), None);
    }

    #[test]
    fn a_ground_order_stands_if_any_of_drone_swarm_or_operator_gives_it() {
        assert_eq!(Ground::of(false, Some(false), false), Ground::No);
        for ordered in [
            (true, Some(false), false),
            (false, Some(true), false),
            (false, Some(false), true),
            (true, None, false),
        ] {
            assert_eq!(Ground::of(ordered.0, ordered.1, ordered.2), Ground::Ordered);
        }
        assert_eq!(Ground::of(false, None, false), Ground::Unknown);
    }

    #[test]
    fn an_agent_that_holds_a_drone_unknown_here_is_not_landed_on_the_word_of_a_cache() {
        let none = Say::Order(Order::Unassigned { term: TERM });
        assert_eq!(
            for_node(TERM, &[], Some(Some(&held(false))), false),
            Say::AskFor(DroneUid("u".into()))
        );
        assert_eq!(
            for_node(TERM, &[], None, false),
            Say::Nothing,
            "before its first report nobody knows what it holds"
        );
        assert_eq!(for_node(TERM, &[], Some(None), false), none);
        assert_eq!(for_node(TERM, &[], Some(Some(&held(false))), true), none);
    }

    #[test]
    fn a_vehicle_left_by_a_drone_that_is_gone_comes_down_before_it_serves_the_next() {
        let next = [Facts {
            uid: DroneUid("next".into()),
            ..bound()
        }];
        let left = held(false);
        assert_eq!(
            for_node(TERM, &next, Some(Some(&left)), true),
            Say::Order(Order::Unassigned { term: TERM })
        );
        let settled = Held { settled: true, ..left };
        let Say::Order(Order::Assigned(a)) = for_node(TERM, &next, Some(Some(&settled)), true) else {
            panic!("no order")
        };
        assert_eq!(a.uid, next[0].uid);
    }

    #[test]
    fn of_two_drones_that_name_a_node_the_one_in_the_air_is_served_and_then_the_one_with_the_claim() {
        let other = Facts {
            uid: DroneUid("other".into()),
            claim: Claimed::Other,
            ..bound()
        };
        let both = [other.clone(), bound()];
        let served = |held: Option<&Held>| match for_node(TERM, &both, Some(held), false) {
            Say::Order(Order::Assigned(a)) => a.uid.0,
            say => format!("{say:?}"),
        };
        assert_eq!(served(None), "u");
        assert_eq!(
            served(Some(&Held {
                uid: other.uid.clone(),
                ..held(false)
            })),
            "other"
        );
    }

    #[test]
    fn an_order_counts_as_taken_only_when_the_report_shows_all_of_it() {
        let fly = order(TERM, &bound(), None).unwrap();
        let taken = |order: &Order, held: Option<&Held>| super::taken(order, held, None);
        assert!(taken(&fly, Some(&held(false))));
        assert!(!taken(&fly, Some(&held(true))));
        assert!(!taken(
            &fly,
            Some(&Held {
                term: Term(6),
                ..held(false)
            })
        ));
        assert!(!taken(
            &fly,
            Some(&Held {
                generation: 1,
                ..held(false)
            })
        ));
        assert!(!taken(&fly, None));
        assert!(taken(&Order::Unassigned { term: TERM }, None));
        assert!(!taken(&Order::Unassigned { term: TERM }, Some(&held(false))));
    }

    #[test]
    fn an_agent_that_keeps_a_ground_order_that_is_done_or_misses_one_that_was_given_is_told_again() {
        let with = |mark, ground| {
            let drone = Facts {
                ground_mark: mark,
                ground,
                ..bound()
            };
            order(TERM, &drone, None).unwrap()
        };
        let id = GroundOrderId(5);
        let done = with(Some(GroundMark::Done(id)), Ground::No);
        assert!(!taken(&done, Some(&held(false)), Some(id)));
        assert!(taken(&done, Some(&held(false)), None));
        let given = with(Some(GroundMark::Given(id)), Ground::Ordered);
        assert!(!taken(&given, Some(&held(true)), None));
        assert!(!taken(&given, Some(&held(true)), Some(GroundOrderId(4))));
        assert!(taken(&given, Some(&held(true)), Some(id)));
    }
}
