//! Tests of the normalizer.

use super::*;
use crate::discovery::latched_as;
use link::dialect::{BATTERY_INFO_DATA, BATTERY_STATUS_DATA};
use link::dialect::{EXTENDED_SYS_STATE_DATA, HOME_POSITION_DATA, STATUSTEXT_DATA};
use model::inventory::{BatteryWear, Inventory};
use model::units::{Percent, SystemId, Volts};
use model::vehicle::Mode;
use std::time::Duration;

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

fn vehicle(autopilot: Autopilot) -> Vehicle {
    Vehicle {
        identity: Some(latched_as(autopilot, SystemId(1))),
        ..Vehicle::default()
    }
}

fn beat(custom_mode: u32, armed: bool) -> MavMessage {
    let mut base_mode = MavModeFlag::MAV_MODE_FLAG_CUSTOM_MODE_ENABLED;
    base_mode.set(MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED, armed);
    MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        custom_mode,
        base_mode,
        ..HEARTBEAT_DATA::default()
    })
}

fn landed(landed_state: MavLandedState) -> MavMessage {
    MavMessage::EXTENDED_SYS_STATE(EXTENDED_SYS_STATE_DATA {
        landed_state,
        ..EXTENDED_SYS_STATE_DATA::default()
    })
}

fn position(time_boot_ms: u32, alt: i32, relative_alt: i32) -> MavMessage {
    MavMessage::GLOBAL_POSITION_INT(GLOBAL_POSITION_INT_DATA {
        time_boot_ms,
        lat: 473_977_420,
        lon: 85_455_940,
        alt,
        relative_alt,
        ..GLOBAL_POSITION_INT_DATA::default()
    })
}

fn ready(is: bool) -> MavMessage {
    let mut health = MavSysStatusSensor::empty();
    health.set(MavSysStatusSensor::MAV_SYS_STATUS_PREARM_CHECK, is);
    MavMessage::SYS_STATUS(SYS_STATUS_DATA {
        onboard_control_sensors_health: health,
        voltage_battery: 12_600,
        battery_remaining: 80,
        ..SYS_STATUS_DATA::default()
    })
}

fn text(words: &str) -> MavMessage {
    MavMessage::STATUSTEXT(STATUSTEXT_DATA {
        text: words.into(),
        ..STATUSTEXT_DATA::default()
    })
}

fn receive(vehicle: &mut Vehicle, messages: &[MavMessage]) -> Normalizer {
    let mut normalizer = Normalizer::default();
    for message in messages {
        normalizer.receive(vehicle, message, at(0));
    }
    normalizer
}

const GROUND: MavLandedState = MavLandedState::MAV_LANDED_STATE_ON_GROUND;

#[test]
fn heartbeat_and_landed_state_tell_whether_it_flies() {
    let mut v = vehicle(Autopilot::Px4);
    receive(
        &mut v,
        &[
            beat(0x0204_0000, true),
            landed(MavLandedState::MAV_LANDED_STATE_TAKEOFF),
        ],
    );
    assert_eq!(v.truth(at(0)).flying(), Some(true));
    assert_eq!(v.mode(at(0)), Some(Mode::Takeoff));
    receive(&mut v, &[landed(MavLandedState::MAV_LANDED_STATE_UNDEFINED)]);
    assert_eq!(v.truth(at(0)).flying(), None);
}

#[test]
fn arming_checks_that_passed_in_another_mode_say_nothing_about_this_one() {
    let (stabilize, guided) = (beat(0, false), beat(4, false));
    let mut v = vehicle(Autopilot::ArduPilot);
    let mut n = receive(&mut v, &[stabilize.clone(), ready(true), stabilize.clone()]);
    let mut take = |n: &mut Normalizer, message: &MavMessage, ms| {
        n.receive(&mut v, message, at(ms));
        v.ready(at(ms))
    };
    assert_eq!(take(&mut n, &stabilize, 0), Some(true));
    // SYS_STATUS reports the checks that ran last, until they run again.
    for mode in [&guided, &stabilize, &guided] {
        assert_eq!(take(&mut n, mode, 100), None);
        assert_eq!(take(&mut n, &ready(true), 200), None);
        n.asked_for_checks();
        assert_eq!(take(&mut n, &ready(true), 300), None);
    }
    n.checks_ran();
    assert_eq!(take(&mut n, &ready(false), 400), Some(false));
    // Those that were ordered to run before the mode changed may have been the other mode's.
    n.asked_for_checks();
    take(&mut n, &stabilize, 500);
    n.checks_ran();
    assert_eq!(take(&mut n, &ready(false), 600), None);
    // An autopilot that takes no such order runs them by itself.
    assert_eq!(take(&mut n, &ready(true), 3499), None);
    assert_eq!(take(&mut n, &ready(true), 3500), Some(true));
}

