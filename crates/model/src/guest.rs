//! A person's ground station that reaches a vehicle through coordinator and agent.

use std::time::Duration;

/// Frames older than this are not passed on to the vehicle: a late command is worse than none.
pub const LATE: Duration = Duration::from_secs(5);

/// What a guest may do, least first. A guest with `Ask` or less changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuestAccess {
    /// It only receives.
    Watch,
    /// It sends requests that change nothing.
    Ask,
    /// As `Ask`, and set-points while the vehicle has airspace for a program.
    Control,
    /// All that it sends reaches the vehicle.
    Command,
}

/// One call of a guest, unique for the coordinator that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GuestCallId(pub u128);

/// A guest for the vehicle of an agent, as a coordinator announces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestCall {
    pub id: GuestCallId,
    pub access: GuestAccess,
    /// For the log.
    pub person: String,
}

/// Age of a guest's frames without a shared clock: the sender's count begins when it is notified that the stream is open, the agent's when
/// it opens it, which is earlier.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transit {
    /// Smallest difference seen of the agent's clock to the sender's, ms. It may grow by a thousandth, as clocks drift.
    ahead_ms: f64,
    at: Duration,
}

impl Transit {
    /// The age of a message `sent` by the sender's clock and received `now` by the agent's; it includes the way back of the handshake.
    pub fn of(&mut self, sent: Duration, now: Duration) -> Duration {
        let ahead_ms = (now.as_secs_f64() - sent.as_secs_f64()) * 1000.0;
        let drift_ms = now.saturating_sub(self.at).as_secs_f64();
        self.ahead_ms = ahead_ms.min(self.ahead_ms + drift_ms);
        self.at = now;
        Duration::try_from_secs_f64((ahead_ms - self.ahead_ms) / 1000.0).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn what_waited_on_the_way_is_late_by_that() {
        let mut transit = Transit::default();
        let handshake = transit.of(ms(0), ms(300));
        assert!(
            handshake > ms(299) && handshake <= ms(300),
            "{handshake:?}: there and back"
        );
        // The stream stalls, and then all comes at once.
        let late = [1000, 4000, 8000].map(|sent| transit.of(ms(sent), ms(9000)).as_secs());
        assert_eq!(late, [7, 4, 0]);
        assert!(transit.of(ms(9900), ms(10_000)) < ms(200));
    }

    #[test]
    fn one_who_says_nothing_of_when_is_late_soon() {
        let mut transit = Transit::default();
        assert!(transit.of(ms(0), ms(4000)) < LATE);
        assert!(transit.of(ms(0), ms(60_000)) > LATE);
    }

    #[test]
    fn clocks_that_run_apart_make_nothing_late_in_hours() {
        for drift in [-200e-6, 200e-6] {
            let mut transit = Transit::default();
            for second in 0..36_000_u32 {
                let sent = Duration::from_secs_f64(f64::from(second) * (1.0 + drift));
                let late = transit.of(sent, Duration::from_secs(second.into()) + ms(100));
                assert!(late <= ms(101), "{late:?} after {second} s");
            }
        }
    }

    #[test]
    fn a_time_that_is_made_up_breaks_nothing() {
        let mut transit = Transit::default();
        for sent in [ms(u64::MAX), Duration::MAX, ms(5), ms(0)] {
            transit.of(sent, ms(10));
        }
        assert!(transit.of(ms(20), ms(20)) > LATE, "it has only cut itself off");
    }
}
