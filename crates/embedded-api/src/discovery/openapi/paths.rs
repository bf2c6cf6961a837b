//! Requests of a kind, as OpenAPI paths and operations.

use super::components;
use crate::resource::{Resource, Verb};
use serde_json::{Map, Value, json};

/// Clients choose the best one that a kind supports.
const PATCHES: [&str; 3] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
];
const STRATEGIC: &str = "application/strategic-merge-patch+json";

type Parameter = (&'static str, &'static str);

/// Clients search for `dryRun` and `fieldValidation` to see whether they can be used.
const WRITING: &[Parameter] = &[
    ("dryRun", "string"),
    ("fieldManager", "string"),
    ("fieldValidation", "string"),
];
const FORCE: &[Parameter] = &[("force", "boolean")];
const DELETING: &[Parameter] = &[
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];
const LISTING: &[Parameter] = &[
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];

pub(super) fn add(paths: &mut Map<String, Value>, root: &str, kind: &Resource) {
    let (main, lists) = (components::reference(kind), components::list_reference(kind));
    let options = components::meta_reference("DeleteOptions");
    let status = components::meta_reference("Status");
    let request =
        |verb: Verb, method: &str, action: &str, taken: &[&[Parameter]], answer: &Value, body: Option<Value>| {
            kind.serves(verb).then(|| {
                (
                    method.to_owned(),
                    operation(kind, action, &taken.concat(), answer, body),
                )
            })
        };
    let list = || request(Verb::List, "get", "list", &[LISTING], &lists, None);
    let everywhere = format!("/{root}/{}", kind.plural);
    let collection = match kind.namespaced {
        true => format!("/{root}/namespaces/{{namespace}}/{}", kind.plural),
        false => everywhere.clone(),
    };
    let item = format!("{collection}/{{name}}");
    let read_and_write = |answer: &Value| {
        [
            request(Verb::Get, "get", "get", &[], answer, None),
            request(Verb::Update, "put", "put", &[WRITING], answer, Some(any(answer))),
            request(
                Verb::Patch,
                "patch",
                "patch",
                &[WRITING, FORCE],
                answer,
                Some(patches(kind)),
            ),
        ]
    };
    let mut insert = |path: &str, requests: Vec<Option<(String, Value)>>| {
        let mut all: Map<String, Value> = requests.into_iter().flatten().collect();
        if !all.is_empty() {
            all.insert("parameters".to_owned(), in_path(path));
            paths.insert(path.to_owned(), all.into());
        }
    };
    if kind.namespaced {
        insert(&everywhere, vec![list()]);
    }
    let create = request(Verb::Create, "post", "post", &[WRITING], &main, Some(any(&main)));
    let taken: &[&[Parameter]] = &[DELETING, LISTING];
    let delete_all = Some(any(&options));
    let delete_all = request(
        Verb::DeleteCollection,
        "delete",
        "deletecollection",
        taken,
        &status,
        delete_all,
    );
    insert(&collection, vec![list(), create, delete_all]);
    let delete = request(
        Verb::Delete,
        "delete",
        "delete",
        &[DELETING],
        &status,
        Some(any(&options)),
    );
    insert(&item, [vec![delete], read_and_write(&main).to_vec()].concat());
    if kind.has_status {
        insert(&format!("{item}/status"), read_and_write(&main).to_vec());
    }
    if kind.scale.is_some() {
        insert(
            &format!("{item}/scale"),
            read_and_write(&components::scale_reference()).to_vec(),
        );
    }
}

fn operation(kind: &Resource, action: &str, taken: &[Parameter], answer: &Value, body: Option<Value>) -> Value {
    let parameter = |(name, type_): &Parameter| json!({"name": name, "in": "query", "schema": {"type": type_}});
    let (group, version) = (&kind.group, &kind.version);
    let mut operation = json!({
        "parameters": taken.iter().map(parameter).collect::<Value>(),
        "responses": {"200": {
            "description": "OK",
            "content": {"application/json": {"schema": answer}, "application/yaml": {"schema": answer}},
        }},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind.kind},
    });
    if let Some(content) = body {
        operation["requestBody"] = json!({"content": content, "required": !action.starts_with("delete")});
    }
    operation
}

fn patches(kind: &Resource) -> Value {
    let change = json!({"schema": components::meta_reference("Patch")});
    let further = (!kind.custom).then_some(STRATEGIC);
    let forms = PATCHES.into_iter().chain(further);
    Value::Object(forms.map(|form| (form.to_owned(), change.clone())).collect())
}

fn any(schema: &Value) -> Value {
    json!({"*/*": {"schema": schema}})
}

fn in_path(path: &str) -> Value {
    let named = ["namespace", "name"].into_iter();
    let named = named.filter(|name| path.contains(&format!("{{{name}}}")));
    named
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect()
}
