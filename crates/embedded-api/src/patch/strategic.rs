//! Strategic merge patch: a part of an object, in which the schema says which lists are merged, and by what key.
//! Directives as kubectl writes them:
//!
//! | in the patch | does |
//! |---|---|
//! | `field: null` | removes the field |
//! | `$patch: replace` in an object | the object becomes the rest of it |
//! | `$patch: delete` in an object | removes what is in it |
//! | `$patch: delete` in an item of a merged list | removes the item with its key |
//! | `$patch: replace` in an item of a merged list | the list becomes the other items |
//! | `$deleteFromPrimitiveList/finalizers: [x]` | removes these values from `finalizers` |
//! | `$setElementOrder/finalizers: [x, y]` | brings `finalizers` into this order |
//! | `$retainKeys: [a, b]` | removes all fields but these |

mod fault;
mod list;
mod order;
#[cfg(test)]
mod tests;

use crate::apply::view::View;
use crate::refusal::Refusal;
use crate::schema::Schema;
use crate::schema::defaults::without_nulls;
use fault::Fault;
use serde_json::{Map, Value};
use std::collections::HashSet;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";

/// Errors: 400 for malformed directives, 422 for lists of lists, 500 for patches that do not fit the schema, as from an
/// API server.
pub fn patch(schema: &Schema, object: Value, patch: Map<String, Value>) -> Result<Value, Refusal> {
    let object = match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    Ok(Value::Object(objects(View::root(schema), object, patch)?))
}

fn objects(
    view: View<'_>,
    mut object: Map<String, Value>,
    mut patch: Map<String, Value>,
) -> Result<Map<String, Value>, Fault> {
    match patch.remove(PATCH) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => return Ok(patch),
        Some(Value::String(directive)) if directive == "delete" => return Ok(Map::new()),
        Some(_) => return Err(Fault::Directive),
    }
    retain(&mut object, &mut patch)?;
    set_orders(view, &mut object, &mut patch)?;
    for (name, given) in patch {
        match name.strip_prefix(DELETE_FROM) {
            Some(field) => {
                let field = field.strip_prefix('/').ok_or(Fault::DeleteFrom)?;
                delete_from(&mut object, field, &given)?;
            }
            None => field(view, &mut object, name, given)?,
        }
    }
    Ok(object)
}

fn field(view: View<'_>, object: &mut Map<String, Value>, name: String, given: Value) -> Result<(), Fault> {
    let live = object.remove(&name);
    let below = view.field(&name).view;
    let merged = match (live, given) {
        (_, Value::Null) => None,
        (Some(Value::Object(live)), Value::Object(given)) => Some(Value::Object(objects(below, live, given)?)),
        (Some(Value::Array(live)), Value::Array(given)) => Some(Value::Array(list::merge(below, live, given)?)),
        (_, given) => plain(without_nulls(given)),
    };
    if let Some(merged) = merged {
        object.insert(name, merged);
    }
    Ok(())
}

fn delete_from(object: &mut Map<String, Value>, field: &str, gone: &Value) -> Result<(), Fault> {
    if gone.is_null() {
        object.remove(field);
    }
    if let (Some(Value::Array(live)), Value::Array(gone)) = (object.get_mut(field), gone) {
        list::same_types(live, gone)?;
        let gone: HashSet<String> = gone.iter().map(Value::to_string).collect();
        live.retain(|item| !gone.contains(&item.to_string()));
    }
    Ok(())
}

fn retain(object: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Fault> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let keys = keys.as_array().ok_or(Fault::RetainKeys)?;
    let retained = |name: &String| keys.iter().any(|key| key.as_str() == Some(name));
    let directive = |name: &str| name.starts_with(SET_ORDER) || name.starts_with(DELETE_FROM);
    if patch
        .iter()
        .any(|(name, value)| !value.is_null() && !directive(name) && !retained(name))
    {
        return Err(Fault::RetainKeys);
    }
    object.retain(|name, _| retained(name));
    Ok(())
}

fn set_orders(view: View<'_>, object: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Fault> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|name| name.starts_with(SET_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let wanted = patch.remove(&directive).unwrap_or_default();
        let Value::Array(wanted) = wanted else {
            return Err(Fault::Type("a list"));
        };
        let name = directive
            .strip_prefix(SET_ORDER)
            .and_then(|name| name.strip_prefix('/'));
        let name = name.ok_or(Fault::SetOrder)?;
        let below = view.field(name).view;
        let given = patch.remove(name).map(a_list).transpose()?;
        let live = object.get(name).cloned().map(a_list).transpose()?;
        let key = below.schema.patch_merge_key.as_deref().unwrap_or_default();
        order::check(given.as_deref().unwrap_or_default(), &wanted, key)?;
        let merged = match (&live, given) {
            (None, None) => continue,
            (Some(live), None) => live.clone(),
            (None, Some(given)) => given.into_iter().filter_map(plain).collect(),
            (Some(live), Some(given)) => list::merge(below, live.clone(), given)?,
        };
        let ordered = order::by(merged, &wanted, live.as_deref().unwrap_or_default(), key)?;
        object.insert(name.to_owned(), Value::Array(ordered));
    }
    Ok(())
}

fn a_list(value: Value) -> Result<Vec<Value>, Fault> {
    match value {
        Value::Array(items) => Ok(items),
        _ => Err(Fault::Type("a list")),
    }
}

/// Drops directives; `None` for a value that is one.
fn plain(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let fields = fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, plain(value)?)));
            Some(Value::Object(fields.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(plain).collect())),
        other => Some(other),
    }
}
