//! FieldsV1: the JSON of a field set.

use super::{FieldSet, Node, Scalar, Step};
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    #[error("fieldsV1: expected an object, got {0}")]
    NotAnObject(Value),
    #[error("fieldsV1: {0:?} is not a step of a path; write f:name, k:{{…}}, v:… or i:…")]
    BadStep(String),
}

impl FieldSet {
    /// Leaves out unknown kinds of steps.
    pub fn from_json(fields: &Value) -> Result<Self, FieldsError> {
        node(fields).map(|node| node.below)
    }

    #[must_use]
    pub fn to_json(&self) -> Value {
        Value::Object(object(self, false))
    }
}

fn node(fields: &Value) -> Result<Node, FieldsError> {
    let fields = match fields {
        Value::Object(fields) => fields,
        Value::Null => return Ok(Node::leaf()),
        other => return Err(FieldsError::NotAnObject(other.clone())),
    };
    let mut nodes = Vec::with_capacity(fields.len());
    for (key, value) in fields.iter().filter(|(key, _)| *key != ".") {
        if let Some(step) = step(key)? {
            nodes.push((step, node(value)?));
        }
    }
    let member = nodes.is_empty() || fields.contains_key(".");
    let below = FieldSet::from_nodes(nodes);
    Ok(Node { member, below })
}

fn step(key: &str) -> Result<Option<Step>, FieldsError> {
    let bad = || FieldsError::BadStep(key.to_owned());
    let Some((kind, rest)) = key.split_once(':').filter(|(kind, _)| kind.len() == 1) else {
        return Err(bad());
    };
    let step = match kind {
        "f" => Step::Field(rest.to_owned()),
        "i" => Step::Index(rest.parse().map_err(|_| bad())?),
        "v" => Step::Value(scalar(&serde_json::from_str(rest).map_err(|_| bad())?)),
        "k" => {
            let fields: Map<String, Value> = serde_json::from_str(rest).map_err(|_| bad())?;
            Step::Key(fields.into_iter().map(|(name, value)| (name, scalar(&value))).collect())
        }
        _ => return Ok(None),
    };
    Ok(Some(step))
}

fn scalar(value: &Value) -> Scalar {
    Scalar::of(value).unwrap_or_else(|| Scalar::Other(value.to_string()))
}

fn object(set: &FieldSet, member: bool) -> Map<String, Value> {
    let mut fields = Map::new();
    if member && !set.is_empty() {
        fields.insert(".".to_owned(), Value::Object(Map::new()));
    }
    for (step, node) in set.iter() {
        fields.insert(key(step), Value::Object(object(&node.below, node.member)));
    }
    fields
}

fn key(step: &Step) -> String {
    match step {
        Step::Field(name) => format!("f:{name}"),
        Step::Index(index) => format!("i:{index}"),
        Step::Value(value) => format!("v:{}", json(value)),
        Step::Key(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), json(value)))
                .collect();
            format!("k:{{{}}}", fields.join(","))
        }
    }
}

fn json(value: &Scalar) -> String {
    match value {
        Scalar::Text(text) => Value::from(text.as_str()).to_string(),
        other => other.to_string(),
    }
}
