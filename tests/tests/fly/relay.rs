//! The wire between an agent and its autopilot, under our control: two pseudo-terminals and the frames between them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::{MavHeader, MavlinkVersion};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::openpty;
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
use nix::unistd::ttyname;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::record::Record;

/// Bytes that wait for a slow line before frames are lost, as in a UART's buffer.
const BUFFER: usize = 4096;

/// Longest interval between checks whether it has to end.
const TICK: Duration = Duration::from_millis(10);

const ADDED_EVERY: Duration = Duration::from_secs(1);

const AUTOPILOT: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    ToAgent,
    ToAutopilot,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fault {
    pub cut: bool,
    pub loss: f64,
    pub delay: Duration,
    pub bytes_per_second: Option<u32>,
}

impl Fault {
    pub const NONE: Self = Self {
        cut: false,
        loss: 0.0,
        delay: Duration::ZERO,
        bytes_per_second: None,
    };

    pub const CUT: Self = Self {
        cut: true,
        ..Self::NONE
    };
}

pub struct Relay {
    faults: Arc<Mutex<[Fault; 2]>>,
    added: Arc<Mutex<Option<MavMessage>>>,
    record: Arc<Mutex<Record>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    autopilot_port: PathBuf,
    agent_port: PathBuf,
}

impl Relay {
    pub fn start(log: File, seed: u64) -> anyhow::Result<Self> {
        let (autopilot, agent) = (Port::open()?, Port::open()?);
        let faults = Arc::new(Mutex::new([Fault::NONE; 2]));
        let added = Arc::new(Mutex::new(None));
        let record = Arc::new(Mutex::new(Record::new(log)));
        let ended = Arc::new(AtomicBool::new(false));
        let (autopilot_port, agent_port) = (autopilot.path.clone(), agent.path.clone());
        let mut run = Run {
            lines: [Line::new(autopilot), Line::new(agent)],
            faults: Arc::clone(&faults),
            added: Arc::clone(&added),
            newest: None,
            next_addition: Instant::now(),
            record: Arc::clone(&record),
            chance: StdRng::seed_from_u64(seed),
        };
        let stop = Arc::clone(&ended);
        let thread = std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                run.turn();
            }
        });
        Ok(Self {
            faults,
            added,
            record,
            ended,
            thread: Some(thread),
            autopilot_port,
            agent_port,
        })
    }

    pub fn autopilot_port(&self) -> PathBuf {
        self.autopilot_port.clone()
    }

    pub fn agent_port(&self) -> PathBuf {
        self.agent_port.clone()
    }

    pub fn set(&self, way: Way, fault: Fault) {
        lock(&self.faults)[way as usize] = fault;
    }

    pub fn set_both(&self, fault: Fault) {
        *lock(&self.faults) = [fault; 2];
    }

    /// Adds this message once a second as the autopilot's, for devices that its simulation lacks; `None`: no more. It
    /// repeats the sequence number of the frame before it, which a receiver does not take for a loss.
    pub fn add(&self, message: Option<MavMessage>) {
        *lock(&self.added) = message;
    }

    pub fn record(&self) -> MutexGuard<'_, Record> {
        lock(&self.record)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The far end is kept open, so that a program may close it and open it again.
struct Port {
    near: File,
    path: PathBuf,
    _far: OwnedFd,
}

impl Port {
    fn open() -> anyhow::Result<Self> {
        let pair = openpty(None, None).context("cannot open a pseudo-terminal")?;
        let mut mode = tcgetattr(&pair.slave)?;
        cfmakeraw(&mut mode);
        tcsetattr(&pair.slave, SetArg::TCSANOW, &mode)?;
        fcntl(&pair.master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let path = ttyname(&pair.slave)?;
        Ok(Self {
            near: File::from(pair.master),
            path,
            _far: pair.slave,
        })
    }
}

struct Line {
    port: Port,
    incoming: Vec<u8>,
    outgoing: VecDeque<(Instant, Vec<u8>)>,
    waiting: usize,
    free_at: Instant,
}

impl Line {
    fn new(port: Port) -> Self {
        Self {
            port,
            incoming: Vec::new(),
            outgoing: VecDeque::new(),
            waiting: 0,
            free_at: Instant::now(),
        }
    }

    fn read(&mut self) -> Vec<Vec<u8>> {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = (&self.port.near).read(&mut buffer) {
            self.incoming.extend_from_slice(&buffer[..count]);
        }
        frames(&mut self.incoming)
    }

