//! Calls to the Kubernetes API, each under a deadline.

use super::proxy;
use crate::metrics::api_calls::ApiCalls;
use anyhow::Context;
use crds::labels;
use kube::api::{DeleteParams, PatchParams, PostParams, Preconditions};
use kube::client::ClientBuilder;
use std::future::Future;
use std::time::Duration;

pub const CALL_DEADLINE: Duration = Duration::from_secs(10);

/// A connection on which nothing comes for this long while an answer is awaited is given up. Longer than a slow list takes; a watch sends
/// something more often ([`crate::cluster::watching`]).
pub const CONNECTION_SILENCE_LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[error("cannot {what}: {}", error_chain(refusal.as_ref()))]
    Refused {
        what: &'static str,
        /// No `#[source]`: the text holds all of it, which would be printed twice.
        refusal: Box<kube::Error>,
    },
    /// No answer within [`CALL_DEADLINE`], or the shorter time that the caller had.
    #[error("cannot {what}: no answer of the API server in time")]
    TimedOut { what: &'static str },
}

impl ApiError {
    fn status(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Refused { refusal, .. } => match refusal.as_ref() {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            Self::TimedOut { .. } => None,
        }
    }

    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(kube::core::Status::is_not_found)
    }

    /// The object changed since it was read, or has another uid.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(kube::core::Status::is_conflict)
    }

    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(kube::core::Status::is_already_exists)
    }

    /// The API server refuses until a person changes something.
    pub fn is_refusal(&self) -> bool {
        // An admission webhook that names no code of its own denies with 400.
        self.status()
            .is_some_and(|status| status.is_invalid() || status.is_forbidden() || status.code == 400)
    }

    /// The object exists, has changed, or is gone, unlike our cache.
    pub fn is_overtaken(&self) -> bool {
        self.is_already_exists() || self.is_conflict() || self.is_not_found()
    }
}

/// An error with its sources, each said once: the reason for "client error" is at the very end. An answer of the API server is given in the
/// server's words; kube prints the fields of its own structure.
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut chain = error.to_string();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        match error.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => {
                let answer = answer(status);
                chain = if chain.contains(&text) {
                    chain.replace(&text, &answer)
                } else {
                    format!("{chain}: {answer}")
                };
                // Its own source is the same status.
                break;
            }
            _ if chain.contains(&text) => {}
            _ => chain = format!("{chain}: {text}"),
        }
        next = error.source();
    }
    if SAID_OF_TIMES.iter().any(|words| chain.contains(words)) {
        chain.push_str("; check this computer's clock, and that of the API server's");
    }
    chain
}

/// Phrases of TLS for a certificate that is not valid at the time of this computer's clock.
const SAID_OF_TIMES: [&str; 4] = [
    "certificate not valid yet",
    "certificate expired",
    "certificate: NotValidYet",
    "certificate: Expired",
];

fn answer(status: &kube::core::Status) -> String {
    let words = [&status.message, &status.reason];
    let words = words.into_iter().find(|text| !text.is_empty());
    let words = words.map_or("the API server refused it and gave no reason", String::as_str);
    match status.code {
        0 => words.to_owned(),
        code => format!("{words} ({code})"),
    }
}

/// Awaits `call` for at most [`CALL_DEADLINE`]; `what` completes "cannot …".
pub async fn call<T>(what: &'static str, call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, ApiError> {
    match tokio::time::timeout(CALL_DEADLINE, call).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(refusal)) => Err(ApiError::Refused {
            what,
            refusal: Box::new(refusal),
        }),
        Err(_) => Err(ApiError::TimedOut { what }),
    }
}

pub fn posting() -> PostParams {
    PostParams {
        field_manager: Some(labels::COORDINATOR.into()),
        ..PostParams::default()
    }
}

pub fn merging() -> PatchParams {
    PatchParams {
        field_manager: Some(labels::COORDINATOR.into()),
        ..PatchParams::default()
    }
}

