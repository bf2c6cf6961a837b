//! Work that continues as long as the server runs, also after a panic in it.

use futures::FutureExt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// A repeated panic must not fill the log.
const PAUSE: Duration = Duration::from_secs(5);

pub(super) async fn restart_on_panic<F: Future<Output = ()>>(
    what: &str,
    stop: CancellationToken,
    mut work: impl FnMut() -> F,
) {
    loop {
        // What it held is dropped with it. It shares only the store with others, which no panic of it damages.
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
        restart_on_panic("the work", CancellationToken::new(), work).await;
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
        restart_on_panic("the work", stop.clone(), work).await;
        assert_eq!(begun.load(Ordering::SeqCst), 4);
    }
}
