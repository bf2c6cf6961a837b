//! A person with another ground station, on a second link of the autopilot that the agent does not see.

mod plans;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::{
    ADSB_VEHICLE_DATA, COMMAND_INT_DATA, COMMAND_LONG_DATA, HEARTBEAT_DATA, MANUAL_CONTROL_DATA, MavAutopilot, MavCmd,
    MavFrame, MavMessage, MavModeFlag, MavParamType, MavResult, MavState, MavType, PARAM_REQUEST_READ_DATA,
    PARAM_SET_DATA, RC_CHANNELS_OVERRIDE_DATA, SETUP_SIGNING_DATA,
};
use mavlink::{MavHeader, MavlinkVersion};
use skein_tests::wire::now;
use testkit::autopilots::{Autopilot, Stack};
use testkit::wait_for;

/// Beginning of the time stamps of signatures, which count 10 µs; Unix microseconds.
const YEAR_2015: u64 = 1_420_070_400_000_000;

const SYSTEM: u32 = 255;
const COMPONENT: u8 = 190;

/// 20 Hz. PX4 takes a source of sticks for lost after half a second.
const EACH: Duration = Duration::from_millis(50);
/// Thousandths of a stick's way that a hand moves it in that time: from the middle to the end in 0.4 s.
const HAND: i16 = 125;

/// Parameters of ArduCopter from 4.6, their names before, and whether 0 and 1 have each other's meaning there.
const UNTIL_4_5: &[(&str, &str, bool)] = &[
    ("SIM_GPS1_ENABLE", "SIM_GPS_DISABLE", true),
    ("GPS1_TYPE", "GPS_TYPE", false),
];

pub struct Pilot {
    line: Arc<Line>,
    stack: Stack,
    system: u8,
    threads: Vec<JoinHandle<()>>,
}

struct Line {
    way: Way,
    ended: AtomicBool,
    beats: AtomicBool,
    answers: Mutex<Vec<MavMessage>>,
    sticks: Mutex<Option<[u16; 4]>>,
    /// Where its roll axis is, and where the hand moves it.
    joystick: Mutex<Option<[i16; 2]>>,
    traffic: Mutex<Option<ADSB_VEHICLE_DATA>>,
    target: u8,
}

enum Way {
    Tcp(TcpStream),
    Udp(UdpSocket, SocketAddr),
}

impl Pilot {
    pub fn at(autopilot: &Autopilot) -> anyhow::Result<Self> {
        let address = autopilot.ground_link();
        let way = match autopilot.stack() {
            Stack::ArduPilot => {
                let stream = wait_for("the autopilot's second port", Duration::from_secs(20), || {
                    Ok(TcpStream::connect(address)?)
                })?;
                stream.set_read_timeout(Some(Duration::from_millis(100)))?;
                Way::Tcp(stream)
            }
            Stack::Px4 => {
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                socket.set_read_timeout(Some(Duration::from_millis(100)))?;
                Way::Udp(socket, address)
            }
        };
        let line = Arc::new(Line {
            way,
            ended: AtomicBool::new(false),
            beats: AtomicBool::new(false),
            answers: Mutex::default(),
            sticks: Mutex::default(),
            joystick: Mutex::default(),
            traffic: Mutex::default(),
            target: autopilot.system(),
        });
        let (reader, sender) = (Arc::clone(&line), Arc::clone(&line));
        let threads = vec![
            std::thread::spawn(move || reader.read()),
            std::thread::spawn(move || sender.repeat()),
        ];
        Ok(Self {
            line,
            stack: autopilot.stack(),
            system: autopilot.system(),
            threads,
        })
    }

    pub fn beats(&self, on: bool) {
        self.line.beats.store(on, Ordering::Relaxed);
    }

    /// Holds the sticks there (channels 1 to 4), or releases them.
    pub fn sticks(&self, channels: Option<[u16; 4]>) {
        *self.line.sticks.lock().unwrap_or_else(PoisonError::into_inner) = channels;
    }

    /// A hand moves the roll axis of a joystick there (from -1000 to 1000); its other axes are in the middle. Once plugged
    /// in it stays: PX4 acts on one that goes away in the air (NAV_RCL_ACT).
    pub fn joystick(&self, roll: i16) {
        let mut joystick = self.line.joystick.lock().unwrap_or_else(PoisonError::into_inner);
        let at = joystick.map_or(0, |[at, _]| at);
        *joystick = Some([at, roll]);
    }

    /// Another aircraft, twice a second, as from an ADS-B receiver; `None`: no more.
    pub fn traffic(&self, aircraft: Option<ADSB_VEHICLE_DATA>) {
        *self.line.traffic.lock().unwrap_or_else(PoisonError::into_inner) = aircraft;
    }

