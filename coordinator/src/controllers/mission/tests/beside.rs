//! Reading, planning and sharing the work of one Mission holds up no other.

use super::*;
use crds::MissionSpec;

/// A Mission whose route is long enough for so many vehicles that it is shared in the pool.
fn long() -> Mission {
    let mut mission = mission("survey", &[labels::DRONES_FINALIZER]);
    let waypoint = |number: u32| {
        let east = f64::from(number) * 1e-5;
        json!({"latitudeDegrees": 47.4, "longitudeDegrees": 8.5 + east, "altitudeMeters": 20.5})
    };
    let waypoints: Vec<Value> = (0..500).map(waypoint).collect();
    mission.spec = serde_json::from_value(json!({"route": {"waypoints": waypoints}, "parallelism": 50})).unwrap();
    mission
}

/// A Mission over a round field with so many corners that it is planned in the pool.
fn round() -> MissionSpec {
    let corner = |number: u32| {
        let (east, north) = (f64::from(number) / 40.0 * std::f64::consts::TAU).sin_cos();
        json!({"latitudeDegrees": 47.4 + 0.002 * north, "longitudeDegrees": 8.5 + 0.002 * east})
    };
    let polygon: Vec<Value> = (0..40).map(corner).collect();
    let survey = json!({"area": {"polygon": polygon}, "lineSpacingMeters": 20.0, "altitudeMeters": 30.0});
    serde_json::from_value(json!({"survey": survey, "suspend": true})).unwrap()
}

