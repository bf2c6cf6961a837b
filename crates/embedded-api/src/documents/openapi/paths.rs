//! The requests of a kind, as an OpenAPI document lists them.
//!
//! Owns: paths and operations. Must not: describe objects beyond a reference.

use super::{components, parameters};
use crate::resource::{Resource, Verb};
use serde_json::{Map, Value, json};

/// Media types of patches. Clients search here for the best one that a kind supports.
const PATCHES: [&str; 3] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
];
/// One more, which only built-in kinds support.
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// Adds the paths of `kind` below `root`, as in `apis/sea.dev/v1`.
pub(super) fn add(paths: &mut Map<String, Value>, root: &str, kind: &Resource) {
    let plural = &kind.plural;
    let everywhere = format!("/{root}/{plural}");
    let (collection, scope) = if kind.namespaced {
        (format!("/{root}/namespaces/{{namespace}}/{plural}"), "Namespaced")
    } else {
        (everywhere.clone(), "")
    };
    let what = Operations { kind, scope };
    if kind.namespaced && kind.serves(Verb::List) {
        paths.insert(everywhere, what.everywhere());
    }
    insert(paths, collection.clone(), what.collection());
    insert(paths, format!("{collection}/{{name}}"), what.item());
    if kind.has_status {
        let main = components::reference(kind);
        insert(
            paths,
            format!("{collection}/{{name}}/status"),
            what.subresource("Status", &main),
        );
    }
    if kind.scale.is_some() {
        let scale = components::scale_reference();
        insert(
            paths,
            format!("{collection}/{{name}}/scale"),
            what.subresource("Scale", &scale),
        );
    }
}

fn insert(paths: &mut Map<String, Value>, path: String, operations: Map<String, Value>) {
    if operations.keys().any(|key| key != "parameters") {
        paths.insert(path, Value::Object(operations));
    }
}

struct Operations<'a> {
    kind: &'a Resource,
    /// `Namespaced`, or empty for a kind without namespaces: part of an operation's name.
    scope: &'a str,
}

/// One request: its HTTP method, the verb that names it, and the action under its Kubernetes name.
struct Request {
    method: &'static str,
    verb: &'static str,
    action: &'static str,
}

