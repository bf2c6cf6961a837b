//! The parameters of requests, as an OpenAPI document describes them.
//!
//! Owns: names, types and descriptions. Must not: read them (the verbs do).

use serde_json::{Value, json};

/// Parameters of write requests. Clients search for `dryRun` and `fieldValidation` to see whether they can be used.
pub(super) fn writing() -> Vec<Value> {
    vec![
        query(
            "dryRun",
            "string",
            "With the value All, everything is done but keeping the result.",
        ),
        query(
            "fieldManager",
            "string",
            "Who makes the change, for metadata.managedFields.",
        ),
        query(
            "fieldValidation",
            "string",
            "What happens to fields that are not known or stand twice: Ignore drops them, Warn drops them and says so, \
             Strict refuses the request.",
        ),
    ]
}

/// Parameters of patches.
pub(super) fn patching() -> Vec<Value> {
    let mut all = writing();
    all.push(query(
        "force",
        "boolean",
        "For apply: take over fields that another manager owns.",
    ));
    all
}

/// Parameters of deletions.
pub(super) fn deleting() -> Vec<Value> {
    vec![
        query("dryRun", "string", "With the value All, nothing is deleted."),
        query(
            "gracePeriodSeconds",
            "integer",
            "How long the object may take to end, in seconds.",
        ),
        query(
            "orphanDependents",
            "boolean",
            "The older form of propagationPolicy=Orphan.",
        ),
        query(
            "propagationPolicy",
            "string",
            "What happens to objects that this one owns: Background, Foreground or Orphan.",
        ),
    ]
}

/// Parameters of lists and watches.
pub(super) fn listing() -> Vec<Value> {
    vec![
        query("allowWatchBookmarks", "boolean", "Whether a watch may send bookmarks."),
        query(
            "continue",
            "string",
            "Where the next part of a list begins, from the part before.",
        ),
        query(
            "fieldSelector",
            "string",
            "Which objects, by their fields: metadata.name=a.",
        ),
        query("labelSelector", "string", "Which objects, by their labels: a=b,c!=d."),
        query("limit", "integer", "How many objects a part of a list has at most."),
        query("resourceVersion", "string", "From which revision on."),
        query(
            "resourceVersionMatch",
            "string",
            "Whether a list shows that revision (Exact) or one not older (NotOlderThan).",
        ),
        query(
            "sendInitialEvents",
            "boolean",
            "Whether a watch begins with what is there, followed by a bookmark.",
        ),
        query("timeoutSeconds", "integer", "When a watch ends, in seconds."),
        query("watch", "boolean", "Whether changes follow instead of a list."),
    ]
}

/// The name in a path.
pub(super) fn name() -> Value {
    path("name", "Name of the object.")
}

/// The namespace in a path.
pub(super) fn namespace() -> Value {
    path("namespace", "Namespace of the object.")
}

/// Parameters that every request takes.
pub(super) fn pretty() -> Value {
    query("pretty", "string", "Accepted, and without effect.")
}

fn query(name: &str, type_: &str, description: &str) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": {"type": type_, "uniqueItems": true}})
}

fn path(name: &str, description: &str) -> Value {
    json!({
        "name": name, "in": "path", "description": description, "required": true,
        "schema": {"type": "string", "uniqueItems": true},
    })
}
