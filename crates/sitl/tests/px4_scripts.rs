//! Corrected differences in random scripts from the real PX4 (a70a5583), whose verdicts and times stand here.

mod support;

use sitl::model::{Autopilot, Firmware, VehicleConfig};
use sitl::wire::{Address, LocalTarget, Request};
use support::Verdict::{self, Accepted, Denied, Failed, Other, TemporarilyRejected, Unsupported};
use support::px4::*;
use support::{Bench, HOME, US};

const OFFBOARD: u32 = 0x0006_0000;
const POSITION: u32 = 0x0003_0000;
const ALTITUDE: u32 = 0x0002_0000;
const STABILIZED: u32 = 0x0007_0000;
const TERMINATION: u32 = 0x000A_0000;
const ORBIT: u32 = 0x0103_0000;
const PLACE_ONLY: u16 = 0b1101_1111_1000;
const VELOCITY_ONLY: u16 = 0b1101_1100_0111;
const NOTHING: u16 = 0b1111_1111_1111;

fn plain(bench: &mut Bench, id: u16) -> Vec<Verdict> {
    bench.verdicts(id, [0.0; 7])
}

fn set_point(bench: &mut Bench, frame: u8, type_mask: u16) {
    bench.receive(Request::Steer(LocalTarget {
        to: US,
        frame,
        type_mask,
        place_m: [10.0, 0.0, -15.0],
        velocity_m_s: [0.0; 3],
    }));
}

fn keep(bench: &mut Bench, seconds: f64) {
    let end = bench.now_s() + seconds;
    while bench.now_s() < end {
        set_point(bench, 1, PLACE_ONLY);
        bench.pass(0.2);
    }
}

#[test]
fn commands_without_an_effect_that_is_modelled_get_the_verdicts_of_the_real_one() {
    let mut bench = ready();
    for silent in [
        0, 2, 84, 93, 203, 214, 242, 311, 420, 500, 521, 532, 1000, 2003, 3000, 42600,
    ] {
        assert_eq!(plain(&mut bench, silent), [], "{silent}");
    }
    for accepted in [80, 178, 179, 186, 191, 195, 197, 201, 519, 520, 525] {
        assert_eq!(plain(&mut bench, accepted), [Accepted], "{accepted}");
    }
    for unsupported in [16, 115, 183, 207, 224, 9999] {
        assert_eq!(plain(&mut bench, unsupported), [Unsupported], "{unsupported}");
    }
    assert_eq!(plain(&mut bench, 189), [Other(6)], "cancelled");
    assert_eq!(plain(&mut bench, 212), [Other(5)], "in progress");
    assert_eq!(plain(&mut bench, 262), [Failed]);
}

