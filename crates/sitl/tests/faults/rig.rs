//! A ground station at the end of a wire, with a vehicle to which scripted faults happen; time is explicit.

use std::time::Duration;

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;
use sitl::faults::{Key, LinkChange, Script};
use sitl::model::{Autopilot, Truth, VehicleConfig, Wgs84};
use sitl::wire::{Frame, FrameReader, Outgoing, Sender};
use sitl::wired::{Event, WiredVehicle};

const HOME: Wgs84 = Wgs84 {
    lat_deg: 47.397742,
    lon_deg: 8.545594,
    amsl_m: 488.0,
};
pub const KEY: [u8; 32] = [7; 32];

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    pub at_s: f64,
    pub result: u8,
    pub to: (u8, u8),
}

pub struct Rig {
    pub wired: WiredVehicle,
    station: Sender,
    reader: FrameReader,
    pub frames: Vec<(f64, Frame)>,
    pub bytes: Vec<u8>,
    pub log: Vec<Vec<u8>>,
    pub changes: Vec<(f64, LinkChange)>,
    pub beats: bool,
    now_s: f64,
}

pub fn script(text: &str) -> Script {
    Script::parse(text, &|_| Ok(Key::from_contents(&KEY).unwrap())).unwrap()
}

impl Rig {
    pub fn new(autopilot: Autopilot, text: &str) -> Self {
        let config = VehicleConfig::new(autopilot, 1, HOME);
        Self {
            wired: WiredVehicle::with_faults(config, &script(text), "north", 0.0),
            station: Sender::new(255, 190),
            reader: FrameReader::default(),
            frames: Vec::new(),
            bytes: Vec::new(),
            log: Vec::new(),
            changes: Vec::new(),
            beats: true,
            now_s: 0.0,
        }
    }

    pub fn px4(text: &str) -> Self {
        Self::new(Autopilot::Px4, text)
    }

    pub fn ready(text: &str) -> Self {
        let mut rig = Self::px4(text);
        rig.pass_to(10.0);
        rig
    }

    /// Holds at 10 m, after at least 40 s.
    pub fn hovering(text: &str) -> Self {
        let mut rig = Self::ready(text);
        rig.command(400, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        rig.pass(0.1);
        rig.take_off();
        rig.pass_to(40.0);
        assert!((rig.truth().height_m - 10.0).abs() < 1.0, "{:?}", rig.truth());
        rig
    }

    pub fn truth(&self) -> Truth {
        self.wired.vehicle().truth()
    }

    pub fn pass(&mut self, seconds: f64) {
        self.pass_to(self.now_s + seconds);
    }

    pub fn pass_to(&mut self, end: f64) {
        while self.now_s + 1e-9 < end {
            let before = self.now_s;
            self.now_s = (before + 0.02).min(end);
            let events = self.wired.step(Duration::from_secs_f64(self.now_s - before));
            self.take(events);
            if self.beats && self.now_s.floor() > before.floor() {
                let beat = MavMessage::HEARTBEAT(apm::HEARTBEAT_DATA {
                    mavtype: apm::MavType::MAV_TYPE_GCS,
                    autopilot: apm::MavAutopilot::MAV_AUTOPILOT_INVALID,
                    mavlink_version: 3,
                    ..apm::HEARTBEAT_DATA::DEFAULT
                });
                self.send(beat);
            }
        }
    }

    pub fn send(&mut self, message: MavMessage) {
        let frame = self.station.encode(&Outgoing::from(message));
        self.send_bytes(&frame);
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let events = self.wired.receive(bytes);
        self.take(events);
    }

    pub fn command(&mut self, command: u16, params: [f32; 7]) {
        let command = Outgoing::Command(sitl::wire::CommandLong {
            command,
            params,
            confirmation: 0,
            target_system: 1,
        });
        let frame = self.station.encode(&command);
        self.send_bytes(&frame);
    }

    pub fn arm(&mut self) {
        self.command(400, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }

    pub fn take_off(&mut self) {
        let nan = f32::NAN;
        self.command(22, [nan, 0.0, 0.0, nan, nan, nan, 498.0]);
    }

    pub fn request_message(&mut self) {
        self.command(512, [148.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }

    fn take(&mut self, events: Vec<Event>) {
        for event in events {
            let bytes = match event {
                Event::Sent(frame) => {
                    self.log.push(frame.clone());
                    frame
                }
                Event::Frame(frame) => {
                    self.log.push(frame);
                    continue;
                }
                Event::Bytes(bytes) => bytes,
                Event::Link(change) => {
                    self.changes.push((self.now_s, change));
                    continue;
                }
            };
            self.bytes.extend(&bytes);
            self.reader.push(&bytes);
            while let Some(frame) = self.reader.next_frame() {
                self.frames.push((self.now_s, frame));
            }
        }
    }

    pub fn acks_since(&self, since_s: f64, command: u16) -> Vec<Ack> {
        let ack = |(at_s, frame): &(f64, Frame)| {
            let byte = |index: usize| frame.payload.get(index).copied().unwrap_or(0);
            let about = u16::from_le_bytes([byte(0), byte(1)]);
            (*at_s >= since_s && frame.id == 77 && about == command).then(|| Ack {
                at_s: *at_s,
                result: byte(2),
                to: (byte(8), byte(9)),
            })
        };
        self.frames.iter().filter_map(ack).collect()
    }

    pub fn results_since(&self, since_s: f64, command: u16) -> Vec<u8> {
        self.acks_since(since_s, command).iter().map(|ack| ack.result).collect()
    }

    pub fn count(&self, from_s: f64, to_s: f64, wanted: impl Fn(&Frame) -> bool) -> usize {
        let within = |at_s: f64| at_s >= from_s && at_s < to_s;
        self.frames
            .iter()
            .filter(|(at_s, frame)| within(*at_s) && wanted(frame))
            .count()
    }

    pub fn landed_states(&self, from_s: f64, to_s: f64) -> Vec<u8> {
        let mut states: Vec<u8> = Vec::new();
        for (at_s, frame) in &self.frames {
            let state = frame.payload.get(1).copied().unwrap_or(0);
            if frame.id == 245 && *at_s >= from_s && *at_s < to_s && states.last() != Some(&state) {
                states.push(state);
            }
        }
        states
    }
}
