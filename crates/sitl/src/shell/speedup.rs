//! Speed of one vehicle's time.

/// Simulated seconds per real second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Speedup {
    boot: Option<f64>,
    flight: f64,
}

impl Speedup {
    /// `boot` counts until the first boot has ended, `flight` from then on.
    pub(super) fn new(boot: Option<f64>, flight: f64) -> Self {
        Self { boot, flight }
    }

    pub(super) fn factor(self) -> f64 {
        self.boot.unwrap_or(self.flight)
    }

    /// Returns one at least: a late peer is not a lost one.
    pub(super) fn seconds_per_peer_second(self) -> f64 {
        self.factor().max(1.0)
    }

    pub(super) fn booted(&mut self) -> bool {
        self.boot.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_boot_is_faster() {
        let mut speedup = Speedup::new(Some(4.0), 0.5);
        assert_eq!((speedup.factor(), speedup.seconds_per_peer_second()), (4.0, 4.0));
        assert!(speedup.booted());
        assert_eq!((speedup.factor(), speedup.seconds_per_peer_second()), (0.5, 1.0));
        assert!(!speedup.booted());
        let usual = Speedup::new(None, 2.0);
        assert_eq!((usual.factor(), usual.seconds_per_peer_second()), (2.0, 2.0));
    }
}
