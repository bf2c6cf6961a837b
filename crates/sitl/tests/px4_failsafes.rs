//! The PX4 profile fails safe as the recorded PX4 (a70a5583) did: links, battery, satellites, fence, motors.

mod support;

use mavlink::dialects::ardupilotmega::{GpsFixType, MavMessage, MavState};
use sitl::model::{Autopilot, Fault, VehicleConfig};
use sitl::wire::{Address, Request};
use support::Verdict::{Accepted, Denied, TemporarilyRejected};
use support::px4::*;
use support::{Bench, HOME, US, near};

const COMPANION_ADDRESS: Address = Address {
    system: 1,
    component: 191,
};

#[test]
fn the_battery_warns_at_15_7_and_5_percent_and_refuses_to_arm_when_critical() {
    let mut config = VehicleConfig::new(Autopilot::Px4, 1, HOME);
    config.battery_percent = 15.5;
    config.battery_percent_per_minute = 60.0;
    let mut bench = Bench::with(config);
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass_to(7.0);
    assert_eq!(bench.arm(), Accepted);
    bench.pass(10.0);
    assert!(bench.sent_text("Low battery\t") && bench.sent_text("Critical battery\t"));
    bench.pass(2.0);
    assert!(!bench.truth().armed, "left alone on the ground");
    assert_eq!(bench.arm(), TemporarilyRejected);
}

fn heartbeats_stop(action: u32) -> Bench {
    let mut bench = ready();
    set_parameter(&mut bench, "NAV_DLL_ACT", action as i32);
    assert_eq!(bench.arm(), Accepted);
    take_off_to(&mut bench, 498.0);
    bench.until("hold", 60.0, |bench| bench.truth().custom_mode == HOLD);
    bench.pass_to(bench.now_s().ceil() + 0.02);
    bench.heartbeat = None;
    bench
}

#[test]
fn a_lost_ground_station_means_hold_for_five_seconds_then_return_without_a_text() {
    let mut bench = heartbeats_stop(2);
    let stopped_at = bench.now_s();
    bench.until("critical", 20.0, |bench| {
        bench.last_heartbeat().system_status == MavState::MAV_STATE_CRITICAL
    });
    near("noticed", bench.now_s() - stopped_at, 12.6, 1.2);
    assert_eq!(bench.truth().custom_mode, HOLD);
    let waited = bench.until("return", 10.0, |bench| bench.truth().custom_mode == RETURN);
    near("hold before the action", waited, 4.7, 0.6);
    let (lost, hold, acts) = (27_571_288, 30_481_910, 26_528_394);
    let events = bench.events_since(stopped_at);
    for (id, arguments) in [
        (lost, &[][..]),
        (hold, &[0, 0, 4, 3, 6, 5, 0, 2]),
        (acts, &[0, 0, 4, 3, 6, 2]),
    ] {
        assert!(
            events
                .iter()
                .any(|(found, args)| *found == id && args.starts_with(arguments)),
            "{id}: {events:?}"
        );
    }
    assert_eq!(bench.texts_since(stopped_at + 3.0), Vec::<String>::new());
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass(2.0);
    assert!(bench.sent_text("GCS connection regained\t"));
    assert_eq!(bench.truth().custom_mode, RETURN, "the mode stays");
    assert_eq!(set_mode(&mut bench, 4.0, 3.0), [Accepted, Accepted]);
    bench.pass(1.0);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_ACTIVE);
}

#[test]
fn a_mode_command_in_the_five_seconds_cancels_the_failsafe_for_this_loss() {
    let mut bench = heartbeats_stop(3);
    bench.until("critical", 20.0, |bench| {
        bench.last_heartbeat().system_status == MavState::MAV_STATE_CRITICAL
    });
    assert_eq!(set_mode(&mut bench, 4.0, 3.0), [Accepted, Accepted]);
    bench.pass(30.0);
    assert_eq!(bench.truth().custom_mode, HOLD);
}

#[test]
fn with_a_link_loss_action_arming_needs_a_ground_station_and_a_companion_is_none() {
    let mut bench = Bench::new(Autopilot::Px4);
    bench.heartbeat = Some(COMPANION);
    bench.pass_to(1.0);
    set_parameter(&mut bench, "NAV_DLL_ACT", 2);
    bench.pass_to(10.0);
    assert_eq!(bench.arm(), TemporarilyRejected);
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass(1.5);
    assert_eq!(bench.arm(), Accepted);
}

#[test]
fn a_ground_station_that_goes_silent_means_nothing_with_the_default_settings() {
    let mut bench = heartbeats_stop(0);
    bench.pass(40.0);
    assert_eq!(bench.truth().custom_mode, HOLD);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_ACTIVE);
}

