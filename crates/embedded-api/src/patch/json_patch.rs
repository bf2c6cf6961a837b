//! JSON patch, RFC 6902.
//!
//! Owns: reading operations, and where an API server reads them more loosely than the RFC: an index may count from the
//! end, and a missing field of an object counts as null when it is replaced, copied or tested.
//! Must not: know schemas.

#[cfg(test)]
mod tests;

use super::{does_not_fit, not_a, unreadable};
use crate::refusal::Refusal;
use json_patch::jsonptr::{Pointer, PointerBuf};
use json_patch::{AddOperation, PatchOperation, ReplaceOperation};
use serde_json::{Map, Value};

/// A patch with more operations is refused.
const MOST_OPERATIONS: usize = 10_000;

/// All values together that a patch copies are at most this long, as JSON.
const MOST_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// No value is inserted deeper than this: a stored object must stay readable, also as an item of a list.
const DEEPEST: usize = 120;

/// Limit of values visited to measure the depth of what is moved. Ten thousand operations could each move a whole
/// object.
const MOST_VISITED: usize = 50_000_000;

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
        let limit = "Request entity too large: The allowed maximum operations in a JSON patch is";
        let message = format!("{limit} {MOST_OPERATIONS}, got {count}");
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
            let message = not_a("string", other).replace("Go value", &format!("Go struct field jsonPatchOp.{name}"));
            return Err(message);
        }
    }
    Ok(operation)
}

/// The fields of the operations that have no effect.
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
    let mut spent = Spent::default();
    for operation in patch {
        one(&mut object, &operation, &mut spent).ok_or_else(does_not_fit)?;
    }
    Ok(object)
}

/// The cost of a patch so far.
#[derive(Default)]
struct Spent {
    /// Bytes that were copied.
    copied: usize,
    /// Values that were visited.
    visited: usize,
}

/// Applies one operation; `None` when it cannot be applied.
fn one(object: &mut Value, operation: &Operation, spent: &mut Spent) -> Option<()> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let value = || operation.get("value").cloned().unwrap_or_default();
    match text("op")? {
        "test" => {
            let path = resolved(object, text("path")?, Room::There)?;
            let wanted = operation.get("value").unwrap_or(&Value::Null);
            (read(object, &path)? == wanted).then_some(())
        }
        "add" => add(object, text("path")?, value(), spent),
        "remove" => remove(object, text("path")?).map(drop),
        "replace" => replace(object, text("path")?, value(), spent),
        "copy" => {
            let from = part(object, text("from")?, Room::There)?;
            let value = read(object, &from)?.clone();
            spent.copied += value.to_string().len();
            if spent.copied > MOST_COPIED_BYTES {
                return None;
            }
            add(object, text("path")?, value, spent)
        }
        "move" => {
            let value = remove(object, text("from")?)?;
            add(object, text("path")?, value, spent)
        }
        _ => None,
    }
}

fn add(object: &mut Value, path: &str, value: Value, spent: &mut Spent) -> Option<()> {
    let path = part(object, path, Room::New)?;
    spent.fits(&value, DEEPEST.checked_sub(path.count())?).then_some(())?;
    step(object, PatchOperation::Add(AddOperation { path, value }))
}

/// Removes and returns a value.
fn remove(object: &mut Value, path: &str) -> Option<Value> {
    let path = part(object, path, Room::There)?;
    let (parent, last) = path.split_back()?;
    match object.pointer_mut(parent.as_str())? {
        Value::Object(fields) => fields.remove(last.decoded().as_ref()),
        Value::Array(items) => {
            let index = last.decoded().parse::<usize>().ok()?;
            (index < items.len()).then(|| items.remove(index))
        }
        _ => None,
    }
}

fn replace(object: &mut Value, path: &str, value: Value, spent: &mut Spent) -> Option<()> {
    let path = resolved(object, path, Room::There)?;
    spent.fits(&value, DEEPEST.checked_sub(path.count())?).then_some(())?;
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

impl Spent {
    /// Whether the value has at most this many levels, without exceeding the limit of visited values.
    fn fits(&mut self, value: &Value, levels: usize) -> bool {
        self.visited += 1;
        if self.visited > MOST_VISITED {
            return false;
        }
        let below = |value| levels > 0 && self.fits(value, levels - 1);
        match value {
            Value::Array(items) => items.iter().all(below),
            Value::Object(fields) => fields.values().all(below),
            _ => true,
        }
    }
}

fn step(object: &mut Value, operation: PatchOperation) -> Option<()> {
    json_patch::patch_unsafe(object, &[operation]).ok()
}

/// The value at the path. A missing field of an object is null.
fn read<'a>(object: &'a Value, path: &Pointer) -> Option<&'a Value> {
    if let Some(found) = object.pointer(path.as_str()) {
        return Some(found);
    }
    let parent = object.pointer(path.parent()?.as_str())?;
    parent.is_object().then_some(&Value::Null)
}

/// Whether a path names an existing item or the place for a new one: then there is one more index to count back from.
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
        let index = match (items, index(token)) {
            (Some(items), Some(Index::Back(back))) => {
                let new = usize::from(room == Room::New && rest.peek().is_none());
                Some((items.len() + new).checked_sub(back)?)
            }
            (Some(_), Some(Index::Front(index))) => Some(index),
            _ => None,
        };
        plain.push('/');
        match index {
            Some(index) => plain += &index.to_string(),
            None => plain += &escaped(token),
        }
    }
    let starts_right = path.is_empty() || path.starts_with('/');
    PointerBuf::parse(plain).ok().filter(|_| starts_right)
}

/// An index as written: API servers accept signs and leading zeros, too.
enum Index {
    Front(usize),
    /// Counted from one past the end.
    Back(usize),
}

fn index(token: &str) -> Option<Index> {
    let back = token.starts_with('-');
    let digits = token.strip_prefix(['-', '+']).unwrap_or(token);
    let plain = !digits.is_empty() && digits.chars().all(|each| each.is_ascii_digit());
    let number = digits.parse::<usize>().ok().filter(|_| plain)?;
    Some(if back && number > 0 {
        Index::Back(number)
    } else {
        Index::Front(number)
    })
}

/// A step of a path with only the tilde escapes of the RFC: a tilde that is not an escape means itself.
fn escaped(token: &str) -> String {
    let mut parts = token.split('~');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += if part.starts_with(['0', '1']) { "~" } else { "~0" };
        out += part;
    }
    out
}
