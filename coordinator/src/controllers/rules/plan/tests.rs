//! From objects and reports to outcomes and statuses.

use super::super::flight::{self, Followed};
use super::super::objects::Author;
use super::super::status::{RuleState, fence_on, of_fence, of_profile, profile_on};
use super::*;
use crds::geofence::{Area, Circle, Point};
use crds::{Geofence, GeofenceSpec, ParameterProfile, ParameterProfileSpec};
use fleet::planning::parameters::compose;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use k8s_openapi::jiff::Timestamp;
use model::route_order::Waypoint;
use model::rules::{Deviation, FenceState, RulesReport};
use model::units::{AltitudeAmsl, ComponentId, SystemId, Wgs84};
use model::vehicle::{Airborne, Autopilot, FlightTruth, Identity};

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

fn geofence(name: &str, site: &str, radius_meters: f64, generation: i64) -> Arc<Fence> {
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
    Arc::new(Fence::of(&object))
}

fn profile(name: &str, site: &str, most: i32, px4: &[(&str, &str)]) -> Arc<Values> {
    let spec = ParameterProfileSpec {
        vehicle_selector: selector(site),
        precedence: 0,
        enforce: crds::parameter_profile::Enforce::Apply,
        reboot: crds::parameter_profile::Reboot::Never,
        max_unavailable: most,
        settings: None,
        ardupilot: BTreeMap::new(),
        px4: px4
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    };
    let mut object = ParameterProfile::new(name, spec);
    object.metadata.generation = Some(1);
    Arc::new(Values::of(&object))
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
        object: None,
    }
}

/// A fleet whose agents take what they are sent.
#[derive(Default)]
struct Fleet {
    objects: Objects,
    subjects: Vec<Subject>,
    memories: Memories,
}

impl Fleet {
    fn of(nodes: &[&str]) -> Self {
        Self {
            subjects: nodes.iter().map(|node| subject(node, Some(report(node)))).collect(),
            ..Self::default()
        }
    }

    fn look(&mut self) -> Vec<Outcome> {
        plan(&self.objects, &self.subjects, &mut self.memories, Term(1), (0, true))
    }

    /// Plans, and has all agents carry out what they are sent.
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

    /// The first vehicle keeps the `actual` value of a parameter, and refuses the `wanted` one.
    fn refuses(&mut self, parameter: &str, wanted: f64, actual: f64) {
        self.change(0, |report| {
            report.rules.in_force = false;
            report.rules.deviations = vec![Deviation {
                name: parameter.into(),
                wanted,
                actual: Some(actual),
                why: DeviationWhy::Refused("out of range".into()),
            }];
        });
    }

    /// The conditions of the first Geofence, as type, status and reason.
    fn of_fence(&self, outcomes: &[Outcome]) -> (i32, i32, Vec<(String, String, String)>) {
        let vehicles: Vec<_> = self.subjects.iter().zip(outcomes).collect();
        let (status, _) = of_fence((0, &self.objects.fences[0]), &vehicles, &[], Timestamp::UNIX_EPOCH);
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
    assert_eq!(names(&outcomes[0]), ["GF_ACTION", "GF_MAX_HOR_DIST"]);
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
fn what_a_geofence_says_has_the_numbers_of_now() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    let say = |fleet: &mut Fleet, old: &[Condition]| {
        let outcomes = fleet.look();
        let vehicles: Vec<_> = fleet.subjects.iter().zip(&outcomes).collect();
        let (status, _) = of_fence((0, &fleet.objects.fences[0]), &vehicles, old, Timestamp::UNIX_EPOCH);
        status.conditions
    };
    let first = say(&mut fleet, &[]);
    assert!(first[1].message.starts_with("in force on 0 of 3; "), "{first:?}");
    fleet.settle();
    fleet.change(0, |report| report.rules = RulesReport::default());
    let second = say(&mut fleet, &first);
    // The reason is the same: only the numbers change.
    assert_eq!(first[1].reason, second[1].reason);
    for condition in &second[1..] {
        assert!(condition.message.starts_with("in force on 2 of 3; "), "{condition:?}");
    }
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
        let state = fence_on(&fleet.subjects[0], &outcomes[0]);
        assert!(
            matches!(&state, RuleState::NotYet(reason, _) | RuleState::Stuck(reason, _) if *reason == word),
            "{word}: {state:?}"
        );
    }
}

#[test]
fn a_fence_that_cannot_be_made_keeps_the_former_and_names_none_that_could_hold() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    let former = fleet.settle()[0].send.clone().unwrap();
    fleet.change(0, |report| {
        report.home = Some(Waypoint {
            at: model::geo::shifted(HOME, 1000.0, 0.0),
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
    let window = fleet::planning::geofence::Window {
        from: Some(100),
        until: Some(200),
    };
    Arc::make_mut(&mut Arc::make_mut(&mut geofence).wanted).windows = vec![window];
    fleet.objects.fences = vec![geofence];
    let at = |fleet: &mut Fleet, now| {
        plan(
            &fleet.objects,
            &fleet.subjects,
            &mut fleet.memories,
            Term(1),
            (now, true),
        )[0]
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
    fleet.memories = Memories::default();
    let outcomes = fleet.look();
    let progress: Vec<Progress> = outcomes.iter().map(|o| o.progress).collect();
    assert_eq!(progress, [Progress::Done, Progress::Underway, Progress::Waiting]);
    assert_eq!(
        outcomes[2].send, None,
        "what it may set is not known here: it keeps what it holds"
    );
    let state = profile_on("p", &fleet.subjects[2], &outcomes[2]);
    assert!(matches!(state, RuleState::NotYet("WaitsForItsTurn", _)), "{state:?}");
}

#[test]
fn one_that_refuses_a_value_stops_the_others_and_is_named() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("RTL_RETURN_ALT", "30")])];
    fleet.settle();
    fleet.refuses("RTL_RETURN_ALT", 30.0, 60.0);
    let outcomes = fleet.look();
    assert_eq!(outcomes[1].progress, Progress::Waiting);
    let state = profile_on("p", &fleet.subjects[1], &outcomes[1]);
    assert!(
        matches!(&state, RuleState::Stuck("Stopped", text) if text.contains("Vehicle a refuses")),
        "{state:?}"
    );
    let vehicles: Vec<_> = fleet.subjects.iter().zip(&outcomes).collect();
    let (status, _) = of_profile((0, &fleet.objects.profiles[0]), &vehicles, &[], Timestamp::UNIX_EPOCH);
    assert_eq!((status.selected, status.in_force), (Some(2), Some(0)));
    let stalled = status.conditions.iter().find(|c| c.type_ == "Stalled").unwrap();
    assert!(stalled.message.contains("out of range"), "{}", stalled.message);
    // It is asked again, and then not heard: that is no acceptance of the value.
    fleet.change(0, |report| report.rules.deviations[0].why = DeviationWhy::Working);
    let outcomes = fleet.look();
    assert_eq!(outcomes[1].stopped_by.as_deref(), Some("a"));
    let state = profile_on("p", &fleet.subjects[0], &outcomes[0]);
    assert!(
        matches!(&state, RuleState::Stuck("Refused", text) if text.ends_with("out of range")),
        "{state:?}"
    );
    fleet.subjects[0].report = None;
    assert_eq!(fleet.look()[1].stopped_by.as_deref(), Some("a"));
    let mut changed = profile("p", "north", 1, &[("RTL_RETURN_ALT", "40")]);
    Arc::get_mut(&mut changed).unwrap().author.generation = 2;
    fleet.objects.profiles = vec![changed];
    assert_eq!(fleet.look()[1].stopped_by, None);
}

