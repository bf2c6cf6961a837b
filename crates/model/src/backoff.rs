//! Capped exponential back-off with jitter.

use std::time::Duration;

/// `first`, doubling up to `cap`, each spread by up to half of itself downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub cap: Duration,
}

impl Backoff {
    /// The delay after `failures` failures in a row (1 for the first); `jitter` 0.0..=1.0 spreads it between half of the nominal delay and
    /// all of it.
    pub fn delay(self, failures: u32, jitter: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(20);
        let nominal = self.first.saturating_mul(1 << doublings).min(self.cap);
        let jitter = if jitter.is_finite() {
            jitter.clamp(0.0, 1.0)
        } else {
            1.0
        };
        nominal.mul_f64(0.5 + jitter / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RETRY: Backoff = Backoff {
        first: Duration::from_millis(200),
        cap: Duration::from_secs(10),
    };

    #[test]
    fn delays_double_up_to_the_cap() {
        let whole: Vec<_> = (1..9).map(|n| RETRY.delay(n, 1.0).as_millis()).collect();
        assert_eq!(whole, [200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    }

    proptest! {
        #[test]
        fn no_delay_is_zero_or_above_the_cap(failures in 0u32.., jitter in any::<f64>()) {
            let delay = RETRY.delay(failures, jitter);
            prop_assert!(delay >= RETRY.first / 2 && delay <= RETRY.cap);
        }
    }
}
