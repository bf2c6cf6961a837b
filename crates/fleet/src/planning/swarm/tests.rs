//! Tables and properties of a Swarm's plan.

use super::*;
use proptest::prelude::*;

fn member(name: &str, serving: Serving) -> Member {
    Member {
        uid: DroneUid(name.into()),
        name: name.into(),
        serving,
        ready: matches!(serving, Serving::Flying { .. }),
        stuck: false,
        replace: None,
        leaving: false,
        slot: None,
        awaits: false,
    }
}

fn flying(percent: u8) -> Serving {
    Serving::Flying {
        battery: Percent::new(percent),
    }
}

fn plan(replicas: usize, members: &[Member]) -> Plan {
    super::plan(bounds(replicas, 0, 1), members, true)
}

fn bounds(replicas: usize, surge: usize, unavailable: usize) -> Bounds {
    Bounds {
        replicas,
        surge,
        unavailable,
    }
}

fn to_replace(name: &str, why: Replace, battery: u8) -> Member {
    Member {
        replace: Some(why),
        ..member(name, flying(battery))
    }
}

fn deleted(plan: &Plan) -> Vec<&str> {
    plan.delete.iter().map(|uid| uid.0.as_str()).collect()
}

#[test]
fn all_missing_drones_are_made_at_once() {
    assert_eq!(
        plan(5, &[member("a", flying(50))]),
        Plan {
            create: 4,
            ..Plan::default()
        }
    );
}

#[test]
fn scale_down_removes_an_idle_drone_and_not_the_first_one_which_flies() {
    let members = [
        member("a", flying(90)),
        member("b", Serving::OnGround),
        member("c", flying(10)),
    ];
    assert_eq!(deleted(&plan(2, &members)), ["b"]);
}

#[test]
fn scale_down_goes_from_the_least_to_the_greatest_loss() {
    let members = [
        member("a-flying-80", flying(80)),
        member("b-flying-20", flying(20)),
        member("c-flying-unknown-battery", Serving::Flying { battery: None }),
        member("d-unknown", Serving::Unknown),
        member("e-on-ground", Serving::OnGround),
        member("f-no-vehicle", Serving::NoVehicle),
        member("g-no-vehicle", Serving::NoVehicle),
    ];
    let expected = [
        "f-no-vehicle",
        "g-no-vehicle",
        "e-on-ground",
        "d-unknown",
        "c-flying-unknown-battery",
        "b-flying-20",
        "a-flying-80",
    ];
    for desired in 0..=members.len() {
        assert_eq!(deleted(&plan(desired, &members)), expected[..members.len() - desired]);
    }
}

#[test]
fn a_stale_cache_does_not_delete_two_for_one() {
    let mut members = vec![member("a", Serving::OnGround), member("b", Serving::OnGround)];
    assert_eq!(deleted(&plan(1, &members)), ["a"]);
    members[0].leaving = true;
    assert_eq!(plan(1, &members), Plan::default());
}

#[test]
fn a_drone_that_leaves_is_replaced_although_it_still_lands() {
    let mut members = vec![member("a", flying(50)), member("b", flying(50))];
    members[0].leaving = true;
    assert_eq!(plan(2, &members).create, 1);
}

#[test]
fn what_is_drained_is_replaced_first_and_lands_when_the_replacement_flies() {
    let drained = to_replace("a", Replace::Drained, 80);
    let start = super::plan(bounds(2, 1, 1), &[drained.clone(), member("b", flying(80))], true);
    assert_eq!((start.create, deleted(&start)), (1, vec![]));
    let coming = Member {
        ready: false,
        ..member("c", Serving::OnGround)
    };
    let during = [drained.clone(), member("b", flying(80)), coming];
    assert_eq!(super::plan(bounds(2, 1, 1), &during, true), Plan::default());
    let after = [drained, member("b", flying(80)), member("c", flying(90))];
    let after = super::plan(bounds(2, 1, 1), &after, true);
    assert_eq!((after.create, deleted(&after)), (0, vec!["a"]));
}

