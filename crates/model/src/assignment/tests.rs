//! Taking and refusing orders.

use super::*;

const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};

fn assigned(uid: &str, term: u64, generation: i64, desired: Desired) -> Order {
    Order::Assigned(Assignment {
        term: Term(term),
        uid: DroneUid(uid.into()),
        name: DroneName {
            namespace: "field".into(),
            name: uid.into(),
        },
        generation,
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
    })
}

fn holding(order: &Order) -> Fence {
    Fence::default().take(order, true).unwrap()
}

#[test]
fn a_deposed_coordinator_is_refused_and_changes_nothing() {
    let fence = holding(&assigned("a", 5, 1, FLY));
    for late in [assigned("a", 4, 9, FLY), Order::unassigned(Term(4))] {
        let refused = fence.take(&late, true).unwrap_err();
        assert!(matches!(refused, Refused::StaleTerm { .. }));
        assert_eq!(fence.raised_to(late.term()), fence);
    }
}

#[test]
fn an_order_refused_for_a_busy_vehicle_still_deposes_the_older_coordinators() {
    let fence = holding(&assigned("a", 3, 1, FLY));
    let other = assigned("b", 5, 1, FLY);
    let refused = fence.take(&other, false).unwrap_err();
    assert!(matches!(refused, Refused::Busy { .. }));
    let fence = fence.raised_to(other.term());
    assert_eq!(fence.held.as_ref().map(|a| a.uid.0.as_str()), Some("a"));
    assert!(matches!(
        fence.take(&assigned("a", 3, 2, FLY), true),
        Err(Refused::StaleTerm { .. })
    ));
    assert!(fence.take(&assigned("a", 5, 1, FLY), false).is_ok());
}

#[test]
fn an_older_order_of_the_same_leadership_is_refused() {
    let fence = holding(&assigned("a", 3, 2, FLY));
    let refused = fence.take(&assigned("a", 3, 1, FLY), true).unwrap_err();
    assert_eq!(refused, Refused::StaleGeneration { got: 1, held: 2 });
    assert!(fence.take(&assigned("a", 4, 1, FLY), true).is_ok());
}

#[test]
fn a_node_without_a_drone_lands_its_vehicle_first_and_forgets_it_then() {
    let fence = holding(&assigned("a", 3, 1, FLY));
    let none = Order::unassigned(Term(4));
    let landing = fence.take(&none, false).unwrap();
    let held = landing.held.clone().unwrap();
    assert_eq!((held.term, held.uid.0.as_str()), (Term(4), "a"));
    assert_eq!(
        held.desired,
        Desired::Grounded {
            why: GroundedWhy::Unbound
        }
    );
    assert_eq!(landing.take(&none, true).unwrap().held, None);
}

#[test]
fn an_agent_without_memory_takes_the_drone_it_is_sent_although_its_vehicle_flies() {
    let fence = Fence::default().take(&assigned("a", 3, 1, FLY), false).unwrap();
    assert_eq!(fence.held.map(|a| a.uid.0), Some("a".into()));
}

fn marked(desired: Desired, mark: Option<GroundMark>) -> Order {
    match assigned("a", 3, 1, desired) {
        Order::Assigned(a) => Order::Assigned(Assignment { ground_mark: mark, ..a }),
        Order::Unassigned { .. } => unreachable!("`assigned` makes an assignment"),
    }
}

fn desired(fence: &Fence) -> Option<Desired> {
    fence.held.as_ref().map(|a| a.desired)
}

const ORDERED: Desired = Desired::Grounded {
    why: GroundedWhy::Ordered,
};
const GIVEN: Option<GroundMark> = Some(GroundMark::Given(GroundOrderId(7)));
const DONE: Option<GroundMark> = Some(GroundMark::Done(GroundOrderId(7)));

#[test]
fn a_ground_order_is_kept_against_every_order_to_fly_until_it_is_confirmed_as_done() {
    let kept = holding(&marked(ORDERED, GIVEN));
    assert_eq!(kept.ground_latch, Some(GroundOrderId(7)));
    let other = Some(GroundMark::Done(GroundOrderId(8)));
    for forgetful in [
        assigned("a", 3, 2, FLY),
        assigned("a", 9, 1, FLY),
        marked(FLY, other),
        marked(FLY, GIVEN),
    ] {
        let fence = kept.take(&forgetful, true).unwrap();
        assert_eq!(
            (fence.ground_latch, desired(&fence)),
            (Some(GroundOrderId(7)), Some(ORDERED)),
            "{forgetful:?}"
        );
    }
    let done = kept.take(&marked(FLY, DONE), true).unwrap();
    assert_eq!((done.ground_latch, desired(&done)), (None, Some(FLY)));
}

#[test]
fn an_assignment_that_no_ground_order_grounds_gives_none_to_keep() {
    let grounded = |why| Desired::Grounded { why };
    for desired in [FLY, grounded(GroundedWhy::Deleted), grounded(GroundedWhy::Unbound)] {
        assert_eq!(holding(&marked(desired, GIVEN)).ground_latch, None, "{desired:?}");
    }
}

#[test]
fn a_ground_order_that_is_recorded_keeps_the_vehicle_down_by_the_assignment_alone() {
    let recorded = holding(&marked(ORDERED, GIVEN))
        .take(&marked(ORDERED, DONE), false)
        .unwrap();
    assert_eq!((recorded.ground_latch, desired(&recorded)), (None, Some(ORDERED)));
}

