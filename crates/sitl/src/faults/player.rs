//! Playing a script for one vehicle.

use std::time::Duration;

use super::acks::Acks;
use super::bytes::Damage;
use super::chance::Chance;
use super::neighbors::{self, Neighbor, Who};
use super::reframe;
use super::script::{Around, Bytes, CommandFault, Line, Occurrence, Script, Sudden, What, When};
use super::signing::Signer;
use crate::model::{Autopilot, Fault, Vehicle, VehicleConfig, Wgs84, Wind};
use crate::wire::{Address, Frame, Incoming, Outgoing, Request, Sender};

const BACKLOG_LIMIT: usize = 64 * 1024;
/// A pilot's transmitter is not a MAVLink component; its inputs have this id here, and acks to it are dropped.
const PILOT: u8 = 0;
const EXTENDED_SYS_STATE: u32 = 245;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// Connections end, and may be opened again at once.
    PowerCycle,
    HangUp,
    Back,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Delivered,
    Dropped,
}

#[derive(Clone, Debug)]
struct Lasting<T> {
    fault: T,
    until_s: f64,
    next_s: f64,
}

#[derive(Clone, Debug)]
pub struct Player {
    system: u8,
    autopilot: Autopilot,
    home: Wgs84,
    triggers: Vec<(Line, u32)>,
    timed: Vec<(f64, What)>,
    bytes: Vec<Lasting<Bytes>>,
    around: Vec<Lasting<Around>>,
    neighbors: Vec<(Around, Neighbor)>,
    acks: Acks,
    signer: Signer,
    /// Seconds from 2015-01-01 UTC to the start of this clock.
    epoch_s: f64,
    backlog: Vec<Vec<u8>>,
    weather_set: (Wind, f64),
    chance: Chance,
    now_s: f64,
}

impl Player {
    /// `epoch_s`: seconds from 2015-01-01 UTC until now, for time stamps of signatures.
    pub fn new(script: &Script, name: &str, config: &VehicleConfig, epoch_s: f64) -> Self {
        let lines = script.lines_of(name);
        let (timed, triggers): (Vec<&Line>, Vec<&Line>) = lines.partition(|line| matches!(line.when, When::At(_)));
        let at = |line: &Line| match line.when {
            When::At(at_s) => Some((at_s, line.what.clone())),
            When::On { .. } => None,
        };
        Self {
            system: config.system_id,
            autopilot: config.autopilot,
            home: config.home,
            triggers: triggers.into_iter().map(|line| (line.clone(), 0)).collect(),
            timed: timed.into_iter().filter_map(at).collect(),
            bytes: Vec::new(),
            around: Vec::new(),
            neighbors: Vec::new(),
            acks: Acks::default(),
            signer: Signer::default(),
            epoch_s,
            backlog: Vec::new(),
            weather_set: (Wind::default(), 0.0),
            chance: Chance::new(script.seed, name),
            now_s: 0.0,
        }
    }

    pub fn is_idle(&self) -> bool {
        self.triggers.is_empty() && self.timed.is_empty() && self.bytes.is_empty() && self.around.is_empty()
    }

    pub fn pass(&mut self, dt_s: f64, vehicle: &mut Vehicle) -> Vec<LinkChange> {
        self.now_s += dt_s;
        let (now_s, was_up) = (self.now_s, self.link_is_up());
        let lasts = |until_s: f64| until_s > now_s + 1e-9;
        let had_gps = !self.suffers(&Around::NoGps);
        self.bytes.retain(|fault| lasts(fault.until_s));
        self.around.retain(|fault| lasts(fault.until_s));
        let around = &self.around;
        self.neighbors
            .retain(|(kind, _)| around.iter().any(|fault| fault.fault == *kind));
        let (due, later): (Vec<_>, Vec<_>) = self.timed.drain(..).partition(|(at_s, _)| !lasts(*at_s));
        self.timed = later;
        for (_, what) in due {
            self.begin(what, vehicle);
        }
        match (had_gps, !self.suffers(&Around::NoGps)) {
            (true, false) => vehicle.suffer(Fault::GpsLost),
            (false, true) => vehicle.suffer(Fault::GpsBack),
            _ => {}
        }
        let weather = self.weather();
        if weather != self.weather_set {
            self.weather_set = weather;
            vehicle.set_weather(weather.0, weather.1);
        }
        match (was_up, self.link_is_up()) {
            (true, false) => vec![LinkChange::HangUp],
            (false, true) => vec![LinkChange::Back],
            _ => Vec::new(),
        }
    }

