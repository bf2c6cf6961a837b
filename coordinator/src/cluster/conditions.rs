//! Conditions of a status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

/// A condition; the time of its last transition is kept while its status is the same, and its message while only numbers change in it.
pub(crate) fn condition(
    old: &[Condition],
    kind: &str,
    value: Option<bool>,
    reason: &str,
    message: &str,
    generation: i64,
    now: Timestamp,
) -> Condition {
    let mut new = exact_condition(old, kind, value, reason, message, generation, now);
    let before = old.iter().find(|c| c.type_ == kind && c.status == new.status);
    if let Some(before) = before.filter(|c| c.reason == reason && same_but_for_numbers(&c.message, message)) {
        new.message.clone_from(&before.message);
    }
    new
}

/// A condition whose message reports numbers, so that a change of these replaces it.
pub(crate) fn exact_condition(
    old: &[Condition],
    kind: &str,
    value: Option<bool>,
    reason: &str,
    message: &str,
    generation: i64,
    now: Timestamp,
) -> Condition {
    let status = match value {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    };
    let before = old.iter().find(|c| c.type_ == kind && c.status == status);
    // Kubernetes keeps whole seconds: the value must equal the one read back.
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: Some(generation),
        last_transition_time: before.map_or(Time(now), |c| c.last_transition_time.clone()),
    }
}

pub fn same_but_for_numbers(one: &str, other: &str) -> bool {
    one == other || shape(one) == shape(other)
}

pub fn shape(text: &str) -> String {
    let mut shape = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '0'..='9' if shape.ends_with('0') => {}
            '0'..='9' => shape.push('0'),
            _ => shape.push(c),
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_same_when_they_differ_in_digits_alone() {
        assert!(same_but_for_numbers(
            "GPS hdop 2.31 (needs 1.4)",
            "GPS hdop 12.4 (needs 1.4)"
        ));
        assert!(!same_but_for_numbers("Battery 1 low", "Battery 1 unhealthy"));
    }
}
