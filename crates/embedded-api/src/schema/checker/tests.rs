//! The checker against what an API server (1.36) answered: `recorded.json` has schemas, objects and answers.
//!
//! Owns: the replay, and the order of the checks. Must not: test single rules; their own files do.

use super::*;
use crate::resource::{Scale, Verb};
use crate::schema::Schema;
use crate::schema::cause::line;
use serde_json::json;
use std::sync::Arc;

fn resource(group: &str, version: &str, plural: &str, kind: &str, schema: &Value) -> Resource {
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        verbs: Verb::ALL.to_vec(),
        has_status: true,
        scale: None,
        columns: Vec::new(),
        selectable_fields: Vec::new(),
        schema: Arc::new(Schema::parse(schema).unwrap()),
        custom: true,
        storage: plural.into(),
    }
}

/// The kinds that the project itself defines.
fn own(plural: &str) -> Resource {
    let path = format!("{}/../../crds/{plural}.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let document: Value = serde_saphyr::from_str(&text).unwrap();
    let spec = &document["spec"];
    let version = &spec["versions"][0];
    let name = |value: &Value| value.as_str().unwrap().to_owned();
    let mut own = resource(
        &name(&spec["group"]),
        &name(&version["name"]),
        plural,
        &name(&spec["names"]["kind"]),
        &version["schema"]["openAPIV3Schema"],
    );
    own.scale = version["subresources"].get("scale").map(|scale| Scale {
        spec_replicas: name(&scale["specReplicasPath"]),
        status_replicas: name(&scale["statusReplicasPath"]),
        label_selector: Some(name(&scale["labelSelectorPath"])),
    });
    own
}

fn recorded() -> Value {
    serde_json::from_str(include_str!("recorded.json")).unwrap()
}

fn checkers() -> Vec<Checker> {
    let recorded = recorded();
    let text = |kind: &Value, key: &str| kind[key].as_str().unwrap().to_owned();
    let kinds = recorded["kinds"].as_array().unwrap().iter().map(|kind| {
        resource(
            &text(kind, "group"),
            &text(kind, "version"),
            &text(kind, "plural"),
            &text(kind, "kind"),
            &kind["schema"],
        )
    });
    let all = kinds.chain([own("drones"), own("swarms")]);
    all.map(|resource| Checker::new(&resource).unwrap()).collect()
}

/// The checker's result for a recorded request: code, message or causes, warnings, and the object.
fn replay(checker: &Checker, case: &Value) -> (i64, String, Vec<String>, Vec<String>, Value) {
    let read = match checker.read(case["new"].clone()) {
        Ok(read) => read,
        Err(rejection) => {
            let refusal = rejection.refusal(&checker.resource, "x");
            return (i64::from(refusal.code), refusal.message, vec![], vec![], Value::Null);
        }
    };
    let mut warnings = read.unknown;
    warnings.extend(read.warnings);
    let mut object = read.value;
    if object.get("metadata").is_none() {
        object["metadata"] = json!({});
    }
    object["metadata"]["namespace"] = "default".into();
    for set in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "generation",
        "uid",
        "selfLink",
    ] {
        object["metadata"].as_object_mut().unwrap().remove(set);
    }
    let old = case.get("old").map(|old| {
        let mut old = old.clone();
        defaults::fill(&mut old, &checker.resource.schema);
        old
    });
    let subject = match case.get("subject") {
        Some(_) => Subject::Status,
        None => Subject::Main,
    };
    let what = match subject {
        Subject::Main => "status",
        Subject::Status => "spec",
    };
    match old.as_ref().and_then(|old| old.get(what)) {
        Some(value) => object[what] = value.clone(),
        None => {
            object.as_object_mut().unwrap().remove(what);
        }
    }
    match checker.check(&object, old.as_ref(), subject) {
        Ok(more) => {
            warnings.extend(more);
            (201, String::new(), vec![], warnings, object)
        }
        Err(Rejection::Invalid(causes)) => {
            let reasons = |cause: &Cause| format!("{} {}", cause.reason, line(cause));
            (
                422,
                String::new(),
                causes.iter().map(reasons).collect(),
                warnings,
                Value::Null,
            )
        }
        Err(Rejection::Malformed(why)) => (400, why, vec![], warnings, Value::Null),
    }
}

#[test]
fn every_recorded_object_is_answered_as_the_api_server_answered() {
    let checkers = checkers();
    let mut wrong = Vec::new();
    let recorded = recorded();
    for case in recorded["cases"].as_array().unwrap() {
        let kind = case.get("kind").unwrap_or(&case["new"]["kind"]).as_str().unwrap();
        let checker = checkers.iter().find(|checker| checker.resource.kind == kind).unwrap();
        let (code, message, mut causes, warnings, value) = replay(checker, case);
        let texts = |key: &str| -> Vec<String> {
            let all = case.get(key).and_then(Value::as_array).into_iter().flatten();
            all.map(|each| match each.as_array() {
                Some(parts) => {
                    let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
                    format!("{} {}: {}", parts[0], parts[1], parts[2])
                }
                None => each.as_str().unwrap().to_owned(),
            })
            .collect()
        };
        // The API server visits fields in random order.
        let mut wanted = texts("causes");
        wanted.sort();
        causes.sort();
        let code_wanted = match case["code"].as_i64().unwrap() {
            200 => 201,
            code => code,
        };
        let message_wanted = case.get("message").and_then(Value::as_str).unwrap_or_default();
        // Warnings of a refused request are not sent here.
        let warned = code != 201 || warnings == texts("warnings");
        let value_fits = case.get("value").is_none_or(|wanted| *wanted == value);
        if (code, message.as_str()) != (code_wanted, message_wanted) || causes != wanted || !warned || !value_fits {
            wrong.push(format!(
                "{}\n  wanted {code_wanted} {message_wanted} {wanted:#?} {:?} {}\n  got    {code} {message} {causes:#?} {warnings:?} {value}",
                case["name"],
                texts("warnings"),
                case.get("value").unwrap_or(&Value::Null),
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
