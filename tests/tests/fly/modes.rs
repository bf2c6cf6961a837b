//! Flight modes, as the numbers in heartbeats and as commands.

use testkit::autopilots::Stack;

/// ArduCopter's number; PX4's main and sub mode.
#[derive(Clone, Copy, Debug)]
pub struct Mode(pub u8, pub [u8; 2]);

/// The mode in which Skein holds: GUIDED; AUTO.LOITER.
pub const HOLD: Mode = Mode(4, [4, 3]);
pub const MISSION: Mode = Mode(3, [4, 4]);
pub const RETURN: Mode = Mode(6, [4, 5]);
pub const LAND: Mode = Mode(9, [4, 6]);
/// The mode of a person who wants the vehicle to stop: BRAKE; for PX4 a return, the only one without sticks.
pub const PILOTS: Mode = Mode(17, [4, 5]);
/// The modes of a person's sticks, with a position and without one: POSHOLD, ALT_HOLD; POSCTL, ALTCTL.
pub const STICKS: [Mode; 2] = [Mode(16, [3, 0]), Mode(2, [2, 0])];

impl Mode {
    /// As in HEARTBEAT.custom_mode.
    pub fn number(self, stack: Stack) -> u32 {
        match stack {
            Stack::ArduPilot => self.0.into(),
            Stack::Px4 => (u32::from(self.1[0]) << 16) | (u32::from(self.1[1]) << 24),
        }
    }
}