#[test]
fn home_is_taken_on_the_ground_and_kept_in_the_air() {
    let mut v = vehicle(Autopilot::Px4);
    receive(
        &mut v,
        &[
            beat(0x0304_0000, false),
            landed(GROUND),
            position(1000, 488_500, 500),
            position(1500, 488_500, 500),
        ],
    );
    assert_eq!(v.home, Some(AltitudeAmsl(488.0)));
    let home = MavMessage::HOME_POSITION(HOME_POSITION_DATA {
        altitude: 488_700,
        ..HOME_POSITION_DATA::default()
    });
    receive(&mut v, &[home.clone(), home]);
    assert_eq!(v.home, Some(AltitudeAmsl(488.7)));
    receive(
        &mut v,
        &[
            beat(0x0304_0000, true),
            landed(MavLandedState::MAV_LANDED_STATE_IN_AIR),
            position(9000, 499_000, 9000),
            position(9500, 499_000, 9000),
        ],
    );
    assert_eq!(
        v.home,
        Some(AltitudeAmsl(488.7)),
        "in the air it wanders and is not taken"
    );
}

#[test]
fn one_height_of_home_that_nothing_agrees_with_is_not_taken() {
    let mut v = vehicle(Autopilot::Px4);
    let quiet = [beat(0x0304_0000, false), landed(GROUND), position(1000, 488_500, 500)];
    receive(&mut v, &quiet);
    assert_eq!(v.home, None, "it came alone");
    let noise = [
        position(1500, 488_500, 500),
        position(2000, 788_500, 500),
        position(2500, 489_500, 500),
    ];
    receive(&mut v, &[quiet.as_slice(), &noise].concat());
    assert_eq!(
        v.home,
        Some(AltitudeAmsl(488.0)),
        "neither the noise nor the first report after it"
    );
}

#[test]
fn a_home_at_an_altitude_that_its_vehicle_does_not_count_from_is_not_known() {
    let home = |altitude| {
        MavMessage::HOME_POSITION(HOME_POSITION_DATA {
            latitude: 473_977_420,
            longitude: 85_455_940,
            altitude,
            ..HOME_POSITION_DATA::default()
        })
    };
    let stands = [beat(4, false), landed(GROUND)];
    let counts = [position(1000, 488_500, 500), position(1200, 488_500, 500)];
    for (altitude, is_known) in [
        (488_000, true),
        (670_000, true),
        (290_000, true),
        (700_000, false),
        (0, false),
        (i32::MAX, false),
        (i32::MIN, false),
    ] {
        for messages in [
            [&stands[..], &counts, &[home(altitude)]].concat(),
            [&stands[..], &[home(altitude)], &counts].concat(),
        ] {
            let mut v = vehicle(Autopilot::ArduPilot);
            let mut n = receive(&mut v, &messages);
            let known = (v.home_at.is_some(), v.home_disagrees_m.is_none());
            assert_eq!(known, (is_known, is_known), "{altitude} mm");
            assert_eq!(v.home, Some(AltitudeAmsl(488.0)), "{altitude} mm");
            n.receive(&mut v, &home(488_000), at(0));
            assert!(v.home_at.is_some() && v.home_disagrees_m.is_none(), "it was set anew");
            let known = v.home_at;
            n.receive(&mut v, &beat(4, true), at(0));
            n.receive(&mut v, &landed(MavLandedState::MAV_LANDED_STATE_IN_AIR), at(0));
            n.receive(&mut v, &home(9_000_000), at(0));
            assert_eq!(v.home_at, known, "in flight it stays where it was");
        }
    }
}

