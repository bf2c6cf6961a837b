//! The other end of many wires: reads all messages of vehicles, and makes each take off.

use anyhow::Context;
use mavlink::MAVLinkV2MessageRaw;
use mavlink::MavHeader;
use mavlink::dialects::ardupilotmega::{COMMAND_LONG_DATA, MavCmd, MavMessage};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const ROUND: Duration = Duration::from_millis(20);
const AGAIN: Duration = Duration::from_secs(3);
const IN_AIR: u8 = 2;

enum End {
    Udp(UdpSocket, Option<SocketAddr>),
    Pty(File),
}

struct Vehicle {
    end: End,
    system: u8,
    landed: u8,
    asked: Option<Instant>,
}

#[derive(Default)]
struct Shared {
    new: Mutex<Vec<End>>,
    take_off: AtomicBool,
    stop: AtomicBool,
    in_air: AtomicUsize,
    frames: AtomicU64,
}

pub struct Flown {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Flown {
    pub fn udp(count: usize, first: u16) -> anyhow::Result<Self> {
        let shared = Arc::new(Shared::default());
        for index in 0..count {
            let port = first + u16::try_from(index)?;
            let socket =
                UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).with_context(|| format!("port {port} is taken"))?;
            socket.set_nonblocking(true)?;
            add(&shared, End::Udp(socket, None));
        }
        let theirs = Arc::clone(&shared);
        let thread = Some(std::thread::spawn(move || fly(&theirs)));
        Ok(Self { shared, thread })
    }

    pub fn open(&self, paths: impl Iterator<Item = PathBuf>) -> anyhow::Result<()> {
        for path in paths {
            let port = OpenOptions::new().read(true).write(true).open(&path)?;
            fcntl(&port, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
            let mut mode = tcgetattr(&port)?;
            cfmakeraw(&mut mode);
            tcsetattr(&port, SetArg::TCSANOW, &mode)?;
            add(&self.shared, End::Pty(port));
        }
        Ok(())
    }

    pub fn take_off(&self) {
        self.shared.take_off.store(true, Relaxed);
    }

    pub fn in_air(&self) -> usize {
        self.shared.in_air.load(Relaxed)
    }

    pub fn frames(&self) -> u64 {
        self.shared.frames.load(Relaxed)
    }
}

impl Drop for Flown {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn add(shared: &Shared, end: End) {
    shared.new.lock().unwrap_or_else(PoisonError::into_inner).push(end);
}

fn fly(shared: &Shared) {
    let mut vehicles: Vec<Vehicle> = Vec::new();
    let mut buffer = vec![0; 16 * 1024];
    while !shared.stop.load(Relaxed) {
        let round = Instant::now();
        let new = std::mem::take(&mut *shared.new.lock().unwrap_or_else(PoisonError::into_inner));
        vehicles.extend(new.into_iter().map(|end| Vehicle {
            end,
            system: 0,
            landed: 0,
            asked: None,
        }));
        let mut frames = 0;
        for vehicle in &mut vehicles {
            while let Some(length) = vehicle.read(&mut buffer) {
                frames += vehicle.receive(&buffer[..length]);
            }
            let due = vehicle.asked.is_none_or(|at| at.elapsed() > AGAIN);
            if shared.take_off.load(Relaxed) && vehicle.system != 0 && vehicle.landed <= 1 && due {
                vehicle.asked = Some(Instant::now());
                vehicle.command(
                    MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
                    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                );
                let nan = f32::NAN;
                vehicle.command(MavCmd::MAV_CMD_NAV_TAKEOFF, [nan, 0.0, 0.0, nan, nan, nan, 498.0]);
            }
        }
        shared.frames.fetch_add(frames, Relaxed);
        let up = vehicles.iter().filter(|vehicle| vehicle.landed == IN_AIR).count();
        shared.in_air.store(up, Relaxed);
        std::thread::sleep(ROUND.saturating_sub(round.elapsed()));
    }
}

impl Vehicle {
    fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        loop {
            let read = match &mut self.end {
                End::Udp(socket, peer) => socket.recv_from(buffer).map(|(length, from)| {
                    *peer = Some(from);
                    length
                }),
                End::Pty(port) => port.read(buffer),
            };
            match read {
                Ok(length) => return Some(length).filter(|length| *length > 0),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }

    /// Counts frames that begin in these bytes; a wire without noise needs no checksum to find them.
    fn receive(&mut self, bytes: &[u8]) -> u64 {
        let (mut frames, mut rest) = (0, bytes);
        while let Some(start) = rest.iter().position(|byte| *byte == 0xFD) {
            let frame = &rest[start..];
            let Some(head) = frame.get(..12) else { break };
            frames += 1;
            self.system = head[5];
            if head[7..10] == [245, 0, 0] {
                self.landed = if head[1] > 1 { head[11] } else { 0 };
            }
            rest = frame.get(12 + usize::from(head[1])..).unwrap_or_default();
        }
        frames
    }

    fn command(&mut self, command: MavCmd, [param1, param2, param3, param4, param5, param6, param7]: [f32; 7]) {
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
        let header = MavHeader {
            system_id: 255,
            component_id: 190,
            sequence: 0,
        };
        let mut raw = MAVLinkV2MessageRaw::new();
        raw.serialize_message(header, &message);
        // A lost message is sent again.
        let _ = match &mut self.end {
            End::Udp(socket, Some(peer)) => socket.send_to(raw.raw_bytes(), *peer).map(drop),
            End::Udp(_, None) => Ok(()),
            End::Pty(port) => port.write_all(raw.raw_bytes()),
        };
    }
}
