//! A scripted API server: answers to TokenReview and SubjectAccessReview, and requests of persons. Must not: judge anything else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tower::{BoxError, service_fn};
use trust::PersonKey;

/// Cheap to clone; clones share state.
#[derive(Clone)]
pub struct Scripted(Arc<Inner>);

struct Inner {
    away: watch::Sender<bool>,
    users: Mutex<HashMap<String, Value>>,
    requests: Mutex<HashMap<String, Value>>,
    may: Mutex<HashSet<String>>,
    asked: AtomicUsize,
}

impl Scripted {
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            away: watch::Sender::new(false),
            users: Mutex::default(),
            requests: Mutex::default(),
            may: Mutex::default(),
            asked: AtomicUsize::new(0),
        }))
    }

    pub fn knows(&self, token: &str, name: &str) {
        let status = json!({"authenticated": true, "user": {"username": name}});
        self.0.users.lock().unwrap().insert(token.to_owned(), status);
    }

    pub fn knows_agent(&self, token: &str, node: &str) {
        let status = json!({
            "authenticated": true,
            "audiences": ["skein-coordinator"],
            "user": {
                "username": "system:serviceaccount:skein-system:skein-agent",
                "extra": {"authentication.kubernetes.io/node-name": [node]},
            },
        });
        self.0.users.lock().unwrap().insert(token.to_owned(), status);
    }

    /// `person` has made the request `name` for `key`, `ago` from now.
    pub fn takes_request(&self, name: &str, person: &str, key: &PersonKey, ago: Duration) {
        let made = written(SystemTime::now() - ago);
        let request = json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": name, "creationTimestamp": made},
            "spec": {
                "request": STANDARD.encode(key.request_pem().unwrap()), "signerName": "skein.dev/person",
                "usages": ["client auth"], "expirationSeconds": 3600, "username": person,
            },
        });
        self.0.requests.lock().unwrap().insert(name.to_owned(), request);
    }

    pub fn loses_request(&self, name: &str) {
        self.0.requests.lock().unwrap().remove(name);
    }

    /// Everybody may do `verb`, everywhere.
    pub fn lets(&self, verb: &str) {
        self.0.may.lock().unwrap().insert(verb.to_owned());
    }

    /// Whether it answers no question.
    pub fn is_away(&self, away: bool) {
        self.0.away.send_replace(away);
    }

    pub fn asked(&self) -> usize {
        self.0.asked.load(Ordering::SeqCst)
    }

    pub fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { server.answer(request).await }
        });
        kube::Client::new(service, "default")
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        self.0.away.subscribe().wait_for(|away| !away).await?;
        let path = request.uri().path().to_owned();
        if let Some(name) = path.strip_prefix("/apis/certificates.k8s.io/v1/certificatesigningrequests/") {
            return self.request(name);
        }
        let bytes = request.into_body().collect_bytes().await?;
        let mut review: Value = serde_json::from_slice(&bytes)?;
        let status = match &review["spec"]["token"] {
            Value::String(token) => {
                let users = self.0.users.lock().unwrap();
                users
                    .get(token)
                    .cloned()
                    .unwrap_or_else(|| json!({"error": "invalid bearer token"}))
            }
            _ => {
                let verb = review["spec"]["resourceAttributes"]["verb"]
                    .as_str()
                    .unwrap_or_default();
                json!({"allowed": self.0.may.lock().unwrap().contains(verb)})
            }
        };
        review["status"] = status;
        Ok(Response::new(Body::from(serde_json::to_vec(&review)?)))
    }

    fn request(&self, name: &str) -> Result<Response<Body>, BoxError> {
        let found = self.0.requests.lock().unwrap().get(name).cloned();
        let code = if found.is_some() { 200 } else { 404 };
        let missing =
            || json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "none"});
        let bytes = serde_json::to_vec(&found.unwrap_or_else(missing))?;
        Ok(Response::builder().status(code).body(Body::from(bytes))?)
    }
}

fn written(time: SystemTime) -> Value {
    let time = k8s_openapi::jiff::Timestamp::try_from(time).unwrap();
    json!(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time))
}