    pub fn inject(&mut self, what: What, vehicle: &mut Vehicle) {
        self.begin(what, vehicle);
    }

    fn begin(&mut self, what: What, vehicle: &mut Vehicle) {
        let until_s = |lasts_s: Option<f64>| lasts_s.map_or(f64::INFINITY, |lasts_s| self.now_s + lasts_s);
        match what {
            // Only arriving commands trigger these.
            What::Command(_) => {}
            What::Bytes(fault, lasts_s) => {
                begin_or_go_on(&mut self.bytes, fault, until_s(lasts_s), self.now_s);
            }
            What::Around(fault, lasts_s) => {
                let until_s = until_s(lasts_s);
                let who = self.neighbor(&fault).filter(|_| !self.suffers(&fault));
                if let Some(who) = who {
                    self.neighbors.push((fault.clone(), Neighbor::new(who, self.now_s)));
                }
                begin_or_go_on(&mut self.around, fault, until_s, self.now_s);
            }
            What::Sudden(Sudden::Reboot) => {
                self.acks.clear();
                vehicle.brown_out();
            }
            What::Sudden(Sudden::MotorFailure) => vehicle.suffer(Fault::MotorStops),
            What::Sudden(Sudden::Battery(percent)) => vehicle.set_battery(percent),
            What::Sudden(Sudden::Mode(mode)) => {
                let Some(custom_mode) = mode.of(self.autopilot) else {
                    return;
                };
                let request = Request::SetMode {
                    system: self.system,
                    base_mode: 1,
                    custom_mode,
                };
                vehicle.receive_pilot(&Incoming {
                    from: Address {
                        system: self.system,
                        component: PILOT,
                    },
                    request,
                });
            }
        }
    }

    fn neighbor(&self, fault: &Around) -> Option<Who> {
        Some(match fault {
            Around::SecondAutopilot(system) => Who::SecondAutopilot {
                system: *system,
                px4: self.autopilot == Autopilot::Px4,
                near: neighbors::numbers(self.home),
            },
            Around::Gimbal => Who::Gimbal { system: self.system },
            Around::GroundStation => Who::GroundStation,
            _ => return None,
        })
    }

    fn weather(&self) -> (Wind, f64) {
        let (mut wind, mut drift_m) = (Wind::default(), 0.0);
        for lasting in &self.around {
            match lasting.fault {
                Around::Wind(blows) => wind = blows,
                Around::Drift(meters) => drift_m = meters,
                _ => {}
            }
        }
        (wind, drift_m)
    }

    fn suffers(&self, fault: &Around) -> bool {
        self.around.iter().any(|lasting| lasting.fault == *fault)
    }

    pub fn link_is_up(&self) -> bool {
        !self.suffers(&Around::HangUp)
    }

    pub fn arriving(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.suffers(&Around::Deaf) || !self.link_is_up() {
            return Vec::new();
        }
        self.damage().run(bytes, &mut self.chance)
    }

    pub fn deliver(&mut self, frame: &Frame, incoming: &Incoming) -> Delivery {
        for lasting in &self.around {
            if let Around::Signed { key, only: true } = &lasting.fault
                && !self.signer.believes(key, &frame.raw)
            {
                return Delivery::Dropped;
            }
        }
        let Request::Command(command) = &incoming.request else {
            return Delivery::Delivered;
        };
        if command.to.system != self.system || !matches!(command.to.component, 0 | 1) {
            return Delivery::Delivered;
        }
        let fault = self.triggered(command.id);
        if self.acks.arrived(command.id, incoming.from, fault, self.now_s) {
            Delivery::Delivered
        } else {
            Delivery::Dropped
        }
    }

    /// Counts the arrival; schedules later faults, and returns the fault of the command itself.
    fn triggered(&mut self, arrived: u16) -> Option<CommandFault> {
        let mut own = None;
        for (line, count) in &mut self.triggers {
            let When::On {
                command,
                occurrence,
                after_s,
            } = line.when
            else {
                continue;
            };
            if command.is_some_and(|command| command != arrived) {
                continue;
            }
            *count += 1;
            if matches!(occurrence, Occurrence::Nth(nth) if nth != *count) {
                continue;
            }
            match &line.what {
                What::Command(fault) => own = own.or(Some(*fault)),
                what => self.timed.push((self.now_s + after_s, what.clone())),
            }
        }
        own
    }

