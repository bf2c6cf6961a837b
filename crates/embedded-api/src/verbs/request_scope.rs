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

/// The scope of one write.
#[derive(Clone, Copy)]
pub(super) struct RequestScope<'a> {
    /// The kind.
    pub(super) kind: &'a Kind,
    /// `status` or `scale`; `None` for the object itself.
    pub(super) subresource: Option<&'a str>,
    /// The options of the write.
    pub(super) options: &'a WriteOptions,
    /// The time, in RFC 3339 with whole seconds.
    pub(super) now: &'a str,
}

/// An object as it was read from a request: not checked yet, and without what the server sets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Received {
    /// The object, in the form of its kind.
    pub(super) value: Value,
    /// Warnings for the client.
    pub(super) warnings: Vec<String>,
}

/// The state that results from a write: checked, and complete. Only this can be stored.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NewState {
    value: Value,
    warnings: Vec<String>,
    requires_revision: bool,
}

impl NewState {
    /// A state that the server itself makes of a stored one.
    pub(super) fn by_server(value: Value) -> Self {
        Self {
            value,
            warnings: Vec::new(),
            requires_revision: false,
        }
    }

    /// With whether the writer requires the revision that it has read. Otherwise a later one is accepted too.
    pub(super) fn requiring(self, requires_revision: bool) -> Self {
        Self {
            requires_revision,
            ..self
        }
    }

    /// Whether the writer requires the revision that it has read.
    pub(super) fn requires_revision(&self) -> bool {
        self.requires_revision
    }

    /// The object, in the form of its kind, and warnings for the client.
    pub(super) fn into_parts(self) -> (Value, Vec<String>) {
        (self.value, self.warnings)
    }
}

/// Whether field owners still have to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owners {
    /// Yes: a plain write.
    Record,
    /// No: an apply has done it.
    Recorded,
}

/// The random part of a new object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity<'a> {
    /// `metadata.uid`.
    pub(super) uid: &'a str,
    /// For a generated name.
    pub(super) random: u64,
}

impl RequestScope<'_> {
    /// The writer, for recording field owners.
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

    /// Reads an object: unknown fields are removed, defaults filled in. `faults` were found in its text.
    ///
    /// # Errors
    /// 400, or 422 for the result of a patch, when it cannot be read.
    pub(super) fn read(&self, value: Value, faults: Vec<String>, sent_as: SentAs) -> Result<Received, Refusal> {
        let (value, warnings) = self.validator(sent_as).read(value, faults)?;
        Ok(Received { value, warnings })
    }

    /// A new object from one that was read. `namespace` is that of the path.
    ///
    /// # Errors
    /// 422 when it is not well formed.
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

    /// A new state of an object from one that was read.
    ///
    /// # Errors
    /// 422 when it is not well formed.
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

    /// Whether the `resourceVersion` that a writer names is that of the object. Returns whether the writer requires it.
    ///
    /// # Errors
    /// 409 when it is not, 422 when this kind requires one and none is named, 500 when it is not a number, as an API server
    /// answers.
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

/// Whether clients may replace objects of this kind without a `resourceVersion`.
fn allows_unconditional_update(group: &str, plural: &str) -> bool {
    matches!((group, plural), ("", _) | ("events.k8s.io", "events"))
}
