//! Invariants 1, 3 and 9 over any sequence of orders, against a model of what an agent may hold.

use crate::given::{FLYING, GROUNDED, ORDERED, assigned};
use model::assignment::{Assignment, Desired, Fence, Order};
use model::ground::{GroundMark, GroundOrderId};
use model::ids::Term;
use proptest::prelude::*;

fn mark() -> impl Strategy<Value = Option<GroundMark>> {
    prop_oneof![
        3 => Just(None),
        2 => (0_u64..3).prop_map(|id| Some(GroundMark::Given(GroundOrderId(id)))),
        2 => (0_u64..3).prop_map(|id| Some(GroundMark::Done(GroundOrderId(id)))),
    ]
}

fn order() -> impl Strategy<Value = Order> {
    let desired = prop_oneof![Just(FLYING), Just(FLYING), Just(ORDERED), Just(GROUNDED)];
    let assigned =
        (0_u64..4, 0..2_u8, 0_i64..4, desired, mark()).prop_map(|(term, drone, generation, desired, mark)| {
            Order::Assigned(Assignment {
                generation,
                ground_mark: mark,
                ..assigned(&format!("drone-{drone}"), term, desired)
            })
        });
    prop_oneof![5 => assigned, 1 => (0_u64..4).prop_map(|term| Order::unassigned(Term(term)))]
}

fn grounds(desired: Desired) -> bool {
    matches!(desired, Desired::Grounded { .. })
}

fn holder(fence: &Fence) -> Option<&str> {
    fence.held.as_ref().map(|held| held.uid.0.as_str())
}

/// Returns whether the order was taken.
fn give(fence: &Fence, order: &Order, settled: bool) -> (Fence, bool) {
    match fence.take(order, settled) {
        Ok(after) => (after, true),
        Err(_) => (fence.raised_to(order.term()), false),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_orders_move_a_vehicle_from_its_drone_or_revive_a_deposed_coordinator(
        orders in prop::collection::vec((order(), any::<bool>()), 1..40)
    ) {
        let mut fence = Fence::default();
        for (order, settled) in &orders {
            let before = fence.clone();
            let (after, taken) = give(&before, order, *settled);
            let term = order.term();
            prop_assert!(after.highest_term == before.highest_term.max(term), "the highest term is remembered");
            if term < before.highest_term {
                prop_assert!(!taken && after == before, "a deposed coordinator changes nothing");
            }
            if !taken {
                prop_assert_eq!(&after.held, &before.held, "a refused order changes nothing that is held");
                prop_assert_eq!(after.ground_latch, before.ground_latch);
            }
            if holder(&before).is_some() && holder(&after) != holder(&before) {
                prop_assert!(*settled, "a vehicle that is not down changed its Drone: {:?} {:?}", before, order);
            }
            if let (Some(was), Some(is)) = (&before.held, &after.held)
                && was.uid == is.uid
            {
                prop_assert!((is.term, is.generation) >= (was.term, was.generation) || is.term > was.term);
            }
            if let Order::Unassigned { .. } = order
                && let (true, Some(held)) = (taken, &after.held)
            {
                prop_assert!(!settled && grounds(held.desired), "a vehicle without a Drone lands");
            }
            fence = after;
        }
    }

    #[test]
    fn while_a_ground_order_is_kept_no_order_flies_its_drone_and_only_its_end_ends_it(
        orders in prop::collection::vec((order(), any::<bool>()), 1..40)
    ) {
        let mut fence = Fence::default();
        for (order, settled) in &orders {
            let before = fence.clone();
            let (after, taken) = give(&before, order, *settled);
            if after.ground_latch.is_some() {
                prop_assert!(after.held.as_ref().is_some_and(|held| grounds(held.desired)), "{:?}", after);
            }
            if let (Some(kept), None) = (before.ground_latch, after.ground_latch) {
                let done = matches!(order, Order::Assigned(a) if a.ground_mark == Some(GroundMark::Done(kept)));
                let gone = *settled && holder(&after) != holder(&before);
                prop_assert!(taken && (done || gone), "dropped by {:?}", order);
            }
            if let Order::Assigned(a) = order
                && taken
                && a.desired == ORDERED
                && let Some(GroundMark::Given(id)) = a.ground_mark
            {
                prop_assert_eq!(after.ground_latch, Some(id), "an order that was given is kept");
            }
            fence = after;
        }
    }

    #[test]
    fn the_newest_order_of_the_leader_for_the_drone_that_is_held_is_always_taken(
        orders in prop::collection::vec((order(), any::<bool>()), 0..20),
        settled in any::<bool>(),
    ) {
        let fence = orders.iter().fold(Fence::default(), |fence, (order, settled)| give(&fence, order, *settled).0);
        if let Some(held) = &fence.held {
            let term = fence.highest_term;
            let down = Assignment { generation: held.generation + 1, term, desired: GROUNDED, ..held.clone() };
            let after = fence.take(&Order::Assigned(down), settled);
            prop_assert!(after.is_ok_and(|after| after.held.is_some_and(|held| held.desired == GROUNDED)));
        }
    }

    #[test]
    fn the_same_order_again_changes_nothing(
        orders in prop::collection::vec((order(), any::<bool>()), 0..20),
        again in order(),
    ) {
        let fence = orders.iter().fold(Fence::default(), |fence, (order, settled)| give(&fence, order, *settled).0);
        if let Ok(once) = fence.take(&again, true) {
            let twice = once.take(&again, true);
            prop_assert_eq!(twice.as_ref(), Ok(&once));
        }
    }
}