    pub fn replace_sent(&mut self, sent: Outgoing) -> Vec<Outgoing> {
        match sent {
            Outgoing::Ack(ack) if (ack.target_system, ack.target_component) == (self.system, PILOT) => Vec::new(),
            Outgoing::Ack(ack) => {
                let acks = self.acks.sent(ack, self.now_s);
                acks.into_iter().map(Outgoing::Ack).collect()
            }
            other => vec![other],
        }
    }

    pub fn due_acks(&mut self) -> Vec<Outgoing> {
        self.acks.due(self.now_s).into_iter().map(Outgoing::Ack).collect()
    }

    pub fn framed(&mut self, mut frame: Vec<u8>) -> Option<Vec<u8>> {
        for lasting in &self.around {
            match &lasting.fault {
                Around::Silence => return None,
                Around::LandedState(state) => frame = with_landed_state(frame, *state),
                Around::MavLink1 => frame = reframe::as_mavlink1(&frame)?,
                Around::Signed { key, .. } => frame = self.signer.sign(key, &frame, self.epoch_s + self.now_s),
                _ => {}
            }
        }
        Some(frame)
    }

    /// Due frames of other senders and of the vehicle (only by script), `uptime` after its boot; and those it receives.
    pub fn others(&mut self, sender: &mut Sender, uptime: Duration) -> (Vec<Vec<u8>>, Vec<Incoming>) {
        let (mut frames, mut received) = (Vec::new(), Vec::new());
        for (_, neighbor) in &mut self.neighbors {
            let sent = neighbor.frames(self.now_s);
            if let (false, Some((from, kind))) = (sent.is_empty(), neighbor.received_as()) {
                let request = Request::Heartbeat { kind };
                received.push(Incoming { from, request });
            }
            frames.extend(sent);
        }
        let (home, chance) = (self.home, &mut self.chance);
        for lasting in &mut self.around {
            let hertz = match lasting.fault {
                Around::UnknownIds(hertz) | Around::Extra { hertz, .. } => hertz,
                Around::Aircraft(_) => 1.0,
                _ => continue,
            };
            while lasting.next_s <= self.now_s {
                lasting.next_s += 1.0 / hertz;
                frames.push(match lasting.fault {
                    Around::Extra { id, .. } => neighbors::meaningless(sender, id, uptime),
                    Around::Aircraft(at) => neighbors::aircraft(sender, home.offset(at)),
                    _ => neighbors::unknown(sender, chance),
                });
            }
        }
        (frames, received)
    }

    pub fn carried(&mut self, frame: &[u8]) -> Option<Vec<u8>> {
        let arrives = self.damage().frame(frame, &mut self.chance);
        if self.suffers(&Around::Backlog) {
            let held: usize = self.backlog.iter().map(Vec::len).sum();
            if held + arrives.len() <= BACKLOG_LIMIT {
                self.backlog.push(arrives);
            }
            return None;
        }
        self.link_is_up().then_some(arrives)
    }

    /// Frames held back before, once nothing holds them any more.
    pub fn released(&mut self) -> Vec<Vec<u8>> {
        if self.backlog.is_empty() || self.suffers(&Around::Backlog) || !self.link_is_up() {
            return Vec::new();
        }
        std::mem::take(&mut self.backlog)
    }

    fn damage(&self) -> Damage {
        let mut damage = Damage::default();
        for lasting in &self.bytes {
            damage.add(lasting.fault);
        }
        damage
    }
}

/// An active fault lasts until the later of both ends.
fn begin_or_go_on<T: PartialEq>(lasting: &mut Vec<Lasting<T>>, fault: T, until_s: f64, now_s: f64) {
    match lasting.iter_mut().find(|lasting| lasting.fault == fault) {
        Some(present) => present.until_s = present.until_s.max(until_s),
        None => lasting.push(Lasting {
            fault,
            until_s,
            next_s: now_s,
        }),
    }
}

fn with_landed_state(frame: Vec<u8>, state: u8) -> Vec<u8> {
    let (Some(system), Some(component), Some(sequence)) = (frame.get(5), frame.get(6), frame.get(4)) else {
        return frame;
    };
    if frame.get(7..10) != Some(&(EXTENDED_SYS_STATE.to_le_bytes()[..3])) {
        return frame;
    }
    let vtol = if frame[1] > 0 { frame[10] } else { 0 };
    Sender::continuing(*system, *component, *sequence).frame(
        EXTENDED_SYS_STATE,
        &[vtol, state],
        <mavlink::dialects::ardupilotmega::MavMessage as mavlink::Message>::extra_crc(EXTENDED_SYS_STATE),
    )
}
