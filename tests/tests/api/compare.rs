//! Comparing two transcripts.

use std::collections::BTreeSet;
use std::path::PathBuf;

use regex::Regex;
use serde_json::{Value, json};

use crate::session::Step;

pub struct Difference {
    pub cases: &'static [&'static str],
    /// A regular expression for part of the step's action; empty for each step.
    pub step: &'static str,
    /// A regular expression for the whole JSON pointer into the answer.
    pub at: &'static str,
    pub why: &'static str,
}

pub fn unexplained(case: &str, theirs: &[Step], ours: &[Step], reasons: &[Difference]) -> Vec<String> {
    let reasons: Vec<&Difference> = reasons.iter().filter(|reason| reason.cases.contains(&case)).collect();
    let mut used = BTreeSet::new();
    let mut lines = Vec::new();
    for number in 0..theirs.len().max(ours.len()) {
        let (Some(their), Some(our)) = (theirs.get(number), ours.get(number)) else {
            lines.push(format!("{} steps on Kubernetes, {} here", theirs.len(), ours.len()));
            break;
        };
        let mut found = Vec::new();
        if their.action != our.action {
            found.push((
                String::from("/did"),
                Value::from(their.action.clone()),
                Value::from(our.action.clone()),
            ));
        }
        if their.result["code"] == our.result["code"] {
            differ("", &their.result, &our.result, &mut found);
        } else {
            // Between done and refused nothing else can be compared.
            found.push(("/code".to_owned(), brief(&their.result), brief(&our.result)));
        }
        let mut heading = Some(format!("step {}: {}", number + 1, their.action));
        for (at, their_value, our_value) in found {
            let reason = reasons.iter().position(|reason| {
                let at_step = Regex::new(reason.step).unwrap().is_match(&their.action);
                at_step && Regex::new(&format!("^(?:{})$", reason.at)).unwrap().is_match(&at)
            });
            if let Some(reason) = reason {
                used.insert(reason);
                continue;
            }
            lines.extend(heading.take());
            lines.push(format!("  {at}\n{}", pair(&their_value, &our_value)));
        }
    }
    for (index, reason) in reasons.iter().enumerate() {
        if !used.contains(&index) {
            lines.push(format!(
                "this difference is none: {} at {} ({})",
                reason.step, reason.at, reason.why
            ));
        }
    }
    lines
}

/// The code, with the reason and message of a refusal, or the kind of the object.
fn brief(result: &Value) -> Value {
    let body = result.get("body").unwrap_or(&result["events"][0]);
    let text = ["reason", "message"].map(|key| body[key].as_str().unwrap_or_default());
    let text = if body["kind"] == "Status" {
        text.join(": ")
    } else {
        body["kind"].as_str().unwrap_or_default().to_owned()
    };
    format!("{} {text}", result["code"]).into()
}

fn pair(theirs: &Value, ours: &Value) -> String {
    match (theirs, ours) {
        (Value::String(theirs), Value::String(ours)) if theirs.contains('\n') || ours.contains('\n') => {
            lines(theirs, ours)
        }
        _ => format!("    Kubernetes: {}\n    here:       {}", shown(theirs), shown(ours)),
    }
}

fn shown(value: &Value) -> String {
    if value.is_null() {
        "nothing".to_owned()
    } else {
        value.to_string()
    }
}

fn lines(theirs: &str, ours: &str) -> String {
    let (theirs, ours): (Vec<&str>, Vec<&str>) = (theirs.lines().collect(), ours.lines().collect());
    let head = theirs.iter().zip(&ours).take_while(|(a, b)| a == b).count();
    let rest = theirs.len().min(ours.len()) - head;
    let tail = theirs
        .iter()
        .rev()
        .zip(ours.iter().rev())
        .take(rest)
        .take_while(|(a, b)| a == b)
        .count();
    let part = |all: &[&str], sign: &str| -> String {
        all[head..all.len() - tail]
            .iter()
            .map(|line| format!("    {sign} {line}\n"))
            .collect()
    };
    let text = format!(
        "    ({head} lines alike)\n{}{}",
        part(&theirs, "Kubernetes:"),
        part(&ours, "here:      ")
    );
    text.trim_end().to_owned()
}

fn differ(at: &str, theirs: &Value, ours: &Value, found: &mut Vec<(String, Value, Value)>) {
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let part = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                if a.contains_key(key) != b.contains_key(key) {
                    found.push((at, part(a), part(b)));
                } else {
                    differ(&at, &part(a), &part(b), found);
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for index in 0..a.len().max(b.len()) {
                let at = format!("{at}/{index}");
                match (a.get(index), b.get(index)) {
                    (Some(a), Some(b)) => differ(&at, a, b, found),
                    (a, b) => found.push((at, a.cloned().unwrap_or_default(), b.cloned().unwrap_or_default())),
                }
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push((at.to_owned(), a.clone(), b.clone())),
    }
}

/// Writes a transcript for people into the folder that `SKEIN_API_TRANSCRIPTS` names.
pub fn keep(case: &str, side: &str, steps: &[Step]) {
    let Some(folder) = std::env::var_os("SKEIN_API_TRANSCRIPTS").map(PathBuf::from) else {
        return;
    };
    let steps: Vec<Value> = steps
        .iter()
        .map(|step| json!({"did": step.action, "came": step.result}))
        .collect();
    let text = serde_json::to_string_pretty(&steps).unwrap();
    std::fs::write(folder.join(format!("{case}.{side}.json")), text).unwrap();
}

#[test]
fn differences_are_reported_with_their_place_and_reasons_must_be_needed() {
    let step = |result: Value| Step {
        action: "GET /x".into(),
        result,
    };
    let reason = |at| Difference {
        cases: &["case"],
        step: "/x",
        at,
        why: "because",
    };
    let (theirs, ours) = (
        [step(json!({"a": [1, 2], "b": "x"}))],
        [step(json!({"a": [1], "b": "x", "c": 0}))],
    );
    let lines = unexplained("case", &theirs, &ours, &[reason("/a/1")]);
    assert_eq!(
        lines,
        ["step 1: GET /x", "  /c\n    Kubernetes: nothing\n    here:       0"]
    );
    let lines = unexplained("case", &theirs, &ours, &[reason("/a/1"), reason("/c")]);
    assert_eq!(lines, Vec::<String>::new());
    let lines = unexplained("case", &theirs, &theirs, &[reason("/a/1")]);
    assert_eq!(lines, ["this difference is none: /x at /a/1 (because)"]);
}
