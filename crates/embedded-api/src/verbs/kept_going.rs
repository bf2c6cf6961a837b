//! Work that goes on as long as the server does, also after a fault in it.
//!
//! Owns: noticing a panic, saying so, and beginning again. Must not: know the work; it must be able to begin at any point.

use futures::FutureExt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// So long after a fault the work begins again. A fault that is met each time fills no log.
const PAUSE: Duration = Duration::from_secs(5);

/// Does `work` until it ends by itself or `stop` comes; begins it again when it ends in a panic.
pub(super) async fn kept_going<F: Future<Output = ()>>(
    what: &str,
    stop: CancellationToken,
    mut work: impl FnMut() -> F,
) {
    loop {
        // Whatever it had in hand is dropped with it. What it shares with others is the store, which no panic of it harms.
        if AssertUnwindSafe(work()).catch_unwind().await.is_ok() {
            return;
        }
        tracing::error!(what, again_in = ?PAUSE, "a fault of this program ended this; it begins again");
        if stop.run_until_cancelled(sleep(PAUSE)).await.is_none() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test(start_paused = true)]
    async fn work_that_ends_in_a_panic_begins_again() {
        let begun = AtomicUsize::new(0);
        let work = || async {
            let before = begun.fetch_add(1, Ordering::SeqCst);
            assert!(before >= 2, "a fault, on purpose");
        };
        kept_going("the work", CancellationToken::new(), work).await;
        assert_eq!(begun.load(Ordering::SeqCst), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_always_ends_in_a_panic_ends_with_the_server() {
        let stop = CancellationToken::new();
        let begun = AtomicUsize::new(0);
        let work = || async {
            if begun.fetch_add(1, Ordering::SeqCst) == 3 {
                stop.cancel();
            }
            panic!("a fault, on purpose");
        };
        kept_going("the work", stop.clone(), work).await;
        assert_eq!(begun.load(Ordering::SeqCst), 4);
    }
}