/// As many parameters as a report names, with this prefix.
fn named(prefix: &str, why: &DeviationWhy) -> Vec<Deviation> {
    (0..model::rules::MOST_DEVIATIONS)
        .map(|i| Deviation {
            name: format!("{prefix}_{i:02}"),
            wanted: 1.0,
            actual: None,
            why: why.clone(),
        })
        .collect()
}

/// A profile of `count` values, with this prefix.
fn many(name: &str, prefix: &str, count: usize) -> Arc<Values> {
    let names: Vec<String> = (0..count).map(|i| format!("{prefix}_{i:02}")).collect();
    let values: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    profile(name, "north", 1, &values)
}

#[test]
fn a_rollout_passes_a_vehicle_that_lacks_more_parameters_than_its_report_names() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.objects.profiles = vec![many("p", "MPC_NEW", 40)];
    fleet.settle();
    fleet.change(0, |report| {
        report.rules.in_force = false;
        report.rules.parameters_in_force = 0;
        report.rules.deviations = named("MPC_NEW", &DeviationWhy::Missing("there is none".into()));
    });
    let outcomes = fleet.look();
    assert_eq!(outcomes[0].progress, Progress::Done, "nothing is left to set on it");
    assert_eq!(names(&outcomes[1]).len(), 40, "b has its turn");
    // An open one may be among those that are not named.
    fleet.change(0, |report| {
        report.rules.deviations = named("MPC_NEW", &DeviationWhy::Working);
    });
    fleet.memories = Memories::default();
    assert_eq!(fleet.look()[0].progress, Progress::Underway);
}

#[test]
fn what_is_given_back_is_no_value_of_those_that_a_vehicle_is_to_have() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.objects.profiles = vec![many("p", "MPC_NEW", 2)];
    fleet.settle();
    fleet.change(0, |report| {
        report.rules.in_force = false;
        report.rules.parameters_in_force = 0;
        report.rules.deviations = named("MPC_OLD", &DeviationWhy::Working);
    });
    let outcomes = fleet.look();
    assert_eq!(outcomes[0].progress, Progress::Underway);
    assert_eq!(outcomes[1].progress, Progress::Waiting);
    let state = profile_on("p", &fleet.subjects[0], &outcomes[0]);
    assert!(matches!(state, RuleState::NotYet(..)), "{state:?}");
}

#[test]
fn a_profile_of_which_a_report_has_no_room_to_say_is_not_in_force() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    fleet.objects.profiles = vec![many("p", "MPC_NEW", 40), many("q", "MPC_Q", 3)];
    fleet.settle();
    for (fence, in_force) in [(FenceState::Working, 4), (FenceState::InForce, 12)] {
        fleet.change(0, |report| {
            report.rules.in_force = false;
            report.rules.fence = fence;
            report.rules.parameters_in_force = in_force;
            report.rules.deviations = named("MPC_NEW", &DeviationWhy::Missing("there is none".into()));
        });
        let outcomes = fleet.look();
        let q = profile_on("q", &fleet.subjects[0], &outcomes[0]);
        assert_ne!(q, RuleState::InForce, "{in_force} are");
        let site = fence_on(&fleet.subjects[0], &outcomes[0]);
        assert_ne!(site, RuleState::InForce, "{in_force} are");
    }
    // 32 deviate, and the other 13 were read back.
    fleet.change(0, |report| report.rules.parameters_in_force = 13);
    let outcomes = fleet.look();
    assert_eq!(profile_on("q", &fleet.subjects[0], &outcomes[0]), RuleState::InForce);
    assert_eq!(fence_on(&fleet.subjects[0], &outcomes[0]), RuleState::InForce);
}

#[test]
fn a_profile_that_was_made_anew_under_the_name_of_one_that_was_refused_is_tried() {
    let mut fleet = Fleet::of(&["a", "b"]);
    let with_uid = |uid: &str, value: &str| {
        let mut made = profile("p", "north", 1, &[("RTL_RETURN_ALT", value)]);
        Arc::get_mut(&mut made).unwrap().author.uid = Some(uid.to_owned());
        made
    };
    fleet.objects.profiles = vec![with_uid("u1", "30")];
    fleet.settle();
    fleet.refuses("RTL_RETURN_ALT", 30.0, 60.0);
    assert_eq!(fleet.look()[1].stopped_by.as_deref(), Some("a"));
    fleet.subjects[0].report = None;
    assert_eq!(fleet.look()[1].stopped_by.as_deref(), Some("a"));
    fleet.objects.profiles = vec![with_uid("u2", "40")];
    assert_eq!(fleet.look()[1].stopped_by, None);
}

