//! Statuses of objects that change, go, and come again meanwhile.

use super::*;
use crds::{Drone, DroneSpec};
use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Stored {
    uid: &'static str,
    version: u32,
    phase: Option<String>,
    /// Times that somebody else changes it before a write of a status.
    changes: u32,
    patches: u32,
}

fn answer(code: StatusCode, body: &Value) -> Response<Body> {
    let mut answer = Response::new(Body::from(body.to_string().into_bytes()));
    *answer.status_mut() = code;
    answer
}

impl Stored {
    fn metadata(&self) -> Value {
        json!({"name": "a", "namespace": "field", "uid": self.uid, "resourceVersion": self.version.to_string()})
    }

    /// As a real API server answers; `tests/tests/api` compares.
    fn patch(&mut self, patch: &Value) -> Response<Body> {
        self.patches += 1;
        if self.changes > 0 {
            self.changes -= 1;
            self.version += 1;
        }
        if patch["metadata"]["resourceVersion"] != self.metadata()["resourceVersion"] {
            let refusal = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409,
                "message": "the object has been modified"});
            return answer(StatusCode::CONFLICT, &refusal);
        }
        self.version += 1;
        self.phase = patch["status"]["phase"].as_str().map(str::to_owned);
        let written = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": self.metadata(), "spec": {},
            "status": patch["status"]});
        answer(StatusCode::OK, &written)
    }

    fn list(&self) -> Response<Body> {
        let items: Vec<Value> = (!self.uid.is_empty())
            .then(|| json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": self.metadata()}))
            .into_iter()
            .collect();
        let list = json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "items": items});
        answer(StatusCode::OK, &list)
    }
}

/// Writes the status of the Drone with uid `u-1`, as it was in version 7, to a server that has `stored`.
async fn written(stored: Stored) -> (Result<Drone, ApiError>, Stored) {
    written_while(stored, || true).await
}

async fn written_while(stored: Stored, acts: impl Fn() -> bool) -> (Result<Drone, ApiError>, Stored) {
    let stored = Arc::new(Mutex::new(stored));
    let shared = Arc::clone(&stored);
    let service = tower::service_fn(move |request: Request<Body>| {
        let shared = Arc::clone(&shared);
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await.unwrap();
            let mut stored = shared.lock().unwrap();
            Ok::<_, Infallible>(match parts.method {
                Method::PATCH => stored.patch(&serde_json::from_slice(&body).unwrap()),
                _ => stored.list(),
            })
        }
    });
    let api = Api::<Drone>::namespaced(kube::Client::new(service, "field"), "field");
    let mut drone = Drone::new("a", DroneSpec::default());
    drone.metadata.uid = Some("u-1".to_owned());
    drone.metadata.resource_version = Some("7".to_owned());
    let status = json!({"phase": "Flying"});
    let done = write_while(acts, "write the status of a Drone", &api, &drone.metadata, &status).await;
    drop(api);
    let stored = std::mem::take(&mut *stored.lock().unwrap());
    (done, stored)
}

fn stored(uid: &'static str, version: u32) -> Stored {
    Stored {
        uid,
        version,
        ..Stored::default()
    }
}

#[tokio::test]
async fn what_is_said_of_an_object_goes_on_no_other_that_was_made_anew_under_its_name() {
    let (done, stored) = written(stored("u-2", 9)).await;
    assert!(done.is_err_and(|error| error.is_overtaken()));
    assert_eq!((stored.phase, stored.patches), (None, 1));
}

#[tokio::test]
async fn what_is_said_of_an_object_that_is_gone_is_written_nowhere() {
    let (done, stored) = written(stored("", 9)).await;
    assert!(done.is_err_and(|error| error.is_overtaken()));
    assert_eq!((stored.phase, stored.patches), (None, 1));
}

#[tokio::test]
async fn one_write_is_enough_where_nobody_changed_the_object() {
    let (done, stored) = written(stored("u-1", 7)).await;
    assert_eq!(done.unwrap().metadata.resource_version.as_deref(), Some("8"));
    assert_eq!((stored.phase.as_deref(), stored.patches), (Some("Flying"), 1));
}

#[tokio::test]
async fn a_status_waits_for_no_watch_that_is_late() {
    let (done, stored) = written(stored("u-1", 30)).await;
    assert!(done.is_ok());
    assert_eq!((stored.phase.as_deref(), stored.patches), (Some("Flying"), 2));
}

#[tokio::test]
async fn one_that_acts_no_more_leaves_a_newer_version_as_it_is() {
    let (done, left) = written_while(stored("u-1", 30), || false).await;
    assert!(done.is_err_and(|error| error.is_conflict()));
    assert_eq!((left.phase, left.patches), (None, 1));
    // Its mandate ends while it waits for the newest version.
    let asked = std::cell::Cell::new(0);
    let once = || {
        asked.set(asked.get() + 1);
        asked.get() == 1
    };
    let (done, left) = written_while(stored("u-1", 30), once).await;
    assert!(done.is_err_and(|error| error.is_conflict()));
    assert_eq!((left.phase, left.patches, asked.get()), (None, 1, 2));
}

#[tokio::test]
async fn one_that_others_change_all_the_time_is_left_after_a_few_writes() {
    let changed = Stored {
        changes: u32::MAX,
        ..stored("u-1", 7)
    };
    let (done, stored) = written(changed).await;
    assert!(done.is_err_and(|error| error.is_conflict()));
    assert_eq!((stored.phase, stored.patches), (None, 1 + MAX_WRITE_ATTEMPTS));
}
