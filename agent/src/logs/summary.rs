//! What a flight log has in it: how long it is, how long the vehicle was armed and in the air, and how high.

use super::records::Record;
use crate::gcs::autopilots::Autopilots;
use link::decode::decode;
use link::dialect::{MavLandedState, MavMessage};
use link::raw::RawFrame;
use std::time::Duration;

const EXTENDED_SYS_STATE: u32 = 245;
const GLOBAL_POSITION_INT: u32 = 33;
/// Microseconds; a longer silence between two records says nothing about the vehicle.
const GAP: u64 = 10_000_000;

#[derive(Debug, Default)]
pub struct Summary {
    autopilots: Autopilots,
    in_air: bool,
    first: Option<u64>,
    last: u64,
    armed_us: u64,
    in_air_us: u64,
    highest_mm: i32,
}

impl Summary {
    pub fn take(&mut self, record: &Record) {
        let before = *self.first.get_or_insert(record.at_us);
        let since = record.at_us.saturating_sub(self.last.max(before));
        self.last = self.last.max(record.at_us);
        if since <= GAP {
            self.armed_us += if self.autopilots.armed() { since } else { 0 };
            self.in_air_us += if self.in_air { since } else { 0 };
        }
        if self.autopilots.receive(&record.frame).is_some() || !self.is_autopilot(&record.frame) {
            return;
        }
        match read(&record.frame) {
            Some(MavMessage::EXTENDED_SYS_STATE(state)) => self.in_air = is_in_air(state.landed_state),
            Some(MavMessage::GLOBAL_POSITION_INT(position)) if self.in_air => {
                self.highest_mm = self.highest_mm.max(position.relative_alt);
            }
            _ => {}
        }
    }

    fn is_autopilot(&self, frame: &RawFrame) -> bool {
        self.autopilots.has_system(frame.sender().system)
    }

    /// Milliseconds since 1970; 0 while it is empty.
    pub fn begun_ms(&self) -> u64 {
        self.first.unwrap_or(0) / 1000
    }

    pub fn length(&self) -> Duration {
        Duration::from_micros(self.last.saturating_sub(self.first.unwrap_or(self.last)))
    }

    pub const fn armed(&self) -> Duration {
        Duration::from_micros(self.armed_us)
    }

    pub const fn in_air(&self) -> Duration {
        Duration::from_micros(self.in_air_us)
    }

    /// Above home.
    pub fn highest_m(&self) -> f64 {
        f64::from(self.highest_mm) / 1000.0
    }
}

pub(super) const fn is_in_air(state: MavLandedState) -> bool {
    matches!(
        state,
        MavLandedState::MAV_LANDED_STATE_IN_AIR
            | MavLandedState::MAV_LANDED_STATE_TAKEOFF
            | MavLandedState::MAV_LANDED_STATE_LANDING
    )
}

fn read(frame: &RawFrame) -> Option<MavMessage> {
    if !matches!(frame.message_id, EXTENDED_SYS_STATE | GLOBAL_POSITION_INT) {
        return None;
    }
    decode(frame).ok().map(|(_, message)| message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::heartbeat;
    use crate::logs::records::{Records, tests::log_of};
    use link::dialect::{EXTENDED_SYS_STATE_DATA, GLOBAL_POSITION_INT_DATA, MavAutopilot, MavType};

    fn beat(armed: bool) -> MavMessage {
        heartbeat(MavType::MAV_TYPE_QUADROTOR, MavAutopilot::MAV_AUTOPILOT_PX4, armed)
    }

    fn landed(landed_state: MavLandedState) -> MavMessage {
        MavMessage::EXTENDED_SYS_STATE(EXTENDED_SYS_STATE_DATA {
            landed_state,
            ..Default::default()
        })
    }

    fn height(relative_alt: i32) -> MavMessage {
        MavMessage::GLOBAL_POSITION_INT(GLOBAL_POSITION_INT_DATA {
            relative_alt,
            ..Default::default()
        })
    }

    #[test]
    fn a_flight_is_told_by_what_the_autopilot_said() {
        let bytes = log_of(&[
            (1_000, beat(false)),
            (2_000, height(90_000)),
            (3_000, beat(true)),
            (5_000, landed(MavLandedState::MAV_LANDED_STATE_TAKEOFF)),
            (8_000, height(12_500)),
            (12_000, landed(MavLandedState::MAV_LANDED_STATE_ON_GROUND)),
            (13_000, beat(false)),
            (14_000, height(70_000)),
        ]);
        let mut summary = Summary::default();
        Records::of(&bytes).for_each(|record| summary.take(&record));
        assert_eq!((summary.begun_ms(), summary.length()), (1_000, Duration::from_secs(13)));
        assert_eq!(summary.armed(), Duration::from_secs(10));
        assert_eq!(summary.in_air(), Duration::from_secs(7));
        assert!((summary.highest_m() - 12.5).abs() < 1e-9, "only in the air");
    }

    #[test]
    fn a_clock_that_jumps_makes_no_flight_of_years() {
        let bytes = log_of(&[
            (1_000, beat(true)),
            (2_000, beat(true)),
            (900_000_000, beat(true)),
            (5, beat(true)),
        ]);
        let mut summary = Summary::default();
        Records::of(&bytes).for_each(|record| summary.take(&record));
        assert_eq!(summary.armed(), Duration::from_secs(1));
    }
}
