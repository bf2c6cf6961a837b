//! Who calls, and what they may.
//!
//! Owns: the credentials of agents and people, checked by certificates of ours or by the API server. Must not: trust anything that
//! a message says of its sender.
//!
//! | caller | shows | is believed to be |
//! |---|---|---|
//! | agent in a cluster | its ServiceAccount's token, audience `skein-coordinator` | the node that the token is bound to |
//! | agent elsewhere | a certificate of ours, `skein://agent/NODE`, on the list | that node |
//! | person with Kubernetes | a key that their request to the API server names, a client certificate, or a token | that user; RBAC rules |
//! | person without | a certificate of ours, `skein://operator/NAME`, on the list | an operator, who may do all |

pub mod access;
pub mod agent_token;
pub mod answer_cache;
pub mod layer;
pub mod person_request;
pub mod questions;
pub mod refusal;
pub mod requests;
pub mod right;
pub mod stream_right;
pub mod tokens;
pub mod user;

pub use layer::AuthLayer;
pub use refusal::Refusal;
pub use right::Right;
pub use stream_right::StreamRight;
pub use user::User;

use crate::server::admission::RefusalLog;
use crate::server::security::Security;
use access::Access;
use answer_cache::ANSWER_FRESH_FOR;
use model::ids::NodeName;
use requests::Requests;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokens::Tokens;
use tokio::sync::watch;
use tonic::Status;
use trust::{Caller, Enrolled, Peer, PeerCertificate};

#[derive(Clone, Debug, PartialEq)]
pub enum Who {
    /// Links are not secured: it may be anybody, and may do everything.
    Unauthenticated,
    Agent {
        node: NodeName,
        /// `None`: a token proved it.
        certificate: Option<PeerCertificate>,
    },
    /// A person with a certificate of ours.
    Operator {
        name: String,
    },
    User(User),
}

impl Who {
    /// The answer to a call that was not authenticated: a fault of ours.
    pub fn missing() -> Status {
        Status::internal("the call's credentials were not checked, which is a fault of the coordinator")
    }

    /// Unique among callers.
    pub fn name(&self) -> String {
        match self {
            Self::Unauthenticated => "anybody".to_owned(),
            Self::Agent { node, .. } => format!("agent {node}"),
            Self::Operator { name } => format!("operator {name}"),
            Self::User(user) => format!("user {}", user.name),
        }
    }
}

/// The part of a request that decides which credentials count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Agents only.
    Uplink,
    /// Everything else.
    People {
        /// The call makes things safer, so that an answer of the last hour on the caller counts when the API server is away.
        safe: bool,
    },
}

/// While the API server is away, a session that is due checks after this, or twice this, whether it is back.
const CHECK_AGAIN: Duration = Duration::from_secs(30);

/// Clones share their state.
#[derive(Clone, Debug)]
pub struct Auth(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    session_life: Option<Duration>,
    refusals: Arc<RefusalLog>,
}

#[derive(Debug)]
enum Kind {
    Open,
    Certificates(watch::Receiver<Enrolled>),
    Cluster {
        enrolled: watch::Receiver<Enrolled>,
        tokens: Box<Tokens>,
        requests: Box<Requests>,
        access: Box<Access>,
    },
}

impl Auth {
    pub fn new(
        security: &Security,
        client: &kube::Client,
        enrolled: watch::Receiver<Enrolled>,
        refusals: Arc<RefusalLog>,
    ) -> Self {
        let kind = match security {
            Security::Plaintext => Kind::Open,
            Security::Certificates { .. } => Kind::Certificates(enrolled),
            Security::Cluster(cluster) => Kind::Cluster {
                enrolled,
                tokens: Box::new(Tokens::new(client.clone(), cluster.agent_account.clone())),
                requests: Box::new(Requests::new(client.clone())),
                access: Box::new(Access::new(client.clone())),
            },
        };
        Self(Arc::new(Inner {
            kind,
            session_life: security.session_life(),
            refusals,
        }))
    }

    pub fn open() -> Self {
        Self(Arc::new(Inner {
            kind: Kind::Open,
            session_life: None,
            refusals: Arc::default(),
        }))
    }

    /// Whether links are not secured.
    pub fn is_open(&self) -> bool {
        matches!(self.0.kind, Kind::Open)
    }

    pub fn refusals(&self) -> &RefusalLog {
        &self.0.refusals
    }

    /// Whether judging these credentials asks nobody, or they were good within the last hour.
    pub fn knows(&self, kind: CallKind, token: Option<&str>, caller: Option<&Caller>) -> bool {
        match (&self.0.kind, token, caller) {
            (Kind::Cluster { tokens, .. }, Some(token), _) => tokens.knows(token, kind == CallKind::Uplink),
            (Kind::Cluster { requests, .. }, None, Some(Caller::Requester { request, key })) => {
                requests.knows(request, key)
            }
            (Kind::Open | Kind::Certificates(_) | Kind::Cluster { .. }, _, _) => true,
        }
    }

