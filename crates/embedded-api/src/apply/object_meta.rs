//! The schema of `metadata`, the same for every kind (meta/v1 ObjectMeta).
//!
//! Owns: which lists of it are sets and maps, how strategic merge patches treat them, and which fields have no owner.
//! Must not: check names or labels.

use super::field_set::FieldSet;
use crate::schema::{ListType, Schema, Type};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The schema of `metadata`.
pub static OBJECT_META: LazyLock<Schema> = LazyLock::new(object_meta);

/// Fields that have no owner: the object's name and the fields that the server manages.
pub static OWNERLESS: LazyLock<FieldSet> = LazyLock::new(|| {
    let server = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let roots = ["apiVersion", "kind", "metadata"].map(|name| FieldSet::fields(&[name]));
    let below = server.map(|name| FieldSet::fields(&["metadata", name]));
    roots
        .into_iter()
        .chain(below)
        .fold(FieldSet::default(), FieldSet::union)
});

fn object_meta() -> Schema {
    let text = || of_type(Type::String);
    let strings = || Schema {
        additional: Some(Box::new(text())),
        ..of_type(Type::Object)
    };
    let time = || Schema {
        rules: json!({"format": "date-time"}),
        ..text()
    };
    let properties = [
        ("annotations", strings()),
        ("creationTimestamp", time()),
        ("deletionGracePeriodSeconds", of_type(Type::Integer)),
        ("deletionTimestamp", time()),
        ("finalizers", merged(text(), ListType::Set, "")),
        ("generateName", text()),
        ("generation", of_type(Type::Integer)),
        ("labels", strings()),
        ("managedFields", list(Schema::default())),
        ("name", text()),
        ("namespace", text()),
        (
            "ownerReferences",
            merged(owner(), ListType::Map(vec!["uid".to_owned()]), "uid"),
        ),
        ("resourceVersion", text()),
        ("selfLink", text()),
        ("uid", text()),
    ];
    object(properties)
}

fn owner() -> Schema {
    let text = || of_type(Type::String);
    let truth = || of_type(Type::Boolean);
    let properties = [
        ("apiVersion", text()),
        ("blockOwnerDeletion", truth()),
        ("controller", truth()),
        ("kind", text()),
        ("name", text()),
        ("uid", text()),
    ];
    Schema {
        atomic_map: true,
        ..object(properties)
    }
}

fn of_type(type_: Type) -> Schema {
    Schema {
        type_: Some(type_),
        ..Schema::default()
    }
}

fn object<const N: usize>(properties: [(&str, Schema); N]) -> Schema {
    let properties = properties.map(|(name, schema)| (name.to_owned(), schema));
    Schema {
        properties: BTreeMap::from(properties),
        ..of_type(Type::Object)
    }
}

fn list(items: Schema) -> Schema {
    Schema {
        items: Some(Box::new(items)),
        ..of_type(Type::Array)
    }
}

fn merged(items: Schema, list_type: ListType, key: &str) -> Schema {
    Schema {
        list: list_type,
        patch_merge_key: Some(key.to_owned()),
        ..list(items)
    }
}
