//! Rules for everything that guests may say.

use super::{SHARE, VEHICLE};
use agent::gcs::routes::GuestId;
use agent::gcs::switch::{Policy, Verdict};
use link::raw::{Direction, RawFrame};
use model::units::Address;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use tokio::time::Instant;

const HEARTBEAT: u32 = 0;
const SETUP_SIGNING: u32 = 256;
/// Messages that read-only guests may send: PARAM_REQUEST_LIST, and the others by their content.
const MAY_ASK: [u32; 5] = [21, 47, 75, 76, 110];
const SILENT: Duration = Duration::from_secs(3);
const LATE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Judge {
    policy: Policy,
    began: Instant,
    guests: BTreeMap<GuestId, Instant>,
    vehicle_known: bool,
    armed: BTreeMap<(u8, u8), bool>,
    /// The guest whose heartbeat was passed on last, and when.
    in_charge: Option<(GuestId, Instant)>,
    waiting: VecDeque<(Vec<u8>, Instant)>,
    bytes_written: usize,
}

impl Judge {
    pub fn new(policy: Policy, began: Instant) -> Self {
        Self {
            policy,
            began,
            guests: BTreeMap::new(),
            vehicle_known: false,
            armed: BTreeMap::new(),
            in_charge: None,
            waiting: VecDeque::new(),
            bytes_written: 0,
        }
    }

    pub fn joins(&mut self, guest: GuestId, now: Instant) {
        self.guests.insert(guest, now);
    }

    pub fn leaves(&mut self, guest: GuestId) {
        self.guests.remove(&guest);
    }

    pub fn line(&mut self, frame: &RawFrame, to: &[GuestId]) {
        let sender = (frame.system.0, frame.component.0);
        if frame.from == Direction::Autopilot && frame.message_id == HEARTBEAT {
            let byte = |at: usize| frame.payload().get(at).copied().unwrap_or(0);
            if byte(4) != 6 && byte(5) != 8 && sender.0 != 0 {
                self.armed.insert(sender, byte(6) & 0x80 != 0);
                self.vehicle_known |= sender == VEHICLE;
            }
        }
        self.are_there(to);
        assert!(
            frame.message_id != SETUP_SIGNING || to.is_empty(),
            "a key is handed out"
        );
        let an_order = frame.from == Direction::Us && frame.target == Some(Address::new(VEHICLE.0, VEHICLE.1));
        assert!(
            !(an_order && self.vehicle_known) || to.is_empty(),
            "a guest gets the vehicle's orders"
        );
    }

    pub fn guest(&mut self, guest: GuestId, frame: &RawFrame, verdict: &Verdict, now: Instant) {
        self.are_there(&verdict.to.guests);
        assert!(!verdict.to.guests.contains(&guest), "back to where it came from");
        let nowhere = !verdict.to.autopilot && verdict.to.guests.is_empty();
        assert!(
            self.guests.contains_key(&guest) || nowhere,
            "a guest that is not there is heard"
        );
        assert!(frame.message_id != SETUP_SIGNING || nowhere, "a key is passed on");
        let as_vehicle = self.vehicle_known && (frame.system.0, frame.component.0) == VEHICLE;
        assert!(!as_vehicle || nowhere, "a guest speaks as the vehicle");
        let an_order = self.vehicle_known && frame.target == Some(Address::new(VEHICLE.0, VEHICLE.1));
        assert!(
            !an_order || verdict.to.guests.is_empty(),
            "a guest gets the vehicle's orders"
        );
        if verdict.to.autopilot {
            let may_ask = MAY_ASK.contains(&frame.message_id);
            let beats = frame.message_id == HEARTBEAT;
            assert!(
                !self.policy.read_only || may_ask || beats,
                "{} in read-only mode",
                frame.message_id
            );
            if beats {
                self.beats(guest, frame, now);
            }
        }
    }

    fn beats(&mut self, guest: GuestId, frame: &RawFrame, now: Instant) {
        assert!(self.policy.pass_heartbeats, "a heartbeat is passed on");
        assert_eq!(frame.payload().get(4), Some(&6), "that of no ground station");
        if let Some((before, at)) = self.in_charge.filter(|(before, _)| *before != guest) {
            let gone = !self.guests.contains_key(&before);
            assert!(gone || now.duration_since(at) >= SILENT, "two stations at a time");
            let on_the_ground = !self.armed.is_empty() && self.armed.values().all(|armed| !armed);
            let came_later = self.guests.get(&guest).is_some_and(|joined| *joined > at);
            assert!(on_the_ground || came_later, "an onlooker beats for a lost station");
        }
        self.in_charge = Some((guest, now));
    }

    pub fn waits(&mut self, frame: &RawFrame, now: Instant) {
        self.waiting.push_back((frame.bytes.to_vec(), now));
    }

    pub fn written(&mut self, frame: &RawFrame, now: Instant) {
        self.waiting.retain(|(_, at)| now.duration_since(*at) <= LATE);
        let place = self.waiting.iter().position(|(bytes, _)| bytes[..] == frame.bytes[..]);
        let place = place.expect("what is written was said within the last second, byte for byte");
        self.waiting.remove(place);
        self.bytes_written += frame.bytes.len();
        let share = now.duration_since(self.began).as_secs_f64() * f64::from(SHARE);
        assert!(
            self.bytes_written as f64 <= share + 281.0,
            "more than the guests' share"
        );
    }

    fn are_there(&self, to: &[GuestId]) {
        assert!(
            to.iter().all(|guest| self.guests.contains_key(guest)),
            "to a guest that is not there"
        );
    }
}
