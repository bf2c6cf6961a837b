//! Checks each call's credentials before anything else, whatever its path.

use super::{Auth, CallKind, Refusal, Who};
use crate::server::admission::Ticket;
use crate::server::admission::address::Neighbor;
use crate::server::admission::buckets::Buckets;
use http::{Request, Response};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service};

const UPLINK: &str = "/skein.v1.Uplink/";
const ANSWER: &str = "/skein.v1.Guests/Answer";
const GROUND: &str = "/skein.v1.Fleet/Ground";
const KILL: &str = "/skein.v1.Fleet/Kill";

/// Unknown or bad credentials of a neighbor at once, and one more after each [`BAD_CREDENTIALS_INTERVAL`]. Each costs the API server a question.
const BAD_CREDENTIALS_BURST: u32 = 100;
const BAD_CREDENTIALS_INTERVAL: Duration = Duration::from_millis(100);

/// The same of orders to stop: to ground and to kill. They wait for their turn instead of being refused, so that nobody's guesses keep a
/// good one out of an address that many share, as behind a port-forward. Each connection waits with one at a time, and a neighbor has at
/// most [`strangers_per_neighbor`](crate::server::admission::Limits) connections, 2048: the last of so many guesses is judged after 2 s.
const STOP_ORDER_INTERVAL: Duration = Duration::from_millis(1);
const STOP_ORDER_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Clone, Debug)]
pub struct AuthLayer {
    auth: Auth,
    bad: Arc<Buckets<Neighbor>>,
    bad_stops: Arc<Buckets<Neighbor>>,
}

#[derive(Clone, Debug)]
pub struct Authenticated<S> {
    layer: AuthLayer,
    inner: S,
}

impl AuthLayer {
    pub fn new(auth: Auth) -> Self {
        Self {
            auth,
            bad: Arc::new(Buckets::new(BAD_CREDENTIALS_BURST, BAD_CREDENTIALS_INTERVAL)),
            bad_stops: Arc::new(Buckets::new(BAD_CREDENTIALS_BURST, STOP_ORDER_INTERVAL)),
        }
    }

    async fn check(&self, request: &mut Request<Body>) -> Result<(), Status> {
        let path = request.uri().path();
        let (kind, stops) = (kind(path), matches!(path, GROUND | KILL));
        let ticket = request.extensions().get::<Ticket>().cloned();
        let who = match bearer(request) {
            Ok(token) => {
                self.authenticate((kind, stops), token.as_deref(), ticket.as_ref())
                    .await
            }
            Err(refusal) => Err(refusal),
        };
        match who {
            Ok(who) => {
                if let Some(ticket) = &ticket
                    && !self.auth.is_open()
                {
                    ticket.prove(&who.name());
                }
                request.extensions_mut().insert(who);
                Ok(())
            }
            Err(refusal) => {
                if let Some(ticket) = &ticket {
                    self.auth.refusals().refusal(ticket.remote(), "call refused", &refusal);
                    if refusal.is_final() {
                        ticket.refused();
                    }
                }
                Err(refusal.into())
            }
        }
    }

    /// The caller. Unknown credentials may be a guess, and cost the API server a question: of each connection one is checked after the
    /// other, and of each neighbor a limited number; those of a call that `stops` vehicles apart. A known caller, or one with a certificate
    /// that an authority has signed, does not wait for that.
    async fn authenticate(
        &self,
        (kind, stops): (CallKind, bool),
        token: Option<&str>,
        ticket: Option<&Ticket>,
    ) -> Result<Who, Refusal> {
        let caller = ticket.and_then(Ticket::caller);
        let Some(ticket) = ticket else {
            return self.auth.authenticate(kind, token, caller).await;
        };
        if self.auth.knows(kind, token, caller) {
            return self.auth.authenticate(kind, token, caller).await;
        }
        let _judging = ticket.judge_next().await;
        if self.auth.knows(kind, token, caller) {
            return self.auth.authenticate(kind, token, caller).await;
        }
        let from = Neighbor::of(ticket.remote().ip());
        let (bad, patience) = match stops {
            true => (&self.bad_stops, STOP_ORDER_TIMEOUT),
            false => (&self.bad, Duration::ZERO),
        };
        // It is given back unless they were bad.
        let turn = Turn::after(bad, from, patience).await.ok_or(Refusal::TooMany)?;
        let who = self.auth.authenticate(kind, token, caller).await;
        if !who.as_ref().is_err_and(Refusal::is_final) {
            turn.give_back();
        }
        who
    }
}

