//! Rights of a user of Kubernetes, by the API server's SubjectAccessReview.
//!
//! Answers are kept for seconds. Must not: decide anything by itself, with one exception: who was allowed to ground within the last hour
//! may do so while the API server does not answer. Grounding is safe, and it may be urgent. So that this is known of watchers, it is asked
//! when they begin to watch, not only when they ground.

use super::answer_cache::{ANSWER_FRESH_FOR, AnswerCache, LAST_RESORT_FOR, NEWER_ANSWER_TIMEOUT};
use super::questions::{QUESTION_TIMEOUT, Questions};
use super::refusal::Refusal;
use super::right::{GROUND, GROUP, Right, SEE};
use super::user::User;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Least time between two questions whether a watcher may ground.
const FORESIGHT_INTERVAL: Duration = Duration::from_secs(300);
const FORESIGHT_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Access {
    reviews: Questions<SubjectAccessReview>,
    answers: AnswerCache<(User, Right), bool>,
    /// Who may ground what, for the last resort.
    may_ground: AnswerCache<(User, Right), ()>,
    /// Watchers about whom that was asked.
    foreseen: AnswerCache<(User, Right), ()>,
}

impl Access {
    pub fn new(client: kube::Client) -> Self {
        Self {
            reviews: Questions::new(client),
            answers: AnswerCache::default(),
            may_ground: AnswerCache::default(),
            foreseen: AnswerCache::default(),
        }
    }

    /// Whether `user` may do it, by an answer not older than `age`, nor than [`ANSWER_FRESH_FOR`].
    pub async fn may(&self, user: &User, right: &Right, age: Duration) -> Result<(), Refusal> {
        if !right.can_be() {
            return Err(Refusal::NoName);
        }
        if self.allows(user, right, age.min(ANSWER_FRESH_FOR)).await? {
            self.foresee(user, right).await;
            return Ok(());
        }
        Err(Refusal::Forbidden {
            user: user.name.clone(),
            right: Box::new(right.clone()),
        })
    }

    async fn allows(&self, user: &User, right: &Right, age: Duration) -> Result<bool, Refusal> {
        let key = (user.clone(), right.clone());
        if let Some(allowed) = self.answers.get(&key, age, Instant::now()) {
            return Ok(allowed);
        }
        let known = right.verb == GROUND && self.could_ground(user, right);
        let patience = if known { NEWER_ANSWER_TIMEOUT } else { QUESTION_TIMEOUT };
        match self.ask(user, right, patience).await {
            Err(error) if known => {
                tracing::warn!(user = user.name, %error, "grounding is allowed by what was known within the last hour");
                Ok(true)
            }
            asked => asked,
        }
    }

    /// Whether it was allowed within the last hour to ground this, or all of its namespace, or all; a newer No to just this counts.
    fn could_ground(&self, user: &User, right: &Right) -> bool {
        let now = Instant::now();
        if self.answers.get(&(user.clone(), right.clone()), LAST_RESORT_FOR, now) == Some(false) {
            return false;
        }
        let mut within = right.wider().into_iter();
        within.any(|right| {
            self.may_ground
                .get(&(user.clone(), right), LAST_RESORT_FOR, now)
                .is_some()
        })
    }

    /// Asks whether a watcher may ground as well.
    async fn foresee(&self, user: &User, right: &Right) {
        if right.verb != SEE {
            return;
        }
        let ask = async |right: Right| {
            let key = (user.clone(), right);
            let now = Instant::now();
            if self.foreseen.get(&key, FORESIGHT_INTERVAL, now).is_none() {
                self.foreseen.keep(key.clone(), (), now);
                // No answer by then counts as none.
                let _ = timeout(FORESIGHT_TIMEOUT, self.ask(user, &key.1, FORESIGHT_TIMEOUT)).await;
            }
        };
        let [there, everywhere] = right.grounding();
        tokio::join!(ask(there), ask(everywhere));
    }

    async fn ask(&self, user: &User, right: &Right, patience: Duration) -> Result<bool, Refusal> {
        let what = "ask the API server what a user may do";
        let (params, question) = (PostParams::default(), question(user, right));
        let asked = self
            .reviews
            .ask(what, patience, |reviews| reviews.create(&params, &question));
        let review = asked.await?;
        let status = review.status.unwrap_or_default();
        let allowed = status.allowed && status.denied != Some(true);
        let (key, now) = ((user.clone(), right.clone()), Instant::now());
        match (right.verb == GROUND, allowed) {
            (true, true) => self.may_ground.keep(key.clone(), (), now),
            (true, false) => self.may_ground.forget(&key),
            (false, _) => {}
        }
        self.answers.keep(key, allowed, now);
        Ok(allowed)
    }
}

fn question(user: &User, right: &Right) -> SubjectAccessReview {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let (resource, subresource) = right.parts();
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: text(&user.name),
            uid: text(&user.uid),
            groups: Some(user.groups.clone()),
            extra: Some(user.extra.clone()).filter(|extra| !extra.is_empty()),
            resource_attributes: Some(ResourceAttributes {
                group: text(GROUP),
                version: text("*"),
                resource: text(resource),
                subresource: subresource.map(str::to_owned),
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
