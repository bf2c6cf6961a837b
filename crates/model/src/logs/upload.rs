//! Upload of logs to an object store: when it may run, and which logs make room first.

use crate::time::Moment;
use crate::vehicle::FlightTruth;
use std::time::Duration;

/// Time on the ground before logs are uploaded.
pub const AFTER_LANDING: Duration = Duration::from_secs(10);

/// The last three count since the agent started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uploads {
    pub waiting: u64,
    pub waiting_bytes: u64,
    pub uploaded: u64,
    pub failures: u64,
    /// Logs removed to make room before they were uploaded.
    pub removed_before: u64,
}

/// Logs may be uploaded while the vehicle is known to be on the ground and disarmed, and has been for [`AFTER_LANDING`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UploadTime {
    on_ground_since: Option<Moment>,
}

impl UploadTime {
    pub fn take(&mut self, truth: FlightTruth, now: Moment) {
        self.on_ground_since = match (truth, self.on_ground_since) {
            (FlightTruth::Disarmed, None) => Some(now),
            (FlightTruth::Disarmed, since) => since,
            (FlightTruth::ArmedOnGround | FlightTruth::Airborne(_) | FlightTruth::Unknown(_), _) => None,
        };
    }

    /// How long to wait yet; `None`: until the vehicle is known to be on the ground and disarmed.
    pub fn wait(&self, now: Moment) -> Option<Duration> {
        let since = self.on_ground_since?;
        Some(AFTER_LANDING.saturating_sub(now.since(since)))
    }
}

/// Order in which logs are removed to make room, from `logs` with the oldest first: uploaded logs first, the newest log last, as it may
/// still be written.
pub fn first_to_go<T>(mut logs: Vec<T>, is_uploaded: impl Fn(&T) -> bool) -> Vec<T> {
    let newest = logs.pop();
    let (mut order, others): (Vec<_>, Vec<_>) = logs.into_iter().partition(is_uploaded);
    order.extend(others);
    order.extend(newest);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::{Airborne, WhyUnknown};

    const fn at(seconds: u64) -> Moment {
        Moment::at(Duration::from_secs(seconds))
    }

    #[test]
    fn logs_are_uploaded_while_the_vehicle_is_known_to_rest_on_the_ground() {
        let mut time = UploadTime::default();
        assert_eq!(time.wait(at(0)), None, "nothing is known");
        for other in [
            FlightTruth::Unknown(WhyUnknown::NeverHeard),
            FlightTruth::Unknown(WhyUnknown::LinkLost),
            FlightTruth::ArmedOnGround,
            FlightTruth::Airborne(Airborne::TakingOff),
        ] {
            time.take(FlightTruth::Disarmed, at(100));
            time.take(FlightTruth::Disarmed, at(104));
            assert_eq!(time.wait(at(104)), Some(Duration::from_secs(6)));
            assert_eq!(time.wait(at(120)), Some(Duration::ZERO));
            time.take(other, at(121));
            assert_eq!(time.wait(at(200)), None, "{other:?}");
        }
        time.take(FlightTruth::Disarmed, at(300));
        assert_eq!(
            time.wait(at(301)),
            Some(Duration::from_secs(9)),
            "it counts from the start"
        );
    }

    #[test]
    fn what_was_uploaded_goes_first_and_the_newest_last() {
        let logs = vec![(1, false), (2, true), (3, false), (4, true), (5, true)];
        let order = first_to_go(logs, |&(_, uploaded)| uploaded);
        let names: Vec<_> = order.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [2, 4, 1, 3, 5]);
        assert!(first_to_go(Vec::<u8>::new(), |_| true).is_empty());
    }
}