#[test]
fn values_that_cannot_be_true_are_not_taken() {
    let mut v = vehicle(Autopilot::ArduPilot);
    let nowhere = GLOBAL_POSITION_INT_DATA {
        lat: 0,
        lon: 0,
        ..GLOBAL_POSITION_INT_DATA::default()
    };
    let north = GLOBAL_POSITION_INT_DATA {
        lat: 1_000_000_000,
        lon: 1,
        ..GLOBAL_POSITION_INT_DATA::default()
    };
    receive(
        &mut v,
        &[
            MavMessage::GLOBAL_POSITION_INT(nowhere),
            MavMessage::GLOBAL_POSITION_INT(north),
            position(1, i32::MAX, 0),
        ],
    );
    assert_eq!((v.position, v.home), (None, None));
}

#[test]
fn a_heading_comes_with_the_position_and_goes_when_the_autopilot_does_not_know_it() {
    let mut v = vehicle(Autopilot::Px4);
    for (hdg, known) in [
        (27_450, Some(274.5)),
        (u16::MAX, None),
        (35_999, Some(359.99)),
        (36_000, None),
    ] {
        let MavMessage::GLOBAL_POSITION_INT(message) = position(1000, 488_500, 500) else {
            unreachable!()
        };
        receive(
            &mut v,
            &[MavMessage::GLOBAL_POSITION_INT(GLOBAL_POSITION_INT_DATA {
                hdg,
                ..message
            })],
        );
        assert_eq!(v.heading.map(|heading| heading.value.0), known);
    }
}

#[test]
fn reasons_are_cleared_when_the_vehicle_becomes_ready_and_not_by_staying_so() {
    let mut v = vehicle(Autopilot::ArduPilot);
    receive(&mut v, &[ready(false), text("PreArm: Need Position Estimate")]);
    assert_eq!(v.reasons.len(), 1);
    receive(&mut v, &[ready(true)]);
    assert!(v.reasons.is_empty());
    receive(&mut v, &[text("Arm: Compass not healthy"), ready(true)]);
    assert_eq!(v.reasons.len(), 1, "refused although the bit says ready");
    receive(&mut v, &[beat(4, true)]);
    assert!(v.reasons.is_empty());
}

#[test]
fn the_battery_is_the_one_of_battery_status_while_that_is_heard() {
    let mut v = vehicle(Autopilot::ArduPilot);
    let mut voltages = [u16::MAX; 10];
    voltages[0] = 4000;
    voltages[1] = 4100;
    let battery = MavMessage::BATTERY_STATUS(BATTERY_STATUS_DATA {
        voltages,
        battery_remaining: -1,
        ..BATTERY_STATUS_DATA::default()
    });
    receive(&mut v, &[battery, ready(true)]);
    assert_eq!(
        v.battery.map(|b| b.value),
        Some(Battery {
            charge: model::vehicle::Charge::Unknown,
            remaining: None,
            voltage: Some(Volts(8.1))
        })
    );
    let mut only_sys_status = vehicle(Autopilot::ArduPilot);
    receive(&mut only_sys_status, &[ready(true)]);
    assert_eq!(
        only_sys_status.battery.map(|b| b.value.voltage),
        Some(Some(Volts(12.6)))
    );
}

#[test]
fn a_clock_that_goes_back_is_a_reboot_and_forgets_all_but_who_it_is() {
    let mut v = vehicle(Autopilot::ArduPilot);
    let mut n = receive(&mut v, &[beat(4, false), landed(GROUND), position(60_000, 488_000, 0)]);
    assert!(
        !n.receive(&mut v, &position(500, 488_000, 0), at(1)).rebooted,
        "one odd value is not enough"
    );
    assert!(n.receive(&mut v, &position(1000, 488_000, 0), at(2)).rebooted);
    assert!(v.identity.is_some() && v.heartbeat.is_none() && v.landed.is_none());
    assert!(!n.receive(&mut v, &position(1500, 488_000, 0), at(3)).rebooted);
}