/// On the ground, so many degrees east of the beginning of the work, and fit to fly.
fn fit(report: &mut Report, east: f64) {
    let at = model::units::Wgs84 {
        latitude_deg: 47.4,
        longitude_deg: 8.5 + east,
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
}

fn reason(field: &Field) -> (String, String) {
    let said = &field.controller.memories["uid-survey"].written.conditions[0];
    (said.reason.clone(), said.message.clone())
}

#[tokio::test(start_paused = true)]
async fn work_that_takes_long_to_share_is_shared_beside_and_its_mission_says_so() {
    let mission = long();
    let none = PlanDigest("none".to_owned());
    let (mut field, drone) = in_the_air_with(&mission, &none, |report| fit(report, 0.0));
    field.controller.observer.rules.update(HashMap::new(), false);
    field.calls_after(Duration::ZERO).await;
    let parts = |field: &Field| field.controller.memories["uid-survey"].progress.parts.len();
    assert_eq!(parts(&field), 0, "it was shared on the task of the controller");
    let (why, says) = reason(&field);
    assert_eq!(why, "Planning");
    assert!(says.contains("how its work is shared is being planned"), "{says}");
    let planned = Arc::clone(&field.controller.pool.ready);
    planned.notified().await;
    // Its receiver wavers by a few centimeters meanwhile.
    let name = NodeName::parse("m").unwrap();
    let mut report = Report {
        link_alive: true,
        ..Report::of_nothing(name.clone())
    };
    fit(&mut report, 3e-7);
    let sessions = &field.controller.observer.sessions;
    let epoch = sessions.open(&name, 1).unwrap().epoch;
    sessions.report(&name, epoch, report);
    field.calls_after(Controller::INTERVAL).await;
    assert_eq!(parts(&field), 1, "{:?}", reason(&field));
    assert!(matches!(
        field.controller.observer.missions.plan(&drone),
        PlanOf::Some(_)
    ));
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_names_a_vehicle_on_a_long_part_the_same_plan_once_that_is_found() {
    let mut mission = long();
    let job = Job::of(&mission.spec, None).unwrap();
    let start = model::units::Wgs84 {
        latitude_deg: 47.4,
        longitude_deg: 8.5,
    };
    let all = job.work.whole();
    let digest = PlanDigest::of(&job.work.flight(&all, start, Meters(0.0)).unwrap().items);
    let part = crds::mission::PartStatus {
        drone: "m".into(),
        ranges: work::ranges(&all),
        start: work::corner(start),
        plan: Some(crds::mission::PlanStatus {
            digest: digest.0.clone(),
            raised_meters: 0.0,
        }),
        ..crds::mission::PartStatus::default()
    };
    mission.status = Some(MissionStatus {
        work: Some(job.digest.to_string()),
        parts: vec![part],
        ..MissionStatus::default()
    });
    let (mut field, drone) = in_the_air(&mission, &digest);
    field.controller.observer.rules.update(HashMap::new(), false);
    let calls = field.calls_after(Duration::ZERO).await;
    assert!(!calls.iter().any(|call| call.starts_with("DELETE")), "{calls:?}");
    assert_eq!(
        field.controller.observer.missions.plan(&drone),
        PlanOf::Unknown,
        "it would be stopped until its plan is found"
    );
    let planned = Arc::clone(&field.controller.pool.ready);
    planned.notified().await;
    field.calls_after(Controller::INTERVAL).await;
    match field.controller.observer.missions.plan(&drone) {
        PlanOf::Some(named) => assert_eq!(named.digest, digest),
        other => panic!("{other:?}"),
    }
    let memory = &field.controller.memories["uid-survey"];
    assert_eq!((memory.progress.parts.len(), memory.progress.failures), (1, 0));
    assert_eq!(memory.written.work, Some(job.digest.to_string()));
}

#[tokio::test(start_paused = true)]
async fn a_mission_suspended_before_it_is_planned_has_its_drones_come_home_at_once() {
    let mut mission = mission("survey", &[labels::DRONES_FINALIZER]);
    mission.spec = round();
    let (mut field, _) = in_the_air(&mission, &PlanDigest("none".to_owned()));
    let calls = field.calls_after(Duration::ZERO).await;
    assert!(calls.contains(&format!("DELETE {DRONES}/m")), "{calls:?}");
}

fn with_file() -> Mission {
    let mut mission = mission("a", &[labels::DRONES_FINALIZER]);
    let from = json!({"planFrom": {"configMapKeyRef": {"name": "files", "key": "plan"}}});
    mission.spec = serde_json::from_value(from).unwrap();
    mission
}

#[tokio::test(start_paused = true)]
async fn no_other_mission_waits_for_the_file_of_one_and_what_is_wrong_with_it_is_said() {
    let takes = Duration::from_secs(1);
    let mut other = mission("b", &[]);
    other.metadata.namespace = Some("south".to_owned());
    let mut field = Field::new(&[with_file(), other], takes);
    let begun = Instant::now();
    let calls = field.calls_after(Duration::ZERO).await;
    let served = "PATCH /apis/skein.dev/v1alpha1/namespaces/south/missions/b";
    assert!(calls.contains(&served.to_owned()), "{calls:?}");
    // The status of Mission a, and the finalizer of Mission b, side by side.
    assert_eq!(begun.elapsed(), takes);
    field.calls_after(Controller::INTERVAL).await;
    let said = &field.controller.memories["uid-a"].written.conditions[0];
    assert_eq!(said.reason, "BadWork");
    assert!(
        said.message.contains("key plan of ConfigMap files is not there"),
        "{}",
        said.message
    );
}

#[tokio::test(start_paused = true)]
async fn a_namespace_with_hundreds_of_waiting_drones_gets_no_more_and_says_so() {
    let full = mission("full", &[labels::DRONES_FINALIZER]);
    let more = mission("survey", &[labels::DRONES_FINALIZER]);
    let mut south = mission("south", &[labels::DRONES_FINALIZER]);
    south.metadata.namespace = Some("south".to_owned());
    let mut field = Field::new(&[full.clone(), more, south], Duration::ZERO);
    let observer = &field.controller.observer;
    for number in 0..fleet::planning::mission::priority::MAX_WAITING_DRONES {
        let mut drone = build(&full, &format!("d{number}"), 20.0);
        drone.metadata.uid = Some(format!("uid-d{number}"));
        observer
            .world()
            .drone(crate::cluster::world::Change::Is(Arc::new(drone)));
    }
    let calls = field.calls_after(Duration::ZERO).await;
    assert!(!calls.contains(&format!("POST {DRONES}")), "{calls:?}");
    assert!(
        calls.contains(&"POST /apis/skein.dev/v1alpha1/namespaces/south/drones".to_owned()),
        "{calls:?}"
    );
    let (why, says) = reason(&field);
    assert_eq!(why, "Waiting");
    assert!(says.contains("500 Drones of Missions of its namespace wait"), "{says}");
}

#[tokio::test(start_paused = true)]
async fn a_mission_at_the_quota_of_its_namespace_says_so_asks_ever_more_rarely_and_goes_on_once_it_is_raised() {
    let mut refused = mission("survey", &[labels::DRONES_FINALIZER]);
    refused.spec.parallelism = 20;
    let mut field = Field::new(&[refused], Duration::ZERO);
    field.is_at_quota.store(true, Ordering::Relaxed);
    let asked = async |field: &mut Field, seconds: u32| {
        field.calls.lock().unwrap().clear();
        for _ in 0..seconds {
            let state = &field.controller.observer.leadership.state;
            state.confirm(state.now());
            field.calls_after(Duration::from_secs(1)).await;
        }
        let calls = field.calls.lock().unwrap();
        calls.iter().filter(|call| **call == format!("POST {DRONES}")).count()
    };
    let first = asked(&mut field, 1).await;
    assert!((1..=8).contains(&first), "{first} Drones at once");
    let later = asked(&mut field, 300).await;
    assert!((10..=30).contains(&later), "{later} in five minutes");
    let (why, says) = reason(&field);
    assert_eq!(why, "Refused");
    assert!(
        says.contains("0 percent is flown; cannot create a Drone: exceeded quota: small,"),
        "{says}"
    );
    field.is_at_quota.store(false, Ordering::Relaxed);
    assert!(asked(&mut field, 35).await > 0, "it goes on by itself");
    assert_eq!(reason(&field).0, "Waiting");
}
