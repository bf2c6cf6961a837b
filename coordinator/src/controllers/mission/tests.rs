//! The calls of the Mission controller to an API server that takes its time.

mod beside;

use super::*;
use crate::controllers::facts::tests::{bound, for_a_mission, holding, node, observer};
use crate::controllers::plans::PlanOf;
use crds::Drone;
use crds::mission::MissionStatus;
use fleet::planning::freshness::Knowledge;
use fleet::planning::leadership::{ACT_FOR, LASTS};
use fleet::planning::mission::Stretches;
use fleet::planning::mission::progress::{Doing, Observed};
use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use model::ids::NodeName;
use model::plan::PlanDigest;
use model::report::Report;
use model::units::Meters;
use model::vehicle::FlightTruth;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::time::timeout;
use tower::service_fn;

const MISSIONS: &str = "/apis/skein.dev/v1alpha1/namespaces/north/missions";
const DRONES: &str = "/apis/skein.dev/v1alpha1/namespaces/north/drones";

/// The controller of a leader, and the calls that it has made.
struct Field {
    controller: Controller,
    calls: Arc<Mutex<Vec<String>>>,
    /// Its API server allows no more Drones.
    is_at_quota: Arc<AtomicBool>,
}

/// A Mission that asks for one vehicle.
fn mission(name: &str, finalizers: &[&str]) -> Mission {
    let waypoint = |east: f64| json!({"latitudeDegrees": 47.4, "longitudeDegrees": 8.5 + east, "altitudeMeters": 20.5});
    let mission = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Mission",
        "metadata": {
            "name": name, "namespace": "north", "uid": format!("uid-{name}"), "resourceVersion": "1", "generation": 1,
            "finalizers": finalizers,
        },
        "spec": {"route": {"waypoints": [waypoint(0.0), waypoint(0.001)]}},
    });
    serde_json::from_value(mission).unwrap()
}

impl Field {
    /// With an API server that takes `takes` for each answer. The Lease is renewed now.
    fn new(missions: &[Mission], takes: Duration) -> Self {
        Self::with(missions, move |_: &str| takes)
    }

