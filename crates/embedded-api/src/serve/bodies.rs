//! Memory for the bodies of requests and of answers, with a limit each. One connection can carry a thousand requests,
//! so memory for a whole body is reserved before any of it is read, and bodies that have begun never wait for each
//! other. An answer keeps its memory until its last byte is sent, or its connection ends.

use crate::refusal::Refusal;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Bytes of one permit.
const PIECE: u64 = 1024;

const PERMIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of an answer that needs no permit.
const SHORT: u64 = 64 * 1024;

#[derive(Clone, Debug)]
pub struct Bodies {
    requests: Memory,
    answers: Memory,
}

impl Bodies {
    /// Bytes; at least one unit of each.
    #[must_use]
    pub fn new(requests: u64, answers: u64) -> Self {
        Self {
            requests: Memory::new(requests),
            answers: Memory::new(answers),
        }
    }

    /// A body longer than the limit gets all of it. Errors: 429 when there is none in time.
    pub async fn permit(&self, bytes: u64) -> Result<OwnedSemaphorePermit, Refusal> {
        self.requests.take(bytes).await
    }

    /// The answer then holds its permit until it is dropped. Errors: 429 when there is none in time.
    pub async fn answer(&self, bytes: Bytes) -> Result<Bytes, Refusal> {
        let length = bytes.len() as u64;
        if length <= SHORT {
            return Ok(bytes);
        }
        let permit = self.answers.take(length).await?;
        Ok(Bytes::from_owner(Reserved { bytes, _permit: permit }))
    }
}

struct Reserved {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Reserved {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[derive(Clone, Debug)]
struct Memory {
    free: Arc<Semaphore>,
    pieces: u32,
}

impl Memory {
    fn new(bytes: u64) -> Self {
        let pieces = pieces(bytes).max(1);
        let free = usize::try_from(pieces)
            .unwrap_or(usize::MAX)
            .min(Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(free)),
            pieces,
        }
    }

    async fn take(&self, bytes: u64) -> Result<OwnedSemaphorePermit, Refusal> {
        let wanted = pieces(bytes).min(self.pieces);
        let permit = Arc::clone(&self.free).acquire_many_owned(wanted);
        match timeout(PERMIT_TIMEOUT, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(Refusal::too_many_requests()),
        }
    }
}

fn pieces(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(PIECE)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn bodies_share_the_room_and_none_waits_for_ever() {
        let bodies = Bodies::new(10 * PIECE, 0);
        let first = bodies.permit(9 * PIECE + 1).await.expect("room");
        let refused = bodies.permit(1).await.expect_err("none is left");
        assert_eq!((refused.code, &refused.details["retryAfterSeconds"]), (429, &1.into()));
        drop(bodies.permit(0).await.expect("nothing needs no room"));
        drop(first);
        let all = bodies.permit(u64::MAX).await.expect("all of it");
        bodies.permit(1).await.expect_err("none is left");
        drop(all);
        drop(bodies.permit(1).await.expect("room"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_has_its_room_until_it_is_taken() {
        let bodies = Bodies::new(0, 2 * SHORT);
        let long = || Bytes::from(vec![b' '; 2 * usize::try_from(SHORT).expect("it is small")]);
        let first = bodies.answer(long()).await.expect("room");
        assert_eq!(first, long());
        let part = first.slice(..1);
        drop(first);
        assert_eq!(bodies.answer(long()).await.expect_err("none is left").code, 429);
        let short = Bytes::from_static(b"{}");
        assert_eq!(bodies.answer(short.clone()).await.expect("it needs none"), short);
        drop(part);
        drop(bodies.answer(long()).await.expect("room"));
        drop(bodies.permit(0).await.expect("requests have their own"));
    }
}
