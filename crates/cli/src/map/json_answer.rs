//! An answer that scripts read.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

pub(super) struct Json(pub Value);

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, "application/json")], self.0.to_string()).into_response()
    }
}
