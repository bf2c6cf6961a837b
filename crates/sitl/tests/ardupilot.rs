//! The ArduCopter profile says and does what the recorded ArduCopter (90700977) said and did, at the recorded times.

mod support;

use mavlink::dialects::ardupilotmega::{MavLandedState as Landed, MavMessage, MavState};
use sitl::model::{Autopilot, Firmware, VehicleConfig};
use sitl::wire::{Address, GotoTarget, Request};
use support::Verdict::{Accepted, Denied, Failed, TemporarilyRejected, Unsupported};
use support::ardupilot::*;
use support::{Bench, HOME, near};

#[test]
fn a_silent_client_gets_heartbeats_and_timesync_and_home_once_and_nothing_else() {
    let mut bench = Bench::new(Autopilot::ArduPilot);
    bench.pass_to(60.0);
    let beats = bench.heartbeats();
    near("first heartbeat", beats[0].0, 1.0, 0.05);
    assert_eq!(beats[0].1.system_status, MavState::MAV_STATE_BOOT);
    let standby = beats
        .iter()
        .find(|(_, beat)| beat.system_status == MavState::MAV_STATE_STANDBY)
        .unwrap();
    near("standby", standby.0, 3.0, 0.1);
    assert_eq!(beats.len(), 61, "two of the boot's own clock, and one a second");
    assert_eq!(bench.count(|message| matches!(message, MavMessage::TIMESYNC(_))), 6);
    assert_eq!(
        bench.count(|message| matches!(message, MavMessage::HOME_POSITION(_))),
        1
    );
    assert_eq!(bench.sent.len(), 61 + 6 + 2);
}

#[test]
fn guided_requested_before_the_boot_ends_is_accepted_and_reverts() {
    let mut bench = Bench::new(Autopilot::ArduPilot);
    bench.pass_to(1.2);
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    assert_eq!(bench.last_heartbeat().custom_mode, GUIDED);
    bench.pass_to(2.6);
    assert_eq!(bench.last_heartbeat().custom_mode, 0);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_STANDBY);
}

#[test]
fn the_prearm_bit_comes_at_23_s_in_stabilize_but_at_41_s_in_guided() {
    for (mode, recorded) in [(0, 23.5), (GUIDED, 41.5)] {
        let mut bench = Bench::new(Autopilot::ArduPilot);
        bench.pass_to(3.0);
        assert_eq!(set_mode(&mut bench, mode), Accepted);
        bench.stream(1, 10.0);
        bench.until("prearm bit", 60.0, Bench::prearm_ok);
        near("prearm bit", bench.now_s(), recorded, 0.2);
    }
}

#[test]
fn the_prearm_bit_tells_of_the_last_checks_and_they_run_when_told_to() {
    let mut bench = Bench::new(Autopilot::ArduPilot);
    bench.stream(1, 10.0);
    bench.until("prearm bit", 60.0, Bench::prearm_ok);
    let since = bench.now_s();
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    bench.pass_to(since + 0.25);
    assert!(bench.prearm_ok(), "STABILIZE's");
    assert_eq!(bench.command(401, [0.0; 7]), Accepted);
    bench.pass_to(since + 0.5);
    assert!(!bench.prearm_ok(), "GUIDED's");
    assert_eq!(bench.texts_since(since), ["PreArm: Need Position Estimate"]);
    bench.pass_to(since + 1.5);
    assert_eq!(bench.texts_since(since).len(), 2, "and unasked, with the next run");
}

