//! Known vulnerabilities in the packages of a release: `npm audit` for the page, `cargo deny check advisories` for
//! crates.
//!
//! Must not: take a missing answer for a good one.

use std::fmt;
use std::process::Command;

use serde_json::Value;
use testkit::control_plane::workspace_root;

use crate::dependencies;
use crate::image::page;
use crate::say;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Clean,
    /// One line for each vulnerability.
    Found(Vec<String>),
    /// Why no answer came.
    Unknown(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clean => write!(to, "nothing is known against them"),
            Self::Found(found) => write!(to, "{}", found.join("; ")),
            Self::Unknown(why) => write!(to, "NOT CHECKED: {why}"),
        }
    }
}

/// Asks both. The error: a package has a known vulnerability, or an answer is missing and `required`.
pub fn check(required: bool) -> anyhow::Result<()> {
    say::heading("known vulnerabilities");
    judge(&[("npm packages", of_page()), ("crates", of_crates())], required)
}

fn judge(answers: &[(&str, Answer)], required: bool) -> anyhow::Result<()> {
    for (packages, answer) in answers {
        say::note(&format!("{packages}: {answer}"));
    }
    let text = |wanted: fn(&Answer) -> bool| {
        let those = answers.iter().filter(|(_, answer)| wanted(answer));
        let those: Vec<String> = those
            .map(|(packages, answer)| format!("{packages}: {answer}"))
            .collect();
        those.join("; ")
    };
    let found = text(|answer| matches!(answer, Answer::Found(_)));
    anyhow::ensure!(
        found.is_empty(),
        "{found}. Take versions without them; a crate's may be put into deny.toml (advisories.ignore) with the reason why it does not concern Skein"
    );
    let unknown = text(|answer| matches!(answer, Answer::Unknown(_)));
    anyhow::ensure!(
        unknown.is_empty() || !required,
        "{unknown}. Run this where the servers can be reached, or leave out --require-advisories and ask for them before you publish"
    );
    Ok(())
}

fn of_page() -> Answer {
    let mut npm = Command::new("npm");
    npm.args([
        "audit",
        "--omit=dev",
        "--json",
        "--fetch-retries=1",
        "--fetch-timeout=30000",
    ]);
    npm.current_dir(workspace_root().join(page::LOCK).with_file_name(""));
    match npm.output() {
        Ok(output) => npm_answer(&String::from_utf8_lossy(&output.stdout), output.status.success()),
        Err(why) => Answer::Unknown(format!("cannot start npm: {why}")),
    }
}

fn of_crates() -> Answer {
    let program = match dependencies::set_up().and_then(|()| dependencies::program()) {
        Ok(program) => program,
        Err(why) => return Answer::Unknown(format!("{why:#}")),
    };
    let mut deny = Command::new(program);
    deny.args(["--all-features", "--format", "json", "check", "advisories"]);
    deny.current_dir(workspace_root());
    match deny.output() {
        Ok(output) => deny_answer(&String::from_utf8_lossy(&output.stderr), output.status.success()),
        Err(why) => Answer::Unknown(format!("cannot start cargo-deny: {why}")),
    }
}

/// `npm audit --json` prints a report with a version, or an error with a message (npm 7 and later).
fn npm_answer(text: &str, success: bool) -> Answer {
    let Ok(said) = serde_json::from_str::<Value>(text) else {
        return Answer::Unknown("npm audit answers no JSON".to_owned());
    };
    let vulnerabilities = said.get("vulnerabilities").and_then(Value::as_object);
    let Some(vulnerabilities) = vulnerabilities.filter(|_| said.get("auditReportVersion").is_some()) else {
        let why = said.get("message").and_then(Value::as_str);
        return Answer::Unknown(why.unwrap_or("npm audit answers no report").to_owned());
    };
    let found: Vec<String> = vulnerabilities.iter().map(|(name, of)| npm_line(name, of)).collect();
    match (found.is_empty(), success) {
        (true, true) => Answer::Clean,
        (true, false) => Answer::Unknown("npm audit fails, and names nothing".to_owned()),
        (false, _) => Answer::Found(found),
    }
}

/// A package and its advisories; if it is vulnerable only by what it uses, those packages.
fn npm_line(name: &str, of: &Value) -> String {
    let text = |of: &Value, field: &str| of.get(field).and_then(Value::as_str).unwrap_or("?").to_owned();
    let because = |via: &Value| match via.as_str() {
        Some(package) => format!("by {package}"),
        None => format!("{} {}", text(via, "title"), text(via, "url")),
    };
    let via = of.get("via").and_then(Value::as_array).into_iter().flatten();
    let because: Vec<String> = via.map(because).collect();
    format!(
        "{name} {} ({}): {}",
        text(of, "range"),
        text(of, "severity"),
        because.join(", ")
    )
}

