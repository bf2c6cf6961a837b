//! Discovery. Owns: the documents at `/api`, `/apis` and below, plain and aggregated, and `/version`. Must not: know
//! objects.

pub mod openapi;

use crate::documents::fingerprint;
use crate::kinds::Registry;
use crate::resource::{Resource, Verb};
use kube::core::Version;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// kubectl warns when its own release is more than one minor release apart. The suffix marks that no cluster is behind
/// it.
pub const GIT_VERSION: &str = "v1.36.0+embedded";

const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

#[must_use]
pub fn version() -> Value {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    json!({
        "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "35",
        "gitVersion": GIT_VERSION, "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "", "compiler": "rustc", "platform": format!("{}/{architecture}", std::env::consts::OS),
    })
}

#[must_use]
pub fn core_versions(registry: &Registry) -> Value {
    let core = by_group(registry).remove("").unwrap_or_default();
    json!({"kind": "APIVersions", "versions": versions(&core), "serverAddressByClientCIDRs": []})
}

#[must_use]
pub fn groups(registry: &Registry) -> Value {
    let groups: Vec<Value> = named(registry)
        .iter()
        .map(|(name, kinds)| group_document(name, kinds))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

#[must_use]
pub fn group(registry: &Registry, name: &str) -> Option<Value> {
    let groups = named(registry);
    let mut document = group_document(name, groups.get(name)?);
    document["kind"] = "APIGroup".into();
    document["apiVersion"] = "v1".into();
    Some(document)
}

#[must_use]
pub fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let kinds = registry
        .iter()
        .filter(|kind| kind.group == group && kind.version == version);
    let listed: Vec<Value> = kinds.flat_map(|kind| resource(kind)).collect();
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    (!listed.is_empty()).then(
        || json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}),
    )
}

/// `/api` (`core`) or `/apis`, with its ETag.
#[must_use]
pub fn aggregated(registry: &Registry, core: bool) -> (Value, String) {
    let groups = by_group(registry);
    let groups = groups.iter().filter(|(name, _)| name.is_empty() == core);
    let items: Vec<Value> = groups.map(|(name, kinds)| aggregated_group(name, kinds)).collect();
    let document = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    let tag = fingerprint::of(document.to_string().as_bytes());
    (document, format!("\"{tag}\""))
}

type Kinds<'a> = Vec<&'a Arc<Resource>>;

fn by_group(registry: &Registry) -> BTreeMap<&str, Kinds<'_>> {
    let mut groups: BTreeMap<&str, Kinds<'_>> = BTreeMap::new();
    for kind in registry.iter() {
        groups.entry(&kind.group).or_default().push(kind);
    }
    groups
}

fn named(registry: &Registry) -> BTreeMap<&str, Kinds<'_>> {
    let mut groups = by_group(registry);
    groups.remove("");
    groups
}

/// Preferred first: stable before beta before alpha, high before low.
fn versions<'a>(kinds: &Kinds<'a>) -> Vec<&'a str> {
    let mut versions: Vec<&str> = kinds.iter().map(|kind| kind.version.as_str()).collect();
    versions.sort_by_key(|version| Reverse(Version::parse(version).priority()));
    versions.dedup();
    versions
}

fn group_document(name: &str, kinds: &Kinds<'_>) -> Value {
    let version = |version: &str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let versions: Vec<Value> = versions(kinds).into_iter().map(version).collect();
    json!({"name": name, "preferredVersion": versions.first(), "versions": versions})
}

fn resource(kind: &Resource) -> Vec<Value> {
    let mut main = json!({
        "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
        "verbs": verbs(kind),
    });
    add_names(&mut main, kind);
    let mut all = vec![main];
    for sub in subresources(kind) {
        let mut document = json!({
            "name": format!("{}/{}", kind.plural, sub.name), "singularName": "", "namespaced": kind.namespaced,
            "kind": sub.kind, "verbs": SUBRESOURCE_VERBS,
        });
        if let Some((group, version)) = sub.elsewhere {
            document["group"] = group.into();
            document["version"] = version.into();
        }
        all.push(document);
    }
    all
}

fn aggregated_group(name: &str, kinds: &Kinds<'_>) -> Value {
    let version = |version: &str| {
        let kinds = kinds.iter().filter(|kind| kind.version == version);
        let resources: Vec<Value> = kinds.map(|kind| aggregated_resource(kind)).collect();
        json!({"version": version, "resources": resources, "freshness": "Current"})
    };
    let versions: Vec<Value> = versions(kinds).into_iter().map(version).collect();
    let metadata = if name.is_empty() {
        json!({})
    } else {
        json!({"name": name})
    };
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_resource(kind: &Resource) -> Value {
    // Built-in kinds leave out what is equal to the version that they are listed under.
    let answers_with = |group: &str, version: &str, name: &str| {
        if kind.custom || (group, version) != (&kind.group, &kind.version) {
            json!({"group": group, "version": version, "kind": name})
        } else {
            json!({"group": "", "version": "", "kind": name})
        }
    };
    let mut document = json!({
        "resource": kind.plural, "responseKind": answers_with(&kind.group, &kind.version, &kind.kind),
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" }, "singularResource": kind.singular,
        "verbs": verbs(kind),
    });
    add_names(&mut document, kind);
    let subresource = |sub: Subresource<'_>| {
        let (group, version) = sub.elsewhere.unwrap_or((&kind.group, &kind.version));
        json!({
            "subresource": sub.name, "responseKind": answers_with(group, version, sub.kind), "verbs": SUBRESOURCE_VERBS,
        })
    };
    let subresources: Vec<Value> = subresources(kind).into_iter().map(subresource).collect();
    if !subresources.is_empty() {
        document["subresources"] = subresources.into();
    }
    document
}

struct Subresource<'a> {
    name: &'static str,
    kind: &'a str,
    elsewhere: Option<(&'static str, &'static str)>,
}

fn subresources(kind: &Resource) -> Vec<Subresource<'_>> {
    let status = kind.has_status.then_some(Subresource {
        name: "status",
        kind: &kind.kind,
        elsewhere: None,
    });
    let scale = kind.scale.as_ref().map(|_| Subresource {
        name: "scale",
        kind: "Scale",
        elsewhere: Some(("autoscaling", "v1")),
    });
    status.into_iter().chain(scale).collect()
}

/// Built-in kinds list their verbs in alphabetical order, custom ones in an order of their own.
fn verbs(kind: &Resource) -> Vec<&'static str> {
    let mut verbs: Vec<Verb> = kind.verbs.clone();
    if kind.custom {
        verbs.sort_unstable_by_key(|verb| CUSTOM_ORDER.iter().position(|known| known == verb));
    } else {
        verbs.sort_unstable_by_key(|verb| verb.name());
    }
    verbs.into_iter().map(Verb::name).collect()
}

const CUSTOM_ORDER: [Verb; 8] = [
    Verb::Delete,
    Verb::DeleteCollection,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Create,
    Verb::Update,
    Verb::Watch,
];

fn add_names(document: &mut Value, kind: &Resource) {
    let mut names = Map::new();
    for (key, list) in [("shortNames", &kind.short_names), ("categories", &kind.categories)] {
        if !list.is_empty() {
            names.insert(key.to_owned(), json!(list));
        }
    }
    if let Some(document) = document.as_object_mut() {
        document.extend(names);
    }
}

#[cfg(test)]
mod tests;
