//! Data that every verb uses: the kinds that are served, and the objects.

use super::route::Target;
use crate::checker::Checker;
use crate::discovery::openapi::OpenApi;
use crate::kinds::{self, Registry};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::store::{Key, Object, Store};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;

#[derive(Debug)]
pub(super) struct Kind {
    pub(super) resource: Arc<Resource>,
    pub(super) checker: Checker,
}

impl Kind {
    pub(super) fn key(&self, namespace: Option<&str>, name: &str) -> Key {
        Key {
            resource: Arc::clone(&self.resource.storage),
            namespace: namespace.unwrap_or_default().into(),
            name: name.into(),
        }
    }

    pub(super) fn not_found(&self, name: &str) -> Refusal {
        Refusal::not_found(&self.resource.group, &self.resource.plural, name)
    }

    pub(super) fn modified(&self, name: &str) -> Refusal {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Refusal::conflict(&self.resource.group, &self.resource.plural, name, why)
    }
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) store: Store,
    pub(super) registry: Registry,
    pub(super) openapi: OpenApi,
    pub(super) event_made: Notify,
    kinds: HashMap<Url, Arc<Kind>>,
}

type Url = (String, String, String);

impl Core {
    pub(super) fn new(store: Store, registry: Registry, kinds: Vec<Kind>) -> Self {
        let url = |resource: &Resource| {
            (
                resource.group.clone(),
                resource.version.clone(),
                resource.plural.clone(),
            )
        };
        let kinds = kinds.into_iter().map(|kind| (url(&kind.resource), Arc::new(kind)));
        Self {
            openapi: OpenApi::new(&registry),
            kinds: kinds.collect(),
            event_made: Notify::new(),
            store,
            registry,
        }
    }

    pub(super) fn kind(&self, target: &Target) -> Option<&Arc<Kind>> {
        self.at(&target.group, &target.version, &target.plural)
    }

    pub(super) fn at(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.kinds
            .get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    pub(super) fn named(&self, api_version: &str, kind: &str) -> Option<&Arc<Kind>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.kinds.values().find(|each| {
            let resource = &each.resource;
            resource.kind == kind && resource.group == group && resource.version == version
        })
    }

    pub(super) fn storing(&self, storage: &str) -> Option<&Arc<Kind>> {
        let all = self.kinds.values().filter(|kind| *kind.resource.storage == *storage);
        // Events are stored in the form of the core kind; of several versions, any one is right.
        all.min_by_key(|kind| (&kind.resource.group, &kind.resource.version))
    }

    pub(super) fn storages(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = self
            .kinds
            .values()
            .map(|kind| Arc::clone(&kind.resource.storage))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Errors: 500 when the stored object cannot be read: a bug of this program.
    pub(super) fn shown(&self, resource: &Resource, object: &Object) -> Result<Value, Refusal> {
        let value = parsed(object)?;
        Ok(match self.registry.stored_as_shown(resource) {
            true => value,
            false => kinds::to_shown(resource, value),
        })
    }
}

pub(super) fn parsed(object: &Object) -> Result<Value, Refusal> {
    let unreadable = |error| {
        Refusal::internal(format!(
            "{:?} is kept in a form that cannot be read: {error}",
            object.key
        ))
    };
    serde_json::from_slice(&object.json).map_err(unreadable)
}

pub(super) fn rfc3339(time: Timestamp) -> String {
    format!("{time:.0}")
}
