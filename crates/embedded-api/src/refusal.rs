//! A refused request in Kubernetes form: a `Status` document with code, reason, message and details.

use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: u16,
    /// Kubernetes' reason, such as `NotFound`; empty for some faults of patches.
    pub reason: &'static str,
    pub message: String,
    pub details: Value,
    /// `metadata.continue`, when a page of a list is no longer available.
    pub continue_: Option<Box<str>>,
    /// Warnings for the client besides: unknown fields.
    pub warnings: Box<[String]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cause {
    /// Kubernetes' `FieldValueInvalid`, `FieldValueRequired`, `FieldValueForbidden`, `FieldValueDuplicate` and the
    /// like.
    pub reason: &'static str,
    pub field: String,
    /// Text without the field: `Invalid value: 101: should be at most 100`.
    pub message: String,
}

impl Refusal {
    #[must_use]
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: Value::Null,
            continue_: None,
            warnings: Box::default(),
        }
    }

    #[must_use]
    pub fn warned(mut self, warnings: &[String]) -> Self {
        let mut all = self.warnings.into_vec();
        for warning in warnings {
            if !all.contains(warning) {
                all.push(warning.clone());
            }
        }
        self.warnings = all.into();
        self
    }

    fn about(mut self, group: &str, resource: &str, name: &str) -> Self {
        let mut details = serde_json::Map::new();
        for (key, value) in [("name", name), ("group", group), ("kind", resource)] {
            if !value.is_empty() {
                details.insert(key.to_owned(), value.into());
            }
        }
        self.details = Value::Object(details);
        self
    }

    #[must_use]
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", qualified(resource, group));
        Self::new(404, "NotFound", message).about(group, resource, name)
    }

    #[must_use]
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", qualified(resource, group));
        Self::new(409, "AlreadyExists", message).about(group, resource, name)
    }

    /// 409: another object than was meant, or a changed one.
    #[must_use]
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            qualified(resource, group)
        );
        Self::new(409, "Conflict", message).about(group, resource, name)
    }

    #[must_use]
    pub fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let detail: Vec<String> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        let detail = match detail.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} \"{name}\" is invalid: {detail}", qualified(kind, group));
        let mut refusal = Self::new(422, "Invalid", message).about(group, kind, name);
        let causes = causes
            .iter()
            .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}));
        refusal.details["causes"] = causes.collect();
        refusal
    }

    #[must_use]
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", qualified(resource, group));
        Self::new(403, "Forbidden", message).about(group, resource, name)
    }

    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 410: the revision is no longer known; list again.
    #[must_use]
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    #[must_use]
    pub fn too_many_requests() -> Self {
        Self {
            details: json!({"retryAfterSeconds": 1}),
            ..Self::new(429, "TooManyRequests", "Too many requests, please try again later.")
        }
    }

    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "InternalError", message)
    }

    #[must_use]
    pub fn document(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(token) = self.continue_.as_deref() {
            status["metadata"]["continue"] = token.into();
        }
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}

fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{group}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_drone_is_reported_as_kubernetes_does() {
        let status = Refusal::not_found("skein.dev", "drones", "x").document();
        assert_eq!(status["message"], r#"drones.skein.dev "x" not found"#);
        assert_eq!(
            status["details"],
            json!({"name": "x", "group": "skein.dev", "kind": "drones"})
        );
    }

    #[test]
    fn a_refusal_without_a_word_for_it_has_no_reason() {
        let status = Refusal::new(500, "", "unknown patch type").document();
        assert_eq!(status.get("reason"), None);
    }

    #[test]
    fn one_cause_stands_alone_and_several_in_brackets() {
        let cause = |field: &str| Cause {
            reason: "FieldValueRequired",
            field: field.to_owned(),
            message: "Required value".to_owned(),
        };
        let one = Refusal::invalid("skein.dev", "Drone", "x", &[cause("spec")]);
        assert_eq!(one.message, r#"Drone.skein.dev "x" is invalid: spec: Required value"#);
        let two = Refusal::invalid("", "Node", "x", &[cause("a"), cause("b")]);
        assert_eq!(
            two.message,
            r#"Node "x" is invalid: [a: Required value, b: Required value]"#
        );
    }
}
