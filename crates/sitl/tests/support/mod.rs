//! Bench for one vehicle model: lets time pass, sends requests as a ground station, remembers messages by time.
#![allow(dead_code, reason = "each test file uses its own part of the bench")]

pub mod ardupilot;
pub mod px4;

use std::time::Duration;

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::{MavLandedState, MavMessage};
use sitl::model::{Autopilot, Truth, Vehicle, VehicleConfig, Wgs84};
use sitl::wire::{Address, Command, CommandForm, Incoming, Outgoing, Request};

pub const HOME: Wgs84 = Wgs84 {
    lat_deg: 47.397742,
    lon_deg: 8.545594,
    amsl_m: 488.0,
};
pub const US: Address = Address {
    system: 1,
    component: 1,
};
const STATION: Address = Address {
    system: 255,
    component: 190,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accepted,
    TemporarilyRejected,
    Denied,
    Unsupported,
    Failed,
    Other(u8),
}

impl From<u8> for Verdict {
    fn from(number: u8) -> Self {
        match number {
            0 => Self::Accepted,
            1 => Self::TemporarilyRejected,
            2 => Self::Denied,
            3 => Self::Unsupported,
            4 => Self::Failed,
            other => Self::Other(other),
        }
    }
}

pub struct Bench {
    pub vehicle: Vehicle,
    pub sent: Vec<(f64, Outgoing)>,
    /// MAV_TYPE, once a second.
    pub heartbeat: Option<u8>,
    now_s: f64,
}

impl Bench {
    pub fn new(autopilot: Autopilot) -> Self {
        Self::with(VehicleConfig::new(autopilot, 1, HOME))
    }

    pub fn with(config: VehicleConfig) -> Self {
        Self {
            vehicle: Vehicle::new(config),
            sent: Vec::new(),
            heartbeat: None,
            now_s: 0.0,
        }
    }

    pub fn now_s(&self) -> f64 {
        self.now_s
    }

    pub fn truth(&self) -> Truth {
        self.vehicle.truth()
    }

    pub fn pass(&mut self, seconds: f64) {
        let end = self.now_s + seconds;
        while self.now_s + 1e-9 < end {
            let before = self.now_s;
            self.now_s = (before + 0.02).min(end);
            let sent = self.vehicle.step(Duration::from_secs_f64(self.now_s - before));
            self.remember(sent);
            if let Some(kind) = self.heartbeat
                && self.now_s.floor() > before.floor()
            {
                self.receive(Request::Heartbeat { kind });
            }
        }
    }

    pub fn pass_to(&mut self, second: f64) {
        self.pass(second - self.now_s);
    }

    /// Returns how long it took; fails after `limit` seconds.
    pub fn until(&mut self, what: &str, limit: f64, mut when: impl FnMut(&Self) -> bool) -> f64 {
        let start = self.now_s;
        while !when(self) {
            assert!(
                self.now_s - start < limit,
                "not within {limit} s: {what}; {:?}",
                self.truth()
            );
            self.pass(0.02);
        }
        self.now_s - start
    }

    pub fn receive(&mut self, request: Request) {
        let sent = self.vehicle.on_message(&Incoming { from: STATION, request });
        self.remember(sent);
    }

    pub fn verdicts(&mut self, id: u16, params: [f32; 7]) -> Vec<Verdict> {
        self.verdicts_from((1, 1), id, params)
    }

    pub fn verdicts_from(&mut self, (system, component): (u8, u8), id: u16, params: [f32; 7]) -> Vec<Verdict> {
        let [a, b, c, d, x, y, z] = params;
        let form = CommandForm::Long {
            xyz: [x, y, z],
            confirmation: 0,
        };
        self.send(Command {
            to: Address { system, component },
            id,
            params: [a, b, c, d],
            form,
        })
    }

    pub fn command(&mut self, id: u16, params: [f32; 7]) -> Verdict {
        let verdicts = self.verdicts(id, params);
        assert_eq!(verdicts.len(), 1, "verdicts on command {id}: {verdicts:?}");
        verdicts[0]
    }

    pub fn command_int(&mut self, id: u16, frame: u8, params: [f32; 4], x: i32, y: i32, z: f32) -> Verdict {
        let form = CommandForm::Int { frame, x, y, z };
        let verdicts = self.send(Command {
            to: Address {
                system: 1,
                component: 1,
            },
            id,
            params,
            form,
        });
        assert_eq!(verdicts.len(), 1, "verdicts on command {id}: {verdicts:?}");
        verdicts[0]
    }

    pub fn receive_from(&mut self, from: Address, request: Request) {
        let sent = self.vehicle.on_message(&Incoming { from, request });
        self.remember(sent);
    }

    pub fn receive_all(&mut self, requests: impl IntoIterator<Item = Request>) {
        for request in requests {
            self.receive(request);
        }
    }

    pub fn acks_since(&self, before: usize) -> Vec<(u16, Verdict)> {
        let ack = |sent: &(f64, Outgoing)| match sent.1 {
            Outgoing::Ack(ack) => Some((ack.command, Verdict::from(ack.result))),
            _ => None,
        };
        self.sent[before..].iter().filter_map(ack).collect()
    }

