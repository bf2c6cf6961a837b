//! Questions to the API server, limited in number, each with a deadline.

use super::refusal::Refusal;
use crate::cluster::api::{self, ApiError};
use kube::Resource;
use kube::api::Api;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

const CONCURRENT_QUESTIONS: usize = 32;

/// Time of a question to be asked, and again for its answer, unless the caller has less time.
pub const QUESTION_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub struct Questions<K> {
    objects: Api<K>,
    slots: Semaphore,
}

impl<K: Resource<DynamicType = ()>> Questions<K> {
    pub fn new(client: kube::Client) -> Self {
        Self {
            objects: Api::all(client),
            slots: Semaphore::new(CONCURRENT_QUESTIONS),
        }
    }

    /// The answer to `call`; failures name `what`. [`Refusal::Busy`] when it was not asked within `patience`.
    pub async fn ask<'a, T, F>(
        &'a self,
        what: &'static str,
        patience: Duration,
        call: impl FnOnce(&'a Api<K>) -> F,
    ) -> Result<T, Refusal>
    where
        F: Future<Output = kube::Result<T>>,
    {
        let Ok(Ok(_slot)) = timeout(patience, self.slots.acquire()).await else {
            return Err(Refusal::Busy);
        };
        let answer = timeout(patience, api::call(what, call(&self.objects))).await;
        Ok(answer.map_err(|_| ApiError::TimedOut { what })??)
    }
}
