//! Whether an object is well formed: its types, its rules, and what it says beyond them.
//!
//! Owns: asking the checker, and how a fault is told at each door. Must not: know rules.

use super::core::Kind;
use super::meta;
use super::options::Validation;
use crate::refusal::{Cause, Refusal};
use crate::schema::checker::strict;
use crate::schema::{Rejection, Subject, go};
use serde_json::Value;

/// What an object came with: itself, or a patch that led to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// As a whole.
    Whole,
    /// As a patch of what was there.
    Patched,
}

/// How an object is looked at.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    /// Its kind.
    pub(super) kind: &'a Kind,
    /// The subresource through which it comes.
    pub(super) subresource: Option<&'a str>,
    /// How it came.
    pub(super) came: Came,
    /// What is done about fields that are unknown or stand twice.
    pub(super) validation: Validation,
}

impl Look<'_> {
    /// Reads an object: what its schema does not know goes, defaults come. `faults` are those that were found in its text:
    /// fields that stand twice. Returns the object and what the client is to be told.
    ///
    /// # Errors
    /// 400, or 422 for what a patch led to, when a field has a type that cannot be read or, with strict validation, when
    /// there are faults.
    pub(super) fn read(&self, object: Value, mut faults: Vec<String>) -> Result<(Value, Vec<String>), Refusal> {
        let sent = (self.came == Came::Patched).then(|| object.clone());
        let read = match (self.kind.checker.read(object), &sent) {
            (Ok(read), _) => read,
            (Err(Rejection::Malformed(why)), Some(sent)) => return Err(patch_fault(&sent.to_string(), &why)),
            (Err(rejection), _) => return Err(rejection.refusal(&self.kind.resource, "")),
        };
        faults.extend(read.unknown);
        match (self.validation, &sent) {
            (Validation::Strict, _) if faults.is_empty() => {}
            (Validation::Strict, None) => return Err(strict(&self.kind.resource, &faults)),
            (Validation::Strict, Some(sent)) => {
                let why = format!("strict decoding error: {}", faults.join(", "));
                return Err(patch_fault(&sent.to_string(), &why));
            }
            (Validation::Warn, _) => {}
            (Validation::Ignore, _) => faults.clear(),
        }
        faults.extend(read.warnings);
        Ok((read.value, faults))
    }

    /// Judges an object that was read and has what the server sets. Returns what the client is to be told.
    ///
    /// # Errors
    /// 422 when a rule is broken.
    pub(super) fn check(&self, object: &Value, old: Option<&Value>) -> Result<Vec<String>, Refusal> {
        let subject = match self.subresource {
            Some("status") => Subject::Status,
            _ => Subject::Main,
        };
        let checked = self.kind.checker.check(object, old, subject);
        checked.map_err(|rejection| rejection.refusal(&self.kind.resource, meta::name(object)))
    }
}

/// 422: the object that a patch leads to cannot be read.
pub(super) fn patch_fault(shown: &str, why: &str) -> Refusal {
    let cause = Cause {
        reason: "FieldValueInvalid",
        field: "patch".to_owned(),
        message: format!("Invalid value: {}: {why}", go::quoted(shown)),
    };
    Refusal::invalid("", "", "", &[cause])
}