#[test]
fn a_failsafe_spares_the_modes_that_are_excepted() {
    let mut bench = heartbeats_stop(2);
    set_parameter(&mut bench, "COM_DLL_EXCEPT", 2);
    bench.pass(30.0);
    assert_eq!(bench.truth().custom_mode, HOLD);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_ACTIVE);
}

#[test]
fn a_companion_that_goes_silent_is_only_reported() {
    let mut bench = hovering(8.0);
    let beat = |bench: &mut Bench| bench.receive_from(COMPANION_ADDRESS, Request::Heartbeat { kind: COMPANION });
    for _ in 0..5 {
        beat(&mut bench);
        bench.pass(1.0);
    }
    let stopped_s = bench.now_s() - 1.0;
    let text = "Connection to mission computer lost\t";
    bench.until("lost", 10.0, |bench| bench.sent_text(text));
    near("noticed", bench.now_s() - stopped_s, 6.3, 0.3);
    assert_eq!(bench.truth().custom_mode, HOLD);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_ACTIVE);
    beat(&mut bench);
    bench.pass(0.5);
    assert!(bench.sent_text("Onboard controller regained\t"));
}

/// A pack that lasts 70 s, and COM_LOW_BAT_ACT 3.
fn draining() -> Bench {
    let mut config = VehicleConfig::new(Autopilot::Px4, 1, HOME);
    config.parameters = vec![("COM_LOW_BAT_ACT".into(), 3.0)];
    config.battery_percent_per_minute = 0.0;
    config.battery_percent = 20.0;
    let mut bench = hover(ready_with(config), 10.0);
    bench.receive(Request::ParamSet {
        to: US,
        name: "SIM_BAT_DRAIN".into(),
        value: 70.0,
        kind: 9,
    });
    bench
}

#[test]
fn a_draining_battery_warns_holds_and_lands_at_the_end_of_the_wait() {
    let mut bench = draining();
    bench.until("low", 10.0, |bench| bench.sent_text("Low battery\t"));
    assert_eq!(
        bench.last_heartbeat().system_status,
        MavState::MAV_STATE_ACTIVE,
        "a warning"
    );
    bench.until("critical", 10.0, |bench| bench.sent_text("Critical battery\t"));
    let (hold, land, no_shutdown) = (30_481_910, 26_528_394, 22_624_381);
    let critical_s = bench.now_s();
    bench.until("emergency", 4.0, |bench| bench.sent_text("Emergency battery level\t"));
    assert_eq!(bench.truth().custom_mode, HOLD, "still in the wait");
    bench.until("land", 5.0, |bench| bench.truth().custom_mode == LAND);
    near("the wait", bench.now_s() - critical_s, 5.0, 0.3);
    let events = bench.events_since(critical_s - 0.1);
    let find = |id: u32| {
        events
            .iter()
            .find(|(found, _)| *found == id)
            .map(|(_, arguments)| &arguments[..8])
    };
    assert_eq!(
        find(hold),
        Some(&[0, 0, 4, 3, 6, 5, 0, 4][..]),
        "return in 5 s, critical battery"
    );
    assert_eq!(
        find(land),
        Some(&[0, 0, 4, 3, 7, 5, 0, 0][..]),
        "land, emergency battery"
    );
    assert!(find(no_shutdown).is_some());
    bench.until("down", 60.0, |bench| !bench.truth().armed);
    assert_eq!(bench.arm(), TemporarilyRejected, "the pack is still empty");
}

#[test]
fn a_battery_that_gets_worse_on_the_way_home_lands_at_once() {
    let mut bench = draining();
    bench.until("critical", 20.0, |bench| bench.sent_text("Critical battery\t"));
    // The drain stops between critical and emergency.
    bench.receive(Request::ParamSet {
        to: US,
        name: "SIM_BAT_DRAIN".into(),
        value: 0.0,
        kind: 9,
    });
    bench.until("return", 8.0, |bench| bench.truth().custom_mode == RETURN);
    bench.receive(Request::ParamSet {
        to: US,
        name: "SIM_BAT_DRAIN".into(),
        value: 20.0,
        kind: 9,
    });
    bench.until("land", 3.0, |bench| bench.truth().custom_mode == LAND);
}

#[test]
fn px4s_battery_simulation_fills_up_after_the_landing_and_a_real_pack_does_not() {
    for (refills, arms) in [(true, Accepted), (false, TemporarilyRejected)] {
        let mut config = VehicleConfig::new(Autopilot::Px4, 1, HOME);
        config.battery_refills = refills;
        config.battery_percent = 40.0;
        config.parameters = vec![("SIM_BAT_DRAIN".into(), 20.0)];
        let mut bench = ready_with(config);
        assert_eq!(bench.arm(), Accepted);
        bench.pass(12.0);
        assert!(!bench.truth().armed, "left alone on the ground");
        bench.pass(4.0);
        assert_eq!(bench.arm(), arms, "refills: {refills}");
    }
}