#[test]
fn a_vehicle_whose_autopilot_lacks_a_name_says_so_and_holds_up_no_other() {
    let mut fleet = Fleet::of(&["a", "b"]);
    let values = [("COM_OBC_LOSS_T", "5"), ("RTL_RETURN_ALT", "30")];
    fleet.objects.profiles = vec![profile("p", "north", 1, &values)];
    fleet.settle();
    let why = "the autopilot has no parameter COM_OBC_LOSS_T; correct the name";
    fleet.change(0, |report| {
        report.rules.in_force = false;
        report.rules.parameters_in_force = 1;
        report.rules.deviations = vec![Deviation {
            name: "COM_OBC_LOSS_T".into(),
            wanted: 5.0,
            actual: None,
            why: DeviationWhy::Missing(why.into()),
        }];
    });
    let outcomes = fleet.look();
    assert_eq!(
        names(&outcomes[1]),
        ["COM_OBC_LOSS_T", "RTL_RETURN_ALT"],
        "b has its turn"
    );
    let state = profile_on("p", &fleet.subjects[0], &outcomes[0]);
    assert_eq!(state, RuleState::Stuck("NoSuchParameter", why.into()));
    fleet.change(1, |report| report.rules = in_force(outcomes[1].send.as_ref().unwrap()));
    let outcomes = fleet.look();
    let vehicles: Vec<_> = fleet.subjects.iter().zip(&outcomes).collect();
    let (status, _) = of_profile((0, &fleet.objects.profiles[0]), &vehicles, &[], Timestamp::UNIX_EPOCH);
    assert_eq!((status.selected, status.in_force), (Some(2), Some(1)));
    assert_eq!(status.unsettled[0].reason, "NoSuchParameter");
    let stalled = status.conditions.iter().find(|c| c.type_ == "Stalled").unwrap();
    assert!(
        stalled.message.contains("no parameter COM_OBC_LOSS_T"),
        "{}",
        stalled.message
    );
}

#[test]
fn settings_use_the_newest_name_of_each_stack_and_are_read_back_from_a_vehicle() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.change(1, |report| {
        report.identity.as_mut().unwrap().autopilot = Autopilot::ArduPilot;
    });
    let mut spec = ParameterProfileSpec {
        max_unavailable: 2,
        ..(ParameterProfile::new(
            "p",
            serde_json::from_value(serde_json::json!({
                "vehicleSelector": {"matchLabels": {"site": "north"}},
                "enforce": "Apply",
                "settings": {"returnAltitudeMeters": "{{ 25 + 5*systemId }}", "onLowBattery": "Return"},
            }))
            .unwrap(),
        ))
        .spec
    };
    let values = |spec: &ParameterProfileSpec| Arc::new(Values::of(&ParameterProfile::new("p", spec.clone())));
    for subject in &mut fleet.subjects {
        subject.variables.system_id = Some(3);
    }
    fleet.objects.profiles = vec![values(&spec)];
    assert_eq!(fleet.objects.profiles[0].fault, None);
    let outcomes = fleet.settle();
    let sent = |outcome: &Outcome| -> Vec<(String, f64, bool)> {
        let parameters = &outcome.send.as_ref().unwrap().parameters;
        parameters
            .iter()
            .map(|p| (p.name.clone(), p.value, p.any_name))
            .collect()
    };
    assert_eq!(
        sent(&outcomes[0]),
        [
            ("COM_LOW_BAT_ACT".into(), 3.0, true),
            ("RTL_RETURN_ALT".into(), 40.0, true)
        ]
    );
    assert_eq!(
        sent(&outcomes[1]),
        [("BATT_FS_LOW_ACT".into(), 2.0, true), ("RTL_ALT_M".into(), 40.0, true)]
    );
    let shown = super::super::shown::shown(&fleet.objects, &fleet.subjects[1], &outcomes[1]).unwrap();
    assert!(shown.values.iter().all(|value| value.any_name));
    // By name besides: it is one parameter, for both versions.
    spec.ardupilot = BTreeMap::from([("RTL_ALT".to_owned(), "3000".to_owned())]);
    let fault = values(&spec).fault.clone().unwrap();
    assert!(
        fault.contains("settings.returnAltitudeMeters and RTL_ALT are one parameter"),
        "{fault}"
    );
}

#[test]
fn profiles_in_conflict_leave_the_fence_and_name_none_that_could_be_in_force() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    fleet.objects.profiles = vec![
        profile("p", "north", 1, &[("MPC_XY_CRUISE", "1")]),
        profile("q", "north", 1, &[("MPC_XY_CRUISE", "2")]),
    ];
    let outcomes = fleet.look();
    assert_eq!(outcomes[0].named, Some(RulesDigest(UNMADE.into())));
    let state = profile_on("q", &fleet.subjects[0], &outcomes[0]);
    assert!(matches!(&state, RuleState::Stuck("NoValues", text) if text.contains("p and q have the same precedence")));
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
    let (down, ended) = follow(&fleet, Followed::Unseen, &outcomes[0], 1);
    assert_eq!((&down, ended), (&Followed::Down, None), "it is on the ground");
    fleet.change(0, |report| report.truth = FlightTruth::Airborne(Airborne::InAir));
    let (flight, _) = follow(&fleet, down, &outcomes[0], 60);
    // A change in the air does not concern the takeoff.
    fleet.change(0, |report| report.rules = RulesReport::default());
    let (flight, ended) = follow(&fleet, flight, &outcomes[0], 90);
    assert_eq!(ended, None);
    fleet.change(0, |report| report.truth = FlightTruth::Disarmed);
    let (flight, ended) = follow(&fleet, flight, &outcomes[0], 120);
    assert_eq!(flight, Followed::Down);
    let digest = &outcomes[0].named.as_ref().unwrap().0;
    let (fence, parameters) = digest.split_at(32);
    assert_eq!(
        ended.unwrap().words(at(120)),
        format!(
            "1970-01-01T00:01:00Z to 1970-01-01T00:02:00Z, no Drone, hardware unknown, firmware 1.17.0, fence {fence} and parameters {parameters} in force (Geofence site: generation 7 by manager unknown, uid unknown)"
        )
    );
}

