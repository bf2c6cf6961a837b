//! What users meet on ArduCopter and not on PX4 (field notes, 4.13), one test for each item, by number.

mod support;

use std::time::Duration;

use mavlink::dialects::ardupilotmega::{MavBatteryChargeState as ChargeState, MavLandedState as Landed, MavMessage};
use sitl::model::{Autopilot, Fault, Vehicle, VehicleConfig};
use sitl::wire::{Address, FrameReader, Incoming, Outgoing, Request, Sender};
use support::Verdict::{Accepted, Denied, Failed};
use support::ardupilot::*;
use support::{Bench, HOME, near};

fn config() -> VehicleConfig {
    VehicleConfig::new(Autopilot::ArduPilot, 1, HOME)
}

#[test]
fn item_1_a_takeoff_while_disarmed_fails_and_leaves_nothing_behind() {
    let mut bench = ready();
    assert_eq!(take_off(&mut bench, 6.0), Failed);
    assert_eq!(bench.arm(), Accepted);
    bench.pass(8.0);
    assert_eq!(bench.truth().height_m, 0.0);
}

#[test]
fn item_2_nothing_but_heartbeats_comes_unrequested_and_never_the_landed_state() {
    let mut bench = Bench::with(config());
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass_to(60.0);
    let streams = bench.count(|message| {
        !matches!(
            message,
            MavMessage::HEARTBEAT(_)
                | MavMessage::TIMESYNC(_)
                | MavMessage::STATUSTEXT(_)
                | MavMessage::HOME_POSITION(_)
                | MavMessage::GPS_GLOBAL_ORIGIN(_)
        )
    });
    assert_eq!(streams, 0);
    bench.stream(245, 2.0);
    bench.pass(3.0);
    assert_eq!(bench.landed_states().len(), 1);
}

#[test]
fn item_3_a_refusal_to_arm_is_failed_even_if_time_heals_it_and_each_has_a_text() {
    let mut bench = Bench::with(config());
    bench.pass_to(12.75);
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    let start = bench.now_s();
    assert_eq!(bench.arm(), Failed);
    assert_eq!(
        bench.texts_since(start),
        ["Arm: Gyros inconsistent", "Arm: AHRS: waiting for home"]
    );
    bench.pass(0.1);
    let start = bench.now_s();
    assert_eq!(bench.command(401, [0.0; 7]), Accepted);
    assert_eq!(
        bench.texts_since(start),
        ["PreArm: Gyros inconsistent", "PreArm: AHRS: waiting for home"]
    );
}

#[test]
fn item_4_the_position_comes_after_the_fix_and_until_then_it_cannot_be_armed() {
    let mut bench = Bench::with(config());
    bench.pass_to(3.0);
    bench.stream(24, 4.0);
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    bench.pass_to(12.0);
    let fix = bench.count(|message| matches!(message, MavMessage::GPS_RAW_INT(gps) if gps.satellites_visible > 4));
    assert!(fix > 0, "a fix");
    assert_eq!(bench.arm(), Failed);
    bench.pass_to(42.0);
    assert_eq!(bench.arm(), Accepted);
}

#[test]
fn item_5_it_disarms_itself_ten_seconds_after_arming_and_soon_after_a_landing() {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    let alone = bench.until("disarmed", 15.0, |bench| !bench.truth().armed);
    near("left alone", alone, 10.0, 0.1);
    let mut bench = hovering(3.0);
    assert_eq!(land(&mut bench), Accepted);
    bench.until("on the ground", 30.0, |bench| bench.truth().landed_state == 1);
    let landed = bench.until("disarmed", 5.0, |bench| !bench.truth().armed);
    near("after the landing", landed, 0.58, 0.3);
}

#[test]
fn item_6_the_altitude_of_a_takeoff_is_above_home_and_only_one_frame_is_taken() {
    for (frame, verdict) in [(3, Accepted), (6, Denied), (0, Denied), (5, Denied)] {
        let mut bench = ready();
        assert_eq!(bench.arm(), Accepted);
        assert_eq!(
            bench.command_int(22, frame, [0.0; 4], 0, 0, 6.0),
            verdict,
            "frame {frame}"
        );
    }
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    assert_eq!(take_off(&mut bench, 6.0), Accepted);
    bench.until("at 6 m", 30.0, |bench| bench.truth().landed_state == 2);
    near("height", bench.truth().height_m, 6.0, 0.2);
}

#[test]
fn item_7_disarming_in_flight_fails_without_text_and_by_the_magic_number_it_falls() {
    let mut bench = hovering(10.0);
    let start = bench.now_s();
    assert_eq!(bench.disarm(), Failed);
    assert_eq!(bench.texts_since(start), Vec::<String>::new());
    assert_eq!(bench.kill(), Accepted);
    bench.until("down", 3.0, |bench| bench.truth().height_m == 0.0);
}

