//! The simulated side of a script: a vehicle that booted before gets the same bytes at the same seconds.

use std::collections::BTreeMap;
use std::time::Duration;

use super::encode::{self, Scene};
use super::run::{Run, STREAMS, TAIL_S, base_mode};
use crate::replay::{Fact, Statement, facts};
use sitl::faults::chance::Chance;
use sitl::model::{Port, Vehicle, VehicleConfig};
use sitl::wire::{Frame, FrameReader, Incoming, Outgoing, Sender};

/// Time until it is ready to arm.
const WARM_UP_S: f64 = 60.0;
/// Short, so that each statement has its time.
const STEP_S: f64 = 0.02;
/// Extra time, as its answers may be late.
const LATER_S: f64 = 6.0;
const SHIFTS_S: [f64; 6] = [-1.5, -0.8, -0.3, 0.3, 0.8, 1.5];
const SHARES: [f64; 4] = [0.9, 0.95, 1.05, 1.1];
/// Number of variants with randomly shifted messages.
const JITTERED: u64 = 16;

/// Maps the real vehicle's seconds to the simulated one's.
#[derive(Clone, Debug, Default)]
pub struct Warp(Vec<(f64, f64)>);

impl Warp {
    /// All variants to try when the plain run differs.
    pub fn all(run: &Run) -> impl Iterator<Item = Self> + '_ {
        let shifted = SHIFTS_S.into_iter().map(|shift| Self::of(run, |at, _| at + shift));
        let stretched = SHARES.into_iter().map(|share| Self::of(run, move |at, _| at * share));
        let jittered = (0..JITTERED).map(|seed| {
            let mut chance = Chance::new(seed, "warp");
            Self::of(run, move |at, before| {
                let reach = 0.8 + 0.1 * (at - before).min(10.0);
                at + (chance.below(201) as f64 / 100.0 - 1.0) * reach
            })
        });
        shifted.chain(stretched).chain(jittered)
    }

    fn of(run: &Run, mut to: impl FnMut(f64, f64) -> f64) -> Self {
        let mut knots: Vec<(f64, f64)> = vec![(0.0, 0.0)];
        for &at in &run.steps_s {
            let (before, mapped) = knots.last().copied().unwrap_or_default();
            let step = (to(at, before)).max(mapped + (at - before).min(0.2)).max(0.0);
            if at > before {
                knots.push((at, step));
            }
        }
        Self(knots)
    }

    fn through(knots: impl Iterator<Item = (f64, f64)>, at: f64) -> f64 {
        let (mut from, mut to) = (0.0, 0.0);
        for (next_from, next_to) in knots {
            if at <= next_from && next_from > from {
                return to + (at - from) / (next_from - from) * (next_to - to);
            }
            (from, to) = (next_from, next_to);
        }
        to + (at - from)
    }

    fn there(&self, at: f64) -> f64 {
        Self::through(self.0.iter().copied(), at)
    }

    fn back(&self, at: f64) -> f64 {
        Self::through(self.0.iter().map(|&(from, to)| (to, from)), at)
    }
}

/// Answers to the inputs of `run`, in seconds of the real vehicle.
pub fn simulated(run: &Run, warp: &Warp) -> Vec<Statement> {
    let mut bench = Bench::new(&run.scene, &run.parameters);
    bench.warm_up(&run.scene);
    for (at_s, bytes) in &run.inputs {
        bench.pass(WARM_UP_S + warp.there(*at_s));
        bench.receive(bytes);
    }
    bench.pass(WARM_UP_S + warp.there(run.end_s) + TAIL_S + LATER_S);
    let mut statements = std::mem::take(&mut bench.statements);
    for statements in &mut statements {
        statements.at_s = warp.back(statements.at_s - WARM_UP_S);
    }
    statements
}

