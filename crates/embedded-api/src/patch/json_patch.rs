//! JSON patch, RFC 6902, read like an API server more loosely than the RFC: a missing field of an object counts as null
//! when it is replaced, copied or tested.

#[cfg(test)]
mod tests;

use super::does_not_fit;
use crate::refusal::Refusal;
use json_patch::jsonptr::{Pointer, PointerBuf};
use json_patch::{AddOperation, PatchOperation, ReplaceOperation};
use serde_json::{Map, Value};

const MOST_OPERATIONS: usize = 10_000;

const MOST_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// Depth of an insertion: a stored object must stay readable, also as an item of a list.
const DEEPEST: usize = 120;

/// Values visited to measure the depth of what is moved: each of ten thousand operations could move a whole object.
const MOST_VISITED: usize = 50_000_000;

pub type Operation = Map<String, Value>;

/// Errors: 400 for anything but a list of operations, 413 when it is too long.
pub fn decode(body: &[u8]) -> Result<Vec<Operation>, Refusal> {
    let bad = |why: String| Refusal::bad_request(format!("error decoding patch: {why}"));
    let operations = match serde_json::from_slice(body).map_err(|error| bad(error.to_string()))? {
        Value::Array(operations) => operations,
        Value::Null => Vec::new(),
        _ => return Err(bad("it must be a list".to_owned())),
    };
    let count = operations.len();
    let operations: Result<Vec<Operation>, Refusal> = operations
        .into_iter()
        .map(|each| operation(each).map_err(bad))
        .collect();
    if count > MOST_OPERATIONS {
        let message = format!("a JSON patch may have at most {MOST_OPERATIONS} operations, not {count}");
        return Err(Refusal::new(413, "RequestEntityTooLarge", message));
    }
    operations
}

fn operation(given: Value) -> Result<Operation, String> {
    let Value::Object(operation) = given else {
        return Err("an operation must be an object".to_owned());
    };
    for name in ["op", "path", "from"] {
        let given = operation.get(name);
        if given.is_some_and(|given| !given.is_string() && !given.is_null()) {
            return Err(format!("{name} of an operation must be a text"));
        }
    }
    Ok(operation)
}

#[must_use]
pub fn unknown_fields(patch: &[Operation]) -> Vec<String> {
    let known = ["op", "path", "from", "value"];
    let unknown = patch.iter().enumerate().flat_map(|(index, operation)| {
        let names = operation.keys().filter(move |name| !known.contains(&name.as_str()));
        names.map(move |name| format!("json patch unknown field \"[{index}].{name}\""))
    });
    unknown.collect()
}

/// Errors: 422 when an operation cannot be done or a test fails.
pub fn patch(mut object: Value, patch: Vec<Operation>) -> Result<Value, Refusal> {
    let mut spent = Spent::default();
    for operation in patch {
        one(&mut object, &operation, &mut spent).ok_or_else(does_not_fit)?;
    }
    Ok(object)
}

#[derive(Default)]
struct Spent {
    copied: usize,
    visited: usize,
}

fn one(object: &mut Value, operation: &Operation, spent: &mut Spent) -> Option<()> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let value = || operation.get("value").cloned().unwrap_or_default();
    match text("op")? {
        "test" => {
            let path = PointerBuf::parse(text("path")?).ok()?;
            let wanted = operation.get("value").unwrap_or(&Value::Null);
            (read(object, &path)? == wanted).then_some(())
        }
        "add" => add(object, text("path")?, value(), spent),
        "remove" => remove(object, text("path")?).map(drop),
        "replace" => replace(object, text("path")?, value(), spent),
        "copy" => {
            let from = part(text("from")?)?;
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
    let path = part(path)?;
    spent.fits(&value, DEEPEST.checked_sub(path.count())?).then_some(())?;
    step(object, PatchOperation::Add(AddOperation { path, value }))
}

fn remove(object: &mut Value, path: &str) -> Option<Value> {
    let path = part(path)?;
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
    let path = PointerBuf::parse(path).ok()?;
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

fn read<'a>(object: &'a Value, path: &Pointer) -> Option<&'a Value> {
    if let Some(found) = object.pointer(path.as_str()) {
        return Some(found);
    }
    let parent = object.pointer(path.parent()?.as_str())?;
    parent.is_object().then_some(&Value::Null)
}

/// Refuses the whole object.
fn part(path: &str) -> Option<PointerBuf> {
    PointerBuf::parse(path).ok().filter(|path| !path.is_root())
}
