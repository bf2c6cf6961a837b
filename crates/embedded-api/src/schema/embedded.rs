//! Objects inside objects: `x-kubernetes-embedded-resource`.
//!
//! Owns: reading and validating their `apiVersion`, `kind` and `metadata`. Must not: read the rest of them.

use super::metadata::{self, names, names::NameRule};
use super::node::Node;
use super::path::Path;
use super::{Schema, cause, go, object_meta};
use crate::refusal::Cause;
use serde_json::Value;

/// Reads the metadata of embedded objects in place. Returns the paths of unknown fields, sorted.
///
/// # Errors
/// When a field has the wrong type, in words for people.
pub fn read(object: &mut Value, schema: &Schema) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    // The metadata at the root is read before, and in another way.
    walk(object, schema, true, &Path::ROOT, &mut unknown)?;
    unknown.sort();
    Ok(unknown)
}

fn walk(
    value: &mut Value,
    schema: &Schema,
    root: bool,
    path: &Path<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                if schema.embedded_resource && !root {
                    field(name, value, path, unknown)?;
                }
                match (schema.properties.get(name), schema.additional.as_deref()) {
                    (Some(inner), _) => walk(value, inner, false, &path.field(name), unknown)?,
                    (None, Some(inner)) => walk(value, inner, false, &path.key(name), unknown)?,
                    (None, None) => {}
                }
            }
            Ok(())
        }
        Value::Array(items) => {
            let Some(inner) = schema.items.as_deref() else {
                return Ok(());
            };
            let mut items = items.iter_mut().enumerate();
            items.try_for_each(|(index, item)| walk(item, inner, false, &path.index(index), unknown))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn field(name: &str, value: &mut Value, path: &Path<'_>, unknown: &mut Vec<String>) -> Result<(), String> {
    let place = path.field(name).bracketed();
    match name {
        "apiVersion" | "kind" if !value.is_string() => {
            let shown = go::shown(value);
            Err(format!("{place}: Invalid value: {shown}: must be a string"))
        }
        "metadata" => {
            let shown = go::shown(value);
            let fields =
                object_meta::read(value).map_err(|error| format!("{place}: Invalid value: {shown}: {error}"))?;
            unknown.extend(fields.into_iter().map(|field| format!("{place}.{field}")));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// What is wrong with embedded objects.
#[must_use]
pub fn check(object: &Value, node: &Node) -> Vec<Cause> {
    let mut causes = Vec::new();
    check_within(object, node, true, &Path::ROOT, &mut causes);
    causes
}

fn check_within(value: &Value, node: &Node, root: bool, path: &Path<'_>, causes: &mut Vec<Cause>) {
    if !node.has_embedded {
        return;
    }
    match value {
        Value::Object(fields) => {
            if node.embedded && !root {
                check_one(value, path, causes);
            }
            for (name, value) in fields {
                match (node.properties.get(name), node.additional.as_deref()) {
                    (Some(inner), _) => check_within(value, inner, false, &path.field(name), causes),
                    (None, Some(inner)) => check_within(value, inner, false, &path.key(name), causes),
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(inner) = &node.items {
                    check_within(item, inner, false, &path.index(index), causes);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_one(object: &Value, path: &Path<'_>, causes: &mut Vec<Cause>) {
    for name in ["apiVersion", "kind"] {
        let place = path.field(name).bracketed();
        match object.get(name).map(|value| value.as_str().unwrap_or_default()) {
            None => causes.push(cause::required(place, "")),
            Some("") => causes.push(cause::invalid(place, &"".into(), "must not be empty")),
            Some(text) if name == "apiVersion" && text.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {text}");
                causes.push(cause::invalid(place, &text.into(), &detail));
            }
            Some(text) if name == "kind" => {
                for message in names::kind(text) {
                    let detail = format!("may have mixed case, but should otherwise match: {message}");
                    causes.push(cause::invalid(place.as_str(), &text.into(), &detail));
                }
            }
            Some(_) => {}
        }
    }
    let Some(meta) = object.get("metadata") else { return };
    let namespaced = meta.get("namespace").is_some();
    let before = path.bracketed();
    let nameless = meta.get("name").is_none();
    for mut cause in metadata::check(meta, NameRule::PathSegment, namespaced) {
        if nameless && cause.field == "metadata.name" {
            continue;
        }
        cause.field = format!("{before}.{}", cause.field);
        causes.push(cause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::cause::line;
    use serde_json::json;

    fn schema() -> Schema {
        let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true});
        let properties = json!({"one": embedded, "list": {"type": "array", "items": embedded}});
        Schema::parse(&json!({"type": "object", "properties": properties})).unwrap()
    }

    fn causes(object: Value) -> Vec<String> {
        let node = Node::compile(&schema()).unwrap();
        check(&object, &node).iter().map(line).collect()
    }

    #[test]
    fn an_embedded_object_needs_its_kind_and_version() {
        assert_eq!(
            causes(json!({"one": {}})),
            ["one.apiVersion: Required value", "one.kind: Required value"]
        );
        assert_eq!(
            causes(json!({"one": {"apiVersion": "v1", "kind": "Pod", "metadata": {}}})),
            [""; 0]
        );
        assert_eq!(
            causes(json!({"list": [{"apiVersion": "", "kind": "Pod"}]})),
            [r#"list[0].apiVersion: Invalid value: "": must not be empty"#]
        );
    }

    #[test]
    fn an_embedded_object_is_of_a_kind_with_a_name() {
        let kind = |kind: &str| causes(json!({"one": {"apiVersion": "v1", "kind": kind, "metadata": {}}}));
        for good in ["Pod", "P-d", "a"] {
            assert_eq!(kind(good), [""; 0]);
        }
        for bad in ["x y", "1x", "X.Y", "É", "-a", "a-"] {
            let causes = kind(bad);
            let start = format!(
                "one.kind: Invalid value: {bad:?}: may have mixed case, but should otherwise match: a DNS-1035"
            );
            assert!(causes.len() == 1 && causes[0].starts_with(&start), "{causes:?}");
        }
        assert!(kind(&"a".repeat(64))[0].ends_with("must be no more than 63 characters"));
    }

    #[test]
    fn its_metadata_is_judged_like_that_of_an_object() {
        let causes = causes(json!({"one": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a b": ""}}}}));
        assert_eq!(causes.len(), 1);
        assert!(causes[0].starts_with(r#"one.metadata.labels: Invalid value: "a b": name part"#));
    }

    #[test]
    fn its_metadata_is_read_like_that_of_an_object() {
        let mut object = json!({"one": {"metadata": {"name": "x", "foo": 1, "labels": null}}});
        assert_eq!(read(&mut object, &schema()), Ok(vec!["one.metadata.foo".to_owned()]));
        assert_eq!(object, json!({"one": {"metadata": {"name": "x"}}}));
        let error = read(&mut json!({"one": {"metadata": {"labels": {"a": 1}}}}), &schema()).unwrap_err();
        assert_eq!(
            error,
            "one.metadata: Invalid value: {\"labels\":{\"a\":1}}: json: cannot unmarshal number into Go struct field \
             ObjectMeta.labels of type string"
        );
        let error = read(&mut json!({"list": [{"kind": 5}]}), &schema()).unwrap_err();
        assert_eq!(error, "list[0].kind: Invalid value: 5: must be a string");
    }
}
