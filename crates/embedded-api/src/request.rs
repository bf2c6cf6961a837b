//! A request and its answer, between the HTTP side ([`crate::serve`]) and the side that knows Kubernetes ([`crate::verbs`]).

use bytes::Bytes;
use http::{Method, StatusCode};
use tokio::sync::mpsc;

/// One request with its complete body.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    /// GET, POST, PUT, PATCH, DELETE.
    pub method: Method,
    /// Decoded path: `/apis/skein.dev/v1alpha1/namespaces/default/drones/x`.
    pub path: String,
    /// Decoded query parameters in their order.
    pub query: Vec<(String, String)>,
    /// Header `Accept`, or empty.
    pub accept: String,
    /// Header `Content-Type`, or empty.
    pub content_type: String,
    /// Header `User-Agent`, or empty: names the field manager when the request does not.
    pub user_agent: String,
    /// The body; empty without one.
    pub body: Bytes,
}

impl ApiRequest {
    /// The first query parameter of that name.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the query parameter is `true` or `1`, as Go's `strconv.ParseBool` reads it.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.query(name), Some("true" | "1" | "t" | "T" | "TRUE" | "True"))
    }
}

/// The answer.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub code: StatusCode,
    /// `Content-Type`.
    pub content_type: String,
    /// Further headers: `Warning`, `ETag`, `Audit-Id`.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Body,
}

/// A body: complete, or a watch that continues.
#[derive(Debug)]
pub enum Body {
    /// All of it.
    Whole(Bytes),
    /// Frames of a watch, a JSON document and a newline each. The sender ends it; dropping the receiver ends the
    /// sender.
    Stream(mpsc::Receiver<Bytes>),
}