#[test]
fn item_8_a_lost_station_is_nothing_by_default_and_is_known_by_its_system_id() {
    let lost = |enable: f32, system: u8| {
        let mut bench = ready();
        set_parameter(&mut bench, "FS_GCS_ENABLE", enable);
        let from = Address { system, component: 1 };
        bench.receive_from(from, Request::Heartbeat { kind: 18 });
        let mut bench = hover(bench, 5.0);
        bench.pass(8.0);
        bench.truth().custom_mode
    };
    assert_eq!(lost(0.0, 255), GUIDED);
    assert_eq!(lost(1.0, 254), GUIDED, "never heard");
    assert_eq!(lost(1.0, 255), RTL);
}

#[test]
fn item_9_it_answers_to_its_own_system_id_only_and_boots_again_on_command() {
    let mut bench = ready();
    assert_eq!(
        bench.verdicts_from((2, 1), 400, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        []
    );
    let gimbal = Address {
        system: 1,
        component: 191,
    };
    bench.receive_from(gimbal, Request::Heartbeat { kind: 26 });
    assert_eq!(
        bench.verdicts_from((1, 191), 400, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        [],
        "another component that was heard"
    );
    assert_eq!(bench.verdicts_from((1, 0), 401, [0.0; 7]), [Accepted]);
    assert_eq!(bench.command(246, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    bench.until("booted again", 2.0, |bench| {
        bench.truth().uptime < Duration::from_secs(1)
    });
    bench.pass(3.0);
    assert_eq!(
        bench.landed_states().last().map(|state| state.1),
        Some(Landed::MAV_LANDED_STATE_ON_GROUND)
    );
    assert_eq!(bench.vehicle.reboots(), 1);
}

#[test]
fn item_10_a_repeated_takeoff_fails_in_the_climb_and_every_command_has_one_ack() {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    assert_eq!(take_off(&mut bench, 10.0), Accepted);
    assert_eq!(
        take_off(&mut bench, 12.0),
        Accepted,
        "before lift-off the last one wins"
    );
    bench.until("lifted off", 10.0, |bench| bench.truth().height_m > 0.5);
    assert_eq!(take_off(&mut bench, 12.0), Failed);
    bench.until("in the air", 30.0, |bench| bench.truth().landed_state == 2);
    near("height", bench.truth().height_m, 12.0, 0.2);
    assert_eq!(land(&mut bench), Accepted);
    assert_eq!(land(&mut bench), Accepted);
    let to_us = bench.sent.iter().all(|(_, sent)| match sent {
        Outgoing::Ack(ack) => (ack.target_system, ack.target_component) == (255, 190),
        _ => true,
    });
    assert!(to_us);
}

#[test]
fn item_11_noise_on_the_wire_does_not_hide_a_command() {
    let mut vehicle = Vehicle::new(config());
    let ping = Outgoing::from(MavMessage::HEARTBEAT(Default::default()));
    let mut reader = FrameReader::default();
    reader.push(&[0xFD, 0x00, 0xFE, 0x09, 0xFD, 0xFF, 0x55]);
    reader.push(&Sender::new(255, 190).encode(&ping));
    reader.push(&[0; 300]);
    let mut received = 0;
    while let Some(frame) = reader.next_frame() {
        vehicle.on_message(&Incoming::decode(&frame));
        received += usize::from((frame.system, frame.id) == (255, 0));
    }
    assert_eq!(received, 1);
}

#[test]
fn item_12_a_battery_declines_a_motor_fails_and_a_landing_may_be_far_from_home() {
    let mut bench = ready();
    set_parameter(&mut bench, "BATT_LOW_VOLT", 11.5);
    let mut bench = hover(bench, 10.0);
    set_parameter(&mut bench, "SIM_BATT_VOLTAGE", 11.2);
    bench.pass(12.0);
    let charge = bench.messages().filter_map(|(_, message)| match message {
        MavMessage::BATTERY_STATUS(battery) => Some(battery.charge_state),
        _ => None,
    });
    assert_eq!(charge.last(), Some(ChargeState::MAV_BATTERY_CHARGE_STATE_LOW));

    let mut bench = hovering(10.0);
    let (x, y) = HOME.offset_meters(40.0, 0.0).e7();
    assert_eq!(bench.command_int(192, 6, [-1.0, 0.0, 0.0, 0.0], x, y, 10.0), Accepted);
    bench.pass(20.0);
    assert_eq!(land(&mut bench), Accepted);
    bench.until("disarmed", 60.0, |bench| !bench.truth().armed);
    let away = (bench.truth().place.lat_deg - HOME.lat_deg) * 111_319.5;
    near("away", away, 40.0, 1.0);

    let mut bench = hovering(10.0);
    bench.vehicle.suffer(Fault::MotorStops);
    bench.until("down", 3.0, |bench| bench.truth().height_m == 0.0);
    assert!(bench.truth().armed, "the crash check has not acted yet");
}