#[test]
fn arming_is_refused_with_one_critical_text_per_reason_of_that_moment() {
    let expected: &[(f64, &[&str])] = &[
        (
            2.71,
            &[
                "Need Alt Estimate",
                "Accels inconsistent",
                "EKF attitude is bad",
                "AHRS: waiting for home",
            ],
        ),
        (6.72, &["Accels inconsistent", "AHRS: waiting for home"]),
        (12.75, &["Gyros inconsistent", "AHRS: waiting for home"]),
        (20.79, &["Gyros inconsistent", "Need Position Estimate"]),
        (40.87, &["Need Position Estimate"]),
    ];
    let mut bench = Bench::new(Autopilot::ArduPilot);
    bench.pass_to(2.6);
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    for (at, reasons) in expected {
        bench.pass_to(*at);
        assert_eq!(bench.arm(), Failed);
        let texts: Vec<String> = bench
            .texts_since(*at)
            .into_iter()
            .filter(|text| text.starts_with("Arm: "))
            .collect();
        let wanted: Vec<String> = reasons.iter().map(|reason| format!("Arm: {reason}")).collect();
        assert_eq!(texts, wanted, "at {at} s");
    }
    bench.pass_to(41.87);
    assert_eq!(bench.arm(), Accepted);
    assert!(
        bench.sent_text("PreArm: Need Position Estimate"),
        "said unasked at 30.45 s"
    );
}

#[test]
fn a_vehicle_never_ready_sends_the_reason_at_each_arm_and_every_thirty_seconds() {
    let mut config = VehicleConfig::new(Autopilot::ArduPilot, 1, HOME);
    config.never_ready = true;
    let mut bench = Bench::with(config);
    bench.pass_to(3.0);
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    bench.pass_to(100.0);
    let unasked: Vec<f64> = bench
        .texts()
        .into_iter()
        .filter(|(_, text)| text == "PreArm: Compass not calibrated")
        .map(|(at, _)| at)
        .collect();
    assert_eq!(unasked.len(), 3, "{unasked:?}");
    near("period", unasked[2] - unasked[1], 30.0, 0.05);
    assert_eq!(bench.arm(), Failed);
    assert_eq!(bench.texts_since(100.0), ["Arm: Compass not calibrated"]);
    assert_eq!(bench.command(401, [0.0; 7]), Accepted);
    assert!(
        bench
            .texts_since(100.0)
            .contains(&"PreArm: Compass not calibrated".to_owned())
    );
}

#[test]
fn a_flight_to_ten_meters_and_back_takes_as_long_as_recorded() {
    let mut bench = ready();
    let armed_at = bench.now_s();
    assert_eq!(bench.arm(), Accepted);
    bench.pass(0.96);
    let took_off_at = bench.now_s();
    assert_eq!(take_off(&mut bench, 10.0), Accepted);
    bench.until("in the air", 60.0, |bench| bench.truth().landed_state == 2);
    bench.pass(8.0);
    near("hover height", bench.truth().height_m, 10.0, 0.1);
    assert_eq!(bench.last_heartbeat().system_status, MavState::MAV_STATE_ACTIVE);
    let landing_at = bench.now_s();
    assert_eq!(land(&mut bench), Accepted);
    assert_eq!(
        bench.last_heartbeat().custom_mode,
        LAND,
        "a mode change is announced at once"
    );
    bench.until("disarmed", 60.0, |bench| !bench.truth().armed);
    let disarmed_at = bench.now_s();
    bench.pass(2.0);
    let states = bench.landed_states();
    let order: Vec<Landed> = states.iter().map(|(_, state)| *state).collect();
    let wanted = [
        Landed::MAV_LANDED_STATE_ON_GROUND,
        Landed::MAV_LANDED_STATE_TAKEOFF,
        Landed::MAV_LANDED_STATE_IN_AIR,
        Landed::MAV_LANDED_STATE_LANDING,
        Landed::MAV_LANDED_STATE_ON_GROUND,
    ];
    assert_eq!(order, wanted);
    near("TAKEOFF after arming", states[1].0 - armed_at, 3.5, 0.3);
    near("IN_AIR after the take-off command", states[2].0 - took_off_at, 9.6, 0.7);
    near("ON_GROUND after the land command", states[4].0 - landing_at, 22.5, 1.0);
    near("motors off after the land command", disarmed_at - landing_at, 22.9, 1.0);
    assert!(bench.sent_text("Disarming motors"));
    assert_eq!(bench.truth().custom_mode, LAND, "the mode stays LAND");
    assert_eq!(bench.arm(), Failed);
    assert!(bench.sent_text("Arm: LAND mode not armable"));
}

