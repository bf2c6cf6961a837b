//! One request's access to an object: the object itself, its status or its scale.

use super::admission::{ServerFields, normalize_new, restore_fixed_fields, set_server_fields, update_generation};
use super::body::is_of_kind;
use super::core::Kind;
use super::meta;
use super::options::WriteOptions;
use super::validator::{SentAs, Validator};
use crate::apply::{Writer, track};
use crate::refusal::Refusal;
use crate::schema::cause;
use serde_json::Value;

#[derive(Clone, Copy)]
pub(super) struct RequestScope<'a> {
    pub(super) kind: &'a Kind,
    pub(super) subresource: Option<&'a str>,
    pub(super) options: &'a WriteOptions,
    pub(super) now: &'a str,
}

/// Unchecked, and without the server's fields.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Received {
    pub(super) value: Value,
    pub(super) warnings: Vec<String>,
}

/// Checked and complete. Only this can be stored.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NewState {
    value: Value,
    warnings: Vec<String>,
    requires_revision: bool,
}

impl NewState {
    pub(super) fn by_server(value: Value) -> Self {
        Self {
            value,
            warnings: Vec::new(),
            requires_revision: false,
        }
    }

    pub(super) fn requiring(self, requires_revision: bool) -> Self {
        Self {
            requires_revision,
            ..self
        }
    }

    pub(super) fn requires_revision(&self) -> bool {
        self.requires_revision
    }

    pub(super) fn into_parts(self) -> (Value, Vec<String>) {
        (self.value, self.warnings)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owners {
    Record,
    Recorded,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Identity<'a> {
    pub(super) uid: &'a str,
    pub(super) random: u64,
}

impl RequestScope<'_> {
    pub(super) fn writer(&self) -> Writer<'_> {
        Writer {
            resource: &self.kind.resource,
            manager: &self.options.manager,
            subresource: self.subresource,
            now: self.now,
        }
    }

    fn validator(&self, sent_as: SentAs) -> Validator<'_> {
        Validator {
            kind: self.kind,
            subresource: self.subresource,
            sent_as,
            validation: self.options.validation,
        }
    }

    /// `faults` were found in the text. Errors: 400, or 422 for the result of a patch, when it cannot be read.
    pub(super) fn read(&self, value: Value, faults: Vec<String>, sent_as: SentAs) -> Result<Received, Refusal> {
        let (value, warnings) = self.validator(sent_as).read(value, faults)?;
        Ok(Received { value, warnings })
    }

    /// `namespace` is that of the path. Errors: 422 when the object is malformed.
    pub(super) fn prepare_for_create(
        &self,
        received: Received,
        namespace: Option<&str>,
        identity: Identity<'_>,
        owners: Owners,
    ) -> Result<NewState, Refusal> {
        let resource = &self.kind.resource;
        let Received { mut value, warnings } = received;
        is_of_kind(resource, &value)?;
        normalize_new(resource, &mut value);
        if owners == Owners::Record {
            value = track::update(None, value, &self.writer());
        }
        let server_fields = ServerFields {
            namespace,
            uid: identity.uid,
            now: self.now,
            random: identity.random,
        };
        set_server_fields(resource, &mut value, &server_fields);
        self.checked(value, None, warnings)
    }

    /// Errors: 422 when the object is malformed.
    pub(super) fn prepare_for_update(
        &self,
        old: &Value,
        received: Received,
        owners: Owners,
    ) -> Result<NewState, Refusal> {
        let resource = &self.kind.resource;
        let Received { mut value, warnings } = received;
        is_of_kind(resource, &value)?;
        restore_fixed_fields(resource, old, &mut value, self.subresource);
        if owners == Owners::Record {
            value = track::update(Some(old), value, &self.writer());
        }
        update_generation(resource, old, &mut value);
        self.checked(value, Some(old), warnings)
    }

    fn checked(&self, value: Value, old: Option<&Value>, mut warnings: Vec<String>) -> Result<NewState, Refusal> {
        warnings.extend(self.validator(SentAs::Whole).check(&value, old)?);
        Ok(NewState {
            value,
            warnings,
            requires_revision: false,
        })
    }

    /// Returns whether the named revision is required. Errors: 409 for another one, 422 when this kind requires one,
    /// 500, as from an API server, when it is not a number.
    pub(super) fn check_revision(&self, old: &Value, named: &str) -> Result<bool, Refusal> {
        let resource = &self.kind.resource;
        let name = meta::name(old);
        if matches!(named, "" | "0") {
            if allows_unconditional_update(&resource.group, &resource.plural) {
                return Ok(false);
            }
            let cause = cause::invalid("metadata.resourceVersion", &Value::Null, "must be set in an update");
            return Err(Refusal::invalid(&resource.group, &resource.plural, name, &[cause]));
        }
        if named.parse::<u64>().is_err() {
            let message = super::options::not_a_number("metadata.resourceVersion", named);
            return Err(Refusal::new(500, "", message));
        }
        match named == meta::resource_version(old) {
            true => Ok(true),
            false => Err(self.kind.modified(name)),
        }
    }
}

fn allows_unconditional_update(group: &str, plural: &str) -> bool {
    matches!((group, plural), ("", _) | ("events.k8s.io", "events"))
}
