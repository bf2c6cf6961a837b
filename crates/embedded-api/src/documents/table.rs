//! `Table` of `meta.k8s.io`, which `kubectl get` prints unchanged: the columns of a kind and the rows of its objects.

use super::list::ListMeta;
use super::{cell, cells, jsonpath, partial};
use crate::refusal::Refusal;
use crate::resource::{Column, Resource};
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::borrow::Borrow;

#[derive(Debug)]
pub struct Printer {
    columns: Value,
    rows: Rows,
}

#[derive(Debug, PartialEq, thiserror::Error)]
#[error("column {column:?} of {resource}: {source}")]
pub struct ColumnError {
    /// `plural.group`.
    pub resource: String,
    pub column: String,
    pub source: jsonpath::PathError,
}

#[derive(Debug)]
enum Rows {
    BuiltIn(fn(&Value, Timestamp) -> Vec<Value>),
    Custom(Vec<(String, jsonpath::Path)>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Include {
    None,
    #[default]
    Metadata,
    Object,
}

#[derive(Clone, Copy, Debug)]
pub struct TableOptions<'a> {
    pub version: &'a str,
    pub include: Include,
    /// Set, in a watch, for the first event's table only.
    pub described: bool,
    pub now: Timestamp,
}

impl Include {
    /// Errors: 400 for an unknown value of `includeObject`.
    pub fn parse(parameter: Option<&str>) -> Result<Self, Refusal> {
        match parameter {
            None | Some("" | "Metadata") => Ok(Self::Metadata),
            Some("None") => Ok(Self::None),
            Some("Object") => Ok(Self::Object),
            Some(other) => Err(Refusal::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', \
                 'Object', 'None', or empty"
            ))),
        }
    }
}

impl Printer {
    pub fn new(resource: &Resource) -> Result<Self, ColumnError> {
        if let Some(built_in) = cells::of(resource) {
            let columns = built_in
                .titles
                .iter()
                .map(|title| definition(title.name, title.type_, title.format, title.description, title.priority));
            return Ok(Self {
                columns: columns.collect(),
                rows: Rows::BuiltIn(built_in.row),
            });
        }
        let age = [age()];
        let shown = if resource.columns.is_empty() {
            &age
        } else {
            resource.columns.as_slice()
        };
        let mut columns = vec![definition("Name", "string", "name", cells::NAME.description, 0)];
        let mut paths = Vec::with_capacity(shown.len());
        for column in shown {
            let path = jsonpath::Path::new(&column.json_path).map_err(|source| ColumnError {
                resource: resource.qualified(),
                column: column.name.clone(),
                source,
            })?;
            paths.push((column.type_.clone(), path));
            let by_path = format!(
                "Custom resource definition column (in JSONPath format): {}",
                column.json_path
            );
            let description = if column.description.is_empty() {
                &by_path
            } else {
                &column.description
            };
            columns.push(definition(
                &column.name,
                &column.type_,
                &column.format,
                description,
                column.priority,
            ));
        }
        Ok(Self {
            columns: columns.into(),
            rows: Rows::Custom(paths),
        })
    }

    pub fn list<Item: Borrow<Value>>(
        &self,
        objects: impl IntoIterator<Item = Item>,
        meta: &ListMeta,
        options: &TableOptions<'_>,
    ) -> Bytes {
        let columns = if options.described { &self.columns } else { &Value::Null };
        let mut out = format!(
            r#"{{"kind":"Table","apiVersion":"meta.k8s.io/{}","metadata":{},"columnDefinitions":{columns},"rows":["#,
            options.version,
            meta.json()
        );
        for (index, object) in objects.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            self.row(object.borrow(), options, &mut out);
        }
        out.push_str("]}");
        out.into()
    }

    #[must_use]
    pub fn object(&self, object: &Value, options: &TableOptions<'_>) -> Bytes {
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        let meta = ListMeta {
            resource_version: version.unwrap_or_default().to_owned(),
            ..ListMeta::default()
        };
        self.list([object], &meta, options)
    }

    fn row(&self, object: &Value, options: &TableOptions<'_>, out: &mut String) {
        let cells = match &self.rows {
            Rows::BuiltIn(row) => row(object, options.now),
            Rows::Custom(paths) => {
                let name = object
                    .pointer("/metadata/name")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let shown = paths
                    .iter()
                    .map(|(type_, path)| cell::of(type_, path.first(object), options.now));
                std::iter::once(name.into()).chain(shown).collect()
            }
        };
        let carried = match options.include {
            Include::None => "null".to_owned(),
            Include::Metadata => partial::object(object, options.version),
            Include::Object => object.to_string(),
        };
        out.push_str(r#"{"cells":"#);
        out.push_str(&Value::Array(cells).to_string());
        out.push_str(r#","object":"#);
        out.push_str(&carried);
        out.push('}');
    }
}

fn definition(name: &str, type_: &str, format: &str, description: &str, priority: i64) -> Value {
    json!({"name": name, "type": type_, "format": format, "description": description, "priority": priority})
}

fn age() -> Column {
    Column {
        name: cells::AGE.name.to_owned(),
        type_: "date".to_owned(),
        format: String::new(),
        description: cells::AGE.description.to_owned(),
        priority: 0,
        json_path: ".metadata.creationTimestamp".to_owned(),
    }
}

#[cfg(test)]
mod tests;
