//! From objects and reports to what is sent, named and said.

use super::super::flight;
use super::super::status::{Settled, fence_on, of_fence, of_profile, profile_on};
use super::*;
use crds::geofence::{Area, Circle, Point};
use crds::{Geofence, GeofenceSpec, ParameterProfile, ParameterProfileSpec};
use fleet::parameters::compose;
use fleet::route_order::Waypoint;
use fleet::rules::{Deviation, FenceState, RulesReport};
use fleet::units::{AltitudeAmsl, ComponentId, SystemId};
use fleet::vehicle::{Airborne, Identity};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::jiff::Timestamp;

const HOME: Wgs84 = Wgs84 {
    latitude_deg: 47.0,
    longitude_deg: 8.0,
};

fn selector(site: &str) -> LabelSelector {
    LabelSelector {
        match_labels: Some(BTreeMap::from([("site".to_owned(), site.to_owned())])),
        ..LabelSelector::default()
    }
}

/// A circle around home for the vehicles of a site.
fn geofence(name: &str, site: &str, radius_meters: f64, generation: i64) -> Fence {
    let center = Point {
        latitude_degrees: HOME.latitude_deg,
        longitude_degrees: HOME.longitude_deg,
    };
    let area = Area {
        circle: Some(Circle { center, radius_meters }),
        polygon: None,
    };
    let spec = GeofenceSpec {
        vehicle_selector: selector(site),
        include: vec![area],
        ..GeofenceSpec::default()
    };
    let mut object = Geofence::new(name, spec);
    object.metadata.generation = Some(generation);
    Fence::of(&object)
}

fn profile(name: &str, site: &str, most: i32, px4: &[(&str, &str)]) -> Values {
    let spec = ParameterProfileSpec {
        vehicle_selector: selector(site),
        precedence: 0,
        enforce: crds::parameter_profile::Enforce::Apply,
        reboot: crds::parameter_profile::Reboot::Never,
        max_unavailable: most,
        ardupilot: BTreeMap::new(),
        px4: px4
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    };
    let mut object = ParameterProfile::new(name, spec);
    object.metadata.generation = Some(1);
    Values::of(&object)
}

fn report(node: &str) -> Report {
    Report {
        link_alive: true,
        truth: FlightTruth::Disarmed,
        identity: Some(Identity {
            autopilot: Autopilot::Px4,
            system: SystemId(3),
            component: ComponentId(1),
            firmware: Some("1.17.0".into()),
            hardware: None,
        }),
        home: Some(Waypoint {
            at: HOME,
            amsl: AltitudeAmsl(400.0),
        }),
        ..Report::of_nothing(NodeName::parse(node).unwrap())
    }
}

fn subject(node: &str, report: Option<Report>) -> Subject {
    Subject {
        node: NodeName::parse(node).unwrap(),
        name: node.to_owned(),
        labels: BTreeMap::from([("site".to_owned(), "north".to_owned())]),
        report: report.map(Arc::new),
        identified: true,
        variables: Variables::default(),
        serves: false,
    }
}

/// A fleet whose agents take what they are sent.
#[derive(Default)]
struct Fleet {
    objects: Objects,
    subjects: Vec<Subject>,
    memories: HashMap<NodeName, Memory>,
}

impl Fleet {
    fn of(nodes: &[&str]) -> Self {
        Self {
            subjects: nodes.iter().map(|node| subject(node, Some(report(node)))).collect(),
            ..Self::default()
        }
    }

    fn look(&mut self) -> Vec<Outcome> {
        plan(&self.objects, &self.subjects, &mut self.memories, Term(1), 0)
    }

    /// Looks, and has all agents bring about what they are sent.
    fn settle(&mut self) -> Vec<Outcome> {
        let outcomes = self.look();
        for (subject, outcome) in self.subjects.iter_mut().zip(&outcomes) {
            if let (Some(report), Some(rules)) = (&mut subject.report, &outcome.send) {
                Arc::make_mut(report).rules = in_force(rules);
            }
        }
        outcomes
    }

    fn change(&mut self, node: usize, change: impl FnOnce(&mut Report)) {
        change(Arc::make_mut(self.subjects[node].report.as_mut().unwrap()));
    }

