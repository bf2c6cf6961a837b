//! The time without the coordinator in the air, and that with a low battery, which outlive the agent: one that ends again and again would else
//! bring nobody home.
//!
//! What the lives of the agent have measured is added up, in whole steps. The time between them is not: it would take a date, and dates jump.

use super::Pilot;
use model::time::Moment;
use model::vehicle::FlightTruth;
use std::time::Duration;

/// Such a time is remembered in steps of this size: each is written to the disk.
const STEP: Duration = Duration::from_secs(5);

/// A battery that is low for longer is waited for by nothing.
const LOW_AT_MOST: Duration = Duration::from_secs(60);

fn in_steps(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs() / STEP.as_secs() * STEP.as_secs())
}

impl Pilot {
    /// Takes in how long the vehicle, which does `truth`, has been without the coordinator. On the ground nothing of the flight before counts:
    /// it may have been a week ago.
    pub(super) fn count_alone(&mut self, truth: FlightTruth, now: Moment) {
        let down = matches!(truth, FlightTruth::Disarmed | FlightTruth::ArmedOnGround);
        if down {
            self.contact.forget_lives_before();
        }
        if down || self.state.fence.held.is_none() {
            self.state.alone_for = Duration::ZERO;
            return;
        }
        // It acts then, and more is not asked for.
        let alone = self.contact.silent(now).min(self.failsafe().after);
        self.state.alone_for = match truth {
            FlightTruth::Airborne(_) => in_steps(alone),
            FlightTruth::Disarmed | FlightTruth::ArmedOnGround | FlightTruth::Unknown(_) => {
                self.state.alone_for.min(alone)
            }
        };
    }

    /// Takes in how long the battery of the vehicle, which does `truth`, has been low in this flight.
    pub(super) fn count_low(&mut self, truth: FlightTruth, now: Moment) {
        self.state.low_for = match truth {
            FlightTruth::Airborne(_) => in_steps(self.gauge.low_so_far(now).min(LOW_AT_MOST)),
            FlightTruth::Disarmed | FlightTruth::ArmedOnGround => Duration::ZERO,
            FlightTruth::Unknown(_) => self.state.low_for,
        };
    }
}
