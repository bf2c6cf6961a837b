//! The coordinator's fleet service, each call with a deadline and its errors in plain words.
//!
//! Owns: the connection. Must not: print, or retry a ground order by itself.

mod drones;

use crate::failure::Failure;
use proto::v1;
use proto::v1::fleet_client::FleetClient;
use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};

/// Setting up the connection may take this long.
const CONNECT: Duration = Duration::from_secs(5);

/// One answer may take this long: a ground order writes every Swarm before it answers.
const ANSWER: Duration = Duration::from_secs(20);

/// A silent connection is probed after this long, and given up when the probe stays unanswered for as long again.
const PROBE: Duration = Duration::from_secs(5);

/// The largest answer taken, in bytes: a fleet of 25,000 is about 10 MiB.
const LARGEST: usize = 64 << 20;

/// Where the coordinator listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl(String);

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "give the coordinator as http://HOST:PORT";
        let url = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        if url.starts_with("https://") {
            return Err(format!("https is not supported yet; {FORM}"));
        }
        let endpoint = Endpoint::from_shared(url.clone()).map_err(|_| FORM.to_owned())?;
        let uri = endpoint.uri();
        if uri.scheme_str() != Some("http") || uri.port_u16().is_none() || uri.path().len() > 1 {
            return Err(FORM.into());
        }
        Ok(Self(url))
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An open connection.
#[derive(Debug)]
pub struct Server {
    url: ServerUrl,
    client: FleetClient<Channel>,
}

impl Server {
    /// Connects.
    ///
    /// # Errors
    /// [`Failure::Unreachable`].
    pub async fn connect(url: &ServerUrl) -> Result<Self, Failure> {
        let unreachable = |why: String| Failure::Unreachable {
            server: url.0.clone(),
            why,
        };
        let endpoint = Endpoint::from_shared(url.0.clone())
            .map_err(|e| Failure::Usage(e.to_string()))?
            .connect_timeout(CONNECT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(PROBE)
            .keep_alive_timeout(PROBE)
            .keep_alive_while_idle(true);
        // The timeout of the endpoint covers TCP only; a listener that never speaks HTTP/2 is caught by this one.
        let channel = match tokio::time::timeout(CONNECT, endpoint.connect()).await {
            Ok(result) => result.map_err(|e| unreachable(root_cause(&e)))?,
            Err(_) => return Err(unreachable(format!("no answer within {} s", CONNECT.as_secs()))),
        };
        Ok(Self {
            url: url.clone(),
            client: FleetClient::new(channel).max_decoding_message_size(LARGEST),
        })
    }

    /// All vehicles; `namespace` empty for all.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn list(&mut self, namespace: &str) -> Result<Vec<v1::Vehicle>, Failure> {
        let request = v1::ListRequest {
            namespace: namespace.to_owned(),
        };
        let answer = self.client.list(within(ANSWER, request)).await;
        Ok(answer.map_err(|s| self.failure(&s))?.into_inner().vehicles)
    }

    /// All vehicles now and whenever something changes, but not more often than `every`, where the coordinator's own choice
    /// does not do; `namespace` empty for all.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn watch(
        &mut self,
        namespace: &str,
        every: Option<Duration>,
    ) -> Result<Streaming<v1::ListResponse>, Failure> {
        let request = v1::WatchRequest {
            namespace: namespace.to_owned(),
            interval_ms: every.map_or(0, |every| u32::try_from(every.as_millis()).unwrap_or(u32::MAX)),
        };
        // No deadline for the stream as a whole: it has no end. The probe finds a dead connection.
        match tokio::time::timeout(ANSWER, self.client.watch(request)).await {
            Ok(answer) => Ok(answer.map_err(|s| self.failure(&s))?.into_inner()),
            Err(_) => Err(self.failure(&Status::deadline_exceeded("no answer"))),
        }
    }

    /// Lands and keeps down.
    ///
    /// # Errors
    /// [`Failure`]; [`NotFound`](OrderFailure::NotFound) for a Swarm that does not exist.
    pub async fn ground(&mut self, target: v1::ground_request::Target) -> Result<v1::GroundResponse, OrderFailure> {
        let answer = self
            .client
            .ground(within(ANSWER, v1::GroundRequest { target: Some(target) }))
            .await;
        Ok(answer.map_err(|s| self.order_failure(&s))?.into_inner())
    }

    /// Lets fly again.
    ///
    /// # Errors
    /// As for [`Self::ground`].
    pub async fn release(&mut self, target: v1::ground_request::Target) -> Result<v1::GroundResponse, OrderFailure> {
        let answer = self
            .client
            .release(within(ANSWER, v1::GroundRequest { target: Some(target) }))
            .await;
        Ok(answer.map_err(|s| self.order_failure(&s))?.into_inner())
    }

    /// What an error of a read means for a person.
    #[must_use]
    pub fn failure(&self, status: &Status) -> Failure {
        let server = self.url.0.clone();
        match status.code() {
            _ if status.source().is_some() => Failure::Unreachable {
                server,
                why: root_cause(status),
            },
            Code::Unavailable => Failure::NotReady {
                server,
                why: status.message().to_owned(),
            },
            Code::DeadlineExceeded | Code::Cancelled => Failure::Unreachable {
                server,
                why: format!("no answer within {} s", ANSWER.as_secs()),
            },
            Code::Unimplemented => Failure::Failed(format!(
                "{server} is no Skein coordinator, or one of another version; see `skein --version`"
            )),
            _ => Failure::Failed(status.message().to_owned()),
        }
    }

    /// The same for an order, which may have been carried out in part.
    fn order_failure(&self, status: &Status) -> OrderFailure {
        match status.code() {
            Code::NotFound => OrderFailure::NotFound,
            Code::Unavailable if status.source().is_none() => OrderFailure::Unavailable(status.message().to_owned()),
            _ => OrderFailure::Other(self.failure(status)),
        }
    }
}

/// Why an order was not carried out.
#[derive(Debug)]
pub enum OrderFailure {
    /// There is no such Swarm.
    NotFound,
    /// It was carried out in part, or not at all as the coordinator is not ready yet; in the coordinator's words.
    Unavailable(String),
    /// Anything else.
    Other(Failure),
}

fn within<T>(deadline: Duration, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(deadline);
    request
}

/// The innermost reason, such as "Connection refused (os error 111)"; the layers above it say nothing.
fn root_cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_host_and_port() {
        let good = |text: &str| text.parse::<ServerUrl>().unwrap().to_string();
        assert_eq!(good("http://127.0.0.1:50051"), "http://127.0.0.1:50051");
        assert_eq!(good("coordinator.field:50051"), "http://coordinator.field:50051");
        assert_eq!(good("http://[::1]:50051/"), "http://[::1]:50051/");
        for bad in [
            "",
            "http://",
            "ftp://a:1",
            "http://a",
            "http://a:1/fleet",
            "http://a b:1",
            "https://a:1",
        ] {
            let refusal = bad.parse::<ServerUrl>().unwrap_err();
            assert!(refusal.contains("http://HOST:PORT"), "{bad}: {refusal}");
        }
    }
}
