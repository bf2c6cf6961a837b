//! The RBAC permissions of a ServiceAccount, split into single ones, so that unused ones can be found.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Request;
use crate::Kubectl;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    pub verb: String,
    /// Empty for the core group.
    pub group: String,
    pub resource: String,
    pub name: Option<String>,
    /// `None` for all.
    pub namespace: Option<String>,
}

impl Grant {
    /// Whether a request used it; a wildcard covers what it allows.
    pub fn covers(&self, request: &Request) -> bool {
        let allows = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        allows(&self.verb, &request.verb)
            && allows(&self.group, &request.group)
            && allows(&self.resource, &request.resource)
            && self.name.as_ref().is_none_or(|name| *name == request.name)
            && self
                .namespace
                .as_ref()
                .is_none_or(|namespace| *namespace == request.namespace)
    }
}

/// Permissions by bindings that name the ServiceAccount.
pub(super) fn of(kubectl: &Kubectl, namespace: &str, name: &str) -> anyhow::Result<BTreeSet<Grant>> {
    let mut grants = BTreeSet::new();
    for kind in ["clusterrolebindings", "rolebindings"] {
        let bindings = kubectl.json(["get", kind, "--all-namespaces"])?;
        for binding in items(&bindings).filter(|binding| is_for(binding, namespace, name)) {
            let within = binding["metadata"]["namespace"].as_str();
            let role = text(&binding["roleRef"]["name"]);
            let role = match (binding["roleRef"]["kind"].as_str(), within) {
                (Some("Role"), Some(within)) => kubectl.json(["get", "role", role, "-n", within])?,
                _ => kubectl.json(["get", "clusterrole", role])?,
            };
            grants.extend(rules(&role, within));
        }
    }
    Ok(grants)
}

fn is_for(binding: &Value, namespace: &str, name: &str) -> bool {
    let subjects = binding["subjects"].as_array().into_iter().flatten();
    let us = |subject: &&Value| subject["kind"] == "ServiceAccount" && subject["name"] == name;
    subjects.filter(us).any(|subject| subject["namespace"] == namespace)
}

fn rules(role: &Value, within: Option<&str>) -> Vec<Grant> {
    let mut grants = Vec::new();
    for rule in role["rules"].as_array().into_iter().flatten() {
        let names: Vec<Option<String>> = match strings(&rule["resourceNames"]) {
            names if names.is_empty() => vec![None],
            names => names.into_iter().map(Some).collect(),
        };
        for group in strings(&rule["apiGroups"]) {
            for resource in strings(&rule["resources"]) {
                for verb in strings(&rule["verbs"]) {
                    grants.extend(names.iter().map(|name| Grant {
                        verb: verb.clone(),
                        group: group.clone(),
                        resource: resource.clone(),
                        name: name.clone(),
                        namespace: within.map(str::to_owned),
                    }));
                }
            }
        }
    }
    grants
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(verb: &str, resource: &str) -> Request {
        let text = |text: &str| text.to_owned();
        Request {
            user: text("u"),
            verb: text(verb),
            group: text("skein.dev"),
            resource: text(resource),
            namespace: text("ns"),
            name: text("x"),
            uri: text("/"),
            code: 200,
        }
    }

    #[test]
    fn a_rule_is_taken_apart_and_each_part_matches_its_own_requests() {
        let role = json!({"rules": [
            {"apiGroups": ["skein.dev"], "resources": ["drones", "drones/status"], "verbs": ["get", "patch"]},
        ]});
        let grants = rules(&role, None);
        assert_eq!(grants.len(), 4);
        let used: Vec<&Grant> = grants
            .iter()
            .filter(|grant| grant.covers(&request("patch", "drones/status")))
            .collect();
        assert_eq!(used.len(), 1);
        assert_eq!(
            (used[0].verb.as_str(), used[0].resource.as_str()),
            ("patch", "drones/status")
        );
    }

    #[test]
    fn a_grant_for_one_object_in_one_namespace_is_not_used_by_another() {
        let role = json!({"rules": [
            {"apiGroups": ["skein.dev"], "resources": ["drones"], "resourceNames": ["x"], "verbs": ["get"]},
        ]});
        let grant = |within| rules(&role, Some(within)).remove(0);
        assert!(grant("ns").covers(&request("get", "drones")));
        assert!(!grant("other").covers(&request("get", "drones")));
        assert!(!grant("ns").covers(&Request {
            name: "y".into(),
            ..request("get", "drones")
        }));
    }
}
