//! Validation of an object: its types, its rules, and unknown fields.

use super::core::Kind;
use super::meta;
use super::options::Validation;
use crate::checker::{Rejection, Subject};
use crate::refusal::Refusal;
use crate::schema::cause;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SentAs {
    Whole,
    Patched,
}

#[derive(Clone, Copy)]
pub(super) struct Validator<'a> {
    pub(super) kind: &'a Kind,
    pub(super) subresource: Option<&'a str>,
    pub(super) sent_as: SentAs,
    pub(super) validation: Validation,
}

impl Validator<'_> {
    /// `faults` were found in the text: duplicate fields. Returns the object and warnings. Errors: 400, or 422 for the
    /// result of a patch, for an unreadable type or, with strict validation, any fault.
    pub(super) fn read(&self, object: Value, mut faults: Vec<String>) -> Result<(Value, Vec<String>), Refusal> {
        let fault = |why: String| match self.sent_as {
            SentAs::Whole => Rejection::Malformed(why).refusal(&self.kind.resource, ""),
            SentAs::Patched => patch_fault(&why),
        };
        let read = self.kind.checker.read(object);
        let read = read.map_err(|rejection| match rejection {
            Rejection::Malformed(why) => fault(why),
            invalid @ Rejection::Invalid(_) => invalid.refusal(&self.kind.resource, ""),
        })?;
        faults.extend(read.unknown);
        match self.validation {
            Validation::Strict if !faults.is_empty() => {
                return Err(fault(format!("strict decoding error: {}", faults.join(", "))));
            }
            Validation::Strict | Validation::Warn => {}
            Validation::Ignore => faults.clear(),
        }
        faults.extend(read.warnings);
        Ok((read.value, faults))
    }

    /// Returns warnings. Errors: 422 when a rule is broken.
    pub(super) fn check(&self, object: &Value, old: Option<&Value>) -> Result<Vec<String>, Refusal> {
        let subject = match self.subresource {
            Some("status") => Subject::Status,
            _ => Subject::Main,
        };
        let checked = self.kind.checker.check(object, old, subject);
        checked.map_err(|rejection| rejection.refusal(&self.kind.resource, meta::name(object)))
    }
}

pub(super) fn patch_fault(why: &str) -> Refusal {
    Refusal::invalid("", "", "", &[cause::invalid("patch", &Value::Null, why)])
}
