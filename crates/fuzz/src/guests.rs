//! Target `guests`: ground stations that say anything, beside an autopilot and the agent, through the switch and the
//! outbox of the pass-through; [`judge`] decides. Must not: use sockets or a clock.

mod judge;

use crate::bytes::Bytes;
use agent::gcs::outbox::{Next, Outbox};
use agent::gcs::routes::GuestId;
use agent::gcs::switch::{Policy, Rights, Switch};
use judge::Judge;
use link::raw::{Direction, RawFrame};
use mavlink::calculate_crc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The autopilot, the agent beside it, and a name of a ground station.
pub(crate) const VEHICLE: (u8, u8) = (7, 1);
const NAMES: [(u8, u8); 7] = [VEHICLE, (7, 191), (7, 154), (255, 190), (255, 230), (1, 191), (0, 0)];
/// Messages that the rules name: heartbeats, commands, keys, radios, files, parameters, and one without a target.
const MESSAGES: [u32; 12] = [0, 76, 75, 77, 256, 109, 166, 110, 23, 21, 47, 33];
/// Bytes per second: the share of a line at 57600 baud.
pub(crate) const SHARE: u32 = 2880;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub from_guests: u64,
    /// Frames among them that were to reach the autopilot.
    pub passed: u64,
    pub beats: u64,
    pub written: u64,
    pub handed_out: u64,
}

/// Runs one input; panics when the pass-through breaks a rule.
pub fn run(input: &[u8]) -> Tally {
    let mut bytes = Bytes::new(input);
    let how = bytes.byte();
    let policy = Policy {
        read_only: how & 1 != 0,
        pass_heartbeats: how & 2 == 0,
    };
    let began = Instant::now();
    let mut scene = Scene {
        switch: Switch::new(policy),
        outbox: Outbox::new(SHARE, began),
        judge: Judge::new(policy, began),
        now: began,
        guests: 0,
        tally: Tally::default(),
    };
    while !bytes.is_empty() {
        scene.step(&mut bytes);
    }
    scene.tally
}

struct Scene {
    switch: Switch,
    outbox: Outbox,
    judge: Judge,
    now: Instant,
    guests: u64,
    tally: Tally,
}

impl Scene {
    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.below(9) {
            0 => {
                self.now += Duration::from_millis(u64::from(bytes.byte()) * 20);
                self.write();
            }
            1 => {
                self.guests += 1;
                self.switch.join(GuestId(self.guests), Rights::Command, self.now);
                self.judge.joins(GuestId(self.guests), self.now);
            }
            2 => {
                let guest = GuestId(u64::from(bytes.below(8)));
                self.switch.leave(guest);
                self.outbox.leave(guest);
                self.judge.leaves(guest);
            }
            3 => self.line(vehicle_beat(bytes.byte() & 1 != 0), Direction::Autopilot),
            4 => {
                let frame = any_frame(bytes);
                self.line(frame, Direction::Autopilot);
            }
            5 => {
                let frame = any_frame(bytes);
                self.line(frame, Direction::Us);
            }
            6 => self.line(order(), Direction::Us),
            _ => {
                let guest = GuestId(u64::from(bytes.below(8)));
                let frame = any_frame(bytes);
                self.guest(guest, frame);
            }
        }
    }

    fn line(&mut self, mut frame: RawFrame, from: Direction) {
        frame.from = from;
        let to = self.switch.receive_from_line(&frame, self.now);
        self.tally.handed_out += to.len() as u64;
        self.judge.line(&frame, &to);
    }

    fn guest(&mut self, guest: GuestId, frame: RawFrame) {
        let verdict = self.switch.receive_from_guest(guest, &frame, self.now);
        self.tally.from_guests += 1;
        self.tally.handed_out += verdict.to.guests.len() as u64;
        self.judge.guest(guest, &frame, &verdict, self.now);
        if verdict.to.autopilot {
            let beat = frame.message_id == 0;
            self.tally.passed += 1;
            self.tally.beats += u64::from(beat);
            self.judge.waits(&frame, self.now);
            self.outbox.push(guest, Arc::new(frame), beat, self.now);
        }
        self.write();
    }

    fn write(&mut self) {
        while let Next::Write(frame) = self.outbox.next(self.now) {
            self.tally.written += 1;
            self.judge.written(&frame, self.now);
        }
    }
}

fn vehicle_beat(armed: bool) -> RawFrame {
    let base_mode = if armed { 0x80 } else { 0 };
    whole(VEHICLE, 0, &[0, 0, 0, 0, 2, 12, base_mode, 3, 3])
}

fn order() -> RawFrame {
    let mut payload = [0; 33];
    (payload[30], payload[31]) = VEHICLE;
    whole((VEHICLE.0, 191), 76, &payload)
}

/// A frame with a good checksum, of one of [`NAMES`], its payload as it comes.
fn any_frame(bytes: &mut Bytes<'_>) -> RawFrame {
    let name = bytes.pick(&NAMES);
    let id = bytes.pick(&MESSAGES);
    let length = usize::from(bytes.byte() % 40);
    let mut payload = [0; 40];
    let given = bytes.take(length);
    payload[..given.len()].copy_from_slice(given);
    whole(name, id, &payload[..length])
}

fn whole((system, component): (u8, u8), id: u32, payload: &[u8]) -> RawFrame {
    let [a, b, c, _] = id.to_le_bytes();
    let length = u8::try_from(payload.len()).expect("at most 40");
    let mut bytes = vec![0xFD, length, 0, 0, 0, system, component, a, b, c];
    bytes.extend_from_slice(payload);
    let extra = link::layout::layout_of(id).expect("of the dialect").crc_extra;
    let checksum = calculate_crc(&bytes[1..], extra);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    RawFrame::parse(&bytes).expect("a whole frame")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_that_beats_and_commands_reaches_the_autopilot_and_a_key_does_not() {
        let beat = [7, 1, 3, 0, 9, 0, 0, 0, 0, 6, 8, 0, 0, 3];
        let command = [7, 1, 3, 1, 33, 0, 0];
        let key = [7, 1, 3, 4, 20];
        let story = [&[0, 3, 1, 1][..], &beat, &command, &[0; 35], &key, &[0; 20], &[0, 200]].concat();
        let tally = run(&story);
        assert!(tally.beats == 1 && tally.passed >= 2 && tally.written >= 2, "{tally:?}");
    }

    #[test]
    fn every_seed_runs() {
        let tallies: Vec<Tally> = crate::seeds::guests().iter().map(|seed| run(seed)).collect();
        assert!(
            tallies.iter().any(|tally| tally.beats > 0 && tally.handed_out > 0),
            "{tallies:?}"
        );
    }
}
