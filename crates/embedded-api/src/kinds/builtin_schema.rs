//! Schemas of the built-in kinds: those of `k8s-openapi`, which gives types and descriptions, and how lists and maps
//! merge by the table [`MERGING`]; other lists are replaced as a whole.

use crate::schema::Schema;
use k8s_openapi::api::{authentication, authorization, autoscaling, coordination, core, events};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_openapi::apimachinery::pkg::apis::meta;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::sync::{Arc, LazyLock};

pub const REFERENCE: &str = "#/components/schemas/";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    Check,
    /// Clients never create objects: anything is accepted, and the (large) schema is not parsed.
    NeverMade,
}

enum Merging {
    ByKey(&'static str),
    /// Merges for apply only: a strategic merge patch replaces the list.
    ByKeyInApply(&'static str),
    Set,
    AtomicMap,
}

/// Rules by type or `Type.field`, from the OpenAPI document of Kubernetes 1.36.
const MERGING: &[(&str, Merging)] = &[
    (
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta.finalizers",
        Merging::Set,
    ),
    (
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta.ownerReferences",
        Merging::ByKey("uid"),
    ),
    (
        "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
        Merging::AtomicMap,
    ),
    ("io.k8s.api.core.v1.ObjectReference", Merging::AtomicMap),
    ("io.k8s.api.core.v1.NodeSpec.podCIDRs", Merging::Set),
    ("io.k8s.api.core.v1.NodeStatus.addresses", Merging::ByKey("type")),
    ("io.k8s.api.core.v1.NodeStatus.conditions", Merging::ByKey("type")),
    ("io.k8s.api.core.v1.NamespaceStatus.conditions", Merging::ByKey("type")),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus.conditions",
        Merging::ByKeyInApply("type"),
    ),
];

/// The only kind that requires `metadata`. The Rust types always have it, so `k8s-openapi` says that all kinds do.
const NEEDS_METADATA: &str = "io.k8s.api.core.v1.Event";

/// Schemas of built-in kinds and all that they refer to, with references as in [`REFERENCE`].
#[must_use]
pub fn definitions() -> &'static Map<String, Value> {
    static DEFINITIONS: LazyLock<Map<String, Value>> = LazyLock::new(generate);
    &DEFINITIONS
}

pub(super) fn schema(name: &str, trust: Trust) -> Arc<Schema> {
    if trust == Trust::NeverMade {
        return Arc::new(Schema::anything());
    }
    let reference = json!({ "$ref": format!("{REFERENCE}{name}") });
    let parsed = Schema::parse_with(&reference, &OPEN_DEFINITIONS);
    Arc::new(parsed.expect("the built-in schemas are fixed, and a test parses each of them"))
}

/// Marks objects of unknown content: else their content would be pruned.
static OPEN_DEFINITIONS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let mut all = definitions().clone();
    for definition in all.values_mut() {
        let holds_anything = definition.get("type") == Some(&json!("object"))
            && definition.get("properties").is_none()
            && definition.get("additionalProperties").is_none();
        if holds_anything {
            definition["x-kubernetes-preserve-unknown-fields"] = true.into();
        }
    }
    all
});

fn generate() -> Map<String, Value> {
    let settings = SchemaSettings::default().with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    generator.subschema_for::<core::v1::ConfigMap>();
    generator.subschema_for::<core::v1::Node>();
    generator.subschema_for::<core::v1::Namespace>();
    generator.subschema_for::<core::v1::Event>();
    generator.subschema_for::<core::v1::Pod>();
    generator.subschema_for::<events::v1::Event>();
    generator.subschema_for::<coordination::v1::Lease>();
    generator.subschema_for::<authentication::v1::SelfSubjectReview>();
    generator.subschema_for::<authorization::v1::SelfSubjectAccessReview>();
    generator.subschema_for::<authorization::v1::SelfSubjectRulesReview>();
    generator.subschema_for::<apiextensions::v1::CustomResourceDefinition>();
    generator.subschema_for::<autoscaling::v1::Scale>();
    generator.subschema_for::<meta::v1::ListMeta>();
    generator.subschema_for::<meta::v1::Status>();
    generator.subschema_for::<meta::v1::DeleteOptions>();
    let mut all = generator.take_definitions(true);
    mark(&mut all);
    all
}

