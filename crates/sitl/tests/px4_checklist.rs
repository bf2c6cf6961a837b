//! What users meet on PX4 and not on ArduCopter (field notes, 4.13), one test for each item, by number.

mod support;

use mavlink::dialects::ardupilotmega::{MavBatteryChargeState as ChargeState, MavLandedState as Landed, MavMessage};
use sitl::model::{Autopilot, Fault, Port, Vehicle, VehicleConfig};
use sitl::wire::{Command, CommandForm, FrameReader, Incoming, Outgoing, Request, Sender};
use std::time::Duration;
use support::Verdict::{Accepted, Denied, Other, TemporarilyRejected};
use support::px4::*;
use support::{Bench, HOME, US, near};

fn px4() -> VehicleConfig {
    VehicleConfig::new(Autopilot::Px4, 1, HOME)
}

fn mode_command(main: f32, sub: f32) -> Request {
    Request::Command(Command {
        to: US,
        id: 176,
        params: [1.0, main, sub, 0.0],
        form: CommandForm::Long {
            xyz: [0.0; 3],
            confirmation: 0,
        },
    })
}

#[test]
fn item_1_a_takeoff_is_accepted_while_disarmed_and_arming_climbs() {
    let mut bench = ready();
    take_off_to(&mut bench, 494.0);
    bench.pass(3.0);
    assert_eq!(bench.truth().height_m, 0.0);
    assert_eq!(bench.arm(), Accepted);
    bench.until("climbing", 10.0, |bench| bench.truth().height_m > 1.0);
}

#[test]
fn item_2_it_streams_its_landed_state_without_a_request() {
    // On a radio's port everything shares 1200 bytes a second.
    for (port, times) in [(Port::Network, 19), (Port::Radio, 8), (Port::Companion, 9)] {
        let mut config = px4();
        config.port = port;
        let mut bench = Bench::with(config);
        bench.pass_to(20.0);
        assert_eq!(bench.landed_states().len(), 1);
        let count = bench.count(|message| matches!(message, MavMessage::EXTENDED_SYS_STATE(_)));
        assert!(count.abs_diff(times) <= 1, "{port:?}: {count}");
    }
}

#[test]
fn item_3_a_refusal_to_arm_is_temporary_and_details_come_only_on_request() {
    let mut config = px4();
    config.never_ready = true;
    let mut bench = Bench::with(config);
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass_to(10.0);
    let start = bench.now_s();
    assert_eq!(bench.arm(), TemporarilyRejected);
    bench.pass(1.0);
    assert_eq!(bench.texts_since(start), [ARM_DENIED]);
    let start = bench.now_s();
    assert_eq!(bench.command(401, [0.0; 7]), Accepted);
    bench.pass(1.0);
    assert_eq!(
        bench.texts_since(start),
        ["Preflight Fail: Found 1 compass (required: 2)"]
    );
}

#[test]
fn item_4_the_position_becomes_valid_some_time_after_boot_and_arming_waits_for_it() {
    for (looked_at_s, ready_s) in [(0.5, 4.1), (10.0, 11.4)] {
        let mut config = px4();
        config.parameters = vec![("EKF2_REQ_GPS_H".into(), looked_at_s)];
        let mut bench = Bench::with(config);
        bench.heartbeat = Some(GROUND_STATION);
        bench.pass_to(2.0);
        while bench.arm() == TemporarilyRejected {
            bench.pass(0.1);
        }
        near("armed", bench.now_s(), ready_s, 0.3);
    }
}

#[test]
fn item_5_left_alone_it_disarms_after_eleven_seconds_and_two_after_a_landing() {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    near(
        "idle",
        bench.until("disarmed", 20.0, |bench| !bench.truth().armed),
        11.0,
        0.1,
    );
    // It waits for its takeoff in the time of its peers.
    let mut config = px4();
    config.seconds_per_peer_second = 10.0;
    let mut bench = ready_with(config);
    assert_eq!(bench.arm(), Accepted);
    let idle = bench.until("disarmed", 120.0, |bench| !bench.truth().armed);
    near("idle", idle, 101.0, 0.1);
    let mut bench = hovering(5.0);
    assert_eq!(bench.command(21, [0.0, 0.0, 0.0, NAN, NAN, NAN, NAN]), Accepted);
    bench.until("landed", 40.0, |bench| bench.truth().landed_state == 1);
    near(
        "after landing",
        bench.until("disarmed", 5.0, |bench| !bench.truth().armed),
        2.0,
        0.1,
    );
}

