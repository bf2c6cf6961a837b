//! What the Mission controller sends to an API server that takes its time.

use super::*;
use crate::controllers::facts::tests::observer;
use fleet::planning::freshness::Knowledge;
use http::{Request, Response};
use kube::client::Body;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Mutex;
use tower::service_fn;

const MISSIONS: &str = "/apis/skein.dev/v1alpha1/namespaces/north/missions";
const DRONES: &str = "/apis/skein.dev/v1alpha1/namespaces/north/drones";

/// The controller of a leader, and the calls that it has made.
struct Field {
    controller: Controller,
    calls: Arc<Mutex<Vec<String>>>,
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
    /// With these Missions, and an API server that takes so long for each answer. The Lease is renewed now.
    fn new(missions: &[Mission], takes: Duration) -> Self {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let made = Arc::clone(&calls);
        let service = service_fn(move |request: Request<Body>| {
            let made = Arc::clone(&made);
            async move {
                let (parts, body) = request.into_parts();
                let path = parts.uri.path().to_owned();
                made.lock().unwrap().push(format!("{} {path}", parts.method));
                let body = body.collect_bytes().await.unwrap();
                let written: Value = serde_json::from_slice(&body).unwrap();
                tokio::time::sleep(takes).await;
                let kind = if path.starts_with(DRONES) { "Drone" } else { "Mission" };
                let answer = json!({
                    "apiVersion": "skein.dev/v1alpha1", "kind": kind,
                    "metadata": {"name": "a", "uid": "uid-of-answer"}, "spec": {}, "status": written["status"],
                });
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
        };
        Self { controller, calls }
    }

    /// What is called for when all Missions are reconciled once, so long after the Lease was renewed last.
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
