//! Persons by their requests to the API server, each read when its key is shown.
//!
//! Owns: asking, with a deadline and so many questions at a time, and keeping answers for seconds. Must not: decide what a request
//! says ([`super::person_request`]).

use super::answer_cache::{AnswerCache, FRESH, HASTE, LAST_RESORT};
use super::person_request::{self, BadRequest};
use super::refusal::Refusal;
use super::user::User;
use crate::cluster::api::{self, ApiError};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::api::Api;
use sha2::{Digest, Sha256};
use std::time::{Duration, SystemTime};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use trust::{PublicKey, RequestName};

/// Questions to the API server at a time.
const AT_A_TIME: usize = 32;

/// A question waits so long to be asked, and then so long for its answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Judges keys by requests.
#[derive(Debug)]
pub struct Requests {
    objects: Objects,
    asking: Semaphore,
    people: AnswerCache<Print, (User, SystemTime)>,
    /// Requests that show nobody, and why. Apart, so that guesses without end push nobody out of mind who was known.
    nobody: AnswerCache<Print, BadRequest>,
}

/// The SHA-256 of a request's name and of the key that was shown with it.
type Print = [u8; 32];

struct Objects(Api<CertificateSigningRequest>);

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Objects")
    }
}

impl Requests {
    /// Asks `client`.
    #[must_use]
    pub fn new(client: kube::Client) -> Self {
        Self {
            objects: Objects(Api::all(client)),
            asking: Semaphore::new(AT_A_TIME),
            people: AnswerCache::default(),
            nobody: AnswerCache::default(),
        }
    }

    /// The person who made this request for this key; `safe`: an answer of the last hour will do when the API server does not answer
    /// at once, until the request's own end.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn person(&self, request: &RequestName, key: &PublicKey, safe: bool) -> Result<User, Refusal> {
        let (print, now) = (print(request, key), Instant::now());
        if let Some(user) = self.known(&print, FRESH, now) {
            return Ok(user);
        }
        let bad = |why| Refusal::BadRequest(request.clone(), why);
        if let Some(why) = self.nobody.get(&print, FRESH, now) {
            return Err(bad(why));
        }
        let known = safe.then(|| self.known(&print, LAST_RESORT, now)).flatten();
        let patience = if known.is_some() { HASTE } else { PATIENCE };
        let object = match self.ask(request, patience).await {
            Ok(object) => object,
            Err(error) => return known.ok_or(error),
        };
        let judged = match &object {
            Some(object) => person_request::person(object, key, SystemTime::now()),
            None => Err(BadRequest::Missing),
        };
        let now = Instant::now();
        match judged {
            Ok((user, until)) => {
                self.nobody.forget(&print);
                self.people.keep(print, (user.clone(), until), now);
                Ok(user)
            }
            Err(why) => {
                self.people.forget(&print);
                self.nobody.keep(print, why.clone(), now);
                Err(bad(why))
            }
        }
    }

    /// Whether this showed somebody within the last hour, or is known for nobody's just now: what it costs to judge it is bounded.
    #[must_use]
    pub fn knows(&self, request: &RequestName, key: &PublicKey) -> bool {
        let (print, now) = (print(request, key), Instant::now());
        self.people.get(&print, LAST_RESORT, now).is_some() || self.nobody.get(&print, FRESH, now).is_some()
    }

    /// Whom it showed, not longer ago than `age`, unless it has ended since.
    fn known(&self, print: &Print, age: Duration, now: Instant) -> Option<User> {
        unless_over(self.people.get(print, age, now)?, SystemTime::now())
    }

    async fn ask(
        &self,
        request: &RequestName,
        patience: Duration,
    ) -> Result<Option<CertificateSigningRequest>, Refusal> {
        let turn = timeout(patience, self.asking.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Err(Refusal::Busy);
        };
        let what = "ask the API server whose request it is";
        let asked = api::call(what, self.objects.0.get_opt(request.as_str()));
        let answer = timeout(patience, asked).await;
        Ok(answer.map_err(|_| ApiError::TimedOut { what })??)
    }
}

/// The user whom a request shows until then.
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
