//! The body of a write: JSON, YAML or, for built-in kinds, protobuf; and the kind that it declares.
//!
//! Owns: reading it, and the refusal when it cannot be read. Must not: check the object.

use super::meta::text;
use super::protobuf;
use crate::refusal::{Cause, Refusal};
use crate::resource::Resource;
use crate::schema::checker::repeated;
use crate::schema::go;
use bytes::Bytes;
use serde_json::Value;
use serde_saphyr::Error as YamlError;
use serde_saphyr::options::DuplicateKeyPolicy;

/// How many bytes of a body are shown when it cannot be read.
const SHOWN: usize = 30;

/// The format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `application/json`; also a body without a content type.
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`. Built-in kinds only.
    Protobuf,
}

impl Format {
    /// The format that `Content-Type` names.
    ///
    /// # Errors
    /// 415 for all others, including CBOR.
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

/// A document, and its faults that do not prevent reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The document. A duplicate field has its last value.
    pub value: Value,
    /// `duplicate field "spec.replicas"` for each duplicate field.
    pub duplicates: Vec<String>,
}

/// Reads a document.
///
/// # Errors
/// Why it cannot be read.
pub fn read(format: Format, body: &Bytes) -> Result<Document, String> {
    let (mut value, duplicates) = match format {
        Format::Json => {
            let value = serde_json::from_slice(body).map_err(|error| of_json(&error))?;
            (value, repeated(body))
        }
        Format::Yaml => yaml(body)?,
        Format::Protobuf => (protobuf::read(body).map_err(|error| error.to_string())?, Vec::new()),
    };
    plain_numbers(&mut value);
    Ok(Document { value, duplicates })
}

fn yaml(body: &Bytes) -> Result<(Value, Vec<String>), String> {
    let text = std::str::from_utf8(body).map_err(|error| format!("yaml: {error}"))?;
    let parse = |duplicate_keys: DuplicateKeyPolicy| {
        let options = serde_saphyr::options! { duplicate_keys: duplicate_keys };
        serde_saphyr::from_str_with_options::<Value>(text, options)
    };
    let value = parse(DuplicateKeyPolicy::LastWins).map_err(|error| of_yaml(&error))?;
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

/// The first line of the parser's message, without its own form of the position.
fn of_yaml(error: &YamlError) -> String {
    let text = error.without_snippet().to_string();
    let text = text.lines().next().unwrap_or_default();
    let what = text.rsplit_once(": ").map_or(text, |(_, what)| what);
    match error.location() {
        Some(location) => format!("yaml: line {}: {what}", location.line()),
        None => format!("yaml: {what}"),
    }
}

fn of_json(error: &serde_json::Error) -> String {
    match error.is_eof() {
        true => "unexpected end of JSON input".to_owned(),
        false => error.to_string(),
    }
}

/// Whole numbers without a fraction: `12.0` becomes `12`, as in every answer of an API server.
fn plain_numbers(value: &mut Value) {
    /// Up to this number, every whole number has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0);
            if let Some(float) = float.filter(|float| float.abs() <= EXACT) {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole, and well within the range")]
                let whole = float as i64;
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain_numbers),
        Value::Object(fields) => fields.values_mut().for_each(plain_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Reads the object of a creation or an update, and checks that it is of the kind of the path. If the body does not name
/// a built-in kind, the path does.
///
/// # Errors
/// 400 when it cannot be read or is of another kind, 415 for unknown formats.
pub fn object(resource: &Resource, content_type: &str, body: &Bytes) -> Result<Document, Refusal> {
    let format = Format::of(content_type)?;
    if resource.custom && format == Format::Protobuf {
        return Err(unsupported());
    }
    let unrecognised = |why: String| {
        let of_type = format!(
            "the object provided is unrecognized (must be of type {})",
            resource.kind
        );
        Refusal::bad_request(format!("{of_type}: {why} ({})", shown(body)))
    };
    let no_kind = match format {
        Format::Json => "couldn't get version/kind; json parse error: ",
        Format::Yaml | Format::Protobuf => "",
    };
    let mut document = read(format, body).map_err(|why| unrecognised(format!("{no_kind}{why}")))?;
    if !document.value.is_object() && !document.value.is_null() {
        return Err(unrecognised(format!(
            "{no_kind}json: cannot unmarshal {} into an object",
            go::json_kind(&document.value)
        )));
    }
    for field in ["apiVersion", "kind"] {
        let given = document
            .value
            .get(field)
            .filter(|value| !value.is_string() && !value.is_null());
        if let Some(other) = given {
            let message = format!(
                "json: cannot unmarshal {} into Go struct field .{field} of type string",
                go::json_kind(other)
            );
            return Err(unrecognised(format!("{no_kind}{message}")));
        }
    }
    let (version, kind) = (text(&document.value, "/apiVersion"), text(&document.value, "/kind"));
    if version.matches('/').count() > 1 {
        return Err(unrecognised(format!("unexpected GroupVersion string: {version}")));
    }
    let expected = resource.api_version();
    if resource.custom {
        if kind.is_empty() {
            let whole = String::from_utf8_lossy(body);
            return Err(unrecognised(format!("Object 'Kind' is missing in '{whole}'")));
        }
        if version != expected {
            let message = format!("the API version in the data ({version}) does not match the expected API version");
            return Err(Refusal::bad_request(format!("{message} ({expected})")));
        }
        return Ok(document);
    }
    if kind == resource.kind && !version.is_empty() && version != expected {
        let message = format!("the API version in the data ({version}) does not match the expected API version");
        return Err(Refusal::bad_request(format!("{message} ({expected})")));
    }
    if (!version.is_empty() && version != expected) || (!kind.is_empty() && kind != resource.kind) {
        let of_version = version.rsplit('/').next().unwrap_or_default();
        let message = format!(
            "{kind} in version {of_version:?} cannot be handled as a {}",
            resource.kind
        );
        let why =
            format!("no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\"");
        return Err(Refusal::bad_request(format!("{message}: {why}")));
    }
    name_kind(resource, &mut document.value);
    Ok(document)
}

/// Sets `apiVersion` and `kind` to those of the path.
pub fn name_kind(resource: &Resource, object: &mut Value) {
    let fields = super::meta::map_mut(object);
    fields.insert("apiVersion".to_owned(), resource.api_version().into());
    fields.insert("kind".to_owned(), resource.kind.as_str().into());
}

/// 422 when an object declares another kind than that of the path.
///
/// # Errors
/// That.
pub fn is_of_kind(resource: &Resource, object: &Value) -> Result<(), Refusal> {
    let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    let (expected_version, expected_kind) = (resource.api_version(), resource.kind.as_str());
    let mut causes = Vec::new();
    for (field, given, expected) in [
        ("apiVersion", version, &*expected_version),
        ("kind", kind, expected_kind),
    ] {
        if given != expected {
            causes.push(Cause {
                reason: "FieldValueInvalid",
                field: field.to_owned(),
                message: format!("Invalid value: {given:?}: must be {expected}"),
            });
        }
    }
    if causes.is_empty() {
        return Ok(());
    }
    let group = version.split_once('/').map_or("", |(group, _)| group);
    Err(Refusal::invalid(group, kind, super::meta::name(object), &causes))
}

fn shown(body: &Bytes) -> String {
    let (start, dots) = match body.get(..SHOWN) {
        Some(start) if body.len() > SHOWN => (start, " ..."),
        _ => (&body[..], ""),
    };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{dots}", String::from_utf8_lossy(start)),
        Some(_) => {
            let hex: String = start.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{dots}")
        }
    }
}

#[cfg(test)]
mod tests;
