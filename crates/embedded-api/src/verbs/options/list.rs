//! Options of lists and watches.
//!
//! Owns: which of them can be combined. Must not: know what is stored.

use super::{cause, flag, given, invalid, not_a_number, number};
use crate::refusal::{Cause, Refusal};
use crate::request::ApiRequest;

/// How a list matches the requested revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// This one.
    Exact,
    /// This one or a newer one.
    NotOlderThan,
}

/// What to list or to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Whether it is a watch.
    pub watch: bool,
    /// Label selector, as text.
    pub labels: String,
    /// Field selector, as text.
    pub fields: String,
    /// Most objects on a page.
    pub limit: Option<usize>,
    /// Token of the next page.
    pub continue_: Option<String>,
    /// `resourceVersion`; 0 means any.
    pub revision: Option<u64>,
    /// `resourceVersionMatch`.
    pub matching: Option<Match>,
    /// The timeout of a watch, in seconds.
    pub timeout: Option<u64>,
    /// Whether a watcher wants bookmarks.
    pub bookmarks: bool,
    /// Whether a watch begins with the existing objects, and marks their end.
    pub initial_events: Option<bool>,
}

impl ListOptions {
    /// Reads them. `watch`: the path requests a watch.
    ///
    /// # Errors
    /// 400 for invalid numbers, 422 for options that cannot be combined.
    pub fn read(request: &ApiRequest, watch: bool) -> Result<Self, Refusal> {
        let watch = watch || flag(request, "watch").unwrap_or(false);
        let limit = number(request, "limit")?.and_then(|limit| usize::try_from(limit).ok());
        let timeout = number(request, "timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
        let initial_events = flag(request, "sendInitialEvents");
        let matching = checked_match(request, watch, initial_events)?;
        let bad = |text: &str| {
            let message = format!(
                "resourceVersion: Invalid value: {text:?}: {}",
                not_a_number("ParseUint", text)
            );
            match watch {
                true => Refusal::new(500, "", message),
                false => Refusal::bad_request(format!("invalid resource version: {message}")),
            }
        };
        let revision = given(request, "resourceVersion");
        let revision = revision.map(|text| text.parse().map_err(|_| bad(text))).transpose()?;
        let text = |name: &str| request.query(name).unwrap_or_default().to_owned();
        Ok(Self {
            watch,
            labels: text("labelSelector"),
            fields: text("fieldSelector"),
            limit: limit.filter(|limit| *limit > 0),
            continue_: given(request, "continue").map(str::to_owned),
            revision,
            matching,
            timeout: timeout.filter(|seconds| *seconds > 0),
            bookmarks: flag(request, "allowWatchBookmarks").unwrap_or(false),
            initial_events,
        })
    }
}

fn checked_match(request: &ApiRequest, watch: bool, initial: Option<bool>) -> Result<Option<Match>, Refusal> {
    let matching = given(request, "resourceVersionMatch");
    let continued = given(request, "continue").is_some();
    let causes = if watch {
        of_watch(matching, initial, continued)
    } else {
        of_list(matching, given(request, "resourceVersion"), initial, continued)
    };
    if !causes.is_empty() {
        return Err(invalid("ListOptions", &causes));
    }
    Ok(matching.map(|text| match text {
        "Exact" => Match::Exact,
        _ => Match::NotOlderThan,
    }))
}

const MATCH: &str = "resourceVersionMatch";

fn forbidden(field: &str, why: &str) -> Cause {
    cause("FieldValueForbidden", field, format!("Forbidden: {why}"))
}

fn of_list(matching: Option<&str>, revision: Option<&str>, initial: Option<bool>, continued: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(matching) = matching {
        if revision.is_none() {
            causes.push(forbidden(
                MATCH,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if continued {
            causes.push(forbidden(
                MATCH,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            let supported = r#""Exact", "NotOlderThan", """#;
            let message = format!("Unsupported value: {matching:?}: supported values: {supported}");
            causes.push(cause("FieldValueNotSupported", MATCH, message));
        }
        if matching == "Exact" && revision == Some("0") {
            causes.push(forbidden(
                MATCH,
                r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#,
            ));
        }
    }
    if initial.is_some() {
        causes.push(forbidden(
            "sendInitialEvents",
            "sendInitialEvents is forbidden for list",
        ));
    }
    causes
}

fn of_watch(matching: Option<&str>, initial: Option<bool>, continued: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if initial.is_some() && matching != Some("NotOlderThan") {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        causes.push(forbidden(MATCH, why));
    }
    if let Some(matching) = matching {
        if initial.is_none() {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            causes.push(forbidden(MATCH, why));
        }
        if matching != "NotOlderThan" {
            let message = format!("Unsupported value: {matching:?}: supported values: \"NotOlderThan\"");
            causes.push(cause("FieldValueNotSupported", MATCH, message));
        }
        if continued {
            causes.push(forbidden(
                MATCH,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::super::request_with;
    use super::*;

    fn read(query: &[(&str, &str)]) -> Result<ListOptions, String> {
        ListOptions::read(&request_with(query), false)
            .map_err(|refusal| format!("{} {}", refusal.code, refusal.message))
    }

    #[test]
    fn without_options_everything_is_listed() {
        assert_eq!(read(&[]), Ok(ListOptions::default()));
        let nothing = [
            ("limit", "0"),
            ("continue", ""),
            ("resourceVersion", ""),
            ("limit", "-1"),
        ];
        assert_eq!(read(&nothing), Ok(ListOptions::default()));
    }

    #[test]
    fn a_watch_is_requested_by_the_query_or_by_the_path() {
        assert!(read(&[("watch", "true")]).is_ok_and(|options| options.watch));
        assert!(read(&[("watch", "1")]).is_ok_and(|options| options.watch));
        assert!(read(&[("watch", "false")]).is_ok_and(|options| !options.watch));
        assert!(ListOptions::read(&request_with(&[]), true).is_ok_and(|options| options.watch));
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        let table = [
            (
                "limit",
                "many",
                r#"400 strconv.ParseInt: parsing "many": invalid syntax"#,
            ),
            (
                "timeoutSeconds",
                "1.5",
                r#"400 strconv.ParseInt: parsing "1.5": invalid syntax"#,
            ),
            (
                "resourceVersion",
                "-1",
                r#"400 invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax"#,
            ),
        ];
        for (name, value, expected) in table {
            assert_eq!(read(&[(name, value)]), Err(expected.to_owned()));
        }
    }

    #[test]
    fn matching_needs_a_revision_to_match() {
        let wanted = r#"422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: "#;
        let table: [(&[(&str, &str)], &str); 3] = [
            (
                &[("resourceVersionMatch", "Exact")],
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ),
            (
                &[("resourceVersionMatch", "Exact"), ("resourceVersion", "0")],
                r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#,
            ),
            (
                &[
                    ("resourceVersionMatch", "NotOlderThan"),
                    ("resourceVersion", "3"),
                    ("continue", "x"),
                ],
                "resourceVersionMatch is forbidden when continue is provided",
            ),
        ];
        for (query, why) in table {
            assert_eq!(read(query), Err(format!("{wanted}{why}")));
        }
        let exact = read(&[("resourceVersionMatch", "Exact"), ("resourceVersion", "3")]);
        assert!(exact.is_ok_and(|options| options.matching == Some(Match::Exact) && options.revision == Some(3)));
    }

    #[test]
    fn initial_events_are_for_watches_that_say_not_older_than() {
        let initial = ("sendInitialEvents", "true");
        assert!(read(&[initial]).is_err_and(|why| why.ends_with("sendInitialEvents is forbidden for list")));
        let watch = ("watch", "true");
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        assert!(read(&[watch, initial]).is_err_and(|message| message.ends_with(why)));
        let options = read(&[watch, initial, ("resourceVersionMatch", "NotOlderThan")]);
        assert!(options.is_ok_and(|options| options.initial_events == Some(true)));
        let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        let message = read(&[
            watch,
            ("resourceVersionMatch", "NotOlderThan"),
            ("resourceVersion", "1"),
        ]);
        assert!(message.is_err_and(|message| message.ends_with(why)));
    }
}
