//! The checker on the kinds that the project itself defines.

use super::*;
use crate::kinds::custom;
use crate::schema::cause::line;
use serde_json::json;

fn own(plural: &str) -> Checker {
    let path = format!("{}/../../crds/{plural}.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let document: Value = serde_saphyr::from_str(&text).unwrap();
    Checker::new(&custom::resources(&document).unwrap()[0]).unwrap()
}

fn swarm(spec: Value) -> Value {
    json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "spec": spec,
        "metadata": {"name": "a", "namespace": "default"}})
}

fn causes(rejection: Rejection) -> Vec<String> {
    match rejection {
        Rejection::Invalid(causes) => causes.iter().map(line).collect(),
        Rejection::Malformed(why) => vec![why],
    }
}

#[test]
fn an_object_is_read_with_its_defaults_and_without_unknown_fields() {
    let read = own("swarms").read(swarm(json!({"speed": 5, "replicas": 3}))).unwrap();
    assert_eq!(read.unknown, [r#"unknown field "spec.speed""#]);
    assert_eq!(read.value["spec"]["replicas"], 3);
    assert_eq!(read.value["spec"]["maxUnavailable"], 1);
    assert_eq!(read.value["spec"]["speed"], Value::Null);
}

#[test]
fn all_faults_are_reported_at_once_and_rules_only_where_the_types_are_right() {
    let checker = own("swarms");
    let refused = |spec: Value| {
        let read = checker.read(swarm(spec)).unwrap();
        causes(checker.check(&read.value, None, Subject::Main).unwrap_err())
    };
    let rules = refused(json!({"replicas": -1, "maxSurge": 0, "maxUnavailable": 0}));
    assert_eq!(rules.len(), 2, "{rules:#?}");
    let types = refused(json!({"replicas": "3", "maxUnavailable": 0, "onCordon": "x"}));
    let types: Vec<&str> = types.iter().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(types, ["spec.onCordon", "spec.replicas", cause::ROOT]);
}

#[test]
fn a_status_is_checked_alone() {
    let checker = own("swarms");
    let mut object = checker.read(swarm(json!({"replicas": 3}))).unwrap().value;
    object["status"]["replicas"] = json!("x");
    let found = causes(checker.check(&object, None, Subject::Status).unwrap_err());
    assert!(found[0].starts_with("status.replicas: "), "{found:?}");
}

#[test]
fn metadata_of_the_wrong_type_cannot_be_read() {
    let mut object = swarm(json!({}));
    object["metadata"]["labels"] = json!(5);
    let found = causes(own("swarms").read(object).unwrap_err());
    assert_eq!(found, ["metadata.labels: must be of type object"]);
}
