//! From the wire to an [`ApiRequest`], and from an [`Answer`] to the wire, for a socket and for a caller in this
//! process.

use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest, Body};
use crate::serve::bodies::Bodies;
use crate::serve::{Handler, Limits};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::FutureExt;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use percent_encoding::percent_decode_str;
use std::convert::Infallible;
use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

pub const MAX_BODY: u64 = 3 * 1024 * 1024;

/// Bytes read of a too long body: a client reads the answer only after its request is sent, and else gets a broken
/// pipe.
const DISCARDED: usize = 16 * 1024 * 1024;

const DISCARDING: Duration = Duration::from_secs(1);

pub async fn answer<B>(
    handler: &impl Handler,
    request: Request<B>,
    limits: &Limits,
    bodies: &Bodies,
    end: &CancellationToken,
) -> Response<AnswerBody>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let answered = async {
        let hint = request.body().size_hint();
        let length = hint.upper().unwrap_or(MAX_BODY).min(MAX_BODY);
        // A body that is too long is discarded as it arrives.
        let length = if hint.lower() > MAX_BODY { 0 } else { length };
        let _permit = bodies.permit(length).await?;
        let request = read(request, limits).await?;
        // A panic ends this request only. Other requests on the connection, and this process, continue.
        let handled = AssertUnwindSafe(handler.handle(request)).catch_unwind();
        let late = "Timeout: request did not complete within the allotted timeout";
        let handled = timeout(limits.answer, handled).await;
        let handled = handled.map_err(|_| Refusal::new(504, "Timeout", late))?;
        let mut answer = handled.map_err(|_| {
            tracing::error!("a request was ended by a fault of this program");
            Refusal::internal("a fault of this program ended the request; see its log")
        })?;
        if let Body::Whole(bytes) = answer.body {
            answer.body = Body::Whole(bodies.answer(bytes).await?);
        }
        Ok(answer)
    };
    match answered.await {
        Ok(answer) => respond(answer, end),
        Err(refusal) => refuse(&refusal),
    }
}

async fn read<B>(request: Request<B>, limits: &Limits) -> Result<ApiRequest, Refusal>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let path = decode_path(head.uri.path())?;
    let query = form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes());
    let query = query.into_owned().collect();
    let header = |name| joined(&head.headers, name);
    let (accept, content_type, user_agent) = (
        header(header::ACCEPT),
        header(header::CONTENT_TYPE),
        header(header::USER_AGENT),
    );
    Ok(ApiRequest {
        path,
        query,
        accept,
        content_type,
        user_agent,
        body: timeout(limits.body, read_body(body)).await.map_err(|_| {
            let message = format!("the body of the request did not arrive within {:?}", limits.body);
            Refusal::new(408, "Timeout", message)
        })??,
        method: head.method,
    })
}

async fn read_body<B>(body: B) -> Result<Bytes, Refusal>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let too_large = || {
        let message = format!("Request entity too large: limit is {MAX_BODY}");
        Refusal::new(413, "RequestEntityTooLarge", message)
    };
    let mut body = std::pin::pin!(body);
    let mut read_so_far = BytesMut::new();
    let mut fits = body.size_hint().lower() <= MAX_BODY;
    while fits {
        let Some(frame) = body.frame().await else {
            return Ok(read_so_far.freeze());
        };
        let frame = frame.map_err(|error| {
            let error: Box<dyn Error + Send + Sync> = error.into();
            Refusal::bad_request(format!("the body of the request could not be read: {error}"))
        })?;
        let Ok(mut data) = frame.into_data() else { continue };
        fits = (read_so_far.len() + data.remaining()) as u64 <= MAX_BODY;
        if fits {
            read_so_far.put(data.copy_to_bytes(data.remaining()));
        }
    }
    let discard = async {
        let mut discarded = 0;
        while discarded < DISCARDED
            && let Some(Ok(frame)) = body.frame().await
        {
            discarded += frame.data_ref().map_or(0, Buf::remaining);
        }
    };
    let _ = timeout(DISCARDING, discard).await;
    Err(too_large())
}

/// `%2F` becomes a slash, as in Go's `URL.Path`, which the API server uses.
fn decode_path(path: &str) -> Result<String, Refusal> {
    let is_escape = |part: &str| part.len() >= 2 && part.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    let decoded = percent_decode_str(path).decode_utf8();
    match decoded {
        Ok(decoded) if path.split('%').skip(1).all(is_escape) => Ok(decoded.into_owned()),
        _ => Err(Refusal::bad_request(
            "the path of the request is not a percent-encoded text",
        )),
    }
}

fn joined(headers: &HeaderMap, name: HeaderName) -> String {
    let values = headers.get_all(name);
    let values: Vec<&str> = values.iter().filter_map(|value| value.to_str().ok()).collect();
    values.join(", ")
}

#[must_use]
pub fn refuse(refusal: &Refusal) -> Response<AnswerBody> {
    let again = refusal
        .details
        .get("retryAfterSeconds")
        .and_then(serde_json::Value::as_u64);
    let answer = Answer {
        code: StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        content_type: "application/json".to_owned(),
        headers: again
            .map(|seconds| ("retry-after", seconds.to_string()))
            .into_iter()
            .collect(),
        body: Body::Whole(refusal.document().to_string().into()),
    };
    respond(answer, &CancellationToken::new())
}

fn respond(answer: Answer, end: &CancellationToken) -> Response<AnswerBody> {
    let body = match answer.body {
        Body::Whole(bytes) => AnswerBody::Whole(Some(bytes)),
        Body::Stream(frames) => AnswerBody::Stream {
            frames,
            end: Box::pin(end.clone().cancelled_owned()),
        },
    };
    let mut response = Response::new(body);
    *response.status_mut() = answer.code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header_value(&answer.content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    for (name, value) in &answer.headers {
        if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
            headers.append(name, header_value(value));
        }
    }
    response
}

/// A warning may quote a user's text: forbidden characters become a space.
fn header_value(text: &str) -> HeaderValue {
    let cleaned: String = text
        .chars()
        .map(|one| if one.is_control() { ' ' } else { one })
        .collect();
    HeaderValue::from_bytes(cleaned.as_bytes()).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Dropping it ends the sender of a watch.
pub enum AnswerBody {
    Whole(Option<Bytes>),
    Stream {
        frames: mpsc::Receiver<Bytes>,
        end: Pin<Box<WaitForCancellationFutureOwned>>,
    },
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take()),
            Self::Stream { frames, end } => match end.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => frames.poll_recv(context),
            },
        };
        next.map(|bytes| bytes.map(|bytes| Ok(http_body::Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            Self::Stream { .. } => false,
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Whole(bytes) => http_body::SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Stream { .. } => http_body::SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests;
