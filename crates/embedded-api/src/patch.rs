//! Patches: documents that describe a change to an object. Must not: know owners ([`crate::apply`]), defaults or
//! validation.

pub mod json_patch;
pub mod merge;
pub mod strategic;

use crate::refusal::Refusal;
use crate::resource::Resource;
use serde_json::{Map, Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 6902.
    Json,
    /// RFC 7386: null removes, lists are replaced.
    Merge,
    /// Lists merge by a key. Built-in kinds only.
    Strategic,
    Apply,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Patched {
    pub object: Value,
    /// Fields without effect: `json patch unknown field "[0].foo"`.
    pub unknown: Vec<String>,
}

impl PatchType {
    const ALL: [(&'static str, Self); 4] = [
        ("application/json-patch+json", Self::Json),
        ("application/merge-patch+json", Self::Merge),
        ("application/strategic-merge-patch+json", Self::Strategic),
        ("application/apply-patch+yaml", Self::Apply),
    ];

    /// Errors: 415 when this kind does not support the patch type: custom resources have no strategic merge patch.
    pub fn of(content_type: &str, resource: &Resource) -> Result<Self, Refusal> {
        let name = content_type.split(';').next().unwrap_or_default().trim();
        let taken = |(_, kind): &&(&str, Self)| !(resource.custom && *kind == Self::Strategic);
        let found = Self::ALL
            .iter()
            .filter(taken)
            .find(|(media_type, _)| *media_type == name);
        found.map(|(_, kind)| *kind).ok_or_else(|| {
            let all: Vec<&str> = Self::ALL
                .iter()
                .filter(taken)
                .map(|(media_type, _)| *media_type)
                .collect();
            let message = "the body of the request was in an unknown format - accepted media types include";
            Refusal::new(415, "UnsupportedMediaType", format!("{message}: {}", all.join(", ")))
        })
    }
}

/// [`PatchType::Apply`] changes nothing. Errors: 400 when the patch cannot be read, 413 when it is too long, 422 when
/// it does not fit the object, 500 for the faults of strategic merge patches that an API server answers with 500.
pub fn apply(patch_type: PatchType, resource: &Resource, object: Value, body: &[u8]) -> Result<Patched, Refusal> {
    let known = |object| Patched {
        object,
        unknown: Vec::new(),
    };
    match patch_type {
        PatchType::Json => {
            let patch = json_patch::decode(body)?;
            let unknown = json_patch::unknown_fields(&patch);
            let object = json_patch::patch(object, patch)?;
            Ok(Patched { object, unknown })
        }
        PatchType::Merge => merge::patch(object, body).map(known),
        PatchType::Strategic => {
            let patch = document(body).map_err(Refusal::bad_request)?;
            strategic::patch(&resource.schema, object, patch).map(known)
        }
        PatchType::Apply => Ok(known(object)),
    }
}

fn document(body: &[u8]) -> Result<Map<String, Value>, String> {
    match serde_json::from_slice(body).map_err(|error| error.to_string())? {
        Value::Object(patch) => Ok(patch),
        Value::Null => Ok(Map::new()),
        _ => Err("the patch must be an object".to_owned()),
    }
}

fn does_not_fit() -> Refusal {
    let message = "the server rejected our request due to an error in our request";
    Refusal {
        details: json!({}),
        ..Refusal::new(422, "Invalid", message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::tests::recorded::widget;

    #[test]
    fn custom_resources_take_no_strategic_merge_patch() {
        let built_in = Resource {
            custom: false,
            ..widget()
        };
        let strategic = "application/strategic-merge-patch+json";
        assert_eq!(PatchType::of(strategic, &built_in), Ok(PatchType::Strategic));
        let refusal = PatchType::of(strategic, &widget()).unwrap_err();
        assert_eq!((refusal.code, refusal.reason), (415, "UnsupportedMediaType"));
        assert_eq!(
            PatchType::of("application/merge-patch+json; charset=utf-8", &widget()),
            Ok(PatchType::Merge)
        );
    }
}