    /// The caller, by the token, when there is one, else by the certificate.
    pub async fn authenticate(
        &self,
        kind: CallKind,
        token: Option<&str>,
        caller: Option<&Caller>,
    ) -> Result<Who, Refusal> {
        let (enrolled, cluster) = match &self.0.kind {
            Kind::Open => return Ok(Who::Unauthenticated),
            Kind::Certificates(enrolled) => (enrolled, None),
            Kind::Cluster {
                enrolled,
                tokens,
                requests,
                ..
            } => (enrolled, Some((tokens, requests))),
        };
        // It was good when the connection began, which may have been long ago.
        if let (None, Some(shown)) = (token, caller.and_then(Caller::validity))
            && SystemTime::now() > shown.not_after
        {
            return Err(Refusal::Ended);
        }
        match (token, cluster, caller, kind) {
            (Some(_), None, None, _) => Err(Refusal::TokensMeanNothing),
            (Some(token), Some((tokens, _)), _, CallKind::Uplink) => {
                let node = tokens.agent(token).await?;
                Ok(Who::Agent {
                    node,
                    certificate: None,
                })
            }
            (Some(token), Some((tokens, _)), _, CallKind::People { safe }) => {
                tokens.person(token, safe).await.map(Who::User)
            }
            (None, Some((_, requests)), Some(Caller::Requester { request, key }), CallKind::People { safe }) => {
                requests.person(request, key, safe).await.map(Who::User)
            }
            (_, _, Some(Caller::Requester { request, .. }), _) => Err(Refusal::NoAgent(request.to_string())),
            (_, _, Some(Caller::Peer(certificate)), kind) => peer(certificate, enrolled, kind),
            (None, Some(_), Some(Caller::KubernetesUser { name, groups, .. }), CallKind::People { .. }) => {
                Ok(Who::User(User::of_certificate(name, groups)))
            }
            (_, _, Some(Caller::KubernetesUser { name, .. }), _) => Err(Refusal::NoAgent(name.clone())),
            (None, _, None, CallKind::Uplink) => Err(Refusal::NoAgentCredentials),
            (None, _, None, CallKind::People { .. }) => Err(Refusal::NoCredentials),
        }
    }

    /// The error names the rule that is missing.
    pub async fn may(&self, who: &Who, right: &Right) -> Result<(), Refusal> {
        self.may_since(who, right, ANSWER_FRESH_FOR).await
    }

    /// The same by an answer not older than `age`.
    pub async fn may_since(&self, who: &Who, right: &Right, age: Duration) -> Result<(), Refusal> {
        match (who, &self.0.kind) {
            (Who::Unauthenticated, Kind::Open) | (Who::Operator { .. }, _) => Ok(()),
            (Who::User(user), Kind::Cluster { access, .. }) => access.may(user, right, age).await,
            (Who::Agent { node, .. }, _) => Err(Refusal::AgentIsNoPerson(node.clone())),
            (Who::Unauthenticated, _) | (Who::User(_), Kind::Open | Kind::Certificates(_)) => {
                Err(Refusal::NoCredentials)
            }
        }
    }

    /// Done, with the reason, when a session of `who` has to show its credentials again: after the session's life, `jitter` in 0.0..=1.0
    /// making it up to a tenth longer, but not while nobody could check them, as the agent would be lost for as long; or as soon as its
    /// certificate counts no more.
    pub async fn is_over(&self, who: &Who, jitter: f64) -> Over {
        let aged = async {
            match self.0.session_life {
                Some(life) => tokio::time::sleep(life + life.mul_f64(jitter.clamp(0.0, 1.0) / 10.0)).await,
                None => std::future::pending().await,
            }
            self.until_judging(who, jitter).await;
        };
        tokio::select! {
            () = aged => Over::Aged,
            () = self.revoked(who) => Over::Revoked,
        }
    }

    /// Done once the credentials of `who` could be checked.
    async fn until_judging(&self, who: &Who, jitter: f64) {
        let (Kind::Cluster { tokens, .. }, Who::Agent { certificate: None, .. }) = (&self.0.kind, who) else {
            return;
        };
        while !tokens.answers().await {
            tokio::time::sleep(CHECK_AGAIN.mul_f64(1.0 + jitter.clamp(0.0, 1.0))).await;
        }
    }

    async fn revoked(&self, who: &Who) {
        let enrolled = match &self.0.kind {
            Kind::Open => None,
            Kind::Certificates(enrolled) | Kind::Cluster { enrolled, .. } => Some(enrolled),
        };
        if let (
            Some(enrolled),
            Who::Agent {
                certificate: Some(certificate),
                ..
            },
        ) = (enrolled, who)
        {
            let mut enrolled = enrolled.clone();
            if enrolled.wait_for(|list| !list.admits(certificate)).await.is_ok() {
                return;
            }
        }
        // A token's holder is asked again when the session is over; a list that nobody keeps any more does not change.
        std::future::pending().await
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Its credentials have to be shown again; until then nothing changes.
    Aged,
    Revoked,
}

fn peer(certificate: &PeerCertificate, enrolled: &watch::Receiver<Enrolled>, kind: CallKind) -> Result<Who, Refusal> {
    if !enrolled.borrow().admits(certificate) {
        return Err(Refusal::NotEnrolled(certificate.peer.clone()));
    }
    match (&certificate.peer, kind) {
        (Peer::Agent { node }, _) => Ok(Who::Agent {
            node: node.clone(),
            certificate: Some(certificate.clone()),
        }),
        (Peer::Operator { name }, CallKind::People { .. }) => Ok(Who::Operator { name: name.clone() }),
        (Peer::Operator { name }, CallKind::Uplink) => Err(Refusal::NoAgent(name.clone())),
    }
}

#[cfg(test)]
pub(crate) mod tests;
