//! Reasons why the API server cannot be used to reach the coordinator.

use crate::failure::Failure;
use coordinator::cluster::api::error_chain;

/// Allows the requests of [`super::person`].
const ROLE: &str = "skein-person";

#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("you may not {what}: {why}; ask for the Role skein-connect there, and to enrol for skein-enroll")]
    Forbidden { what: String, why: String },
    #[error(
        "you may not {what}: {why}; ask for the ClusterRole {}, by a ClusterRoleBinding. By such a request the API server confirms to \
         the coordinator who you are; your token is never sent there",
        ROLE
    )]
    Unconfirmed { what: String, why: String },
    #[error("the API server does not accept the credential of this kubeconfig ({why}); log in again")]
    Unauthenticated { why: String },
    #[error("cannot {what}: there is none")]
    Missing { what: String },
    #[error("the API server does not answer within {seconds} s; is this the right context? (`kubectl version`)")]
    Silent { seconds: u64 },
    #[error("cannot {what}: {why}")]
    Other { what: String, why: String },
}

impl Refusal {
    pub fn of(what: &str, error: kube::Error) -> Self {
        let what = what.to_owned();
        match error {
            kube::Error::Api(status) => match status.code {
                401 => Self::Unauthenticated { why: status.message },
                403 => Self::Forbidden {
                    what,
                    why: status.message,
                },
                404 => Self::Missing { what },
                _ => Self::Other {
                    what,
                    why: status.message,
                },
            },
            error => Self::Other {
                what,
                why: error_chain(&error),
            },
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let text = refusal.to_string();
        match refusal {
            Refusal::Silent { .. } => Self::Away(text),
            Refusal::Forbidden { .. }
            | Refusal::Unconfirmed { .. }
            | Refusal::Unauthenticated { .. }
            | Refusal::Missing { .. }
            | Refusal::Other { .. } => Self::Failed(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    #[test]
    fn each_refusal_of_the_api_server_says_what_to_do() {
        let text = |code: u16| {
            let status = Status {
                code,
                message: "so it is".into(),
                ..Status::default()
            };
            Refusal::of(
                "create pods/portforward in namespace skein-system",
                kube::Error::Api(status.boxed()),
            )
            .to_string()
        };
        assert!(
            text(403).starts_with("you may not create pods/portforward in namespace skein-system: so it is; ask for")
        );
        assert!(text(401).contains("(so it is); log in again"));
        assert!(text(404).ends_with("there is none"));
        assert!(text(500).ends_with(": so it is"));
    }
}