#[test]
fn a_vehicle_whose_relief_waits_on_the_ground_leaves_first_and_one_at_a_time() {
    let in_slot = |slot, member| Member {
        slot: Some(slot),
        ..member
    };
    let on_ground = |name, slot| {
        in_slot(
            slot,
            Member {
                ready: false,
                ..member(name, Serving::OnGround)
            },
        )
    };
    let plan = |why, unavailable, asks: &[&str]| {
        let mut members = vec![
            in_slot(0, to_replace("a", why, 20)),
            in_slot(1, to_replace("b", why, 25)),
            in_slot(2, member("c", flying(90))),
            on_ground("relief-a", 0),
            on_ground("relief-b", 1),
        ];
        mark_awaiting(&mut members, |uid| asks.contains(&uid.0.as_str()));
        super::plan(bounds(3, 2, unavailable), &members, true)
    };
    for why in [Replace::Drained, Replace::Tired, Replace::Misplaced] {
        for unavailable in [0, 1] {
            let both = plan(why, unavailable, &["relief-a", "relief-b"]);
            assert_eq!((both.create, deleted(&both)), (0, vec!["a"]), "{why:?} {unavailable}");
            let none = plan(why, unavailable, &[]);
            assert_eq!(none, Plan::default(), "both reliefs take off beside");
            let second = plan(why, unavailable, &["relief-b"]);
            assert_eq!(deleted(&second), ["b"]);
        }
    }
    let mut members = vec![
        Member {
            leaving: true,
            ..in_slot(0, to_replace("a", Replace::Drained, 20))
        },
        in_slot(1, member("b", flying(90))),
        on_ground("relief-a", 0),
    ];
    mark_awaiting(&mut members, |_| true);
    assert!(!members[2].awaits && !members[2].stuck);
    members[0].leaving = false;
    members[2].stuck = true;
    mark_awaiting(&mut members, |_| true);
    assert!(!members[2].awaits);
}

#[test]
fn where_no_other_vehicle_can_be_had_the_drained_ones_land_a_few_at_a_time() {
    let stuck = Member {
        stuck: true,
        ..member("z", Serving::NoVehicle)
    };
    let three: Vec<_> = ["a", "b", "c"].map(|n| to_replace(n, Replace::Drained, 80)).into();
    let with = |more: Vec<Member>| [three.clone(), more].concat();
    assert_eq!(
        deleted(&super::plan(bounds(3, 1, 1), &with(vec![stuck.clone()]), true)),
        ["a"]
    );
    assert_eq!(
        deleted(&super::plan(bounds(3, 1, 2), &with(vec![stuck.clone()]), true)),
        ["a", "b"]
    );
    assert_eq!(
        deleted(&super::plan(bounds(3, 1, 0), &with(vec![stuck]), true)),
        [""; 0],
        "none may be missing, and no other can be had"
    );
    assert_eq!(deleted(&super::plan(bounds(3, 0, 1), &three, true)), ["a"]);
}

#[test]
fn of_many_drained_at_once_only_as_many_are_replaced_as_the_surge_has_room_for() {
    let all: Vec<_> = (0..10)
        .map(|i| to_replace(&format!("d{i}"), Replace::Drained, 80))
        .collect();
    let plan = super::plan(bounds(10, 2, 1), &all, true);
    assert_eq!((plan.create, plan.delete.len()), (2, 0), "the two are waited for");
    let stuck = (0..2).map(|i| Member {
        stuck: true,
        ..member(&format!("n{i}"), Serving::NoVehicle)
    });
    let later: Vec<_> = all.into_iter().chain(stuck).collect();
    let plan = super::plan(bounds(10, 2, 1), &later, true);
    assert_eq!((plan.create, plan.delete.len()), (0, 1));
}

