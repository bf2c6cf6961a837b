//! Which node a Drone gets, by table.

use super::*;
use model::assignment::{Held, USUAL_RESERVE};
use model::ids::Term;
use model::units::{AltitudeAboveHome, AltitudeAmsl};
use model::vehicle::{Airborne, Battery, Charge, FlightTruth, Position, WhyUnknown};

struct Node {
    name: NodeName,
    labels: BTreeMap<String, String>,
    report: Option<Report>,
    ready: bool,
    cordoned: bool,
    taken: bool,
    upgrading: bool,
}

fn node(name: &str) -> Node {
    let name = NodeName::parse(name).unwrap();
    let report = Report {
        link_alive: true,
        truth: FlightTruth::Disarmed,
        ready: Some(true),
        ..Report::of_nothing(name.clone())
    };
    Node {
        name,
        labels: BTreeMap::new(),
        report: Some(report),
        ready: true,
        cordoned: false,
        taken: false,
        upgrading: false,
    }
}

impl Node {
    fn with(mut self, change: impl FnOnce(&mut Report)) -> Self {
        if let Some(report) = &mut self.report {
            change(report);
        }
        self
    }

    fn battery(self, percent: u8) -> Self {
        self.with(|r| {
            r.battery = Some(Battery {
                charge: Charge::Unknown,
                remaining: Percent::new(percent),
                voltage: None,
            })
        })
    }
}

fn candidate(n: &Node) -> Candidate<'_> {
    Candidate {
        node: &n.name,
        labels: &n.labels,
        ready: n.ready,
        cordoned: n.cordoned,
        tainted: false,
        taken: n.taken,
        upgrading: n.upgrading,
        grounded: false,
        flies_elsewhere: false,
        report: n.report.as_ref(),
    }
}

fn pick(required: Requirements<'_>, nodes: &[Node]) -> Result<String, String> {
    choose(required, nodes.iter().map(candidate), 1)
        .map(|best| best[0].to_string())
        .map_err(|none| none.to_string())
}

static NO_SELECTOR: BTreeMap<String, String> = BTreeMap::new();

fn any_vehicle() -> Requirements<'static> {
    Requirements {
        selector: &NO_SELECTOR,
        only: None,
        more_than: USUAL_RESERVE,
        near: None,
        namespace: "north",
        granted_only: false,
    }
}

fn any(nodes: &[Node]) -> Result<String, String> {
    pick(any_vehicle(), nodes)
}

#[test]
fn a_busy_first_node_does_not_end_the_search() {
    let busy = Node {
        taken: true,
        ..node("a")
    };
    assert_eq!(any(&[busy, node("b")]), Ok("b".into()));
}

#[test]
fn the_vehicle_that_can_arm_goes_before_the_fuller_battery_and_that_before_the_name() {
    let not_ready = node("a").battery(100).with(|r| r.ready = Some(false));
    assert_eq!(
        any(&[not_ready, node("b").battery(30), node("c").battery(60)]),
        Ok("c".into())
    );
    assert_eq!(any(&[node("b").battery(60), node("a").battery(60)]), Ok("a".into()));
    assert_eq!(
        any(&[node("a"), node("b").battery(21)]),
        Ok("b".into()),
        "a known battery beats an unknown one"
    );
}

#[test]
fn of_two_equally_full_the_nearer_goes_and_a_full_one_before_an_empty_one() {
    let at = |n: Node, latitude_deg| {
        n.with(|r| {
            r.position = Some(Position {
                at: Wgs84 {
                    latitude_deg,
                    longitude_deg: 8.0,
                },
                amsl: AltitudeAmsl(500.0),
                above_home: AltitudeAboveHome(0.0),
            });
        })
    };
    let required = Requirements {
        near: Some(Wgs84 {
            latitude_deg: 47.0,
            longitude_deg: 8.0,
        }),
        ..any_vehicle()
    };
    let far = || at(node("a").battery(84), 47.1);
    assert_eq!(
        pick(required, &[far(), at(node("b").battery(81), 47.01)]),
        Ok("b".into())
    );
    assert_eq!(
        pick(required, &[far(), at(node("b").battery(60), 47.0)]),
        Ok("a".into())
    );
    assert_eq!(
        pick(required, &[far(), node("b").battery(81)]),
        Ok("a".into()),
        "one that is somewhere unknown comes last"
    );
    assert_eq!(
        pick(any_vehicle(), &[far(), at(node("b").battery(81), 47.0)]),
        Ok("a".into())
    );
}

#[test]
fn a_vehicle_that_could_not_take_off_for_its_battery_is_not_chosen() {
    let none = any(&[node("a").battery(20), node("b").battery(5)]).unwrap_err();
    assert_eq!(none, "no vehicle is free: of 2 drone nodes 2 have too low a battery");
    assert_eq!(any(&[node("a").battery(20), node("b").battery(21)]), Ok("b".into()));
}

