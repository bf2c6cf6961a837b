//! The real side of a script: an autopilot on a stream of bytes, by its own clock.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::encode::{self, Scene};
use super::run::{Run, STREAMS, TAIL_S, base_mode};
use super::script::{Act, Script, Setpoint};
use super::simulated::Filter;
use crate::replay::Statement;
use sitl::model::{Autopilot, Firmware, Wgs84};
use sitl::wire::{Fields, Frame, FrameReader, Sender};

const SET_INTERVAL: u16 = 511;
const SET_MODE: u16 = 176;
const ARM_DISARM: u16 = 400;
const LAND: u16 = 21;
const FENCE: u16 = 207;
const SET_HOME: u16 = 179;
/// Longest wait for an answer.
const ANSWERS_S: f64 = 15.0;
const PAUSE_CONTINUE: u16 = 193;
const FORCE: f32 = 21196.0;
const POINTS_EVERY_S: f64 = 0.2;
/// Longest silence of the autopilot's clock, in real time.
const SILENT: Duration = Duration::from_secs(15);
/// A landing from the greatest altitude, and the time until the vehicle is ready again.
const SETTLES_S: f64 = 150.0;

#[derive(Debug, Error)]
pub enum LiveError {
    #[error("the link to the autopilot failed; start it again")]
    Link(#[from] io::Error),
    /// Its clock does not advance.
    #[error("nothing was received from the autopilot for 15 s; start it again")]
    Silent,
    /// It cannot be brought back to a known state.
    #[error("the vehicle is not ready on the ground {SETTLES_S} s after a script ({what}); start the autopilot again")]
    Unsettled { what: String },
    /// STATUSTEXT of ArduPilot's AP_InternalError: what its program does then says nothing, and it does not arm any
    /// more.
    #[error("the autopilot reported a fault of its own program; start it again")]
    InternalError,
}

/// A stream to an autopilot. A read times out after about a millisecond.
pub enum Wire {
    Tcp(TcpStream),
    /// PX4; the socket is connected to it.
    Udp(UdpSocket),
}

impl Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self {
            Self::Tcp(stream) => {
                stream.set_read_timeout(Some(Duration::from_millis(1)))?;
                match io::Read::read(stream, buffer) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    read => read,
                }
            }
            Self::Udp(socket) => {
                socket.set_read_timeout(Some(Duration::from_millis(1)))?;
                socket.recv(buffer)
            }
        };
        match read {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::ConnectionRefused
                ) =>
            {
                Ok(0)
            }
            read => read,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => io::Write::write_all(stream, bytes),
            Self::Udp(socket) => socket.send(bytes).map(|_| ()),
        }
    }
}

pub struct Live {
    wire: Wire,
    reader: FrameReader,
    station: Sender,
    scene: Scene,
    speedup: f64,
    boot_s: f64,
    boot_read: Instant,
    state: State,
    heartbeats: bool,
    beat_due_s: f64,
    stream: Option<Setpoint>,
    point_due_s: f64,
    filter: Filter,
    recording: Option<Recording>,
    /// By name: bits and type.
    values: BTreeMap<String, (u32, u8)>,
    originals: BTreeMap<String, (u32, u8)>,
    written: BTreeSet<&'static str>,
}

#[derive(Default)]
struct State {
    armed: bool,
    mode: Option<u32>,
    landed: u8,
    ready: bool,
    place: Option<Wgs84>,
    internal_error: bool,
    /// SET_HOME was sent between scripts and is unanswered.
    home_unanswered: bool,
}

#[derive(Default)]
struct Recording {
    from_s: f64,
    inputs: Vec<(f64, Vec<u8>)>,
    statements: Vec<Statement>,
}

fn base_number(autopilot: Autopilot) -> u32 {
    match autopilot {
        Autopilot::ArduPilot => 4,
        Autopilot::Px4 => 0x0304_0000,
    }
}

impl Live {
    pub fn new(
        wire: Wire,
        (autopilot, firmware): (Autopilot, Firmware),
        system: u8,
        speedup: f64,
    ) -> Result<Self, LiveError> {
        let place = Wgs84 {
            lat_deg: 0.0,
            lon_deg: 0.0,
            amsl_m: 0.0,
        };
        let scene = Scene {
            place,
            system,
            autopilot,
            firmware,
        };
        let mut live = Self {
            wire,
            reader: FrameReader::default(),
            station: Sender::new(255, 190),
            scene,
            speedup,
            boot_s: 0.0,
            boot_read: Instant::now(),
            state: State::default(),
            heartbeats: true,
            beat_due_s: 0.0,
            stream: None,
            point_due_s: 0.0,
            filter: Filter::default(),
            recording: None,
            values: BTreeMap::new(),
            originals: BTreeMap::new(),
            written: BTreeSet::new(),
        };
        live.begin()?;
        Ok(live)
    }

