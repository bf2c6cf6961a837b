//! What is served: one descriptor per kind of object, built in or read from a CustomResourceDefinition.

use crate::schema::Schema;
use serde_json::Value;
use std::sync::Arc;

/// One kind of object in one version.
#[derive(Clone, Debug)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: String,
    /// Version, such as `v1`.
    pub version: String,
    /// Plural name in lower case, as in URLs: `drones`.
    pub plural: String,
    /// Singular name in lower case: `drone`.
    pub singular: String,
    /// Kind: `Drone`.
    pub kind: String,
    /// Kind of a list: `DroneList`.
    pub list_kind: String,
    /// Short names: `dr`.
    pub short_names: Vec<String>,
    /// Groups of kinds that can be requested by one name: `all`.
    pub categories: Vec<String>,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// The verbs that it supports: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verbs: Vec<Verb>,
    /// Whether `/status` is a subresource of its own.
    pub has_status: bool,
    /// The paths of the scale subresource, if it has one.
    pub scale: Option<Scale>,
    /// Columns of `kubectl get`, besides NAME. Empty: AGE only.
    pub columns: Vec<Column>,
    /// Paths, besides `metadata.name` and `metadata.namespace`, that field selectors may use: `spec.nodeName`.
    pub selectable_fields: Vec<String>,
    /// The schema of an object of this kind.
    pub schema: Arc<Schema>,
    /// Whether it came from a CustomResourceDefinition. Custom resources are pruned and validated by their schema and
    /// do not support strategic merge patches; built-in ones do.
    pub custom: bool,
    /// The name under which objects are stored. Kinds with the same `storage` are two representations of the same objects, as
    /// `v1` and `events.k8s.io/v1` Events are.
    pub storage: Arc<str>,
}

/// A verb on objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Read one.
    Get,
    /// Read many.
    List,
    /// Follow changes.
    Watch,
    /// Create one.
    Create,
    /// Replace one.
    Update,
    /// Change one.
    Patch,
    /// Delete one.
    Delete,
    /// Delete many.
    DeleteCollection,
}

impl Verb {
    /// All of them.
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

    /// Its name in discovery documents.
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

/// Where the numbers of the scale subresource are, as simple paths such as `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The desired number.
    pub spec_replicas: String,
    /// The present number.
    pub status_replicas: String,
    /// The label selector as text, if the kind has one.
    pub label_selector: Option<String>,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Title: `Phase`.
    pub name: String,
    /// OpenAPI type: `string`, `integer`, `number`, `boolean`, `date`.
    pub type_: String,
    /// OpenAPI format, or empty.
    pub format: String,
    /// What it shows.
    pub description: String,
    /// 0 is always shown, others with `-o wide`.
    pub priority: i64,
    /// Kubernetes JSONPath without braces: `.status.phase`.
    pub json_path: String,
}

impl Resource {
    /// `group/version`, or the version alone in the core group: what `apiVersion` says.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `plural.group`, or the plural alone in the core group: the name in messages (`drones.skein.dev "x" not found`).
    #[must_use]
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// Whether `verb` is served.
    #[must_use]
    pub fn serves(&self, verb: Verb) -> bool {
        self.verbs.contains(&verb)
    }
}

/// The value at a simple path such as `.spec.replicas`.
#[must_use]
pub fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .filter(|part| !part.is_empty())
        .try_fold(object, |value, part| value.get(part))
}
