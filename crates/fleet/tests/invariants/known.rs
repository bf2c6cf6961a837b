//! Faults found by fuzzing, each with a test.

use crate::given::{NOW, at, vehicle};
use fleet::flight::memory::{Memory, StepKind};
use model::vehicle::{LandedState, Mode};

/// Found by fuzzing the pilot: a land command was sent, the assignment changed at once, a takeoff followed; within ten seconds the vehicle
/// came down by itself (a reboot in the air). The landing passed for ours, the flight was not over, and the vehicle was armed again. So a
/// takeoff forgets the landing, as an arming does.
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