#[test]
fn who_made_an_object_is_the_manager_of_the_last_write_of_its_spec() {
    let write = |manager: &str, second: i64, fields: &str, subresource: Option<&str>| {
        serde_json::json!({
            "manager": manager, "time": Timestamp::from_second(second).unwrap().to_string(), "fieldsType": "FieldsV1",
            "fieldsV1": {fields: {}}, "operation": "Apply", "apiVersion": "skein.dev/v1alpha1", "subresource": subresource,
        })
    };
    let made = |writes: serde_json::Value| {
        let metadata = serde_json::json!({"uid": "u", "generation": 3, "managedFields": writes});
        Author::of(&serde_json::from_value(metadata).unwrap()).to_string()
    };
    let writes = serde_json::json!([
        write("argocd", 50, "f:spec", None),
        write("kubectl-edit", 60, "f:spec", None),
        write("kubectl-label", 70, "f:metadata", None),
        write("skein", 80, "f:status", Some("status")),
    ]);
    assert_eq!(made(writes), "generation 3 by manager kubectl-edit, uid u");
    assert_eq!(made(serde_json::json!([])), "generation 3 by manager unknown, uid u");
}

#[test]
fn nothing_is_claimed_of_a_takeoff_unseen_or_of_rules_that_were_not_desired() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 7)];
    fleet.settle();
    let outcomes = fleet.look();
    let old = outcomes[0].named.clone().unwrap();
    let at = |second| Timestamp::from_second(second).unwrap();
    let follow = |fleet: &Fleet, before, outcome: &Outcome| {
        flight::follow(before, &fleet.objects, (&fleet.subjects[0], outcome), None, at(60)).0
    };
    let rules = |flight: Followed| match flight {
        Followed::Flying(flight) => flight.words(at(90)).split("1.17.0, ").nth(1).unwrap().to_owned(),
        other => panic!("{other:?}"),
    };
    fleet.objects.fences = vec![geofence("site", "north", 150.0, 8)];
    let outcomes = fleet.look();
    fleet.change(0, |report| report.truth = FlightTruth::Airborne(Airborne::InAir));
    let before = follow(&fleet, Followed::Down, &outcomes[0]);
    assert_eq!(
        rules(before),
        format!("{}, which were not those that it was to have", old.words())
    );
    // A coordinator that leads since then.
    let unseen = follow(&fleet, Followed::Unseen, &outcomes[0]);
    let words = "which rules it took off with was not observed by this coordinator";
    assert_eq!(rules(unseen), words);
    // Its agent was away, and it may have taken off meanwhile.
    fleet.subjects[0].report = None;
    assert_eq!(follow(&fleet, Followed::Down, &outcomes[0]), Followed::Unseen);
}

fn spec() -> crds::VehicleSpec {
    crds::VehicleSpec {
        node_name: "n".to_owned(),
        hardware_uid: None,
    }
}

/// Writes the outcome into a vehicle's object.
fn write_down(fleet: &mut Fleet, i: usize, outcome: &Outcome) {
    let shown = super::super::shown::shown(&fleet.objects, &fleet.subjects[i], outcome);
    let mut object = Vehicle::new(&fleet.subjects[i].name, spec());
    object.status = Some(crds::VehicleStatus {
        rules: shown,
        ..crds::VehicleStatus::default()
    });
    fleet.subjects[i].object = Some(Arc::new(object));
}

#[test]
fn a_new_leader_brings_a_changed_fence_to_vehicles_of_a_stopped_rollout() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    fleet.objects.profiles = vec![profile("p", "north", 2, &[("MPC_XY_VEL_MAX", "8")])];
    fleet.settle();
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("MPC_XY_VEL_MAX", "9")])];
    fleet.settle();
    fleet.refuses("MPC_XY_VEL_MAX", 9.0, 8.0);
    let outcomes = fleet.settle();
    assert_eq!(outcomes[1].stopped_by.as_deref(), Some("a"));
    for (i, outcome) in outcomes.iter().enumerate() {
        write_down(&mut fleet, i, outcome);
    }
    fleet.memories = Memories::default();
    fleet.objects.fences = vec![geofence("site", "north", 250.0, 2)];
    let outcomes = fleet.settle();
    let sent = outcomes[1].send.as_ref().expect("the fence waits for nobody");
    let value = |rules: &Rules| {
        rules
            .parameters
            .iter()
            .find(|p| p.name == "MPC_XY_VEL_MAX")
            .unwrap()
            .value
    };
    assert_eq!(value(sent), 8.0, "with the values that it had");
    let radius = |rules: &Rules| format!("{:?}", rules.fence.as_ref().map(|fence| &fence.shapes));
    assert!(radius(sent).contains("Meters(249"), "{}", radius(sent));
    assert_eq!(outcomes[1].progress, Progress::Waiting);
    assert_eq!(
        outcomes[1].waits_for.as_deref(),
        Some("a"),
        "until that has taken the fence, too"
    );
}

#[test]
fn a_new_leader_brings_a_changed_fence_to_a_vehicle_whose_profiles_conflict() {
    for written_down in [true, false] {
        let mut fleet = Fleet::of(&["a"]);
        fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
        fleet.objects.profiles = vec![profile("p", "north", 1, &[("MPC_XY_CRUISE", "1")])];
        fleet.settle();
        let outcome = fleet.look().remove(0);
        if written_down {
            write_down(&mut fleet, 0, &outcome);
        }
        fleet.objects.profiles = vec![
            profile("p", "north", 1, &[("MPC_XY_CRUISE", "3")]),
            profile("q", "north", 1, &[("MPC_XY_CRUISE", "2")]),
        ];
        fleet.memories = Memories::default();
        fleet.objects.fences = vec![geofence("site", "north", 250.0, 2)];
        let outcomes = fleet.look();
        let sent = outcomes[0].send.as_ref().expect("the fence waits for nobody");
        let shapes = format!("{:?}", sent.fence.as_ref().map(|fence| &fence.shapes));
        assert!(shapes.contains("Meters(249"), "{shapes}");
        let value = sent.parameters.iter().find(|p| p.name == "MPC_XY_CRUISE");
        let value = value.map(|p| p.value);
        assert_eq!(
            value,
            written_down.then_some(1.0),
            "what it had, as far as that is known"
        );
        assert_eq!(outcomes[0].named, Some(RulesDigest(UNMADE.into())));
    }
}

