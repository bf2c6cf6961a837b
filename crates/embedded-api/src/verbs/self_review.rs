//! Reviews about the caller: its identity, and its permissions.

use super::answer;
use super::body;
use super::core::Kind;
use super::meta::map_mut;
use crate::documents::accept::{Requested, choose};
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use http::StatusCode;
use serde_json::{Value, json};

const OWNER: &str = "owner";

pub(super) fn answer(kind: &Kind, request: &ApiRequest) -> Option<Result<Answer, Refusal>> {
    let status = match (&*kind.resource.group, &*kind.resource.plural) {
        ("authorization.k8s.io", "selfsubjectaccessreviews") => json!({"allowed": true}),
        ("authorization.k8s.io", "selfsubjectrulesreviews") => json!({
            "incomplete": false,
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }),
        ("authentication.k8s.io", "selfsubjectreviews") => json!({
            "userInfo": {"username": OWNER, "groups": ["system:masters", "system:authenticated"]},
        }),
        _ => return None,
    };
    Some(reviewed(kind, request, status))
}

fn reviewed(kind: &Kind, request: &ApiRequest, status: Value) -> Result<Answer, Refusal> {
    let as_ = choose(&request.accept, Requested::Document)?;
    let mut review = body::object(&kind.resource, &request.content_type, &request.body)?.value;
    let fields = map_mut(&mut review);
    fields.entry("metadata").or_insert_with(|| json!({}));
    fields.insert("status".to_owned(), status);
    Ok(answer::document(StatusCode::CREATED, as_, review.to_string().into()))
}
