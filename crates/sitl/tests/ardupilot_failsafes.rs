//! ArduCopter's failsafes: ground station, battery, position, fence, motors. Times are recorded where possible.

mod support;

use mavlink::dialects::ardupilotmega::{FenceBreach, MavMessage, MavState, MavSysStatusSensor};
use sitl::model::{Autopilot, Fault, VehicleConfig};
use sitl::wire::{Address, GotoTarget, PlanItem, Request};
use support::Verdict::{Accepted, Failed};
use support::ardupilot::*;
use support::{Bench, HOME, US, near};

#[test]
fn a_low_battery_is_reported_returns_home_if_configured_and_forbids_arming() {
    let mut bench = hovering(10.0);
    for (name, value) in [
        ("BATT_LOW_VOLT", 11.5),
        ("BATT_FS_LOW_ACT", 2.0),
        ("SIM_BATT_VOLTAGE", 11.2),
    ] {
        bench.receive(Request::ParamSet {
            to: Address {
                system: 1,
                component: 1,
            },
            name: name.into(),
            value,
            kind: 9,
        });
    }
    let waited = bench.until("RTL", 20.0, |bench| bench.truth().custom_mode == RTL);
    near("the voltage stays low for", waited, 10.1, 0.2);
    assert!(bench.sent_text("Battery Failsafe"));
    bench.until("disarmed", 90.0, |bench| !bench.truth().armed);
    bench.pass(1.0);
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    let start = bench.now_s();
    assert_eq!(bench.arm(), Failed);
    assert_eq!(
        bench.texts_since(start),
        ["Arm: Battery 1 low voltage failsafe", "Arm: Battery failsafe"]
    );
}

#[test]
fn the_battery_drains_only_while_armed() {
    let mut config = VehicleConfig::new(Autopilot::ArduPilot, 1, HOME);
    config.battery_percent_per_minute = 60.0;
    let mut bench = Bench::with(config);
    bench.pass_to(45.0);
    assert_eq!(bench.truth().battery_percent, 100.0);
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    assert_eq!(bench.arm(), Accepted);
    bench.pass(5.0);
    near("left", bench.truth().battery_percent, 95.0, 0.1);
}

/// A peer that is as slow as ever, ten times slower on this clock, has as long for its takeoff. After a landing nobody is waited for.
#[test]
fn an_idle_vehicle_waits_for_its_takeoff_in_the_time_of_its_peers() {
    let mut config = VehicleConfig::new(Autopilot::ArduPilot, 1, HOME);
    config.seconds_per_peer_second = 10.0;
    let mut bench = ready_with(config);
    assert_eq!(bench.arm(), Accepted);
    let idle = bench.until("disarmed", 120.0, |bench| !bench.truth().armed);
    near("idle", idle, 100.0, 0.5);
    let mut bench = hover(bench, 5.0);
    assert_eq!(set_mode(&mut bench, RTL), Accepted);
    bench.until("landed", 90.0, |bench| bench.truth().landed_state == 1);
    let landed = bench.until("disarmed", 20.0, |bench| !bench.truth().armed);
    assert!(landed <= 10.5, "{landed}");
}

fn heartbeats_stop(action: f32) -> Bench {
    let mut bench = ready();
    set_parameter(&mut bench, "FS_GCS_ENABLE", action);
    bench.heartbeat = Some(6);
    bench.pass(1.0);
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    assert_eq!(bench.arm(), Accepted);
    assert_eq!(take_off(&mut bench, 10.0), Accepted);
    bench.until("in the air", 60.0, |bench| bench.truth().landed_state == 2);
    bench.pass_to(bench.now_s().ceil() + 0.02);
    bench.heartbeat = None;
    bench
}

#[test]
fn five_seconds_without_our_heartbeats_it_goes_home_even_when_they_come_back() {
    let mut bench = heartbeats_stop(1.0);
    let waited = bench.until("RTL", 10.0, |bench| bench.truth().custom_mode == RTL);
    near("after the last heartbeat", waited, 5.1, 0.2);
    bench.pass(0.1);
    assert!(bench.sent_text("GCS Failsafe"));
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_CRITICAL);
    bench.heartbeat = Some(6);
    bench.pass(2.5);
    assert!(bench.sent_text("GCS Failsafe Cleared"));
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_ACTIVE);
    assert_eq!(bench.truth().custom_mode, RTL);
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
}

