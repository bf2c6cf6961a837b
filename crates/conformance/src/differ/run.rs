//! One run of a script on the real autopilot, which the simulated vehicle repeats.

use super::encode::Scene;
use crate::replay::Statement;
use sitl::model::Autopilot;

/// Recording goes on this long after the last step.
pub(super) const TAIL_S: f64 = 6.0;
/// Messages that the comparison and the clock need, and intervals in microseconds.
pub(super) const STREAMS: [(u32, f32); 8] = [
    (2, 50_000.0),
    (1, 500_000.0),
    (33, 200_000.0),
    (245, 200_000.0),
    // PX4 sends these often unless they are switched off.
    (30, -1.0),
    (31, -1.0),
    (83, -1.0),
    (105, -1.0),
];

pub struct Run {
    pub(super) scene: Scene,
    /// In seconds since the script began.
    pub(super) inputs: Vec<(f64, Vec<u8>)>,
    pub(super) steps_s: Vec<f64>,
    pub statements: Vec<Statement>,
    pub end_s: f64,
    /// Parameters as they were before the script.
    pub(super) parameters: Vec<(String, f32)>,
}

/// Parameters of DO_SET_MODE for the mode in which scripts begin.
pub(super) fn base_mode(autopilot: Autopilot) -> Option<[f32; 7]> {
    Some(match autopilot {
        Autopilot::ArduPilot => [1.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        Autopilot::Px4 => [1.0, 4.0, 3.0, 0.0, 0.0, 0.0, 0.0],
    })
}
