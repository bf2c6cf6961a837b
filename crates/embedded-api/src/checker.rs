//! Reading and validation of an object before it is stored. Owns: the order of the steps, as in the API server. Must
//! not: set what the server sets (names, uids, times).

pub mod builtin;

use crate::refusal::{Cause, Refusal};
use crate::resource::Resource;
use crate::schema::cel::Rules;
use crate::schema::decode::decode;
use crate::schema::duplicates::duplicates;
use crate::schema::metadata::{self, names::NameRule};
use crate::schema::node::Node;
use crate::schema::path::Path;
use crate::schema::validate::validate;
use crate::schema::{SchemaError, cause, defaults, lists, object_meta, prune};
use serde_json::Value;

/// Create one per kind and keep it: creating it compiles patterns and rules.
#[derive(Debug)]
pub struct Checker {
    resource: Resource,
    custom: Option<Custom>,
}

#[derive(Debug)]
struct Custom {
    node: Node,
    rules: Rules,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    pub value: Value,
    /// Messages such as `unknown field "spec.foo"`, for errors or warnings by `fieldValidation`.
    pub unknown: Vec<String>,
    /// Sent for any `fieldValidation`.
    pub warnings: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Main,
    Status,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Rejection {
    Malformed(String),
    Invalid(Vec<Cause>),
}

impl Rejection {
    #[must_use]
    pub fn refusal(&self, resource: &Resource, name: &str) -> Refusal {
        match self {
            Self::Malformed(why) => {
                let Resource { kind, version, .. } = resource;
                let message = format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}");
                Refusal::bad_request(message)
            }
            Self::Invalid(causes) => {
                // The API server keeps Events as one kind of the core group, and names them so.
                let group = match resource.group.as_str() {
                    "events.k8s.io" => "",
                    group => group,
                };
                Refusal::invalid(group, &resource.kind, name, causes)
            }
        }
    }
}

#[must_use]
pub fn repeated(json: &[u8]) -> Vec<String> {
    let fields = duplicates(json).into_iter();
    fields.map(|field| format!("duplicate field \"{field}\"")).collect()
}

impl Checker {
    /// Errors: a rule that cannot be compiled, or a keyword that is not checked here.
    pub fn new(resource: &Resource) -> Result<Self, SchemaError> {
        let custom = || -> Result<Custom, SchemaError> {
            Ok(Custom {
                node: Node::of(&resource.schema)?,
                rules: Rules::compile(&resource.schema)?,
            })
        };
        Ok(Self {
            custom: resource.custom.then(custom).transpose()?,
            resource: resource.clone(),
        })
    }

    /// Removes unknown fields and nulls and fills in defaults; metadata is read by its own type. Errors:
    /// [`Rejection::Malformed`] for a wrong type.
    pub fn read(&self, mut object: Value) -> Result<Read, Rejection> {
        let schema = &self.resource.schema;
        let mut unknown = Vec::new();
        let mut warnings = Vec::new();
        let mut meta = object.as_object_mut().and_then(|fields| fields.remove("metadata"));
        if let Some(meta) = &mut meta {
            let fields = object_meta::read(meta).map_err(|error| Rejection::Malformed(format!("metadata.{error}")))?;
            unknown.extend(fields.into_iter().map(|field| format!("metadata.{field}")));
            warnings.extend(object_meta::merge_owners(meta));
        }
        if self.resource.custom {
            unknown.extend(prune::prune(&mut object, schema));
            defaults::drop_nulls(&mut object, schema);
            defaults::fill(&mut object, schema);
        } else {
            let fields = decode(&mut object, schema);
            unknown.extend(fields.map_err(|error| Rejection::Malformed(error.0))?);
        }
        defaults::plain_numbers(&mut object);
        if let (Some(fields), Some(meta)) = (object.as_object_mut(), meta) {
            fields.insert("metadata".to_owned(), meta);
        }
        let unknown = unknown
            .into_iter()
            .map(|field| format!("unknown field \"{field}\""))
            .collect();
        Ok(Read {
            value: object,
            unknown,
            warnings,
        })
    }

    /// The object was read and has the server's fields; `old` has passed [`metadata::keep`]. Returns warnings. Errors:
    /// [`Rejection::Invalid`] with all faults, in the API's order.
    pub fn check(&self, object: &Value, old: Option<&Value>, subject: Subject) -> Result<Vec<String>, Rejection> {
        let mut causes = Vec::new();
        let mut warnings = Vec::new();
        self.check_metadata(object, old, &mut causes);
        if let Some(custom) = &self.custom {
            custom.check_schema(object, old, subject, &mut causes);
            custom.check_lists(object, old, &mut causes);
            warnings = custom.check_rules(object, old, &mut causes);
            if subject == Subject::Main {
                let meta = object.get("metadata").unwrap_or(&Value::Null);
                let old = old.and_then(|old| old.get("metadata"));
                warnings.extend(metadata::finalizer_warnings(meta, old));
            }
        } else {
            causes.extend(builtin::check(&self.resource, object, old));
        }
        let causes = cause::once(causes);
        if causes.is_empty() {
            Ok(warnings)
        } else {
            Err(Rejection::Invalid(causes))
        }
    }

    fn check_metadata(&self, object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
        let meta = object.get("metadata").unwrap_or(&Value::Null);
        let rule = match old {
            Some(_) => NameRule::PathSegment,
            None if self.resource.custom => NameRule::Subdomain,
            None => builtin::name_rule(&self.resource, object),
        };
        causes.extend(metadata::check(meta, rule, self.resource.namespaced));
        if let Some(old) = old {
            let old = old.get("metadata").unwrap_or(&Value::Null);
            causes.extend(metadata::check_update(meta, old));
        }
    }
}

impl Custom {
    fn check_schema(&self, object: &Value, old: Option<&Value>, subject: Subject, causes: &mut Vec<Cause>) {
        if subject == Subject::Main {
            causes.extend(validate(object, old, &self.node, &Path::ROOT));
            return;
        }
        let Some((status, node)) = object.get("status").zip(self.node.child("status")) else {
            return;
        };
        let old = old.and_then(|old| old.get("status"));
        for mut cause in validate(status, old, node, &Path::ROOT.field("status")) {
            if cause.field == cause::ROOT {
                cause.field = "status".to_owned();
            }
            causes.push(cause);
        }
    }

    /// Reports faults of an update only if there were none before.
    fn check_lists(&self, object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
        let found = lists::twice(object, &self.node, &Path::ROOT);
        let before = |old: &Value| !lists::twice(old, &self.node, &Path::ROOT).is_empty();
        if !found.is_empty() && !old.is_some_and(before) {
            causes.extend(found);
        }
    }

    /// Skips objects whose types do not match the schema.
    fn check_rules(&self, object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) -> Vec<String> {
        const BLOCKING: [&str; 5] = [
            "FieldValueNotSupported",
            "FieldValueRequired",
            "FieldValueTooLong",
            "FieldValueTooMany",
            "FieldValueTypeInvalid",
        ];
        if self.rules.is_empty() {
            return Vec::new();
        }
        if causes.iter().any(|cause| BLOCKING.contains(&cause.reason)) {
            let detail = "the rules of the definition are checked when the other faults are corrected";
            causes.push(cause::invalid(cause::ROOT, &Value::Null, detail));
            return Vec::new();
        }
        let verdict = self.rules.judge(object, old);
        causes.extend(verdict.causes);
        verdict.warnings
    }
}

#[cfg(test)]
mod tests;