#[test]
fn a_changed_node_selector_replaces_those_in_the_air_as_a_drain_does() {
    let three: Vec<_> = ["a", "b", "c"].map(|n| to_replace(n, Replace::Misplaced, 80)).into();
    let start = super::plan(bounds(3, 1, 1), &three, true);
    assert_eq!((start.create, deleted(&start)), (1, vec![]), "another first");
    let relieved = [three.clone(), vec![member("d", flying(90))]].concat();
    let next = super::plan(bounds(3, 1, 0), &relieved, true);
    assert_eq!((next.create, deleted(&next)), (0, vec!["a"]), "then one lands for it");
    let more = super::plan(bounds(3, 1, 1), &relieved, true);
    assert_eq!(deleted(&more), ["a", "b"], "and as many more as may be missing");
    // No node matches the new selector: no more land than may be missing.
    let stuck = Member {
        stuck: true,
        ..member("z", Serving::NoVehicle)
    };
    let alone = [three, vec![stuck]].concat();
    assert_eq!(deleted(&super::plan(bounds(3, 1, 1), &alone, true)), ["a"]);
    assert_eq!(deleted(&super::plan(bounds(3, 1, 0), &alone, true)), [""; 0]);
}

#[test]
fn a_tired_vehicle_leaves_only_when_another_flies_in_its_place_the_lowest_first() {
    let tired = [to_replace("a", Replace::Tired, 25), to_replace("b", Replace::Tired, 22)];
    let alone = super::plan(bounds(2, 1, 2), &tired, true);
    assert_eq!((alone.create, deleted(&alone)), (1, vec![]));
    let stuck = Member {
        stuck: true,
        ..member("c", Serving::NoVehicle)
    };
    let without = [tired.to_vec(), vec![stuck]].concat();
    assert_eq!(super::plan(bounds(2, 1, 2), &without, true), Plan::default());
    let relieved = [tired.to_vec(), vec![member("c", flying(95))]].concat();
    assert_eq!(deleted(&super::plan(bounds(2, 1, 2), &relieved, true)), ["b"]);
}

#[test]
fn one_to_be_replaced_that_is_on_the_ground_goes_at_once_and_another_is_made() {
    let drained = Member {
        replace: Some(Replace::Drained),
        ..member("a", Serving::OnGround)
    };
    let plan = super::plan(bounds(2, 1, 0), &[drained, member("b", flying(80))], true);
    assert_eq!((plan.create, deleted(&plan)), (1, vec!["a"]));
}

#[test]
fn one_that_is_lost_is_replaced_beside_it_and_is_one_too_many_when_it_comes_back() {
    let lost = Member {
        replace: Some(Replace::Lost),
        ..member("a", Serving::Unknown)
    };
    let first = super::plan(bounds(2, 0, 1), &[lost.clone(), member("b", flying(80))], true);
    assert_eq!((first.create, deleted(&first)), (1, vec![]));
    let both = [lost, member("b", flying(80)), member("c", flying(90))];
    assert_eq!(super::plan(bounds(2, 0, 1), &both, true), Plan::default());
    let back = [
        member("a", flying(40)),
        member("b", flying(80)),
        member("c", flying(90)),
    ];
    assert_eq!(deleted(&super::plan(bounds(2, 0, 1), &back, true)), ["a"]);
}

#[test]
fn of_those_that_fly_in_a_formation_a_scale_down_takes_the_highest_slots() {
    let in_slot = |name: &str, slot: usize, percent: u8| Member {
        slot: Some(slot),
        ..member(name, flying(percent))
    };
    let members = [
        in_slot("a", 3, 90),
        in_slot("b", 0, 20),
        in_slot("c", 2, 80),
        in_slot("d", 1, 30),
    ];
    assert_eq!(deleted(&plan(2, &members)), ["c", "a"]);
    let mut tired = members.to_vec();
    tired[1].replace = Some(Replace::Tired);
    assert_eq!(deleted(&plan(3, &tired)), ["b"], "it leaves in any case");
}

#[test]
fn of_those_that_fly_a_scale_down_takes_first_those_that_should_be_replaced() {
    let members = [
        member("a", Serving::OnGround),
        to_replace("b", Replace::Drained, 90),
        member("c", flying(50)),
    ];
    assert_eq!(deleted(&super::plan(bounds(1, 0, 1), &members, true)), ["a", "b"]);
}

