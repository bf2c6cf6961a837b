//! What ArduCopter says while it boots, and the moments that matter, as recorded from ArduCopter 90700977 (SITL).
//!
//! Owns: boot times and texts. Must not: hold state.

use MavSeverity::{MAV_SEVERITY_DEBUG as DEBUG, MAV_SEVERITY_INFO as INFO};
use mavlink::dialects::ardupilotmega::MavSeverity;

/// First HEARTBEAT.
pub(super) const FIRST_HEARTBEAT_S: f64 = 1.0;
/// End of the boot: state STANDBY; modes set earlier are forgotten.
pub(super) const INITIALISED_S: f64 = 2.4;
/// GPS has a fix.
pub(super) const GPS_FIX_S: f64 = 10.0;
/// Home and origin are set.
pub(super) const ORIGIN_S: f64 = 20.0;
/// Gyros and accelerometers agree: ready where no position is needed.
pub(super) const SENSORS_SETTLED_S: f64 = 22.5;
/// The estimator uses GPS: ready in GUIDED.
pub(super) const POSITION_S: f64 = 41.4;

/// (seconds after boot, severity, text).
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
