//! PX4's default streams, and how they share a link that is too slow for all of them.
//! When the active streams need more than the link's budget, every interval is stretched alike, except HEARTBEAT's: on
//! a stock telemetry radio port 2.35 times, on a companion's port at 57600 baud ten times (recorded). A peer that
//! switches off what it does not need gets the rest at full rate.

use crate::model::Port;
use crate::model::core::Core;
use crate::model::streams::Streams;
use crate::model::telemetry::id;

/// Id, messages a second, bytes on the wire.
type Row = (u32, f64, f64);

const ATTITUDE_TARGET: u32 = 83;
const POSITION_TARGET_LOCAL_NED: u32 = 85;
const HIGHRES_IMU: u32 = 105;
const ODOMETRY: u32 = 331;

const NORMAL: &[Row] = &[
    (id::HEARTBEAT, 1.0, 21.0),
    (id::SYS_STATUS, 1.0, 55.0),
    (id::PING, 0.1, 26.0),
    (id::GPS_RAW_INT, 5.0, 64.0),
    (id::ATTITUDE, 15.0, 40.0),
    (id::ATTITUDE_QUATERNION, 10.0, 60.0),
    (id::LOCAL_POSITION_NED, 1.0, 40.0),
    (id::GLOBAL_POSITION_INT, 5.0, 40.0),
    (id::MISSION_CURRENT, 1.0, 30.0),
    (id::VFR_HUD, 4.0, 32.0),
    (ATTITUDE_TARGET, 2.0, 49.0),
    (POSITION_TARGET_LOCAL_NED, 1.5, 63.0),
    (id::ALTITUDE, 1.0, 44.0),
    (id::BATTERY_STATUS, 0.5, 66.0),
    (id::ESTIMATOR_STATUS, 0.5, 54.0),
    (id::HOME_POSITION, 0.5, 72.0),
    (id::EXTENDED_SYS_STATE, 1.0, 14.0),
    (id::CURRENT_EVENT_SEQUENCE, 0.5, 15.0),
    (id::CURRENT_MODE, 0.5, 21.0),
];
/// Bytes a second; the rest of 1200 is for what is not modelled.
const NORMAL_BUDGET: f64 = 945.0;

const ONBOARD: &[Row] = &[
    (id::HEARTBEAT, 1.0, 21.0),
    (id::SYS_STATUS, 5.0, 55.0),
    (id::SYSTEM_TIME, 1.0, 24.0),
    (id::PING, 1.0, 26.0),
    (id::GPS_RAW_INT, 8.0, 64.0),
    (id::ATTITUDE, 100.0, 40.0),
    (id::ATTITUDE_QUATERNION, 50.0, 60.0),
    (id::LOCAL_POSITION_NED, 30.0, 40.0),
    (id::GLOBAL_POSITION_INT, 50.0, 40.0),
    (id::MISSION_CURRENT, 1.0, 30.0),
    (id::VFR_HUD, 10.0, 32.0),
    (HIGHRES_IMU, 50.0, 74.0),
    (ODOMETRY, 30.0, 244.0),
    (id::ALTITUDE, 10.0, 44.0),
    (id::BATTERY_STATUS, 0.5, 66.0),
    (id::ESTIMATOR_STATUS, 1.0, 54.0),
    (id::HOME_POSITION, 0.5, 72.0),
    (id::EXTENDED_SYS_STATE, 5.0, 14.0),
    (id::CURRENT_EVENT_SEQUENCE, 0.5, 15.0),
    (id::CURRENT_MODE, 0.5, 21.0),
];
const ONBOARD_BUDGET: f64 = 2190.0;

pub(super) const APART: &[u32] = &[id::HEARTBEAT, id::MISSION_CURRENT, id::PING];
const USUAL_BYTES: f64 = 50.0;

fn rows(core: &Core) -> (&'static [Row], f64) {
    match core.config.port {
        Port::Radio => (NORMAL, NORMAL_BUDGET),
        Port::Companion => (ONBOARD, ONBOARD_BUDGET),
        Port::Network => (NORMAL, f64::INFINITY),
    }
}

pub(super) fn default_interval_s(core: &Core, message: u32) -> Option<f64> {
    let row = rows(core).0.iter().find(|row| row.0 == message);
    row.map(|(_, hertz, _)| 1.0 / hertz)
}

/// Each stream counts its interval from the start of the clock, and none begins before `from_s`.
pub(super) fn start(core: &mut Core, from_s: f64, heartbeat_s: f64) {
    for (message, hertz, _) in rows(core).0 {
        let first_s = match *message {
            id::HEARTBEAT => heartbeat_s,
            _ => from_s.max(1.0 / hertz),
        };
        core.streams.every(*message, 1.0 / hertz, first_s);
    }
}

pub(super) fn slower(core: &Core) -> f64 {
    let (rows, budget) = rows(core);
    (load(rows, &core.streams) / budget).max(1.0)
}

fn load(rows: &[Row], streams: &Streams) -> f64 {
    let bytes = |message: u32| {
        rows.iter()
            .find(|row| row.0 == message)
            .map_or(USUAL_BYTES, |row| row.2)
    };
    streams
        .intervals()
        .filter(|(message, _)| !APART.contains(message))
        .map(|(message, interval_s)| bytes(message) / interval_s)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Autopilot, VehicleConfig, Wgs84};

    fn started(port: Port) -> Core {
        let home = Wgs84 {
            lat_deg: 47.0,
            lon_deg: 8.0,
            amsl_m: 0.0,
        };
        let mut config = VehicleConfig::new(Autopilot::Px4, 1, home);
        config.port = port;
        let params = super::super::params(config.firmware);
        let mut core = Core::new(config, params);
        start(&mut core, 0.5, 1.2);
        core
    }

    #[test]
    fn a_radio_port_is_over_twice_as_slow_as_nominal_and_a_companions_port_ten_times() {
        for (port, recorded) in [(Port::Radio, 2.35), (Port::Companion, 10.5), (Port::Network, 1.0)] {
            let slower = slower(&started(port));
            assert!((slower - recorded).abs() < 0.2, "{slower}");
        }
    }

    #[test]
    fn a_peer_that_switches_attitude_and_targets_off_gets_the_rest_at_full_rate() {
        let mut core = started(Port::Radio);
        for message in [30, 31, 32, 74, 83, 85, 141] {
            core.streams.stop(message);
        }
        core.streams.every(24, 1.0, 0.0);
        assert_eq!(slower(&core), 1.0);
    }
}
