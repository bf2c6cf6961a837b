//! Persons by their requests to the API server, each read when its key is shown.

use super::answer_cache::{NEWER_ANSWER_TIMEOUT, Verdicts};
use super::person_request::{self, BadRequest};
use super::questions::{QUESTION_TIMEOUT, Questions};
use super::refusal::Refusal;
use super::user::User;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use sha2::{Digest, Sha256};
use std::time::SystemTime;
use tokio::time::Instant;
use trust::{PublicKey, RequestName};

#[derive(Debug)]
pub struct Requests {
    objects: Questions<CertificateSigningRequest>,
    people: Verdicts<Print, (User, SystemTime), BadRequest>,
}

/// The SHA-256 of a request's name and of the key that was shown with it.
type Print = [u8; 32];

impl Requests {
    pub fn new(client: kube::Client) -> Self {
        Self {
            objects: Questions::new(client),
            people: Verdicts::default(),
        }
    }

    /// The person of this request and key. `safe`: an answer of the last hour counts if none comes at once, until the request's own end.
    pub async fn person(&self, request: &RequestName, key: &PublicKey, safe: bool) -> Result<User, Refusal> {
        let (print, now) = (print(request, key), Instant::now());
        let bad = |why| Refusal::BadRequest(request.clone(), why);
        let lasts = |known| unless_over(known, SystemTime::now());
        match self.people.fresh(&print, now).map(|answer| answer.map(lasts)) {
            Some(Ok(Some(user))) => return Ok(user),
            Some(Err(why)) => return Err(bad(why)),
            Some(Ok(None)) | None => {}
        }
        let known = self.people.last_resort(&print, now).filter(|_| safe).and_then(lasts);
        let patience = if known.is_some() {
            NEWER_ANSWER_TIMEOUT
        } else {
            QUESTION_TIMEOUT
        };
        let what = "ask the API server whose request it is";
        let asked = self
            .objects
            .ask(what, patience, |objects| objects.get_opt(request.as_str()));
        let object = match asked.await {
            Ok(object) => object,
            Err(error) => return known.ok_or(error),
        };
        let answer = match &object {
            Some(object) => person_request::person(object, key, SystemTime::now()),
            None => Err(BadRequest::Missing),
        };
        self.people.keep(print, &answer, Instant::now());
        answer.map(|(user, _)| user).map_err(bad)
    }

    /// Whether this showed a person within the last hour, or is known to show none: the cost of checking it is bounded.
    pub fn knows(&self, request: &RequestName, key: &PublicKey) -> bool {
        self.people.knows(&print(request, key), Instant::now())
    }
}

fn unless_over((user, until): (User, SystemTime), now: SystemTime) -> Option<User> {
    (now <= until).then_some(user)
}

fn print(request: &RequestName, key: &PublicKey) -> Print {
    // No name has a line end, so no two pairs read the same.
    let digest = Sha256::new().chain_update(request.as_str()).chain_update("\n");
    digest.chain_update(key.as_der()).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use trust::PersonKey;

    #[test]
    fn what_is_known_of_a_request_counts_until_its_own_end() {
        let (user, until) = (User::default(), SystemTime::now());
        assert_eq!(unless_over((user.clone(), until), until), Some(user.clone()));
        assert_eq!(unless_over((user, until), until + Duration::from_secs(1)), None);
    }

    #[test]
    fn an_answer_is_kept_for_one_request_with_one_key() {
        let name = |name| RequestName::parse(name).unwrap();
        let key = || PublicKey::of_request(PersonKey::make().unwrap().request_pem().unwrap().as_bytes()).unwrap();
        let (one, other) = (key(), key());
        assert_eq!(print(&name("a"), &one), print(&name("a"), &one));
        assert_ne!(print(&name("a"), &one), print(&name("a"), &other));
        assert_ne!(print(&name("a"), &one), print(&name("b"), &one));
    }
}