#[test]
fn no_vehicle_that_is_not_known_to_be_down_is_chosen() {
    for truth in [
        FlightTruth::ArmedOnGround,
        FlightTruth::Airborne(Airborne::InAir),
        FlightTruth::Unknown(WhyUnknown::LandedStateUnknown),
    ] {
        let n = node("a").with(|r| r.truth = truth);
        assert!(
            any(&[n]).unwrap_err().contains("not known to be landed and disarmed"),
            "{truth:?}"
        );
    }
}

#[test]
fn a_vehicle_whose_agent_has_not_settled_its_last_drone_is_not_free() {
    let held = Held {
        uid: DroneUid("old".into()),
        term: Term(1),
        generation: 1,
        grounded: true,
        settled: false,
        details: None,
    };
    assert!(any(&[node("a").with(|r| r.held = Some(held.clone()))]).is_err());
    assert!(any(&[node("a").with(|r| r.held = Some(Held { settled: true, ..held }))]).is_ok());
}

#[test]
fn a_vehicle_whose_agent_is_being_upgraded_is_not_free() {
    let upgrading = Node {
        upgrading: true,
        ..node("a")
    };
    assert_eq!(
        any(&[upgrading]).unwrap_err(),
        "no vehicle is free: of 1 drone node 1 have an agent that is being upgraded"
    );
}

#[test]
fn a_pending_drone_is_told_how_many_nodes_failed_for_which_reason() {
    let taken = |name| Node {
        taken: true,
        ..node(name)
    };
    let all = [taken("a"), taken("b"), taken("c"), taken("d")];
    assert_eq!(
        any(&all).unwrap_err(),
        "no vehicle is free: of 4 drone nodes 4 serve other Drones"
    );
    let mixed = [
        taken("a"),
        Node {
            cordoned: true,
            ..node("b")
        },
        Node {
            ready: false,
            ..node("c")
        },
        Node {
            report: None,
            ..node("d")
        },
        node("e").with(|r| r.link_alive = false),
        node("f").with(|r| r.terminating = true),
    ];
    assert_eq!(
        any(&mixed).unwrap_err(),
        "no vehicle is free: of 6 drone nodes 1 serve other Drones, 1 are cordoned, 1 are not Ready, \
         1 have no connected agent, 1 have an agent that is ending, 1 receive nothing from their autopilot"
    );
    assert!(any(&[]).unwrap_err().contains("no node carries the label"));
}

#[test]
fn of_a_vehicle_that_serves_nobody_it_is_said_why_nobody_could_have_it() {
    let why = |node: &Node| free(&candidate(node)).err();
    assert_eq!(
        why(&node("a").battery(1)),
        None,
        "how much battery is enough depends on the Drone"
    );
    let cordoned = Node {
        cordoned: true,
        ..node("a")
    };
    assert_eq!(why(&cordoned), Some(Why::Cordoned));
    assert!(Why::Cordoned.sentence().ends_with("until `kubectl uncordon`"));
    let flying = node("a").with(|report| report.truth = FlightTruth::Airborne(Airborne::InAir));
    assert_eq!(why(&flying), Some(Why::NotIdle));
    let flown = node("a").with(|report| report.others_flew = true);
    assert_eq!(why(&flown), Some(Why::OthersFlew));
}

#[test]
fn an_airframe_that_may_fly_for_a_drone_of_a_node_that_is_away_is_offered_to_nobody() {
    let renamed = node("a").battery(100);
    let elsewhere = Candidate {
        flies_elsewhere: true,
        ..candidate(&renamed)
    };
    assert_eq!(free(&elsewhere).err(), Some(Why::FliesElsewhere));
    assert!(Why::FliesElsewhere.sentence().contains("force its release"));
    let named = Requirements {
        only: Some("a"),
        ..any_vehicle()
    };
    assert!(!suits(named, &elsewhere), "nor by its name");
    let none = choose(any_vehicle(), [elsewhere], 1).unwrap_err().to_string();
    assert!(
        none.ends_with("1 have an airframe that may be flying for a Drone of another node, whose agent is away"),
        "{none}"
    );
    assert!(free(&candidate(&renamed)).is_ok());
}

#[test]
fn a_vehicle_that_stands_down_is_offered_to_nobody_and_not_by_its_name_either() {
    let stands_down = node("a").battery(100).with(|report| {
        report.stand_down = Some(model::stand_down::Reported {
            number: 1,
            why: model::stand_down::StoodDown::TakenOver,
            uid: DroneUid("gone".into()),
            name: model::ids::DroneName {
                namespace: "north".into(),
                name: "gone".into(),
            },
        });
    });
    assert!(!stands_down.report.as_ref().unwrap().vehicle_free());
    assert_eq!(free(&candidate(&stands_down)).err(), Some(Why::StandsDown));
    assert!(Why::StandsDown.sentence().contains("`skein resume --vehicle`"));
    let nodes = [stands_down, node("b").battery(40)];
    assert_eq!(pick(any_vehicle(), &nodes), Ok("b".into()));
    let named = Requirements {
        only: Some("a"),
        ..any_vehicle()
    };
    let none = pick(named, &nodes).unwrap_err();
    assert!(none.contains("stays down until a person acts"), "{none}");
}

