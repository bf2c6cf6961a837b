//! Holder of a client certificate of ours.

use model::ids::{BadNodeName, NodeName};
use std::fmt;

const AGENT: &str = "skein://agent/";
const OPERATOR: &str = "skein://operator/";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Peer {
    /// `skein://agent/NODE`: may speak for that node and nothing else.
    Agent { node: NodeName },
    /// `skein://operator/NAME`: may do whatever a person may do.
    Operator { name: String },
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadPeer {
    #[error("{0:?} names no agent and no operator: it must be {AGENT}NODE or {OPERATOR}NAME")]
    Kind(String),
    #[error(transparent)]
    Node(#[from] BadNodeName),
    #[error("{0:?} is no operator's name: use letters, digits, '-', '_', '.', '@', at most 64")]
    Operator(String),
}

impl Peer {
    pub const fn agent(node: NodeName) -> Self {
        Self::Agent { node }
    }

    pub fn operator(name: &str) -> Result<Self, BadPeer> {
        let fine = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(fine) {
            return Err(BadPeer::Operator(name.to_owned()));
        }
        Ok(Self::Operator { name: name.to_owned() })
    }

    pub fn parse(uri: &str) -> Result<Self, BadPeer> {
        if let Some(node) = uri.strip_prefix(AGENT) {
            return Ok(Self::agent(NodeName::parse(node)?));
        }
        match uri.strip_prefix(OPERATOR) {
            Some(name) => Self::operator(name),
            None => Err(BadPeer::Kind(uri.to_owned())),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent { node } => write!(f, "{AGENT}{node}"),
            Self::Operator { name } => write!(f, "{OPERATOR}{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_read_back_from_its_uri() {
        for peer in [
            Peer::agent(NodeName::parse("node-1.field").unwrap()),
            Peer::operator("ada@field").unwrap(),
        ] {
            assert_eq!(Peer::parse(&peer.to_string()), Ok(peer));
        }
    }

    #[test]
    fn no_other_text_is_a_peer() {
        for bad in [
            "",
            "skein://agent/",
            "skein://agent/A",
            "skein://agent/a/b",
            "skein://AGENT/a",
            "skein://operator/",
            "skein://operator/a b",
            "https://agent/a",
            " skein://agent/a",
        ] {
            assert!(Peer::parse(bad).is_err(), "{bad}");
        }
    }
}
