//! The person of a key, by a request to the API server that names the key ([`trust::proof`]).
//!
//! The API server itself writes into a CertificateSigningRequest who made it, and lets nobody change that. So one for our signer says "this
//! key is this person"; the TLS handshake has proved that the caller holds the key. It needs no approval, and nothing is signed. Denying or
//! deleting it ends what it says.

use super::user::User;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use std::time::{Duration, SystemTime};
use trust::PublicKey;
use trust::proof::{REQUEST_LIFE, SIGNER};
use trust::validity::SKEW;

const ENDING: [&str; 2] = ["Denied", "Failed"];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    #[error("there is none of that name; it may have been deleted. Run the command again, which makes a new one")]
    Missing,
    /// It is for another signer.
    #[error("it is for signer {0:?}, not {SIGNER}")]
    Signer(String),
    /// It names another key, or none.
    #[error("it names another key than the one that was shown")]
    Key,
    #[error("it has ended; run the command again, which makes a new one")]
    Ended,
    #[error(
        "by the coordinator's clock it is of a time to come, so a clock is wrong: set those of coordinator and API server"
    )]
    NotYet,
    #[error("it was denied; ask who did that")]
    Denied,
    /// It does not name its author, or its time.
    #[error("the API server has not noted who made it, and when")]
    NoAuthor,
}

/// The holder of `key` according to `request`, and until when.
pub fn person(
    request: &CertificateSigningRequest,
    key: &PublicKey,
    now: SystemTime,
) -> Result<(User, SystemTime), BadRequest> {
    let spec = &request.spec;
    if spec.signer_name != SIGNER {
        return Err(BadRequest::Signer(spec.signer_name.clone()));
    }
    if PublicKey::of_request(&spec.request.0).as_ref() != Ok(key) {
        return Err(BadRequest::Key);
    }
    let conditions = request
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    if conditions
        .into_iter()
        .any(|condition| ENDING.contains(&condition.type_.as_str()))
    {
        return Err(BadRequest::Denied);
    }
    let made = request
        .metadata
        .creation_timestamp
        .as_ref()
        .ok_or(BadRequest::NoAuthor)?;
    let made = SystemTime::from(made.0);
    let until = made
        .checked_add(life(spec.expiration_seconds))
        .ok_or(BadRequest::NotYet)?;
    if now > until {
        return Err(BadRequest::Ended);
    }
    if made > now + SKEW {
        return Err(BadRequest::NotYet);
    }
    let name = spec.username.clone().filter(|name| !name.is_empty());
    let user = User {
        name: name.ok_or(BadRequest::NoAuthor)?,
        uid: spec.uid.clone().unwrap_or_default(),
        groups: spec.groups.clone().unwrap_or_default(),
        extra: spec.extra.clone().unwrap_or_default(),
    };
    Ok((user, until))
}

/// How long a request counts that asks for this many seconds: never longer than [`REQUEST_LIFE`].
fn life(seconds: Option<i32>) -> Duration {
    let asked = seconds.map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or(0)));
    asked.map_or(REQUEST_LIFE, |asked| asked.min(REQUEST_LIFE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use trust::PersonKey;

    const MADE: &str = "2026-11-21T10:00:00Z";
    const SECOND: Duration = Duration::from_secs(1);

    struct Case {
        key: PublicKey,
        request: CertificateSigningRequest,
        made: SystemTime,
    }

    fn key_and_request() -> (PublicKey, Vec<u8>) {
        let pem = PersonKey::make().unwrap().request_pem().unwrap().into_bytes();
        (PublicKey::of_request(&pem).unwrap(), pem)
    }

    fn good() -> Case {
        let (key, pem) = key_and_request();
        let mut request: CertificateSigningRequest = serde_json::from_value(json!({
            "metadata": {"name": "skein-person-x7k2f", "creationTimestamp": MADE},
            "spec": {
                "request": "", "signerName": "skein.dev/person", "usages": ["client auth"], "expirationSeconds": 3600,
                "username": "ada", "uid": "u-1", "groups": ["pilots", "system:authenticated"], "extra": {"a": ["b"]},
            },
        }))
        .unwrap();
        request.spec.request.0 = pem;
        let made = request.metadata.creation_timestamp.as_ref().unwrap().0.into();
        Case { key, request, made }
    }

    /// The result for a good request with one change, a second after it was made.
    fn with(change: impl FnOnce(&mut Case)) -> Result<(User, SystemTime), BadRequest> {
        let mut case = good();
        change(&mut case);
        person(&case.request, &case.key, case.made + SECOND)
    }

    #[test]
    fn the_person_is_the_one_whom_the_api_server_has_noted() {
        let case = good();
        let (user, until) = person(&case.request, &case.key, case.made).unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("ada", "u-1"));
        assert_eq!(user.groups, ["pilots", "system:authenticated"]);
        assert_eq!(user.extra["a"], ["b"]);
        assert_eq!(until, case.made + REQUEST_LIFE);
        // No approval is needed.
        let approved = with(|case| case.request.status = condition("Approved"));
        assert!(approved.is_ok());
    }

    fn condition(kind: &str) -> Option<k8s_openapi::api::certificates::v1::CertificateSigningRequestStatus> {
        serde_json::from_value(json!({"conditions": [{"type": kind, "status": "True"}]})).unwrap()
    }

    #[test]
    fn each_thing_that_is_wrong_is_refused_by_its_name() {
        let signer = with(|case| case.request.spec.signer_name = "kubernetes.io/kube-apiserver-client".into());
        assert_eq!(
            signer,
            Err(BadRequest::Signer("kubernetes.io/kube-apiserver-client".into()))
        );
        // Someone else's request, with a key of one's own.
        let foreign = with(|case| case.key = key_and_request().0);
        assert_eq!(foreign, Err(BadRequest::Key));
        for damaged in [&b""[..], b"no PEM"] {
            let damaged = with(|case| case.request.spec.request.0 = damaged.to_vec());
            assert_eq!(damaged, Err(BadRequest::Key));
        }
        for kind in ["Denied", "Failed"] {
            assert_eq!(
                with(|case| case.request.status = condition(kind)),
                Err(BadRequest::Denied)
            );
        }
        for name in [None, Some(String::new())] {
            assert_eq!(
                with(|case| case.request.spec.username = name),
                Err(BadRequest::NoAuthor)
            );
        }
        let timeless = with(|case| case.request.metadata.creation_timestamp = None);
        assert_eq!(timeless, Err(BadRequest::NoAuthor));
    }

    #[test]
    fn it_counts_for_as_long_as_it_was_made_for_and_never_for_more_than_an_hour() {
        for (asked, counts) in [
            (Some(600), 600),
            (Some(3600), 3600),
            (Some(86_400), 3600),
            (None, 3600),
            (Some(-1), 0),
        ] {
            let mut case = good();
            case.request.spec.expiration_seconds = asked;
            let judged = |after| person(&case.request, &case.key, case.made + after).map(drop);
            let counts = Duration::from_secs(counts);
            assert_eq!(judged(counts), Ok(()), "{asked:?}");
            assert_eq!(judged(counts + SECOND), Err(BadRequest::Ended), "{asked:?}");
        }
    }

    #[test]
    fn clocks_may_differ_by_minutes_and_not_by_more() {
        let case = good();
        let judged = |now| person(&case.request, &case.key, now).map(drop);
        assert_eq!(judged(case.made - SKEW), Ok(()));
        assert_eq!(judged(case.made - SKEW - SECOND), Err(BadRequest::NotYet));
    }
}
