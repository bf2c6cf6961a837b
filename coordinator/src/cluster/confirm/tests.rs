//! What a takeoff rests on, as the API server has it and as it is known here.

use super::*;
use crate::cluster::world::{Wakes, World};
use crate::metrics::Metrics;
use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::watch;
use tower::service_fn;

const DRONES: &str = "/apis/skein.dev/v1alpha1/namespaces/north/drones/d";
const NODES: &str = "/api/v1/nodes/n";
const ORDERS: &str = "/apis/skein.dev/v1alpha1/groundorders";
const FENCES: &str = "/apis/skein.dev/v1alpha1/geofences";
const PROFILES: &str = "/apis/skein.dev/v1alpha1/parameterprofiles";
const MISSIONS: &str = "/apis/skein.dev/v1alpha1/namespaces/north/missions";

/// An API server of a few answers, and the coordinator's caches.
struct Field {
    answers: Arc<Mutex<BTreeMap<&'static str, Value>>>,
    /// While true, its answers are made but do not arrive.
    slow: watch::Sender<bool>,
    cluster: Cluster,
    drone: Drone,
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items})
}

fn object(uid: &str, generation: i64) -> Value {
    json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
        "metadata": {"name": uid, "uid": uid, "generation": generation},
    })
}

impl Field {
    /// With a Drone that `controller` controls, on node `n`.
    fn new(controller: Option<&str>) -> Self {
        let owner = |kind: &str| json!({"apiVersion": "skein.dev/v1alpha1", "kind": kind, "name": "m", "uid": "m", "controller": true});
        let owners: Vec<Value> = controller.map(owner).into_iter().collect();
        let drone = json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Drone",
            "metadata": {"name": "d", "namespace": "north", "uid": "d", "resourceVersion": "1", "ownerReferences": owners},
            "spec": {"nodeName": "n"},
        });
        let node = json!({"metadata": {"name": "n", "labels": {labels::DRONE_NODE: ""}}});
        let nothing = || list(&[]);
        let answers = BTreeMap::from([
            (DRONES, drone.clone()),
            (NODES, node),
            (ORDERS, nothing()),
            (FENCES, nothing()),
            (MISSIONS, list(&[object("m", 3)])),
        ]);
        let answers = Arc::new(Mutex::new(answers));
        let (known, slow) = (Arc::clone(&answers), watch::Sender::new(false));
        let held = slow.clone();
        let service = service_fn(move |request: Request<Body>| {
            let found = known.lock().unwrap().get(request.uri().path()).cloned();
            let code = if found.is_some() { 200 } else { 404 };
            let missing =
                || json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": ""});
            let body = serde_json::to_vec(&found.unwrap_or_else(missing)).unwrap();
            let answer = Response::builder().status(code).body(Body::from(body)).unwrap();
            let mut held = held.subscribe();
            async move {
                held.wait_for(|held| !held).await.unwrap();
                Ok::<_, Infallible>(answer)
            }
        });
        let world = Arc::new(World::new(Wakes::default()));
        let client = kube::Client::new(service, "default");
        let (cluster, _) = Cluster::new(client, "here", world, Metrics::default());
        Self {
            answers,
            slow,
            cluster,
            drone: serde_json::from_value(drone).unwrap(),
        }
    }

    fn has(&self, path: &'static str, objects: &[Value]) {
        self.answers.lock().unwrap().insert(path, list(objects));
    }

    async fn confirms(&self) -> bool {
        tokio::time::advance(CONFIRMED_FOR).await;
        let node = NodeName::parse("n").unwrap();
        assert!(!holds(&self.cluster, &self.drone, &node), "what it said before is old");
        let there = takeoff(&self.cluster, &self.drone, &node).await.unwrap();
        assert_eq!(holds(&self.cluster, &self.drone, &node), there);
        there
    }

    fn acts_on(&self, by: &'static str, uid: &str, generation: i64) {
        self.cluster
            .acted_on
            .put(by, [(uid.to_owned(), generation)].into_iter());
    }
}

#[tokio::test(start_paused = true)]
async fn a_takeoff_waits_for_a_geofence_of_the_api_server_that_is_not_acted_on_here() {
    let field = Field::new(None);
    assert!(
        field.confirms().await,
        "there are none, and ParameterProfiles are not installed"
    );
    field.has(FENCES, &[object("f", 1)]);
    assert!(!field.confirms().await, "its watch has died");
    field.acts_on("rules", "f", 1);
    assert!(field.confirms().await);
    field.has(FENCES, &[object("f", 2)]);
    assert!(!field.confirms().await, "it was changed");
    field.acts_on("rules", "f", 3);
    assert!(field.confirms().await, "the watch is ahead of the list");
    field.has(PROFILES, &[object("p", 1)]);
    assert!(!field.confirms().await);
}

#[tokio::test(start_paused = true)]
async fn a_takeoff_for_a_mission_waits_for_a_change_of_it_that_is_not_acted_on_here() {
    let field = Field::new(Some("Mission"));
    field.acts_on("missions", "m", 2);
    assert!(!field.confirms().await, "it was suspended just now");
    field.acts_on("missions", "m", 3);
    assert!(field.confirms().await);
    field.has(MISSIONS, &[object("another", 3)]);
    assert!(!field.confirms().await, "it is gone");
    field.has(MISSIONS, &[]);
    assert!(!field.confirms().await);
}

#[tokio::test(start_paused = true)]
async fn an_order_released_during_the_answer_stays_released_and_a_given_one_is_in_force() {
    let field = Field::new(None);
    let order = |uid: &str| {
        json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "GroundOrder",
            "metadata": {"name": uid, "uid": uid, "resourceVersion": "5"}, "spec": {"scope": "All"},
        })
    };
    let world = &field.cluster.world;
    let released = serde_json::from_value(order("released")).unwrap();
    world.ground_order(Change::Is(Arc::new(released)));
    field.has(ORDERS, &[order("released"), order("given")]);
    field.slow.send_replace(true);
    let node = NodeName::parse("n").unwrap();
    let meanwhile = async {
        // The API server has answered by then, and nothing has arrived.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(world.ground_orders().len(), 1);
        world.ground_order(Change::Gone(Key::new("", "released")));
        field.slow.send_replace(false);
    };
    let (there, ()) = tokio::join!(takeoff(&field.cluster, &field.drone, &node), meanwhile);
    assert!(there.unwrap());
    let orders = world.ground_orders();
    let names: Vec<&str> = orders.iter().map(|order| order.name()).collect();
    assert_eq!(names, ["given"]);
}