    /// Gives the autopilot the key of MAVLink 2 signing. From then on it ignores this ground station, which has none.
    pub fn set_up_signing(&self, secret_key: [u8; 32]) -> anyhow::Result<()> {
        // PX4 knows no time but this one, and its first frames would be refused as old.
        let initial_timestamp = match self.stack {
            Stack::ArduPilot => 0,
            Stack::Px4 => now().saturating_sub(YEAR_2015) / 10,
        };
        self.line.send(&MavMessage::SETUP_SIGNING(SETUP_SIGNING_DATA {
            initial_timestamp,
            target_system: self.system,
            target_component: 1,
            secret_key,
        }))
    }

    pub fn command(&self, command: MavCmd, params: [f32; 7]) -> anyhow::Result<()> {
        let [param1, param2, param3, param4, param5, param6, param7] = params;
        let message = MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
            param1,
            param2,
            param3,
            param4,
            param5,
            param6,
            param7,
            command,
            target_system: self.system,
            target_component: 1,
            confirmation: 0,
        });
        self.line.answers().clear();
        self.line.send(&message)?;
        wait_for(format!("an answer to {command:?}"), Duration::from_secs(5), || {
            let answers = self.line.answers();
            let mut acks = answers.iter().filter_map(|answer| match answer {
                MavMessage::COMMAND_ACK(ack) if ack.command == command => Some(ack.result),
                _ => None,
            });
            acks.next_back().context("none yet").map(drop)
        })
    }

    /// Degrees, and meters above sea level.
    pub fn reposition(&self, [latitude, longitude]: [f64; 2], amsl: f32) -> anyhow::Result<()> {
        #[allow(clippy::cast_possible_truncation, reason = "a place on the Earth in 1e-7 degrees")]
        let e7 = |degrees: f64| (degrees * 1e7) as i32;
        let command = MavCmd::MAV_CMD_DO_REPOSITION;
        self.line.answers().clear();
        self.line.send(&MavMessage::COMMAND_INT(COMMAND_INT_DATA {
            param1: -1.0,
            param2: 1.0,
            param3: 0.0,
            param4: f32::NAN,
            x: e7(latitude),
            y: e7(longitude),
            z: amsl,
            command,
            target_system: self.system,
            target_component: 1,
            frame: MavFrame::MAV_FRAME_GLOBAL,
            current: 0,
            autocontinue: 0,
        }))?;
        wait_for("the reposition to be accepted", Duration::from_secs(5), || {
            let answers = self.line.answers();
            let mut acks = answers.iter().filter_map(|answer| match answer {
                MavMessage::COMMAND_ACK(ack) if ack.command == command => Some(ack.result),
                _ => None,
            });
            let result = acks.next_back().context("no answer yet")?;
            ensure!(result == MavResult::MAV_RESULT_ACCEPTED, "{result:?}");
            Ok(())
        })
    }

    pub fn mode(&self, arducopter: u8, px4: [u8; 2]) -> anyhow::Result<()> {
        let [two, three] = match self.stack {
            Stack::ArduPilot => [arducopter, 0],
            Stack::Px4 => px4,
        };
        let params = [1.0, two.into(), three.into(), 0.0, 0.0, 0.0, 0.0];
        self.command(MavCmd::MAV_CMD_DO_SET_MODE, params)
    }

    fn ask<T>(&self, message: &MavMessage, wanted: impl Fn(&MavMessage) -> Option<T>) -> anyhow::Result<T> {
        self.line.answers().clear();
        for _ in 0..8 {
            self.line.send(message)?;
            let until = Instant::now() + Duration::from_secs(1);
            while Instant::now() < until {
                if let Some(found) = self.line.answers().iter().find_map(&wanted) {
                    return Ok(found);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        anyhow::bail!("no answer to {message:?}")
    }

    /// For a float, or for ArduCopter.
    pub fn read(&self, name: &str) -> anyhow::Result<f64> {
        let message = MavMessage::PARAM_REQUEST_READ(PARAM_REQUEST_READ_DATA {
            param_index: -1,
            target_system: self.system,
            target_component: 1,
            param_id: name.into(),
        });
        self.ask(&message, |answer| match answer {
            MavMessage::PARAM_VALUE(p) if p.param_id.to_str() == Ok(name) => Some(f64::from(p.param_value)),
            _ => None,
        })
    }

    /// For a float, or for ArduCopter, under the name that its version has; for others PX4 has a shell.
    pub fn parameter(&self, name: &str, value: f32) -> anyhow::Result<()> {
        match UNTIL_4_5.iter().find(|(now, ..)| *now == name) {
            Some((_, before, inverted)) if self.read(name).is_err() => {
                self.set(before, if *inverted { 1.0 - value } else { value })
            }
            _ => self.set(name, value),
        }
    }

    fn set(&self, name: &str, value: f32) -> anyhow::Result<()> {
        let message = MavMessage::PARAM_SET(PARAM_SET_DATA {
            param_value: value,
            target_system: self.system,
            target_component: 1,
            param_id: name.into(),
            param_type: MavParamType::MAV_PARAM_TYPE_REAL32,
        });
        self.line.answers().clear();
        wait_for(format!("{name} to be {value}"), Duration::from_secs(10), || {
            self.line.send(&message)?;
            std::thread::sleep(Duration::from_millis(100));
            let set = self.line.answers().iter().any(|answer| {
                matches!(answer, MavMessage::PARAM_VALUE(p)
                    if p.param_id.to_str() == Ok(name) && (p.param_value - value).abs() < 1e-3)
            });
            ensure!(set, "no answer yet");
            Ok(())
        })
    }
}

impl Line {
    fn answers(&self) -> std::sync::MutexGuard<'_, Vec<MavMessage>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &MavMessage) -> anyhow::Result<()> {
        let header = MavHeader {
            system_id: SYSTEM,
            component_id: COMPONENT,
            sequence: 0,
        };
        let mut frame = Vec::new();
        mavlink::write_versioned_msg(&mut frame, MavlinkVersion::V2, header, message)?;
        match &self.way {
            Way::Tcp(stream) => {
                let mut stream = stream;
                stream.write_all(&frame)?
            }
            Way::Udp(socket, address) => drop(socket.send_to(&frame, address)?),
        }
        Ok(())
    }

    fn read(&self) {
        let (mut buffer, mut rest) = ([0; 4096], Vec::new());
        while !self.ended.load(Ordering::Relaxed) {
            let count = match &self.way {
                Way::Tcp(stream) => {
                    let mut stream = stream;
                    stream.read(&mut buffer)
                }
                Way::Udp(socket, _) => socket.recv(&mut buffer),
            };
            // Nothing was received in time, or the autopilot is off.
            let Ok(count @ 1..) = count else {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            rest.extend_from_slice(&buffer[..count]);
            for frame in crate::relay::frames(&mut rest) {
                let mut reader = mavlink::MavlinkReader::with_capacity(512, std::io::Cursor::new(frame.as_slice()));
                let Ok((_, message)) = reader.read_any_message::<MavMessage>() else {
                    continue;
                };
                if is_answer(&message) {
                    self.answers().push(message);
                }
            }
        }
    }

    fn repeat(&self) {
        let beat = MavMessage::HEARTBEAT(HEARTBEAT_DATA {
            custom_mode: 0,
            mavtype: MavType::MAV_TYPE_GCS,
            autopilot: MavAutopilot::MAV_AUTOPILOT_INVALID,
            base_mode: MavModeFlag::empty(),
            system_status: MavState::MAV_STATE_ACTIVE,
            mavlink_version: 3,
        });
        let (mut next_beat, mut next_traffic) = (Instant::now(), Instant::now());
        while !self.ended.load(Ordering::Relaxed) {
            if Instant::now() >= next_beat && self.beats.load(Ordering::Relaxed) {
                let _ = self.send(&beat);
                next_beat = Instant::now() + Duration::from_millis(500);
            }
            let traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(aircraft) = traffic.filter(|_| Instant::now() >= next_traffic) {
                let _ = self.send(&MavMessage::ADSB_VEHICLE(aircraft));
                next_traffic = Instant::now() + Duration::from_millis(500);
            }
            let sticks = *self.sticks.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some([chan1_raw, chan2_raw, chan3_raw, chan4_raw]) = sticks {
                let _ = self.send(&MavMessage::RC_CHANNELS_OVERRIDE(RC_CHANNELS_OVERRIDE_DATA {
                    chan1_raw,
                    chan2_raw,
                    chan3_raw,
                    chan4_raw,
                    target_system: self.target,
                    target_component: 1,
                    ..RC_CHANNELS_OVERRIDE_DATA::default()
                }));
            }
            if let Some(y) = self.roll() {
                // PX4's throttle goes from 0 to 1000.
                let _ = self.send(&MavMessage::MANUAL_CONTROL(MANUAL_CONTROL_DATA {
                    y,
                    z: 500,
                    target: self.target,
                    ..MANUAL_CONTROL_DATA::default()
                }));
            }
            std::thread::sleep(EACH);
        }
    }

    fn roll(&self) -> Option<i16> {
        let mut joystick = self.joystick.lock().unwrap_or_else(PoisonError::into_inner);
        let [at, to] = joystick.as_mut()?;
        *at += (*to - *at).clamp(-HAND, HAND);
        Some(*at)
    }
}

/// Whether it answers a request of this ground station.
fn is_answer(message: &MavMessage) -> bool {
    let to = match message {
        MavMessage::COMMAND_ACK(_) | MavMessage::PARAM_VALUE(_) => return true,
        MavMessage::MISSION_COUNT(m) => m.target_system,
        MavMessage::MISSION_ITEM_INT(m) => m.target_system,
        MavMessage::MISSION_REQUEST_INT(m) => m.target_system,
        #[allow(deprecated, reason = "ArduPilot asks so")]
        MavMessage::MISSION_REQUEST(m) => m.target_system,
        MavMessage::MISSION_ACK(m) => m.target_system,
        _ => return false,
    };
    u32::from(to) == SYSTEM
}

impl Drop for Pilot {
    fn drop(&mut self) {
        self.line.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