    fn send(&mut self, command: Command) -> Vec<Verdict> {
        let (id, before) = (command.id, self.sent.len());
        self.receive(Request::Command(command));
        let answered = |sent: &[(f64, Outgoing)]| sent.iter().any(|(_, sent)| matches!(sent, Outgoing::Ack(_)));
        if !answered(&self.sent[before..]) {
            // The acks of PX4 wait for the next round of its link.
            self.pass(0.02);
        }
        let answers = self.sent[before..].iter().filter_map(|(_, sent)| match sent {
            Outgoing::Ack(ack) if ack.command == id => {
                assert_eq!(
                    (ack.target_system, ack.target_component),
                    (255, 190),
                    "an ack names who asked"
                );
                Some(Verdict::from(ack.result))
            }
            _ => None,
        });
        answers.collect()
    }

    /// flight_sw_version and flight_custom_version of a requested AUTOPILOT_VERSION.
    pub fn version(&mut self) -> (u32, [u8; 8]) {
        let request = [148.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(self.command(512, request), Verdict::Accepted);
        self.pass(0.1);
        let reported = self.messages().filter_map(|(_, message)| match message {
            MavMessage::AUTOPILOT_VERSION(version) => Some((version.flight_sw_version, version.flight_custom_version)),
            _ => None,
        });
        reported.last().expect("a report")
    }

    pub fn arm(&mut self) -> Verdict {
        self.command(400, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    }

    pub fn disarm(&mut self) -> Verdict {
        self.command(400, [0.0; 7])
    }

    pub fn kill(&mut self) -> Verdict {
        self.command(400, [0.0, 21196.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    }

    pub fn stream(&mut self, message: u32, hz: f32) {
        assert_eq!(
            self.command(511, [message as f32, 1e6 / hz, 0.0, 0.0, 0.0, 0.0, 0.0]),
            Verdict::Accepted
        );
    }

    fn remember(&mut self, sent: Vec<Outgoing>) {
        self.sent.extend(sent.into_iter().map(|message| (self.now_s, message)));
    }

    pub fn messages(&self) -> impl Iterator<Item = (f64, &MavMessage)> {
        self.sent.iter().filter_map(|(at, sent)| match sent {
            Outgoing::Message(message) => Some((*at, &**message)),
            _ => None,
        })
    }

    /// Joins chunks, with the time of the first.
    pub fn texts(&self) -> Vec<(f64, String)> {
        let mut texts: Vec<(f64, String)> = Vec::new();
        for (at, message) in self.messages() {
            if let MavMessage::STATUSTEXT(text) = message {
                let chunk = text.text.to_str().unwrap_or("?");
                match (text.chunk_seq, texts.last_mut()) {
                    (1.., Some(last)) => last.1.push_str(chunk),
                    _ => texts.push((at, chunk.to_owned())),
                }
            }
        }
        texts
    }

    pub fn texts_since(&self, second: f64) -> Vec<String> {
        self.texts()
            .into_iter()
            .filter(|(at, _)| *at >= second - 1e-6)
            .map(|(_, text)| text)
            .collect()
    }

    pub fn sent_text(&self, text: &str) -> bool {
        self.texts().iter().any(|(_, sent)| sent == text)
    }

    pub fn heartbeats(&self) -> Vec<(f64, apm::HEARTBEAT_DATA)> {
        let beat = |(at, message): (f64, &MavMessage)| match message {
            MavMessage::HEARTBEAT(beat) => Some((at, beat.clone())),
            _ => None,
        };
        self.messages().filter_map(beat).collect()
    }

    pub fn last_heartbeat(&self) -> apm::HEARTBEAT_DATA {
        self.heartbeats().pop().expect("there was a heartbeat").1
    }

    pub fn events_since(&self, second: f64) -> Vec<(u32, Vec<u8>)> {
        let event = |(at, message): (f64, &MavMessage)| match message {
            MavMessage::EVENT(event) if at >= second - 1e-6 => Some((event.id, event.arguments.to_vec())),
            _ => None,
        };
        self.messages().filter_map(event).collect()
    }

    pub fn landed_states(&self) -> Vec<(f64, MavLandedState)> {
        let mut states: Vec<(f64, MavLandedState)> = Vec::new();
        for (at, message) in self.messages() {
            if let MavMessage::EXTENDED_SYS_STATE(state) = message
                && states.last().map(|(_, last)| *last) != Some(state.landed_state)
            {
                states.push((at, state.landed_state));
            }
        }
        states
    }

    pub fn prearm_ok(&self) -> bool {
        let last = self.messages().filter_map(|(_, message)| match message {
            MavMessage::SYS_STATUS(status) => Some(status.onboard_control_sensors_health.bits() & 0x1000_0000 != 0),
            _ => None,
        });
        last.last().unwrap_or(false)
    }

    pub fn count(&self, wanted: fn(&MavMessage) -> bool) -> usize {
        self.messages().filter(|(_, message)| wanted(message)).count()
    }
}

pub fn near(what: &str, value: f64, recorded: f64, tolerance: f64) {
    assert!(
        (value - recorded).abs() <= tolerance,
        "{what}: {value:.2}, recorded {recorded} ± {tolerance}"
    );
}
