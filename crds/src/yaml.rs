//! The CRDs as YAML files, generated from the types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

const HEAD: &str = "# Generated from the types of the `crds` crate by `cargo xtask generate`; do not edit.\n";

/// A CRD could not be written as YAML, which is a fault in the types.
#[derive(Debug, thiserror::Error)]
pub enum CannotWrite {
    /// As a tree.
    #[error("the CRD cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// As text.
    #[error("the CRD cannot be written as YAML")]
    Yaml(#[from] serde_saphyr::ser::Error),
}

/// File name and content of each CRD.
///
/// # Errors
/// [`CannotWrite`], which is a fault in the types.
pub fn files() -> Result<Vec<(&'static str, String)>, CannotWrite> {
    Ok(vec![
        ("swarms.yaml", file(&crate::Swarm::crd())?),
        ("drones.yaml", file(&crate::Drone::crd())?),
        ("groundorders.yaml", file(&crate::GroundOrder::crd())?),
        ("vehicles.yaml", file(&crate::Vehicle::crd())?),
        ("geofences.yaml", file(&crate::Geofence::crd())?),
        ("parameterprofiles.yaml", file(&crate::ParameterProfile::crd())?),
        ("missions.yaml", file(&crate::Mission::crd())?),
        ("operators.yaml", file(&crate::Operator::crd())?),
    ])
}

/// The CRDs as documents, for an API server that is given them at its start; the files have the same.
///
/// # Errors
/// [`CannotWrite`], which is a fault in the types.
pub fn documents() -> Result<Vec<Value>, CannotWrite> {
    crds().iter().map(document).collect()
}

fn crds() -> [CustomResourceDefinition; 8] {
    [
        crate::Swarm::crd(),
        crate::Drone::crd(),
        crate::GroundOrder::crd(),
        crate::Vehicle::crd(),
        crate::Geofence::crd(),
        crate::ParameterProfile::crd(),
        crate::Mission::crd(),
        crate::Operator::crd(),
    ]
}

fn document(crd: &CustomResourceDefinition) -> Result<Value, CannotWrite> {
    let mut tree = serde_json::to_value(crd)?;
    join_lines(&mut tree);
    begin_unobserved(&mut tree);
    Ok(tree)
}

/// Until the coordinator has written a status, an object has one that says that it was not observed yet. Else tools that wait for objects
/// (kstatus, and so Flux) take one for done that has just been made.
fn begin_unobserved(tree: &mut Value) {
    let versions = tree.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        let status = version.pointer_mut("/schema/openAPIV3Schema/properties/status");
        // Kinds without observedGeneration are not waited for.
        let waited_for = |status: &&mut Value| status.pointer("/properties/observedGeneration").is_some();
        if let Some(Value::Object(status)) = status.filter(waited_for) {
            status.insert("default".to_owned(), json!({"observedGeneration": -1}));
        }
    }
}

fn file(crd: &CustomResourceDefinition) -> Result<String, CannotWrite> {
    Ok(format!("{HEAD}{}", serde_saphyr::to_string(&document(crd)?)?))
}

/// Descriptions come from doc comments with the line breaks of the source, which `kubectl explain` would show.
fn join_lines(tree: &mut Value) {
    match tree {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "description" => *text = text.replace('\n', " "),
                    other => join_lines(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(join_lines),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All fields below `schema`, each with its path.
    fn fields(path: &str, schema: &Value, found: &mut Vec<(String, Value)>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            fields(&path, field, found);
            fields(&path, &field["items"], found);
            found.push((path, field.clone()));
        }
    }

    fn all_fields() -> Vec<(String, Value)> {
        let mut found = Vec::new();
        for crd in crds() {
            let mut tree = serde_json::to_value(crd).unwrap();
            join_lines(&mut tree);
            let kind = tree["spec"]["names"]["kind"].as_str().unwrap().to_owned();
            fields(
                &kind,
                &tree["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
                &mut found,
            );
        }
        found
    }

    #[test]
    fn every_field_has_a_description_in_whole_sentences() {
        let found = all_fields();
        assert!(found.len() > 40, "{}", found.len());
        for (path, field) in found {
            let text = field["description"].as_str().unwrap_or_default();
            assert!(text.ends_with('.') && !text.contains('\n'), "{path}: {text:?}");
        }
    }

    #[test]
    fn every_rule_says_what_to_do_in_words_of_its_own() {
        let root = |crd| serde_json::to_value::<CustomResourceDefinition>(crd).unwrap();
        let roots = crds().map(|crd| root(crd)["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone());
        let schemas = all_fields().into_iter().map(|(_, field)| field).chain(roots);
        let rules: Vec<Value> = schemas
            .flat_map(|s| s["x-kubernetes-validations"].as_array().cloned().unwrap_or_default())
            .collect();
        assert_eq!(rules.len(), 104);
        for rule in rules {
            let message = rule["message"].as_str().unwrap_or_default();
            assert!(
                message.contains("; "),
                "what is wrong; what to do: {message:?} for {}",
                rule["rule"]
            );
        }
    }

    #[test]
    fn an_object_begins_with_a_status_that_says_that_it_was_not_observed() {
        for crd in documents().unwrap() {
            // Nothing waits for kinds that people do not create.
            let kind = crd["spec"]["names"]["kind"].as_str();
            if matches!(kind, Some("GroundOrder" | "Vehicle")) {
                continue;
            }
            let versions = crd["spec"]["versions"].as_array().unwrap().clone();
            assert!(!versions.is_empty());
            for version in versions {
                let status = &version["schema"]["openAPIV3Schema"]["properties"]["status"];
                assert_eq!(status["default"], json!({"observedGeneration": -1}));
                assert!(status["properties"]["observedGeneration"].is_object());
            }
        }
    }

    #[test]
    fn the_committed_files_are_those_of_the_types() {
        for (name, wanted) in files().unwrap() {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            assert_eq!(
                std::fs::read_to_string(path).unwrap(),
                wanted,
                "run `cargo xtask generate`"
            );
        }
    }
}
