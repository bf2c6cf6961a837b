//! One rule of `x-kubernetes-validations`, compiled.
//!
//! Owns: reading it and wording its message. Must not: decide when it applies.

use super::field_path;
use super::run::run;
use crate::schema::{Schema, SchemaError};
use kube_cel::cel::{Context, Program, Value as CelValue};
use serde::Deserialize;
use serde_json::Value;

/// Messages made by an expression are used up to this size, in bytes.
const MAX_MESSAGE: usize = 5 * 1024;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// The expression.
    pub program: Program,
    /// Whether it reads `oldSelf`.
    pub uses_old: bool,
    /// Whether `oldSelf` may be missing: `optionalOldSelf`.
    pub optional_old: bool,
    /// Kubernetes' reason for the fault, if it is not `FieldValueInvalid`.
    pub reason: Option<String>,
    /// The field that the message names, within the value: `nodeName`.
    pub field_path: Option<String>,
    source: String,
    message: String,
    message_program: Option<Program>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    rule: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    message_expression: String,
    reason: Option<String>,
    #[serde(default)]
    field_path: String,
    #[serde(default)]
    optional_old_self: bool,
}

impl Rule {
    /// The rules of a schema, without those of its parts.
    ///
    /// # Errors
    /// When one cannot be read or compiled.
    pub fn read_all(schema: &Schema, path: &str) -> Result<Vec<Self>, SchemaError> {
        let documents = schema.rules.get("x-kubernetes-validations").and_then(Value::as_array);
        let documents = documents.into_iter().flatten();
        documents.map(|document| Self::read(document, schema, path)).collect()
    }

    fn read(document: &Value, schema: &Schema, path: &str) -> Result<Self, SchemaError> {
        let bad = |rule: &str, why: String| SchemaError::Rule {
            path: path.to_owned(),
            rule: rule.to_owned(),
            why,
        };
        let read = Document::deserialize(document);
        let read = read.map_err(|error| bad(&document.to_string(), error.to_string()))?;
        let compile = |text: &str| Program::compile(text).map_err(|error| bad(text, error.to_string()));
        let program = compile(&read.rule)?;
        let message_program = match read.message_expression.as_str() {
            "" => None,
            text => Some(compile(text)?),
        };
        let field_path = match read.field_path.as_str() {
            "" => None,
            text => Some(field_path::within(text, schema).map_err(|why| bad(&read.rule, format!("fieldPath {why}")))?),
        };
        Ok(Self {
            uses_old: program.references().has_variable("oldSelf"),
            program,
            optional_old: read.optional_old_self,
            reason: read.reason,
            field_path,
            source: read.rule.trim().to_owned(),
            message: read.message.trim().to_owned(),
            message_program,
        })
    }

    /// The rule's name in the message when it cannot be evaluated: its own message, or else the expression.
    #[must_use]
    pub fn name(&self) -> &str {
        if self.message.is_empty() {
            &self.source
        } else {
            &self.message
        }
    }

    /// The message when it refuses.
    #[must_use]
    pub fn message(&self, context: &Context<'_>) -> String {
        let made = self
            .message_program
            .as_ref()
            .and_then(|program| run(program, context).ok());
        if let Some(CelValue::String(made)) = made {
            let made = made.trim();
            if !made.is_empty() && made.len() <= MAX_MESSAGE && !made.contains('\n') {
                return made.to_owned();
            }
        }
        if self.message.is_empty() {
            format!("failed rule: {}", self.source)
        } else {
            self.message.clone()
        }
    }
}