#[test]
fn just_after_a_start_none_is_chosen_to_go_while_some_are_unknown() {
    let members = [member("a", Serving::Unknown), member("b", flying(50))];
    let plan = super::plan(bounds(1, 1, 1), &members, false);
    assert_eq!((plan.unsure, deleted(&plan)), (true, vec![]));
    assert_eq!(deleted(&super::plan(bounds(1, 1, 1), &members, true)), ["a"]);
}

#[test]
fn a_swarm_is_ready_when_as_many_fly_as_desired_and_none_is_left_over() {
    let all = Tally {
        desired: 2,
        live: 2,
        surge: 0,
        leaving: 0,
        assigned: 2,
        ready: 2,
        stalled: 0,
        unknown: 0,
        grounded: false,
        deleting: false,
    };
    assert!(readiness(&all).ready);
    let not = |t: Tally, reason: &str| {
        let r = readiness(&t);
        assert!(!r.ready && r.reason == reason, "{r:?}");
    };
    not(Tally { ready: 1, ..all }, "NotAllFlying");
    let lost = readiness(&Tally {
        ready: 1,
        unknown: 1,
        ..all
    });
    assert!(
        lost.message.ends_with("; of 1 it is not known whether they fly"),
        "{}",
        lost.message
    );
    not(
        Tally {
            ready: 1,
            assigned: 1,
            ..all
        },
        "WaitingForVehicles",
    );
    not(Tally { leaving: 1, ..all }, "RemovingDrones");
    not(Tally { live: 3, ..all }, "RemovingDrones");
    let replacing = Tally {
        live: 3,
        surge: 1,
        ..all
    };
    assert!(
        readiness(&replacing).ready,
        "as many fly as desired while one is being replaced"
    );
    not(
        Tally {
            live: 1,
            ready: 1,
            ..all
        },
        "CreatingDrones",
    );
    not(Tally { grounded: true, ..all }, "Grounded");
    not(Tally { deleting: true, ..all }, "Deleting");
    assert!(
        readiness(&Tally {
            desired: 0,
            live: 0,
            assigned: 0,
            ready: 0,
            ..all
        })
        .ready
    );
}

#[test]
fn a_swarm_is_stalled_when_nothing_more_comes_without_a_person_and_not_before() {
    let stuck = Tally {
        desired: 3,
        live: 3,
        surge: 0,
        leaving: 0,
        assigned: 3,
        ready: 1,
        stalled: 2,
        unknown: 0,
        grounded: false,
        deleting: false,
    };
    let reported = readiness(&stuck);
    assert_eq!(
        (reported.ready, reported.stalled, reported.reason),
        (false, true, "DronesStalled")
    );
    assert!(reported.message.contains("2 need a person"), "{}", reported.message);
    for other in [
        Tally { stalled: 1, ..stuck },
        Tally { live: 2, ..stuck },
        Tally { leaving: 1, ..stuck },
        Tally {
            grounded: true,
            ..stuck
        },
        Tally {
            deleting: true,
            ..stuck
        },
        Tally { ready: 3, ..stuck },
    ] {
        assert!(!readiness(&other).stalled, "{other:?}");
    }
}

fn any_serving() -> impl Strategy<Value = Serving> {
    prop_oneof![
        Just(Serving::NoVehicle),
        Just(Serving::OnGround),
        Just(Serving::Unknown),
        (0u8..=110).prop_map(flying),
    ]
}

