//! Options of creations, updates and patches.

use super::{all, dry_run, flag, given, invalid};
use crate::refusal::{Cause, Refusal};
use crate::request::ApiRequest;
use crate::schema::cause;
use serde_json::Value;

/// A longer manager is refused, a longer program name is truncated.
const LONGEST_MANAGER: usize = 128;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    pub dry_run: bool,
    pub manager: String,
    pub validation: Validation,
    /// An apply takes fields from their owners.
    pub force: bool,
}

impl WriteOptions {
    /// `kind`: `CreateOptions`, `UpdateOptions` or `PatchOptions`. Errors: 422 for unknown values.
    pub fn read(request: &ApiRequest, kind: &str, apply: bool) -> Result<Self, Refusal> {
        let mut causes = Vec::new();
        let force = flag(request, "force");
        let manager = given(request, "fieldManager");
        if kind == "PatchOptions" {
            if apply && manager.is_none() {
                causes.push(cause::required("fieldManager", "an apply needs one"));
            }
            if !apply && force.is_some() {
                causes.push(cause::forbidden("force", "only an apply can have it"));
            }
        }
        causes.extend(manager.and_then(wrong_manager));
        let dry_run = dry_run(&all(request, "dryRun")).unwrap_or_else(|cause| {
            causes.push(cause);
            false
        });
        let validation = match given(request, "fieldValidation") {
            None | Some("Warn") => Validation::Warn,
            Some("Ignore") => Validation::Ignore,
            Some("Strict") => Validation::Strict,
            Some(other) => {
                let supported = ["Ignore", "Strict", "Warn"].map(Value::from);
                causes.push(cause::not_supported("fieldValidation", &other.into(), &supported));
                Validation::Warn
            }
        };
        if !causes.is_empty() {
            return Err(invalid(kind, &causes));
        }
        Ok(Self {
            dry_run,
            manager: manager.map_or_else(|| program(&request.user_agent), str::to_owned),
            validation,
            force: force.unwrap_or(false),
        })
    }
}

fn wrong_manager(manager: &str) -> Option<Cause> {
    let field = "fieldManager";
    if manager.len() > LONGEST_MANAGER {
        return Some(cause::too_long(field, 128));
    }
    let bad = manager.chars().any(char::is_control);
    bad.then(|| cause::invalid(field, &manager.into(), "must have no control characters"))
}

/// `User-Agent` up to the first slash.
fn program(user_agent: &str) -> String {
    let name = user_agent.split('/').next().unwrap_or_default();
    let printable: String = name.chars().filter(|letter| !letter.is_control()).collect();
    let mut end = printable.len().min(LONGEST_MANAGER);
    while !printable.is_char_boundary(end) {
        end -= 1;
    }
    printable.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::request_with;
    use super::*;

    fn read(kind: &str, apply: bool, query: &[(&str, &str)]) -> Result<WriteOptions, String> {
        WriteOptions::read(&request_with(query), kind, apply)
            .map_err(|refusal| refusal.details["causes"][0]["field"].as_str().unwrap().to_owned())
    }

    #[test]
    fn the_program_is_the_manager_unless_one_is_named() {
        let options = read("CreateOptions", false, &[]).expect("nothing is wrong");
        assert_eq!(options.manager, "test");
        let options = read("CreateOptions", false, &[("fieldManager", "me")]).expect("nothing is wrong");
        assert_eq!(options.manager, "me");
        assert_eq!(program(&"x".repeat(200)).len(), LONGEST_MANAGER);
    }

    #[test]
    fn a_dry_run_is_all_or_refused() {
        let twice = read("PatchOptions", false, &[("dryRun", "All"), ("dryRun", "All")]);
        assert!(twice.is_ok_and(|options| options.dry_run));
        assert_eq!(
            read("CreateOptions", false, &[("dryRun", "some")]),
            Err("dryRun".to_owned())
        );
    }

    #[test]
    fn an_apply_needs_a_manager_and_only_an_apply_may_force() {
        let unnamed = read("PatchOptions", true, &[("fieldManager", "")]);
        assert_eq!(unnamed, Err("fieldManager".to_owned()));
        assert_eq!(
            read("PatchOptions", false, &[("force", "true")]),
            Err("force".to_owned())
        );
        let forced = read("PatchOptions", true, &[("fieldManager", "me"), ("force", "true")]);
        assert!(forced.is_ok_and(|options| options.force));
    }

    #[test]
    fn names_of_managers_have_limits() {
        for manager in ["x".repeat(129), "a\nb".to_owned()] {
            let result = read("UpdateOptions", false, &[("fieldManager", &manager)]);
            assert_eq!(result, Err("fieldManager".to_owned()));
        }
    }

    #[test]
    fn fields_are_checked_as_requested() {
        for (text, expected) in [
            ("", Validation::Warn),
            ("Warn", Validation::Warn),
            ("Ignore", Validation::Ignore),
            ("Strict", Validation::Strict),
        ] {
            let options = read("CreateOptions", false, &[("fieldValidation", text)]);
            assert_eq!(options.map(|options| options.validation), Ok(expected));
        }
        let result = read("CreateOptions", false, &[("fieldValidation", "Guess")]);
        assert_eq!(result, Err("fieldValidation".to_owned()));
    }
}
