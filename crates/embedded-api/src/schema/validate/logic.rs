//! Combined schemas: `anyOf`, `oneOf`, `allOf` and `not`.
//!
//! Owns: which of them must hold, and what is reported when they do not. Must not: validate values itself.

use super::{Found, Node, judge};
use crate::refusal::Cause;
use crate::schema::cause;
use crate::schema::path::Path;
use serde_json::Value;

fn judge_branch(value: &Value, node: &Node, path: &Path<'_>) -> Found {
    judge(value, None, node, path)
}

/// What is wrong with a value by the schemas beside its own.
pub(super) fn judge_all(value: &Value, node: &Node, path: &Path<'_>) -> Found {
    let mut found = Found::default();
    any_of(value, node, path, &mut found);
    one_of(value, node, path, &mut found);
    all_of(value, node, path, &mut found);
    if let Some(not) = &node.not
        && judge_branch(value, not, path).causes.is_empty()
    {
        found.add(said(path, "must not validate the schema (not)"));
    }
    found.held += 1;
    found
}

fn said(path: &Path<'_>, what: &str) -> Cause {
    let detail = format!("\"{}\" {what}", path.dotted());
    cause::invalid(Path::ROOT.bracketed(), &Value::from(""), &detail)
}

/// Of the failures, the one with most checks that held; the first of several such.
fn better(best: Option<Found>, next: Found) -> Found {
    match best {
        Some(best) if best.held >= next.held => best,
        _ => next,
    }
}

fn any_of(value: &Value, node: &Node, path: &Path<'_>, found: &mut Found) {
    let mut best: Option<Found> = None;
    for branch in &node.any_of {
        let next = judge_branch(value, branch, path);
        if next.causes.is_empty() {
            found.merge(next);
            return;
        }
        best = Some(better(best, next));
    }
    if let Some(best) = best {
        found.add(said(path, "must validate at least one schema (anyOf)"));
        found.merge(best);
    }
}

fn one_of(value: &Value, node: &Node, path: &Path<'_>, found: &mut Found) {
    if node.one_of.is_empty() {
        return;
    }
    let mut best: Option<Found> = None;
    let mut first: Option<Found> = None;
    let mut count = 0;
    for branch in &node.one_of {
        let next = judge_branch(value, branch, path);
        if next.causes.is_empty() {
            count += 1;
            first = first.or(Some(next));
        } else {
            best = Some(better(best, next));
        }
    }
    let tail = match count {
        0 => "Found none valid".to_owned(),
        1 => {
            first.into_iter().for_each(|first| found.merge(first));
            return;
        }
        several => format!("Found {several} valid alternatives"),
    };
    let what = format!("must validate one and only one schema (oneOf). {tail}");
    found.add(said(path, &what));
    if let (0, Some(best)) = (count, best) {
        found.merge(best);
    }
}

fn all_of(value: &Value, node: &Node, path: &Path<'_>, found: &mut Found) {
    let mut held = 0;
    for branch in &node.all_of {
        let next = judge_branch(value, branch, path);
        held += usize::from(next.causes.is_empty());
        found.merge(next);
    }
    if held != node.all_of.len() {
        let none = if held == 0 { ". None validated" } else { "" };
        found.add(said(path, &format!("must validate all the schemas (allOf){none}")));
    }
}