#[test]
fn messages_whose_clocks_differ_are_no_reboot() {
    let attitude = |ms| {
        MavMessage::ATTITUDE(link::dialect::ATTITUDE_DATA {
            time_boot_ms: ms,
            ..link::dialect::ATTITUDE_DATA::default()
        })
    };
    // One message that never gives the time, and one whose clock is a minute and a half behind.
    for behind in [100_000, 90_000] {
        let (mut n, mut v) = (Normalizer::default(), vehicle(Autopilot::Px4));
        for s in 0..60_u32 {
            let now = at(u64::from(s) * 1000);
            let ms = 100_000 + s * 1000;
            let slow = if behind == 100_000 { 0 } else { ms - behind };
            for message in [
                attitude(ms),
                attitude(ms + 20),
                position(slow, 488_000, 0),
                position(slow, 488_000, 0),
            ] {
                assert!(
                    !n.receive(&mut v, &message, now).rebooted,
                    "after {s} s, {behind} ms behind"
                );
            }
        }
        // A true one is still noticed.
        n.receive(&mut v, &attitude(500), at(61_000));
        assert!(n.receive(&mut v, &attitude(520), at(61_000)).rebooted);
        for ms in [540, 1040] {
            let again = n.receive(&mut v, &position(ms, 488_000, 0), at(61_000 + u64::from(ms)));
            assert!(!again.rebooted, "once");
        }
    }
}

#[test]
fn a_single_broken_time_is_no_reboot() {
    let mut v = vehicle(Autopilot::ArduPilot);
    let mut n = Normalizer::default();
    for ms in [10_000, 4_000_000_000, 10_500, 3, 11_000, 11_500, 12_000] {
        assert!(!n.receive(&mut v, &position(ms, 488_000, 0), at(0)).rebooted, "{ms}");
    }
}

#[test]
fn board_and_wear_are_those_that_were_told_and_are_forgotten_at_a_reboot() {
    let (mut v, mut n) = (vehicle(Autopilot::Px4), Normalizer::default());
    let version = MavMessage::AUTOPILOT_VERSION(AUTOPILOT_VERSION_DATA {
        board_version: 9 << 16,
        vendor_id: 0x26ac,
        product_id: 0x11,
        ..AUTOPILOT_VERSION_DATA::default()
    });
    let battery = |id, cycle_count, state_of_health| {
        MavMessage::BATTERY_INFO(BATTERY_INFO_DATA {
            id,
            cycle_count,
            state_of_health,
            ..BATTERY_INFO_DATA::default()
        })
    };
    let messages = [
        position(500_000, 488_000, 0),
        version,
        battery(0, 212, 81),
        battery(1, u16::MAX, u8::MAX),
    ];
    for message in &messages {
        n.receive(&mut v, message, at(0));
    }
    assert_eq!(v.inventory.board, Board::of(9 << 16, 0x26ac, 0x11));
    let wear = BatteryWear {
        cycles: Some(212),
        health: Percent::new(81),
    };
    assert_eq!(v.inventory.wear, wear);
    let reboots = [1_000, 1_500, 2_000].map(|ms| n.receive(&mut v, &position(ms, 488_000, 0), at(1)).rebooted);
    assert!(reboots.contains(&true));
    assert_eq!(v.inventory, Inventory::default(), "it may have got another battery");
}

#[test]
fn firmware_versions_read_as_people_write_them() {
    for (number, text) in [
        (0x0407_0000, "4.7.0-dev"),
        (0x0111_0040, "1.17.0-alpha"),
        (0x0105_03FF, "1.5.3"),
    ] {
        let mut v = vehicle(Autopilot::Px4);
        let m = AUTOPILOT_VERSION_DATA {
            flight_sw_version: number,
            ..AUTOPILOT_VERSION_DATA::default()
        };
        receive(&mut v, &[MavMessage::AUTOPILOT_VERSION(m)]);
        assert_eq!(v.identity.unwrap().firmware.as_deref(), Some(text));
    }
}

/// In the air, or on the ground, at a place whose altitude above home is this, at this second; how far home was moved.
fn flies_at(n: &mut Normalizer, v: &mut Vehicle, up: bool, above_home_m: i32, s: u64) -> Option<String> {
    let state = if up {
        MavLandedState::MAV_LANDED_STATE_IN_AIR
    } else {
        GROUND
    };
    let amsl = if up { 518_000 } else { 488_000 };
    let time = u32::try_from(s * 1000).unwrap();
    for message in [
        beat(4, up),
        landed(state),
        position(time, amsl, above_home_m),
        position(time + 200, amsl, above_home_m),
    ] {
        n.receive(v, &message, at(s * 1000));
    }
    v.home_shift.map(|shift| shift.to_string())
}

