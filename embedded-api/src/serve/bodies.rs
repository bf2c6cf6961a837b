//! Room for the bodies of requests: together they take no more than so many bytes.
//!
//! Owns: that bound, and the refusal of who waits too long. Must not: read bodies.
//!
//! A body is in memory before its request has a turn, and one connection can carry a thousand of them. Room is taken for
//! the whole body before any of it is read, so that bodies that have begun never wait for each other.

use crate::refusal::Refusal;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Room is counted in pieces of this many bytes.
const PIECE: u64 = 1024;

/// So long a request waits for room.
const PATIENCE: Duration = Duration::from_secs(5);

/// The room there is. Clones share it.
#[derive(Clone, Debug)]
pub struct Bodies {
    free: Arc<Semaphore>,
    pieces: u32,
}

impl Bodies {
    /// Room for so many bytes; at least for one piece.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let pieces = pieces(bytes).max(1);
        let free = usize::try_from(pieces)
            .unwrap_or(usize::MAX)
            .min(Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(free)),
            pieces,
        }
    }

    /// Room for a body of so many bytes until the permit is dropped. A longer body than all that could be has all of it.
    ///
    /// # Errors
    /// 429 when there is none in time.
    pub async fn room(&self, bytes: u64) -> Result<OwnedSemaphorePermit, Refusal> {
        let wanted = pieces(bytes).min(self.pieces);
        let room = Arc::clone(&self.free).acquire_many_owned(wanted);
        match timeout(PATIENCE, room).await {
            Ok(Ok(room)) => Ok(room),
            // It is never closed; the first error is for that.
            Ok(Err(_)) | Err(_) => Err(Refusal {
                details: serde_json::json!({"retryAfterSeconds": 1}),
                ..Refusal::new(429, "TooManyRequests", "Too many requests, please try again later.")
            }),
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
        let bodies = Bodies::new(10 * PIECE);
        let first = bodies.room(9 * PIECE + 1).await.expect("room");
        let refused = bodies.room(1).await.expect_err("none is left");
        assert_eq!((refused.code, &refused.details["retryAfterSeconds"]), (429, &1.into()));
        drop(bodies.room(0).await.expect("nothing needs no room"));
        drop(first);
        let all = bodies.room(u64::MAX).await.expect("all of it");
        bodies.room(1).await.expect_err("none is left");
        drop(all);
        drop(bodies.room(1).await.expect("room"));
    }
}