#[test]
fn item_6_the_frame_is_ignored_here_and_later_versions_refuse_what_is_not_exact() {
    let unused = i32::MAX;
    let nan = [NAN; 4];
    let mut bench = ready();
    for frame in [0, 1, 3, 5, 99] {
        assert_eq!(
            bench.command_int(22, frame, nan, unused, unused, 498.0),
            Accepted,
            "frame {frame}"
        );
    }
    let mut config = px4();
    config.strict_positions = true;
    let mut bench = ready_with(config);
    let frames_refused = Other(9);
    assert_eq!(bench.command_int(22, 3, nan, unused, unused, 10.0), frames_refused);
    assert_eq!(
        bench.command_int(22, 0, [-1.0, 5.0, 0.0, NAN], unused, unused, 498.0),
        Denied
    );
    assert_eq!(
        bench.command(22, [NAN, 0.0, 0.0, NAN, NAN, NAN, 498.0]),
        Other(8),
        "COMMAND_INT only"
    );
    for frame in [0, 5] {
        assert_eq!(bench.command_int(22, frame, nan, unused, unused, 498.0), Accepted);
    }
}

#[test]
fn item_7_in_the_air_a_disarm_is_refused_and_a_forced_one_drops_it() {
    let mut bench = hovering(10.0);
    assert_eq!(bench.disarm(), TemporarilyRejected);
    assert_eq!(bench.kill(), Accepted);
    bench.pass(1.0);
    let (states, truth) = (bench.landed_states(), bench.truth());
    assert!(!truth.armed && truth.height_m > 1.0, "{truth:?}");
    assert_eq!(
        states.last().unwrap().1,
        Landed::MAV_LANDED_STATE_ON_GROUND,
        "already, and still falling"
    );
}

#[test]
fn item_8_the_station_is_missed_by_type_only_off_by_default_and_first_it_holds() {
    for (action, kind, ends_in) in [
        (0, None, HOLD),
        (2, None, RETURN),
        (2, Some(COMPANION), RETURN),
        (2, Some(GROUND_STATION), HOLD),
    ] {
        let mut bench = hovering(10.0);
        set_parameter(&mut bench, "NAV_DLL_ACT", action);
        bench.heartbeat = kind;
        bench.pass(15.0);
        assert_eq!(bench.truth().custom_mode, HOLD, "the wait");
        bench.pass(6.0);
        assert_eq!(
            bench.truth().custom_mode,
            ends_in,
            "NAV_DLL_ACT {action}, heartbeats {kind:?}"
        );
    }
}

