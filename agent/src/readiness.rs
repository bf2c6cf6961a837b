//! Readiness for the node's kubelet: a file that is fresh while the agent's loop runs and receives from its autopilot.

use crate::uplink::Outward;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::warn;

/// The loop reports at least once a second.
const FRESH_FOR: Duration = Duration::from_secs(10);

/// How often the file is written at most.
const EVERY: Duration = Duration::from_secs(1);

/// For as long as reports come and say that the autopilot is heard.
pub async fn keep(path: PathBuf, mut reports: watch::Receiver<Outward>) {
    let mut complained = false;
    while reports.changed().await.is_ok() {
        let heard = reports
            .borrow_and_update()
            .report
            .as_ref()
            .is_some_and(|r| r.link_alive);
        let done = if heard {
            tokio::fs::write(&path, b"ready\n").await
        } else {
            match tokio::fs::remove_file(&path).await {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                done => done,
            }
        };
        if let Err(error) = &done
            && !complained
        {
            warn!(path = %path.display(), %error, "cannot keep the ready file; the agent flies all the same");
        }
        complained = done.is_err();
        sleep(EVERY).await;
    }
}

/// The error is one line for a person.
pub fn check(path: &Path, now: SystemTime) -> Result<(), String> {
    let not = |why: &str| Err(format!("not ready: {why} ({})", path.display()));
    let Ok(written) = std::fs::metadata(path).and_then(|file| file.modified()) else {
        return not("the agent receives nothing from its autopilot, or does not run");
    };
    match now.duration_since(written) {
        Ok(age) if age > FRESH_FOR => not("the agent has not refreshed the ready file for a while"),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_missing_or_old_means_not_ready() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ready");
        let now = SystemTime::now();
        assert!(
            check(&file, now)
                .unwrap_err()
                .contains("receives nothing from its autopilot")
        );
        std::fs::write(&file, "ready\n").unwrap();
        assert_eq!(check(&file, now), Ok(()));
        let later = SystemTime::now() + FRESH_FOR + EVERY;
        assert!(
            check(&file, later)
                .unwrap_err()
                .contains("not refreshed the ready file")
        );
    }
}
