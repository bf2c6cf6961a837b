//! JSON values as rules get them.
//!
//! Owns: the types that schemas give to strings and numbers, and the names of fields. Must not: evaluate rules.
//!
//! A rule sees the fields that the schema has. Of an object's metadata it sees only `name` and `generateName`.

use super::FUNCTIONS;
use super::duration;
use super::run::run;
use crate::schema::Type;
use crate::schema::node::Node;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use kube_cel::cel::{Context, Program, ResolveResult, Value as CelValue};
use serde_json::{Number, Value};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// Names that CEL reserves.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Surplus bits of the last byte are ignored.
const BYTES: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// A value as a rule gets it.
pub(super) fn convert(value: &Value, node: &Node, root: bool) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(on) => CelValue::Bool(*on),
        Value::Number(number) => convert_number(number, node),
        Value::String(text) => convert_text(text, node),
        Value::Array(items) => {
            let item = |item: &Value| match node.items.as_deref() {
                Some(inner) => convert(item, inner, false),
                None => convert_free(item),
            };
            CelValue::List(Arc::new(items.iter().map(item).collect()))
        }
        Value::Object(fields) => {
            let mut map = HashMap::with_capacity(fields.len());
            for (name, value) in fields {
                let (key, value) = match (node.properties.get(name), node.additional.as_deref()) {
                    _ if (root || node.embedded) && is_meta(name) => (name.clone(), convert_meta(name, value)),
                    (Some(inner), _) => (escaped(name), convert(value, inner, false)),
                    (None, Some(inner)) => (name.clone(), convert(value, inner, false)),
                    (None, None) if node.types.is_empty() => (name.clone(), convert_free(value)),
                    (None, None) => continue,
                };
                map.insert(Key::String(Arc::new(key)), value);
            }
            CelValue::Map(Map { map: Arc::new(map) })
        }
    }
}

/// `oldSelf` of a rule that takes it as optional.
pub(super) fn optional(value: Option<CelValue>) -> CelValue {
    CelValue::Opaque(Arc::new(match value {
        Some(value) => OptionalValue::of(value),
        None => OptionalValue::none(),
    }))
}

/// Types as values: `type(self) == int`, which rules on int-or-string values use. Here a type is the text of its name.
pub(super) fn add_types(functions: &mut Context<'_>) {
    functions.add_function("type", type_of);
    for name in [
        "int",
        "uint",
        "double",
        "bool",
        "string",
        "bytes",
        "list",
        "map",
        "null_type",
    ] {
        functions.add_variable_from_value(name, name);
    }
}

fn type_of(This(value): This<CelValue>) -> ResolveResult {
    Ok(CelValue::String(Arc::new(type_name(&value).to_owned())))
}

fn type_name(value: &CelValue) -> &'static str {
    match value {
        CelValue::Int(_) => "int",
        CelValue::UInt(_) => "uint",
        CelValue::Float(_) => "double",
        CelValue::Bool(_) => "bool",
        CelValue::String(_) => "string",
        CelValue::Bytes(_) => "bytes",
        CelValue::List(_) => "list",
        CelValue::Map(_) => "map",
        CelValue::Null => "null_type",
        CelValue::Duration(_) => "google.protobuf.Duration",
        CelValue::Timestamp(_) => "google.protobuf.Timestamp",
        CelValue::Function(..) | CelValue::Opaque(_) => "optional_type",
    }
}

fn is_meta(name: &str) -> bool {
    ["apiVersion", "kind", "metadata"].contains(&name)
}

fn convert_meta(name: &str, value: &Value) -> CelValue {
    let Value::Object(fields) = value else {
        return convert_free(value);
    };
    if name != "metadata" {
        return convert_free(value);
    }
    let shown = fields
        .iter()
        .filter(|(name, _)| ["name", "generateName"].contains(&name.as_str()));
    let shown = shown.map(|(name, value)| (Key::String(Arc::new(name.clone())), convert_free(value)));
    CelValue::Map(Map {
        map: Arc::new(shown.collect()),
    })
}

fn convert_free(value: &Value) -> CelValue {
    static ANYTHING: LazyLock<Node> = LazyLock::new(Node::default);
    convert(value, &ANYTHING, false)
}

fn convert_number(number: &Number, node: &Node) -> CelValue {
    let real = || CelValue::Float(number.as_f64().unwrap_or(f64::NAN));
    if node.types.as_slice() == [Type::Number] {
        return real();
    }
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => CelValue::Int(whole),
        (None, Some(value)) if node.types.contains(&Type::Integer) && value.fract() == 0.0 => {
            let whole = format!("{value:.0}").parse();
            whole.map_or_else(|_| real(), CelValue::Int)
        }
        _ => real(),
    }
}

fn convert_text(text: &str, node: &Node) -> CelValue {
    let read = match node.format.map(|format| format.name()) {
        Some("date-time" | "datetime") => made(&TIMESTAMP, text),
        Some("date") => made(&TIMESTAMP, &format!("{text}T00:00:00Z")),
        Some("duration") => made(&DURATION, text).or_else(|| made(&DURATION, &duration::plain(text)?)),
        Some("byte") => BYTES.decode(text).ok().map(|bytes| CelValue::Bytes(Arc::new(bytes))),
        _ => None,
    };
    read.unwrap_or_else(|| CelValue::String(Arc::new(text.to_owned())))
}

static TIMESTAMP: LazyLock<Option<Program>> = LazyLock::new(|| Program::compile("timestamp(text)").ok());
static DURATION: LazyLock<Option<Program>> = LazyLock::new(|| Program::compile("duration(text)").ok());

/// Times and durations as CEL itself reads them.
fn made(program: &Option<Program>, text: &str) -> Option<CelValue> {
    let mut scope = FUNCTIONS.new_inner_scope();
    scope.add_variable_from_value("text", text.to_owned());
    run(program.as_ref()?, &scope).ok()
}

/// The name of a field in rules.
fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    if !name.contains(['.', '-', '/']) && !name.contains("__") {
        return name.to_owned();
    }
    let name = name.replace("__", "__underscores__");
    name.replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cel_cannot_say_are_escaped() {
        let cases = [
            ("spec", "spec"),
            ("a_b", "a_b"),
            ("a__b", "a__underscores__b"),
            ("namespace", "__namespace__"),
            ("b-c", "b__dash__c"),
            ("a.b/c", "a__dot__b__slash__c"),
        ];
        for (name, wanted) in cases {
            assert_eq!(escaped(name), wanted);
        }
    }
}
