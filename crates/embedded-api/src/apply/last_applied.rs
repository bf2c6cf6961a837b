//! Taking over from client-side apply, by the annotation in which kubectl keeps its last configuration.

use super::Writer;
use super::compare::Change;
use super::extract;
use super::field_set::FieldSet;
use super::typed;
use serde_json::{Map, Value};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// All annotations of an object together.
const MOST_BYTES: usize = 256 * 1024;

#[must_use]
pub fn concerns(writer: &Writer<'_>) -> bool {
    writer.manager == "kubectl"
}

/// Fields still as they were last applied from the client, which kubectl may take.
#[must_use]
pub fn still_as_applied(live: &Value, writer: &Writer<'_>) -> Option<FieldSet> {
    let schema = &writer.resource.schema;
    let last = annotations(live)?.get(ANNOTATION)?.as_str()?;
    let last: Value = serde_json::from_str(last).ok()?;
    if last.get("apiVersion")?.as_str()? != writer.resource.api_version() {
        return None;
    }
    typed::check(schema, &last).ok()?;
    let change = Change::between(schema, Some(&last), live);
    let other = change.written().union(change.removed);
    Some(extract::fields(schema, &last).difference(&other))
}

pub fn refresh(object: &mut Value, applied: &Value) {
    let has_one = annotations(object)
        .and_then(|all| all.get(ANNOTATION))
        .and_then(Value::as_str);
    if has_one.is_none_or(str::is_empty) {
        return;
    }
    let mut applied = applied.clone();
    if let Some(all) = annotations_mut(&mut applied) {
        all.remove(ANNOTATION);
    }
    let text = format!("{applied}\n");
    if let Some(all) = annotations_mut(object) {
        all.insert(ANNOTATION.to_owned(), text.into());
        let size = |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
        if all.iter().map(size).sum::<usize>() > MOST_BYTES {
            all.remove(ANNOTATION);
        }
    }
}

fn annotations(object: &Value) -> Option<&Map<String, Value>> {
    object.pointer("/metadata/annotations")?.as_object()
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.pointer_mut("/metadata/annotations")?.as_object_mut()
}
