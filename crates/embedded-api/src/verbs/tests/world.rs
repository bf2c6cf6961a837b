//! An API on a folder of its own, two kinds, and a client.

use crate::request::{Answer, ApiRequest, Body};
use crate::verbs::{Api, Options};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;

const LONGEST: Duration = Duration::from_secs(20);

pub const THINGS: &str = "/apis/a.dev/v1/namespaces/default/things";
pub const BOATS: &str = "/apis/a.dev/v1/namespaces/default/boats";
pub const NODES: &str = "/api/v1/nodes";
pub const EVENTS: &str = "/api/v1/namespaces/default/events";
pub const NAMESPACES: &str = "/api/v1/namespaces";

pub struct World {
    pub api: Api,
    folder: TempDir,
}

#[derive(Debug)]
pub struct Response {
    pub code: u16,
    /// Text, if it was not JSON.
    pub body: Value,
}

impl Response {
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    pub fn version(&self) -> u64 {
        let text = self.body["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        text.parse().unwrap_or_else(|_| panic!("no version in {}", self.body))
    }

    pub fn names(&self) -> Vec<&str> {
        let items = self.body["items"]
            .as_array()
            .unwrap_or_else(|| panic!("no list: {}", self.body));
        items
            .iter()
            .filter_map(|item| item["metadata"]["name"].as_str())
            .collect()
    }

    #[track_caller]
    pub fn is(self, code: u16) -> Self {
        assert_eq!(self.code, code, "{}", self.body);
        self
    }
}

pub fn options(folder: &TempDir) -> Options {
    Options::new(folder.path().join("store"), vec![things(), boats()])
}

pub async fn world() -> World {
    world_with(|_| {}).await
}

pub async fn world_with(change: impl FnOnce(&mut Options)) -> World {
    let folder = tempfile::tempdir().expect("a folder");
    let mut options = options(&folder);
    change(&mut options);
    let api = Api::open(options).await.expect("it opens");
    World { api, folder }
}

impl World {
    pub async fn restarted(self) -> Self {
        let Self { api, folder } = self;
        api.close().await;
        let api = Api::open(options(&folder)).await.expect("it opens again");
        Self { api, folder }
    }

    pub async fn send(&self, request: ApiRequest) -> Response {
        response(
            timeout(LONGEST, self.api.handle(request))
                .await
                .expect("an answer in time"),
        )
    }

