//! Waiting for something to become true.

use std::time::Duration;

pub const PATIENCE: Duration = Duration::from_secs(40);

pub async fn until<T>(what: &str, probe: impl AsyncFn() -> Result<T, String>) -> T {
    testkit::until(what, PATIENCE, probe).await
}