    /// The conditions of the first Geofence, as type, status and reason.
    fn of_fence(&self, outcomes: &[Outcome]) -> (i32, i32, Vec<(String, String, String)>) {
        let vehicles: Vec<_> = self.subjects.iter().zip(outcomes).collect();
        let status = of_fence((0, &self.objects.fences[0]), &vehicles, &[], Timestamp::UNIX_EPOCH);
        let conditions = status
            .conditions
            .into_iter()
            .map(|c| (c.type_, c.status, c.reason))
            .collect();
        (status.selected.unwrap(), status.in_force.unwrap(), conditions)
    }
}

fn in_force(rules: &Rules) -> RulesReport {
    RulesReport {
        held: Some(rules.digest.clone()),
        fence: if rules.fence.is_some() {
            FenceState::InForce
        } else {
            FenceState::None
        },
        parameters_in_force: u32::try_from(rules.parameters.len()).unwrap(),
        deviations: Vec::new(),
        in_force: true,
    }
}

fn names(outcome: &Outcome) -> Vec<&str> {
    let rules = outcome.send.as_ref();
    rules
        .into_iter()
        .flat_map(|rules| &rules.parameters)
        .map(|p| p.name.as_str())
        .collect()
}

#[test]
fn a_fleet_without_rules_is_sent_nothing_and_named_nothing() {
    let mut fleet = Fleet::of(&["a", "b"]);
    for outcome in fleet.look() {
        assert_eq!((outcome.send, outcome.named), (None, None));
    }
}

#[test]
fn a_geofence_goes_to_the_vehicles_that_it_selects_and_to_no_other() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.subjects[1].labels.clear();
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    let outcomes = fleet.look();
    let rules = outcomes[0].send.as_ref().unwrap();
    assert_eq!(rules.fence.as_ref().unwrap().shapes.len(), 1);
    assert_eq!(outcomes[0].named.as_ref(), Some(&rules.digest));
    assert_eq!(names(&outcomes[0]), ["GF_ACTION", "GF_MAX_HOR_DIST", "GF_MAX_VER_DIST"]);
    assert_eq!((&outcomes[1].send, &outcomes[1].named), (&None, &None));
    let (selected, on, conditions) = fleet.of_fence(&outcomes);
    assert_eq!((selected, on), (1, 0));
    assert_eq!(conditions[1], ("InForce".into(), "False".into(), "NotOnAll".into()));
    assert_eq!(conditions[2].0, "Reconciling");
    fleet.settle();
    let outcomes = fleet.look();
    let (selected, on, conditions) = fleet.of_fence(&outcomes);
    assert_eq!((selected, on), (1, 1));
    assert_eq!(conditions.len(), 2);
    assert_eq!(conditions[1], ("InForce".into(), "True".into(), "OnAll".into()));
}

#[test]
fn an_acknowledgement_or_another_digest_is_not_in_force() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    fleet.settle();
    let states: Vec<(RulesReport, &str)> = {
        let good = fleet.subjects[0].report.as_ref().unwrap().rules.clone();
        let with = |fence: FenceState| RulesReport {
            fence,
            in_force: false,
            ..good.clone()
        };
        let deviation = Deviation {
            name: "GF_ACTION".into(),
            wanted: 3.0,
            actual: Some(0.0),
            why: DeviationWhy::Working,
        };
        vec![
            (with(FenceState::None), "Working"),
            (with(FenceState::Working), "Working"),
            (with(FenceState::WaitsForGround), "WaitsForGround"),
            (with(FenceState::Refused("no".into())), "Refused"),
            (with(FenceState::Drifted("other".into())), "Drifted"),
            (
                RulesReport {
                    deviations: vec![deviation],
                    ..with(FenceState::InForce)
                },
                "Working",
            ),
            (
                RulesReport {
                    held: None,
                    ..good.clone()
                },
                "NotTaken",
            ),
            (with(FenceState::InForce), "Working"),
        ]
    };
    for (rules, word) in states {
        fleet.change(0, |report| report.rules = rules);
        let outcomes = fleet.look();
        let settled = fence_on(&fleet.subjects[0], &outcomes[0]);
        assert!(
            matches!(&settled, Settled::NotYet(reason, _) | Settled::Stuck(reason, _) if *reason == word),
            "{word}: {settled:?}"
        );
    }
}

