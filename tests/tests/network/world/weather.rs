//! Wind, and estimates of position that are off, in a share of the worlds in which vehicles fly.

use super::Theme;
use crate::vehicle::Vehicle;
use sitl::model::Wind;

/// The second half of the worlds with stations, which have no aircraft; and of the runs through formations each second.
const SHARE: u64 = 6;
const SHARE_OF_FORMATIONS: u64 = 2;
const SHARE_OF_GATES: u64 = 3;
/// A fresh breeze, which a small vehicle can work against.
const WIND: Wind = Wind {
    speed_m_s: 9.0,
    from_deg: 250.0,
};
/// Both autopilots know their place to about a meter.
const DRIFT_M: f64 = 1.0;

pub fn of_run(seed: u64, theme: Theme, number: usize, vehicle: &Vehicle) {
    let is_rough = match theme {
        Theme::Disorder => seed % SHARE == SHARE / 2 - 1,
        Theme::Formations(_) => seed % SHARE_OF_FORMATIONS == 1,
        Theme::Gate => seed % SHARE_OF_GATES == 1,
        // Each vehicle has a weather of its own there.
        Theme::Wild => false,
        Theme::Uploads(_) | Theme::Rollout(_) | Theme::Missions(_) | Theme::Patrol | Theme::Lent => false,
    };
    if is_rough {
        // Neighbors are off to opposite sides.
        let side = if number.is_multiple_of(2) { 1.0 } else { -1.0 };
        vehicle.is_out_in_the_weather(WIND, side * DRIFT_M);
    }
}