#[test]
fn without_heartbeats_it_lands_refuses_to_arm_and_recovers_with_the_next_heartbeat() {
    let mut bench = heartbeats_stop(5.0);
    bench.until("LAND", 10.0, |bench| bench.truth().custom_mode == LAND);
    bench.until("disarmed", 60.0, |bench| !bench.truth().armed);
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    assert_eq!(bench.arm(), Failed);
    assert!(bench.sent_text("Arm: GCS failsafe on"));
    bench.heartbeat = Some(6);
    bench.pass(2.5);
    assert_eq!(bench.arm(), Accepted);
}

#[test]
fn a_ground_station_that_goes_silent_means_nothing_while_the_failsafe_is_off() {
    let mut bench = heartbeats_stop(0.0);
    bench.pass(60.0);
    assert_eq!(bench.truth().custom_mode, GUIDED);
    near("height", bench.truth().height_m, 10.0, 0.1);
}

fn heartbeat_from(bench: &mut Bench, system: u8) {
    let from = Address { system, component: 190 };
    bench.receive_from(from, Request::Heartbeat { kind: GROUND_STATION });
}

#[test]
fn only_the_configured_stations_heartbeats_count_of_any_type_from_the_first_on() {
    let mut bench = ready();
    set_parameter(&mut bench, "FS_GCS_ENABLE", 1.0);
    let mut bench = hover(bench, 10.0);
    bench.pass(20.0);
    assert_eq!(bench.truth().custom_mode, GUIDED, "no heartbeat was ever heard");
    bench.receive(Request::Heartbeat { kind: 18 });
    bench.pass(4.0);
    heartbeat_from(&mut bench, 254);
    bench.until("RTL in spite of another station", 3.0, |bench| {
        bench.truth().custom_mode == RTL
    });
}

#[test]
fn a_range_of_station_ids_counts_when_one_is_set() {
    let mut bench = ready();
    set_parameter(&mut bench, "FS_GCS_ENABLE", 1.0);
    set_parameter(&mut bench, "MAV_GCS_SYSID", 250.0);
    set_parameter(&mut bench, "MAV_GCS_SYSID_HI", 252.0);
    let mut bench = hover(bench, 10.0);
    for _ in 0..15 {
        heartbeat_from(&mut bench, 251);
        bench.pass(1.0);
    }
    assert_eq!(bench.truth().custom_mode, GUIDED);
    for _ in 0..8 {
        heartbeat_from(&mut bench, 253);
        bench.pass(1.0);
    }
    assert_eq!(bench.truth().custom_mode, RTL);
}

#[test]
fn a_landing_by_a_failsafe_hovers_four_seconds_first() {
    let mut bench = heartbeats_stop(5.0);
    bench.until("LAND", 10.0, |bench| bench.truth().custom_mode == LAND);
    assert_eq!(bench.truth().landed_state, 4, "it says that it is landing");
    bench.pass(3.9);
    near("still up", bench.truth().height_m, 10.0, 0.1);
    bench.pass(2.0);
    assert!(bench.truth().height_m < 9.6);
}

#[test]
fn a_landing_that_was_commanded_descends_at_once() {
    let mut bench = hovering(10.0);
    assert_eq!(land(&mut bench), Accepted);
    bench.pass(2.0);
    assert!(bench.truth().height_m < 9.6);
}

#[test]
fn options_let_a_lost_station_pass_in_pilot_modes_and_while_landing() {
    let mut bench = heartbeats_stop(1.0);
    assert_eq!(set_mode(&mut bench, LOITER), Accepted);
    bench.until("reported", 10.0, |bench| {
        bench.sent_text("GCS Failsafe - Continuing Pilot Control")
    });
    assert_eq!(bench.truth().custom_mode, LOITER);

    let mut bench = heartbeats_stop(1.0);
    set_parameter(&mut bench, "FS_OPTIONS", 8.0);
    assert_eq!(land(&mut bench), Accepted);
    bench.until("reported", 10.0, |bench| {
        bench.sent_text("GCS Failsafe - Continuing Landing")
    });
    assert_eq!(bench.truth().custom_mode, LAND);
}

