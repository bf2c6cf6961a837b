//! Columns of built-in kinds in `kubectl get`, and their values.

mod event;
mod node;

use super::age;
use crate::resource::Resource;
use jiff::Timestamp;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Title {
    pub name: &'static str,
    pub type_: &'static str,
    /// `name` for the column of names, else empty.
    pub format: &'static str,
    pub description: &'static str,
    pub priority: i64,
}

#[derive(Clone, Copy, Debug)]
pub struct Cells {
    pub titles: &'static [Title],
    pub row: fn(&Value, Timestamp) -> Vec<Value>,
}

pub const NAME: Title = Title {
    format: "name",
    ..title("Name", "What the object is called, once per namespace.")
};

pub const AGE: Title = title("Age", "How long ago the object was made.");

#[must_use]
pub fn of(resource: &Resource) -> Option<Cells> {
    if resource.custom {
        return None;
    }
    Some(match resource.kind.as_str() {
        "Node" => node::CELLS,
        "Pod" => POD,
        "Event" => event::CELLS,
        "Namespace" => NAMESPACE,
        "Lease" => LEASE,
        _ => CREATED,
    })
}

const fn title(name: &'static str, description: &'static str) -> Title {
    Title {
        name,
        type_: "string",
        format: "",
        description,
        priority: 0,
    }
}

const fn wide(name: &'static str, description: &'static str) -> Title {
    Title {
        priority: 1,
        ..title(name, description)
    }
}

const NAMESPACE: Cells = Cells {
    titles: &[
        NAME,
        title("Status", "Active, or Terminating while its objects go."),
        AGE,
    ],
    row: |object, now| vec![name(object), text(object, "/status/phase").into(), made(object, now)],
};

const LEASE: Cells = Cells {
    titles: &[NAME, title("Holder", "Who holds it."), AGE],
    row: |object, now| {
        vec![
            name(object),
            text(object, "/spec/holderIdentity").into(),
            made(object, now),
        ]
    },
};

/// Unused: nothing runs Pods here.
const POD: Cells = Cells {
    titles: &[
        NAME,
        title("Ready", "How many of its containers are ready."),
        title("Status", "Where it is in its life."),
        title("Restarts", "How often its containers were started again."),
        AGE,
        wide("IP", "Its address."),
        wide("Node", "Where it runs."),
        wide("Nominated Node", "Where it will run once there is room."),
        wide("Readiness Gates", "Conditions that must hold besides its own."),
    ],
    row: |_, _| Vec::new(),
};

const CREATED: Cells = Cells {
    titles: &[
        NAME,
        Title {
            type_: "date",
            ..title("Created At", "When the object was made.")
        },
    ],
    row: |object, _| vec![name(object), text(object, "/metadata/creationTimestamp").into()],
};

fn name(object: &Value) -> Value {
    text(object, "/metadata/name").into()
}

fn made(object: &Value, now: Timestamp) -> Value {
    age::of(text(object, "/metadata/creationTimestamp"), now).into()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

fn items<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
fn row(cells: Cells, object: &Value) -> Vec<Value> {
    let now: Timestamp = "2026-11-21T06:00:00Z".parse().expect("a time");
    let row = (cells.row)(object, now);
    assert_eq!(row.len(), cells.titles.len());
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_namespace_shows_its_phase_and_age() {
        let object = json!({
            "metadata": {"name": "x", "creationTimestamp": "2026-11-21T05:00:00Z"}, "status": {"phase": "Active"},
        });
        assert_eq!(row(NAMESPACE, &object), [json!("x"), json!("Active"), json!("60m")]);
    }

    #[test]
    fn a_lease_that_nobody_holds_shows_an_empty_holder() {
        let object = json!({"metadata": {"name": "l"}, "spec": {}});
        assert_eq!(row(LEASE, &object), [json!("l"), json!(""), json!("<unknown>")]);
    }

    #[test]
    fn a_definition_shows_when_it_was_made() {
        let object = json!({"metadata": {"name": "x.y", "creationTimestamp": "2026-11-21T05:00:00Z"}});
        assert_eq!(row(CREATED, &object), [json!("x.y"), json!("2026-11-21T05:00:00Z")]);
    }
}
