//! Waiting for something to become true.

use std::time::Duration;

/// How long anything may take on a machine that is busy with something else.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// Waits until `probe` is satisfied; its error says what it saw.
pub async fn until<T>(what: &str, probe: impl AsyncFn() -> Result<T, String>) -> T {
    testkit::until(what, PATIENCE, probe).await
}