/// Deletes the object with this `metadata.uid` only, and no later one of its name.
pub fn only(uid: &str) -> DeleteParams {
    DeleteParams::default().preconditions(Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    })
}

/// A client for the cluster of KUBECONFIG, or of the pod that this runs in, whose calls are counted. Does not connect yet.
pub async fn client(calls: &ApiCalls) -> anyhow::Result<kube::Client> {
    let mut config = kube::Config::infer().await.map_err(|error| {
        // Its sources say the same again.
        let advice = "set KUBECONFIG to a kubeconfig file, or run in a cluster with a ServiceAccount";
        anyhow::anyhow!("no Kubernetes configuration; {advice} ({error})")
    })?;
    proxy::apply(&mut config)?;
    config.read_timeout = Some(CONNECTION_SILENCE_LIMIT);
    // The caller retries by a schedule of its own. kube's doubles up to 1000 s, and waits as long as a server asks.
    config.default_retry = false;
    let builder = ClientBuilder::try_from(config).context("the Kubernetes configuration cannot be used")?;
    Ok(builder.with_layer(calls).build())
}

/// `resourceVersion` as a number, for comparing two of the same resource (Kubernetes 1.35 and later promise that order;
/// etcd's revisions have always had it). `None` where it is no number.
pub fn version(metadata: &kube::core::ObjectMeta) -> Option<u64> {
    metadata.resource_version.as_deref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_api_server_and_never_as_a_structure() {
        let status = kube::core::Status::failure("nodes \"a\" not found", "NotFound").with_code(404);
        let api = || kube::Error::Api(Box::new(status.clone()));
        let refusal = ApiError::Refused {
            what: "read a Node",
            refusal: Box::new(api()),
        };
        let watch = kube::runtime::watcher::Error::WatchStartFailed(api());
        let outer = anyhow::Error::new(refusal).context("no start");
        let chain = [error_chain(&api()), error_chain(&watch), format!("{outer:#}")];
        for text in &chain {
            assert!(
                text.contains("nodes \"a\" not found (404)") && !text.contains("Status {"),
                "{text}"
            );
        }
        assert_eq!(chain[2], "no start: cannot read a Node: nodes \"a\" not found (404)");
    }

    #[test]
    fn a_certificate_that_is_not_good_at_this_time_names_the_clock() {
        use rustls::pki_types::UnixTime;
        use rustls::{CertificateError, Error as Tls};
        let year = |year: u64| UnixTime::since_unix_epoch(Duration::from_secs((year - 1970) * 31_557_600));
        let boots_in_1970 = CertificateError::NotValidYetContext {
            time: year(1970),
            not_before: year(2026),
        };
        for (error, clock) in [
            (boots_in_1970, true),
            (CertificateError::NotValidYet, true),
            (CertificateError::Expired, true),
            (CertificateError::UnknownIssuer, false),
        ] {
            let tls = std::io::Error::other(Tls::InvalidCertificate(error));
            let text = error_chain(&kube::Error::Service(Box::new(tls)));
            assert_eq!(text.contains("check this computer's clock"), clock, "{text}");
        }
    }

    #[test]
    fn what_admission_denies_is_refused_and_what_fails_is_not() {
        let refusal = |code, reason: &str| {
            let status = kube::core::Status::failure("denied", reason).with_code(code);
            let refusal = Box::new(kube::Error::Api(Box::new(status)));
            ApiError::Refused { what: "try", refusal }.is_refusal()
        };
        for (code, reason) in [(403, "Forbidden"), (422, "Invalid"), (400, ""), (400, "BadRequest")] {
            assert!(refusal(code, reason), "{code} {reason}");
        }
        for (code, reason) in [
            (409, "Conflict"),
            (404, "NotFound"),
            (429, "TooManyRequests"),
            (500, "InternalError"),
        ] {
            assert!(!refusal(code, reason), "{code} {reason}");
        }
    }
}
