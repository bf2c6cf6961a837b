//! CustomResourceDefinitions: the kinds that a document defines, and the document as it is served.

use crate::resource::{Column, Resource, Scale, Verb};
use crate::schema::defaults::plain_numbers;
use crate::schema::{Schema, SchemaError};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
pub enum CrdError {
    #[error("{found} is not a CustomResourceDefinition of apiextensions.k8s.io/v1; give a file that holds one")]
    NotOne { found: String },
    #[error("CustomResourceDefinition {name:?} cannot be read; correct it and start again")]
    Unreadable { name: String, source: serde_json::Error },
    #[error("CustomResourceDefinition {name:?} cannot be served: {what}")]
    Wrong { name: String, what: String },
    #[error("the schema of version {version} of CustomResourceDefinition {name:?} cannot be used")]
    Schema {
        name: String,
        version: String,
        source: SchemaError,
    },
}

#[derive(Deserialize)]
struct Spec {
    group: String,
    names: Names,
    scope: String,
    versions: Vec<Version>,
    #[serde(default)]
    conversion: Option<Conversion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Names {
    plural: String,
    kind: String,
    singular: Option<String>,
    list_kind: Option<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    name: String,
    served: bool,
    storage: bool,
    schema: Option<Value>,
    #[serde(default)]
    subresources: Subresources,
    #[serde(default)]
    additional_printer_columns: Vec<PrinterColumn>,
    #[serde(default)]
    selectable_fields: Vec<SelectableField>,
}

#[derive(Default, Deserialize)]
struct Subresources {
    status: Option<Value>,
    scale: Option<ScalePaths>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScalePaths {
    spec_replicas_path: String,
    status_replicas_path: String,
    label_selector_path: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PrinterColumn {
    name: String,
    #[serde(rename = "type")]
    type_: String,
    #[serde(default)]
    format: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    priority: i64,
    json_path: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SelectableField {
    json_path: String,
}

#[derive(Deserialize)]
struct Conversion {
    strategy: String,
}

/// Kinds of the served versions.
pub fn resources(document: &Value) -> Result<Vec<Resource>, CrdError> {
    let document = &whole_numbers(document.clone());
    let name = name_of(document);
    let spec = read(document)?;
    let served: Vec<&Version> = spec.versions.iter().filter(|version| version.served).collect();
    if served.is_empty() {
        let what = "no version has served: true; set it on one".to_owned();
        return Err(CrdError::Wrong { name, what });
    }
    served
        .into_iter()
        .map(|version| resource(&name, &spec, version))
        .collect()
}

pub fn as_served(document: &Value, uid: &str, now: Timestamp) -> Result<Value, CrdError> {
    let spec = read(document)?;
    let now = format!("{now:.0}");
    let mut served = whole_numbers(document.clone());
    let names = &mut served["spec"]["names"];
    names["singular"] = spec.names.singular().into();
    names["listKind"] = spec.names.list_kind().into();
    let accepted = names.clone();
    if served["spec"]["conversion"].is_null() {
        served["spec"]["conversion"] = json!({"strategy": "None"});
    }
    let metadata = &mut served["metadata"];
    metadata["uid"] = uid.into();
    metadata["creationTimestamp"] = now.clone().into();
    metadata["generation"] = 1.into();
    let condition = |type_: &str, reason: &str, message: &str| {
        json!({
            "type": type_, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message,
        })
    };
    let stored: Vec<&str> = spec
        .versions
        .iter()
        .filter(|version| version.storage)
        .map(|version| &*version.name)
        .collect();
    served["status"] = json!({
        "acceptedNames": accepted,
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "storedVersions": stored,
    });
    Ok(served)
}

/// Makes `10.0` and `10` the same default of a number field.
fn whole_numbers(mut document: Value) -> Value {
    plain_numbers(&mut document);
    document
}

fn name_of(document: &Value) -> String {
    let name = document.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

fn read(document: &Value) -> Result<Spec, CrdError> {
    let text = |field: &str| document.get(field).and_then(Value::as_str).unwrap_or("without one");
    if (text("apiVersion"), text("kind")) != ("apiextensions.k8s.io/v1", "CustomResourceDefinition") {
        let found = format!(
            "a document of kind {} and apiVersion {}",
            text("kind"),
            text("apiVersion")
        );
        return Err(CrdError::NotOne { found });
    }
    let name = name_of(document);
    let spec = document.get("spec").unwrap_or(&Value::Null);
    let spec = match Spec::deserialize(spec) {
        Ok(spec) => spec,
        Err(source) => return Err(CrdError::Unreadable { name, source }),
    };
    let wanted = format!("{}.{}", spec.names.plural, spec.group);
    let stored = spec.versions.iter().filter(|version| version.storage).count();
    let converts = spec.conversion.as_ref().is_some_and(|by| by.strategy != "None");
    let what = match spec.scope.as_str() {
        _ if name != wanted => format!("metadata.name must be {wanted:?}: spec.names.plural and spec.group"),
        "Namespaced" | "Cluster" if stored != 1 => {
            format!("{stored} versions have storage: true; exactly one must have it")
        }
        "Namespaced" | "Cluster" if converts => "it converts by webhook; use strategy None or a cluster".to_owned(),
        "Namespaced" | "Cluster" => return Ok(spec),
        scope => format!("spec.scope is {scope:?}; it must be Namespaced or Cluster"),
    };
    Err(CrdError::Wrong { name, what })
}

fn resource(name: &str, spec: &Spec, version: &Version) -> Result<Resource, CrdError> {
    let document = version.schema.as_ref().and_then(|schema| schema.get("openAPIV3Schema"));
    let Some(document) = document else {
        return Err(CrdError::Wrong {
            name: name.to_owned(),
            what: format!("version {} has no schema.openAPIV3Schema; add it", version.name),
        });
    };
    let schema = Schema::parse_with(document, &Map::new()).map_err(|source| CrdError::Schema {
        name: name.to_owned(),
        version: version.name.clone(),
        source,
    })?;
    let columns = version.additional_printer_columns.iter().map(|column| Column {
        name: column.name.clone(),
        type_: column.type_.clone(),
        format: column.format.clone(),
        description: column.description.clone(),
        priority: column.priority,
        json_path: column.json_path.clone(),
    });
    let fields = version
        .selectable_fields
        .iter()
        .map(|field| field.json_path.trim_start_matches('.').to_owned());
    Ok(Resource {
        group: spec.group.clone(),
        version: version.name.clone(),
        plural: spec.names.plural.clone(),
        singular: spec.names.singular(),
        kind: spec.names.kind.clone(),
        list_kind: spec.names.list_kind(),
        short_names: spec.names.short_names.clone(),
        categories: spec.names.categories.clone(),
        namespaced: spec.scope == "Namespaced",
        verbs: Verb::ALL.to_vec(),
        has_status: version.subresources.status.is_some(),
        scale: version.subresources.scale.as_ref().map(|scale| Scale {
            spec_replicas: scale.spec_replicas_path.clone(),
            status_replicas: scale.status_replicas_path.clone(),
            label_selector: scale.label_selector_path.clone(),
        }),
        columns: columns.collect(),
        selectable_fields: fields.collect(),
        schema: Arc::new(schema),
        custom: true,
        storage: name.into(),
    })
}

impl Names {
    fn singular(&self) -> String {
        self.singular.clone().unwrap_or_else(|| self.kind.to_lowercase())
    }

    fn list_kind(&self) -> String {
        self.list_kind.clone().unwrap_or_else(|| format!("{}List", self.kind))
    }
}

#[cfg(test)]
mod tests;
