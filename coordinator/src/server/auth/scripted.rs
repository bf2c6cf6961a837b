//! An API server of a few lines for tests: whose tokens there are, who may what, and whether it answers.
//!
//! Owns: answers to TokenReview and SubjectAccessReview. Must not: judge anything else.

use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tower::{BoxError, service_fn};

/// The API server. A copy is the same one.
#[derive(Clone)]
pub struct Scripted(Arc<Inner>);

struct Inner {
    away: watch::Sender<bool>,
    users: Mutex<HashMap<String, Value>>,
    may: Mutex<HashSet<String>>,
    asked: AtomicUsize,
}

impl Scripted {
    /// One that knows nobody.
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            away: watch::Sender::new(false),
            users: Mutex::default(),
            may: Mutex::default(),
            asked: AtomicUsize::new(0),
        }))
    }

    /// `token` is that of the person `name`.
    pub fn knows(&self, token: &str, name: &str) {
        let status = json!({"authenticated": true, "user": {"username": name}});
        self.0.users.lock().unwrap().insert(token.to_owned(), status);
    }

    /// `token` is that of the agent of `node`.
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

    /// Everybody may do `verb`, everywhere.
    pub fn lets(&self, verb: &str) {
        self.0.may.lock().unwrap().insert(verb.to_owned());
    }

    /// Whether it leaves all questions without an answer.
    pub fn is_away(&self, away: bool) {
        self.0.away.send_replace(away);
    }

    /// How much it was asked.
    pub fn asked(&self) -> usize {
        self.0.asked.load(Ordering::SeqCst)
    }

    /// A client of it.
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
}