    fn begin(&mut self) -> Result<(), LiveError> {
        let started = Instant::now();
        while self.state.mode.is_none() || self.state.landed == 0 || self.boot_s == 0.0 {
            self.beat()?;
            self.listen(Duration::from_millis(50))?;
            for (message, interval_us) in STREAMS {
                self.send_command(SET_INTERVAL, [message as f32, interval_us, 0.0, 0.0, 0.0, 0.0, 0.0])?;
                self.listen(Duration::from_millis(50))?;
            }
            if started.elapsed() > 2 * SILENT {
                return Err(LiveError::Silent);
            }
        }
        self.wait_until_ready()?;
        let mut names = super::simulated::parameter_names(&self.scene);
        names.extend(
            super::pools::parameters(self.scene.autopilot, self.scene.firmware)
                .iter()
                .map(|row| row.0.to_owned()),
        );
        for name in names {
            for _ in 0..4 {
                if self.values.contains_key(&name) {
                    break;
                }
                let frame = encode::read_parameter(&mut self.station, self.scene.system, &name);
                self.wire.write(&frame)?;
                self.pump_for(0.15)?;
            }
        }
        self.originals.clone_from(&self.values);
        Ok(())
    }

    pub fn unknown_parameters(&self) -> Vec<String> {
        let names = super::simulated::parameter_names(&self.scene);
        names
            .into_iter()
            .filter(|name| !self.originals.contains_key(name))
            .collect()
    }

    /// Runs a script, from a settled state to a settled state.
    pub fn play(&mut self, script: &Script) -> Result<Run, LiveError> {
        self.wait_until_ready()?;
        self.scene.place = self.state.place.unwrap_or(self.scene.place);
        let from_s = self.now_s();
        self.recording = Some(Recording {
            from_s,
            ..Recording::default()
        });
        let mut due_s = from_s;
        let mut steps_s = Vec::new();
        for step in &script.steps {
            due_s += step.after_s;
            self.pump_to(due_s)?;
            steps_s.push(self.now_s() - from_s);
            self.act(&step.act)?;
        }
        let end_s = self.now_s() - from_s;
        self.pump_for(TAIL_S)?;
        let recording = self.recording.take().unwrap_or_default();
        self.stream = None;
        self.heartbeats = true;
        if self.state.internal_error {
            return Err(LiveError::InternalError);
        }
        let as_float = |(name, &(bits, kind)): (&String, &(u32, u8))| {
            let integer = self.scene.autopilot == Autopilot::Px4 && kind != 9;
            (
                name.clone(),
                if integer {
                    bits as i32 as f32
                } else {
                    f32::from_bits(bits)
                },
            )
        };
        let parameters = self.originals.iter().map(as_float).collect();
        let run = Run {
            scene: self.scene,
            inputs: recording.inputs,
            steps_s,
            statements: recording.statements,
            end_s,
            parameters,
        };
        Ok(run)
    }

    fn act(&mut self, act: &Act) -> Result<(), LiveError> {
        match act {
            Act::Heartbeats(on) => {
                self.heartbeats = *on;
                self.beat_due_s = self.now_s();
            }
            Act::Stream(point) => {
                self.stream = *point;
                self.point_due_s = self.now_s();
            }
            Act::ParamSet { name, .. } => {
                self.written.insert(name);
            }
            _ => {}
        }
        if let Some(frame) = encode::frame(&self.scene, &mut self.station, act) {
            self.send(frame)?;
        }
        Ok(())
    }

    /// Ready: on the ground, disarmed, with its parameters, without plans, in the first mode of scripts, able to arm.
    fn wait_until_ready(&mut self) -> Result<(), LiveError> {
        let limit_s = self.now_s() + SETTLES_S;
        let written = std::mem::take(&mut self.written);
        let fence = (self.scene.autopilot == Autopilot::ArduPilot).then_some("FENCE_ENABLE");
        for name in written.into_iter().chain(fence) {
            if let Some(&(bits, kind)) = self.originals.get(name) {
                let frame = encode::write_parameter(&mut self.station, self.scene.system, name, bits, kind);
                self.wire.write(&frame)?;
                self.pump_for(0.1)?;
            }
        }
        let (mut well_since_s, mut forgotten) = (None, false);
        while self.now_s() < limit_s {
            let on_ground = self.state.landed == 1;
            let base = self.state.mode == Some(base_number(self.scene.autopilot));
            if self.state.armed {
                let params = [0.0, 0.0, 0.0, f32::NAN, 0.0, 0.0, 0.0];
                if self.now_s() > limit_s - SETTLES_S / 3.0 {
                    self.send_command(ARM_DISARM, [0.0, FORCE, 0.0, 0.0, 0.0, 0.0, 0.0])?;
                } else if on_ground {
                    self.send_command(ARM_DISARM, [0.0; 7])?;
                } else if self.state.landed != 4 {
                    self.send_command(LAND, params)?;
                }
            } else if !base && let Some(mode) = base_mode(self.scene.autopilot) {
                self.send_command(SET_MODE, mode)?;
            } else if self.state.ready && on_ground {
                if !forgotten {
                    forgotten = true;
                    self.forget_orders()?;
                }
                let since_s = *well_since_s.get_or_insert(self.boot_s);
                let waited_s = self.now_s() - since_s;
                // A later answer would be taken for one to the script.
                if waited_s > 3.0 && (!self.state.home_unanswered || waited_s > ANSWERS_S) {
                    return Ok(());
                }
                self.pump_for(0.5)?;
                continue;
            }
            if well_since_s.is_none() && !self.state.armed {
                self.forget_orders()?;
            }
            well_since_s = None;
            self.pump_for(1.0)?;
        }
        let State {
            armed,
            mode,
            landed,
            ready,
            ..
        } = self.state;
        Err(LiveError::Unsettled {
            what: format!("armed {armed}, mode {mode:?}, landed_state {landed}, ready {ready}"),
        })
    }

