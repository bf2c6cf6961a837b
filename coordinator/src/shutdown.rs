//! The end of this process, when asked for.

use tokio::signal::unix::{SignalKind, signal};

/// Done at the first SIGTERM or SIGINT.
pub async fn shutdown_signal() {
    let (term, int) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    match (term, int) {
        (Ok(mut term), Ok(mut int)) => {
            tokio::select! {
                _ = term.recv() => (),
                _ = int.recv() => (),
            }
        }
        _ => {
            tracing::warn!("signals cannot be listened to; end this process with SIGKILL");
            std::future::pending::<()>().await;
        }
    }
}