#[test]
fn a_fence_leaves_no_room_to_values_that_an_agent_would_not_take_with_it() {
    let mut fleet = Fleet::of(&["a"]);
    fleet.objects.profiles = vec![many("p", "MPC_NEW", 126)];
    fleet.settle();
    let most = model::rules::MOST_PARAMETERS;
    let mut low = geofence("site", "north", 200.0, 1);
    Arc::make_mut(&mut Arc::make_mut(&mut low).wanted).ceiling = Some(model::units::AltitudeAboveHome(30.0));
    fleet.objects.fences = vec![low];
    fleet.change(0, |report| {
        report.return_height = Some(model::units::AltitudeAboveHome(60.0));
    });
    let outcomes = fleet.look();
    assert!(outcomes[0].values.as_deref().unwrap().is_err());
    let sent = outcomes[0].send.as_ref().unwrap();
    assert_eq!(sent.parameters.len(), most);
    for own in ["GF_ACTION", "GF_MAX_HOR_DIST", "GF_MAX_VER_DIST", "RTL_RETURN_ALT"] {
        assert!(sent.parameters.iter().any(|p| p.name == own), "{own}");
    }
    // The altitude of the return counts, too.
    fleet.objects.profiles = vec![many("p", "MPC_NEW", 125)];
    let outcomes = fleet.look();
    assert!(outcomes[0].values.as_deref().unwrap().is_err());
}

/// The rules of the first vehicle, for the other controllers.
fn others_know(fleet: &Fleet, outcomes: &[Outcome]) -> crate::controllers::node_rules::NodeRules {
    let rules = crate::controllers::node_rules::NodeRules::default();
    let of = super::super::shown::of_node(&fleet.objects, (&fleet.subjects[0], &outcomes[0]), None);
    rules.update([(fleet.subjects[0].node.clone(), of)].into(), true);
    rules
}

#[test]
fn in_the_air_a_fence_counts_that_the_autopilot_keeps_until_it_has_landed() {
    use crate::controllers::node_rules::NodeRules;
    use model::units::AltitudeAboveHome;
    let node = NodeName::parse("a").unwrap();
    let place = |east: f64| (model::geo::shifted(HOME, east, 0.0), AltitudeAboveHome(20.0));
    let goes = |rules: &NodeRules, east: f64| {
        let way = rules.allow_way(&node, &[place(0.0), place(east)]);
        let station = rules.allow(&node, Some(place(east).0), Some(place(east).1));
        assert_eq!(way.is_ok(), station.is_ok(), "{east} m: {way:?} {station:?}");
        way.map_err(|why| why.to_string())
    };
    let flies = |report: &mut Report| report.truth = FlightTruth::Airborne(Airborne::InAir);
    // Another in its place, another beside it, and none.
    for fences in [
        vec![geofence("site", "north", 500.0, 2)],
        vec![geofence("other", "north", 500.0, 1)],
        vec![],
    ] {
        let mut fleet = Fleet::of(&["a"]);
        fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
        fleet.settle();
        fleet.look();
        fleet.change(0, flies);
        let outcomes = fleet.look();
        assert_eq!(goes(&others_know(&fleet, &outcomes), 150.0), Ok(()));
        let proved = fleet.subjects[0].report.clone().unwrap();
        fleet.objects.fences.clone_from(&fences);
        for _ in 0..2 {
            let outcomes = fleet.look();
            if let Some(rules) = &outcomes[0].send {
                let taken = RulesReport {
                    fence: FenceState::WaitsForGround,
                    in_force: false,
                    ..in_force(rules)
                };
                fleet.change(0, |report| report.rules = taken);
            }
            let rules = others_know(&fleet, &outcomes);
            assert_eq!(goes(&rules, 150.0), Ok(()));
            let why = goes(&rules, 300.0).unwrap_err();
            assert!(why.contains("Geofence site as it was"), "{why}");
        }
        let report = fleet.subjects[0].report.take();
        fleet.look();
        fleet.subjects[0].report = report;
        let outcomes = fleet.look();
        assert!(goes(&others_know(&fleet, &outcomes), 300.0).is_err());
        fleet.change(0, |report| report.truth = FlightTruth::Disarmed);
        fleet.settle();
        if fences.is_empty() {
            fleet.change(0, |report| {
                (report.rules.fence, report.rules.in_force) = (FenceState::None, true);
            });
        }
        let outcomes = fleet.look();
        assert_eq!(
            goes(&others_know(&fleet, &outcomes), 300.0),
            Ok(()),
            "it has the new one"
        );
        // Taken back in the air: it never had another.
        fleet.subjects[0].report = Some(proved);
        fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
        fleet.look();
        let outcomes = fleet.look();
        assert!(goes(&others_know(&fleet, &outcomes), 300.0).is_err());
        assert_eq!(goes(&others_know(&fleet, &outcomes), 150.0), Ok(()));
    }
}

#[test]
fn a_leader_that_does_not_know_what_a_vehicle_in_the_air_has_grants_it_no_way() {
    use model::units::AltitudeAboveHome;
    let node = NodeName::parse("a").unwrap();
    let place = |east: f64| (model::geo::shifted(HOME, east, 0.0), AltitudeAboveHome(20.0));
    let way = [place(0.0), place(100.0)];
    let mut fleet = Fleet::of(&["a"]);
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("MPC_XY_CRUISE", "1")])];
    fleet.settle();
    let outcomes = fleet.look();
    write_down(&mut fleet, 0, &outcomes[0]);
    fleet.change(0, |report| report.truth = FlightTruth::Airborne(Airborne::InAir));
    fleet.memories = Memories::default();
    let outcomes = fleet.look();
    assert_eq!(
        others_know(&fleet, &outcomes).allow_way(&node, &way),
        Ok(()),
        "it has those that are wanted"
    );
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("MPC_XY_CRUISE", "2")])];
    fleet.memories = Memories::default();
    let outcomes = fleet.look();
    assert_eq!(others_know(&fleet, &outcomes).allow_way(&node, &way), Ok(()));
    fleet.objects.fences = vec![geofence("site", "north", 500.0, 2)];
    fleet.memories = Memories::default();
    for _ in 0..2 {
        let outcomes = fleet.look();
        let rules = others_know(&fleet, &outcomes);
        let why = rules.allow_way(&node, &way).unwrap_err().to_string();
        assert!(why.contains("not known"), "{why}");
        assert_eq!(
            rules.allow(&node, Some(place(100.0).0), None),
            Ok(()),
            "it goes on holding where it was granted to be"
        );
        assert!(rules.fences().contains_key(&node), "and gets no route");
    }
    fleet.change(0, |report| report.truth = FlightTruth::Disarmed);
    fleet.look();
    fleet.settle();
    let outcomes = fleet.look();
    assert_eq!(others_know(&fleet, &outcomes).allow_way(&node, &way), Ok(()));
    // A vehicle without rules at any time.
    let mut fleet = Fleet::of(&["a"]);
    fleet.change(0, |report| report.truth = FlightTruth::Airborne(Airborne::InAir));
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    let outcomes = fleet.look();
    assert_eq!(others_know(&fleet, &outcomes).allow_way(&node, &way), Ok(()));
}

