//! Points in time, as one process counts them.

use std::time::Duration;

/// A point on the caller's monotonic clock, from an epoch of the caller's choice (usually process start). Moments of two processes must
/// never be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Duration);

impl Moment {
    pub const fn at(since_epoch: Duration) -> Self {
        Self(since_epoch)
    }

    pub const fn since_epoch(self) -> Duration {
        self.0
    }

    /// Zero if `earlier` was not before.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by))
    }
}

/// A value heard from a vehicle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting<T> {
    pub value: T,
    /// By our clock: the vehicle's own is never trusted.
    pub at: Moment,
}

impl<T> Sighting<T> {
    pub const fn new(value: T, at: Moment) -> Self {
        Self { value, at }
    }

    /// `None` if older than `limit`.
    pub fn fresh(&self, now: Moment, limit: Duration) -> Option<&T> {
        (now.since(self.at) <= limit).then_some(&self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sighting_is_fresh_up_to_its_limit_and_no_longer() {
        let seen = Sighting::new(7, Moment::at(Duration::from_secs(10)));
        let limit = Duration::from_secs(3);
        assert_eq!(seen.fresh(Moment::at(Duration::from_secs(13)), limit), Some(&7));
        assert_eq!(seen.fresh(Moment::at(Duration::from_millis(13_001)), limit), None);
    }
}