fn mark(all: &mut Map<String, Value>) {
    for (name, merging) in MERGING {
        if let Some(place) = place(all, name) {
            merging.write(place);
        }
    }
    for (name, definition) in all.iter_mut() {
        let required = definition.get_mut("required").and_then(Value::as_array_mut);
        let Some(required) = required.filter(|_| name != NEEDS_METADATA) else {
            continue;
        };
        required.retain(|each| each != "metadata");
        let nothing = required.is_empty();
        if let Some(definition) = definition.as_object_mut().filter(|_| nothing) {
            definition.remove("required");
        }
    }
}

fn place<'a>(all: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    if all.contains_key(name) {
        return all.get_mut(name)?.as_object_mut();
    }
    let (type_, field) = name.rsplit_once('.')?;
    all.get_mut(type_)?
        .get_mut("properties")?
        .get_mut(field)?
        .as_object_mut()
}

impl Merging {
    fn write(&self, into: &mut Map<String, Value>) {
        let mut set = |key: &str, value: Value| into.insert(key.to_owned(), value);
        match self {
            Self::AtomicMap => {
                set("x-kubernetes-map-type", "atomic".into());
            }
            Self::Set => {
                set("x-kubernetes-list-type", "set".into());
                set("x-kubernetes-patch-strategy", "merge".into());
            }
            Self::ByKey(key) | Self::ByKeyInApply(key) => {
                set("x-kubernetes-list-type", "map".into());
                set("x-kubernetes-list-map-keys", json!([key]));
                if matches!(self, Self::ByKey(_)) {
                    set("x-kubernetes-patch-strategy", "merge".into());
                    set("x-kubernetes-patch-merge-key", (*key).into());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ListType;

    #[test]
    fn every_row_of_the_merging_table_names_something_that_exists() {
        let mut all = definitions().clone();
        for (name, _) in MERGING {
            assert!(place(&mut all, name).is_some(), "{name}");
        }
    }

    #[test]
    fn conditions_of_a_node_are_distinguished_by_their_type() {
        let node = schema("io.k8s.api.core.v1.Node", Trust::Check);
        let conditions = &node.properties["status"].properties["conditions"];
        assert_eq!(conditions.list, ListType::Map(vec!["type".to_owned()]));
        assert_eq!(conditions.patch_merge_key.as_deref(), Some("type"));
        assert_eq!(node.properties["spec"].properties["taints"].list, ListType::Atomic);
        assert_eq!(node.properties["spec"].properties["taints"].patch_merge_key, None);
    }

    #[test]
    fn finalizers_are_a_set_and_owners_are_distinguished_by_uid() {
        let lease = schema("io.k8s.api.coordination.v1.Lease", Trust::Check);
        let metadata = &lease.properties["metadata"].properties;
        assert_eq!(metadata["finalizers"].list, ListType::Set);
        assert_eq!(metadata["finalizers"].patch_merge_key.as_deref(), Some(""));
        assert_eq!(metadata["ownerReferences"].list, ListType::Map(vec!["uid".to_owned()]));
    }

    #[test]
    fn the_fields_that_a_manager_owns_are_not_pruned() {
        let node = schema("io.k8s.api.core.v1.Node", Trust::Check);
        let managed = &node.properties["metadata"].properties["managedFields"];
        let entry = managed.items.as_deref().expect("a list of entries");
        assert!(entry.properties["fieldsV1"].preserve_unknown);
    }

    #[test]
    fn a_lease_needs_no_metadata_to_be_well_formed() {
        let lease = &definitions()["io.k8s.api.coordination.v1.Lease"];
        assert_eq!(lease.get("required"), None);
    }
}
