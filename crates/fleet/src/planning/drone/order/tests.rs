//! What the agent of a node is sent.

use super::*;
use crate::planning::drone::Movement;
use crate::planning::drone::way_home::WayHome;
use model::assignment::Failsafe;
use model::ids::{DroneName, DroneUid};
use model::route_order::RouteOrder;
use model::units::AltitudeAboveHome;
use model::vehicle::{Airborne, WhyUnknown};

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
        recalled: false,
        guarded: true,
        claim: Claimed::Ours,
        altitude: AltitudeAboveHome(10.0),
        waits_for: None,
        failsafe: Failsafe::default(),
        ground: Ground::No,
        lift: Lift::Free,
        truth: Some(FlightTruth::Airborne(Airborne::InAir)),
        flown: true,
        over: false,
        resume_after: 0,
        ground_mark: None,
        reported_flight: model::reported_flight::ReportedFlight::default(),
        forgotten: false,
        movement: None,
        rules: None,
        plan: None,
    }
}

fn held(grounded: bool) -> Held {
    Held {
        uid: DroneUid("u".into()),
        term: TERM,
        generation: 2,
        grounded,
        settled: false,
        details: None,
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
fn only_an_agent_without_the_drone_or_its_memory_is_sent_the_flight_known_before() {
    let reported_flight = ReportedFlight {
        takeovers: 2,
        so_far: model::reported_flight::SoFar::Over,
        hardware: model::vehicle::HardwareUid::of(7, [0; 18]),
    };
    let drone = Facts {
        reported_flight,
        ..bound()
    };
    let forgotten = Facts {
        forgotten: true,
        ..drone.clone()
    };
    for (drone, held, expected) in [
        (&drone, None, reported_flight),
        (&drone, Some(held(false)), ReportedFlight::default()),
        (&forgotten, Some(held(false)), reported_flight),
    ] {
        let Some(Order::Assigned(order)) = order(TERM, drone, held.as_ref()) else {
            panic!("it is sent nothing")
        };
        assert_eq!(order.reported_flight, expected);
    }
}

#[test]
fn a_bound_drone_with_claim_and_finalizer_flies() {
    assert_eq!(desired(&bound(), None), FLY);
}

#[test]
fn nothing_is_lifted_without_a_claim_or_without_the_finalizer() {
    for claim in [Claimed::Free, Claimed::Other] {
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

const WAITING: Option<Desired> = Some(Desired::Grounded {
    why: GroundedWhy::Waiting,
});

#[test]
fn on_a_node_that_takes_no_new_flights_what_flies_goes_on_and_what_stands_stays() {
    let with = |why, truth| Facts {
        lift: Lift::Stay(why),
        truth,
        ..bound()
    };
    let (up, down) = (
        Some(FlightTruth::Airborne(Airborne::InAir)),
        Some(FlightTruth::Disarmed),
    );
    let unknown = Some(FlightTruth::Unknown(WhyUnknown::LinkLost));
    let settled = Held {
        settled: true,
        ..held(false)
    };
    for why in [
        NoLift::Cordoned,
        NoLift::Drained,
        NoLift::NodeGone,
        NoLift::Upgrade,
        NoLift::TakeoffSlot,
    ] {
        assert_eq!(desired(&with(why, up), Some(&held(false))), FLY);
        assert_eq!(
            desired(&with(why, unknown), Some(&held(false))),
            FLY,
            "none is landed because something is not known"
        );
        let restarted = Facts {
            flown: false,
            ..with(why, unknown)
        };
        assert_eq!(
            desired(&restarted, Some(&held(false))),
            None,
            "its agent has just started, and does not know yet whether it is on the ground"
        );
        assert_eq!(desired(&with(why, up), None), FLY, "it is taken up again");
        assert_eq!(desired(&with(why, down), Some(&settled)), WAITING);
        assert_eq!(desired(&with(why, down), None), WAITING);
        assert_eq!(
            desired(&with(why, up), Some(&held(true))),
            WAITING,
            "a landing is not turned round"
        );
        assert_eq!(desired(&with(why, unknown), None), None);
        assert_eq!(desired(&with(why, None), None), None, "nothing was reported yet");
    }
}

#[test]
fn one_who_may_lead_no_more_lifts_nobody_lands_nobody_and_still_grounds() {
    let doubt = Facts {
        lift: Lift::Stay(NoLift::Doubt),
        ..bound()
    };
    assert_eq!(desired(&doubt, Some(&held(false))), FLY);
    let down = Facts {
        truth: Some(FlightTruth::Disarmed),
        ..doubt.clone()
    };
    let settled = Held {
        settled: true,
        ..held(false)
    };
    for held in [None, Some(&held(true))] {
        assert_eq!(desired(&down, held), None);
    }
    assert_eq!(
        desired(&down, Some(&settled)),
        WAITING,
        "ordered to fly before, it would take off as soon as its checks pass"
    );
    let ordered = Facts {
        ground: Ground::Ordered,
        ..doubt
    };
    assert_eq!(desired(&ordered, Some(&held(false))), ORDERED);
}

#[test]
fn a_drained_node_whose_drone_has_no_swarm_has_its_vehicle_landed() {
    let drained = Facts {
        lift: Lift::Land,
        ..bound()
    };
    assert_eq!(desired(&drained, Some(&held(false))), WAITING);
    let unknown_swarm = Facts {
        ground: Ground::Unknown,
        ..drained
    };
    assert_eq!(desired(&unknown_swarm, Some(&held(false))), WAITING);
}

#[test]
fn without_its_swarm_and_with_its_node_cordoned_what_stands_is_told_nothing() {
    let drone = Facts {
        ground: Ground::Unknown,
        lift: Lift::Stay(NoLift::Cordoned),
        truth: Some(FlightTruth::Disarmed),
        ..bound()
    };
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
    let none = ToSend::Order(Order::unassigned(TERM));
    assert_eq!(
        for_node(TERM, &[], Some(Some(&held(false))), false),
        ToSend::ConfirmUnbound(DroneUid("u".into()))
    );
    assert_eq!(
        for_node(TERM, &[], None, false),
        ToSend::Nothing,
        "before its first report it is not known what it holds"
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
        ToSend::Order(Order::unassigned(TERM))
    );
    let settled = Held { settled: true, ..left };
    let ToSend::Order(Order::Assigned(a)) = for_node(TERM, &next, Some(Some(&settled)), true) else {
        panic!("no order")
    };
    assert_eq!(a.uid, next[0].uid);
}

#[test]
fn of_two_drones_that_name_a_node_the_flying_one_is_served_then_the_claiming_one() {
    let other = Facts {
        uid: DroneUid("other".into()),
        claim: Claimed::Other,
        ..bound()
    };
    let both = [other.clone(), bound()];
    let served = |held: Option<&Held>| match for_node(TERM, &both, Some(held), false) {
        ToSend::Order(Order::Assigned(a)) => a.uid.0,
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
    let taken = |order: &Order, held: Option<&Held>| super::taken(order, held, None, &RouteState::default());
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
    let with = |details| Held { details, ..held(false) };
    let Order::Assigned(assignment) = &fly else { panic!() };
    let details = HeldDetails::of(assignment);
    assert!(taken(&fly, Some(&with(Some(details.clone())))));
    let before = [
        HeldDetails {
            routed: true,
            ..details.clone()
        },
        HeldDetails {
            rules: Some(model::rules::RulesDigest("r".into())),
            ..details.clone()
        },
        HeldDetails {
            plan: Some(model::plan::PlanDigest("p".into())),
            ..details.clone()
        },
        HeldDetails {
            altitude: Some(AltitudeAboveHome(30.0)),
            ..details.clone()
        },
    ];
    for before in before {
        assert!(
            !taken(&fly, Some(&with(Some(before)))),
            "its disk stalled as the order came"
        );
    }
    let older = HeldDetails {
        altitude: None,
        ..details
    };
    assert!(taken(&fly, Some(&with(Some(older)))), "its version does not say");
    assert!(taken(&Order::unassigned(TERM), None));
    assert!(!taken(&Order::unassigned(TERM), Some(&held(false))));
}

#[test]
fn an_agent_that_keeps_an_ended_ground_order_or_misses_a_given_one_is_told_again() {
    let with = |mark, ground| {
        let drone = Facts {
            ground_mark: mark,
            ground,
            ..bound()
        };
        order(TERM, &drone, None).unwrap()
    };
    let taken = |order: &Order, held: Option<&Held>, latch| super::taken(order, held, latch, &RouteState::default());
    let id = GroundOrderId(5);
    let done = with(Some(GroundMark::Done(id)), Ground::No);
    assert!(!taken(&done, Some(&held(false)), Some(id)));
    assert!(taken(&done, Some(&held(false)), None));
    let given = with(Some(GroundMark::Given(id)), Ground::Ordered);
    assert!(!taken(&given, Some(&held(true)), None));
    assert!(!taken(&given, Some(&held(true)), Some(GroundOrderId(4))));
    assert!(taken(&given, Some(&held(true)), Some(id)));
}

fn route(count: u64) -> RouteOrder {
    RouteOrder {
        number: OrderNumber { term: TERM, count },
        places: Vec::new(),
        room: None,
    }
}

fn moving(way_home: WayHome, route: Option<RouteOrder>) -> Facts {
    Facts {
        movement: Some(Movement {
            route,
            manner: Manner::default(),
            way_home,
            off_station: None,
            shared_return: None,
            crossed_station: None,
        }),
        ..bound()
    }
}

#[test]
fn a_route_is_part_of_an_order_to_fly_and_is_sent_until_it_is_taken() {
    let flies = moving(WayHome::Over, Some(route(4)));
    let ordered = order(TERM, &flies, Some(&held(false))).unwrap();
    let Order::Assigned(assignment) = &ordered else {
        panic!("{ordered:?}")
    };
    assert!(assignment.routed && assignment.route == Some(route(4)));
    let state = |last, order| RouteState {
        last: route(last).number,
        order,
        ..RouteState::default()
    };
    let taken = |last| super::taken(&ordered, Some(&held(false)), None, &state(last, None));
    assert!(!taken(3) && taken(4) && taken(5));
    let void = order(TERM, &moving(WayHome::Over, None), Some(&held(false))).unwrap();
    let void = void.without_routes_to(route(4).number);
    let taken = |state| super::taken(&void, Some(&held(false)), None, &state);
    assert!(taken(state(4, None)) && taken(state(5, Some(route(5)))));
    assert!(!taken(state(3, None)) && !taken(state(4, Some(route(4)))));
    let grounded = Facts {
        ground: Ground::Ordered,
        ..flies
    };
    let Some(Order::Assigned(landing)) = order(TERM, &grounded, Some(&held(false))) else {
        panic!()
    };
    assert!(landing.route.is_none() && matches!(landing.desired, Desired::Grounded { .. }));
}

#[test]
fn a_leaving_vehicle_goes_home_before_it_lands_but_a_ground_order_lands_it_at_once() {
    let desired = |drone: &Facts| match order(TERM, drone, Some(&held(false))) {
        Some(Order::Assigned(a)) => a.desired,
        other => panic!("{other:?}"),
    };
    for (way_home, goes_home) in [(WayHome::Ahead, true), (WayHome::Over, false)] {
        let leaves = Facts {
            deleting: true,
            ..moving(way_home, None)
        };
        assert_eq!(matches!(desired(&leaves), Desired::Flying { .. }), goes_home);
        let drained = Facts {
            lift: Lift::Land,
            ..moving(way_home, None)
        };
        assert_eq!(matches!(desired(&drained), Desired::Flying { .. }), goes_home);
        let ordered = Facts {
            ground: Ground::Ordered,
            ..leaves
        };
        assert!(matches!(desired(&ordered), Desired::Grounded { .. }));
    }
}

#[test]
fn a_vehicle_of_unknown_position_is_ordered_to_land_there_only_by_a_person() {
    let leaves = Facts {
        deleting: true,
        ..moving(WayHome::Unknown, None)
    };
    assert_eq!(order(TERM, &leaves, Some(&held(false))), None);
    let drained = Facts {
        lift: Lift::Land,
        ..moving(WayHome::Unknown, None)
    };
    assert_eq!(order(TERM, &drained, Some(&held(false))), None);
    let ordered = Facts {
        ground: Ground::Ordered,
        ..leaves
    };
    let Some(Order::Assigned(landing)) = order(TERM, &ordered, Some(&held(false))) else {
        panic!()
    };
    assert!(matches!(landing.desired, Desired::Grounded { .. }));
}