pub(super) fn parameter_names(scene: &Scene) -> Vec<String> {
    let mut bench = Bench::new(scene, &[]);
    bench.pass(5.0);
    bench.names = Some(Vec::new());
    let list = Sender::new(255, 190).frame(21, &[scene.system, 1], 159);
    bench.receive(&list);
    bench.pass(20.0);
    bench.names.unwrap_or_default()
}

/// Facts that count, only when they change.
#[derive(Default)]
pub(super) struct Filter {
    last: BTreeMap<u8, Fact>,
}

impl Filter {
    pub(super) fn take(&mut self, frame: &Frame) -> Vec<Fact> {
        if frame.id == 77 && !matches!(frame.payload.get(8).copied().unwrap_or(0), 0 | 255) {
            return Vec::new();
        }
        let keeps = |fact: &Fact| {
            let kind = match fact {
                Fact::Ack { .. } => return true,
                Fact::Armed(_) => 0,
                Fact::Mode(_) => 1,
                Fact::Landed(_) => 2,
                _ => return false,
            };
            self.last.insert(kind, *fact) != Some(*fact)
        };
        facts(frame).into_iter().filter(keeps).collect()
    }
}

struct Bench {
    vehicle: Vehicle,
    sender: Sender,
    filter: Filter,
    statements: Vec<Statement>,
    names: Option<Vec<String>>,
    now_s: f64,
}

impl Bench {
    fn new(scene: &Scene, parameters: &[(String, f32)]) -> Self {
        let mut config = VehicleConfig::new(scene.autopilot, scene.system, scene.place);
        config.firmware = scene.firmware;
        config.parameters = parameters.to_vec();
        config.port = Port::Network;
        config.battery_percent_per_minute = 0.0;
        config.battery_refills = true;
        config.can_reboot = false;
        Self {
            vehicle: Vehicle::new(config),
            sender: Sender::new(scene.system, 1),
            filter: Filter::default(),
            statements: Vec::new(),
            names: None,
            now_s: 0.0,
        }
    }

    /// Sets streams, heartbeats and mode as the real one has them.
    fn warm_up(&mut self, scene: &Scene) {
        let mut station = Sender::new(255, 190);
        self.pass(5.0);
        for (message, interval_us) in STREAMS {
            let params = [message as f32, interval_us, 0.0, 0.0, 0.0, 0.0, 0.0];
            self.receive(&encode::plain_command(&mut station, scene.system, 511, params));
            self.pass(self.now_s + 0.1);
        }
        if let Some(mode) = base_mode(scene.autopilot) {
            self.receive(&encode::plain_command(&mut station, scene.system, 176, mode));
        }
        while self.now_s < WARM_UP_S - 1.0 {
            self.receive(&encode::heartbeat(&mut station));
            self.pass(self.now_s + 1.0);
        }
        self.pass(WARM_UP_S);
        // Both sides begin in the same state: only changes count.
        self.statements.clear();
    }

    fn pass(&mut self, until_s: f64) {
        while self.now_s < until_s {
            let step_s = STEP_S.min(until_s - self.now_s);
            let sent = self.vehicle.step(Duration::from_secs_f64(step_s));
            self.now_s += step_s;
            self.note(&sent);
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        let mut reader = FrameReader::default();
        reader.push(bytes);
        while let Some(frame) = reader.next_frame() {
            let sent = self.vehicle.on_message(&Incoming::decode(&frame));
            self.note(&sent);
        }
    }

    fn note(&mut self, sent: &[Outgoing]) {
        let mut reader = FrameReader::default();
        for message in sent {
            reader.push(&self.sender.encode(message));
            while let Some(frame) = reader.next_frame() {
                if let Some(names) = &mut self.names
                    && frame.id == 22
                {
                    names.push(sitl::wire::Fields(&frame.payload).text(8, 16));
                }
                let at_s = self.now_s;
                let fresh = self
                    .filter
                    .take(&frame)
                    .into_iter()
                    .map(|fact| Statement { at_s, fact });
                self.statements.extend(fresh);
            }
        }
    }
}