    /// Clears what outlasts a flight: plans, a fence, a pause in GUIDED, a chosen home.
    fn forget_orders(&mut self) -> Result<(), LiveError> {
        const FIRST: [f32; 7] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        for kind in 0..3 {
            let frame = encode::clear_plan(&mut self.station, self.scene.system, kind);
            self.wire.write(&frame)?;
            self.pump_for(0.1)?;
        }
        if self.scene.autopilot == Autopilot::ArduPilot {
            self.send_command(FENCE, [0.0; 7])?;
            self.send_command(PAUSE_CONTINUE, FIRST)?;
        }
        self.state.home_unanswered = true;
        self.send_command(SET_HOME, FIRST)
    }

    fn now_s(&self) -> f64 {
        // The clock is read 20 times a second; it is assumed not to have run long without being read.
        self.boot_s + (self.boot_read.elapsed().as_secs_f64() * self.speedup).min(0.2)
    }

    fn pump_for(&mut self, seconds: f64) -> Result<(), LiveError> {
        let until_s = self.now_s() + seconds;
        self.pump_to(until_s)
    }

    fn pump_to(&mut self, until_s: f64) -> Result<(), LiveError> {
        while self.now_s() < until_s {
            if self.boot_read.elapsed() > SILENT {
                return Err(LiveError::Silent);
            }
            let now_s = self.now_s();
            if self.heartbeats && now_s >= self.beat_due_s {
                self.beat_due_s = now_s + 1.0;
                self.beat()?;
            }
            if let Some(point) = self.stream.filter(|_| now_s >= self.point_due_s) {
                self.point_due_s = now_s + POINTS_EVERY_S;
                let frame = encode::point_frame(&self.scene, &mut self.station, &point);
                self.send(frame)?;
            }
            self.receive()?;
        }
        Ok(())
    }

    fn listen(&mut self, lasts: Duration) -> Result<(), LiveError> {
        let until = Instant::now() + lasts;
        while Instant::now() < until {
            self.receive()?;
        }
        Ok(())
    }

    fn beat(&mut self) -> Result<(), LiveError> {
        let frame = encode::heartbeat(&mut self.station);
        self.send(frame)
    }

    fn send_command(&mut self, id: u16, params: [f32; 7]) -> Result<(), LiveError> {
        let frame = encode::plain_command(&mut self.station, self.scene.system, id, params);
        Ok(self.wire.write(&frame)?)
    }

    fn send(&mut self, frame: Vec<u8>) -> Result<(), LiveError> {
        self.wire.write(&frame)?;
        let now_s = self.now_s();
        if let Some(recording) = &mut self.recording {
            recording.inputs.push((now_s - recording.from_s, frame));
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<(), LiveError> {
        let mut buffer = [0; 16 * 1024];
        let read = self.wire.read(&mut buffer)?;
        self.reader.push(&buffer[..read]);
        while let Some(frame) = self.reader.next_frame() {
            if (frame.system, frame.component) == (self.scene.system, 1) {
                self.note(&frame);
            }
        }
        Ok(())
    }

    fn note(&mut self, frame: &Frame) {
        let p = Fields(&frame.payload);
        match frame.id {
            0 => {
                self.state.armed = p.u8(6) & 128 != 0;
                self.state.mode = Some(p.u32(0));
            }
            1 => self.state.ready = p.u32(8) & 0x1000_0000 != 0,
            2 => {
                self.boot_s = f64::from(p.u32(8)) / 1000.0;
                self.boot_read = Instant::now();
            }
            22 => {
                self.values.insert(p.text(8, 16), (p.u32(0), p.u8(24)));
            }
            33 => {
                self.state.place = Some(Wgs84 {
                    lat_deg: f64::from(p.i32(4)) / 1e7,
                    lon_deg: f64::from(p.i32(8)) / 1e7,
                    amsl_m: f64::from(p.i32(12)) / 1000.0,
                });
            }
            77 if p.u16(0) == SET_HOME => self.state.home_unanswered = false,
            245 => self.state.landed = p.u8(1),
            253 => self.state.internal_error |= p.text(1, 50).starts_with("Internal Errors"),
            _ => {}
        }
        let at_s = self.now_s();
        let fresh = self.filter.take(frame);
        if let Some(recording) = &mut self.recording {
            let from_s = recording.from_s;
            recording.statements.extend(fresh.into_iter().map(|fact| Statement {
                at_s: at_s - from_s,
                fact,
            }));
        }
    }
}
