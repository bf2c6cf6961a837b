//! Why a call was refused for its credentials or its rights.

use super::person_request::BadRequest;
use super::right::Right;
use crate::cluster::api::ApiError;
use crate::server::security::AUDIENCE;
use model::ids::NodeName;
use tonic::{Code, Status};
use trust::{Peer, RequestName};

#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error(
        "no credentials: an agent in the cluster needs its ServiceAccount's token with audience {AUDIENCE} (--token-file), any other a certificate made by `skein enroll`"
    )]
    NoAgentCredentials,
    #[error(
        "no credentials: use `kubectl skein`, or a kubeconfig with a user that has a token or a client certificate"
    )]
    NoCredentials,
    /// There is no API server to ask about tokens.
    #[error("no cluster, so tokens mean nothing here: use a certificate made by `skein enroll`")]
    TokensMeanNothing,
    #[error("the token is not accepted: {0}")]
    BadToken(String),
    #[error("the token is not for audience {AUDIENCE}; its audiences are: {}", .0.join(", "))]
    OtherAudience(Vec<String>),
    #[error("the token is that of {user}, and agents are {wanted}; see --agent-service-account")]
    OtherAccount { user: String, wanted: String },
    #[error(
        "the token names no node: it must be bound to the agent's pod or node, and Kubernetes must be 1.33 or later"
    )]
    NoNode,
    #[error("the token names a node that cannot be one: {0:?}")]
    BadNode(String),
    #[error("request {0} to the API server does not show who you are: {1}")]
    BadRequest(RequestName, BadRequest),
    /// A certificate of ours that counts no more, or never did.
    #[error("the certificate of {0} is not on the list of those that count; make a new one with `skein enroll`")]
    NotEnrolled(Peer),
    /// The certificate has ended since it was shown.
    #[error("the certificate that was shown when the connection began has ended; connect with a new one")]
    Ended,
    #[error("{0} is no agent: only an agent's own credentials open the uplink")]
    NoAgent(String),
    /// An agent asks for a service for people.
    #[error("an agent (of node {0}) may use the uplink only")]
    AgentIsNoPerson(NodeName),
    /// RBAC does not allow it.
    #[error("{user} may not {right}; what is missing is a rule with {} bound {}", .right.rule(), .right.place())]
    Forbidden { user: String, right: Box<Right> },
    #[error("that is no name of a namespace or an object in Kubernetes: use lower-case letters, digits, '-' and '.'")]
    NoName,
    #[error("too many refused credentials from this address; try again in some seconds")]
    TooMany,
    #[error("who you are and what you may do cannot be checked now: {0}; try again")]
    Unasked(#[from] ApiError),
    #[error("too many credentials are being checked; try again in a moment")]
    Busy,
}

impl Refusal {
    fn code(&self) -> Code {
        match self {
            Self::NoAgentCredentials
            | Self::NoCredentials
            | Self::TokensMeanNothing
            | Self::BadToken(_)
            | Self::OtherAudience(_)
            | Self::NoNode
            | Self::BadNode(_)
            | Self::BadRequest(..)
            | Self::NotEnrolled(_)
            | Self::Ended => Code::Unauthenticated,
            Self::OtherAccount { .. } | Self::NoAgent(_) | Self::AgentIsNoPerson(_) | Self::Forbidden { .. } => {
                Code::PermissionDenied
            }
            Self::NoName => Code::InvalidArgument,
            Self::TooMany => Code::ResourceExhausted,
            Self::Unasked(_) | Self::Busy => Code::Unavailable,
        }
    }

    /// Whether the credentials will be refused again.
    pub fn is_final(&self) -> bool {
        matches!(self.code(), Code::Unauthenticated | Code::PermissionDenied)
    }
}

impl From<&Refusal> for Status {
    fn from(refusal: &Refusal) -> Self {
        Self::new(refusal.code(), refusal.to_string())
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code(), refusal.to_string())
    }
}
