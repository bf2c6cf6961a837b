//! Counts calls to the Kubernetes API, under the names that other Kubernetes programs use.

use futures::future::BoxFuture;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use std::task::{Context, Poll};
use tokio::time::Instant;
use tower::{Layer, Service};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    method: String,
    code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Verb {
    verb: String,
}

/// Clones count the same.
#[derive(Clone, Debug)]
pub struct ApiCalls {
    requests: Family<Kind, Counter>,
    time: super::Times<Verb>,
}

impl Default for ApiCalls {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            time: Family::new_with_constructor(super::new_histogram),
        }
    }
}

impl ApiCalls {
    pub(super) fn register(&self, to: &mut Registry) {
        to.register(
            "rest_client_requests",
            "Calls to the Kubernetes API by method and status code; <error> when there was no answer",
            self.requests.clone(),
        );
        to.register(
            "rest_client_request_duration_seconds",
            "Time from a call to the Kubernetes API to the head of its answer; a watch is answered when it begins",
            self.time.clone(),
        );
    }

    fn answered(&self, method: &http::Method, code: Option<http::StatusCode>, since: Instant) {
        let kind = Kind {
            method: method.to_string(),
            code: code.map_or_else(|| "<error>".to_owned(), |code| code.as_u16().to_string()),
        };
        self.requests.get_or_create(&kind).inc();
        let verb = Verb {
            verb: method.to_string(),
        };
        self.time.get_or_create(&verb).observe(since.elapsed().as_secs_f64());
    }
}

impl<S> Layer<S> for ApiCalls {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted {
            inner,
            calls: self.clone(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Counted<S> {
    inner: S,
    calls: ApiCalls,
}

impl<S, B, R> Service<http::Request<B>> for Counted<S>
where
    S: Service<http::Request<B>, Response = http::Response<R>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    R: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let (calls, method, since) = (self.calls.clone(), request.method().clone(), Instant::now());
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            calls.answered(&method, answer.as_ref().ok().map(http::Response::status), since);
            answer
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tower::{ServiceExt, service_fn};

    #[tokio::test]
    async fn calls_are_counted_by_what_came_of_them() {
        let calls = ApiCalls::default();
        let server = service_fn(|request: http::Request<&'static str>| async move {
            match *request.body() {
                "gone" => Err("connection reset"),
                body => Ok(http::Response::builder().status(409).body(body).unwrap_or_default()),
            }
        });
        for body in ["taken", "taken", "gone"] {
            let request = http::Request::post("/apis/skein.dev/v1alpha1/drones")
                .body(body)
                .unwrap();
            // Only the count matters.
            let _ = calls.layer(server).oneshot(request).await;
        }
        let count = |code: &str| {
            let kind = Kind {
                method: "POST".into(),
                code: code.into(),
            };
            calls.requests.get_or_create(&kind).get()
        };
        assert_eq!((count("409"), count("<error>"), count("200")), (2, 1, 0));
    }
}
