//! Descriptor of one version of a kind that is served, built in or read from a CustomResourceDefinition.

use crate::schema::Schema;
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Resource {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub list_kind: String,
    pub short_names: Vec<String>,
    /// Groups of kinds with one name: `all`.
    pub categories: Vec<String>,
    pub namespaced: bool,
    pub verbs: Vec<Verb>,
    pub has_status: bool,
    pub scale: Option<Scale>,
    /// Columns besides NAME. Empty: AGE only.
    pub columns: Vec<Column>,
    /// Paths for field selectors, besides `metadata.name` and `metadata.namespace`: `spec.nodeName`.
    pub selectable_fields: Vec<String>,
    pub schema: Arc<Schema>,
    /// Kind of a CustomResourceDefinition: pruned and validated by its schema, without strategic merge patches.
    pub custom: bool,
    /// Shared by kinds that represent the same objects, as `v1` and `events.k8s.io/v1` Events do.
    pub storage: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    pub const ALL: [Self; 8] = [
        Self::Get,
        Self::List,
        Self::Watch,
        Self::Create,
        Self::Update,
        Self::Patch,
        Self::Delete,
        Self::DeleteCollection,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

/// Simple paths such as `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub label_selector: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// OpenAPI: `string`, `integer`, `number`, `boolean`, `date`.
    pub type_: String,
    pub format: String,
    pub description: String,
    /// 0 is always shown, others with `-o wide`.
    pub priority: i64,
    pub json_path: String,
}

impl Resource {
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `plural.group`, or the plural alone in the core group, as in messages (`drones.skein.dev "x" not found`).
    #[must_use]
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    #[must_use]
    pub fn serves(&self, verb: Verb) -> bool {
        self.verbs.contains(&verb)
    }
}

/// `path` is simple, such as `.spec.replicas`.
#[must_use]
pub fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .filter(|part| !part.is_empty())
        .try_fold(object, |value, part| value.get(part))
}
