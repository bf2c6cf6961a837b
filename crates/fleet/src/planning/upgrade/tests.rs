//! Which agent is replaced, by table and by property.

mod simulation;

use super::node_snapshot::{Pod, REPORT_AGE_LIMIT};
use super::*;
use model::report::{Activity, HandsOff};
use model::vehicle::{FlightTruth, WhyUnknown};
use proptest::prelude::*;
use simulation::{Fleet, Node, ONE, SECOND, idle, name};

#[test]
fn none_is_replaced_that_flies_or_may_or_is_about_to() {
    for (node, why) in [
        (idle().flying(), Busy::Flying),
        (idle().truth(FlightTruth::ArmedOnGround), Busy::Flying),
        (idle().truth(FlightTruth::Unknown(WhyUnknown::LinkLost)), Busy::Unknown),
        (idle().with(|n| n.report.link_alive = false), Busy::Unknown),
        (
            idle().with(|n| n.age = REPORT_AGE_LIMIT + Duration::from_millis(1)),
            Busy::Unknown,
        ),
        (idle().with(|n| n.report.terminating = true), Busy::Unknown),
        (idle().silent(), Busy::Unknown),
        (idle().not_running().with(|n| n.bound = true), Busy::Unknown),
        (idle().serving(false, Activity::Arming), Busy::Takeoff),
        (idle().serving(false, Activity::Waiting), Busy::Takeoff),
        (
            idle().serving(false, Activity::HandsOff(HandsOff::ArmedByOther)),
            Busy::Takeoff,
        ),
        (
            idle()
                .serving(true, Activity::Idle)
                .with(|n| n.report.held.as_mut().unwrap().settled = false),
            Busy::Takeoff,
        ),
        (idle().with(|n| n.bound = true), Busy::Takeoff),
        (idle().with(|n| n.ready = false), Busy::NodeNotReady),
    ] {
        let mut fleet = Fleet::of([("a", node.clone())]);
        let plan = fleet.plan();
        assert_eq!(plan.waiting, BTreeMap::from([(why, 1)]), "{node:?}");
        assert!(!fleet.upgrade.holds(&name("a")), "{node:?}");
    }
}

#[test]
fn who_stands_is_kept_on_the_ground_for_a_while_before_its_agent_is_ended() {
    let mut fleet = Fleet::of([("a", idle())]);
    assert_eq!(fleet.plan().progress, [Progress::Chosen(name("a"), Free::Idle)]);
    assert!(fleet.upgrade.holds(&name("a")));
    assert_eq!(fleet.after(MIN_HOLD - SECOND).replace, []);
    assert_eq!(fleet.after(SECOND).replace, [name("a")]);
}

#[test]
fn idle_nodes_go_first_then_those_whose_drone_stays_down_then_those_that_cannot_arm() {
    let mut fleet = Fleet::of([
        ("a", idle().serving(false, Activity::NotArmable)),
        ("b", idle().serving(true, Activity::Idle)),
        ("c", idle()),
        ("d", idle().not_running()),
        ("e", idle().flying()),
        ("f", idle().serving(false, Activity::HandsOff(HandsOff::FlightOver))),
    ]);
    fleet.pace.most = 9;
    let chosen: Vec<_> = fleet
        .plan()
        .progress
        .into_iter()
        .map(|change| match change {
            Progress::Chosen(node, free) => (node.to_string(), free),
            other => panic!("{other:?}"),
        })
        .collect();
    let order = [
        ("d", Free::NotRunning),
        ("c", Free::Idle),
        ("b", Free::OnGround),
        ("f", Free::OnGround),
        ("a", Free::Refused),
    ];
    assert_eq!(chosen, order.map(|(node, free)| (node.to_owned(), free)));
}

#[test]
fn one_whose_drone_wants_it_up_is_ended_only_once_it_was_told_to_stay() {
    let mut fleet = Fleet::of([("a", idle().serving(false, Activity::NotArmable))]);
    fleet.plan();
    assert_eq!(fleet.after(MIN_HOLD).replace, []);
    fleet.set("a", |n| n.serving(true, Activity::Idle));
    assert_eq!(fleet.after(SECOND).replace, [name("a")]);
}