#[test]
fn a_vehicle_that_is_switched_off_keeps_nobody_waiting_unless_it_was_being_changed() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("MPC_XY_VEL_MAX", "8")])];
    fleet.settle();
    fleet.settle();
    fleet.settle();
    let parked = fleet.subjects[0].report.take();
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("MPC_XY_VEL_MAX", "9")])];
    let outcomes = fleet.look();
    assert_eq!(
        outcomes[1].progress,
        Progress::Underway,
        "it is parked, and has what it had"
    );
    // It is back, and is switched off while it gets them.
    fleet.settle();
    fleet.subjects[0].report = parked;
    let outcomes = fleet.settle();
    assert_eq!(outcomes[0].progress, Progress::Underway);
    write_down(&mut fleet, 0, &outcomes[0]);
    fleet.subjects[0].report = None;
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("MPC_XY_VEL_MAX", "10")])];
    for memories_are_lost in [false, true] {
        if memories_are_lost {
            fleet.memories = Memories::default();
        }
        let outcomes = fleet.look();
        assert_eq!(outcomes[1].progress, Progress::Waiting);
        assert_eq!(outcomes[1].waits_for.as_deref(), Some("a"));
        let state = profile_on("p", &fleet.subjects[1], &outcomes[1]);
        let says = |text: &str| text.contains("Vehicle a is not done yet");
        assert!(
            matches!(&state, RuleState::NotYet("WaitsForItsTurn", text) if says(text)),
            "{state:?}"
        );
    }
    // It is back, and its rules cannot be made before it has a home.
    let mut homeless = report("a");
    homeless.home = None;
    fleet.subjects[0].report = Some(Arc::new(homeless));
    fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
    assert_eq!(fleet.look()[1].waits_for.as_deref(), Some("a"));
}

#[test]
fn nobody_gets_changed_values_while_those_are_awaited_that_were_heard_before() {
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("MPC_XY_VEL_MAX", "8")])];
    let mut object = Vehicle::new("b", spec());
    let ready = serde_json::json!({"conditions": [{
        "type": "Ready", "status": "True", "reason": "Heard", "message": "", "lastTransitionTime": "1970-01-01T00:00:00Z",
    }]});
    object.status = Some(serde_json::from_value(ready).unwrap());
    fleet.subjects[1].object = Some(Arc::new(object));
    assert!(!fleet.subjects.iter().any(Subject::is_awaited), "it is heard");
    fleet.subjects[1].report = None;
    assert!(fleet.subjects[1].is_awaited() && !fleet.subjects[0].is_awaited());
    let held = plan(
        &fleet.objects,
        &fleet.subjects,
        &mut fleet.memories,
        Term(1),
        (0, false),
    );
    assert_eq!(held[0].progress, Progress::Waiting);
    assert_eq!(fleet.look()[0].progress, Progress::Underway);
}

#[test]
fn px4_gets_a_lower_return_with_a_low_ceiling_and_waits_until_its_height_is_known() {
    let mut fleet = Fleet::of(&["a"]);
    let mut low = geofence("site", "north", 200.0, 1);
    Arc::make_mut(&mut Arc::make_mut(&mut low).wanted).ceiling = Some(model::units::AltitudeAboveHome(30.0));
    fleet.objects.fences = vec![low];
    let outcomes = fleet.look();
    assert_eq!(outcomes[0].named, Some(RulesDigest(UNMADE.into())));
    let state = fence_on(&fleet.subjects[0], &outcomes[0]);
    assert!(
        matches!(&state, RuleState::NotYet(_, text) if text.contains("RTL_RETURN_ALT")),
        "{state:?}"
    );
    let returns = |fleet: &mut Fleet, height: f64| {
        fleet.change(0, |report| {
            report.return_height = Some(model::units::AltitudeAboveHome(height))
        });
        let outcomes = fleet.settle();
        let rules = outcomes[0].send.clone().unwrap();
        rules
            .parameters
            .iter()
            .find(|p| p.name == "RTL_RETURN_ALT")
            .map(|p| p.value)
    };
    assert_eq!(returns(&mut fleet, 60.0), Some(27.0));
    assert_eq!(returns(&mut fleet, 27.0), Some(27.0), "once set, it stays");
    assert_eq!(returns(&mut fleet, 20.0), None);
    // A profile may have it lower, and loses where it would have it higher.
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("RTL_RETURN_ALT", "22")])];
    assert_eq!(returns(&mut fleet, 60.0), Some(22.0));
    fleet.objects.profiles = vec![profile("p", "north", 1, &[("RTL_RETURN_ALT", "40")])];
    assert_eq!(returns(&mut fleet, 60.0), Some(27.0));
    let outcomes = fleet.look();
    let vehicles: Vec<_> = fleet.subjects.iter().zip(&outcomes).collect();
    let (status, _) = of_profile((0, &fleet.objects.profiles[0]), &vehicles, &[], Timestamp::UNIX_EPOCH);
    let force = status.conditions.iter().find(|c| c.type_ == "InForce").unwrap();
    assert!(
        force.message.contains("RTL_RETURN_ALT belongs to the Geofences"),
        "{}",
        force.message
    );
}