    fn push(&mut self, frame: &[u8], fault: &Fault, now: Instant) -> bool {
        let mut due = now + fault.delay;
        if let Some(rate) = fault.bytes_per_second {
            if self.waiting + frame.len() > BUFFER {
                return false;
            }
            self.free_at = self.free_at.max(now) + Duration::from_secs_f64(frame.len() as f64 / f64::from(rate));
            due = due.max(self.free_at);
        }
        self.waiting += frame.len();
        self.outgoing.push_back((due, frame.to_vec()));
        true
    }

    fn write(&mut self, now: Instant) {
        while let Some((due, frame)) = self.outgoing.front_mut() {
            if *due > now {
                break;
            }
            let written = match (&self.port.near).write(frame) {
                Ok(count) => count,
                // Without a reader for long, new bytes are lost, as on a serial line.
                Err(_) => frame.len(),
            };
            self.waiting -= written;
            frame.drain(..written);
            if !frame.is_empty() {
                break;
            }
            self.outgoing.pop_front();
        }
    }
}

pub fn frames(bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
    let (mut frames, mut rest) = (Vec::new(), bytes.as_slice());
    while !rest.is_empty() {
        match frame_length(rest) {
            Some(length) if length <= rest.len() => {
                frames.push(rest[..length].to_vec());
                rest = &rest[length..];
            }
            Some(_) => break,
            None => rest = &rest[1..],
        }
    }
    *bytes = rest.to_vec();
    frames
}

/// The length of the frame that begins here, `usize::MAX` while it is not known; `None` when none begins.
fn frame_length(bytes: &[u8]) -> Option<usize> {
    let at = |index: usize| bytes.get(index).copied();
    match bytes[0] {
        0xFD => Some(match (at(1), at(2)) {
            (Some(payload), Some(flags)) => 12 + usize::from(payload) + if flags & 1 != 0 { 13 } else { 0 },
            _ => usize::MAX,
        }),
        0xFE => Some(at(1).map_or(usize::MAX, |payload| 8 + usize::from(payload))),
        _ => None,
    }
}

fn autopilots_header(frame: &[u8]) -> Option<MavHeader> {
    let (sequence, system, component) = match *frame {
        [0xFD, _, _, _, sequence, system, component, ..] | [0xFE, _, sequence, system, component, ..] => {
            (sequence, system, component)
        }
        _ => return None,
    };
    (component == AUTOPILOT).then_some(MavHeader {
        system_id: system.into(),
        component_id: component,
        sequence,
    })
}

struct Run {
    lines: [Line; 2],
    faults: Arc<Mutex<[Fault; 2]>>,
    added: Arc<Mutex<Option<MavMessage>>>,
    newest: Option<MavHeader>,
    next_addition: Instant,
    record: Arc<Mutex<Record>>,
    chance: StdRng,
}

impl Run {
    fn turn(&mut self) {
        self.wait();
        let faults = *lock(&self.faults);
        let now = Instant::now();
        for (from, to, way) in [(0, 1, Way::ToAgent), (1, 0, Way::ToAutopilot)] {
            let fault = faults[way as usize];
            let mut frames = self.lines[from].read();
            if way == Way::ToAgent {
                let addition = self.addition(&frames, now);
                frames.extend(addition);
            }
            for frame in frames {
                let lost = fault.cut || (fault.loss > 0.0 && self.chance.random::<f64>() < fault.loss);
                let passed = !lost && self.lines[to].push(&frame, &fault, now);
                lock(&self.record).take(way, passed, &frame);
            }
            self.lines[to].write(now);
        }
    }

    /// The added message, if it is due, as a frame after `frames`, which the autopilot has just sent.
    fn addition(&mut self, frames: &[Vec<u8>], now: Instant) -> Option<Vec<u8>> {
        let newest = frames.iter().rev().find_map(|frame| autopilots_header(frame));
        self.newest = newest.or(self.newest);
        let message = lock(&self.added).clone()?;
        let header = self.newest.filter(|_| now >= self.next_addition)?;
        self.next_addition = now + ADDED_EVERY;
        let mut frame = Vec::new();
        mavlink::write_versioned_msg(&mut frame, MavlinkVersion::V2, header, &message).ok()?;
        Some(frame)
    }

    fn wait(&self) {
        let next = self
            .lines
            .iter()
            .filter_map(|line| line.outgoing.front())
            .map(|(due, _)| *due)
            .min();
        let wait = next.map_or(TICK, |due| due.saturating_duration_since(Instant::now()).min(TICK));
        let mut ports = [0, 1].map(|index: usize| PollFd::new(self.lines[index].port.near.as_fd(), PollFlags::POLLIN));
        let wait = PollTimeout::from(u8::try_from(wait.as_millis().max(1)).unwrap_or(u8::MAX));
        // An interrupted wait is a short one.
        let _ = poll(&mut ports, wait);
    }
}
