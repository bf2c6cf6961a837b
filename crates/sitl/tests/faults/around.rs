//! Lasting faults: of bytes, of what is sent and received, and neighbors on the wire.

use crate::rig::{KEY, Rig};
use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;
use sha2::{Digest, Sha256};
use sitl::faults::LinkChange;
use sitl::wire::{Outgoing, Sender};

/// Frames of the vehicle in 30 s, with a fault from second 10 on: those that arrive whole, and those sent.
fn whole(text: &str) -> (usize, usize) {
    let mut rig = Rig::ready(text);
    let before = rig.log.len();
    rig.pass(30.0);
    let sent = rig.log[before..].iter().filter(|frame| frame[5] == 1).count();
    (rig.count(10.0, 40.0, |frame| frame.system == 1), sent)
}

#[test]
fn lose_bytes_costs_frames_and_the_rest_come_whole() {
    let (whole, sent) = whole("at 10 lose-bytes 1%");
    assert!(whole < sent * 9 / 10 && whole > sent / 4, "{whole} of {sent}");
}

#[test]
fn noise_costs_frames_and_the_rest_come_whole() {
    let (whole, sent) = whole("at 10 noise 1%");
    assert!(whole < sent * 9 / 10 && whole > sent / 4, "{whole} of {sent}");
}

#[test]
fn stray_start_bytes_cost_frames_and_the_rest_come_whole() {
    let (whole, sent) = whole("at 10 stray 1%");
    assert!(whole < sent && whole > sent / 10, "{whole} of {sent}");
}

#[test]
fn truncate_cuts_frames_short() {
    let (whole, sent) = whole("at 10 truncate 10%");
    assert!(whole < sent && whole > sent / 2, "{whole} of {sent}");
}

#[test]
fn an_aircraft_is_told_once_a_second_by_the_vehicle_where_it_is() {
    let mut rig = Rig::ready("at 10 aircraft 100 -400 15 for 5");
    rig.pass_to(20.0);
    let reported = |from_s, to_s| rig.count(from_s, to_s, |frame| frame.id == 246 && frame.system == 1);
    assert_eq!(
        (reported(0.0, 9.9), reported(9.9, 15.1), reported(15.1, 20.0)),
        (0, 5, 0)
    );
}

#[test]
fn noise_spoils_what_the_vehicle_receives_too() {
    let mut rig = Rig::ready("at 10 noise 5%");
    for _ in 0..40 {
        rig.request_message();
        rig.pass(0.2);
    }
    let received = rig
        .log
        .iter()
        .filter(|frame| frame.len() > 10 && frame[5] == 255 && frame[7] == 76)
        .count();
    assert!((1..30).contains(&received), "{received}");
}