#[test]
fn a_fence_that_cannot_be_made_keeps_the_former_one_on_board_and_names_none_that_could_be_in_force() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    let former = fleet.settle()[0].send.clone().unwrap();
    fleet.change(0, |report| {
        report.home = Some(Waypoint {
            at: fleet::geo::shifted(HOME, 1000.0, 0.0),
            amsl: AltitudeAmsl(400.0),
        });
    });
    let outcomes = fleet.look();
    assert_eq!(outcomes[0].send, None, "the agent keeps what it holds");
    assert_eq!(outcomes[0].named, Some(RulesDigest(UNMADE.into())));
    assert_ne!(former.digest.0, UNMADE);
    let (_, on, conditions) = fleet.of_fence(&outcomes);
    assert_eq!(on, 0);
    assert_eq!(conditions[0], ("Compiled".into(), "False".into(), "NotForAll".into()));
    assert_eq!(conditions[2].0, "Stalled");
}

#[test]
fn a_geofence_that_is_gone_is_taken_back_and_one_that_changes_is_sent_anew() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    let first = fleet.settle()[0].named.clone();
    fleet.objects.fences = vec![geofence("site", "north", 250.0, 2)];
    let second = fleet.settle()[0].named.clone();
    assert_ne!(first, second);
    fleet.objects.fences.clear();
    let outcomes = fleet.settle();
    assert!(outcomes[0].send.as_ref().unwrap().is_empty());
    assert_eq!(outcomes[0].named, None);
    assert_eq!(fleet.look()[0].send, None, "and then there is nothing more to send");
}

#[test]
fn a_window_opens_and_closes_a_geofence() {
    let mut fleet = Fleet::of(&["a"]);
    let mut geofence = geofence("site", "north", 200.0, 1);
    let window = fleet::geofence::Window {
        from: Some(100),
        until: Some(200),
    };
    Arc::make_mut(&mut geofence.wanted).windows = vec![window];
    fleet.objects.fences = vec![geofence];
    let at = |fleet: &mut Fleet, now| {
        plan(&fleet.objects, &fleet.subjects, &mut fleet.memories, Term(1), now)[0]
            .named
            .is_some()
    };
    assert_eq!(
        [99, 100, 199, 200].map(|now| at(&mut fleet, now)),
        [false, true, true, false]
    );
}

#[test]
fn what_is_not_known_yet_is_named_so_that_it_cannot_be_in_force() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.objects.fences = vec![geofence("site", "south", 200.0, 1)];
    fleet.subjects[0].identified = false;
    assert_eq!(
        fleet.look()[0].named,
        Some(RulesDigest(UNMADE.into())),
        "its Vehicle may have other labels"
    );
    fleet.subjects[0].identified = true;
    assert_eq!(fleet.look()[0].named, None);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    fleet.change(0, |report| report.home = None);
    assert_eq!(fleet.look()[0].named, Some(RulesDigest(UNMADE.into())));
}

#[test]
fn changed_values_go_to_one_vehicle_after_the_other_and_the_others_keep_theirs() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("RTL_RETURN_ALT", "30")])];
    let with = |outcomes: &[Outcome]| outcomes.iter().filter(|o| names(o).contains(&"RTL_RETURN_ALT")).count();
    let fenced = |outcomes: &[Outcome]| {
        outcomes
            .iter()
            .all(|o| o.send.as_ref().is_some_and(|r| r.fence.is_some()))
    };
    for expected in 1..=3 {
        let outcomes = fleet.settle();
        assert_eq!(with(&outcomes), expected);
        assert!(fenced(&outcomes), "a fence waits for nobody");
    }
    // New values: the first gets them; a restart of the coordinator in between changes nothing.
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("RTL_RETURN_ALT", "40")])];
    fleet.settle();
    fleet.memories.clear();
    let outcomes = fleet.look();
    let progress: Vec<Progress> = outcomes.iter().map(|o| o.progress).collect();
    assert_eq!(progress, [Progress::Done, Progress::Underway, Progress::Waiting]);
    assert_eq!(
        outcomes[2].send, None,
        "what it may set is not known here: it keeps what it holds"
    );
    let settled = profile_on("p", &fleet.subjects[2], &outcomes[2]);
    assert!(matches!(settled, Settled::NotYet("WaitsForItsTurn", _)), "{settled:?}");
}