#[test]
fn a_home_moved_in_flight_is_found_until_it_is_set_back_or_the_vehicle_has_landed() {
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        let (mut n, mut v) = (Normalizer::default(), vehicle(autopilot));
        let mut at = |up, above_home_m, s| flies_at(&mut n, &mut v, up, above_home_m, s);
        for s in 1..10 {
            assert_eq!(at(false, 0, s), None);
        }
        for s in 10..30 {
            // PX4 moves its home by up to 2.5 m by itself.
            let wanders = if s % 2 == 0 { 2_500 } else { -2_500 };
            assert_eq!(at(true, 30_000 + wanders, s), None, "{autopilot:?}");
        }
        assert_eq!(at(true, 80_000, 30).as_deref(), Some("50 m lower"));
        assert_eq!(at(true, 82_000, 31).as_deref(), Some("50 m lower"), "its words stay");
        assert_eq!(at(true, -20_000, 32).as_deref(), Some("50 m higher"));
        assert_eq!(at(true, 30_000, 33), None, "set back");
        assert_eq!(at(true, 80_000, 34).as_deref(), Some("50 m lower"));
        assert_eq!(at(false, 50_000, 35), None, "landed: its home is where it is");
        assert_eq!(v.home, Some(AltitudeAmsl(438.0)));
    }
}

#[test]
fn a_home_that_was_moved_in_flight_is_found_by_an_agent_that_has_started_since() {
    let (mut n, mut v) = (Normalizer::default(), vehicle(Autopilot::ArduPilot));
    for s in 1..10 {
        assert_eq!(flies_at(&mut n, &mut v, false, 0, s), None);
    }
    v.home_at = Some(Wgs84 {
        latitude_deg: 47.0,
        longitude_deg: 8.0,
    });
    assert_eq!(flies_at(&mut n, &mut v, false, 0, 10), None);
    assert_eq!(flies_at(&mut n, &mut v, true, 30_000, 11), None);
    let before = n.home_before_flight();
    assert!(before.is_some());
    let (mut n, mut v) = (Normalizer::default().flying_from(before), vehicle(Autopilot::ArduPilot));
    for s in 1..3 {
        flies_at(&mut n, &mut v, true, 80_000, s);
    }
    assert_eq!(
        v.home_shift.map(|shift| shift.to_string()).as_deref(),
        Some("50 m lower")
    );
}

#[test]
fn a_home_that_was_set_at_arming_and_comes_in_the_air_is_none_that_was_moved() {
    let (mut n, mut v) = (Normalizer::default(), vehicle(Autopilot::ArduPilot));
    for s in 1..10 {
        assert_eq!(flies_at(&mut n, &mut v, false, 9_000, s), None);
    }
    for s in 10..40 {
        assert_eq!(flies_at(&mut n, &mut v, true, 30_000, s), None, "9 m from that before");
    }
}

#[test]
fn sys_status_does_not_count_where_its_battery_drives_no_motors() {
    let mut v = vehicle(Autopilot::ArduPilot);
    let mut n = Normalizer::of("1".parse().unwrap());
    n.receive(&mut v, &ready(true), at(0));
    assert_eq!(v.battery, None);
}

#[test]
fn a_px4_that_reports_no_state_yet_is_not_ready_whatever_its_checks_say() {
    for (autopilot, state, is_ready) in [
        (Autopilot::Px4, MavState::MAV_STATE_UNINIT, false),
        (Autopilot::Px4, MavState::MAV_STATE_STANDBY, true),
        (Autopilot::ArduPilot, MavState::MAV_STATE_BOOT, false),
        (Autopilot::ArduPilot, MavState::MAV_STATE_UNINIT, true),
    ] {
        let (mut n, mut v) = (Normalizer::default(), vehicle(autopilot));
        let beat = MavMessage::HEARTBEAT(HEARTBEAT_DATA {
            system_status: state,
            base_mode: MavModeFlag::MAV_MODE_FLAG_CUSTOM_MODE_ENABLED,
            ..HEARTBEAT_DATA::default()
        });
        n.receive(&mut v, &beat, at(0));
        n.receive(&mut v, &ready(true), at(0));
        assert_eq!(v.ready(at(1)), Some(is_ready), "{autopilot:?}, {state:?}");
        assert_eq!(v.is_starting(at(1)), !is_ready);
    }
}