#[test]
fn a_lost_station_disarms_a_vehicle_on_the_ground() {
    let mut bench = ready();
    set_parameter(&mut bench, "FS_GCS_ENABLE", 1.0);
    set_parameter(&mut bench, "DISARM_DELAY", 60.0);
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass(1.0);
    assert_eq!(bench.arm(), Accepted);
    bench.heartbeat = None;
    bench.until("disarmed", 7.0, |bench| !bench.truth().armed);
    assert!(bench.sent_text("GCS Failsafe - Disarming"));
}

#[test]
fn a_low_voltage_must_last_and_the_action_is_that_of_its_level() {
    let mut bench = ready();
    for (name, value) in [
        ("BATT_LOW_VOLT", 11.5),
        ("BATT_CRT_VOLT", 10.8),
        ("BATT_FS_LOW_ACT", 2.0),
    ] {
        set_parameter(&mut bench, name, value);
    }
    set_parameter(&mut bench, "BATT_FS_CRT_ACT", 1.0);
    let mut bench = hover(bench, 10.0);
    set_parameter(&mut bench, "SIM_BATT_VOLTAGE", 11.0);
    bench.pass(5.0);
    set_parameter(&mut bench, "SIM_BATT_VOLTAGE", 12.6);
    bench.pass(10.0);
    assert_eq!(bench.truth().custom_mode, GUIDED, "a short dip is nothing");
    set_parameter(&mut bench, "SIM_BATT_VOLTAGE", 11.2);
    let waited = bench.until("RTL", 12.0, |bench| bench.truth().custom_mode == RTL);
    near("low for", waited, 10.1, 0.2);
    set_parameter(&mut bench, "SIM_BATT_VOLTAGE", 10.4);
    let waited = bench.until("LAND", 12.0, |bench| bench.truth().custom_mode == LAND);
    near("critical for", waited, 10.2, 0.3);
    bench.pass(0.1);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_CRITICAL);
}

#[test]
fn without_gps_it_lands_after_eight_seconds_and_cannot_be_armed_until_it_is_back() {
    let mut bench = hovering(10.0);
    let place = bench.truth().place;
    bench.vehicle.suffer(Fault::GpsLost);
    let waited = bench.until("LAND", 10.0, |bench| bench.truth().custom_mode == LAND);
    near("after the loss", waited, 8.0, 0.1);
    assert!(bench.sent_text("EKF variance"));
    assert_eq!(set_mode(&mut bench, GUIDED), Failed);
    assert!(bench.sent_text("Mode change to GUIDED failed: requires position"));
    bench.until("disarmed", 60.0, |bench| !bench.truth().armed);
    assert!((bench.truth().place.lat_deg - place.lat_deg).abs() < 1e-5);
    assert_eq!(
        set_mode(&mut bench, GUIDED),
        Accepted,
        "disarmed, any mode may be chosen"
    );
    assert_eq!(bench.arm(), Failed);
    assert!(bench.sent_text("Arm: Need Position Estimate"));
    bench.vehicle.suffer(Fault::GpsBack);
    bench.pass(2.0);
    assert_eq!(bench.arm(), Accepted);
}

#[test]
fn the_parameter_of_the_simulation_takes_gps_away_too() {
    let mut bench = hovering(10.0);
    set_parameter(&mut bench, "SIM_GPS1_ENABLE", 0.0);
    bench.until("LAND", 10.0, |bench| bench.truth().custom_mode == LAND);
}

#[test]
fn a_vehicle_that_loses_a_motor_falls_and_is_disarmed_by_the_crash_check() {
    let mut bench = hovering(20.0);
    bench.vehicle.suffer(Fault::MotorStops);
    let fell = bench.until("down", 5.0, |bench| bench.truth().height_m == 0.0);
    near("a free fall", fell, 2.0, 0.3);
    assert!(bench.truth().armed);
    bench.until("disarmed", 3.0, |bench| !bench.truth().armed);
    assert!(
        bench
            .texts()
            .iter()
            .any(|(_, text)| text.starts_with("Crash: Disarming"))
    );
}

fn fenced(half: f64) -> Bench {
    let mut bench = ready();
    assert_eq!(upload(&mut bench, 1, &square(5001, half)), answer(0));
    set_parameter(&mut bench, "FENCE_ENABLE", 1.0);
    bench.stream(162, 4.0);
    bench
}

