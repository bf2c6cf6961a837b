//! Waiting for something to become true.
//!
//! Owns: how long. Must not: hide what was seen last.

use std::time::{Duration, Instant};

/// How long anything may take on a machine that is busy with something else.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// Waits until `probe` is satisfied; its error tells what it saw.
pub async fn until<T>(what: &str, probe: impl AsyncFn() -> Result<T, String>) -> T {
    let start = Instant::now();
    loop {
        match probe().await {
            Ok(value) => return value,
            Err(seen) if start.elapsed() > PATIENCE => panic!("waited in vain for {what}; last seen: {seen}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
