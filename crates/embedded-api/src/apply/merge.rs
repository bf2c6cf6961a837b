//! Server-side apply: one manager's configuration is merged into an object.
//! Fields that the manager names get its values, and it owns them, alone or with others that set the same value. Fields
//! that it named the last time and does not now are removed, unless another manager owns them. A field of another
//! manager that would get another value is a conflict; with `force` it is taken.

use super::Writer;
use super::combine::combine;
use super::field_set::FieldSet;
use super::managed::{Entry, Managed, Operation};
use super::object_meta::OWNERLESS;
use super::remove::{with_named, without};
use super::view::same;
use super::{extract, last_applied, track, typed};
use crate::refusal::Refusal;
use serde_json::{Value, json};

/// Owner of the fields that existed before the first owner was recorded.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Errors: 409 on conflicts without `force`; 400 for named owners or another kind; 500, as from an API server, for
/// wrong types.
pub fn apply(live: Option<&Value>, applied: &Value, writer: &Writer<'_>, force: bool) -> Result<Value, Refusal> {
    check(applied, writer)?;
    let mut managed = read(live)?;
    if let Some(live) = live.filter(|_| managed.is_empty()) {
        let first = Writer {
            manager: BEFORE_FIRST_APPLY,
            ..*writer
        };
        track::write(&mut managed, None, live, &first);
    }
    track::reconcile(&mut managed, writer);
    let kubectl = last_applied::concerns(writer);
    let excused = || {
        live.and_then(|live| last_applied::still_as_applied(live, writer))
            .filter(|_| kubectl)
    };
    let merged = merge(live, applied, &mut managed, writer);
    let change = track::change(live, &merged, writer);
    let applier = track::owner(writer, Operation::Apply);
    if !force {
        let mut conflicts = track::conflicts(&managed, &change, writer, &applier);
        if !conflicts.is_empty()
            && let Some(excused) = excused()
        {
            conflicts = conflicts.without(&excused);
        }
        if !conflicts.is_empty() {
            return Err(conflicts.refusal());
        }
    }
    track::take_fields(&mut managed, &change, writer, Some(&applier));
    if let Some(mut entry) = managed.take(&applier) {
        let changed = live.is_none_or(|live| !same(live, &merged));
        if changed {
            entry.time = Some(writer.now.to_owned());
        }
        entry.fields = entry.fields.difference(&OWNERLESS);
        managed.set(entry);
    }
    let mut merged = merged;
    if kubectl {
        last_applied::refresh(&mut merged, applied);
    }
    Ok(track::finish(managed, live, merged))
}

fn check(applied: &Value, writer: &Writer<'_>) -> Result<(), Refusal> {
    let text = |at: &str| applied.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let resource = writer.resource;
    let given = group_version_kind(text("/apiVersion"), text("/kind"));
    if given != group_version_kind(&resource.api_version(), &resource.kind) {
        return Err(Refusal::bad_request(format!("invalid object type: {given}")));
    }
    if applied.pointer("/metadata/managedFields").is_some_and(Value::is_array) {
        return Err(Refusal::bad_request("metadata.managedFields must be nil"));
    }
    typed::check(&resource.schema, applied).map_err(|fault| {
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let message = format!("failed to create typed patch object ({namespace}/{name}; {given}): {fault}");
        Refusal::new(500, "", message)
    })
}

fn group_version_kind(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

fn read(live: Option<&Value>) -> Result<Managed, Refusal> {
    let entries = live.and_then(|live| live.pointer("/metadata/managedFields"));
    Managed::read(entries.unwrap_or(&Value::Null))
        .map_err(|error| Refusal::internal(format!("failed to decode managed fields: {error}")))
}

fn merge(live: Option<&Value>, applied: &Value, managed: &mut Managed, writer: &Writer<'_>) -> Value {
    let schema = &writer.resource.schema;
    let version = writer.resource.api_version();
    let owner = track::owner(writer, Operation::Apply);
    let last = managed.take(&owner);
    let fields = extract::fields(schema, applied).outside(&track::reset(writer));
    managed.set(Entry {
        owner,
        api_version: version.clone(),
        time: last.as_ref().and_then(|entry| entry.time.clone()),
        fields,
    });
    let nothing = json!({"apiVersion": version, "kind": writer.resource.kind});
    let merged = combine(schema, live.unwrap_or(&nothing), applied);
    match last {
        Some(last) if last.api_version == version => prune(merged, last.fields, managed, writer),
        _ => merged,
    }
}

fn prune(merged: Value, last: FieldSet, managed: &Managed, writer: &Writer<'_>) -> Value {
    let schema = &writer.resource.schema;
    let version = writer.resource.api_version();
    let named = |set| with_named(schema, set);
    let last = named(last);
    let all = named(extract::fields(schema, &merged));
    let owned = managed.iter().filter(|entry| entry.api_version == version);
    let owned = owned.fold(FieldSet::default(), |all, entry| all.union(entry.fields.clone()));

    let left = without(schema, merged.clone(), &last);
    let left = named(extract::fields(schema, &left)).union(named(owned));
    let left = without(schema, merged.clone(), &all.clone().difference(&left));
    // Never more than what was last applied: neither what has no owner nor what is owned in another version.
    let left = named(extract::fields(schema, &left));
    without(schema, merged, &all.difference(&left).intersection(&last))
}
