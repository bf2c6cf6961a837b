//! Faults that were found by fuzzing and fixed: each a test, so that it does not come back.

use crate::given::{NOW, at, vehicle};
use fleet::flight::memory::{Memory, StepKind};
use model::vehicle::{LandedState, Mode};

/// Found by fuzzing the pilot. A land command was sent, the assignment changed at once, a takeoff followed; the vehicle came down
/// within ten seconds by itself (a reboot in the air). The landing passed for ours, the flight was not over, and the
/// vehicle was armed again. A takeoff forgets the landing, as an arming
/// does.
#[test]
fn a_takeoff_that_follows_a_land_command_ends_that_landing() {
    let mut memory = Memory::default();
    memory.began(StepKind::Land, at(NOW));
    memory.began(StepKind::TakeOff, at(NOW));
    memory.observe(&vehicle(true, Mode::Takeoff, Some(LandedState::TakingOff), 0), at(NOW));
    assert!(!memory.landing_ours(), "whatever lands it now, it is not that command");
    assert_eq!(
        memory.descent_sent(),
        None,
        "and a mode LAND that is observed now is somebody else's"
    );
}
