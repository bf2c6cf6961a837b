//! JSON patch, RFC 6902.
//!
//! Owns: reading operations, and where an API server reads them more loosely than the RFC: an index may count from the
//! end, and an object's field that is not there counts as null where it is replaced, copied or tested.
//! Must not: know schemas.

#[cfg(test)]
mod tests;

use super::{does_not_fit, not_a, unreadable};
use crate::refusal::Refusal;
use json_patch::jsonptr::{Pointer, PointerBuf};
use json_patch::{AddOperation, PatchOperation, RemoveOperation, ReplaceOperation};
use serde_json::{Map, Value};

/// A patch with more operations is refused.
const MOST_OPERATIONS: usize = 10_000;

/// All values together that a patch copies are at most this long, as JSON.
const MOST_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// No value is put in deeper than this: what is stored must be read again, also as an item of a list.
const DEEPEST: usize = 120;

/// One operation as it is written.
pub type Operation = Map<String, Value>;

/// Reads a patch.
///
/// # Errors
/// 400 when it is not a list of operations, 413 when it is too long.
pub fn decode(body: &[u8]) -> Result<Vec<Operation>, Refusal> {
    let bad = |why: String| Refusal::bad_request(format!("error decoding patch: {why}"));
    let operations = match serde_json::from_slice(body).map_err(|error| bad(unreadable(&error)))? {
        Value::Array(operations) => operations,
        Value::Null => Vec::new(),
        other => return Err(bad(not_a("[]handlers.jsonPatchOp", &other))),
    };
    let count = operations.len();
    let operations: Result<Vec<Operation>, Refusal> = operations
        .into_iter()
        .map(|each| operation(each).map_err(bad))
        .collect();
    if count > MOST_OPERATIONS {
        let told = "Request entity too large: The allowed maximum operations in a JSON patch is";
        let message = format!("{told} {MOST_OPERATIONS}, got {count}");
        return Err(Refusal::new(413, "RequestEntityTooLarge", message));
    }
    operations
}

fn operation(given: Value) -> Result<Operation, String> {
    let Value::Object(operation) = given else {
        return Err(not_a("handlers.jsonPatchOp", &given));
    };
    for name in ["op", "path", "from"] {
        if let Some(other) = operation
            .get(name)
            .filter(|value| !value.is_string() && !value.is_null())
        {
            let told = not_a("string", other).replace("Go value", &format!("Go struct field jsonPatchOp.{name}"));
            return Err(told);
        }
    }
    Ok(operation)
}

/// What the operations say that means nothing.
#[must_use]
pub fn unknown_fields(patch: &[Operation]) -> Vec<String> {
    let known = ["op", "path", "from", "value"];
    let unknown = patch.iter().enumerate().flat_map(|(index, operation)| {
        let names = operation.keys().filter(move |name| !known.contains(&name.as_str()));
        names.map(move |name| format!("json patch unknown field \"[{index}].{name}\""))
    });
    unknown.collect()
}

/// The object after the operations, one after the other.
///
/// # Errors
/// 422 when one of them cannot be done or a test fails.
pub fn patch(mut object: Value, patch: Vec<Operation>) -> Result<Value, Refusal> {
    let mut copied = 0;
    for operation in patch {
        one(&mut object, &operation, &mut copied).ok_or_else(does_not_fit)?;
    }
    Ok(object)
}

/// Does one operation; `None` when it cannot be done.
fn one(object: &mut Value, operation: &Operation, copied: &mut usize) -> Option<()> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let value = || operation.get("value").cloned().unwrap_or_default();
    match text("op")? {
        "test" => {
            let path = resolved(object, text("path")?, Room::There)?;
            (read(object, &path)? == value()).then_some(())
        }
        "add" => add(object, text("path")?, value()),
        "remove" => remove(object, text("path")?).map(drop),
        "replace" => replace(object, text("path")?, value()),
        "copy" => {
            let from = part(object, text("from")?, Room::There)?;
            let value = read(object, &from)?;
            *copied += value.to_string().len();
            if *copied > MOST_COPIED_BYTES {
                return None;
            }
            add(object, text("path")?, value)
        }
        "move" => {
            let value = remove(object, text("from")?)?;
            add(object, text("path")?, value)
        }
        _ => None,
    }
}

fn add(object: &mut Value, path: &str, value: Value) -> Option<()> {
    let path = part(object, path, Room::New)?;
    fits(&value, DEEPEST.checked_sub(path.count())?).then_some(())?;
    step(object, PatchOperation::Add(AddOperation { path, value }))
}

fn remove(object: &mut Value, path: &str) -> Option<Value> {
    let path = part(object, path, Room::There)?;
    let value = object.pointer(path.as_str()).cloned()?;
    step(object, PatchOperation::Remove(RemoveOperation { path }))?;
    Some(value)
}

fn replace(object: &mut Value, path: &str, value: Value) -> Option<()> {
    let path = resolved(object, path, Room::There)?;
    fits(&value, DEEPEST.checked_sub(path.count())?).then_some(())?;
    if path.is_root() {
        let whole = value.is_object();
        *object = value;
        return whole.then_some(());
    }
    if object.pointer(path.as_str()).is_some() {
        return step(object, PatchOperation::Replace(ReplaceOperation { path, value }));
    }
    read(object, &path)?;
    step(object, PatchOperation::Add(AddOperation { path, value }))
}

/// Whether the value has at most so many levels.
fn fits(value: &Value, levels: usize) -> bool {
    let below = |value| levels > 0 && fits(value, levels - 1);
    match value {
        Value::Array(items) => items.iter().all(below),
        Value::Object(fields) => fields.values().all(below),
        _ => true,
    }
}

fn step(object: &mut Value, operation: PatchOperation) -> Option<()> {
    json_patch::patch_unsafe(object, &[operation]).ok()
}

/// What is there. A field that its object does not have is null.
fn read(object: &Value, path: &Pointer) -> Option<Value> {
    if let Some(found) = object.pointer(path.as_str()) {
        return Some(found.clone());
    }
    let parent = object.pointer(path.parent()?.as_str())?;
    parent.is_object().then_some(Value::Null)
}

/// Whether a path names an item that is there or room for a new one: then there is one more index to count back from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    There,
    New,
}

/// A path to a part of the object; not to all of it.
fn part(object: &Value, path: &str, room: Room) -> Option<PointerBuf> {
    resolved(object, path, room).filter(|path| !path.is_root())
}

/// The path with plain indices in place of those that count from the end.
fn resolved(object: &Value, path: &str, room: Room) -> Option<PointerBuf> {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path.split('/').skip(1).peekable();
    while let Some(token) = rest.next() {
        let items = object.pointer(&plain).and_then(Value::as_array);
        let back = token.strip_prefix('-').and_then(|back| back.parse::<usize>().ok());
        let index = match (items, back) {
            (Some(items), Some(back)) => {
                let new = usize::from(room == Room::New && rest.peek().is_none());
                Some((items.len() + new).checked_sub(back)?)
            }
            _ => None,
        };
        plain.push('/');
        match index {
            Some(index) => plain += &index.to_string(),
            None => plain += token,
        }
    }
    let starts_right = path.is_empty() || path.starts_with('/');
    PointerBuf::parse(plain).ok().filter(|_| starts_right)
}