#[test]
fn armed_and_left_alone_it_disarms_itself_after_ten_seconds() {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    let waited = bench.until("disarmed", 20.0, |bench| !bench.truth().armed);
    near("auto-disarm", waited, 10.0, 0.1);
    assert_eq!(bench.truth().custom_mode, GUIDED);
}

#[test]
fn arming_twice_and_disarming_twice_are_accepted() {
    let mut bench = ready();
    assert_eq!([bench.arm(), bench.arm()], [Accepted, Accepted]);
    assert_eq!(
        [bench.disarm(), bench.disarm(), bench.kill()],
        [Accepted, Accepted, Accepted]
    );
}

#[test]
fn a_takeoff_that_cannot_be_is_refused_without_a_text() {
    let mut bench = ready();
    let start = bench.now_s();
    assert_eq!(take_off(&mut bench, 10.0), Failed, "disarmed");
    assert_eq!(bench.arm(), Accepted);
    assert_eq!(take_off(&mut bench, -5.0), Failed, "below ground");
    assert_eq!(take_off(&mut bench, 0.0), Failed, "no height");
    assert_eq!(
        bench.command_int(22, 6, [0.0; 4], 0, 0, 10.0),
        Denied,
        "frame with _INT"
    );
    assert_eq!(
        bench.command_int(22, 0, [0.0; 4], 0, 0, 10.0),
        Denied,
        "frame above sea level"
    );
    assert_eq!(bench.texts_since(start), ["Arming motors"]);
    assert_eq!(bench.command_int(22, 3, [0.0; 4], 0, 0, 10.0), Accepted);
}

#[test]
fn a_repeated_takeoff_wins_before_lift_off_and_fails_after_it() {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    assert_eq!(take_off(&mut bench, 5.0), Accepted);
    bench.pass(0.5);
    assert_eq!(take_off(&mut bench, 8.0), Accepted);
    bench.until("climbing", 10.0, |bench| bench.truth().height_m > 1.0);
    assert_eq!(take_off(&mut bench, 12.0), Failed);
    bench.pass(15.0);
    near("height", bench.truth().height_m, 8.0, 0.1);
}