#[test]
fn one_that_rises_after_all_is_let_go_and_left_alone_for_a_while() {
    let mut fleet = Fleet::of([("a", idle()), ("b", idle())]);
    fleet.plan();
    fleet.set("a", Node::flying);
    let plan = fleet.after(MIN_HOLD);
    assert_eq!(plan.replace, []);
    assert_eq!(
        plan.progress,
        [
            Progress::NotReplaced(name("a"), Some(Busy::Flying)),
            Progress::Chosen(name("b"), Free::Idle)
        ]
    );
    assert!(!fleet.upgrade.holds(&name("a")));
}

#[test]
fn one_that_does_not_come_to_rest_is_let_go_and_may_fly() {
    let mut fleet = Fleet::of([("a", idle().serving(false, Activity::NotArmable))]);
    fleet.plan();
    let plan = fleet.after(MAX_HOLD);
    assert_eq!(plan.progress, [Progress::NotReplaced(name("a"), None)]);
    assert_eq!(plan.waiting, BTreeMap::from([(Busy::Lately, 1)]));
    assert!(!fleet.upgrade.holds(&name("a")));
    assert_eq!(
        fleet.after(RECHOSEN_AFTER).progress,
        [Progress::Chosen(name("a"), Free::Refused)]
    );
}

#[test]
fn the_next_has_its_turn_once_the_one_before_is_well() {
    let mut fleet = Fleet::of([("a", idle()), ("b", idle())]);
    assert_eq!(fleet.next(), ["a"]);
    let plan = fleet.after(30 * SECOND);
    assert_eq!(
        (plan.progress, plan.waiting),
        (vec![], BTreeMap::from([(Busy::OthersFirst, 1)]))
    );
    fleet.comes_back("a");
    assert_eq!(fleet.after(SECOND).progress, []);
    assert!(fleet.upgrade.holds(&name("a")), "it may crash soon");
    let plan = fleet.after(STEADY_AFTER);
    assert_eq!(
        plan.progress,
        [Progress::Done(name("a")), Progress::Chosen(name("b"), Free::Idle)]
    );
    assert!(!fleet.upgrade.holds(&name("a")));
}

#[test]
fn one_that_does_not_come_back_stops_all_others_and_is_reported_once() {
    for broken in [
        |n: Node| n.silent(),
        |n: Node| n.with(|n| n.pod.as_mut().unwrap().runs = false),
        |n: Node| n.truth(FlightTruth::Unknown(WhyUnknown::NeverHeard)),
        |n: Node| n.pod("new", Version::Leaving),
        |n: Node| n.with(|n| n.pod = None),
    ] {
        let mut fleet = Fleet::of([("a", idle()), ("b", idle()), ("c", idle().flying())]);
        fleet.pace.most = 2;
        assert_eq!(fleet.next(), ["a", "b"]);
        fleet.after(SECOND);
        fleet.comes_back("a");
        fleet.comes_back("b");
        fleet.set("b", broken);
        let reported: Vec<_> = (0..100).flat_map(|_| fleet.after(10 * SECOND).progress).collect();
        assert_eq!(reported, [Progress::Done(name("a")), Progress::Stuck(name("b"))]);
        fleet.set("c", |_| idle());
        let plan = fleet.after(SECOND);
        assert_eq!(plan.waiting, BTreeMap::from([(Busy::Stopped, 1)]));
        assert_eq!(plan.stuck, [name("b")]);
    }
}

#[test]
fn one_that_is_chosen_already_is_not_replaced_either_while_another_is_stuck() {
    let mut fleet = Fleet::of([("a", idle()), ("b", idle().flying())]);
    fleet.pace.most = 2;
    assert_eq!(fleet.next(), ["a"]);
    fleet.after(ONE.patience - MIN_HOLD);
    fleet.set("b", |_| idle());
    assert_eq!(fleet.plan().progress, [Progress::Chosen(name("b"), Free::Idle)]);
    let plan = fleet.after(MIN_HOLD);
    assert_eq!((plan.replace, plan.stuck), (vec![], vec![name("a")]));
}

