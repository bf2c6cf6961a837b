//! A `kube::Client` that calls the handler in this process, without socket, TLS or credential.

use crate::serve::bodies::Bodies;
use crate::serve::convert::{self, AnswerBody};
use crate::serve::{Handler, Limits};
use http::{Request, Response};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio_util::sync::CancellationToken;

#[derive(Clone, Debug)]
pub struct InProcess<H> {
    handler: H,
    limits: Limits,
    bodies: Bodies,
    end: CancellationToken,
}

/// Client for namespace `default`. `end` ends its watches. Call it on a tokio runtime.
#[must_use]
pub fn client(handler: impl Handler, end: CancellationToken) -> kube::Client {
    let limits = Limits::default();
    let service = InProcess {
        handler,
        limits,
        bodies: Bodies::new(limits.bodies, limits.answers),
        end,
    };
    kube::Client::new(service, "default")
}

impl<H: Handler> tower::Service<Request<kube::client::Body>> for InProcess<H> {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let Self {
            handler,
            limits,
            bodies,
            end,
        } = self.clone();
        Box::pin(async move { Ok(convert::answer(&handler, request, &limits, &bodies, &end).await) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Refusal;
    use crate::request::{Answer, ApiRequest, Body};
    use bytes::Bytes;
    use futures::StreamExt;
    use k8s_openapi::api::core::v1::Namespace;
    use kube::api::{Api, PostParams, WatchEvent, WatchParams};
    use serde_json::json;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;
    use tokio::sync::mpsc;

    #[derive(Clone, Default)]
    struct Script {
        watches: Arc<Mutex<Vec<mpsc::Sender<Bytes>>>>,
    }

    impl Handler for Script {
        async fn handle(&self, request: ApiRequest) -> Answer {
            let a = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}});
            let (code, body) = match (request.method.as_str(), request.path.as_str()) {
                ("GET", "/api/v1/namespaces") if request.flag("watch") => {
                    let (sender, frames) = mpsc::channel(2);
                    let event = format!("{}\n", json!({"type": "ADDED", "object": a}));
                    sender.try_send(event.into()).unwrap();
                    self.watches.lock().unwrap().push(sender);
                    (200, Body::Stream(frames))
                }
                ("GET", "/api/v1/namespaces/a") => (200, Body::Whole(a.to_string().into())),
                ("POST", "/api/v1/namespaces") => (201, Body::Whole(request.body)),
                _ => {
                    let refusal = Refusal::not_found("", "namespaces", "b");
                    (404, Body::Whole(refusal.document().to_string().into()))
                }
            };
            Answer {
                code: code.try_into().unwrap(),
                content_type: "application/json".to_owned(),
                headers: Vec::new(),
                body,
            }
        }
    }

    #[tokio::test]
    async fn a_kube_client_reads_writes_and_is_refused_without_a_socket() {
        let namespaces = Api::<Namespace>::all(client(Script::default(), CancellationToken::new()));
        let found = namespaces.get("a").await.unwrap();
        assert_eq!(found.metadata.name.as_deref(), Some("a"));
        let made = namespaces.create(&PostParams::default(), &found).await.unwrap();
        assert_eq!(made, found);
        let kube::Error::Api(status) = namespaces.get("b").await.unwrap_err() else {
            panic!("not a Status");
        };
        assert_eq!(status.message, r#"namespaces "b" not found"#);
    }

    #[tokio::test]
    async fn a_watch_flows_and_its_sender_notices_the_end_of_the_watcher() {
        let script = Script::default();
        let namespaces = Api::<Namespace>::all(client(script.clone(), CancellationToken::new()));
        let mut events = Box::pin(namespaces.watch(&WatchParams::default(), "0").await.unwrap());
        assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
        let sender = script.watches.lock().unwrap().pop().unwrap();
        assert!(!sender.is_closed());
        drop(events);
        tokio::time::timeout(Duration::from_secs(5), sender.closed())
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_watch_ends_when_the_process_ends() {
        let (script, end) = (Script::default(), CancellationToken::new());
        let namespaces = Api::<Namespace>::all(client(script.clone(), end.clone()));
        let mut events = Box::pin(namespaces.watch(&WatchParams::default(), "0").await.unwrap());
        assert!(events.next().await.is_some());
        end.cancel();
        let rest = tokio::time::timeout(Duration::from_secs(5), events.next())
            .await
            .unwrap();
        assert!(rest.is_none());
    }
}