#[test]
fn a_byte_fault_ends_when_it_is_over() {
    let mut rig = Rig::ready("at 10 noise 20% for 5");
    rig.pass(20.0);
    let before = rig.log.len();
    rig.pass(10.0);
    let sent = rig.log[before..].iter().filter(|frame| frame[5] == 1).count();
    assert_eq!(rig.count(30.0, 40.0, |_| true), sent);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_others() {
    let bytes = |seed: u32| {
        let mut rig = Rig::px4(&format!(
            "seed {seed}\nat 2 noise 1%\nat 2 stray 1%\nat 2 unknown-ids 5"
        ));
        rig.pass_to(15.0);
        rig.bytes
    };
    assert!(bytes(3) == bytes(3));
    assert!(bytes(3) != bytes(4));
}

#[test]
fn silence_is_silent_while_the_vehicle_receives_and_flies() {
    let mut rig = Rig::ready("at 11 silence for 5");
    rig.pass_to(12.0);
    rig.arm();
    rig.pass_to(20.0);
    assert_eq!(rig.count(11.05, 16.0, |_| true), 0);
    assert!(rig.truth().armed);
    assert!(rig.count(16.1, 18.0, |frame| frame.id == 0) > 0);
}

#[test]
fn deaf_receives_nothing_and_goes_on_sending() {
    let mut rig = Rig::ready("at 11 deaf for 2");
    rig.pass_to(12.0);
    rig.arm();
    rig.pass_to(13.5);
    assert!(!rig.truth().armed);
    assert!(rig.count(11.1, 13.0, |_| true) > 0);
    rig.arm();
    rig.pass(0.5);
    assert!(rig.truth().armed);
}

#[test]
fn hang_up_takes_the_link_away_and_brings_it_back() {
    let mut rig = Rig::ready("at 11 hang-up for 4");
    rig.pass_to(13.0);
    rig.arm();
    rig.pass_to(20.0);
    assert!(!rig.truth().armed, "nothing arrives meanwhile");
    assert_eq!(rig.count(11.05, 14.9, |_| true), 0);
    let changes: Vec<_> = rig
        .changes
        .iter()
        .map(|(at_s, change)| (at_s.round(), *change))
        .collect();
    assert_eq!(changes, [(11.0, LinkChange::HangUp), (15.0, LinkChange::Back)]);
}

#[test]
fn backlog_delivers_what_is_several_seconds_old_and_then_what_is_new() {
    let mut rig = Rig::ready("at 11 backlog for 6");
    rig.pass_to(20.0);
    assert_eq!(rig.count(11.05, 16.9, |_| true), 0);
    let boot_ms = |frame: &sitl::wire::Frame| {
        (frame.id == 33).then(|| u32::from_le_bytes(std::array::from_fn(|i| frame.payload[i])))
    };
    let times: Vec<(f64, u32)> = rig
        .frames
        .iter()
        .filter_map(|(at_s, frame)| Some((*at_s, boot_ms(frame)?)))
        .filter(|(at_s, _)| *at_s > 16.0)
        .collect();
    assert!(times[0].0 < 17.2 && times[0].1 < 12_500, "{times:?}");
    assert!(times.last().unwrap().1 > 18_000);
}

#[test]
fn mavlink1_frames_carry_the_same_where_they_can() {
    let mut rig = Rig::ready("at 10 mavlink1");
    rig.pass_to(11.0);
    rig.request_message();
    rig.pass_to(20.0);
    let first = |frame: &sitl::wire::Frame| frame.raw[0];
    assert!(rig.count(10.1, 20.0, |frame| first(frame) == 0xFE) > 20);
    assert_eq!(rig.count(10.1, 20.0, |frame| first(frame) == 0xFD), 0);
    assert_eq!(rig.count(10.1, 20.0, |frame| frame.id > 255), 0);
    let ack = rig.frames.iter().rfind(|(_, frame)| frame.id == 77).unwrap();
    assert_eq!(
        ack.1.payload,
        [0, 2, 0],
        "command 512 accepted, and no extension fields"
    );
}

#[test]
fn signed_frames_carry_a_right_signature_with_growing_stamps() {
    let mut rig = Rig::ready("at 10 signed key");
    rig.pass_to(15.0);
    let mut last = 0;
    let mut count = 0;
    for (_, frame) in rig.frames.iter().filter(|(at_s, _)| *at_s > 10.1) {
        assert_eq!(frame.raw[2] & 1, 1);
        let (body, proof) = frame.raw.split_at(frame.raw.len() - 6);
        let digest = Sha256::new().chain_update(KEY).chain_update(body).finalize();
        assert_eq!(proof, &digest[..6]);
        let stamp = frame.raw[frame.raw.len() - 12..frame.raw.len() - 6]
            .iter()
            .rev()
            .fold(0_u64, |stamp, byte| stamp << 8 | u64::from(*byte));
        assert!(stamp > last);
        (last, count) = (stamp, count + 1);
    }
    assert!(count > 20, "{count}");
}

#[test]
fn signed_only_drops_what_is_unsigned_forged_or_repeated() {
    let mut rig = Rig::ready("at 10 signed-only key");
    rig.pass_to(11.0);
    rig.arm();
    rig.pass(0.5);
    assert!(!rig.truth().armed, "unsigned");
    let arm = Outgoing::from(MavMessage::COMMAND_LONG(apm::COMMAND_LONG_DATA {
        param1: 1.0,
        command: apm::MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
        target_system: 1,
        target_component: 1,
        ..apm::COMMAND_LONG_DATA::DEFAULT
    }));
    let plain = Sender::new(255, 190).encode(&arm);
    rig.send_bytes(&signed(&plain, [8; 32], 5));
    rig.pass(0.5);
    assert!(!rig.truth().armed, "another key");
    let good = signed(&plain, KEY, 5);
    rig.send_bytes(&good);
    rig.pass(0.5);
    assert!(rig.truth().armed, "the right key");
    let acks = rig.acks_since(0.0, 400).len();
    rig.send_bytes(&good);
    rig.pass(0.5);
    assert_eq!(rig.acks_since(0.0, 400).len(), acks, "the same once more");
}

/// Signs as in the MAVLink guide.
fn signed(plain: &[u8], key: [u8; 32], stamp: u64) -> Vec<u8> {
    let mut frame = plain[..plain.len() - 2].to_vec();
    frame[2] |= 1;
    let crc = mavlink::calculate_crc(&frame[1..], 152);
    frame.extend(crc.to_le_bytes());
    frame.push(3);
    frame.extend(&stamp.to_le_bytes()[..6]);
    let digest = Sha256::new().chain_update(key).chain_update(&frame).finalize();
    frame.extend(&digest[..6]);
    frame
}

#[test]
fn unknown_ids_go_over_the_wire_at_their_rate_and_take_numbers_of_the_sequence() {
    let mut rig = Rig::ready("at 10 unknown-ids 10 for 10");
    let before = rig.log.len();
    rig.pass_to(25.0);
    let id = |frame: &Vec<u8>| u32::from_le_bytes([frame[7], frame[8], frame[9], 0]);
    let ours: Vec<&Vec<u8>> = rig.log[before..].iter().filter(|frame| frame[5] == 1).collect();
    let unknown = ours.iter().filter(|frame| id(frame) >= 60_000).count();
    assert!((98..=102).contains(&unknown), "{unknown}");
    assert!(ours.windows(2).all(|pair| pair[1][4] == pair[0][4].wrapping_add(1)));
}

#[test]
fn extra_message_comes_at_its_rate_and_has_a_right_checksum() {
    let mut rig = Rig::ready("at 10 extra-message 105 50 for 10");
    rig.pass_to(25.0);
    let extra = rig.count(0.0, 25.0, |frame| frame.id == 105);
    assert!((495..=505).contains(&extra), "{extra}");
}

#[test]
fn second_autopilot_reports_armed_and_in_the_air_under_its_own_id() {
    let mut rig = Rig::ready("at 10 second-autopilot 42 for 10");
    rig.pass_to(25.0);
    let theirs = |id: u32| rig.count(9.9, 25.0, move |frame| frame.system == 42 && frame.id == id);
    assert_eq!([theirs(0), theirs(245), theirs(33)], [10, 10, 10]);
    let beat = rig
        .frames
        .iter()
        .find(|(_, frame)| frame.system == 42 && frame.id == 0)
        .unwrap();
    assert_eq!((beat.1.component, beat.1.payload[6] & 128), (1, 128));
    assert!(!rig.truth().armed);
}

#[test]
fn gimbal_speaks_under_the_vehicles_own_system_id() {
    let mut rig = Rig::ready("at 10 gimbal for 5");
    rig.pass_to(20.0);
    assert_eq!(
        rig.count(0.0, 20.0, |frame| (frame.system, frame.component, frame.id)
            == (1, 154, 0)),
        5
    );
}

#[test]
fn ground_station_is_on_the_wire_and_the_vehicle_receives_it() {
    let mut rig = Rig::px4("at 8 ground-station");
    rig.beats = false;
    rig.pass_to(7.9);
    let texts = |rig: &Rig| rig.count(0.0, 100.0, |frame| frame.id == 253);
    assert_eq!(texts(&rig), 0, "no ground station, no texts");
    rig.pass_to(12.0);
    assert!(rig.count(8.0, 12.0, |frame| (frame.system, frame.component) == (255, 190)) >= 4);
    rig.command(22, [f32::NAN, 0.0, 0.0, f32::NAN, f32::NAN, f32::NAN, f32::NAN]);
    rig.arm();
    rig.pass_to(16.0);
    assert!(texts(&rig) > 0, "a PX4 sends texts to ground stations only");
}

#[test]
fn a_fault_after_a_command_begins_that_much_later() {
    let mut rig = Rig::ready("on request-message +2 silence for 1");
    rig.request_message();
    rig.pass_to(15.0);
    assert!(rig.count(11.5, 12.0, |_| true) > 0);
    assert_eq!(rig.count(12.1, 13.0, |_| true), 0);
    assert!(rig.count(13.1, 14.0, |_| true) > 0);
}

#[test]
fn a_fault_that_begins_again_while_it_lasts_goes_on_and_does_not_grow() {
    let mut rig = Rig::ready("at 10 second-autopilot 42 for 5\nat 12 second-autopilot 42 for 8");
    rig.pass_to(30.0);
    assert_eq!(rig.count(0.0, 30.0, |frame| frame.system == 42 && frame.id == 0), 10);
}
