//! Life of a certificate, in whole seconds, both ends included.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Difference between clocks of two machines that is tolerated: a certificate is good from so long before it was made.
pub const SKEW: Duration = Duration::from_secs(300);

/// Last second that a certificate can name: 9999-12-31 23:59:59 (RFC 5280, 4.1.2.5), in seconds since 1970.
const LAST: u64 = 253_402_300_799;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub not_before: SystemTime,
    pub not_after: SystemTime,
}

impl Validity {
    pub fn of(now: SystemTime, life: Duration) -> Self {
        let now = seconds(now);
        Self {
            not_before: at(now.saturating_sub(SKEW.as_secs())),
            not_after: at(now.saturating_add(life.as_secs())),
        }
    }

    /// Suits a laptop in the field, whose clock may say 1970; its clients are safe as they trust this one authority
    /// alone.
    pub fn any_time() -> Self {
        Self {
            not_before: UNIX_EPOCH,
            not_after: at(LAST),
        }
    }

    /// Nothing outlives the authority that signed it.
    pub fn within(self, other: Self) -> Self {
        Self {
            not_before: self.not_before.max(other.not_before),
            not_after: self.not_after.min(other.not_after),
        }
    }

    pub fn holds(&self, now: SystemTime) -> bool {
        self.not_before <= now && now <= self.not_after
    }

    pub fn renewal_in(&self, now: SystemTime) -> Duration {
        let span = seconds(self.not_after).saturating_sub(seconds(self.not_before));
        let due = seconds(self.not_before).saturating_add(span / 3 * 2);
        Duration::from_secs(due.saturating_sub(seconds(now)))
    }
}

/// 0 for times before 1970.
pub fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

pub fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds.min(LAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn a_certificate_is_renewed_when_two_thirds_of_its_life_are_over() {
        let made = at(1_800_000_000);
        let validity = Validity::of(made, DAY);
        assert!(validity.renewal_in(made) > DAY / 2);
        assert!(validity.renewal_in(made) < DAY * 2 / 3);
        assert_eq!(validity.renewal_in(made + DAY), Duration::ZERO);
    }

    #[test]
    fn clocks_that_differ_by_minutes_agree_that_it_is_good() {
        let made = at(1_800_000_000);
        let validity = Validity::of(made, DAY);
        assert!(validity.holds(made - SKEW));
        assert!(!validity.holds(made - SKEW - Duration::from_secs(1)));
        assert!(!validity.holds(made + DAY + Duration::from_secs(1)));
    }

    #[test]
    fn a_clock_that_was_never_set_is_no_obstacle_at_any_time() {
        assert!(Validity::any_time().holds(UNIX_EPOCH));
        assert!(Validity::any_time().holds(at(u64::MAX)));
        assert!(Validity::of(UNIX_EPOCH, DAY).holds(UNIX_EPOCH));
    }
}