#[test]
fn a_deletion_of_which_no_answer_came_is_taken_up_when_it_is_seen() {
    for rests in [false, true] {
        let mut fleet = Fleet::of([("a", idle())]);
        fleet.plan();
        assert_eq!(fleet.after(MIN_HOLD).replace, [name("a")]);
        if rests {
            fleet.upgrade.failed(&name("a"), fleet.now);
        }
        fleet.set("a", |n| n.pod("old", Version::Leaving).silent());
        assert_eq!(fleet.after(SECOND).progress, []);
        assert!(fleet.upgrade.holds(&name("a")), "rests: {rests}");
        fleet.comes_back("a");
        fleet.after(SECOND);
        assert_eq!(fleet.upgrade.holds(&name("a")), !rests);
    }
}

#[test]
fn the_old_agent_that_connects_anew_before_it_ends_is_not_the_new_one() {
    let mut fleet = Fleet::of([("a", idle()), ("b", idle())]);
    assert_eq!(fleet.next(), ["a"]);
    fleet.set("a", |n| {
        n.pod("old", Version::Outdated)
            .with(|n| n.connected_for = Some(Duration::ZERO))
    });
    assert_eq!(fleet.after(STEADY_AFTER).progress, []);
    assert_eq!(fleet.after(STEADY_AFTER).progress, []);
    fleet.set("a", |n| {
        n.pod("new", Version::Current)
            .with(|n| n.connected_for = Some(Duration::from_secs(900)))
    });
    assert_eq!(fleet.after(STEADY_AFTER).progress, []);
    assert_eq!(fleet.after(STEADY_AFTER).progress, []);
}

#[test]
fn a_version_that_mends_a_broken_one_goes_to_where_that_does_not_run_first() {
    let mut fleet = Fleet::of([("a", idle()), ("b", idle())]);
    fleet.pace.most = 1;
    assert_eq!(fleet.next(), ["a"]);
    fleet.set("a", |n| n.pod("broken", Version::Current).not_running());
    assert_eq!(fleet.after(ONE.patience).stuck, [name("a")]);
    fleet.set("a", |n| n.pod("broken", Version::Outdated).not_running());
    let plan = fleet.after(SECOND);
    assert_eq!(plan.progress, [Progress::Chosen(name("a"), Free::NotRunning)]);
    assert_eq!(plan.stuck, []);
}

#[test]
fn pods_deleted_by_others_or_running_nothing_count_and_keep_their_vehicle_down() {
    let mut fleet = Fleet::of([("a", idle().pod("old", Version::Leaving)), ("b", idle())]);
    assert_eq!(fleet.plan().progress, []);
    assert!(fleet.upgrade.holds(&name("a")));
    fleet.set("a", |n| n.pod("new", Version::Current).not_running());
    assert_eq!(fleet.after(SECOND).progress, []);
    assert!(!fleet.upgrade.holds(&name("a")));
    fleet.set("a", |n| n.with(|n| n.pod.as_mut().unwrap().runs = true));
    assert_eq!(fleet.after(SECOND).progress, []);
    assert_eq!(
        fleet.after(STEADY_AFTER).progress,
        [Progress::Chosen(name("b"), Free::Idle)]
    );
}

#[test]
fn a_node_that_is_switched_off_or_gone_holds_up_nobody() {
    let off = idle()
        .pod("new", Version::Current)
        .not_running()
        .with(|n| n.ready = false);
    let mut fleet = Fleet::of([("a", off), ("b", idle())]);
    assert_eq!(fleet.next(), ["b"]);
    fleet.nodes.remove(&name("b"));
    assert_eq!(fleet.plan().under_way, 0);
}