    /// `takes` is by the path of a call.
    fn with(missions: &[Mission], takes: impl Fn(&str) -> Duration + Clone + Send + 'static) -> Self {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let (made, is_at_quota) = (Arc::clone(&calls), Arc::new(AtomicBool::new(false)));
        let refuses = Arc::clone(&is_at_quota);
        let service = service_fn(move |request: Request<Body>| {
            let (made, takes, refuses) = (Arc::clone(&made), takes.clone(), Arc::clone(&refuses));
            async move {
                let (parts, body) = request.into_parts();
                let path = parts.uri.path().to_owned();
                made.lock().unwrap().push(format!("{} {path}", parts.method));
                let body = body.collect_bytes().await.unwrap();
                let written: Value = serde_json::from_slice(&body).unwrap_or_default();
                tokio::time::sleep(takes(&path)).await;
                if parts.method == Method::POST && path == DRONES && refuses.load(Ordering::Relaxed) {
                    let refusal = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
                        "message": "drones.skein.dev \"a\" is forbidden: exceeded quota: small, limited: count/drones.skein.dev=0"});
                    let mut answer = Response::new(Body::from(refusal.to_string().into_bytes()));
                    *answer.status_mut() = StatusCode::FORBIDDEN;
                    return Ok(answer);
                }
                let kind = if path.starts_with(DRONES) { "Drone" } else { "Mission" };
                let answer = json!({
                    "apiVersion": "skein.dev/v1alpha1", "kind": kind,
                    "metadata": {"name": "a", "uid": "uid-of-answer"}, "spec": {}, "status": written["status"],
                });
                let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "files"}});
                let answer = if path.contains("/configmaps/") { map } else { answer };
                Ok::<_, Infallible>(Response::new(Body::from(answer.to_string().into_bytes())))
            }
        });
        let observer = observer(kube::Client::new(service, "north"));
        let state = &observer.leadership.state;
        state.knows(Knowledge::Current);
        state.confirm(state.now());
        let mut writer = Writer::<Mission>::default();
        for mission in missions {
            writer.apply_watcher_event(&watcher::Event::Apply(mission.clone()));
        }
        let controller = Controller {
            observer,
            missions: writer.as_reader(),
            expectations: Expectations::default(),
            memories: HashMap::new(),
            failures: Failures::default(),
            pool: Pool::default(),
            reader: Mutex::default(),
            rounds: Mutex::default(),
        };
        Self {
            controller,
            calls,
            is_at_quota,
        }
    }

    /// The calls of one round, so long after the Lease was renewed last.
    async fn calls_after(&mut self, renewed: Duration) -> Vec<String> {
        tokio::time::advance(renewed).await;
        self.controller.reconcile_all().await;
        self.calls.lock().unwrap().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_begun_for_another_mission_once_the_leader_may_act_no_more() {
    let missions = [mission("a", &[]), mission("b", &[])];
    let set = |name: &str| format!("PATCH {MISSIONS}/{name}");
    let late = ACT_FOR - Duration::from_secs(1);
    let mut quick = Field::new(&missions, Duration::ZERO);
    assert_eq!(quick.calls_after(late).await, [set("a"), set("b")]);
    let begun = Instant::now();
    let mut slow = Field::new(&missions, Duration::from_secs(8));
    assert_eq!(slow.calls_after(late).await, [set("a")]);
    assert!(begun.elapsed() < LASTS, "another may lead by then");
}

#[tokio::test(start_paused = true)]
async fn what_the_calls_for_one_namespace_take_keeps_no_other_waiting() {
    let takes = Duration::from_millis(400);
    let missions: Vec<Mission> = (0..10)
        .map(|number| {
            let mut mission = mission("a", &[]);
            mission.metadata.namespace = Some(format!("n{number}"));
            mission.metadata.uid = Some(format!("uid-{number}"));
            mission
        })
        .collect();
    let begun = Instant::now();
    let calls = Field::new(&missions, takes).calls_after(Duration::ZERO).await;
    assert_eq!(calls.len(), missions.len());
    assert!(begun.elapsed() < 2 * takes, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn drones_that_are_made_in_vain_come_ever_more_slowly_until_one_begins_its_work() {
    let mut memory = Memory::of(&mission("a", &[]));
    let begin = Instant::now();
    let mut made = 0;
    for second in 0..600 {
        let now = begin + Duration::from_secs(second);
        if !memory.rests(&[], 1, now) {
            memory.made = (memory.made.0 + 1, Some(now));
            made += 1;
        }
    }
    assert!((5..25).contains(&made), "{made} Drones in ten minutes");
    let works = Observed {
        drone: "a".to_owned(),
        node: None,
        leaving: false,
        doing: Doing::Busy,
        flown: Stretches::default(),
        underway: Stretches::default(),
        begun: true,
        passed_beside: None,
    };
    assert!(!memory.rests(&[works], 1, begin + Duration::from_secs(600)));
}

#[tokio::test(start_paused = true)]
async fn no_drone_is_made_for_a_mission_whose_status_took_longer_than_the_leader_may_act() {
    let missions = [mission("a", &[labels::DRONES_FINALIZER])];
    let (written, made) = (format!("PATCH {MISSIONS}/a/status"), format!("POST {DRONES}"));
    let takes = Duration::from_secs(2);
    let acted_on = |field: &Field| field.controller.memories["uid-a"].acted_on;
    let mut early = Field::new(&missions, takes);
    assert_eq!(early.calls_after(Duration::ZERO).await, [written.clone(), made]);
    assert_eq!(acted_on(&early), Some(1));
    let mut late = Field::new(&missions, takes);
    assert_eq!(late.calls_after(ACT_FOR - Duration::from_secs(1)).await, [written]);
    assert_eq!(acted_on(&late), None);
}

/// Mission `survey`, begun with layers of 10 m and edited to this step since. Drone `m` has all of it, in the second layer.
fn begun(step: f64, written: bool) -> (Mission, PlanDigest) {
    let mut mission = mission("survey", &[labels::DRONES_FINALIZER]);
    mission.spec.altitude_step_meters = step;
    mission.spec.parallelism = 2;
    let job = Job::of(&mission.spec, None).unwrap();
    let start = model::units::Wgs84 {
        latitude_deg: 47.4,
        longitude_deg: 8.5,
    };
    let all = job.work.whole();
    let flight = job.work.flight(&all, start, Meters(10.0)).unwrap();
    let digest = PlanDigest::of(&flight.items);
    let part = crds::mission::PartStatus {
        drone: "m".into(),
        ranges: work::ranges(&all),
        start: work::corner(start),
        layer: 1,
        plan: written.then(|| crds::mission::PlanStatus {
            digest: digest.0.clone(),
            raised_meters: 10.0,
        }),
        ..crds::mission::PartStatus::default()
    };
    mission.status = Some(MissionStatus {
        work: Some(job.digest.to_string()),
        parts: vec![part],
        ..MissionStatus::default()
    });
    (mission, digest)
}

/// The vehicle of Drone `m` flies the plan `digest` for this Mission.
fn in_the_air(mission: &Mission, digest: &PlanDigest) -> (Field, Arc<Drone>) {
    in_the_air_with(mission, digest, |_| {})
}

fn in_the_air_with(mission: &Mission, digest: &PlanDigest, change: impl FnOnce(&mut Report)) -> (Field, Arc<Drone>) {
    let field = Field::new(std::slice::from_ref(mission), Duration::ZERO);
    let drone = fly(&field, digest, change);
    (field, drone)
}

fn fly(field: &Field, digest: &PlanDigest, change: impl FnOnce(&mut Report)) -> Arc<Drone> {
    let observer = &field.controller.observer;
    node(observer, "m", false);
    let drone = bound(observer, "m", for_a_mission);
    let name = NodeName::parse("m").unwrap();
    let epoch = observer.sessions.open(&name, 1).unwrap().epoch;
    let mut report = Report {
        link_alive: true,
        truth: FlightTruth::Airborne(model::vehicle::Airborne::InAir),
        plan: model::plan::PlanReport {
            held: Some(digest.clone()),
            state: model::plan::PlanState::Ready,
            flying: true,
            ..model::plan::PlanReport::default()
        },
        ..Report::of_nothing(name.clone())
    };
    change(&mut report);
    observer.sessions.report(&name, epoch, report);
    drone
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_named_when_its_namespace_is_done_though_another_takes_longer() {
    let (survey, digest) = begun(0.0, true);
    let mut other = mission("a", &[]);
    other.metadata.namespace = Some("south".to_owned());
    let takes = |path: &str| Duration::from_secs(if path.contains("/namespaces/south/") { 5 } else { 0 });
    let mut field = Field::with(&[survey, other], takes);
    let drone = fly(&field, &digest, |_| {});
    let missions = Arc::clone(&field.controller.observer.missions);
    let round = timeout(Duration::from_secs(1), field.controller.reconcile_all()).await;
    assert!(round.is_err(), "a call for the other is under way");
    let named = missions.plan(&drone);
    assert!(
        matches!(&named, PlanOf::Some(planned) if planned.digest == digest),
        "{named:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_names_a_flying_vehicle_its_written_plan_though_layers_were_edited() {
    let (mission, digest) = begun(0.0, true);
    let (mut field, drone) = in_the_air(&mission, &digest);
    field.calls_after(Duration::ZERO).await;
    let named = match field.controller.observer.missions.plan(&drone) {
        PlanOf::Some(planned) => planned.digest.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(named, digest);
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_counts_what_a_vehicle_has_flown_before_it_judges_it() {
    let (mission, digest) = begun(10.0, true);
    let all = Job::of(&mission.spec, None).unwrap().work.whole();
    for (reached, finished) in [(2, false), (u16::MAX, true)] {
        let (mut field, _) = in_the_air_with(&mission, &digest, |report| {
            report.held = Some(model::assignment::Held {
                generation: 1,
                ..holding("uid-m")
            });
            report.battery = Some(model::vehicle::Battery {
                remaining: model::units::Percent::new(24),
                voltage: None,
                charge: model::vehicle::Charge::Fine,
            });
            report.plan.reached = model::plan::Reached::of([(0, reached)]);
            report.plan.finished = finished;
        });
        field.calls_after(Duration::ZERO).await;
        let progress = &field.controller.memories["uid-survey"].progress;
        assert_eq!(progress.failures, 0, "near its reserve, after it has flown");
        assert!(!progress.flown.is_empty(), "{progress:?}");
        assert!(!finished || progress.all_flown() == all, "{progress:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_part_is_given_before_it_is_known_where_the_vehicle_may_fly() {
    let mission = mission("survey", &[labels::DRONES_FINALIZER]);
    let (mut field, _) = in_the_air_with(&mission, &PlanDigest("none".to_owned()), |report| {
        let at = model::units::Wgs84 {
            latitude_deg: 47.4,
            longitude_deg: 8.5,
        };
        let amsl = model::units::AltitudeAmsl(488.0);
        report.truth = FlightTruth::Disarmed;
        report.ready = Some(true);
        report.plan = model::plan::PlanReport::default();
        report.home = Some(model::route_order::Waypoint { at, amsl });
        report.position = Some(model::vehicle::Position {
            at,
            amsl,
            above_home: model::units::AltitudeAboveHome(0.0),
        });
    });
    let parts = |field: &Field| field.controller.memories["uid-survey"].progress.parts.len();
    field.calls_after(Duration::ZERO).await;
    assert_eq!(parts(&field), 0);
    field.controller.observer.rules.update(HashMap::new(), false);
    field.calls_after(Controller::INTERVAL).await;
    assert_eq!(parts(&field), 1);
}

#[tokio::test(start_paused = true)]
async fn a_flying_vehicle_whose_plan_cannot_be_made_again_comes_home_and_gets_no_other() {
    let (mission, digest) = begun(0.0, false);
    let (mut field, drone) = in_the_air(&mission, &digest);
    field.calls_after(Duration::ZERO).await;
    assert_eq!(field.controller.observer.missions.plan(&drone), PlanOf::None);
    let calls = field.calls_after(Controller::INTERVAL).await;
    assert!(calls.contains(&format!("DELETE {DRONES}/m")), "{calls:?}");
    assert_eq!(field.controller.observer.missions.plan(&drone), PlanOf::None);
}

#[tokio::test(start_paused = true)]
async fn a_drone_of_another_namespace_that_names_a_mission_as_its_owner_has_no_part_of_it() {
    let (mission, digest) = begun(10.0, true);
    let (mut field, _) = in_the_air(&mission, &digest);
    let foreign = bound(&field.controller.observer, "m", |drone| {
        for_a_mission(drone);
        drone.metadata.namespace = Some("south".into());
        drone.metadata.uid = Some("uid-foreign".into());
    });
    field.calls_after(Duration::ZERO).await;
    assert_eq!(field.controller.observer.missions.plan(&foreign), PlanOf::None);
}

/// Mission `survey` over a triangle, partly flown along lines that an earlier version planned. Drone `m` has the rest.
fn planned_otherwise() -> (Mission, PlanDigest) {
    let (mut mission, digest) = begun(10.0, true);
    let corner = |east: f64, north: f64| json!({"latitudeDegrees": 47.4 + north, "longitudeDegrees": 8.5 + east});
    let polygon = [corner(0.0, 0.0), corner(0.001, 0.0), corner(0.001, 0.001)];
    let survey = json!({"area": {"polygon": polygon}, "lineSpacingMeters": 20.0, "altitudeMeters": 30.0});
    mission.spec.route = None;
    mission.spec.survey = serde_json::from_value(survey).unwrap();
    let work = Job::of(&mission.spec, None).unwrap().digest;
    let status = mission.status.as_mut().unwrap();
    status.work = Some(work.asked_for);
    status.flown = vec![crds::mission::TrackRange { from: 0.0, to: 0.5 }];
    status.observed_generation = Some(1);
    (mission, digest)
}

#[tokio::test(start_paused = true)]
async fn a_survey_planned_otherwise_than_begun_flies_no_other_ground_and_says_what_to_do() {
    let (mission, digest) = planned_otherwise();
    let (mut field, drone) = in_the_air(&mission, &digest);
    let calls = field.calls_after(Duration::ZERO).await;
    assert_eq!(field.controller.observer.missions.plan(&drone), PlanOf::None);
    assert!(calls.contains(&format!("DELETE {DRONES}/m")), "{calls:?}");
    let written = &field.controller.memories["uid-survey"].written;
    let before = mission.status.unwrap();
    assert_eq!((&written.work, &written.flown), (&before.work, &before.flown));
    let said = &written.conditions[0];
    assert_eq!(said.reason, "BadWork");
    assert!(said.message.contains("create another Mission"), "{}", said.message);
}

#[tokio::test(start_paused = true)]
async fn an_ended_survey_stays_as_written_though_it_would_be_planned_otherwise_now() {
    let (mut mission, _) = planned_otherwise();
    let status = mission.status.as_mut().unwrap();
    status.parts.clear();
    status.completion_time = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
        Timestamp::UNIX_EPOCH,
    ));
    mission.metadata.generation = Some(2);
    let mut field = Field::new(&[mission], Duration::ZERO);
    assert_eq!(field.calls_after(Duration::ZERO).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_mission_waits_for_a_higher_priority_only_in_its_namespace_and_with_a_vehicle() {
    // A namespace, and a label that some node has, or none.
    let all = [
        ("north", labels::DRONE_NODE, true),
        ("south", labels::DRONE_NODE, false),
        ("north", "site", false),
    ];
    for (namespace, label, waits) in all {
        let mut high = mission("high", &[labels::DRONES_FINALIZER]);
        high.metadata.namespace = Some(namespace.to_owned());
        high.spec.priority = 1;
        high.spec.node_selector = BTreeMap::from([(label.to_owned(), String::new())]);
        let mut drone = build(&high, "waiting", 20.0);
        drone.metadata.uid = Some("uid-waiting".to_owned());
        let low = mission("low", &[labels::DRONES_FINALIZER]);
        let mut field = Field::new(&[high, low], Duration::ZERO);
        let observer = &field.controller.observer;
        node(observer, "m", false);
        observer
            .world()
            .drone(crate::cluster::world::Change::Is(Arc::new(drone)));
        let made = field
            .calls_after(Duration::ZERO)
            .await
            .contains(&format!("POST {DRONES}"));
        assert_eq!(made, !waits, "{namespace} {label}");
        let said = &field.controller.memories["uid-low"].written.conditions[0].message;
        let first = "0 percent is flown; it waits for Mission high, whose priority is higher";
        assert_eq!(said == first, waits, "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn drones_of_no_mission_are_not_gone_through_for_those_that_there_are() {
    let mut field = Field::new(&[mission("a", &[labels::DRONES_FINALIZER])], Duration::ZERO);
    let observer = &field.controller.observer;
    for name in ["n1", "n2"] {
        node(observer, name, false);
        bound(observer, name, |_| {});
    }
    for _ in 0..3 {
        field.calls_after(Controller::INTERVAL).await;
    }
    let walks = &field.controller.observer.world().walks;
    assert_eq!(walks.load(std::sync::atomic::Ordering::Relaxed), 0);
}