fn go_to(bench: &mut Bench, north: f64) {
    let (lat_e7, lon_e7) = HOME.offset_meters(north, 0.0).e7();
    bench.receive(Request::Goto(GotoTarget {
        to: US,
        frame: 6,
        type_mask: 3576,
        lat_e7,
        lon_e7,
        alt_m: 10.0,
        velocity_m_s: [0.0; 3],
    }));
}

fn fence_breach(bench: &Bench) -> Option<(u8, FenceBreach)> {
    let status = bench.messages().filter_map(|(_, message)| match message {
        MavMessage::FENCE_STATUS(status) => Some((status.breach_status, status.breach_type)),
        _ => None,
    });
    status.last()
}

#[test]
fn a_target_outside_the_fence_is_ignored_as_a_message_and_failed_as_a_command() {
    let mut bench = hover(fenced(30.0), 10.0);
    go_to(&mut bench, 60.0);
    bench.pass(10.0);
    near(
        "north",
        (bench.truth().place.lat_deg - HOME.lat_deg) * 111_319.5,
        0.0,
        0.5,
    );
    let (x, y) = HOME.offset_meters(60.0, 0.0).e7();
    assert_eq!(bench.command_int(192, 6, [-1.0, 0.0, 0.0, 0.0], x, y, 10.0), Failed);
    go_to(&mut bench, 20.0);
    bench.pass(15.0);
    near(
        "north",
        (bench.truth().place.lat_deg - HOME.lat_deg) * 111_319.5,
        20.0,
        0.5,
    );
}

#[test]
fn a_breach_is_reported_counted_and_ends_in_a_return_and_its_end_is_reported_too() {
    let mut bench = hover(fenced(100.0), 10.0);
    go_to(&mut bench, 60.0);
    bench.until("under way", 10.0, |bench| {
        bench.truth().place.lat_deg > HOME.lat_deg + 4e-4
    });
    assert_eq!(
        upload(&mut bench, 1, &square(5001, 30.0)),
        answer(0),
        "the fence shrinks around it"
    );
    bench.until("RTL", 1.0, |bench| bench.truth().custom_mode == RTL);
    bench.pass(0.5);
    assert!(bench.sent_text("Polygon fence breached"));
    assert_eq!(fence_breach(&bench), Some((1, FenceBreach::FENCE_BREACH_BOUNDARY)));
    bench.until("inside", 30.0, |bench| bench.sent_text("Fence breach cleared"));
    bench.pass(0.5);
    assert_eq!(fence_breach(&bench).map(|status| status.0), Some(0));
    assert_eq!(bench.truth().custom_mode, RTL);
}

#[test]
fn a_climb_past_the_highest_altitude_is_a_breach_of_its_own_kind() {
    let mut bench = fenced(100.0);
    set_parameter(&mut bench, "FENCE_ALT_MAX", 15.0);
    assert_eq!(bench.arm(), Accepted);
    assert_eq!(take_off(&mut bench, 20.0), Accepted);
    bench.until("RTL", 60.0, |bench| bench.truth().custom_mode == RTL);
    near("height", bench.truth().height_m, 15.1, 0.3);
    bench.pass(0.5);
    assert!(bench.sent_text("Max Alt fence breached"));
    assert_eq!(
        fence_breach(&bench).map(|status| status.1),
        Some(FenceBreach::FENCE_BREACH_MAXALT)
    );
}

#[test]
fn a_fence_that_only_reports_changes_no_mode() {
    let mut bench = fenced(100.0);
    set_parameter(&mut bench, "FENCE_ALT_MAX", 15.0);
    set_parameter(&mut bench, "FENCE_ACTION", 0.0);
    let mut bench = hover(bench, 20.0);
    bench.pass(1.0);
    assert!(bench.sent_text("Max Alt fence breached"));
    assert_eq!(bench.truth().custom_mode, GUIDED);
}