#[test]
fn one_that_refuses_a_value_stops_the_others_and_is_named() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("RTL_RETURN_ALT", "30")])];
    fleet.settle();
    fleet.change(0, |report| {
        report.rules.in_force = false;
        report.rules.deviations = vec![Deviation {
            name: "RTL_RETURN_ALT".into(),
            wanted: 30.0,
            actual: Some(60.0),
            why: DeviationWhy::Refused("out of range".into()),
        }];
    });
    let outcomes = fleet.look();
    assert_eq!(outcomes[1].progress, Progress::Waiting);
    let settled = profile_on("p", &fleet.subjects[1], &outcomes[1]);
    assert!(
        matches!(&settled, Settled::Stuck("Stopped", text) if text.contains("Vehicle a refuses")),
        "{settled:?}"
    );
    let vehicles: Vec<_> = fleet.subjects.iter().zip(&outcomes).collect();
    let status = of_profile((0, &fleet.objects.profiles[0]), &vehicles, &[], Timestamp::UNIX_EPOCH);
    assert_eq!((status.selected, status.in_force), (Some(2), Some(0)));
    let stalled = status.conditions.iter().find(|c| c.type_ == "Stalled").unwrap();
    assert!(stalled.message.contains("out of range"), "{}", stalled.message);
}

#[test]
fn profiles_in_conflict_leave_the_fence_and_name_none_that_could_be_in_force() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    fleet.objects.profiles = vec![
        profile("p", "north", 1, &[("A", "1")]),
        profile("q", "north", 1, &[("A", "2")]),
    ];
    let outcomes = fleet.look();
    assert_eq!(outcomes[0].named, Some(RulesDigest(UNMADE.into())));
    let settled = profile_on("q", &fleet.subjects[0], &outcomes[0]);
    assert!(matches!(&settled, Settled::Stuck("NoValues", text) if text.contains("p and q have the same precedence")));
}

#[test]
fn a_geofence_with_a_fault_says_so_whether_or_not_it_selects_anything() {
    let mut fleet = Fleet::of(&[]);
    fleet.objects.fences = vec![geofence("site", "north", 1.0, 1)];
    let (selected, _, conditions) = fleet.of_fence(&[]);
    assert_eq!(selected, 0);
    assert_eq!(conditions[0], ("Compiled".into(), "False".into(), "Invalid".into()));
    fleet.objects.fences = vec![geofence("site", "north", 100.0, 1)];
    let (_, _, conditions) = fleet.of_fence(&[]);
    assert_eq!(conditions[1].2, "SelectsNone");
}

#[test]
fn a_flight_is_recorded_with_what_was_in_force_when_it_took_off() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 7)];
    fleet.settle();
    let outcomes = fleet.look();
    let at = |second| Timestamp::from_second(second).unwrap();
    let follow = |fleet: &Fleet, before, outcome: &Outcome, second| {
        flight::follow(before, &fleet.objects, (&fleet.subjects[0], outcome), None, at(second))
    };
    let (none, ended) = follow(&fleet, None, &outcomes[0], 1);
    assert_eq!((none, ended), (None, None), "it stands");
    fleet.change(0, |report| report.truth = FlightTruth::Airborne(Airborne::InAir));
    let (flight, _) = follow(&fleet, None, &outcomes[0], 60);
    // What changes in the air is not what it took off with.
    fleet.change(0, |report| report.rules = RulesReport::default());
    let (flight, ended) = follow(&fleet, flight, &outcomes[0], 90);
    assert_eq!(ended, None);
    fleet.change(0, |report| report.truth = FlightTruth::Disarmed);
    let (flight, ended) = follow(&fleet, flight, &outcomes[0], 120);
    assert_eq!(flight, None);
    let digest = &outcomes[0].named.as_ref().unwrap().0;
    assert_eq!(
        ended.unwrap().words(at(120)),
        format!(
            "1970-01-01T00:01:00Z to 1970-01-01T00:02:00Z, no Drone, hardware unknown, firmware 1.17.0, rules {digest} in force (Geofence site generation 7)"
        )
    );
}

#[test]
fn rules_of_nothing_have_a_digest_too() {
    assert_ne!(compose(Term(1), None, Vec::new()).digest.0, UNMADE);
}
