//! Entries of `metadata.managedFields`.

use super::field_set::{FieldSet, FieldsError};
use serde_json::{Map, Value, json};
use std::cmp::Ordering;

/// Limit beyond which the oldest entries of plain writes are joined.
const MOST_UPDATES: usize = 10;
const OLD_UPDATES: &str = "ancient-changes";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Apply,
    Update,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    pub manager: String,
    pub operation: Operation,
    /// Empty for apply: the owner stays the same when the version changes.
    pub version: String,
    pub subresource: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub owner: Owner,
    pub api_version: String,
    pub time: Option<String>,
    pub fields: FieldSet,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    #[error("{0} is missing or has a wrong value; see meta/v1 ManagedFieldsEntry")]
    Field(&'static str),
    #[error("error decoding set: {0}")]
    Fields(#[from] FieldsError),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managed {
    entries: Vec<Entry>,
}

impl Managed {
    pub fn read(entries: &Value) -> Result<Self, EntryError> {
        let mut managed = Self::default();
        let entries = match entries {
            Value::Null => return Ok(managed),
            Value::Array(entries) => entries,
            _ => return Err(EntryError::Field("managedFields")),
        };
        for entry in entries {
            managed.set(read_entry(entry)?);
        }
        Ok(managed)
    }

    /// Drops unreadable entries: those fields then have no known owner.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let entries = object.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
        Self::read(entries).unwrap_or_default()
    }

    pub fn write(mut self, object: &mut Value) {
        self.entries.sort_by(order);
        let entries: Vec<Value> = self.entries.iter().map(to_json).collect();
        set_json(object, entries);
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    #[must_use]
    pub fn get(&self, owner: &Owner) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.owner == *owner)
    }

    pub fn take(&mut self, owner: &Owner) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.owner == *owner)?;
        Some(self.entries.swap_remove(at))
    }

    pub fn set(&mut self, entry: Entry) {
        self.take(&entry.owner);
        if !entry.fields.is_empty() {
            self.entries.push(entry);
        }
    }

    pub fn change(&mut self, mut change: impl FnMut(&Entry, FieldSet) -> FieldSet) {
        for entry in &mut self.entries {
            let fields = std::mem::take(&mut entry.fields);
            entry.fields = change(entry, fields);
        }
        self.entries.retain(|entry| !entry.fields.is_empty());
    }

    pub fn join_oldest(&mut self) {
        let is_update = |entry: &Entry| entry.owner.operation == Operation::Update;
        let mut updates: Vec<Owner> = {
            let mut updates: Vec<&Entry> = self.entries.iter().filter(|entry| is_update(entry)).collect();
            updates.sort_by(|a, b| (&a.time, &a.owner).cmp(&(&b.time, &b.owner)));
            updates.into_iter().map(|entry| entry.owner.clone()).collect()
        };
        let mut count = updates.len();
        let mut first_of: Vec<Owner> = Vec::new();
        for owner in updates.drain(..) {
            if count <= MOST_UPDATES {
                return;
            }
            let Some(first) = first_of.iter().find(|first| first.version == owner.version) else {
                first_of.push(owner);
                continue;
            };
            let bucket = Owner {
                manager: OLD_UPDATES.to_owned(),
                subresource: String::new(),
                ..first.clone()
            };
            let old = self.take(&bucket).or_else(|| self.take(first));
            if let (Some(old), Some(joined)) = (old, self.take(&owner)) {
                self.set(Entry {
                    owner: bucket,
                    fields: old.fields.union(joined.fields),
                    ..joined
                });
                count -= 1;
            }
        }
    }
}

/// A request clears all owners by one empty entry, or an empty list.
#[must_use]
pub fn is_reset(entries: &Value) -> bool {
    let empty = |value: &Value| value.is_null() || value == "" || value.as_object().is_some_and(Map::is_empty);
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(entry)]) => entry.values().all(empty),
        _ => false,
    }
}

pub fn set_json(object: &mut Value, entries: Vec<Value>) {
    let Some(object) = object.as_object_mut() else { return };
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Some(metadata) = metadata.as_object_mut() else {
        return;
    };
    if entries.is_empty() {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

fn read_entry(entry: &Value) -> Result<Entry, EntryError> {
    let text = |name: &'static str| match entry.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(EntryError::Field(name)),
    };
    let operation = match text("operation")? {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(EntryError::Field("operation")),
    };
    let api_version = text("apiVersion")?.to_owned();
    if api_version.is_empty() {
        return Err(EntryError::Field("apiVersion"));
    }
    if text("fieldsType")? != "FieldsV1" {
        return Err(EntryError::Field("fieldsType"));
    }
    let version = match operation {
        Operation::Apply => String::new(),
        Operation::Update => api_version.clone(),
    };
    let fields = match entry.get("fieldsV1") {
        Some(fields) => FieldSet::from_json(fields)?,
        None => FieldSet::default(),
    };
    Ok(Entry {
        owner: Owner {
            manager: text("manager")?.to_owned(),
            operation,
            version,
            subresource: text("subresource")?.to_owned(),
        },
        api_version,
        time: whole_seconds(text("time")?)?,
        fields,
    })
}

/// UTC with whole seconds, so that text order is time order.
fn whole_seconds(time: &str) -> Result<Option<String>, EntryError> {
    if time.is_empty() {
        return Ok(None);
    }
    let is_normal = time.len() == "2026-01-31T12:00:00Z".len() && time.ends_with('Z');
    if is_normal {
        return Ok(Some(time.to_owned()));
    }
    let time: jiff::Timestamp = time.parse().map_err(|_| EntryError::Field("time"))?;
    Ok(Some(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

fn order(one: &Entry, other: &Entry) -> Ordering {
    (one.owner.operation, &one.time, &one.owner.manager)
        .cmp(&(other.owner.operation, &other.time, &other.owner.manager))
        .then_with(|| one.api_version.cmp(&other.api_version))
        .then_with(|| one.owner.subresource.cmp(&other.owner.subresource))
}

fn to_json(entry: &Entry) -> Value {
    let operation = match entry.owner.operation {
        Operation::Apply => "Apply",
        Operation::Update => "Update",
    };
    let mut json = json!({
        "apiVersion": entry.api_version, "fieldsType": "FieldsV1", "fieldsV1": entry.fields.to_json(),
        "operation": operation,
    });
    let time = entry.time.as_deref().unwrap_or("");
    let texts = [
        ("manager", entry.owner.manager.as_str()),
        ("subresource", &entry.owner.subresource),
        ("time", time),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        json[name] = text.into();
    }
    json
}
