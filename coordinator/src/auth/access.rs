//! What a user of Kubernetes may, as the API server's SubjectAccessReview says.
//!
//! Owns: asking, and keeping answers for seconds. Must not: decide anything by itself, but for one thing: whoever was allowed to
//! ground within the last hour may do so while the API server is away or does not answer at once. Grounding is safe, and it may
//! be urgent.

use super::kept::{AWAY, FRESH, Kept, LAST_RESORT};
use super::refusal::Refusal;
use super::right::{GROUND, GROUP, Right};
use super::user::User;
use crate::api::{self, ApiError};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{Api, PostParams};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// Questions to the API server at a time.
const AT_A_TIME: usize = 32;

/// A question waits so long for its turn, and then so long for its answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is asked, as failures name it.
const ASK: &str = "ask the API server what a user may do";

/// Judges rights.
#[derive(Debug)]
pub struct Access {
    reviews: Reviews,
    asking: Semaphore,
    kept: Kept<(User, Right), bool>,
}

struct Reviews(Api<SubjectAccessReview>);

impl std::fmt::Debug for Reviews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reviews")
    }
}

impl Access {
    /// Asks `client`.
    #[must_use]
    pub fn new(client: kube::Client) -> Self {
        Self {
            reviews: Reviews(Api::all(client)),
            asking: Semaphore::new(AT_A_TIME),
            kept: Kept::default(),
        }
    }

    /// Whether `user` may do it.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`], or that nobody could be asked.
    pub async fn may(&self, user: &User, right: &Right) -> Result<(), Refusal> {
        let key = (user.clone(), right.clone());
        let allowed = match self.kept.get(&key, FRESH, Instant::now()) {
            Some(allowed) => allowed,
            None => {
                let known = right.verb == GROUND && self.was_allowed(user, right);
                let patience = if known { AWAY } else { PATIENCE * 2 };
                let answer = timeout(patience, self.ask(user, right)).await;
                match answer.unwrap_or(Err(Refusal::Unasked(ApiError::TimedOut { what: ASK }))) {
                    Ok(allowed) => {
                        self.kept.keep(key, allowed, Instant::now());
                        allowed
                    }
                    Err(error) if known => {
                        tracing::warn!(user = user.name, %error, "grounding is allowed by what was known within the last hour");
                        true
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        if allowed {
            return Ok(());
        }
        Err(Refusal::Forbidden {
            user: user.name.clone(),
            right: Box::new(right.clone()),
        })
    }

    /// Whether `user` might do it within the last hour, by the newest answer about it, or about what includes it.
    fn was_allowed(&self, user: &User, right: &Right) -> bool {
        let kept = |right: Right| self.kept.get(&(user.clone(), right), LAST_RESORT, Instant::now());
        kept(right.clone()).unwrap_or_else(|| right.wider().any(|wider| kept(wider) == Some(true)))
    }

    async fn ask(&self, user: &User, right: &Right) -> Result<bool, Refusal> {
        let turn = timeout(PATIENCE, self.asking.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Err(Refusal::Busy);
        };
        let what = ASK;
        let (params, question) = (PostParams::default(), question(user, right));
        let asked = api::call(what, self.reviews.0.create(&params, &question));
        let answer = timeout(PATIENCE, asked).await;
        let review = answer.map_err(|_| ApiError::TimedOut { what })??;
        let status = review.status.unwrap_or_default();
        Ok(status.allowed && status.denied != Some(true))
    }
}

fn question(user: &User, right: &Right) -> SubjectAccessReview {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: text(&user.name),
            uid: text(&user.uid),
            groups: Some(user.groups.clone()),
            extra: Some(user.extra.clone()).filter(|extra| !extra.is_empty()),
            resource_attributes: Some(ResourceAttributes {
                group: text(GROUP),
                version: text("*"),
                resource: text(right.resource),
                verb: text(right.verb),
                namespace: right.namespace.clone(),
                name: right.name.clone(),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}