#[test]
fn the_fence_is_switched_by_command_and_reports_nothing_while_it_is_off() {
    let mut bench = fenced(100.0);
    assert_eq!(bench.command(207, [0.0; 7]), Accepted);
    let before = bench.count(|message| matches!(message, MavMessage::FENCE_STATUS(_)));
    bench.pass(3.0);
    assert_eq!(
        bench.count(|message| matches!(message, MavMessage::FENCE_STATUS(_))),
        before
    );
    assert_eq!(bench.command(207, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    bench.pass(3.0);
    assert!(bench.count(|message| matches!(message, MavMessage::FENCE_STATUS(_))) > before);
    assert_eq!(bench.command(207, [7.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Failed);
}

#[test]
fn sys_status_says_whether_the_fence_is_on_and_that_one_which_only_reports_is_not() {
    let mut bench = fenced(100.0);
    bench.stream(1, 2.0);
    // A second later, for two seconds.
    let says_on = |bench: &mut Bench| {
        bench.pass(1.0);
        let on: fn(&MavMessage) -> bool = |message| {
            let fence = MavSysStatusSensor::MAV_SYS_STATUS_GEOFENCE;
            matches!(message, MavMessage::SYS_STATUS(m) if m.onboard_control_sensors_enabled.contains(fence))
        };
        let before = bench.count(on);
        bench.pass(2.0);
        bench.count(on) > before
    };
    assert!(says_on(&mut bench));
    assert_eq!(bench.command(207, [0.0; 7]), Accepted);
    assert!(!says_on(&mut bench));
    set_parameter(&mut bench, "FENCE_ENABLE", 1.0);
    set_parameter(&mut bench, "FENCE_ACTION", 1.0);
    assert!(!says_on(&mut bench));
    assert_eq!(bench.command(207, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    assert!(says_on(&mut bench));
    set_parameter(&mut bench, "FENCE_ACTION", 0.0);
    assert!(!says_on(&mut bench));
}

#[test]
fn a_fence_without_a_position_prevents_arming_in_every_mode() {
    let mut bench = Bench::new(Autopilot::ArduPilot);
    bench.pass_to(3.0);
    set_parameter(&mut bench, "FENCE_ENABLE", 1.0);
    bench.pass_to(30.0);
    assert_eq!(bench.arm(), Failed);
    assert_eq!(bench.texts_since(30.0), ["Arm: Fence enabled, need position estimate"]);
}

#[test]
fn every_inclusion_has_to_hold_home_for_arming_and_with_a_union_one_of_them() {
    let mut bench = ready();
    set_parameter(&mut bench, "FENCE_ENABLE", 1.0);
    let moved = |item: PlanItem| PlanItem {
        x: item.x + 10_000,
        ..item
    };
    let beside: Vec<_> = square(5001, 40.0).into_iter().map(moved).collect();
    for (fence, options, armed) in [
        ([square(5001, 60.0), square(5002, 15.0)], 0.0, Failed),
        ([square(5001, 60.0), square(5002, 15.0)], 2.0, Failed),
        ([square(5001, 60.0), beside.clone()], 0.0, Failed),
        ([square(5001, 60.0), beside], 2.0, Accepted),
    ] {
        assert_eq!(upload(&mut bench, 1, &fence.concat()), answer(0));
        set_parameter(&mut bench, "FENCE_OPTIONS", options);
        bench.pass(1.0);
        let before = bench.now_s();
        assert_eq!(bench.arm(), armed);
        let said = bench.texts_since(before);
        let refused = said.iter().any(|text| text == "Arm: Vehicle breaching Polygon fence");
        assert_eq!(refused, armed == Failed, "{said:?}");
    }
}

#[test]
fn a_return_with_a_final_altitude_hovers_there_and_a_climb_minimum_raises_it() {
    let mut bench = hovering(10.0);
    set_parameter(&mut bench, "RTL_ALT_FINAL", 400.0);
    set_parameter(&mut bench, "RTL_CLIMB_MIN", 1000.0);
    assert_eq!(set_mode(&mut bench, RTL), Accepted);
    bench.until("the climb", 30.0, |bench| bench.truth().height_m > 19.5);
    bench.until("the final altitude", 60.0, |bench| bench.truth().height_m < 4.3);
    bench.pass(60.0);
    near("it hovers at", bench.truth().height_m, 4.0, 0.3);
    assert!(bench.truth().armed && bench.truth().custom_mode == RTL);
    assert_eq!(land(&mut bench), Accepted);
    bench.until("disarmed", 60.0, |bench| !bench.truth().armed);
}
