//! Waiting for a condition, with a deadline and an account of what was seen last.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// Shortest pause between two probes.
const POLL: Duration = Duration::from_millis(50);

/// Longest pause, however long a probe takes.
const LONGEST_POLL: Duration = Duration::from_millis(500);

/// Polls `probe` until it returns `Ok`, at most for `deadline`.
///
/// The probe's error, by `anyhow::ensure!`, describes the present state ("2 of 3 fly") and is reported only when the
/// deadline passes. The probe runs once more after the deadline, so that a slow machine does not turn a true condition
/// into a failure.
pub fn wait_for<T>(
    what: impl AsRef<str>,
    deadline: Duration,
    mut probe: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let start = Instant::now();
    loop {
        let look = start.elapsed();
        let last_chance = look >= deadline;
        match probe() {
            Ok(value) => return Ok(value),
            Err(seen) if last_chance => {
                let waited = start.elapsed().as_secs_f32();
                anyhow::bail!("waited {waited:.1} s for {}; last seen: {seen:#}", what.as_ref());
            }
            Err(_) => std::thread::sleep(pause(start.elapsed() - look)),
        }
    }
}

/// Like [`wait_for`], for an asynchronous probe. Panics at the deadline, with the last error.
pub async fn until<T, E: Display>(what: &str, deadline: Duration, probe: impl AsyncFn() -> Result<T, E>) -> T {
    let start = Instant::now();
    loop {
        let look = start.elapsed();
        match probe().await {
            Ok(value) => return value,
            Err(seen) => assert!(look < deadline, "waited for {what}; last seen: {seen}"),
        }
        tokio::time::sleep(pause(start.elapsed() - look)).await;
    }
}

/// Pause after a probe of this length: four times as long, so that waiting does not keep the cores from the awaited
/// work.
pub(crate) fn pause(look: Duration) -> Duration {
    (look * 4).clamp(POLL, LONGEST_POLL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_comes_true_returns_its_value() {
        let mut looks = 0;
        let value = wait_for("the third look", Duration::from_secs(5), || {
            looks += 1;
            anyhow::ensure!(looks == 3, "{looks} looks");
            Ok(looks)
        });
        assert_eq!(value.unwrap(), 3);
    }

    #[test]
    fn a_look_that_takes_long_is_repeated_less_often() {
        let pauses = [0, 10, 100, 5_000].map(|millis| pause(Duration::from_millis(millis)).as_millis());
        assert_eq!(pauses, [50, 50, 400, 500]);
    }

    #[test]
    fn a_condition_that_never_comes_true_is_reported_with_what_was_seen_last() {
        let never = wait_for("three to fly", Duration::from_millis(60), || -> anyhow::Result<()> {
            anyhow::bail!("2 fly")
        });
        let text = never.unwrap_err().to_string();
        assert!(text.contains("for three to fly; last seen: 2 fly"), "{text}");
    }
}
