//! Conversion of requests from the wire, and of answers to the wire.

use super::*;
use http::Method;
use http_body_util::{Full, StreamBody};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Default)]
struct Script {
    received: Arc<Mutex<Option<ApiRequest>>>,
    answer: Arc<Mutex<Option<Answer>>>,
}

impl Script {
    fn answering(answer: Answer) -> Self {
        let script = Self::default();
        *script.answer.lock().unwrap() = Some(answer);
        script
    }
}

impl Handler for Script {
    async fn handle(&self, request: ApiRequest) -> Answer {
        *self.received.lock().unwrap() = Some(request);
        let answer = self.answer.lock().unwrap().take();
        match answer {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

fn room() -> Bodies {
    Bodies::new(Limits::default().bodies, Limits::default().answers)
}

fn whole(text: &'static str) -> Answer {
    Answer {
        code: StatusCode::OK,
        content_type: "application/json".to_owned(),
        headers: Vec::new(),
        body: Body::Whole(Bytes::from_static(text.as_bytes())),
    }
}

async fn send<B>(script: &Script, request: Request<B>) -> Response<AnswerBody>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    answer(script, request, &Limits::default(), &room(), &CancellationToken::new()).await
}

async fn status(response: Response<AnswerBody>) -> (u16, String, String) {
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let status: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status["kind"], "Status");
    assert_eq!(status["code"], code);
    let text = |key: &str| status[key].as_str().unwrap().to_owned();
    (code, text("reason"), text("message"))
}

fn get(uri: &str) -> Request<Full<Bytes>> {
    Request::get(uri).body(Full::default()).unwrap()
}

#[tokio::test]
async fn a_request_arrives_decoded() {
    let script = Script::answering(whole("{}"));
    let request = Request::patch("/apis/a.b/v1/drones/x%20y?labelSelector=a%3Db%2Cc&x=1+2&x=3&flag")
        .header("accept", "application/json;as=Table")
        .header("accept", "application/json")
        .header("content-type", "application/merge-patch+json")
        .header("user-agent", "kubectl/v1")
        .body(Full::new(Bytes::from_static(b"{\"a\":1}")))
        .unwrap();
    assert_eq!(send(&script, request).await.status(), 200);
    let received = script.received.lock().unwrap().take().unwrap();
    assert_eq!(received.method, Method::PATCH);
    assert_eq!(received.path, "/apis/a.b/v1/drones/x y");
    let query: Vec<_> = received
        .query
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        query,
        [("labelSelector", "a=b,c"), ("x", "1 2"), ("x", "3"), ("flag", "")]
    );
    assert_eq!(received.accept, "application/json;as=Table, application/json");
    assert_eq!(received.content_type, "application/merge-patch+json");
    assert_eq!(received.user_agent, "kubectl/v1");
    assert_eq!(received.body, Bytes::from_static(b"{\"a\":1}"));
}

#[tokio::test]
async fn a_path_that_is_no_text_is_refused_and_not_handled() {
    for path in ["/api/%zz", "/api/%4", "/api/%", "/api/%ff"] {
        let script = Script::default();
        let (code, reason, _) = status(send(&script, get(path)).await).await;
        assert_eq!((code, reason.as_str()), (400, "BadRequest"), "{path}");
        assert!(script.received.lock().unwrap().is_none());
    }
}

#[tokio::test]
async fn a_body_of_three_mebibytes_is_read_and_one_byte_more_is_not() {
    let script = Script::answering(whole("{}"));
    let body = |length| {
        Request::post("/api")
            .body(Full::new(Bytes::from(vec![b'a'; usize::try_from(length).unwrap()])))
            .unwrap()
    };
    assert_eq!(send(&script, body(MAX_BODY)).await.status(), 200);
    let status_body = status(send(&script, body(MAX_BODY + 1)).await).await;
    assert_eq!(
        status_body,
        (
            413,
            "RequestEntityTooLarge".to_owned(),
            "Request entity too large: limit is 3145728".to_owned()
        )
    );
}

