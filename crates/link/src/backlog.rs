//! Backlog filter: frames that waited in a buffer from before the link was opened are not news. A serial adapter that
//! was not read hands over packets many seconds old, even after a flush; the vehicle's clock (`time_boot_ms`) in them
//! advances more than ours. Nothing is believed for a short while after an open, and as long as that lasts.

use mavlink::dialects::ardupilotmega::MavMessage;
use std::time::Duration;

/// Time without belief after an open, and after the last sign of catching up.
const STABLE_FOR: Duration = Duration::from_millis(200);
/// Upper bound, so that an odd clock (a simulation that runs fast) cannot silence a vehicle.
const AT_MOST: Duration = Duration::from_secs(1);
/// Milliseconds that the vehicle's clock must gain on ours to count as catching up.
const GAIN: i64 = 150;

#[derive(Debug, Default)]
pub struct Backlog {
    is_current: bool,
    least_lag_ms: Option<i64>,
    caught_up_at: Duration,
}

impl Backlog {
    /// Whether a frame that came `since_open` after the open is news; `boot_ms` is the vehicle's clock in it.
    pub fn is_news(&mut self, boot_ms: Option<u32>, since_open: Duration) -> bool {
        if self.is_current {
            return true;
        }
        if let Some(boot_ms) = boot_ms {
            let lag = i64::try_from(since_open.as_millis()).unwrap_or(i64::MAX) - i64::from(boot_ms);
            match self.least_lag_ms {
                Some(least) if lag > least - GAIN => {}
                _ => {
                    self.least_lag_ms = Some(lag);
                    self.caught_up_at = since_open;
                }
            }
        }
        self.is_current = since_open >= AT_MOST || since_open >= self.caught_up_at.saturating_add(STABLE_FOR);
        self.is_current
    }
}

#[must_use]
pub fn boot_ms(message: &MavMessage) -> Option<u32> {
    Some(match message {
        MavMessage::SYSTEM_TIME(m) => m.time_boot_ms,
        MavMessage::GLOBAL_POSITION_INT(m) => m.time_boot_ms,
        MavMessage::ATTITUDE(m) => m.time_boot_ms,
        MavMessage::ATTITUDE_QUATERNION(m) => m.time_boot_ms,
        MavMessage::LOCAL_POSITION_NED(m) => m.time_boot_ms,
        MavMessage::EVENT(m) => m.event_time_boot_ms,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_backlog_is_dropped_until_the_vehicles_clock_runs_with_ours() {
        let mut backlog = Backlog::default();
        for n in 0..16_u32 {
            assert!(
                !backlog.is_news(Some(10_000 + n * 500), ms(u64::from(n) * 30)),
                "old packet {n}"
            );
        }
        assert!(!backlog.is_news(Some(18_000), ms(500)));
        assert!(backlog.is_news(Some(18_500), ms(1000)));
    }

    #[test]
    fn without_a_backlog_only_the_first_moment_is_dropped() {
        let mut backlog = Backlog::default();
        assert!(!backlog.is_news(None, ms(10)));
        assert!(backlog.is_news(None, ms(200)));
        let mut backlog = Backlog::default();
        assert!(!backlog.is_news(Some(5000), ms(10)));
        assert!(!backlog.is_news(Some(5100), ms(110)));
        assert!(backlog.is_news(Some(5250), ms(260)));
    }

    #[test]
    fn a_clock_that_always_runs_ahead_silences_the_vehicle_only_for_a_moment() {
        let mut backlog = Backlog::default();
        assert!((0..10_u32).all(|n| !backlog.is_news(Some(n * 1000), ms(u64::from(n) * 100))));
        assert!(backlog.is_news(Some(10_000), ms(1000)));
    }
}
