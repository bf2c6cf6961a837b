//! Merge patch, RFC 7386: fields replace fields, null removes, lists are replaced as a whole.

#[cfg(test)]
mod tests;

use super::document;
use crate::refusal::Refusal;
use serde_json::Value;

/// Errors: 400 when the patch is not a part of an object.
pub fn patch(mut object: Value, body: &[u8]) -> Result<Value, Refusal> {
    let patch = document(body).map_err(|why| Refusal::bad_request(format!("error decoding patch: {why}")))?;
    if patch.is_empty() && body.trim_ascii() == b"null" {
        return Err(Refusal::bad_request("Invalid JSON Patch"));
    }
    json_patch::merge(&mut object, &Value::Object(patch));
    Ok(object)
}