#[test]
fn an_unreadable_geofence_keeps_what_is_on_board_and_its_possible_vehicles_down() {
    let bad = |selector: serde_json::Value| {
        let object = serde_json::json!({
            "metadata": {"name": "night", "generation": 3},
            "spec": {"vehicleSelector": selector, "ceilingMeters": 30, "windows": [{"until": "9999-12-31T23:59:59Z"}]},
        });
        Arc::new(Fence::read(&serde_json::from_value(object).unwrap()))
    };
    let mut fleet = Fleet::of(&["a", "b"]);
    fleet.subjects[1].labels.clear();
    let good = geofence("site", "north", 200.0, 1);
    fleet.objects.fences = vec![Arc::clone(&good)];
    let before = fleet.settle()[0].send.clone().unwrap();
    fleet.objects.fences = vec![
        bad(serde_json::json!({"matchLabels": {"site": "north"}})),
        Arc::clone(&good),
    ];
    let outcomes = fleet.look();
    assert_eq!(outcomes[0].named, Some(RulesDigest(UNMADE.into())));
    assert!(outcomes[0].send.is_none(), "what is on board stays: {before:?}");
    assert_eq!(outcomes[1].named, None, "it does not select that one");
    let (_, _, conditions) = fleet.of_fence(&outcomes);
    assert_eq!(conditions[0], ("Compiled".into(), "False".into(), "Invalid".into()));
    let state = fence_on(&fleet.subjects[0], &outcomes[0]);
    assert!(
        matches!(&state, RuleState::Stuck(_, text) if text.contains("night: the object cannot be read")),
        "{state:?}"
    );
    fleet.objects.fences = vec![bad(serde_json::json!("all")), good];
    let outcomes = fleet.look();
    let unmade = Some(RulesDigest(UNMADE.into()));
    assert_eq!(
        [&outcomes[0].named, &outcomes[1].named],
        [&unmade, &unmade],
        "it may select any"
    );
}

#[test]
fn an_object_is_read_again_when_its_generation_changes_and_not_before() {
    use super::super::objects::Cache;
    let object = |generation| {
        let mut object = Geofence::new("a", GeofenceSpec::default());
        object.metadata.generation = Some(generation);
        Arc::new(object)
    };
    let reads = std::cell::Cell::new(0);
    let mut cache = Cache::default();
    let mut read = |objects: &[Arc<Geofence>]| {
        let all = cache.all(objects, |object| {
            reads.set(reads.get() + 1);
            object.metadata.generation
        });
        (all.into_iter().map(|value| *value).collect::<Vec<_>>(), reads.get())
    };
    assert_eq!(read(&[object(1)]), (vec![Some(1)], 1));
    assert_eq!(read(&[object(1)]), (vec![Some(1)], 1), "its status has changed");
    assert_eq!(read(&[object(2)]), (vec![Some(2)], 2));
    assert_eq!(read(&[]), (vec![], 2));
    assert_eq!(read(&[object(2)]), (vec![Some(2)], 3), "it is another");
}

/// The true state of one autopilot and of what its agent holds.
#[derive(Clone, Default)]
struct Truth {
    held: Option<Rules>,
    /// The set values, and the fence that was read back.
    values: BTreeMap<String, f64>,
    fence: Option<model::rules::Fence>,
    refuses: bool,
    flies: bool,
}

impl Truth {
    /// One step of its agent: it takes what it was sent, or changes one thing.
    fn step(&mut self, sent: Option<&Rules>) -> bool {
        if let Some(sent) = sent.filter(|sent| self.held.as_ref() != Some(*sent)) {
            self.held = Some(sent.clone());
            return true;
        }
        let Some(held) = self.held.as_ref().filter(|_| !self.flies) else {
            return false;
        };
        if self.fence != held.fence {
            self.fence.clone_from(&held.fence);
            return false;
        }
        let open = held
            .parameters
            .iter()
            .find(|p| self.values.get(&p.name) != Some(&p.value) && !self.refuses);
        if let Some(open) = open {
            self.values.insert(open.name.clone(), open.value);
        }
        false
    }

    fn report(&self) -> RulesReport {
        let Some(held) = &self.held else {
            return RulesReport::default();
        };
        let why = match (self.flies, self.refuses) {
            (true, _) => DeviationWhy::WaitsForGround,
            (false, true) => DeviationWhy::Refused("out of range".into()),
            (false, false) => DeviationWhy::Working,
        };
        let differs = held
            .parameters
            .iter()
            .filter(|p| self.values.get(&p.name) != Some(&p.value));
        let deviations: Vec<Deviation> = differs
            .map(|p| Deviation {
                name: p.name.clone(),
                wanted: p.value,
                actual: self.values.get(&p.name).copied(),
                why: why.clone(),
            })
            .collect();
        let fence = match (&held.fence, self.fence == held.fence) {
            (None, true) => FenceState::None,
            (Some(_), true) => FenceState::InForce,
            (_, false) if self.flies => FenceState::WaitsForGround,
            (_, false) => FenceState::Working,
        };
        RulesReport {
            held: Some(held.digest.clone()),
            parameters_in_force: u32::try_from(held.parameters.len() - deviations.len()).unwrap(),
            in_force: deviations.is_empty() && self.fence == held.fence,
            deviations,
            fence,
        }
    }

    fn changes(&self) -> bool {
        let own = ["GF_ACTION", "GF_MAX_HOR_DIST"];
        let differs =
            |p: &WantedParameter| !own.contains(&p.name.as_str()) && self.values.get(&p.name) != Some(&p.value);
        self.held
            .as_ref()
            .is_some_and(|held| held.parameters.iter().any(differs))
    }
}

