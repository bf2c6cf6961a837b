//! Options of lists and watches.

use super::{flag, given, invalid, not_a_number, number};
use crate::refusal::{Cause, Refusal};
use crate::request::ApiRequest;
use crate::schema::cause;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    Exact,
    NotOlderThan,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    pub watch: bool,
    pub labels: String,
    pub fields: String,
    pub limit: Option<usize>,
    pub continue_: Option<String>,
    /// 0 means any.
    pub revision: Option<u64>,
    pub matching: Option<Match>,
    /// Seconds, of a watch.
    pub timeout: Option<u64>,
    pub bookmarks: bool,
    /// Begins with the existing objects, and marks their end.
    pub initial_events: Option<bool>,
}

impl ListOptions {
    /// `watch`: the path requests a watch. Errors: 400 for invalid numbers, 422 for options that cannot be combined.
    pub fn read(request: &ApiRequest, watch: bool) -> Result<Self, Refusal> {
        let watch = watch || flag(request, "watch").unwrap_or(false);
        let limit = number(request, "limit")?.and_then(|limit| usize::try_from(limit).ok());
        let timeout = number(request, "timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
        let initial_events = flag(request, "sendInitialEvents");
        let matching = checked_match(request, watch, initial_events)?;
        let bad = |text: &str| {
            let message = not_a_number("resourceVersion", text);
            match watch {
                true => Refusal::new(500, "", message),
                false => Refusal::bad_request(message),
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

const INITIAL: &str = "sendInitialEvents";

fn of_list(matching: Option<&str>, revision: Option<&str>, initial: Option<bool>, continued: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(matching) = matching {
        if revision.is_none() {
            causes.push(cause::forbidden(MATCH, "needs resourceVersion"));
        }
        if continued {
            causes.push(cause::forbidden(MATCH, "cannot be set together with continue"));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            let supported = ["Exact", "NotOlderThan"].map(Value::from);
            causes.push(cause::not_supported(MATCH, &matching.into(), &supported));
        }
        if matching == "Exact" && revision == Some("0") {
            causes.push(cause::forbidden(MATCH, "cannot be Exact for resourceVersion 0"));
        }
    }
    if initial.is_some() {
        causes.push(cause::forbidden(INITIAL, "is for watches"));
    }
    causes
}

fn of_watch(matching: Option<&str>, initial: Option<bool>, continued: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if initial.is_some() && matching != Some("NotOlderThan") {
        causes.push(cause::forbidden(MATCH, "must be NotOlderThan with sendInitialEvents"));
    }
    if let Some(matching) = matching {
        if initial.is_none() {
            causes.push(cause::forbidden(MATCH, "needs sendInitialEvents in a watch"));
        }
        if matching != "NotOlderThan" {
            causes.push(cause::not_supported(MATCH, &matching.into(), &["NotOlderThan".into()]));
        }
        if continued {
            causes.push(cause::forbidden(MATCH, "cannot be set together with continue"));
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
        for (name, value) in [("limit", "many"), ("timeoutSeconds", "1.5"), ("resourceVersion", "-1")] {
            let refused = read(&[(name, value)]);
            assert!(refused.is_err_and(|why| why.starts_with(&format!("400 {name} is \"{value}\""))));
        }
    }

    fn refused(query: &[(&str, &str)]) -> bool {
        read(query).is_err_and(|why| why.starts_with("422 "))
    }

    #[test]
    fn matching_needs_a_revision_to_match() {
        let (exact, revision) = (("resourceVersionMatch", "Exact"), ("resourceVersion", "3"));
        assert!(refused(&[exact]));
        assert!(refused(&[exact, ("resourceVersion", "0")]));
        assert!(refused(&[exact, revision, ("continue", "x")]));
        assert!(refused(&[("resourceVersionMatch", "Guess"), revision]));
        let exact = read(&[exact, revision]);
        assert!(exact.is_ok_and(|options| options.matching == Some(Match::Exact) && options.revision == Some(3)));
    }

    #[test]
    fn initial_events_are_for_watches_that_say_not_older_than() {
        let (initial, watch) = (("sendInitialEvents", "true"), ("watch", "true"));
        let matching = ("resourceVersionMatch", "NotOlderThan");
        assert!(refused(&[initial]));
        assert!(refused(&[watch, initial]));
        assert!(refused(&[watch, matching, ("resourceVersion", "1")]));
        let options = read(&[watch, initial, matching]);
        assert!(options.is_ok_and(|options| options.initial_events == Some(true)));
    }
}
