//! Rules of the built-in kinds that are in no schema.
//!
//! Owns: the rules for nodes, leases, events and namespaces. Must not: repeat what types say.

mod event;
mod node;
mod quantity;

use super::cause;
use super::metadata::{STANDARD_FINALIZERS, names, names::NameRule};
use crate::refusal::Cause;
use crate::resource::Resource;
use serde_json::Value;

const UNQUALIFIED: &str = "name is neither a standard finalizer name nor is it fully qualified";

/// The form of a kind's names. Events of the old form may have any name.
#[must_use]
pub fn name_rule(resource: &Resource, object: &Value) -> NameRule {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => NameRule::Label,
        ("", "Event") if object.get("eventTime").is_none_or(Value::is_null) => NameRule::PathSegment,
        _ => NameRule::Subdomain,
    }
}

/// What is wrong with an object of a built-in kind, besides its types and metadata.
#[must_use]
pub fn check(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Node") => {
            finalizers(object, &mut causes);
            node::check(object, old, &mut causes);
        }
        ("", "Namespace") => {
            finalizers(object, &mut causes);
            namespace_finalizers(object, &mut causes);
            if old.is_some() {
                phase(object, &mut causes);
            }
        }
        ("coordination.k8s.io", "Lease") => lease(object, &mut causes),
        ("" | "events.k8s.io", "Event") => event::check(resource, object, old, &mut causes),
        _ => {}
    }
    causes
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn push_invalid(causes: &mut Vec<Cause>, field: &str, value: &str, messages: Vec<String>) {
    for message in messages {
        causes.push(cause::invalid(field, &value.into(), &message));
    }
}

fn finalizers(object: &Value, causes: &mut Vec<Cause>) {
    for (index, finalizer) in list(object, "/metadata/finalizers").iter().enumerate() {
        let finalizer = finalizer.as_str().unwrap_or_default();
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            let field = format!("metadata.finalizers[{index}]");
            push_invalid(causes, &field, finalizer, vec![UNQUALIFIED.to_owned()]);
        }
    }
}

fn namespace_finalizers(namespace: &Value, causes: &mut Vec<Cause>) {
    for finalizer in list(namespace, "/spec/finalizers") {
        let finalizer = finalizer.as_str().unwrap_or_default();
        push_invalid(causes, "spec.finalizers", finalizer, names::label_key(finalizer));
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            push_invalid(causes, "spec.finalizers", finalizer, vec![UNQUALIFIED.to_owned()]);
        }
    }
}

/// A Namespace is terminating exactly when it was deleted.
fn phase(namespace: &Value, causes: &mut Vec<Cause>) {
    let deleted = namespace
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|time| !time.is_null());
    let (wanted, detail) = match deleted {
        false => ("Active", "may only be 'Active' if `deletionTimestamp` is empty"),
        true => (
            "Terminating",
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
        ),
    };
    // A Namespace without a phase counts as active.
    let said = namespace
        .pointer("/status/phase")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let said = if said.is_empty() { "Active" } else { said };
    if said != wanted {
        causes.push(cause::invalid("status.Phase", &said.into(), detail));
    }
}

fn lease(lease: &Value, causes: &mut Vec<Cause>) {
    let number = |pointer: &str| lease.pointer(pointer).and_then(Value::as_i64);
    if let Some(seconds) = number("/spec/leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        let detail = "must be greater than 0";
        causes.push(cause::invalid("spec.leaseDurationSeconds", &seconds.into(), detail));
    }
    if let Some(count) = number("/spec/leaseTransitions").filter(|count| *count < 0) {
        let detail = "must be greater than or equal to 0";
        causes.push(cause::invalid("spec.leaseTransitions", &count.into(), detail));
    }
}

#[cfg(test)]
mod tests;