#[test]
fn without_satellites_it_descends_after_five_seconds_and_cannot_be_armed() {
    let mut bench = hovering(10.0);
    let lost_s = bench.now_s();
    bench.vehicle.suffer(Fault::GpsLost);
    bench.until("no fix", 1.0, |bench| {
        bench.messages().any(|(_, message)| {
            matches!(message, MavMessage::GPS_RAW_INT(gps) if gps.fix_type == GpsFixType::GPS_FIX_TYPE_NO_FIX)
        })
    });
    bench.until("descend", 8.0, |bench| bench.truth().custom_mode == LAND);
    near("noticed", bench.now_s() - lost_s, 5.3, 0.3);
    bench.pass(1.1);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_CRITICAL);
    assert!(bench.sent_text("Failsafe activated\t"));
    bench.until("down", 60.0, |bench| !bench.truth().armed);
    assert_eq!(bench.arm(), TemporarilyRejected);
    bench.vehicle.suffer(Fault::GpsBack);
    bench.pass(3.0);
    assert_eq!(bench.arm(), Accepted);
}

#[test]
fn satellites_that_come_back_in_time_let_it_hold_again() {
    let mut bench = hovering(20.0);
    bench.vehicle.suffer(Fault::GpsLost);
    bench.until("descend", 8.0, |bench| bench.truth().custom_mode == LAND);
    bench.vehicle.suffer(Fault::GpsBack);
    bench.until("hold", 4.0, |bench| bench.truth().custom_mode == HOLD);
    bench.pass(2.0);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_ACTIVE);
    assert!(bench.truth().height_m > 10.0);
}

#[test]
fn a_failure_can_be_injected_only_where_that_is_allowed() {
    let gps_off = [4.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let mut bench = hovering(10.0);
    assert_eq!(bench.verdicts(420, gps_off), [], "nobody is there to answer");
    set_parameter(&mut bench, "SYS_FAILURE_EN", 1);
    assert_eq!(bench.command(420, gps_off), Accepted);
    assert_eq!(bench.verdicts(420, [77.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]), []);
    bench.until("descend", 8.0, |bench| bench.truth().custom_mode == LAND);
}

#[test]
fn a_breach_of_the_distance_fence_holds_for_five_seconds_and_returns() {
    let mut bench = hovering(10.0);
    bench.receive(Request::ParamSet {
        to: US,
        name: "GF_MAX_HOR_DIST".into(),
        value: 40.0,
        kind: 9,
    });
    let (x, y) = HOME.offset_meters(30.0, 0.0).e7();
    assert_eq!(bench.command_int(192, 5, [-1.0, 1.0, 0.0, NAN], x, y, 498.0), Accepted);
    bench.pass(20.0);
    let (x, y) = HOME.offset_meters(80.0, 0.0).e7();
    assert_eq!(bench.command_int(192, 5, [-1.0, 1.0, 0.0, NAN], x, y, 498.0), Accepted);
    bench.pass(3.0);
    assert!(
        bench.sent_text("Reposition is outside geofence\t"),
        "it is taken, and does not move"
    );
    set_parameter(&mut bench, "GF_ACTION", 3);
    bench.receive(Request::ParamSet {
        to: US,
        name: "GF_MAX_HOR_DIST".into(),
        value: 20.0,
        kind: 9,
    });
    bench.pass(0.2);
    assert!(bench.sent_text("Geofence: approaching or outside geofence"));
    assert!(bench.sent_text("Failsafe activated: entering Hold for 5 seconds\t"));
    let waited = bench.until("return", 6.0, |bench| bench.truth().custom_mode == RETURN);
    near("the wait", waited, 5.0, 0.3);
}

#[test]
fn with_a_motor_gone_it_falls_out_of_the_sky_and_does_not_lift_off_again() {
    let mut bench = hovering(20.0);
    bench.vehicle.suffer(Fault::MotorStops);
    bench.pass(1.1);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_CRITICAL);
    let fell_s = bench.until("down", 8.0, |bench| bench.truth().height_m <= 0.0);
    assert!(fell_s < 5.0, "{fell_s}");
    bench.until("disarmed", 5.0, |bench| !bench.truth().armed);
    assert_eq!(bench.arm(), TemporarilyRejected);
}

#[test]
fn a_termination_is_refused_on_the_ground_and_cannot_be_undone_in_the_air() {
    let terminate = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let mut bench = ready();
    assert_eq!(bench.command(185, terminate), Denied);
    let mut bench = hovering(15.0);
    assert_eq!(bench.command(185, terminate), Accepted);
    assert_eq!(set_mode(&mut bench, 4.0, 3.0), [Accepted, TemporarilyRejected]);
    bench.pass(1.1);
    let beat = bench.last_heartbeat();
    assert_eq!(beat.system_status, MavState::MAV_STATE_FLIGHT_TERMINATION);
    assert!(bench.truth().height_m < 12.0);
}
