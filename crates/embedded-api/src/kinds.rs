//! Kinds that are served: the built-in ones and those of CustomResourceDefinitions.
//! Owns: finding a kind, and converting an object to another version of it. Must not: hold objects, answer requests.

mod builtin;
mod builtin_schema;
pub mod canonical;
pub mod custom;
pub mod event;

pub(crate) use builtin::definition;
pub use builtin_schema::{REFERENCE, definitions};

use crate::documents::table::{ColumnError, Printer};
use crate::resource::Resource;
use crate::schema::defaults::without_nulls;
use serde_json::Value;
use std::sync::Arc;

#[derive(Debug, PartialEq, thiserror::Error)]
pub enum KindError {
    #[error("{plural}.{group}/{version} is defined twice; leave one of the definitions out")]
    Twice {
        group: String,
        version: String,
        plural: String,
    },
    #[error(transparent)]
    Column(#[from] ColumnError),
}

/// Kinds in discovery's order: the core group first, then groups by name.
#[derive(Debug)]
pub struct Registry {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    resource: Arc<Resource>,
    printer: Printer,
    alone: bool,
}

impl Registry {
    /// Errors: two kinds share a URL, or a printer column cannot be read.
    pub fn new(custom: Vec<Resource>) -> Result<Self, KindError> {
        let mut all = builtin::all();
        all.extend(custom);
        all.sort_by(|a, b| (&a.group, &a.version, &a.plural).cmp(&(&b.group, &b.version, &b.plural)));
        for (one, next) in all.iter().zip(all.iter().skip(1)) {
            if (&one.group, &one.version, &one.plural) == (&next.group, &next.version, &next.plural) {
                return Err(KindError::Twice {
                    group: one.group.clone(),
                    version: one.version.clone(),
                    plural: one.plural.clone(),
                });
            }
        }
        let views = |storage: &str| all.iter().filter(|each| &*each.storage == storage).count();
        let alone: Vec<bool> = all.iter().map(|each| views(&each.storage) == 1).collect();
        let entry = |(resource, alone): (Resource, bool)| {
            let printer = Printer::new(&resource)?;
            let resource = Arc::new(resource);
            Ok(Entry {
                resource,
                printer,
                alone,
            })
        };
        let entries = all
            .into_iter()
            .zip(alone)
            .map(entry)
            .collect::<Result<_, KindError>>()?;
        Ok(Self { entries })
    }

    #[must_use]
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.entry(group, version, plural).map(|entry| &entry.resource)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.entries.iter().map(|entry| &entry.resource)
    }

    #[must_use]
    pub fn printer(&self, resource: &Resource) -> Option<&Printer> {
        let entry = self.entry(&resource.group, &resource.version, &resource.plural);
        entry.map(|entry| &entry.printer)
    }

    #[must_use]
    pub fn stored_as_shown(&self, resource: &Resource) -> bool {
        let entry = self.entry(&resource.group, &resource.version, &resource.plural);
        entry.is_some_and(|entry| entry.alone)
    }

    fn entry(&self, group: &str, version: &str, plural: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| {
            let each = &entry.resource;
            each.plural == plural && each.version == version && each.group == group
        })
    }
}

/// Built-in kinds complete ([`canonical`]), Events as `v1`. Call it after pruning and validation by `resource.schema`.
#[must_use]
pub fn to_stored(resource: &Resource, object: Value) -> Value {
    if resource.custom {
        return object;
    }
    // To a built-in kind, null is the same as absent.
    let object = without_nulls(object);
    match (resource.group.as_str(), resource.kind.as_str()) {
        (event::GROUP, "Event") => event::to_core(object),
        ("", "Event") => event::complete_core(object),
        ("", "Node") => canonical::node(object),
        ("", "Namespace") => canonical::namespace(object),
        ("coordination.k8s.io", "Lease") => canonical::lease(object),
        _ => object,
    }
}

/// Converts Events of `events.k8s.io`, and renames versions of a custom kind.
#[must_use]
pub fn to_shown(resource: &Resource, mut object: Value) -> Value {
    if (resource.group.as_str(), resource.kind.as_str()) == (event::GROUP, "Event") {
        return event::from_core(object);
    }
    let api_version = resource.api_version();
    if let Some(fields) = object.as_object_mut()
        && fields.get("apiVersion").and_then(Value::as_str) != Some(api_version.as_str())
    {
        fields.insert("apiVersion".to_owned(), api_version.into());
    }
    object
}

#[cfg(test)]
mod tests;