#[test]
fn a_node_selector_is_obeyed() {
    let selector = BTreeMap::from([("camera".to_owned(), "thermal".to_owned())]);
    let required = Requirements {
        selector: &selector,
        ..any_vehicle()
    };
    let mut thermal = node("b");
    thermal.labels.insert("camera".into(), "thermal".into());
    assert_eq!(pick(required, &[node("a").battery(100), thermal]), Ok("b".into()));
    assert!(
        pick(required, &[node("a")])
            .unwrap_err()
            .contains("1 do not match nodeSelector")
    );
}

#[test]
fn a_vehicle_is_used_by_the_namespaces_that_it_is_granted_to_and_by_no_other() {
    let granted = |to: &[&str]| {
        let mut node = node("a");
        node.labels
            .extend(to.iter().map(|to| (format!("{GRANT}{to}"), String::new())));
        node
    };
    let strict = Requirements {
        granted_only: true,
        ..any_vehicle()
    };
    for required in [any_vehicle(), strict] {
        assert_eq!(pick(required, &[granted(&["south", "north"])]), Ok("a".into()));
        let none = pick(required, &[granted(&["south"])]).unwrap_err();
        assert!(none.contains("1 are not granted to this namespace"), "{none}");
        let asked = Requirements {
            only: Some("a"),
            ..required
        };
        assert!(pick(asked, &[granted(&["south"])]).is_err(), "nor by its name");
    }
    assert_eq!(pick(any_vehicle(), &[granted(&[])]), Ok("a".into()));
    assert!(pick(strict, &[granted(&[])]).is_err());
}

#[test]
fn of_many_the_best_come_first_and_no_more_than_are_asked_for() {
    let nodes: Vec<Node> = (0..50u8).map(|n| node(&format!("n{n:02}")).battery(51 + n)).collect();
    let candidates = || {
        nodes.iter().map(|n| Candidate {
            node: &n.name,
            labels: &n.labels,
            ready: n.ready,
            cordoned: false,
            tainted: false,
            taken: n.taken,
            upgrading: false,
            grounded: false,
            flies_elsewhere: false,
            report: n.report.as_ref(),
        })
    };
    let best = |most| choose(any_vehicle(), candidates(), most).unwrap();
    let names: Vec<&str> = best(3).into_iter().map(NodeName::as_str).collect();
    assert_eq!(names, ["n49", "n48", "n47"]);
    assert_eq!(best(usize::MAX).len(), 50);
    assert!(candidates().all(|c| suits(any_vehicle(), &c)));
    let taken = Candidate {
        taken: true,
        ..candidates().next().unwrap()
    };
    assert!(!suits(any_vehicle(), &taken));
    let other = Requirements {
        only: Some("n01"),
        ..any_vehicle()
    };
    assert!(!suits(other, &candidates().next().unwrap()));
}

#[test]
fn a_node_named_by_the_user_is_the_only_one_looked_at() {
    let required = Requirements {
        only: Some("b"),
        ..any_vehicle()
    };
    assert_eq!(pick(required, &[node("a").battery(100), node("b")]), Ok("b".into()));
    assert!(
        pick(required, &[node("a")])
            .unwrap_err()
            .contains("there is no drone node b")
    );
}

#[test]
fn cordon_and_not_ready_are_no_taints_of_their_own_and_the_drone_taint_is_tolerated() {
    assert!(taint_matters("maintenance", "NoSchedule"));
    assert!(taint_matters("node.kubernetes.io/unreachable", "NoExecute"));
    assert!(!taint_matters("maintenance", "PreferNoSchedule"));
    assert!(!taint_matters("node.kubernetes.io/unschedulable", "NoSchedule"));
    assert!(!taint_matters(DRONE_TAINT, "NoSchedule"));
}

#[test]
fn a_claim_is_taken_over_only_once_the_api_server_says_that_its_holder_is_gone() {
    let (me, other) = (DroneUid("me".into()), DroneUid("other".into()));
    assert_eq!(claim(&me, None, None), Claim::Create);
    assert_eq!(claim(&me, Some(&me), None), Claim::Ours);
    assert_eq!(claim(&me, Some(&other), None), Claim::AskForHolder(other.clone()));
    assert_eq!(claim(&me, Some(&other), Some(true)), Claim::Taken(other.clone()));
    assert_eq!(claim(&me, Some(&other), Some(false)), Claim::TakeOver);
}