impl Operations<'_> {
    fn everywhere(&self) -> Value {
        let list = Request {
            method: "get",
            verb: "list",
            action: "list",
        };
        let mut operations = Map::new();
        let name = format!("{}ForAllNamespaces", self.kind.kind);
        let list = self.operation(
            &list,
            "",
            &name,
            parameters::listing(),
            &components::list_reference(self.kind),
        );
        operations.insert("get".to_owned(), list);
        operations.insert("parameters".to_owned(), json!([parameters::pretty()]));
        Value::Object(operations)
    }

    fn collection(&self) -> Map<String, Value> {
        let main = components::reference(self.kind);
        let mut all = self.with_parameters(&[]);
        let kind = &self.kind.kind;
        if self.kind.serves(Verb::List) {
            let list = Request {
                method: "get",
                verb: "list",
                action: "list",
            };
            let lists = components::list_reference(self.kind);
            self.put(&mut all, &list, kind, parameters::listing(), &lists, None);
        }
        if self.kind.serves(Verb::Create) {
            let create = Request {
                method: "post",
                verb: "create",
                action: "post",
            };
            self.put(&mut all, &create, kind, parameters::writing(), &main, Some(any(&main)));
        }
        if self.kind.serves(Verb::DeleteCollection) {
            let delete = Request {
                method: "delete",
                verb: "delete",
                action: "deletecollection",
            };
            let mut taken = parameters::deleting();
            taken.extend(parameters::listing());
            let status = components::meta_reference("Status");
            let options = any(&components::meta_reference("DeleteOptions"));
            self.put(&mut all, &delete, kind, taken, &status, Some(options));
        }
        all
    }

    fn item(&self) -> Map<String, Value> {
        let main = components::reference(self.kind);
        let kind = &self.kind.kind;
        let mut all = self.with_parameters(&[parameters::name()]);
        if self.kind.serves(Verb::Delete) {
            let delete = Request {
                method: "delete",
                verb: "delete",
                action: "delete",
            };
            let status = components::meta_reference("Status");
            let options = any(&components::meta_reference("DeleteOptions"));
            self.put(&mut all, &delete, kind, parameters::deleting(), &status, Some(options));
        }
        self.reads_and_writes(&mut all, kind, &main);
        all
    }

    fn subresource(&self, suffix: &str, answer: &Value) -> Map<String, Value> {
        let mut all = self.with_parameters(&[parameters::name()]);
        self.reads_and_writes(&mut all, &format!("{}{suffix}", self.kind.kind), answer);
        all
    }

    fn reads_and_writes(&self, all: &mut Map<String, Value>, name: &str, answer: &Value) {
        if self.kind.serves(Verb::Get) {
            let get = Request {
                method: "get",
                verb: "read",
                action: "get",
            };
            self.put(all, &get, name, Vec::new(), answer, None);
        }
        if self.kind.serves(Verb::Update) {
            let put = Request {
                method: "put",
                verb: "replace",
                action: "put",
            };
            self.put(all, &put, name, parameters::writing(), answer, Some(any(answer)));
        }
        if self.kind.serves(Verb::Patch) {
            let patch = Request {
                method: "patch",
                verb: "patch",
                action: "patch",
            };
            let change = components::meta_reference("Patch");
            let further = (!self.kind.custom).then_some(STRATEGIC);
            let forms = PATCHES.into_iter().chain(further);
            let content: Map<String, Value> = forms.map(|form| (form.to_owned(), json!({"schema": change}))).collect();
            self.put(all, &patch, name, parameters::patching(), answer, Some(json!(content)));
        }
    }

    fn with_parameters(&self, first: &[Value]) -> Map<String, Value> {
        let mut taken = first.to_vec();
        if self.kind.namespaced {
            taken.push(parameters::namespace());
        }
        taken.push(parameters::pretty());
        Map::from_iter([("parameters".to_owned(), taken.into())])
    }

    fn put(
        &self,
        into: &mut Map<String, Value>,
        request: &Request,
        name: &str,
        taken: Vec<Value>,
        answer: &Value,
        body: Option<Value>,
    ) {
        let mut operation = self.operation(request, self.scope, name, taken, answer);
        if let Some(content) = body {
            operation["requestBody"] = json!({"content": content, "required": request.method != "delete"});
        }
        into.insert(request.method.to_owned(), operation);
    }

    fn operation(&self, request: &Request, scope: &str, name: &str, taken: Vec<Value>, answer: &Value) -> Value {
        let Resource {
            group, version, kind, ..
        } = self.kind;
        let words: String = group_words(group).iter().map(|word| capital(word)).collect();
        let tag = format!("{}_{version}", small(&words));
        let many = if request.action == "deletecollection" {
            "Collection"
        } else {
            ""
        };
        json!({
            "tags": [tag],
            "description": format!("{} {name}", request.verb),
            "operationId": format!("{}{words}{}{many}{scope}{name}", request.verb, capital(version)),
            "parameters": taken,
            "responses": {"200": {
                "description": "OK",
                "content": {"application/json": {"schema": answer}, "application/yaml": {"schema": answer}},
            }},
            "x-kubernetes-action": request.action,
            "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
        })
    }
}

fn any(schema: &Value) -> Value {
    json!({"*/*": {"schema": schema}})
}

/// `coordination.k8s.io` is `[coordination]`, `sea.dev` is `[sea, dev]`.
fn group_words(group: &str) -> Vec<&str> {
    match group {
        "" => vec!["core"],
        group => group.trim_end_matches(".k8s.io").split(['.', '-']).collect(),
    }
}

fn capital(word: &str) -> String {
    first_letter(word, |letter| letter.to_ascii_uppercase())
}

fn small(word: &str) -> String {
    first_letter(word, |letter| letter.to_ascii_lowercase())
}

fn first_letter(word: &str, change: impl Fn(char) -> char) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(change);
    first.into_iter().chain(letters).collect()
}
