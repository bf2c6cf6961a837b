//! ArduCopter's boot: messages and moments (seconds after boot), as recorded from ArduCopter 90700977 (SITL).

use MavSeverity::{MAV_SEVERITY_DEBUG as DEBUG, MAV_SEVERITY_INFO as INFO};
use mavlink::dialects::ardupilotmega::MavSeverity;

use super::{ArduPilot, modes};
use crate::model::core::Core;
use crate::model::geo::Wgs84;
use crate::model::telemetry::id;

/// During the boot a separate timer sends one each second, besides those that were requested.
pub(super) const FIRST_HEARTBEAT_S: f64 = 1.0;
/// State STANDBY; modes set earlier are discarded.
pub(super) const INITIALIZED_S: f64 = 2.4;
pub(super) const BATTERY_READ_S: f64 = 2.5;
/// Start of requests for mission items; answers come sooner.
pub(super) const ASKS_S: f64 = 2.7;
pub(super) const GPS_FIX_S: f64 = 10.0;
pub(super) const ORIGIN_S: f64 = 20.0;
/// Gyros and accelerometers agree: ready where no position is needed.
pub(super) const SENSORS_SETTLED_S: f64 = 22.5;
/// The estimator uses GPS: ready in GUIDED.
pub(super) const POSITION_S: f64 = 41.4;

pub(super) const TEXTS: &[(f64, MavSeverity, &str)] = &[
    (0.18, DEBUG, "RCInput: decoding UDP (Pulses)"),
    (0.28, INFO, "Calibrating barometer"),
    (1.88, INFO, "Barometer 1 calibration complete"),
    (1.88, INFO, "Barometer 2 calibration complete"),
    (2.42, INFO, "ArduPilot Ready"),
    (2.42, INFO, "AHRS: DCM active"),
    (2.70, INFO, "RC7: SaveWaypoint LOW"),
    (4.42, INFO, "EKF3 IMU0 initialised"),
    (4.42, INFO, "EKF3 IMU1 initialised"),
    (4.42, INFO, "AHRS: EKF3 active"),
    (5.76, INFO, "EKF3 IMU0 tilt alignment complete"),
    (5.76, INFO, "EKF3 IMU1 tilt alignment complete"),
    (5.86, INFO, "EKF3 IMU0 MAG0 initial yaw alignment complete"),
    (5.86, INFO, "EKF3 IMU1 MAG0 initial yaw alignment complete"),
    (9.76, INFO, "GPS 1: probing for u-blox at 230400 baud"),
    (9.78, INFO, "GPS 1: detected u-blox"),
    (20.00, INFO, "EKF3 IMU0 origin set"),
    (20.02, INFO, "Field Elevation Set: 488m"),
    (20.18, INFO, "EKF3 IMU1 origin set"),
    (41.38, INFO, "EKF3 IMU0 is using GPS"),
    (41.58, INFO, "EKF3 IMU1 is using GPS"),
];

impl ArduPilot {
    pub(super) fn boot_step(&mut self, core: &mut Core) {
        if core.uptime_s < INITIALIZED_S && core.uptime_s >= FIRST_HEARTBEAT_S + f64::from(self.boot_beats) {
            self.boot_beats += 1;
            self.send(core, id::HEARTBEAT);
        }
        while let Some(&(at, severity, text)) = TEXTS.get(self.texts_said).filter(|row| core.uptime_s >= row.0) {
            self.texts_said += 1;
            if text == "ArduPilot Ready" {
                self.finish_boot(core);
            }
            if at >= ORIGIN_S && self.origin.is_none() {
                let origin = Wgs84 {
                    amsl_m: core.config.home.amsl_m + 0.1,
                    ..core.place()
                };
                self.origin = Some(origin);
                self.set_home(core, origin);
            }
            self.text(core, severity, text);
        }
    }

    fn finish_boot(&mut self, core: &mut Core) {
        self.initialized = true;
        if self.mode != modes::STABILIZE {
            self.mode = modes::STABILIZE;
            self.announced_mode = modes::STABILIZE;
            self.send(core, id::HEARTBEAT);
        }
    }
}