proptest! {
    #[test]
    fn a_plan_reaches_what_is_desired_and_never_removes_a_flying_drone_needlessly(
        replicas in 0usize..12,
        seeds in proptest::collection::vec((any_serving(), any::<bool>()), 0..12),
    ) {
        let members: Vec<_> = seeds.into_iter().enumerate()
            .map(|(i, (serving, leaving))| Member { leaving, ..member(&format!("d{i:02}"), serving) })
            .collect();
        let plan = plan(replicas, &members);
        let live: Vec<_> = members.iter().filter(|m| !m.leaving).collect();
        prop_assert_eq!(live.len() + plan.create - plan.delete.len(), replicas);
        prop_assert!(plan.create == 0 || plan.delete.is_empty());
        let worst = live.iter().filter(|m| plan.delete.contains(&m.uid)).map(|m| m.serving).max();
        let best = live.iter().filter(|m| !plan.delete.contains(&m.uid)).map(|m| m.serving).min();
        if let (Some(worst), Some(best)) = (worst, best) {
            prop_assert!(worst <= best);
        }
    }

    #[test]
    fn a_swarm_has_no_more_drones_than_desired_and_never_lacks_more_than_allowed(
        replicas in 0usize..8, surge in 0usize..3, unavailable in 0usize..3,
        seeds in proptest::collection::vec((any_serving(), any::<bool>(), any::<bool>(), 0u8..4), 0..12),
    ) {
        let why = |n| [None, Some(Replace::Drained), Some(Replace::Tired), None][usize::from(n)];
        let members: Vec<_> = seeds.into_iter().enumerate()
            .map(|(i, (serving, leaving, stuck, n))| {
                let replace = why(n).filter(|_| matches!(serving, Serving::OnGround | Serving::Flying { .. }));
                Member { leaving, stuck, replace, ..member(&format!("d{i:02}"), serving) }
            })
            .collect();
        let plan = super::plan(bounds(replicas, surge, unavailable), &members, true);
        let live = members.iter().filter(|m| !m.leaving).count();
        prop_assert!(live + plan.create - plan.delete.len() <= replicas + surge);
        let ready = |m: &&Member| !m.leaving && m.ready;
        let before = members.iter().filter(ready).count();
        let after = members.iter().filter(ready).filter(|m| !plan.delete.contains(&m.uid)).count();
        prop_assert!(after >= before.min(replicas.saturating_sub(unavailable)));
    }
}

#[test]
fn where_none_is_desired_the_lost_ones_go_too_and_none_is_kept_as_a_replacement() {
    let lost = Member {
        replace: Some(Replace::Lost),
        ..member("a", Serving::Unknown)
    };
    let tired = to_replace("b", Replace::Tired, 20);
    for settled in [false, true] {
        let plan = super::plan(
            bounds(0, 1, 1),
            &[lost.clone(), tired.clone(), member("c", flying(90))],
            settled,
        );
        assert_eq!((plan.create, deleted(&plan)), (0, vec!["a", "b", "c"]));
    }
}

#[test]
fn while_too_few_agents_are_connected_none_is_made_in_the_place_of_a_lost_one() {
    let lost = |name| Member {
        replace: Some(Replace::Lost),
        ..member(name, Serving::Unknown)
    };
    let all = [lost("a"), lost("b"), member("c", flying(90))];
    let plan = super::plan(bounds(4, 1, 1), &all, true);
    assert_eq!(plan.create, 3);
    assert_eq!(plan.while_cut_off(&all).create, 1, "the one that was missing anyway");
}

#[test]
fn one_that_waits_for_its_slot_is_waited_for_only_while_another_lands() {
    let waits = Member {
        ready: false,
        ..member("c", Serving::OnGround)
    };
    let silent = Member {
        leaving: true,
        ..member("z", Serving::Unknown)
    };
    let with = |leaving: Member, full| {
        let mut all = [
            to_replace("a", Replace::Drained, 80),
            member("b", flying(80)),
            waits.clone(),
            leaving,
        ];
        mark_stuck(&mut all, full, |_| false);
        deleted(&super::plan(bounds(2, 1, 1), &all, true)) == ["a"]
    };
    let landing = Member {
        leaving: true,
        ..member("z", flying(50))
    };
    assert!(
        with(silent.clone(), true),
        "the drained one need not wait for one of which nothing is known"
    );
    assert!(!with(landing, true) && !with(silent, false));
}