/// A turn to have credentials checked.
struct Turn<'a> {
    bucket: &'a Buckets<Neighbor>,
    from: Neighbor,
    /// Whether dropping it gives it back.
    unused: bool,
}

impl<'a> Turn<'a> {
    /// The next turn of `from`, within `patience`. A caller that hangs up meanwhile leaves it to others.
    async fn after(bucket: &'a Buckets<Neighbor>, from: Neighbor, patience: Duration) -> Option<Self> {
        let now = Instant::now();
        let due = bucket.reserve(from, patience, now)?;
        let mut turn = Self {
            bucket,
            from,
            unused: true,
        };
        if due > now {
            tokio::time::sleep_until(due).await;
        }
        turn.unused = false;
        Some(turn)
    }

    fn give_back(mut self) {
        self.unused = true;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.unused {
            self.bucket.give_back(&self.from, Instant::now());
        }
    }
}

fn kind(path: &str) -> CallKind {
    if path.starts_with(UPLINK) || path == ANSWER {
        CallKind::Uplink
    } else {
        CallKind::People { safe: path == GROUND }
    }
}

/// The bearer token (RFC 6750, 2.1) of a call.
fn bearer(request: &Request<Body>) -> Result<Option<String>, Refusal> {
    let mut all = request.headers().get_all(http::header::AUTHORIZATION).iter();
    let Some(one) = all.next() else { return Ok(None) };
    let bad = |why: &str| Refusal::BadToken(why.to_owned());
    if all.next().is_some() {
        return Err(bad("there is more than one"));
    }
    let text = one.to_str().map_err(|_| bad("it is no text"))?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(bad("the authorization must be `Bearer TOKEN`"));
    }
    Ok(Some(token.trim().to_owned()))
}

impl<S> Layer<S> for AuthLayer {
    type Service = Authenticated<S>;

    fn layer(&self, inner: S) -> Authenticated<S> {
        Authenticated {
            layer: self.clone(),
            inner,
        }
    }
}

impl<S> Service<Request<Body>> for Authenticated<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        // `self.inner` is the one that is ready; the copy may not be.
        let copy = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, copy);
        let layer = self.layer.clone();
        Box::pin(async move {
            match layer.check(&mut request).await {
                Ok(()) => inner.call(request).await,
                Err(status) => Ok(status.into_http()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(authorization: &[&str]) -> Request<Body> {
        let builder = authorization.iter().fold(Request::builder(), |builder, text| {
            builder.header(http::header::AUTHORIZATION, *text)
        });
        builder.body(Body::empty()).unwrap()
    }

    #[test]
    fn a_call_has_one_token_or_none() {
        assert!(bearer(&request(&[])).unwrap().is_none());
        for text in ["Bearer abc", "bearer abc", "Bearer  abc "] {
            assert_eq!(bearer(&request(&[text])).unwrap().as_deref(), Some("abc"));
        }
        for bad in [&["Basic abc"][..], &["abc"], &["Bearer a", "Bearer b"]] {
            assert!(bearer(&request(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_uplink_is_for_agents_and_only_grounding_is_safe() {
        assert_eq!(kind("/skein.v1.Uplink/Session"), CallKind::Uplink);
        assert_eq!(kind("/skein.v1.Fleet/Ground"), CallKind::People { safe: true });
        for other in [
            "/skein.v1.Fleet/Release",
            "/skein.v1.Fleet/Kill",
            "/",
            "/grpc.health.v1.Health/Check",
        ] {
            assert_eq!(kind(other), CallKind::People { safe: false });
        }
    }
}