#[tokio::test]
async fn a_body_without_a_length_is_cut_off_at_the_limit() {
    let chunk = || Ok::<_, Infallible>(http_body::Frame::data(Bytes::from(vec![b'a'; 1024 * 1024])));
    let body = StreamBody::new(futures::stream::iter(std::iter::repeat_with(chunk)));
    let script = Script::default();
    let (code, ..) = status(send(&script, Request::post("/api").body(body).unwrap()).await).await;
    assert_eq!(code, 413);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up() {
    let body = StreamBody::new(futures::stream::pending::<Result<http_body::Frame<Bytes>, Infallible>>());
    let (code, reason, message) =
        status(send(&Script::default(), Request::post("/api").body(body).unwrap()).await).await;
    assert_eq!((code, reason.as_str()), (408, "Timeout"));
    assert_eq!(message, "the body of the request did not arrive within 30s");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_bad_request() {
    let broken = futures::stream::iter([Err::<http_body::Frame<Bytes>, _>(std::io::Error::other("cut"))]);
    let request = Request::post("/api").body(StreamBody::new(broken)).unwrap();
    let (code, ..) = status(send(&Script::default(), request).await).await;
    assert_eq!(code, 400);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_is_a_timeout() {
    let begun = tokio::time::Instant::now();
    let (code, reason, _) = status(send(&Script::default(), get("/api")).await).await;
    assert_eq!((code, reason.as_str()), (504, "Timeout"));
    assert_eq!(begun.elapsed().as_secs(), 60);
}

#[tokio::test]
async fn an_answer_has_its_code_headers_and_length() {
    let mut answer = whole("{\"a\":1}");
    answer.code = StatusCode::CREATED;
    answer.headers = vec![
        ("warning", "299 - \"unknown field \\\"a\\nb\\\"\"".to_owned()),
        ("warning", "299 - \"höhe\nx\"".to_owned()),
    ];
    let response = send(&Script::answering(answer), get("/api")).await;
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers()["content-type"], "application/json");
    let warnings: Vec<&[u8]> = response
        .headers()
        .get_all("warning")
        .iter()
        .map(|one| one.as_bytes())
        .collect();
    assert_eq!(
        warnings,
        [
            "299 - \"unknown field \\\"a\\nb\\\"\"".as_bytes(),
            "299 - \"höhe x\"".as_bytes()
        ]
    );
    assert_eq!(http_body::Body::size_hint(response.body()).exact(), Some(7));
}

#[tokio::test]
async fn a_watch_is_sent_document_by_document_and_ends_with_its_sender() {
    let (sender, frames) = mpsc::channel(2);
    let mut answer = whole("");
    answer.body = Body::Stream(frames);
    let mut body = send(&Script::answering(answer), get("/api")).await.into_body();
    sender.send(Bytes::from_static(b"one\n")).await.unwrap();
    sender.send(Bytes::from_static(b"two\n")).await.unwrap();
    drop(sender);
    for expected in ["one\n", "two\n"] {
        let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(frame, expected);
    }
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_watch_ends_when_serving_ends_and_its_sender_learns_of_it() {
    let (sender, frames) = mpsc::channel(2);
    let mut watch = whole("");
    watch.body = Body::Stream(frames);
    let end = CancellationToken::new();
    let response = answer(
        &Script::answering(watch),
        get("/api"),
        &Limits::default(),
        &room(),
        &end,
    )
    .await;
    let mut body = response.into_body();
    assert!(futures::poll!(std::pin::pin!(body.frame())).is_pending());
    end.cancel();
    assert!(body.frame().await.is_none());
    drop(body);
    tokio::time::timeout(Duration::from_secs(5), sender.closed())
        .await
        .unwrap();
}

#[derive(Clone)]
struct Faulty;

impl Handler for Faulty {
    async fn handle(&self, request: ApiRequest) -> Answer {
        panic!("no answer to {}", request.path);
    }
}

#[tokio::test]
async fn a_fault_in_one_request_is_its_answer_and_affects_no_other() {
    let response = answer(
        &Faulty,
        get("/api"),
        &Limits::default(),
        &room(),
        &CancellationToken::new(),
    )
    .await;
    let (code, reason, message) = status(response).await;
    assert_eq!((code, reason.as_str()), (500, "InternalError"));
    assert!(!message.contains("/api"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn bodies_that_together_are_too_much_wait_and_requests_without_one_do_not() {
    let bodies = Bodies::new(MAX_BODY, MAX_BODY);
    let (limits, end) = (Limits::default(), CancellationToken::new());
    let (never, script) = (Script::default(), Script::answering(whole("{}")));
    let post = || {
        let chunk = Ok::<_, Infallible>(http_body::Frame::data(Bytes::from_static(b"{}")));
        let body = StreamBody::new(futures::stream::iter([chunk]));
        Request::post("/api").body(body).unwrap()
    };
    let mut first = Box::pin(answer(&never, post(), &limits, &bodies, &end));
    assert!(futures::poll!(&mut first).is_pending());
    let second = answer(&script, post(), &limits, &bodies, &end).await;
    assert_eq!(second.headers()["retry-after"], "1");
    assert_eq!(status(second).await.0, 429);
    assert!(script.received.lock().unwrap().is_none());
    let without = answer(&script, get("/api"), &limits, &bodies, &end).await;
    assert_eq!(without.status(), 200);
    drop(first);
    *script.answer.lock().unwrap() = Some(whole("{}"));
    let third = answer(&script, post(), &limits, &bodies, &end).await;
    assert_eq!(third.status(), 200);
}
