//! Rules in CEL: `x-kubernetes-validations`, evaluated by `kube-cel`.
//! On an update, the refusal of an unchanged value that was refused before is only a warning: an object stored under
//! weaker rules can still be updated. Rules do not see nulls. Costs are not counted: the definitions come from the
//! person who starts this server.

use super::defaults::without_nulls;
use super::{Schema, SchemaError, cause};
use crate::refusal::Cause;
use kube_cel::{CompiledSchema, ErrorKind, ValidationError, ValidationErrors, Validator, compile_schema};
use serde_json::{Map, Value};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

const RULES: &str = "x-kubernetes-validations";

static VALIDATOR: LazyLock<Validator> = LazyLock::new(Validator::new);

#[derive(Debug)]
pub struct Rules(Option<CompiledSchema>);

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    pub causes: Vec<Cause>,
    pub warnings: Vec<String>,
}

impl Rules {
    pub fn compile(schema: &Schema) -> Result<Self, SchemaError> {
        let Some(document) = with_rules(schema, false).filter(has_rules) else {
            return Ok(Self(None));
        };
        let compiled = compile_schema(&document);
        match first_error(&compiled) {
            Some(why) => Err(SchemaError::Rule { why }),
            None => Ok(Self(Some(compiled))),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    #[must_use]
    pub fn judge(&self, object: &Value, old: Option<&Value>) -> Verdict {
        let Some(rules) = &self.0 else {
            return Verdict::default();
        };
        let (object, old) = (without_nulls(object.clone()), old.cloned().map(without_nulls));
        let mut verdict = Verdict::default();
        let Some(found) = evaluate(rules, &object, old.as_ref()) else {
            let detail = "the rules cannot be evaluated with these numbers; use smaller ones";
            verdict.causes.push(cause::invalid(cause::ROOT, &Value::Null, detail));
            return verdict;
        };
        let before = match (&old, found.is_empty()) {
            (Some(old), false) => evaluate(rules, old, None).unwrap_or_default(),
            _ => Vec::new(),
        };
        for error in found {
            let value = at(&object, &error.field_path);
            let cause = cause_of(&error, value.unwrap_or(&Value::Null));
            let unchanged = || old.as_ref().is_some_and(|old| at(old, &error.field_path) == value);
            match before.contains(&error) && unchanged() {
                true => verdict.warnings.push(cause::line(&cause)),
                false => verdict.causes.push(cause),
            }
        }
        verdict
    }
}

/// Rules with the nodes above them, and the formats of what they read; long lists in a status are not walked.
fn with_rules(schema: &Schema, in_list: bool) -> Option<Value> {
    let mut kept = Map::new();
    if let Some(rules) = schema.rules.get(RULES) {
        kept.insert(RULES.to_owned(), rules.clone());
    }
    if !in_list && ["date-time", "duration", "byte"].contains(&schema.format()) {
        kept.insert("format".to_owned(), schema.format().into());
    }
    let fields = schema.properties.iter();
    let fields = fields.filter_map(|(name, field)| Some((name.clone(), with_rules(field, in_list)?)));
    let fields: Map<String, Value> = fields.collect();
    if !fields.is_empty() {
        kept.insert("properties".to_owned(), fields.into());
    }
    let entries = schema
        .additional
        .as_deref()
        .and_then(|entry| with_rules(entry, in_list));
    kept.extend(entries.map(|entries| ("additionalProperties".to_owned(), entries)));
    let items = schema.items.as_deref().and_then(|item| with_rules(item, true));
    kept.extend(items.map(|items| ("items".to_owned(), items)));
    (!kept.is_empty()).then_some(Value::Object(kept))
}

fn has_rules(document: &Value) -> bool {
    let fields = document.as_object().into_iter().flatten();
    fields.into_iter().any(|(key, value)| key == RULES || has_rules(value))
}

fn first_error(compiled: &CompiledSchema) -> Option<String> {
    let here = compiled.compilation_errors().first().map(ToString::to_string);
    let inner = compiled.items.as_deref().into_iter();
    let inner = inner.chain(compiled.additional_properties.as_deref());
    here.or_else(|| inner.chain(compiled.properties.values()).find_map(first_error))
}

/// `None` when the library panics, as on the negation of the smallest integer: clients' values must not end the caller.
fn evaluate(rules: &CompiledSchema, object: &Value, old: Option<&Value>) -> Option<Vec<ValidationError>> {
    // Everything that an evaluation uses is created for it and dropped with it.
    let judged = catch_unwind(AssertUnwindSafe(|| VALIDATOR.validate_compiled(rules, object, old))).ok()?;
    Some(judged.map_or_else(ValidationErrors::into_vec, |()| Vec::new()))
}

fn cause_of(error: &ValidationError, value: &Value) -> Cause {
    let field = match error.field_path.trim_start_matches('.') {
        "" => cause::ROOT.to_owned(),
        field => field.to_owned(),
    };
    match (&error.kind, error.reason.as_deref()) {
        (ErrorKind::ValidationFailure, Some("FieldValueForbidden")) => cause::forbidden(field, &error.message),
        (ErrorKind::ValidationFailure, Some("FieldValueRequired")) => cause::required(field, &error.message),
        (ErrorKind::ValidationFailure, Some("FieldValueDuplicate")) => cause::duplicate(field, value, &error.message),
        (ErrorKind::ValidationFailure, _) => cause::invalid(field, value, &error.message),
        // The object's validity is unknown.
        _ => cause::invalid(field, value, &format!("{}, in the rule: {}", error.message, error.rule)),
    }
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let parts = path.split(['.', '[', ']']).filter(|part| !part.is_empty());
    parts.into_iter().try_fold(object, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compile(schema: &Value) -> Result<Rules, SchemaError> {
        Rules::compile(&Schema::parse(schema).unwrap())
    }

    fn judge(schema: &Value, object: &Value, old: Option<&Value>) -> Verdict {
        compile(schema).unwrap().judge(object, old)
    }

    fn rule(type_: &str, rule: &str) -> Value {
        json!({"type": "object", "properties": {"a": {"type": type_, "x-kubernetes-validations": [{"rule": rule}]}}})
    }

    #[test]
    fn a_refusal_names_the_field_with_the_rules_message_and_reason() {
        let rules = json!([
            {"rule": "self.a > 1", "message": "more", "fieldPath": ".a"},
            {"rule": "false", "reason": "FieldValueForbidden"},
        ]);
        let schema = json!({"type": "object", "x-kubernetes-validations": rules,
            "properties": {"a": {"type": "integer"}}});
        let causes = judge(&schema, &json!({"a": 1}), None).causes;
        assert_eq!(cause::line(&causes[0]), "a: Invalid value: 1: more");
        assert_eq!(cause::line(&causes[1]), "<nil>: Forbidden: failed rule: false");
        assert_eq!(causes[1].reason, "FieldValueForbidden");
    }

    #[test]
    fn a_whole_number_is_compared_with_a_real_one() {
        assert_eq!(judge(&rule("number", "self >= 1.0"), &json!({"a": 1}), None).causes, []);
        assert_eq!(
            judge(&rule("number", "self >= 1.0"), &json!({"a": 0}), None)
                .causes
                .len(),
            1
        );
    }

    #[test]
    fn null_is_nothing_to_a_rule() {
        let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": "!has(self.a)"}],
            "properties": {"a": {"type": "integer", "nullable": true, "x-kubernetes-validations": [{"rule": "self > 1"}]}}});
        assert_eq!(judge(&schema, &json!({"a": null}), None), Verdict::default());
    }

    #[test]
    fn a_rule_that_cannot_be_evaluated_refuses() {
        let causes = judge(&rule("integer", "unheard(self) == 1"), &json!({"a": 3}), None).causes;
        assert!(cause::line(&causes[0]).contains("in the rule: unheard(self) == 1"));
    }

    #[test]
    fn a_rule_that_cannot_be_compiled_is_refused_with_the_definition() {
        let error = compile(&rule("integer", "self >")).unwrap_err();
        assert!(error.to_string().contains("self >"), "{error}");
    }

    #[test]
    fn a_rule_on_the_old_value_is_not_evaluated_where_there_is_none() {
        let schema = rule("integer", "self > oldSelf");
        let new = json!({"a": 1});
        assert_eq!(judge(&schema, &new, None), Verdict::default());
        assert_eq!(judge(&schema, &new, Some(&json!({}))), Verdict::default());
        assert_eq!(judge(&schema, &new, Some(&json!({"a": null}))), Verdict::default());
        assert_eq!(judge(&schema, &new, Some(&new)).causes.len(), 1);
    }

    #[test]
    fn an_unchanged_value_that_breaks_a_rule_is_warned_of() {
        let schema = rule("integer", "self > 5");
        let (bad, worse) = (json!({"a": 1}), json!({"a": 0}));
        let verdict = judge(&schema, &bad, Some(&bad));
        assert_eq!(verdict.causes, []);
        assert_eq!(verdict.warnings, ["a: Invalid value: 1: failed rule: self > 5"]);
        assert_eq!(judge(&schema, &worse, Some(&bad)).causes.len(), 1);
    }

    #[test]
    fn a_number_that_stops_the_evaluation_is_refused_and_nothing_else_happens() {
        let schema = rule("string", "quantity(self).isGreaterThan(quantity('1'))");
        let causes = judge(&schema, &json!({"a": "9e70"}), None).causes;
        // In a release build numbers wrap instead, and the evaluation continues.
        if cfg!(debug_assertions) {
            assert_eq!(causes.len(), 1);
        }
    }

    #[test]
    fn what_has_no_rule_is_not_given_to_the_library() {
        let date = json!({"type": "string", "format": "date-time"});
        let schema = json!({"type": "object", "properties": {
            "list": {"type": "array", "items": {"type": "object", "properties": {"at": date}}},
            "a": {"type": "integer", "x-kubernetes-validations": []}, "at": date}});
        let kept = json!({"properties": {"a": {"x-kubernetes-validations": []}, "at": {"format": "date-time"}}});
        assert_eq!(with_rules(&Schema::parse(&schema).unwrap(), false), Some(kept));
    }
}