#[test]
fn one_that_could_not_be_replaced_rests_and_the_next_has_its_turn() {
    let mut fleet = Fleet::of([("a", idle()), ("b", idle())]);
    fleet.plan();
    assert_eq!(fleet.after(MIN_HOLD).replace, [name("a")]);
    fleet.upgrade.failed(&name("a"), fleet.now);
    assert!(!fleet.upgrade.holds(&name("a")));
    assert_eq!(fleet.after(SECOND).progress, [Progress::Chosen(name("b"), Free::Idle)]);
}

#[test]
fn with_none_at_a_time_they_are_counted_and_left_alone() {
    let mut fleet = Fleet::of([("a", idle())]);
    fleet.pace.most = 0;
    let plan = fleet.plan();
    assert_eq!((plan.outdated, plan.progress), (1, vec![]));
}

#[derive(Clone, Debug)]
enum Event {
    Fly(usize),
    Land(usize),
    Fall(usize),
    Connect(usize),
    Order(usize, bool),
    Refresh(usize),
    Outdate,
    Pass(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let node = 0..5_usize;
    let event = prop_oneof![
        node.clone().prop_map(Event::Fly),
        node.clone().prop_map(Event::Land),
        node.clone().prop_map(Event::Fall),
        node.clone().prop_map(Event::Connect),
        (node.clone(), any::<bool>()).prop_map(|(node, up)| Event::Order(node, up)),
        node.prop_map(Event::Refresh),
        Just(Event::Outdate),
        (1..20_u64).prop_map(Event::Pass),
    ];
    prop::collection::vec(event, 1..80)
}

fn happen(fleet: &mut Fleet, event: &Event) {
    let at = |index: usize| ["a", "b", "c", "d", "e"][index];
    match *event {
        Event::Fly(n) => fleet.set(at(n), Node::flying),
        Event::Land(n) => fleet.set(at(n), |n| n.truth(FlightTruth::Disarmed).serving(true, Activity::Idle)),
        Event::Fall(n) => fleet.set(at(n), Node::silent),
        Event::Connect(n) => fleet.set(at(n), |n| n.with(|n| n.connected_for = Some(Duration::ZERO))),
        Event::Order(n, up) => fleet.set(at(n), |n| n.serving(!up, Activity::NotArmable)),
        // As the DaemonSet's controller does once the old Pod is gone.
        Event::Refresh(n) if fleet.nodes[&name(at(n))].pod.as_ref().unwrap().version == Version::Leaving => {
            fleet.comes_back(at(n));
        }
        Event::Refresh(_) => {}
        Event::Outdate => {
            for n in 0..5 {
                fleet.set(at(n), |n| {
                    n.with(|n| {
                        let pod = n.pod.as_mut().unwrap();
                        if pod.version == Version::Current {
                            *pod = Pod {
                                uid: "newer".into(),
                                version: Version::Outdated,
                                runs: true,
                            };
                        }
                    })
                });
            }
        }
        Event::Pass(seconds) => fleet.now = fleet.now.plus(Duration::from_secs(seconds)),
    }
}

proptest! {
    #[test]
    fn nobody_is_ended_in_the_air_or_unseen_and_never_more_than_the_bound_are_away(events in events(), most in 0..4_usize) {
        let mut fleet = Fleet::of(["a", "b", "c", "d", "e"].map(|n| (n, idle())));
        fleet.pace.most = most;
        for event in events {
            happen(&mut fleet, &event);
            let held: Vec<_> = fleet.nodes.keys().filter(|n| fleet.upgrade.holds(n)).cloned().collect();
            let plan = fleet.plan();
            for node in &plan.replace {
                let n = &fleet.nodes[node];
                prop_assert!(n.connected_for.is_some() && n.report.truth == FlightTruth::Disarmed, "{node} {n:?}");
                prop_assert!(n.report.held.as_ref().is_none_or(|held| held.grounded && held.settled), "{node} {n:?}");
                prop_assert!(held.contains(node), "{node} was not kept on the ground");
            }
            fleet.delete(&plan);
            let away = fleet.nodes.values().filter(|n| n.pod.as_ref().unwrap().version == Version::Leaving).count();
            prop_assert!(away <= most, "{away} are away");
        }
    }
}
