//! Options of deletions, from the query or from the body.

use super::{all, dry_run, flag, given, invalid, number};
use crate::refusal::{Cause, Refusal};
use crate::request::ApiRequest;
use crate::schema::cause;
use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents are deleted after it.
    Background,
    /// Dependents are deleted before it.
    Foreground,
    /// Dependents stay.
    Orphan,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    pub dry_run: bool,
    pub propagation: Option<Propagation>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

#[derive(Default)]
struct UncheckedOptions {
    dry_run: Vec<String>,
    propagation: Option<String>,
    orphan: Option<bool>,
    uid: Option<String>,
    resource_version: Option<String>,
}

impl DeleteOptions {
    /// Reads the body if there is one, else the query. Errors: 400 for an unreadable body, 422 for unknown values.
    pub fn read(request: &ApiRequest, body: Option<&Value>) -> Result<Self, Refusal> {
        let unchecked = match body {
            Some(body) => of_body(body)?,
            None => of_query(request)?,
        };
        unchecked.checked()
    }
}

impl UncheckedOptions {
    fn checked(self) -> Result<DeleteOptions, Refusal> {
        let mut causes = Vec::new();
        let written: Vec<&str> = self.dry_run.iter().map(String::as_str).collect();
        let propagation = self.propagation(&mut causes);
        let dry_run = dry_run(&written).unwrap_or_else(|cause| {
            causes.push(cause);
            false
        });
        if !causes.is_empty() {
            return Err(invalid("DeleteOptions", &causes));
        }
        Ok(DeleteOptions {
            dry_run,
            propagation,
            uid: self.uid,
            resource_version: self.resource_version,
        })
    }

    fn propagation(&self, causes: &mut Vec<Cause>) -> Option<Propagation> {
        let field = "propagationPolicy";
        let Some(text) = &self.propagation else {
            return self.orphan.map(|orphan| match orphan {
                true => Propagation::Orphan,
                false => Propagation::Background,
            });
        };
        if self.orphan.is_some() {
            let detail = "cannot be set together with orphanDependents";
            causes.push(cause::invalid(field, &text.as_str().into(), detail));
        }
        match text.as_str() {
            "Foreground" => Some(Propagation::Foreground),
            "Background" => Some(Propagation::Background),
            "Orphan" => Some(Propagation::Orphan),
            other => {
                let supported = ["Foreground", "Background", "Orphan"].map(Value::from);
                causes.push(cause::not_supported(field, &other.into(), &supported));
                None
            }
        }
    }
}

fn of_query(request: &ApiRequest) -> Result<UncheckedOptions, Refusal> {
    // The grace period of a Pod: nothing here runs Pods.
    number(request, "gracePeriodSeconds")?;
    Ok(UncheckedOptions {
        dry_run: all(request, "dryRun").into_iter().map(str::to_owned).collect(),
        propagation: given(request, "propagationPolicy").map(str::to_owned),
        orphan: flag(request, "orphanDependents"),
        uid: None,
        resource_version: None,
    })
}

fn of_body(body: &Value) -> Result<UncheckedOptions, Refusal> {
    let Some(fields) = body.as_object() else {
        return Err(Refusal::bad_request(
            "the body of a deletion has to be a DeleteOptions document",
        ));
    };
    let (version, kind) = (fields.get("apiVersion"), fields.get("kind"));
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, kind) = (text(version), text(kind));
    if !kind.is_empty() && kind != "DeleteOptions" {
        let message = format!("the body of a deletion must be a DeleteOptions document, not {kind:?} of {version:?}");
        return Err(Refusal::bad_request(message));
    }
    let none = Map::new();
    let preconditions = fields.get("preconditions").and_then(Value::as_object).unwrap_or(&none);
    number_of(fields, "gracePeriodSeconds")?;
    let dry_run = match fields.get("dryRun") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(values)) => values.iter().map(|value| text(Some(value))).collect(),
        Some(_) => return Err(wrong_type("dryRun", "a list")),
    };
    let orphan = match fields.get("orphanDependents") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(orphan)) => Some(*orphan),
        Some(_) => return Err(wrong_type("orphanDependents", "a boolean")),
    };
    Ok(UncheckedOptions {
        dry_run,
        propagation: text_of(fields, "propagationPolicy")?,
        orphan,
        uid: text_of(preconditions, "uid")?,
        resource_version: text_of(preconditions, "resourceVersion")?,
    })
}

fn text_of(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong_type(name, "a text")),
    }
}

fn number_of(fields: &Map<String, Value>, name: &str) -> Result<(), Refusal> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(()),
        Some(number) if number.is_i64() => Ok(()),
        Some(_) => Err(wrong_type(name, "a whole number")),
    }
}

fn wrong_type(name: &str, wanted: &str) -> Refusal {
    Refusal::bad_request(format!("{name} of DeleteOptions must be {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::super::request_with;
    use super::*;
    use serde_json::json;

    fn of(body: Value) -> Result<DeleteOptions, (u16, String)> {
        DeleteOptions::read(&request_with(&[]), Some(&body)).map_err(|refusal| (refusal.code, refusal.message))
    }

    #[test]
    fn a_body_has_the_options_of_a_deletion() {
        let options = of(json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground", "gracePeriodSeconds": 30,
            "dryRun": ["All"], "preconditions": {"uid": "u", "resourceVersion": "7"},
        }));
        let expected = DeleteOptions {
            dry_run: true,
            propagation: Some(Propagation::Foreground),
            uid: Some("u".to_owned()),
            resource_version: Some("7".to_owned()),
        };
        assert_eq!(options, Ok(expected));
        assert_eq!(of(json!({})), Ok(DeleteOptions::default()));
    }

    #[test]
    fn the_query_has_them_too() {
        let request = request_with(&[
            ("propagationPolicy", "Orphan"),
            ("dryRun", "All"),
            ("gracePeriodSeconds", "0"),
        ]);
        let options = DeleteOptions::read(&request, None).expect("nothing is wrong");
        assert!(options.dry_run);
        assert_eq!(options.propagation, Some(Propagation::Orphan));
    }

    #[test]
    fn orphaning_may_be_requested_in_the_old_way() {
        let orphan = |orphan: bool| of(json!({"orphanDependents": orphan})).map(|options| options.propagation);
        assert_eq!(orphan(true), Ok(Some(Propagation::Orphan)));
        assert_eq!(orphan(false), Ok(Some(Propagation::Background)));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let table = [
            (json!({"propagationPolicy": "Guess"}), 422),
            (
                json!({"propagationPolicy": "Background", "orphanDependents": true}),
                422,
            ),
            (json!({"dryRun": ["Some"]}), 422),
            (json!({"propagationPolicy": 5}), 400),
            (json!({"gracePeriodSeconds": "x"}), 400),
            (json!({"kind": "Drone", "apiVersion": "a.dev/v1"}), 400),
        ];
        for (body, expected) in table {
            assert_eq!(of(body).map_err(|(code, _)| code), Err(expected));
        }
    }
}