/// Leaders are killed at random, and Vehicle objects lag behind.
#[test]
fn leaders_killed_at_random_in_200_uploads_claim_nothing_wrong_within_the_bound() {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    const MOST: usize = 3;
    let (mut uploads, mut kills, mut claims, mut seed) = (0, 0, 0, 0);
    while uploads < 200 {
        let mut rng = StdRng::seed_from_u64(seed);
        seed += 1;
        let names: Vec<String> = (0..40).map(|i| format!("v{i:02}")).collect();
        let mut fleet = Fleet::of(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let mut truths = vec![Truth::default(); 40];
        truths[3].flies = true;
        truths[17].flies = true;
        let most = i32::try_from(MOST).unwrap();
        let mut generation = 1;
        let wanted = |generation: i64| {
            let text = generation.to_string();
            profile(
                "p",
                "north",
                most,
                &[("MPC_XY_VEL_MAX", &text), ("MPC_Z_VEL_MAX_UP", &text)],
            )
        };
        fleet.objects.fences = vec![geofence("site", "north", 200.0, 1)];
        fleet.objects.profiles = vec![wanted(1)];
        for step in 0..400 {
            if step % 130 == 129 && step < 300 {
                generation += 1;
                fleet.objects.profiles = vec![wanted(generation)];
                fleet.objects.fences = vec![geofence("site", "north", 200.0 + f64::from(step), generation)];
            }
            if step == 300 {
                truths[3].flies = false;
                truths[17].flies = false;
            }
            if rng.random_bool(0.05) {
                kills += 1;
                fleet.memories = Memories::default();
            }
            for (i, truth) in truths.iter().enumerate() {
                let (report, flies) = (truth.report(), truth.flies);
                fleet.change(i, |of| {
                    of.rules = report;
                    of.truth = if flies {
                        FlightTruth::Airborne(Airborne::InAir)
                    } else {
                        FlightTruth::Disarmed
                    };
                });
            }
            let before = truths.iter().filter(|truth| truth.changes()).count();
            let outcomes = fleet.look();
            for (i, (outcome, truth)) in outcomes.iter().zip(&truths).enumerate() {
                let fence = fence_on(&fleet.subjects[i], outcome) == RuleState::InForce;
                let values = profile_on("p", &fleet.subjects[i], outcome) == RuleState::InForce;
                let named = &outcome.named;
                let is_named = truth.held.as_ref().map(|held| &held.digest) == named.as_ref();
                let fence_is = outcome.send.as_ref().is_some_and(|sent| truth.fence == sent.fence);
                assert!(
                    !fence || fence_is,
                    "seed {seed} step {step} {i}: a fence is claimed that is not on board"
                );
                assert!(
                    !values || (is_named && !truth.changes()),
                    "seed {seed} step {step} {i}: values are claimed"
                );
                claims += usize::from(fence) + usize::from(values);
            }
            for (i, outcome) in outcomes.iter().enumerate() {
                if rng.random_bool(0.3) {
                    write_down(&mut fleet, i, outcome);
                }
                if rng.random_bool(0.7) {
                    uploads += usize::from(truths[i].step(outcome.send.as_deref()));
                }
            }
            let after = truths.iter().filter(|truth| truth.changes()).count();
            assert!(
                after <= MOST.max(before),
                "seed {seed} step {step}: {after} are changed at once, {before} before"
            );
        }
        let is_done = |(truth, outcome): &(&Truth, Outcome)| {
            truth.report().in_force && truth.held.as_ref().map(|held| &held.digest) == outcome.named.as_ref()
        };
        let done = truths.iter().zip(fleet.look()).filter(is_done).count();
        assert_eq!(done, 40, "seed {seed}: in the end all have what is wanted");
    }
    println!("{uploads} sets of rules taken by agents, {kills} leaders killed, {claims} claims, none wrong");
}

/// Prints what a plan costs when nothing has changed, and the first one.
#[test]
fn a_look_over_a_thousand_vehicles_makes_nothing_anew_while_nothing_changes() {
    let names: Vec<String> = (0..1000).map(|i| format!("v{i:03}")).collect();
    let mut fleet = Fleet::of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    fleet.objects.fences = (0..5).map(|i| large("north", i)).collect();
    let values: Vec<(String, String)> = (0..40)
        .map(|i| (format!("EK3_TEST_P{i:02}"), "{{ 2 + 3 }}".to_owned()))
        .collect();
    let values: Vec<(&str, &str)> = values
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    fleet.objects.profiles = vec![profile("p", "north", 1000, &values)];
    let begun = std::time::Instant::now();
    let first = fleet.settle();
    let made = begun.elapsed();
    assert!(
        first.iter().all(|outcome| outcome.send.is_some()),
        "{:?}",
        first[0].fence
    );
    let pointers = |outcomes: &[Outcome]| {
        outcomes
            .iter()
            .map(|o| Arc::as_ptr(o.send.as_ref().unwrap()))
            .collect::<Vec<_>>()
    };
    let before = pointers(&fleet.look());
    let begun = std::time::Instant::now();
    // Homes drift by some centimeters.
    for i in 0..1000 {
        fleet.change(i, |report| {
            let home = report.home.as_mut().unwrap();
            home.at = model::geo::shifted(home.at, 0.05, 0.0);
        });
    }
    let after = fleet.look();
    let again = begun.elapsed();
    assert_eq!(pointers(&after), before, "nothing is made again");
    println!("1,000 vehicles, 5 Geofences of 360 vertices, 40 values: first look {made:?}, each after it {again:?}");
}

fn large(site: &str, number: i32) -> Arc<Fence> {
    let ring = |east: f64, north: f64, radius: f64, n: i32| Area {
        polygon: Some(
            (0..n)
                .map(|i| {
                    let angle = std::f64::consts::TAU * f64::from(i) / f64::from(n);
                    let at = model::geo::shifted(HOME, east + radius * angle.cos(), north + radius * angle.sin());
                    Point {
                        latitude_degrees: at.latitude_deg,
                        longitude_degrees: at.longitude_deg,
                    }
                })
                .collect(),
        ),
        circle: None,
    };
    let spec = GeofenceSpec {
        vehicle_selector: selector(site),
        include: vec![ring(f64::from(number) * 20.0, 0.0, 2000.0, 200)],
        exclude: (0..4)
            .map(|i| ring(f64::from(i) * 130.0 - 300.0, 900.0, 40.0, 40))
            .collect(),
        ..GeofenceSpec::default()
    };
    let mut object = Geofence::new(&format!("large-{number}"), spec);
    object.metadata.generation = Some(1);
    Arc::new(Fence::of(&object))
}

#[test]
fn rules_of_nothing_have_a_digest_too() {
    assert_ne!(compose(Term(1), None, Vec::new()).digest.0, UNMADE);
}
