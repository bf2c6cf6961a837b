//! Fields of `metadata` without an owner: the object's name, and the fields that the server manages.

use super::field_set::FieldSet;
use std::sync::LazyLock;

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
