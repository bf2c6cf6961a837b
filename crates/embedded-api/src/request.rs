//! A request and its answer, between the HTTP side ([`crate::serve`]) and Kubernetes ([`crate::verbs`]).

use bytes::Bytes;
use http::{Method, StatusCode};
use tokio::sync::mpsc;

#[derive(Clone, Debug)]
pub struct ApiRequest {
    pub method: Method,
    /// Decoded: `/apis/skein.dev/v1alpha1/namespaces/default/drones/x`.
    pub path: String,
    /// Decoded, in their order.
    pub query: Vec<(String, String)>,
    pub accept: String,
    pub content_type: String,
    /// Names the field manager when the request does not. Like the other headers, empty when missing.
    pub user_agent: String,
    pub body: Bytes,
}

impl ApiRequest {
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.query(name), Some("true" | "1" | "t" | "T" | "TRUE" | "True"))
    }
}

#[derive(Debug)]
pub struct Answer {
    pub code: StatusCode,
    pub content_type: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Body,
}

#[derive(Debug)]
pub enum Body {
    Whole(Bytes),
    /// JSON documents of a watch, each with a newline. The sender ends it; dropping the receiver ends the sender.
    Stream(mpsc::Receiver<Bytes>),
}