#[test]
fn item_9_commands_to_others_get_no_answer_and_a_reboot_keeps_parameters_only() {
    let mut bench = ready();
    for to in [(2, 1), (1, 191), (0, 0)] {
        assert_eq!(bench.verdicts_from(to, 512, [148.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), []);
    }
    assert_eq!(
        bench.verdicts_from((1, 0), 512, [148.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        [Accepted]
    );
    set_parameter(&mut bench, "NAV_DLL_ACT", 2);
    bench.stream(245, 20.0);
    assert_eq!(bench.command(246, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    bench.pass(3.0);
    assert_eq!(bench.vehicle.reboots(), 1);
    let before = bench.sent.len();
    bench.receive(Request::ParamRead {
        to: US,
        index: -1,
        name: "NAV_DLL_ACT".into(),
    });
    assert_eq!(bench.command(510, [245.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    let was_sent = |wanted: fn(&MavMessage) -> bool| {
        bench.sent[before..]
            .iter()
            .any(|(_, sent)| matches!(sent, Outgoing::Message(message) if wanted(message)))
    };
    assert!(was_sent(
        |message| matches!(message, MavMessage::PARAM_VALUE(value) if value.param_value.to_bits() == 2)
    ));
    assert!(was_sent(
        |message| matches!(message, MavMessage::MESSAGE_INTERVAL(was_sent) if was_sent.interval_us == 1_000_000)
    ));
}

#[test]
fn item_10_of_ten_commands_at_once_only_four_are_acknowledged() {
    let mut bench = hovering(10.0);
    let before = bench.sent.len();
    bench.receive_all((0..10).map(|_| mode_command(4.0, 3.0)).take(3));
    bench.pass(0.1);
    assert_eq!(bench.acks_since(before).len(), 4);
    let before = bench.sent.len();
    let request = |message: f32| {
        Request::Command(Command {
            to: US,
            id: 512,
            params: [message, 0.0, 0.0, 0.0],
            form: CommandForm::Long {
                xyz: [0.0; 3],
                confirmation: 0,
            },
        })
    };
    bench.receive_all((0..10).map(|_| request(242.0)));
    bench.pass(0.1);
    assert_eq!(bench.acks_since(before), [(512, Accepted); 4]);
    let homes = bench.sent[before..].iter().filter(
        |(_, sent)| matches!(sent, Outgoing::Message(message) if matches!(**message, MavMessage::HOME_POSITION(_))),
    );
    assert!(homes.count() >= 10, "all were run");
}

#[test]
fn item_11_noise_cut_frames_and_old_frames_on_the_wire_lose_no_good_frame() {
    let request = |sender: &mut Sender| {
        let command = sitl::wire::CommandLong {
            command: 512,
            params: [148.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            confirmation: 0,
            target_system: 1,
        };
        sender.encode(&Outgoing::Command(command))
    };
    let mut sender = Sender::new(255, 190);
    let good = request(&mut sender);
    let beat = mavlink::dialects::ardupilotmega::HEARTBEAT_DATA {
        mavtype: mavlink::dialects::ardupilotmega::MavType::MAV_TYPE_GCS,
        ..mavlink::dialects::ardupilotmega::HEARTBEAT_DATA::DEFAULT
    };
    let mut old = mavlink::MAVLinkV1MessageRaw::new();
    old.serialize_message(mavlink::MavHeader::default(), &MavMessage::HEARTBEAT(beat));
    let mut wire = vec![0x00, 0xFE, 0x03, 0xFD];
    wire.extend(&good);
    wire.extend(&good[..7]);
    wire.extend(old.raw_bytes());
    wire.extend([0xFD, 1, 0, 0, 9, 1, 1, 0xFF, 0xFF, 0x7F, 5, 1, 2]);
    wire.extend(request(&mut sender));
    wire.extend([0x55; 300]);
    let mut reader = FrameReader::default();
    let mut vehicle = Vehicle::new(px4());
    vehicle.step(Duration::from_secs(5));
    reader.push(&wire);
    let mut acks = 0;
    while let Some(frame) = reader.next_frame() {
        vehicle.on_message(&Incoming::decode(&frame));
        let sent = vehicle.step(Duration::from_millis(20));
        acks += sent.iter().filter(|sent| matches!(sent, Outgoing::Ack(_))).count();
    }
    assert_eq!(acks, 2);
}

#[test]
fn item_12_the_charge_state_follows_the_battery_and_a_stopped_motor_is_critical() {
    let mut config = px4();
    config.battery_percent = 18.0;
    config.battery_percent_per_minute = 60.0;
    let mut bench = hover(ready_with(config), 5.0);
    bench.until("empty", 30.0, |bench| bench.truth().battery_percent <= 2.0);
    bench.pass(5.0);
    let mut states: Vec<ChargeState> = Vec::new();
    for (_, message) in bench.messages() {
        if let MavMessage::BATTERY_STATUS(status) = message
            && states.last() != Some(&status.charge_state)
        {
            states.push(status.charge_state);
        }
    }
    use ChargeState::{
        MAV_BATTERY_CHARGE_STATE_CRITICAL as CRITICAL, MAV_BATTERY_CHARGE_STATE_EMERGENCY as EMERGENCY,
        MAV_BATTERY_CHARGE_STATE_LOW as LOW, MAV_BATTERY_CHARGE_STATE_OK as OK,
    };
    assert_eq!(states, [OK, LOW, CRITICAL, EMERGENCY]);
    let mut bench = hovering(20.0);
    let (x, y) = HOME.offset_meters(40.0, 0.0).e7();
    assert_eq!(bench.command_int(192, 5, [-1.0, 1.0, 0.0, NAN], x, y, 508.0), Accepted);
    bench.pass(8.0);
    bench.vehicle.suffer(Fault::MotorStops);
    bench.until("down", 8.0, |bench| bench.truth().height_m <= 0.0);
    let place = bench.truth().place;
    assert!(
        HOME.to_local(place).north > 10.0,
        "it came down away from home: {place:?}"
    );
}
