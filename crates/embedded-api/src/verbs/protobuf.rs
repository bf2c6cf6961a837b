//! Bodies in protobuf, as typed Go clients send built-in kinds, read by the tables in [`messages`] into the JSON that
//! the same client could have sent; unknown fields are refused, never dropped.

mod messages;
mod wire;

use messages::{Kind, Message};
use serde_json::{Map, Value};
use wire::{Field, fields};

const MAGIC: &[u8] = b"k8s\0";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtobufError {
    #[error("the body is not protobuf as Kubernetes writes it")]
    NotProtobuf,
    #[error("the protobuf of the body cannot be read")]
    Broken,
    #[error("{kind} of {api_version:?} is not read from protobuf here; send JSON")]
    Unknown { api_version: String, kind: String },
    #[error("field {number} in {inside} is not read from protobuf here; send JSON")]
    UnknownField { inside: String, number: u32 },
}

pub fn read(body: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = body.strip_prefix(MAGIC).ok_or(ProtobufError::NotProtobuf)?;
    let (mut type_, mut raw): (&[u8], &[u8]) = (&[], &[]);
    for field in fields(envelope) {
        match field.ok_or(ProtobufError::Broken)? {
            (1, Field::Bytes(bytes)) => type_ = bytes,
            (2, Field::Bytes(bytes)) => raw = bytes,
            // Encoding and type of the content; empty means the defaults.
            (3 | 4, Field::Bytes(b"")) => {}
            _ => return Err(ProtobufError::NotProtobuf),
        }
    }
    let (mut api_version, mut kind) = (String::new(), String::new());
    for field in fields(type_) {
        match field.ok_or(ProtobufError::Broken)? {
            (1, Field::Bytes(bytes)) => api_version = text(bytes)?,
            (2, Field::Bytes(bytes)) => kind = text(bytes)?,
            _ => return Err(ProtobufError::NotProtobuf),
        }
    }
    let Some(message) = messages::of(&api_version, &kind) else {
        return Err(ProtobufError::Unknown { api_version, kind });
    };
    let mut object = object(message, raw, &kind)?;
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(object))
}

fn object(message: &Message, bytes: &[u8], inside: &str) -> Result<Map<String, Value>, ProtobufError> {
    let mut object = Map::new();
    for field in fields(bytes) {
        let (number, field) = field.ok_or(ProtobufError::Broken)?;
        let known = message.0.iter().find(|(known, _, _)| *known == number);
        let Some((_, name, kind)) = known else {
            let inside = inside.to_owned();
            return Err(ProtobufError::UnknownField { inside, number });
        };
        put(&mut object, name, kind, field)?;
    }
    Ok(object)
}

/// Leaves out empty fields that a Go client leaves out of JSON.
fn put(object: &mut Map<String, Value>, name: &str, kind: &Kind, field: Field<'_>) -> Result<(), ProtobufError> {
    let value = match (kind, field) {
        (Kind::Text | Kind::TimeIfAny, Field::Bytes(b"")) | (Kind::Whole | Kind::Flag, Field::Number(0)) => {
            return Ok(());
        }
        (Kind::TimeIfAny, Field::Bytes(bytes)) => wire::time(bytes, false).ok_or(ProtobufError::Broken)?,
        (Kind::Text | Kind::TextOrEmpty, Field::Bytes(bytes)) => text(bytes)?.into(),
        (Kind::Whole | Kind::WholeOrZero, Field::Number(number)) => number.cast_signed().into(),
        (Kind::Flag | Kind::FlagOrFalse, Field::Number(number)) => (number != 0).into(),
        (Kind::Time { micro }, Field::Bytes(bytes)) => wire::time(bytes, *micro).ok_or(ProtobufError::Broken)?,
        (Kind::One(message), Field::Bytes(bytes)) => self::object(message, bytes, name)?.into(),
        (Kind::Json, Field::Bytes(bytes)) => json(bytes)?,
        (Kind::Texts, Field::Bytes(bytes)) => return append(object, name, text(bytes)?.into()),
        (Kind::Many(message), Field::Bytes(bytes)) => {
            let item = self::object(message, bytes, name)?;
            return append(object, name, item.into());
        }
        (Kind::TextMap, Field::Bytes(bytes)) => {
            let (key, value) = entry(bytes)?;
            let map = object.entry(name).or_insert_with(|| Value::Object(Map::new()));
            map[key] = text(value)?.into();
            return Ok(());
        }
        _ => return Err(ProtobufError::Broken),
    };
    object.insert(name.to_owned(), value);
    Ok(())
}

fn append(object: &mut Map<String, Value>, name: &str, item: Value) -> Result<(), ProtobufError> {
    let list = object.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    list.as_array_mut().ok_or(ProtobufError::Broken)?.push(item);
    Ok(())
}

fn entry(bytes: &[u8]) -> Result<(String, &[u8]), ProtobufError> {
    let (key, value) = (only(bytes, 1)?, only(bytes, 2)?);
    Ok((text(key.unwrap_or_default())?, value.unwrap_or_default()))
}

fn only(bytes: &[u8], wanted: u32) -> Result<Option<&[u8]>, ProtobufError> {
    let mut found = None;
    for field in fields(bytes) {
        if let (number, Field::Bytes(bytes)) = field.ok_or(ProtobufError::Broken)?
            && number == wanted
        {
            found = Some(bytes);
        }
    }
    Ok(found)
}

fn json(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let raw = only(bytes, 1)?.unwrap_or(b"null");
    serde_json::from_slice(raw).map_err(|_| ProtobufError::Broken)
}

fn text(bytes: &[u8]) -> Result<String, ProtobufError> {
    let text = std::str::from_utf8(bytes).map_err(|_| ProtobufError::Broken)?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests;
