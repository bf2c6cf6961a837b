//! Questions to the API server, so many at a time, each with a deadline.

use super::refusal::Refusal;
use crate::cluster::api::{self, ApiError};
use kube::Resource;
use kube::api::Api;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

const AT_A_TIME: usize = 32;

/// A question waits so long to be asked, and then so long for its answer, unless the caller has less time.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Asks about objects of one kind.
#[derive(Debug)]
pub struct Questions<K> {
    objects: Api<K>,
    slots: Semaphore,
}

impl<K: Resource<DynamicType = ()>> Questions<K> {
    /// Asks `client`.
    pub fn new(client: kube::Client) -> Self {
        Self {
            objects: Api::all(client),
            slots: Semaphore::new(AT_A_TIME),
        }
    }

    /// The answer to `call`; failures name `what`.
    ///
    /// # Errors
    /// [`Refusal::Busy`] when it was not asked within `patience`; that the API server did not answer, or not within `patience`.
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
