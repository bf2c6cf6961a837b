//! How much a vehicle has to be set up before it is armed.

use serde::{Deserialize, Serialize};

/// Policy for an autopilot whose own failsafes are off (invariant 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Preflight {
    /// They are not even read.
    Ignore,
    #[default]
    Warn,
    Refuse,
}

/// Whether the autopilot's failsafes prevent arming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Clearance {
    #[default]
    Clear,
    /// They are still being read, and the Drone requires them.
    Reading,
    /// Some are off or unknown, and the Drone requires them; or nothing is known of the battery.
    Problems,
}