#[test]
fn what_px4_1_18_has_removed_is_unsupported_there_and_request_message_gives_it() {
    for (firmware, verdict) in [(Firmware::Px4V116, Accepted), (Firmware::Px4V118, Unsupported)] {
        let mut config = VehicleConfig::new(Autopilot::Px4, 1, HOME);
        config.firmware = firmware;
        let mut bench = Bench::with(config);
        bench.pass_to(20.0);
        for removed in [410, 519, 520] {
            assert_eq!(plain(&mut bench, removed), [verdict], "{removed} of {firmware:?}");
        }
        for message in [148.0, 242.0, 300.0] {
            let asked = [message, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
            assert_eq!(bench.verdicts(512, asked), [Accepted], "{message} of {firmware:?}");
        }
        let takes_over = bench.vehicle.parameter("MAN_OVERRIDE_SPD").is_some();
        assert_eq!(takes_over, firmware == Firmware::Px4V118, "{firmware:?}");
        for parameter in ["COM_OBC_LOSS_T", "COM_TAKEOFF_ACT"] {
            let is_there = bench.vehicle.parameter(parameter).is_some();
            assert_eq!(is_there, firmware == Firmware::Px4V116, "{parameter} of {firmware:?}");
        }
    }
}

#[test]
fn each_version_reports_itself_and_the_commit_that_was_flown() {
    for (firmware, version, commit) in [
        (Firmware::Recorded, 0x0111_0040, [0, 0, 0, 0x93, 0x83, 0x55, 0x0A, 0xA7]),
        (Firmware::Px4V116, 0x0110_00FF, [0, 0, 0, 0x57, 0x91, 0x53, 0xA3, 0x6E]),
        (Firmware::Px4V118, 0x0112_0080, [0, 0, 0, 0x80, 0xE5, 0xF4, 0xC4, 0x83]),
    ] {
        let mut config = VehicleConfig::new(Autopilot::Px4, 1, HOME);
        config.firmware = firmware;
        let mut bench = Bench::with(config);
        bench.pass_to(5.0);
        assert_eq!(bench.version(), (version, commit), "{firmware:?}");
    }
}

#[test]
fn px4_1_16_acknowledges_a_mode_before_it_judges_it_and_1_18_only_afterwards() {
    for (firmware, verdicts) in [
        (Firmware::Px4V116, &[Accepted, TemporarilyRejected][..]),
        (Firmware::Px4V118, &[TemporarilyRejected]),
    ] {
        let mut config = VehicleConfig::new(Autopilot::Px4, 1, HOME);
        config.firmware = firmware;
        let mut bench = hover(ready_with(config), 10.0);
        set_point(&mut bench, 8, PLACE_ONLY);
        assert_eq!(
            set_mode(&mut bench, 6.0, 0.0),
            verdicts,
            "a place in the body frame is no set-point; {firmware:?}"
        );
    }
}

fn version_118(name: &str, value: f32) -> VehicleConfig {
    let mut config = VehicleConfig::new(Autopilot::Px4, 1, HOME);
    config.firmware = Firmware::Px4V118;
    config.parameters = vec![(name.to_owned(), value)];
    config
}

#[test]
fn a_fast_stick_takes_px4_1_18_over_unless_its_parameter_is_negative() {
    for (speed, mode) in [(1.0, POSITION), (-1.0, HOLD)] {
        let mut bench = hover(ready_with(version_118("MAN_OVERRIDE_SPD", speed)), 10.0);
        bench.vehicle.fly_by_stick(HOME);
        assert_eq!(bench.truth().custom_mode, mode, "{speed}");
    }
}

#[test]
fn a_joystick_that_is_moved_fast_takes_px4_over_where_its_version_allows() {
    for (firmware, name, value, mode) in [
        (Firmware::Px4V118, "MAN_OVERRIDE_SPD", 1.0, POSITION),
        (Firmware::Px4V118, "MAN_OVERRIDE_SPD", -1.0, HOLD),
        (Firmware::Px4V116, "COM_RC_OVERRIDE", 1.0, POSITION),
        (Firmware::Px4V116, "COM_RC_OVERRIDE", 2.0, HOLD),
    ] {
        let mut config = VehicleConfig::new(Autopilot::Px4, 1, HOME);
        config.firmware = firmware;
        config.parameters = vec![(name.to_owned(), value)];
        let mut bench = hover(ready_with(config), 10.0);
        let roll = |bench: &mut Bench, right: i16| {
            let (system, axes) = (US.system, [0, right, 500, 0]);
            bench.receive(Request::Sticks { system, axes });
            bench.pass(0.05);
        };
        for slowly in 0..40 {
            roll(&mut bench, slowly * 10);
        }
        assert_eq!(bench.truth().custom_mode, HOLD, "slowly, {name} {value}");
        for fast in 0..5 {
            roll(&mut bench, 400 + fast * 120);
        }
        assert_eq!(bench.truth().custom_mode, mode, "{name} {value}");
    }
}

#[test]
fn px4_1_18_arms_with_a_remote_id_transmitter_and_acts_without_one_in_flight_as_its_parameter_says() {
    const TRANSMITTER: Address = Address {
        system: 1,
        component: 236,
    };
    let transmit = |bench: &mut Bench, seconds: u32| {
        for _ in 0..seconds {
            bench.receive_from(TRANSMITTER, Request::Heartbeat { kind: 34 });
            bench.pass(1.0);
        }
    };
    for (value, mode) in [(2.0, HOLD), (3.0, RETURN), (4.0, LAND), (5.0, TERMINATION)] {
        let mut bench = ready_with(version_118("COM_ARM_ODID", value));
        assert_eq!(bench.arm(), TemporarilyRejected, "{value}");
        assert!(bench.sent_text("Preflight Fail: Open Drone ID system missing"));
        transmit(&mut bench, 1);
        assert_eq!(bench.arm(), Accepted, "{value}");
        take_off_to(&mut bench, 508.0);
        transmit(&mut bench, 30);
        assert_eq!(bench.truth().custom_mode, HOLD, "{value}");
        bench.until("its mode", 12.0, |bench| {
            bench.now_s() > 45.0 && bench.truth().custom_mode == mode
        });
    }
}

#[test]
fn px4_1_18_misses_a_companion_as_late_as_the_recorded_one() {
    const LOST: &str = "Connection to mission computer lost\t";
    for firmware in [Firmware::Recorded, Firmware::Px4V118] {
        let mut config = VehicleConfig::new(Autopilot::Px4, 1, HOME);
        config.firmware = firmware;
        let mut bench = ready_with(config);
        let companion = Address {
            system: 1,
            component: 191,
        };
        bench.receive_from(companion, Request::Heartbeat { kind: COMPANION });
        bench.pass(5.5);
        assert!(!bench.sent_text(LOST), "{firmware:?}");
        bench.pass(1.5);
        assert!(bench.sent_text(LOST), "{firmware:?}");
    }
}

#[test]
fn a_reposition_without_the_bit_to_change_the_mode_is_unsupported() {
    let mut bench = hovering(10.0);
    let to = |bench: &mut Bench, change: f32| {
        bench.command_int(192, 0, [-1.0, change, 0.0, NAN], 473_978_420, 85_455_940, 500.0)
    };
    assert_eq!(to(&mut bench, 0.0), Unsupported);
    assert_eq!(to(&mut bench, 1.0), Accepted);
}

#[test]
fn an_orbit_and_a_precision_landing_are_modes_of_their_own() {
    let mut bench = hovering(10.0);
    assert_eq!(plain(&mut bench, 34), [Accepted]);
    assert_eq!(bench.truth().custom_mode, ORBIT);
    assert_eq!(plain(&mut bench, 23), [Accepted]);
    assert_eq!(bench.truth().custom_mode, 0x0904_0000);
}

#[test]
fn sub_modes_are_those_of_the_real_one() {
    let mut bench = ready();
    for (main, sub, mode) in [
        (3.0, 1.0, POSITION),
        (3.0, 2.0, 0x0203_0000),
        (4.0, 0.0, MISSION),
        (4.0, 11.0, 0x0B04_0000),
    ] {
        assert_eq!(set_mode(&mut bench, main, sub), [Accepted, Accepted]);
        assert_eq!(bench.truth().custom_mode, mode);
        assert_eq!(bench.arm(), TemporarilyRejected);
    }
}

#[test]
fn offboard_needs_set_points_in_the_air_and_for_arming() {
    let mut bench = ready();
    assert_eq!(set_mode(&mut bench, 6.0, 0.0), [Accepted, Accepted]);
    assert_eq!(bench.arm(), TemporarilyRejected);
    keep(&mut bench, 1.0);
    assert_eq!(bench.arm(), Accepted);
    let mut bench = hovering(10.0);
    assert_eq!(set_mode(&mut bench, 6.0, 0.0), [Accepted, TemporarilyRejected]);
    for (frame, mask) in [(7, PLACE_ONLY), (9, PLACE_ONLY), (20, PLACE_ONLY), (1, NOTHING)] {
        set_point(&mut bench, frame, mask);
        assert_eq!(
            set_mode(&mut bench, 6.0, 0.0),
            [Accepted, TemporarilyRejected],
            "frame {frame}"
        );
    }
    keep(&mut bench, 1.0);
    assert_eq!(set_mode(&mut bench, 6.0, 0.0), [Accepted, Accepted]);
    assert_eq!(bench.truth().custom_mode, OFFBOARD);
}

#[test]
fn armed_in_offboard_it_takes_off_to_the_set_point_and_is_in_the_air_at_once() {
    let mut bench = ready();
    keep(&mut bench, 1.0);
    assert_eq!(set_mode(&mut bench, 6.0, 0.0), [Accepted, Accepted]);
    assert_eq!(bench.arm(), Accepted);
    let armed_s = bench.now_s();
    keep(&mut bench, 15.0);
    let states: Vec<(f64, u8)> = bench
        .landed_states()
        .into_iter()
        .map(|(at, state)| (at, state as u8))
        .collect();
    assert_eq!(states.iter().map(|(_, state)| *state).collect::<Vec<_>>(), [1, 2]);
    support::near("in the air", states[1].0 - armed_s, 1.6, 0.4);
    support::near("height", bench.truth().height_m, 15.0, 2.0);
}

#[test]
fn a_velocity_that_is_no_number_leaves_the_vehicle_where_it_is() {
    let mut bench = hovering(15.0);
    keep(&mut bench, 1.0);
    assert_eq!(set_mode(&mut bench, 6.0, 0.0), [Accepted, Accepted]);
    keep(&mut bench, 10.0);
    let before = bench.truth().place;
    for _ in 0..20 {
        bench.receive(Request::Steer(LocalTarget {
            to: US,
            frame: 1,
            type_mask: VELOCITY_ONLY,
            place_m: [0.0; 3],
            velocity_m_s: [f32::NAN; 3],
        }));
        bench.pass(0.2);
    }
    assert_eq!(bench.truth().custom_mode, OFFBOARD);
    let north_m = (bench.truth().place.lat_deg - before.lat_deg) * 111_319.5;
    support::near("meters flown since", north_m, 0.0, 1.0);
}

#[test]
fn when_set_points_stop_the_parameter_chooses_which_mode_follows() {
    for (action, mode) in [
        (0, POSITION),
        (1, ALTITUDE),
        (2, STABILIZED),
        (3, RETURN),
        (4, LAND),
        (5, HOLD),
    ] {
        let mut bench = hovering(15.0);
        set_parameter(&mut bench, "COM_OBL_RC_ACT", action);
        keep(&mut bench, 1.0);
        assert_eq!(set_mode(&mut bench, 6.0, 0.0), [Accepted, Accepted]);
        keep(&mut bench, 3.0);
        assert_eq!(bench.truth().custom_mode, OFFBOARD);
        bench.pass(1.4);
        assert_eq!(bench.truth().custom_mode, mode, "COM_OBL_RC_ACT {action}");
        assert_eq!(set_mode(&mut bench, 4.0, 3.0), [Accepted, Accepted]);
        assert_eq!(bench.truth().custom_mode, HOLD);
    }
}

#[test]
fn a_descent_without_gps_is_in_the_air_not_landing() {
    let mut bench = hovering(15.0);
    set_parameter(&mut bench, "SIM_GPS_USED", 0);
    bench.until("descend", 8.0, |bench| bench.truth().custom_mode == LAND);
    bench.pass(1.0);
    assert_eq!(bench.truth().landed_state, 2);
    set_parameter(&mut bench, "SIM_GPS_USED", 10);
    bench.until("hold again", 8.0, |bench| bench.truth().custom_mode == HOLD);
}

#[test]
fn heartbeats_have_no_interval_and_messages_are_those_of_the_real_one() {
    let mut bench = ready();
    let interval = |bench: &mut Bench, id: f32| bench.command(511, [id, 1e6, 0.0, 0.0, 0.0, 0.0, 0.0]);
    for (id, verdict) in [
        (0.0, Failed),
        (69.0, Accepted),
        // MISSION_CURRENT is sent by itself, and is no stream.
        (42.0, Failed),
        (136.0, Failed),
        (125.0, Failed),
        (411.0, Failed),
        (9999.0, Failed),
    ] {
        assert_eq!(interval(&mut bench, id), verdict, "{id}");
    }
    let once = |bench: &mut Bench, id: f32| bench.command(512, [id, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    for (id, verdict) in [
        (0.0, Accepted),
        (93.0, Accepted),
        (42.0, Denied),
        (136.0, Denied),
        (253.0, Denied),
        (330.0, Denied),
        (411.0, Denied),
    ] {
        assert_eq!(once(&mut bench, id), verdict, "{id}");
    }
}

#[test]
fn where_it_flies_to_is_answered_only_in_flight() {
    let once = |bench: &mut Bench| bench.command(512, [87.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(once(&mut ready()), Denied);
    assert_eq!(once(&mut hovering(10.0)), Accepted);
}

#[test]
fn a_reboot_command_without_an_action_is_accepted_in_the_air() {
    let mut bench = hovering(10.0);
    assert_eq!(plain(&mut bench, 246), [Accepted]);
    assert_eq!(bench.command(246, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Denied);
}

#[test]
fn a_place_above_it_lifts_an_armed_vehicle_off_the_ground() {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    bench.pass(4.0);
    assert_eq!(
        bench.command_int(192, 0, [-1.0, 1.0, 0.0, NAN], 473_977_420, 85_455_940, 504.0),
        Accepted
    );
    let asked_s = bench.now_s();
    let in_air_s = bench.until("in the air", 5.0, |bench| bench.truth().landed_state == 2);
    support::near("in the air", in_air_s, 1.2, 0.2);
    bench.pass(20.0);
    support::near("height", bench.truth().height_m, 16.0, 1.0);
    assert!(bench.truth().armed, "{asked_s}");
}

#[test]
fn a_take_off_that_lost_gps_is_begun_anew_when_it_is_back() {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    take_off_to(&mut bench, 518.0);
    bench.pass(8.0);
    set_parameter(&mut bench, "SIM_GPS_USED", 0);
    bench.until("descend", 8.0, |bench| bench.truth().custom_mode == LAND);
    set_parameter(&mut bench, "SIM_GPS_USED", 10);
    bench.until("take off", 5.0, |bench| bench.truth().custom_mode == TAKEOFF);
    let from_m = bench.truth().height_m;
    bench.until("hold", 5.0, |bench| bench.truth().custom_mode == HOLD);
    assert!(bench.truth().height_m > from_m + 1.5, "above where it was");
}

#[test]
fn a_take_off_in_the_air_ends_at_its_height_wherever_that_is() {
    let mut bench = hovering(6.0);
    let lat_e7 = ((support::HOME.lat_deg - 22.0 / 111_319.5) * 1e7) as i32;
    let lon_e7 = (support::HOME.lon_deg * 1e7) as i32;
    let amsl_m = support::HOME.amsl_m as f32 + 7.0;
    assert_eq!(bench.command_int(22, 6, [NAN; 4], lat_e7, lon_e7, amsl_m), Accepted);
    bench.until("hold", 4.0, |bench| bench.truth().custom_mode == HOLD);
}
