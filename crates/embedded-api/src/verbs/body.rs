//! The body of a write: JSON, YAML or, for built-in kinds, protobuf; and the kind that it declares.

use super::meta::text;
use super::protobuf;
use crate::checker::repeated;
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::schema::{cause, defaults::plain_numbers};
use bytes::Bytes;
use serde_json::Value;
use serde_saphyr::Error as YamlError;
use serde_saphyr::options::DuplicateKeyPolicy;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Yaml,
    /// Built-in kinds only.
    Protobuf,
}

impl Format {
    /// Errors: 415 for all others, including CBOR.
    pub fn of(content_type: &str) -> Result<Self, Refusal> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "" | "application/json" => Ok(Self::Json),
            "application/yaml" => Ok(Self::Yaml),
            "application/vnd.kubernetes.protobuf" => Ok(Self::Protobuf),
            _ => Err(unsupported()),
        }
    }
}

fn unsupported() -> Refusal {
    let message = "the body of the request was in an unknown format - accepted media types include: application/json, \
                   application/yaml, application/vnd.kubernetes.protobuf";
    Refusal::new(415, "UnsupportedMediaType", message)
}

#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub value: Value,
    pub duplicates: Vec<String>,
}

pub fn read(format: Format, body: &Bytes) -> Result<Document, String> {
    let (mut value, duplicates) = match format {
        Format::Json => {
            let value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
            (value, repeated(body))
        }
        Format::Yaml => yaml(body)?,
        Format::Protobuf => (protobuf::read(body).map_err(|error| error.to_string())?, Vec::new()),
    };
    plain_numbers(&mut value);
    Ok(Document { value, duplicates })
}

fn yaml(body: &Bytes) -> Result<(Value, Vec<String>), String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    let parse = |duplicate_keys: DuplicateKeyPolicy| {
        let options = serde_saphyr::options! { duplicate_keys: duplicate_keys };
        serde_saphyr::from_str_with_options::<Value>(text, options)
    };
    let value = parse(DuplicateKeyPolicy::LastWins).map_err(|error| error.without_snippet().to_string())?;
    let twice = match parse(DuplicateKeyPolicy::Error)
        .as_ref()
        .map_err(YamlError::without_snippet)
    {
        Err(YamlError::DuplicateMappingKey { key, location }) => {
            let key = key.as_deref().unwrap_or_default();
            vec![format!("line {}: key {key:?} already set in map", location.line())]
        }
        _ => Vec::new(),
    };
    Ok((value, twice))
}

/// Errors: 400 when the body cannot be read or is of another kind, 415 for unknown formats.
pub fn object(resource: &Resource, content_type: &str, body: &Bytes) -> Result<Document, Refusal> {
    let format = Format::of(content_type)?;
    if resource.custom && format == Format::Protobuf {
        return Err(unsupported());
    }
    let wanted = &resource.kind;
    let bad = |why: &str| Refusal::bad_request(format!("the body is not a {wanted}: {why}"));
    let mut document = read(format, body).map_err(|why| bad(&why))?;
    if !document.value.is_object() && !document.value.is_null() {
        return Err(bad("it must be an object"));
    }
    for field in ["apiVersion", "kind"] {
        let given = document.value.get(field);
        if given.is_some_and(|given| !given.is_string() && !given.is_null()) {
            return Err(bad(&format!("{field} must be a text")));
        }
    }
    let (version, kind) = (text(&document.value, "/apiVersion"), text(&document.value, "/kind"));
    let expected = resource.api_version();
    let other = |given: &str, expected: &str| given != expected && (resource.custom || !given.is_empty());
    if resource.custom && kind.is_empty() {
        return Err(bad("kind is missing"));
    }
    if other(version, &expected) {
        return Err(bad(&format!("its apiVersion is {version:?}, not {expected:?}")));
    }
    if resource.custom {
        // Another kind is reported when the rest has been read.
        return Ok(document);
    }
    if other(kind, wanted) {
        return Err(bad(&format!("its kind is {kind:?}")));
    }
    name_kind(resource, &mut document.value);
    Ok(document)
}

pub fn name_kind(resource: &Resource, object: &mut Value) {
    let fields = super::meta::map_mut(object);
    fields.insert("apiVersion".to_owned(), resource.api_version().into());
    fields.insert("kind".to_owned(), resource.kind.as_str().into());
}

/// Errors: 422 for another kind than that of the path.
pub fn is_of_kind(resource: &Resource, object: &Value) -> Result<(), Refusal> {
    let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    let (expected_version, expected_kind) = (resource.api_version(), resource.kind.as_str());
    let mut causes = Vec::new();
    for (field, given, expected) in [
        ("apiVersion", version, &*expected_version),
        ("kind", kind, expected_kind),
    ] {
        if given != expected {
            causes.push(cause::invalid(field, &given.into(), &format!("must be {expected}")));
        }
    }
    if causes.is_empty() {
        return Ok(());
    }
    let group = version.split_once('/').map_or("", |(group, _)| group);
    Err(Refusal::invalid(group, kind, super::meta::name(object), &causes))
}

#[cfg(test)]
mod tests;
