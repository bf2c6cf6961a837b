//! Rules of the built-in kinds that are in no schema: nodes, leases, events and namespaces.

mod event;

use crate::refusal::Cause;
use crate::resource::Resource;
use crate::schema::cause;
use crate::schema::metadata::{STANDARD_FINALIZERS, list, names, names::NameRule, text, wrong};
use serde_json::Value;
use std::collections::HashSet;

/// Events of the old form may have any name.
#[must_use]
pub fn name_rule(resource: &Resource, object: &Value) -> NameRule {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => NameRule::Label,
        ("", "Event") if object.get("eventTime").is_none_or(Value::is_null) => NameRule::PathSegment,
        _ => NameRule::Subdomain,
    }
}

#[must_use]
pub fn check(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Node") => {
            finalizers(object, &mut causes);
            taints(object, &mut causes);
        }
        ("", "Namespace") => {
            finalizers(object, &mut causes);
            if old.is_some() {
                phase(object, &mut causes);
            }
        }
        ("coordination.k8s.io", "Lease") => lease(object, &mut causes),
        ("" | "events.k8s.io", "Event") => event::check(resource, object, old.is_none(), &mut causes),
        _ => {}
    }
    causes
}

fn finalizers(object: &Value, causes: &mut Vec<Cause>) {
    for (index, finalizer) in list(object, "/metadata/finalizers").iter().enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        if !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
            let field = format!("metadata.finalizers[{index}]");
            causes.push(cause::invalid(field, finalizer, "must have a domain: example.com/name"));
        }
    }
}

/// The API reports `metadata.taints`, though they are in the spec.
fn taints(node: &Value, causes: &mut Vec<Cause>) {
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"].map(Value::from);
    let mut seen = HashSet::new();
    for (index, taint) in list(node, "/spec/taints").iter().enumerate() {
        let field = format!("metadata.taints[{index}]");
        let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        wrong(&format!("{field}.key"), key, names::label_key(key), causes);
        wrong(&format!("{field}.value"), value, names::label_value(value), causes);
        match effect {
            "" => causes.push(cause::required(format!("{field}.effect"), "")),
            _ if !effects.contains(&effect.into()) => {
                causes.push(cause::not_supported(
                    format!("{field}.effect"),
                    &effect.into(),
                    &effects,
                ));
            }
            _ => {}
        }
        if !seen.insert((key, effect)) {
            let detail = "taints must be unique by key and effect pair";
            causes.push(cause::duplicate(field, &key.into(), detail));
        }
    }
}

/// A Namespace is terminating exactly when it was deleted.
fn phase(namespace: &Value, causes: &mut Vec<Cause>) {
    let deleted = namespace
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|time| !time.is_null());
    let wanted = if deleted { "Terminating" } else { "Active" };
    let said = namespace
        .pointer("/status/phase")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let said = if said.is_empty() { "Active" } else { said };
    if said != wanted {
        let detail = "must be Terminating while metadata.deletionTimestamp is set, and Active otherwise";
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
