//! The requests to the API server and their users: the basis for tests of least privilege.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;

/// Logs every request without bodies, when its answer begins (only of long-running ones, such as watches) and when it
/// is complete.
pub(super) const POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
 "omitStages": ["RequestReceived", "Panic"], "rules": [{"level": "Metadata"}]}"#;

/// A watch counts from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Example: `system:serviceaccount:skein-system:skein-coordinator`.
    pub user: String,
    pub verb: String,
    /// Empty for the core group and for requests without a resource.
    pub group: String,
    /// Resource with its subresource, as in RBAC (`drones/status`); may be empty.
    pub resource: String,
    pub namespace: String,
    /// Empty for lists, watches and creations without one.
    pub name: String,
    pub uri: String,
    /// HTTP status of the answer; 403 is a refusal by RBAC.
    pub code: u16,
}

/// Returns each request once; skips a line that is still being written.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<Request>> {
    let text = std::fs::read_to_string(path)?;
    let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let mut seen = HashSet::new();
    let mut requests = Vec::new();
    for line in lines {
        let event: Event = serde_json::from_str(line)?;
        if seen.insert(event.audit_id.clone()) {
            requests.push(event.into());
        }
    }
    Ok(requests)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(rename = "auditID")]
    audit_id: String,
    verb: String,
    user: User,
    #[serde(rename = "requestURI")]
    request_uri: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: Status,
}

#[derive(Deserialize)]
struct User {
    /// Empty if the request ended before it was authenticated.
    #[serde(default)]
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Status {
    code: u16,
}

impl From<Event> for Request {
    fn from(event: Event) -> Self {
        let object = event.object_ref;
        let resource = match object.subresource.as_str() {
            "" => object.resource,
            subresource => format!("{}/{subresource}", object.resource),
        };
        Self {
            user: event.user.username,
            verb: event.verb,
            group: object.api_group,
            resource,
            namespace: object.namespace,
            name: object.name,
            uri: event.request_uri,
            code: event.response_status.code,
        }
    }
}
