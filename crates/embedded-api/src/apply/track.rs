//! Ownership after a plain write: create, update, or a patch that is not an apply.
//! Fields that a write adds or changes go to the writer and are taken from all others; fields that it removes have no
//! owner. A write that changes nothing changes no entry, not even its time.

use super::Writer;
use super::compare::Change;
use super::conflict::Conflicts;
use super::field_set::FieldSet;
use super::managed::{Entry, Managed, Operation, Owner, is_reset};
use super::object_meta::OWNERLESS;
use super::reconcile::reconciled;
use super::view::same;
use serde_json::{Map, Value};

/// `new` is the whole object as it was sent, with its defaults; fields that this subresource cannot change get no
/// owner. One empty entry in its `managedFields` clears all owners; unreadable ones, and all in a subresource, are
/// ignored.
#[must_use]
pub fn update(old: Option<&Value>, mut new: Value, writer: &Writer<'_>) -> Value {
    let mut managed = before(old, &new, writer);
    super::managed::set_json(&mut new, Vec::new());
    if old.is_some() && managed.is_empty() {
        // No owners are known since a client cleared them. An apply starts again.
        return new;
    }
    write(&mut managed, old, &new, writer);
    finish(managed, old, new)
}

fn before(old: Option<&Value>, new: &Value, writer: &Writer<'_>) -> Managed {
    let of_old = || old.map(Managed::of).unwrap_or_default();
    if writer.subresource.is_some() {
        return of_old();
    }
    let requested = new.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
    // An empty list does not survive the decoding of a custom resource, so there it means nothing.
    let ignored = writer.resource.custom && requested.as_array().is_some_and(Vec::is_empty);
    if !ignored && is_reset(requested) {
        return Managed::default();
    }
    match Managed::read(requested) {
        Ok(managed) if requested.as_array().is_some_and(|entries| !entries.is_empty()) => managed,
        _ => of_old(),
    }
}

pub(super) fn write(managed: &mut Managed, old: Option<&Value>, new: &Value, writer: &Writer<'_>) {
    reconcile(managed, writer);
    let change = change(old, new, writer);
    take_fields(managed, &change, writer, None);
    let written = change.written().difference(&OWNERLESS);
    if !written.is_empty() {
        let owner = owner(writer, Operation::Update);
        let earlier = managed.take(&owner).map(|entry| entry.fields).unwrap_or_default();
        managed.set(Entry {
            owner,
            api_version: writer.resource.api_version(),
            time: Some(writer.now.to_owned()),
            fields: written.union(earlier),
        });
    }
    managed.join_oldest();
}

pub(super) fn reconcile(managed: &mut Managed, writer: &Writer<'_>) {
    let version = writer.resource.api_version();
    managed.change(|entry, fields| {
        let known = entry.api_version == version;
        if known {
            reconciled(&writer.resource.schema, fields)
        } else {
            fields
        }
    });
}

pub(super) fn change(old: Option<&Value>, new: &Value, writer: &Writer<'_>) -> Change {
    let reset = reset(writer);
    Change::between(&writer.resource.schema, old, new).outside(&reset)
}

pub(super) fn reset(writer: &Writer<'_>) -> FieldSet {
    let sets = writer.reset().iter().map(|name| FieldSet::fields(&[name]));
    sets.fold(FieldSet::default(), FieldSet::union)
}

pub(super) fn conflicts(managed: &Managed, change: &Change, writer: &Writer<'_>, except: &Owner) -> Conflicts {
    let version = writer.resource.api_version();
    let written = change.written();
    let mut found = Conflicts::default();
    for entry in managed
        .iter()
        .filter(|entry| entry.api_version == version && entry.owner != *except)
    {
        found.add(&entry.owner, entry.fields.intersection(&written));
    }
    found
}

/// Takes fields from all owners but `except`. Entries in other versions name other fields and stay.
pub(super) fn take_fields(managed: &mut Managed, change: &Change, writer: &Writer<'_>, except: Option<&Owner>) {
    let version = writer.resource.api_version();
    let lost = change.written().union(change.removed.clone());
    managed.change(|entry, fields| {
        let keeps = entry.api_version != version || Some(&entry.owner) == except;
        if keeps { fields } else { fields.difference(&lost) }
    });
}

pub(super) fn owner(writer: &Writer<'_>, operation: Operation) -> Owner {
    let version = match operation {
        Operation::Apply => String::new(),
        Operation::Update => writer.resource.api_version(),
    };
    Owner {
        manager: writer.name().to_owned(),
        operation,
        version,
        subresource: writer.subresource.unwrap_or_default().to_owned(),
    }
}

/// Keeps the old object's entries when only their times differ and nothing else changed.
pub(super) fn finish(managed: Managed, old: Option<&Value>, mut new: Value) -> Value {
    managed.write(&mut new);
    if let Some(old) = old
        && let (Some(before), Some(after)) = (entries(old), entries(&new))
        && before != after
        && without_times(before) == without_times(after)
        && same_but_entries(old, &new)
    {
        super::managed::set_json(&mut new, before.to_vec());
    }
    new
}

fn entries(object: &Value) -> Option<&[Value]> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.map(Vec::as_slice)
}

fn without_times(entries: &[Value]) -> Vec<Value> {
    let mut entries = entries.to_vec();
    for entry in &mut entries {
        entry.as_object_mut().map(|entry| entry.remove("time"));
    }
    entries
}

fn same_but_entries(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return false;
    };
    let alike = |a: &Map<String, Value>, b: &Map<String, Value>, but: &str| {
        a.len() == b.len()
            && a.iter()
                .all(|(key, value)| key == but || b.get(key).is_some_and(|other| same(value, other)))
    };
    match (old.get("metadata"), new.get("metadata")) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => alike(old, new, "metadata") && alike(a, b, "managedFields"),
        _ => false,
    }
}
