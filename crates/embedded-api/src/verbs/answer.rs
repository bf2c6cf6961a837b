//! Documents, refusals and warnings as they are sent.

use crate::documents::accept::{Format, Representation};
use crate::refusal::Refusal;
use crate::request::{Answer, Body};
use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;
use tokio::sync::mpsc;

/// Clients read headers of a limited size.
const MOST_WARNINGS: usize = 30;
const LONGEST_WARNINGS: usize = 4096;

pub(super) fn document(code: StatusCode, as_: Representation, json: Bytes) -> Answer {
    let body = match as_.format {
        Format::Json => json,
        Format::Yaml => yaml(&json).unwrap_or(json),
    };
    Answer {
        code,
        content_type: as_.media_type().to_owned(),
        headers: Vec::new(),
        body: Body::Whole(body),
    }
}

fn yaml(json: &[u8]) -> Option<Bytes> {
    let value: Value = serde_json::from_slice(json).ok()?;
    let text = serde_saphyr::to_string(&value).ok()?;
    Some(text.into())
}

pub(super) fn json(code: StatusCode, value: &Value) -> Answer {
    document(code, Representation::JSON, value.to_string().into())
}

pub(super) fn text(code: StatusCode, text: &str) -> Answer {
    Answer {
        code,
        content_type: "text/plain; charset=utf-8".to_owned(),
        headers: Vec::new(),
        body: Body::Whole(text.to_owned().into()),
    }
}

pub(super) fn stream(frames: mpsc::Receiver<Bytes>) -> Answer {
    Answer {
        code: StatusCode::OK,
        content_type: "application/json".to_owned(),
        headers: Vec::new(),
        body: Body::Stream(frames),
    }
}

pub(super) fn refusal(refusal: &Refusal) -> Answer {
    let code = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = json(code, &refusal.document());
    let retry = refusal.details.get("retryAfterSeconds").and_then(Value::as_u64);
    if let Some(seconds) = retry {
        answer.headers.push(("retry-after", seconds.to_string()));
    }
    warned(answer, &refusal.warnings)
}

pub(super) fn no_such_page() -> Answer {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

pub(super) fn no_such_resource() -> Refusal {
    let message = "the server could not find the requested resource";
    Refusal {
        details: Value::Object(serde_json::Map::new()),
        ..Refusal::new(404, "NotFound", message)
    }
}

pub(super) fn method_not_allowed() -> Refusal {
    Refusal {
        details: Value::Object(serde_json::Map::new()),
        ..Refusal::method_not_allowed()
    }
}

/// 504: the revision does not exist yet.
pub(super) fn too_new(requested: u64, now: u64) -> Refusal {
    let message = format!("Timeout: Too large resource version: {requested}, current: {now}");
    let cause = serde_json::json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
    Refusal {
        details: serde_json::json!({"causes": [cause], "retryAfterSeconds": 1}),
        ..Refusal::new(504, "Timeout", message)
    }
}

pub(super) fn warned(mut answer: Answer, warnings: &[String]) -> Answer {
    let mut length = 0;
    for warning in warnings.iter().take(MOST_WARNINGS) {
        let quoted = header_text(warning);
        length += quoted.len();
        if length > LONGEST_WARNINGS {
            break;
        }
        answer.headers.push(("warning", format!("299 - {quoted}")));
    }
    answer
}

fn header_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted.push(' '),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(answer: Answer) -> String {
        match answer.body {
            Body::Whole(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Body::Stream(_) => panic!("a stream"),
        }
    }

    #[test]
    fn a_warning_is_a_header() {
        let answer = warned(
            text(StatusCode::OK, "ok"),
            &[r#"unknown field "spec.a""#.to_owned(), "two\nlines".to_owned()],
        );
        let expected = [
            ("warning", r#"299 - "unknown field \"spec.a\"""#.to_owned()),
            ("warning", r#"299 - "two lines""#.to_owned()),
        ];
        assert_eq!(answer.headers, expected);
    }

    #[test]
    fn there_are_not_more_warnings_than_a_client_can_read() {
        let many: Vec<String> = (0..1000)
            .map(|number| format!("field {number} {}", "x".repeat(300)))
            .collect();
        let answer = warned(text(StatusCode::OK, "ok"), &many);
        let length: usize = answer.headers.iter().map(|(_, value)| value.len()).sum();
        assert!(!answer.headers.is_empty() && length < 2 * LONGEST_WARNINGS, "{length}");
    }

    #[test]
    fn a_client_may_want_yaml() {
        let as_yaml = Representation {
            format: Format::Yaml,
            ..Representation::JSON
        };
        let answer = document(
            StatusCode::OK,
            as_yaml,
            Bytes::from_static(br#"{"kind":"Thing","size":1}"#),
        );
        assert_eq!(answer.content_type, "application/yaml");
        assert_eq!(whole(answer), "kind: Thing\nsize: 1\n");
    }

    #[test]
    fn a_revision_that_does_not_exist_yet_may_be_requested_again() {
        let answer = refusal(&too_new(9, 3));
        assert_eq!(answer.code, StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(answer.headers, [("retry-after", "1".to_owned())]);
        assert!(whole(answer).contains("Too large resource version: 9, current: 3"));
    }
}