#[test]
fn in_flight_disarm_and_reboot_and_auto_without_a_mission_are_refused() {
    let mut bench = hovering(10.0);
    let start = bench.now_s();
    assert_eq!(bench.disarm(), Failed);
    assert_eq!(bench.command(246, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Failed);
    assert_eq!(bench.texts_since(start), Vec::<String>::new(), "no text with either");
    assert_eq!(set_mode(&mut bench, 3), Failed);
    assert_eq!(bench.texts_since(start), ["Mode change to AUTO failed: init failed"]);
    assert_eq!(bench.command(401, [0.0; 7]), TemporarilyRejected);
    assert!(bench.truth().armed);
}

#[test]
fn a_kill_in_flight_is_accepted_and_the_vehicle_falls() {
    let mut bench = hovering(10.0);
    assert_eq!(bench.kill(), Accepted);
    assert!(!bench.truth().armed);
    let fall = bench.until("on the ground", 5.0, |bench| bench.truth().height_m == 0.0);
    near("fall", fall, 1.43, 0.1);
}

#[test]
fn return_to_launch_comes_home_waits_five_seconds_and_lands_with_the_mode_kept() {
    let mut bench = hovering(15.0);
    let there = HOME.offset_meters(30.0, 20.0);
    let (lat_e7, lon_e7) = there.e7();
    bench.receive(Request::Goto(GotoTarget {
        to: Address {
            system: 1,
            component: 1,
        },
        frame: 6,
        type_mask: 3576,
        lat_e7,
        lon_e7,
        alt_m: 15.0,
        velocity_m_s: [0.0; 3],
    }));
    bench.pass(15.0);
    near(
        "north of home",
        (bench.truth().place.lat_deg - HOME.lat_deg) * 111_319.5,
        30.0,
        0.5,
    );
    assert_eq!(bench.command(20, [0.0; 7]), Accepted);
    let took = bench.until("disarmed", 90.0, |bench| !bench.truth().armed);
    near("return", took, 44.1, 3.0);
    assert_eq!(bench.truth().custom_mode, RTL);
    near(
        "back home",
        (bench.truth().place.lat_deg - HOME.lat_deg) * 111_319.5,
        0.0,
        0.5,
    );
    bench.until("landing was reported", 1.0, |bench| {
        bench
            .landed_states()
            .iter()
            .any(|(_, state)| *state == Landed::MAV_LANDED_STATE_LANDING)
    });
}

#[test]
fn a_pilot_mode_in_flight_sinks_to_the_ground_because_the_throttle_stick_is_down() {
    let mut bench = hovering(5.0);
    assert_eq!(set_mode(&mut bench, 5), Accepted);
    let sank = bench.until("on the ground", 10.0, |bench| bench.truth().height_m == 0.0);
    near("sinking", sank, 2.86, 0.4);
}

#[test]
fn modes_that_only_land_or_stop_cannot_be_armed_in() {
    let mut bench = ready();
    for (mode, reason) in [
        (RTL, "Arm: RTL mode not armable"),
        (LAND, "Arm: LAND mode not armable"),
        (17, "Arm: BRAKE mode not armable"),
        (3, "Arm: Mode requires mission"),
    ] {
        assert_eq!(set_mode(&mut bench, mode), Accepted);
        assert_eq!(bench.arm(), Failed);
        assert!(bench.sent_text(reason), "{reason}");
        bench.pass(0.5);
    }
}

#[test]
fn set_mode_as_a_message_is_not_acknowledged_but_shown_in_the_heartbeat() {
    let mut bench = ready();
    let before = bench.sent.len();
    bench.receive(Request::SetMode {
        system: 1,
        base_mode: 1,
        custom_mode: 17,
    });
    assert_eq!(bench.last_heartbeat().custom_mode, 17);
    assert_eq!(bench.sent.len(), before + 1);
}

#[test]
fn strange_requests_get_the_recorded_answers() {
    let mut bench = ready();
    let start = bench.now_s();
    assert_eq!(bench.command(31999, [1.0; 7]), Unsupported);
    assert_eq!(bench.command(511, [9999.0, 1e6, 0.0, 0.0, 0.0, 0.0, 0.0]), Denied);
    assert_eq!(bench.command(512, [9999.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Failed);
    assert_eq!(set_mode(&mut bench, 99), Failed);
    assert_eq!(
        bench.command(176, [0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        Denied,
        "without the custom mode bit"
    );
    assert_eq!(bench.command(400, [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Unsupported);
    assert_eq!(
        bench.texts_since(start),
        ["No ap_message for mavlink id (9999)", "No such mode 99"]
    );
    assert_eq!(bench.verdicts_from((77, 1), 400, [1.0; 7]), [], "another vehicle");
    assert_eq!(
        bench.verdicts_from((1, 191), 400, [1.0; 7]),
        [Accepted],
        "a component that it never heard is taken for itself"
    );
    assert_eq!(
        bench.verdicts_from((1, 0), 512, [148.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        [Accepted],
        "all components"
    );
}

#[test]
fn a_reboot_on_the_ground_starts_over_without_the_streams() {
    let mut bench = ready();
    assert_eq!(bench.command(246, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    bench.pass(0.3);
    assert_eq!(bench.vehicle.reboots(), 1);
    let rebooted_at = bench.now_s();
    bench.pass(10.0);
    let first = bench
        .heartbeats()
        .into_iter()
        .find(|(at, _)| *at > rebooted_at)
        .unwrap();
    near("first heartbeat after the reboot", first.0 - rebooted_at, 0.9, 0.1);
    let late = bench
        .messages()
        .filter(|(at, message)| *at > rebooted_at && matches!(message, MavMessage::SYS_STATUS(_)));
    assert_eq!(late.count(), 0);
}

#[test]
fn each_version_reports_itself_and_the_commit_that_was_flown() {
    for (firmware, version, commit) in [
        (Firmware::Recorded, 0x0407_0000, *b"90700977"),
        (Firmware::Copter46, 0x0406_02FF, *b"1ebd4d99"),
        (Firmware::Copter48, 0x0408_0000, *b"64a9c787"),
    ] {
        let mut config = VehicleConfig::new(Autopilot::ArduPilot, 1, HOME);
        config.firmware = firmware;
        let mut bench = Bench::with(config);
        bench.pass(5.0);
        assert_eq!(bench.version(), (version, commit), "{firmware:?}");
    }
}

#[test]
fn its_hardware_number_is_of_its_instance_and_stays_after_a_reboot() {
    let uid2 = |bench: &mut Bench, system: u8| {
        let before = bench.now_s();
        let request = [148.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(bench.verdicts_from((system, 1), 512, request), [Accepted]);
        bench.pass(0.1);
        let reported = bench.messages().filter_map(|(at, message)| match message {
            MavMessage::AUTOPILOT_VERSION(version) if at >= before => Some((version.uid, version.uid2)),
            _ => None,
        });
        reported.last().expect("a report")
    };
    let mut first = ready();
    let mut second = Bench::with(VehicleConfig::new(Autopilot::ArduPilot, 2, HOME));
    second.pass(5.0);
    let (short, one) = uid2(&mut first, 1);
    let (_, two) = uid2(&mut second, 2);
    assert_eq!(short, 0);
    assert_eq!((one[0] + 1, &one[1..]), (two[0], &two[1..]));
    assert_eq!(one[17], 0, "17 characters");
    assert_eq!(first.command(246, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    first.pass(5.0);
    assert_eq!(uid2(&mut first, 1).1, one);
}

#[test]
fn it_looks_to_where_it_is_sent_and_turns_when_told_until_it_is_sent_elsewhere() {
    let mut bench = hovering(10.0);
    let sent = |bench: &mut Bench, lon| {
        let to = [-1.0, 0.0, 0.0, 1.5];
        assert_eq!(bench.command_int(192, 3, to, 473_977_420, lon, 10.0), Accepted);
        bench.pass(20.0);
        bench.truth().heading_deg
    };
    let east = 85_459_940;
    near("along the way", sent(&mut bench, east), 90.0, 1.0);
    let turn = |bench: &mut Bench, degrees: f32, side: f32, relative: f32| {
        assert_eq!(
            bench.command(115, [degrees, 0.0, side, relative, 0.0, 0.0, 0.0]),
            Accepted
        );
        bench.pass(6.0);
        bench.truth().heading_deg
    };
    near("to a heading", turn(&mut bench, 200.0, 0.0, 0.0), 200.0, 1.0);
    near("by an angle", turn(&mut bench, 20.0, -1.0, 1.0), 180.0, 1.0);
    near("where it is", sent(&mut bench, east), 180.0, 1.0);
    near("back", sent(&mut bench, 85_455_940), 270.0, 1.0);
}

/// Recorded at 518.1 m, 30 m above home, home set here: 518.1 in frame 0 is here, 523.1 in frame 5 is 5 m higher.
#[test]
fn a_home_that_is_set_in_flight_moves_heights_above_home_and_none_above_sea_level() {
    let mut bench = hovering(10.0);
    assert_eq!(
        bench.command(179, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        Accepted,
        "home is here"
    );
    let (lat, lon) = HOME.e7();
    for (frame, z, up) in [(3, 5.0, 15.0), (0, 500.0, 12.0), (6, 10.0, 20.0), (5, 498.0, 10.0)] {
        let verdict = bench.command_int(192, frame, [-1.0, 0.0, 0.0, 0.0], lat, lon, z);
        assert_eq!(verdict, Accepted);
        bench.pass(20.0);
        near("height", bench.truth().height_m, up, 0.5);
    }
}
