//! The coordinator's fleet service, with deadlines. Must not: print, or retry a ground order that may have been given.

mod dial;
mod drones;
mod guests;

pub use guests::GuestClient;
pub mod logs;

use crate::args::Filter;
use crate::cluster::stored_proof::StoredProof;
use crate::failure::Failure;
use crate::route::Route;
use proto::bearer::Bearer;
use proto::v1;
use proto::v1::fleet_client::FleetClient;
use std::error::Error;
use std::time::Duration;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status, Streaming};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Before it, a ground order writes every Swarm.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Silence before a probe, and time for its answer.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// A fleet of 25,000 has about 10 MiB.
const MAX_ANSWER_BYTES: usize = 64 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Which {
    /// Namespace of Drones; empty for all, and for vehicles without a Drone.
    pub namespace: String,
    pub selector: String,
    pub airspace: bool,
}

impl From<&Filter> for Which {
    fn from(filter: &Filter) -> Self {
        Self {
            namespace: filter.namespace.clone().unwrap_or_default(),
            selector: filter.selector.as_ref().map(ToString::to_string).unwrap_or_default(),
            airspace: false,
        }
    }
}

type Client = FleetClient<InterceptedService<Channel, Bearer>>;

#[derive(Debug)]
pub struct Server {
    route: Route,
    client: Client,
    channel: InterceptedService<Channel, Bearer>,
    stored: Option<StoredProof>,
}

impl Server {
    pub async fn connect(route: &Route) -> Result<Self, Failure> {
        Self::connect_with(route, None).await
    }

    async fn connect_with(route: &Route, window: Option<u32>) -> Result<Self, Failure> {
        let dial::Opened {
            channel,
            bearer,
            stored,
        } = dial::open(route, window).await?;
        let channel = InterceptedService::new(channel, bearer);
        Ok(Self {
            route: route.clone(),
            client: FleetClient::new(channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES),
            channel,
            stored,
        })
    }

    /// Retries once with a new proof where an earlier command's is invalid: the refused call had no effects.
    async fn ask<Q: Clone, A, F>(&mut self, request: Q, call: impl Fn(Client, Q) -> F) -> Result<A, Status>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let answer = call(self.client.clone(), request.clone()).await;
        let answer = match (answer, self.stored.take()) {
            (Err(status), Some(stored)) if status.code() == Code::Unauthenticated => {
                stored.forget();
                let renewed = Self::connect(&self.route).await;
                *self = renewed.map_err(|why| Status::unauthenticated(why.to_string()))?;
                call(self.client.clone(), request).await
            }
            (answer, _) => answer,
        };
        answer.map(Response::into_inner)
    }

    pub async fn list(&mut self, which: &Which) -> Result<Vec<v1::Vehicle>, Failure> {
        let Which {
            namespace,
            selector,
            airspace,
        } = which.clone();
        let request = v1::ListRequest {
            namespace,
            selector,
            airspace,
        };
        let answer = self
            .ask(request, |mut client, request| async move {
                client.list(within(ANSWER_TIMEOUT, request)).await
            })
            .await;
        Ok(answer.map_err(|s| self.failure(&s))?.vehicles)
    }

    pub async fn watch(
        &mut self,
        which: &Which,
        every: Option<Duration>,
    ) -> Result<Streaming<v1::ListResponse>, Failure> {
        let Which {
            namespace,
            selector,
            airspace,
        } = which.clone();
        let request = v1::WatchRequest {
            namespace,
            selector,
            airspace,
            interval_ms: every.map_or(0, |every| u32::try_from(every.as_millis()).unwrap_or(u32::MAX)),
        };
        // No deadline, as the stream has no end. The probe finds a dead connection.
        let call = self.ask(
            request,
            |mut client, request| async move { client.watch(request).await },
        );
        match tokio::time::timeout(ANSWER_TIMEOUT, call).await {
            Ok(answer) => answer.map_err(|s| self.failure(&s)),
            Err(_) => Err(self.failure(&Status::deadline_exceeded("no answer"))),
        }
    }

    /// Errors: [`NotFound`](OrderFailure::NotFound) for a missing Swarm, or when nothing is selected.
    pub async fn ground(&mut self, target: v1::ground_request::Target) -> Result<v1::GroundResponse, OrderFailure> {
        let request = v1::GroundRequest { target: Some(target) };
        let answer = self
            .ask(request, |mut client, request| async move {
                client.ground(within(ANSWER_TIMEOUT, request)).await
            })
            .await;
        answer.map_err(|s| self.order_failure(&s))
    }

    /// Errors as for [`Self::ground`].
    pub async fn release(&mut self, target: v1::ground_request::Target) -> Result<v1::GroundResponse, OrderFailure> {
        let request = v1::GroundRequest { target: Some(target) };
        let answer = self
            .ask(request, |mut client, request| async move {
                client.release(within(ANSWER_TIMEOUT, request)).await
            })
            .await;
        answer.map_err(|s| self.order_failure(&s))
    }

    pub fn failure(&self, status: &Status) -> Failure {
        let server = self.route.to_string();
        match status.code() {
            _ if status.source().is_some() => match root_cause(status) {
                // A certificate is refused only after the handshake is over for us (RFC 8446, 4.4.2.4).
                why if why.contains("received fatal alert") => Failure::Failed(dial::refused(&why)),
                why => Failure::Unreachable {
                    server,
                    why,
                    advice: self.route.advice(),
                },
            },
            Code::Unavailable => Failure::NotReady {
                server,
                why: status.message().to_owned(),
            },
            Code::DeadlineExceeded | Code::Cancelled => Failure::Unreachable {
                server,
                why: format!("no answer within {} s", ANSWER_TIMEOUT.as_secs()),
                advice: self.route.advice(),
            },
            Code::Unauthenticated => Failure::Failed(format!(
                "the coordinator does not know who you are: {}",
                status.message()
            )),
            Code::Unimplemented => Failure::Failed(format!(
                "{server} is no Skein coordinator, or one of another version; see `skein --version`"
            )),
            _ => Failure::Failed(status.message().to_owned()),
        }
    }

    /// The order may have been carried out in part.
    fn order_failure(&self, status: &Status) -> OrderFailure {
        match status.code() {
            Code::NotFound => OrderFailure::NotFound(status.message().to_owned()),
            Code::Unavailable if status.source().is_none() => OrderFailure::Unavailable(status.message().to_owned()),
            _ => OrderFailure::Other(self.failure(status)),
        }
    }
}

#[derive(Debug)]
pub enum OrderFailure {
    NotFound(String),
    /// Carried out in part, or not at all, as the coordinator is not ready.
    Unavailable(String),
    Other(Failure),
}

fn within<T>(deadline: Duration, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(deadline);
    request
}

/// Innermost reason, such as "Connection refused (os error 111)"; outer layers add nothing.
fn root_cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