    pub async fn get(&self, path: &str) -> Response {
        self.send(request(Method::GET, path, None)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Response {
        self.send(request(Method::POST, path, Some(body))).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Response {
        self.send(request(Method::PUT, path, Some(body))).await
    }

    pub async fn delete_with(&self, path: &str, body: Value) -> Response {
        self.send(request(Method::DELETE, path, Some(body))).await
    }

    pub async fn delete(&self, path: &str) -> Response {
        self.send(request(Method::DELETE, path, None)).await
    }

    pub async fn merge(&self, path: &str, body: Value) -> Response {
        self.patch(path, "application/merge-patch+json", body).await
    }

    pub async fn patch(&self, path: &str, type_: &str, body: Value) -> Response {
        let mut request = request(Method::PATCH, path, Some(body));
        request.content_type = type_.to_owned();
        self.send(request).await
    }

    pub async fn watch(&self, path: &str) -> Watcher {
        self.watch_as(path, "").await
    }

    pub async fn watch_as(&self, path: &str, accept: &str) -> Watcher {
        let sign = if path.contains('?') { '&' } else { '?' };
        let mut request = request(Method::GET, &format!("{path}{sign}watch=true"), None);
        request.accept = accept.to_owned();
        match self.api.handle(request).await.body {
            Body::Stream(frames) => Watcher { frames },
            Body::Whole(body) => panic!("no watch: {}", String::from_utf8_lossy(&body)),
        }
    }

    pub async fn until(&self, path: &str, what: &str, wanted: impl Fn(&Response) -> bool) -> Response {
        let waiting = async {
            loop {
                let before = self.api.revision();
                let response = self.get(path).await;
                if wanted(&response) {
                    return response;
                }
                while self.api.revision() == before {
                    tokio::task::yield_now().await;
                }
            }
        };
        timeout(LONGEST, waiting)
            .await
            .unwrap_or_else(|_| panic!("never came: {what}"))
    }

    pub async fn until_gone(&self, path: &str) {
        self.until(path, "its end", |response| response.code == 404).await;
    }
}

pub struct Watcher {
    frames: mpsc::Receiver<Bytes>,
}

impl Watcher {
    pub async fn next(&mut self) -> Option<Value> {
        let frame = timeout(LONGEST, self.frames.recv()).await.expect("an event in time")?;
        Some(serde_json::from_slice(&frame).expect("JSON"))
    }

    pub async fn until_full(&self) {
        let full = async {
            while self.frames.len() < self.frames.max_capacity() {
                tokio::task::yield_now().await;
            }
        };
        timeout(LONGEST, full).await.expect("full in time");
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    pub async fn until_given_up(&self) {
        let given_up = async {
            while !self.frames.is_closed() {
                tokio::task::yield_now().await;
            }
        };
        timeout(LONGEST, given_up).await.expect("given up in time");
    }

    pub async fn expect(&mut self, expected: &[(&str, &str)]) {
        for (type_, name) in expected {
            let event = self
                .next()
                .await
                .unwrap_or_else(|| panic!("the watch ended before {type_} {name}"));
            let found = (event["type"].as_str(), event["object"]["metadata"]["name"].as_str());
            assert_eq!(found, (Some(*type_), Some(*name)), "{event}");
        }
    }
}

pub fn request(method: Method, path: &str, body: Option<Value>) -> ApiRequest {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let query = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    ApiRequest {
        method,
        path: path.to_owned(),
        query,
        accept: String::new(),
        content_type: "application/json".to_owned(),
        user_agent: "test/1.0".to_owned(),
        body: body.map_or_else(Bytes::new, |body| body.to_string().into()),
    }
}

fn response(answer: Answer) -> Response {
    let body = match answer.body {
        Body::Whole(body) => {
            let text = || Value::from(String::from_utf8_lossy(&body).into_owned());
            serde_json::from_slice(&body).unwrap_or_else(|_| text())
        }
        Body::Stream(_) => panic!("a stream"),
    };
    Response {
        code: answer.code.as_u16(),
        body,
    }
}

pub fn thing(name: &str) -> Value {
    json!({"apiVersion": "a.dev/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {"size": 1}})
}

pub fn labeled(name: &str, labels: Value) -> Value {
    let mut thing = thing(name);
    thing["metadata"]["labels"] = labels;
    thing
}

pub fn boat(name: &str) -> Value {
    json!({"apiVersion": "a.dev/v1", "kind": "Boat", "metadata": {"name": name}, "spec": {}})
}

fn definition(kind: &str, plural: &str, spec: Value, subresources: Value, fields: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.a.dev")},
        "spec": {
            "group": "a.dev", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": subresources, "selectableFields": fields,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "required": ["spec"],
                    "properties": {
                        "spec": spec,
                        "status": {
                            "type": "object",
                            "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}},
                        },
                    },
                }},
            }],
        },
    })
}

pub fn things() -> Value {
    definition(
        "Thing",
        "things",
        json!({
            "type": "object",
            "properties": {
                "size": {"type": "integer", "minimum": 0, "maximum": 100},
                "colour": {"type": "string", "default": "grey"},
                "place": {"type": "string"},
                "replicas": {"type": "integer"},
            },
            "x-kubernetes-validations": [{"rule": "!has(self.colour) || self.colour != 'pink'", "message": "not pink"}],
        }),
        json!({
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        }),
        json!([{"jsonPath": ".spec.place"}]),
    )
}

/// No status subresource.
pub fn boats() -> Value {
    definition(
        "Boat",
        "boats",
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        json!({}),
        json!([]),
    )
}
