//! Namespaces of new objects.

use super::core::{Core, Kind};
use crate::refusal::Refusal;
use crate::store::Key;
use serde_json::json;

pub(super) const STORAGE: &str = "namespaces";

/// Errors: 404 when the namespace is missing, 403 when it is being deleted.
pub(super) fn check_namespace(core: &Core, kind: &Kind, namespace: Option<&str>, name: &str) -> Result<(), Refusal> {
    let Some(namespace) = namespace else {
        return Ok(());
    };
    let Some(object) = core.store.get(&Key::new(STORAGE, "", namespace)) else {
        return Err(Refusal::not_found("", STORAGE, namespace));
    };
    if !object.facts.deleting {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut refusal = Refusal::forbidden(&kind.resource.group, &kind.resource.plural, name, &why);
    let message = format!("namespace {namespace} is being terminated");
    if let Some(details) = refusal.details.as_object_mut() {
        let cause = json!({"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"});
        details.insert("causes".to_owned(), json!([cause]));
    }
    Err(refusal)
}