#[test]
fn a_kept_ground_order_does_not_hide_why_else_the_vehicle_comes_down() {
    let deleted = Desired::Grounded {
        why: GroundedWhy::Deleted,
    };
    let fence = holding(&marked(ORDERED, GIVEN))
        .take(&assigned("a", 3, 2, deleted), false)
        .unwrap();
    assert_eq!(
        (fence.ground_latch, desired(&fence)),
        (Some(GroundOrderId(7)), Some(deleted))
    );
}

#[test]
fn a_ground_order_goes_with_its_drone_and_not_before() {
    let kept = holding(&marked(ORDERED, GIVEN));
    let none = Order::unassigned(Term(3));
    let landing = kept.take(&none, false).unwrap();
    assert_eq!(landing.ground_latch, Some(GroundOrderId(7)));
    assert_eq!(
        landing.take(&none, true).unwrap(),
        Fence {
            highest_term: Term(3),
            ..Fence::default()
        }
    );
    let next = kept.take(&assigned("b", 3, 1, FLY), true).unwrap();
    assert_eq!((next.ground_latch, desired(&next)), (None, Some(FLY)));
    assert!(kept.take(&assigned("b", 3, 1, FLY), false).is_err());
}

#[test]
fn a_refused_order_takes_no_ground_order_away() {
    let kept = holding(&marked(ORDERED, GIVEN));
    assert!(kept.take(&assigned("a", 2, 9, FLY), true).is_err());
    assert_eq!(kept.raised_to(Term(9)).ground_latch, Some(GroundOrderId(7)));
}

fn on_route(generation: i64, count: Option<u64>) -> Assignment {
    let Order::Assigned(assignment) = assigned("a", 3, generation, FLY) else {
        panic!("no assignment")
    };
    Assignment {
        routed: true,
        manner: crate::station::Manner::default(),
        recalled: false,
        void: crate::route_order::OrderNumber::default(),
        rules: None,
        plan: None,
        route: count.map(|count| RouteOrder {
            number: number(count),
            places: Vec::new(),
            room: None,
        }),
        ..assignment
    }
}

const fn number(count: u64) -> OrderNumber {
    OrderNumber { term: Term(3), count }
}

/// The fence after these orders, and the number of the route that is flown then.
fn after(orders: &[Assignment]) -> (Fence, Option<u64>) {
    let fence = orders.iter().fold(Fence::default(), |fence, order| {
        fence.take(&Order::Assigned(order.clone()), false).unwrap()
    });
    let flown = fence.held.as_ref().and_then(|held| held.route.as_ref());
    let flown = flown.map(|route| route.number.count);
    (fence, flown)
}

#[test]
fn only_a_newer_route_is_flown_and_an_order_without_one_changes_nothing() {
    assert_eq!(after(&[on_route(1, Some(2)), on_route(1, Some(3))]).1, Some(3));
    assert_eq!(
        after(&[on_route(1, Some(3)), on_route(1, Some(2))]).1,
        Some(3),
        "it came late"
    );
    let of_a_new_leader = on_route(2, None);
    assert_eq!(after(&[on_route(1, Some(3)), of_a_new_leader]).1, Some(3));
}

#[test]
fn a_route_that_was_left_or_that_a_landing_ended_is_not_taken_up_again() {
    let (fence, _) = after(&[on_route(1, Some(3))]);
    let left = fence.without_route();
    let again = left.take(&Order::Assigned(on_route(1, Some(3))), false).unwrap();
    assert!(again.held.is_some_and(|held| held.route.is_none()));
    let newer = left.take(&Order::Assigned(on_route(1, Some(4))), false).unwrap();
    assert!(newer.held.is_some_and(|held| held.route.is_some()));
    let landing = Assignment {
        desired: Desired::Grounded {
            why: GroundedWhy::Ordered,
        },
        ..on_route(2, Some(4))
    };
    let (landed, flown) = after(&[on_route(1, Some(3)), landing, on_route(3, Some(3))]);
    assert_eq!((flown, landed.last_route), (None, number(3)), "it was never flown");
}

#[test]
fn a_void_route_is_not_flown_when_its_order_comes_late() {
    let grounded = Assignment {
        desired: Desired::Grounded {
            why: GroundedWhy::Deleted,
        },
        ..on_route(2, None)
    };
    let order = Order::Assigned(grounded).without_routes_to(number(4));
    let fence = Fence::default().take(&order, true).unwrap();
    assert_eq!(fence.last_route, number(4));
    let late = fence.take(&Order::Assigned(on_route(3, Some(4))), true).unwrap();
    assert!(late.held.is_some_and(|held| held.route.is_none()));
    let (has, _) = after(&[on_route(3, Some(4))]);
    let void = Order::Assigned(on_route(3, None)).without_routes_to(number(4));
    for (settled, kept) in [(true, None), (false, Some(number(4)))] {
        let held = has.take(&void, settled).unwrap().held.unwrap();
        assert_eq!(held.route.map(|route| route.number), kept, "on the ground: {settled}");
    }
    let none = Order::unassigned(Term(3)).without_routes_to(number(5));
    assert_eq!(fence.take(&none, true).unwrap().last_route, number(5));
    let flying = Order::Assigned(on_route(3, Some(6)));
    assert_eq!(
        flying.clone().without_routes_to(number(6)),
        flying,
        "that one is to be flown"
    );
}
