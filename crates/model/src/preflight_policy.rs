//! How much a vehicle has to be set up before it is armed.

use serde::{Deserialize, Serialize};

/// What the agent makes of an autopilot whose own failsafes are off (invariant 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Preflight {
    /// Nothing; they are not read.
    Ignore,
    #[default]
    Warn,
    /// It does not arm.
    Refuse,
}

/// Whether the autopilot's failsafes prevent arming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Clearance {
    /// They do not.
    #[default]
    Clear,
    /// They are still being read, and the Drone wants them known.
    Reading,
    /// Some are off or unknown, and the Drone wants them on; or nothing is known of the battery.
    Problems,
}
