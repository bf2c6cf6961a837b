//! One request's access to an object: the object itself, its status or its scale.
//!
//! Owns: the state that results from a write. Must not: store it.

use super::admission::{ServerFields, normalize_new, restore_fixed_fields, set_server_fields, update_generation};
use super::body::is_of_kind;
use super::core::Kind;
use super::meta;
use super::options::WriteOptions;
use super::validator::{SentAs, Validator};
use crate::apply::{Writer, track};
use crate::refusal::{Cause, Refusal};
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

/// The state that results from a write.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Draft {
    /// The object, in the form of its kind.
    pub(super) value: Value,
    /// Warnings for the client.
    pub(super) warnings: Vec<String>,
    /// Whether the writer requires the revision that it has read. Otherwise a later one is accepted too.
    pub(super) requires_revision: bool,
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
    pub(super) fn read(&self, value: Value, faults: Vec<String>, sent_as: SentAs) -> Result<Draft, Refusal> {
        let (value, warnings) = self.validator(sent_as).read(value, faults)?;
        Ok(Draft {
            value,
            warnings,
            requires_revision: false,
        })
    }

    /// A new object from one that was read. `namespace` is that of the path.
    ///
    /// # Errors
    /// 422 when it is not well formed.
    pub(super) fn prepare_for_create(
        &self,
        read: Draft,
        namespace: Option<&str>,
        identity: Identity<'_>,
        owners: Owners,
    ) -> Result<Draft, Refusal> {
        let resource = &self.kind.resource;
        let mut draft = read;
        is_of_kind(resource, &draft.value)?;
        normalize_new(resource, &mut draft.value);
        if owners == Owners::Record {
            draft.value = track::update(None, draft.value, &self.writer());
        }
        let server_fields = ServerFields {
            namespace,
            uid: identity.uid,
            now: self.now,
            random: identity.random,
        };
        set_server_fields(resource, &mut draft.value, &server_fields);
        draft
            .warnings
            .extend(self.validator(SentAs::Whole).check(&draft.value, None)?);
        Ok(draft)
    }

    /// A new state of an object from one that was read.
    ///
    /// # Errors
    /// 422 when it is not well formed.
    pub(super) fn prepare_for_update(&self, old: &Value, read: Draft, owners: Owners) -> Result<Draft, Refusal> {
        let resource = &self.kind.resource;
        let mut draft = read;
        is_of_kind(resource, &draft.value)?;
        restore_fixed_fields(resource, old, &mut draft.value, self.subresource);
        if owners == Owners::Record {
            draft.value = track::update(Some(old), draft.value, &self.writer());
        }
        update_generation(resource, old, &mut draft.value);
        draft
            .warnings
            .extend(self.validator(SentAs::Whole).check(&draft.value, Some(old))?);
        Ok(draft)
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
            let cause = Cause {
                reason: "FieldValueInvalid",
                field: "metadata.resourceVersion".to_owned(),
                message: "Invalid value: 0: must be specified for an update".to_owned(),
            };
            return Err(Refusal::invalid(&resource.group, &resource.plural, name, &[cause]));
        }
        if named.parse::<u64>().is_err() {
            let message = super::options::not_a_number("ParseUint", named);
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
