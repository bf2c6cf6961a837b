//! Whether the mode that a program asks for is passed on to its autopilot.
//!
//! A pilot, or a failsafe of the autopilot, may have changed the mode since the last HEARTBEAT, and a program that repeats its request would
//! take the vehicle from them before the next one shows it. So a request for the mode that the vehicle has is answered and not passed on, one for
//! the other of a program's two modes passes once after each HEARTBEAT and only while that is of now, and no request takes it out of any third
//! mode. A program never needs to ask for GUIDED of ArduCopter, which holds in it.

use super::fields;
use link::raw::RawFrame;
use model::units::{Address, SystemId};
use std::time::Duration;
use tokio::time::Instant;

/// Values of HEARTBEAT.custom_mode: ArduCopter, then PX4.
pub const GUIDED: u32 = 4;
pub const OFFBOARD: u32 = 0x0006_0000;
pub const AUTO_LOITER: u32 = 0x0304_0000;

/// Autopilots send HEARTBEAT once a second.
const MODE_IS_OF_NOW: Duration = Duration::from_millis(1200);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgment {
    /// No later than this.
    Passes(Instant),
    /// The vehicle is in that mode: the request is answered, and not passed on.
    HasIt,
    /// The vehicle is in a mode out of which no program takes it.
    Refused,
    /// The mode is not of now, or was asked for since: programs ask again.
    Later,
}

#[derive(Clone, Copy, Debug)]
struct Heard {
    who: Address,
    mode: u32,
    at: Instant,
    asked: bool,
}

#[derive(Debug, Default)]
pub struct ModeRequests(Option<Heard>);

impl ModeRequests {
    pub fn hear(&mut self, beat: &RawFrame) {
        self.0 = Some(Heard {
            who: beat.sender(),
            mode: fields::unsigned(beat, 0),
            at: beat.at,
            asked: false,
        });
    }

    /// `None`: `target` is not for it.
    pub fn autopilot(&self, target: Option<Address>) -> Option<Address> {
        let who = self.0.as_ref()?.who;
        let to = target.map_or(SystemId(0), |target| target.system);
        (to == SystemId(0) || to == who.system).then_some(who)
    }

    pub fn judge(&mut self, wanted: u32, target: Option<Address>, now: Instant) -> Judgment {
        let is_its = self.autopilot(target).is_some();
        let Some(heard) = self.0.as_mut().filter(|_| is_its) else {
            return Judgment::Later;
        };
        let is_of_now = now.saturating_duration_since(heard.at) <= MODE_IS_OF_NOW;
        if !is_of_now || heard.asked {
            return Judgment::Later;
        }
        if heard.mode == wanted {
            return Judgment::HasIt;
        }
        match heard.mode {
            OFFBOARD | AUTO_LOITER => {
                heard.asked = true;
                Judgment::Passes(heard.at + MODE_IS_OF_NOW)
            }
            _ => Judgment::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::{frame, from_line};
    use link::dialect::{HEARTBEAT_DATA, MavAutopilot, MavMessage, MavType};
    use link::raw::Direction;

    const VEHICLE: Address = Address::new(7, 1);
    const POSCTL: u32 = 0x0003_0000;

    fn beat(who: Address, custom_mode: u32, at: Instant) -> RawFrame {
        let message = MavMessage::HEARTBEAT(HEARTBEAT_DATA {
            custom_mode,
            mavtype: MavType::MAV_TYPE_QUADROTOR,
            autopilot: MavAutopilot::MAV_AUTOPILOT_PX4,
            ..HEARTBEAT_DATA::default()
        });
        RawFrame {
            at,
            ..from_line(frame(who, &message), Direction::Autopilot)
        }
    }

    fn ms(began: Instant, ms: u64) -> Instant {
        began + Duration::from_millis(ms)
    }

    #[test]
    fn a_program_that_repeats_its_mode_takes_it_from_no_pilot_who_has_just_changed_it() {
        let began = Instant::now();
        let mut modes = ModeRequests::default();
        assert_eq!(modes.judge(OFFBOARD, Some(VEHICLE), began), Judgment::Later, "unheard");
        for mode in [OFFBOARD, GUIDED] {
            modes.hear(&beat(VEHICLE, mode, began));
            // The pilot changes it meanwhile, which no HEARTBEAT has shown.
            for after in [50, 150, 1150] {
                let judged = modes.judge(mode, Some(VEHICLE), ms(began, after));
                assert_eq!(judged, Judgment::HasIt, "{mode:#x} after {after} ms");
            }
        }
        for theirs in [POSCTL, 5] {
            modes.hear(&beat(VEHICLE, theirs, began));
            for wanted in [OFFBOARD, AUTO_LOITER, GUIDED] {
                assert_eq!(modes.judge(wanted, Some(VEHICLE), began), Judgment::Refused);
            }
        }
    }

    #[test]
    fn the_other_mode_of_a_program_passes_once_after_each_heartbeat_of_now() {
        let began = Instant::now();
        let mut modes = ModeRequests::default();
        for (mode, other) in [(AUTO_LOITER, OFFBOARD), (OFFBOARD, AUTO_LOITER)] {
            modes.hear(&beat(VEHICLE, mode, began));
            let first = modes.judge(other, Some(VEHICLE), ms(began, 300));
            assert_eq!(first, Judgment::Passes(ms(began, 1200)));
            assert_eq!(modes.judge(other, Some(VEHICLE), ms(began, 400)), Judgment::Later);
            assert_eq!(modes.judge(mode, Some(VEHICLE), ms(began, 400)), Judgment::Later);
            modes.hear(&beat(VEHICLE, mode, ms(began, 1000)));
            assert_eq!(
                modes.judge(other, Some(VEHICLE), ms(began, 2300)),
                Judgment::Later,
                "old"
            );
            let again = modes.judge(other, Some(VEHICLE), ms(began, 1900));
            assert_eq!(again, Judgment::Passes(ms(began, 2200)));
        }
    }

    #[test]
    fn what_is_for_another_vehicle_is_not_judged_by_the_mode_of_this_one() {
        let began = Instant::now();
        let mut modes = ModeRequests::default();
        modes.hear(&beat(VEHICLE, AUTO_LOITER, began));
        assert_eq!(modes.judge(OFFBOARD, Some(Address::new(8, 1)), began), Judgment::Later);
        assert_eq!(modes.autopilot(Some(Address::new(8, 1))), None);
        for target in [None, Some(Address::new(0, 0)), Some(Address::new(7, 0))] {
            assert_eq!(modes.autopilot(target), Some(VEHICLE), "{target:?}");
        }
    }
}
