//! A satellite receiver with an error, by its own datum or a wander: its messages are off, the truth is not.

mod support;

use mavlink::dialects::ardupilotmega::MavMessage;
use sitl::model::{Autopilot, GpsError, VehicleConfig};
use support::{Bench, HOME, near};

const BOTH: [Autopilot; 2] = [Autopilot::ArduPilot, Autopilot::Px4];

/// Altitudes above the sea and above home, meters, and accuracies, millimeters, of a vehicle on the ground.
fn reports(autopilot: Autopilot, gps: GpsError) -> (f64, f64, f64, [u32; 2]) {
    let mut config = VehicleConfig::new(autopilot, 1, HOME);
    config.gps = gps;
    let mut bench = Bench::with(config);
    bench.pass_to(60.0);
    bench.stream(24, 1.0);
    bench.stream(33, 1.0);
    bench.pass_to(65.0);
    let (mut amsl, mut above_home, mut accuracy) = (f64::NAN, f64::NAN, [0; 2]);
    for (_, message) in bench.messages() {
        match message {
            MavMessage::GLOBAL_POSITION_INT(m) => {
                (amsl, above_home) = (f64::from(m.alt) / 1000.0, f64::from(m.relative_alt) / 1000.0);
            }
            MavMessage::GPS_RAW_INT(m) => accuracy = [m.h_acc, m.v_acc],
            _ => {}
        }
    }
    (amsl, above_home, bench.vehicle.truth().place.amsl_m, accuracy)
}

#[test]
fn a_receiver_of_another_datum_shifts_altitudes_above_the_sea_and_not_above_home() {
    for autopilot in BOTH {
        let gps = GpsError {
            altitude_offset_m: 6.5,
            ..GpsError::default()
        };
        let (amsl, above_home, truth, _) = reports(autopilot, gps);
        near("above the sea", amsl, HOME.amsl_m + 6.5, 0.3);
        near("above home", above_home, 0.0, 0.3);
        near("in truth", truth, HOME.amsl_m, 0.01);
    }
}

#[test]
fn a_receiver_says_how_accurate_it_is_as_it_is_set() {
    for autopilot in BOTH {
        let (amsl, _, _, accuracy) = reports(autopilot, GpsError::default());
        near("above the sea", amsl, HOME.amsl_m, 0.3);
        assert_eq!(accuracy, [900, 1780]);
        let bad = GpsError {
            horizontal_accuracy_m: 7.25,
            vertical_accuracy_m: 0.0,
            ..GpsError::default()
        };
        assert_eq!(reports(autopilot, bad).3, [7250, 0]);
    }
}
