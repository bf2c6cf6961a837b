//! Rules in CEL: `x-kubernetes-validations`.
//!
//! Owns: compiling and evaluating them, and the messages of their refusals. Must not: validate by anything else.
//!
//! A rule gets its value as `self` and, on an update, the previous value as `oldSelf`. Rules without
//! `oldSelf` are ratcheting on an update: if the value is unchanged, their refusal is only a warning. Costs are not counted:
//! the definitions come from the person who starts this server.

mod duration;
mod field_path;
mod old;
mod rule;
mod run;
mod value;

pub use rule::Rule;

use super::go;
use super::node::Node;
use super::path::Path;
use super::validate::same;
use super::{Type, cause};
use crate::refusal::Cause;
use kube_cel::KubeCelExt as _;
use kube_cel::cel::{Context, ExecutionError, Value as CelValue};
use old::Old;
use run::{Failure, run};
use serde_json::Value;
use std::sync::LazyLock;

/// All functions that rules may call.
static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| {
    let mut functions = Context::default().with_all();
    value::add_types(&mut functions);
    functions
});

/// The result of all rules for an object.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The refusals.
    pub causes: Vec<Cause>,
    /// The refusals that are only warnings, because the value is unchanged.
    pub warnings: Vec<String>,
}

/// Evaluates all rules on an object. `old` is the previous state, on an update.
#[must_use]
pub fn judge(object: &Value, old: Option<&Value>, node: &Node) -> Verdict {
    let mut verdict = Verdict::default();
    let old = Old::root(object, old, node);
    walk(object, old, node, true, &Path::ROOT, &mut verdict);
    verdict
}

fn walk(value: &Value, old: Old<'_>, node: &Node, root: bool, path: &Path<'_>, verdict: &mut Verdict) {
    if value.is_null() || !node.has_rules {
        return;
    }
    if !node.rules.is_empty() {
        evaluate(value, old, node, root, path, verdict);
    }
    for branch in &node.all_of {
        walk(value, old.uncorrelated(), branch, root, path, verdict);
    }
    match value {
        Value::Array(items) => {
            let Some(inner) = node.items.as_deref() else { return };
            let before = old.items(node);
            for (index, item) in items.iter().enumerate() {
                walk(
                    item,
                    before.item(item, inner),
                    inner,
                    false,
                    &path.index(index),
                    verdict,
                );
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let (inner, path) = match (node.properties.get(name), node.additional.as_deref()) {
                    (Some(inner), _) => (inner, path.field(name)),
                    (None, Some(inner)) => (inner, path.key(name)),
                    (None, None) => continue,
                };
                walk(value, old.field(name, value, inner), inner, false, &path, verdict);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn evaluate(value: &Value, old: Old<'_>, node: &Node, root: bool, path: &Path<'_>, verdict: &mut Verdict) {
    let mut scope = FUNCTIONS.new_inner_scope();
    scope.add_variable_from_value("self", value::convert(value, node, root));
    let before = old.value().map(|old| value::convert(old, node, root));
    let mut plain = scope.new_inner_scope();
    if let Some(before) = &before {
        plain.add_variable_from_value("oldSelf", before.clone());
    }
    for rule in &node.rules {
        if rule.uses_old && before.is_none() && !rule.optional_old {
            continue;
        }
        let mut optional;
        let context = if rule.optional_old {
            optional = scope.new_inner_scope();
            optional.add_variable_from_value("oldSelf", value::optional(before.clone()));
            &optional
        } else {
            &plain
        };
        let refused = match run(&rule.program, context) {
            Ok(CelValue::Bool(true)) => continue,
            Ok(_) => refused(rule, context, value, node, path),
            Err(error) => {
                let detail = failed(&error, rule);
                verdict
                    .causes
                    .push(cause::invalid(path.bracketed(), &type_name(node).into(), &detail));
                continue;
            }
        };
        if !rule.uses_old && old.unchanged() {
            verdict.warnings.push(cause::line(&refused));
        } else {
            verdict.causes.push(refused);
        }
    }
}

fn refused(rule: &Rule, context: &Context<'_>, value: &Value, node: &Node, path: &Path<'_>) -> Cause {
    let mut place = path.bracketed();
    if let Some(within) = &rule.field_path {
        place = if path.dotted().is_empty() {
            within.clone()
        } else {
            format!("{place}.{within}")
        };
    }
    let detail = rule.message(context);
    let omits_value = matches!(node.types.as_slice(), [Type::Object | Type::Array]);
    match (rule.reason.as_deref(), omits_value) {
        (Some("FieldValueForbidden"), _) => cause::forbidden(place, &detail),
        (Some("FieldValueRequired"), _) => cause::required(place, &detail),
        (Some("FieldValueDuplicate"), true) => cause::duplicate_without_value(place),
        (Some("FieldValueDuplicate"), false) => cause::duplicate(place, value, ""),
        (_, true) => cause::invalid_without_value(place, &detail),
        (_, false) => cause::invalid(place, value, &detail),
    }
}

/// The message when a rule cannot be evaluated: the object is refused, as its validity is unknown.
fn failed(failure: &Failure, rule: &Rule) -> String {
    let name = rule.name();
    let error = match failure {
        Failure::Error(error) => error,
        Failure::Panic => return format!("cannot be worked out with this value evaluating rule: {name}"),
    };
    let what = match error {
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::IndexOutOfBounds(CelValue::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::NoSuchOverload
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnsupportedUnaryOperator(..) => {
            return format!(
                "'no such overload': call arguments did not match a supported operator, function or macro signature for \
                 rule: {name}"
            );
        }
        ExecutionError::UndeclaredReference(name) => format!("{} is not supported here", go::quoted(name)),
        other => other.to_string(),
    };
    format!("{what} evaluating rule: {name}")
}

fn type_name(node: &Node) -> &'static str {
    match node.types.as_slice() {
        [only] => only.name(),
        _ => "",
    }
}

#[cfg(test)]
mod tests;
