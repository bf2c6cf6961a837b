//! The query of a request, read, checked, not acted on. Unknown parameters are ignored, as everywhere in this API.

pub mod delete;
pub mod list;
pub mod write;

pub use delete::{DeleteOptions, Propagation};
pub use list::{ListOptions, Match};
pub use write::{Validation, WriteOptions};

use crate::refusal::{Cause, Refusal};
use crate::request::ApiRequest;
use crate::schema::cause;

pub(super) fn invalid(kind: &str, causes: &[Cause]) -> Refusal {
    Refusal::invalid("meta.k8s.io", kind, "", causes)
}

pub(super) fn given<'a>(request: &'a ApiRequest, name: &str) -> Option<&'a str> {
    request.query(name).filter(|value| !value.is_empty())
}

/// Present, and neither `false` nor `0`.
pub(super) fn flag(request: &ApiRequest, name: &str) -> Option<bool> {
    request
        .query(name)
        .map(|value| !value.eq_ignore_ascii_case("false") && value != "0")
}

/// Errors: 400 when it is not a number.
pub(super) fn number(request: &ApiRequest, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(text) = given(request, name) else {
        return Ok(None);
    };
    let number = text.parse();
    number
        .map(Some)
        .map_err(|_| Refusal::bad_request(not_a_number(name, text)))
}

#[must_use]
pub(super) fn not_a_number(name: &str, text: &str) -> String {
    format!("{name} is {text:?}; it must be a whole number")
}

pub(super) fn dry_run(values: &[&str]) -> Result<bool, Cause> {
    match values.iter().all(|value| *value == "All") {
        true => Ok(!values.is_empty()),
        false => Err(cause::not_supported(
            "dryRun",
            &values.join(",").into(),
            &["All".into()],
        )),
    }
}

pub(super) fn all<'a>(request: &'a ApiRequest, name: &str) -> Vec<&'a str> {
    let found = request.query.iter().filter(|(key, _)| key == name);
    found.map(|(_, value)| value.as_str()).collect()
}

#[cfg(test)]
pub(crate) fn request_with(query: &[(&str, &str)]) -> ApiRequest {
    ApiRequest {
        method: http::Method::GET,
        path: String::new(),
        query: query
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        accept: String::new(),
        content_type: String::new(),
        user_agent: "test/1.0".to_owned(),
        body: bytes::Bytes::new(),
    }
}