/// `cargo deny --format json check advisories` prints a line of JSON for each finding, and a summary once it has
/// checked.
fn deny_answer(text: &str, success: bool) -> Answer {
    let said: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let line = |fields: &Value| {
        let of = |pointer: &str| fields.pointer(pointer).and_then(Value::as_str).map(ToOwned::to_owned);
        let package = of("/graphs/0/Krate/name").or_else(|| of("/advisory/package"));
        let parts = [
            package,
            of("/graphs/0/Krate/version"),
            of("/code").map(|code| format!("({code}):")),
            of("/message"),
            of("/advisory/id"),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let errors = || of_kind(&said, "diagnostic").filter(|fields| has(fields, "severity", "error"));
    // The registry's index lists yanked versions.
    let unread = of_kind(&said, "diagnostic")
        .find(|fields| has(fields, "code", "index-failure") || has(fields, "code", "index-cache-load-failure"));
    let found: Vec<String> = errors()
        .filter(|fields| fields.get("advisory").is_some() || has(fields, "code", "yanked"))
        .map(line)
        .collect();
    if !found.is_empty() {
        return Answer::Found(found);
    }
    let counted = of_kind(&said, "summary").find_map(|fields| fields.pointer("/advisories/errors")?.as_u64());
    if let (Some(0), true, None) = (counted, success, unread) {
        return Answer::Clean;
    }
    let logged = of_kind(&said, "log").filter(|fields| has(fields, "level", "ERROR"));
    let why = unread.into_iter().chain(errors()).chain(logged).last();
    let why = why
        .and_then(|fields| fields.get("message")?.as_str())
        .map(ToOwned::to_owned);
    let first = || text.lines().find(|line| !line.trim().is_empty()).map(ToOwned::to_owned);
    Answer::Unknown(
        why.or_else(first)
            .unwrap_or_else(|| "cargo-deny says nothing".to_owned()),
    )
}

fn of_kind<'a>(said: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let those = said
        .iter()
        .filter(move |one| one.get("type").and_then(Value::as_str) == Some(kind));
    those.filter_map(|one| one.get("fields"))
}

fn has(fields: &Value, name: &str, wanted: &str) -> bool {
    fields.get(name).and_then(Value::as_str) == Some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NPM_CLEAN: &str = r#"{"auditReportVersion": 2, "vulnerabilities": {}, "metadata": {"vulnerabilities": {"info": 0, "low": 0, "moderate": 0,
        "high": 0, "critical": 0, "total": 0}, "dependencies": {"prod": 40, "dev": 5, "optional": 25, "peer": 0, "peerOptional": 0, "total": 44}}}"#;

    const NPM_FOUND: &str = r#"{"auditReportVersion": 2, "vulnerabilities": {
        "minimist": {"name": "minimist", "severity": "critical", "isDirect": false, "via": [{"source": 1097678, "name": "minimist",
            "dependency": "minimist", "title": "Prototype Pollution in minimist", "url": "https://github.com/advisories/GHSA-xvch-5gv4-984h",
            "severity": "critical", "cwe": ["CWE-1321"], "cvss": {"score": 9.8, "vectorString": "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"},
            "range": "<0.2.4"}], "effects": ["mkdirp"], "range": "<0.2.4", "nodes": ["node_modules/minimist"], "fixAvailable": true},
        "mkdirp": {"name": "mkdirp", "severity": "critical", "isDirect": true, "via": ["minimist"], "effects": [], "range": "0.4.1 - 0.5.1",
            "nodes": ["node_modules/mkdirp"], "fixAvailable": true}},
        "metadata": {"vulnerabilities": {"critical": 2, "total": 2}}}"#;

    #[test]
    fn npm_says_that_it_knows_of_nothing_or_of_what() {
        assert_eq!(npm_answer(NPM_CLEAN, true), Answer::Clean);
        let found = [
            "minimist <0.2.4 (critical): Prototype Pollution in minimist https://github.com/advisories/GHSA-xvch-5gv4-984h",
            "mkdirp 0.4.1 - 0.5.1 (critical): by minimist",
        ];
        let found = Answer::Found(found.map(str::to_owned).to_vec());
        assert_eq!(npm_answer(NPM_FOUND, false), found);
        // A threshold in the person's own configuration makes it succeed.
        assert_eq!(npm_answer(NPM_FOUND, true), found);
    }

    #[test]
    fn an_npm_that_reached_nobody_has_not_said_that_all_is_good() {
        let refused = r#"{"message": "request to https://registry.example/-/npm/v1/security/advisories/bulk failed, reason: connect ECONNREFUSED 192.0.2.1:443",
            "error": {"summary": "", "detail": ""}}"#;
        let no_audits = r#"{"message": "405 Method Not Allowed - POST https://registry.example/-/npm/v1/security/advisories/bulk", "method": "POST",
            "uri": "https://registry.example/-/npm/v1/security/advisories/bulk", "headers": {"allow": ["GET,HEAD"]}, "statusCode": 405, "body": "",
            "error": {"summary": "", "detail": ""}}"#;
        for (said, part) in [
            (refused, "ECONNREFUSED"),
            (no_audits, "405 Method Not Allowed"),
            ("", "no JSON"),
            ("{}", "no report"),
            (r#"{"vulnerabilities": {}}"#, "no report"),
        ] {
            for success in [false, true] {
                match npm_answer(said, success) {
                    Answer::Unknown(why) => assert!(why.contains(part), "{why}"),
                    other => panic!("{said}: {other:?}"),
                }
            }
        }
        assert!(matches!(npm_answer(NPM_CLEAN, false), Answer::Unknown(_)));
    }

    const DENY_CLEAN: &str =
        r#"{"type":"summary","fields":{"advisories":{"errors":0,"helps":0,"notes":0,"warnings":0}}}"#;

    const DENY_FOUND: &str = concat!(
        r#"{"type":"diagnostic","fields":{"advisory":{"id":"RUSTSEC-2020-0071","package":"time","title":"Potential segfault in the time crate"},"#,
        r#""code":"vulnerability","graphs":[{"Krate":{"name":"time","version":"0.1.44"},"parents":[]}],"labels":[],"#,
        r#""message":"Potential segfault in the time crate","notes":[],"severity":"error"}}"#,
        "\n",
        r#"{"type":"diagnostic","fields":{"code":"yanked","graphs":[{"Krate":{"name":"spin","version":"0.9.7"},"parents":[]}],"labels":[],"#,
        r#""message":"detected yanked crate (try `cargo update -p spin`)","notes":[],"severity":"error"}}"#,
        "\n",
        r#"{"type":"summary","fields":{"advisories":{"errors":2,"helps":0,"notes":0,"warnings":0}}}"#
    );

    #[test]
    fn cargo_deny_says_that_it_knows_of_nothing_or_of_what() {
        assert_eq!(deny_answer(DENY_CLEAN, true), Answer::Clean);
        let warned = r#"{"type":"diagnostic","fields":{"code":"advisory-not-detected","message":"advisory was not encountered","severity":"warning"}}"#;
        assert_eq!(deny_answer(&format!("{warned}\n{DENY_CLEAN}"), true), Answer::Clean);
        let found = [
            "time 0.1.44 (vulnerability): Potential segfault in the time crate RUSTSEC-2020-0071",
            "spin 0.9.7 (yanked): detected yanked crate (try `cargo update -p spin`)",
        ];
        let found = Answer::Found(found.map(str::to_owned).to_vec());
        assert_eq!(deny_answer(DENY_FOUND, false), found);
    }

    #[test]
    fn a_cargo_deny_that_reached_nobody_has_not_said_that_all_is_good() {
        let log = r#"{"type":"log","fields":{"timestamp":"2026-11-29T10:00:00Z","level":"ERROR","message":"failed to fetch advisory database https://github.com/RustSec/advisory-db: Could not resolve host"}}"#;
        let index = r#"{"type":"diagnostic","fields":{"code":"index-failure","labels":[],"message":"unable to check for yanked crates","notes":[],"severity":"warning"}}"#;
        let index = format!("{index}\n{DENY_CLEAN}");
        for (said, part) in [
            (log, "failed to fetch advisory database"),
            (index.as_str(), "unable to check for yanked crates"),
            ("error: unexpected argument", "unexpected argument"),
            ("", "says nothing"),
            (r#"{"type":"summary","fields":{"licenses":{"errors":0}}}"#, "licenses"),
        ] {
            for success in [false, true] {
                match deny_answer(said, success) {
                    Answer::Unknown(why) => assert!(why.contains(part), "{why}"),
                    other => panic!("{said}: {other:?}"),
                }
            }
        }
        assert!(matches!(deny_answer(DENY_CLEAN, false), Answer::Unknown(_)));
    }

    #[test]
    fn what_is_found_ends_a_release_and_what_is_not_known_does_where_it_is_required() {
        let unknown = || Answer::Unknown("no route to host".to_owned());
        let found = || Answer::Found(vec!["time 0.1.44".to_owned()]);
        let said = |answers: [Answer; 2], required| {
            let [page, crates] = answers;
            judge(&[("npm packages", page), ("crates", crates)], required).map_err(|why| why.to_string())
        };
        for required in [false, true] {
            assert_eq!(said([Answer::Clean, Answer::Clean], required), Ok(()));
            let why = said([unknown(), found()], required).unwrap_err();
            assert!(why.starts_with("crates: time 0.1.44."), "{why}");
        }
        assert_eq!(said([unknown(), Answer::Clean], false), Ok(()));
        let why = said([unknown(), Answer::Clean], true).unwrap_err();
        assert!(why.starts_with("npm packages: NOT CHECKED: no route to host."), "{why}");
    }
}
