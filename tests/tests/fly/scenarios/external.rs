//! A program flies a vehicle by set-points within a volume of its own, and loses it in each possible way.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use link::framing::Framer;
use mavlink::dialects::ardupilotmega::{
    COMMAND_LONG_DATA, HEARTBEAT_DATA, MavAutopilot, MavCmd, MavFrame, MavMessage, MavType, PositionTargetTypemask,
    SET_POSITION_TARGET_LOCAL_NED_DATA,
};
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use serde_json::json;
use testkit::autopilots::Stack;

use super::formations::{nearest, resume};
use super::gate::pair;
use super::stations::{drone, place, position, track, wait_on_station};
use crate::field::{Field, NODES};
use crate::figures::Figures;
use crate::modes::{HOLD, Mode, PILOTS};
use crate::objects::condition;
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[Scenario::new(
    "external",
    "a program flies a vehicle within its volume, and loses it: silent, about to leave, to a pilot, by a ground order; nobody else comes in",
    external,
)
.with(|_| pair(20.0))
.real_time()];

const NODE: &str = NODES[0];
const OTHER: &str = NODES[1];
const NAME: &str = "one";
const STATION: [f64; 3] = [0.0, 60.0, 25.0];
const BESIDE: [f64; 3] = [60.0, 60.0, 25.0];
const RADIUS: f64 = 30.0;
const LEASE_S: f64 = 3.0;

/// GUIDED; OFFBOARD.
const PROGRAMS: Mode = Mode(4, [6, 0]);

fn external(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let began = now();
    let spec = json!({
        "nodeName": NODE, "station": place(STATION[0], STATION[1], STATION[2]), "control": "External",
        "external": {"radiusMeters": RADIUS, "belowMeters": 10.0, "aboveMeters": 10.0},
    });
    let object = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": NAME}, "spec": spec,
    });
    field.kubectl().apply(&object.to_string())?;
    drone(field, "two", OTHER, &place(BESIDE[0], BESIDE[1], BESIDE[2]))?;
    wait_on_station(field, NODE, STATION)?;
    wait_on_station(field, OTHER, BESIDE)?;
    let port = testkit::ports::free_tcp_port()?;
    let skein = field.start_skein(&["connect", NAME, "--control", &format!("--listen=tcp:127.0.0.1:{port}")])?;
    skein.wait_for_line(Duration::from_secs(30), |line| line.contains("FOR A PROGRAM"))?;
    let program = Program::start(port, field.stack)?;

    silent(field, figures, &program).with_context(|| skein.tail())?;
    leaves(field, figures, &program)?;
    pilot(field, figures, &program)?;
    grounded(field, figures, &program)?;
    nearest(field, figures, began)?;
    drop(program);
    skein.stop(Duration::from_secs(10))?;
    Ok(())
}

fn flies(field: &Field, program: &Program, north_m_s: f32) -> anyhow::Result<()> {
    wait_reason(field, NODE, "Holding", "a program may fly it")?;
    let from = position(field, NODE)?;
    program.fly(Some([north_m_s, 0.0, 0.0]));
    wait_reason(field, NODE, "ExternalControl", "flown by a program")?;
    field.wait("the vehicle to go north", 60, || {
        let at = position(field, NODE)?;
        ensure!(at[1] - from[1] > 4.0, "it is at {at:?}");
        Ok(())
    })
}

fn silent(field: &Field, figures: &mut Figures, program: &Program) -> anyhow::Result<()> {
    flies(field, program, 1.0)?;
    // Nobody else comes into the volume, though it is empty there.
    program.fly(Some([0.0, 0.0, 0.0]));
    send_other(field, [15.0, 50.0, 25.0])?;
    wait_reason(field, OTHER, "NoRoute", NODE)?;
    field.pass(5, Duration::from_secs(5));
    let at = position(field, OTHER)?;
    ensure!((at[0] - BESIDE[0]).abs() < 3.0, "it has come to {at:?}");
    send_other(field, BESIDE)?;
    wait_on_station(field, OTHER, BESIDE)?;
    let since = now();
    program.fly(None);
    stopped(field, figures, "silent: stopped after", since, LEASE_S + 1.5)?;
    wait_on_station(field, NODE, STATION)?;
    figures.took("silent: on station again after", since, now());
    Ok(())
}

fn leaves(field: &Field, figures: &mut Figures, program: &Program) -> anyhow::Result<()> {
    flies(field, program, 1.0)?;
    let since = now();
    program.fly(Some([5.0, 0.0, 0.0]));
    stopped(field, figures, "about to leave: stopped after", since, 20.0)?;
    program.fly(None);
    wait_on_station(field, NODE, STATION)?;
    let far = track(field, NODE, since).into_iter();
    let far = far.map(|(_, [east, north, _])| (east - STATION[0]).hypot(north - STATION[1]));
    let far = far.fold(0.0, f64::max);
    figures.note(format!("about to leave: as far as {far:.1} m of {RADIUS} m"));
    ensure!(far <= RADIUS, "it came {far:.1} m far");
    Ok(())
}

fn pilot(field: &Field, figures: &mut Figures, program: &Program) -> anyhow::Result<()> {
    flies(field, program, 1.0)?;
    let since = now();
    field.vehicle(NODE).pilot.mode(PILOTS.0, PILOTS.1)?;
    field.wait("the Drone to be Interrupted", 0, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        ensure!(drone["status"]["phase"] == "Interrupted", "{}", drone["status"]);
        Ok(())
    })?;
    let taken_over = now();
    figures.took("pilot: Interrupted after", since, taken_over);
    program.fly(Some([-2.0, 0.0, 0.0]));
    field.pass(5, Duration::from_secs(5));
    program.fly(None);
    let sent = field.record(NODE).orders_since(taken_over);
    ensure!(sent.is_empty(), "in the pilot's hands it was sent {sent:?}");
    field.vehicle(NODE).pilot.mode(HOLD.0, HOLD.1)?;
    field.pass(3, Duration::from_secs(3));
    resume(field, NODE)?;
    wait_on_station(field, NODE, STATION)
}

fn grounded(field: &Field, figures: &mut Figures, program: &Program) -> anyhow::Result<()> {
    flies(field, program, 1.0)?;
    let since = now();
    let patch = json!({"spec": {"grounded": true}}).to_string();
    field
        .kubectl()
        .run(["patch", "drone", NAME, "--type=merge", "-p", &patch])?;
    field.wait("the order to land", 20, || {
        let landing = field.record(NODE).first_sent(since, MavCmd::MAV_CMD_NAV_LAND);
        landing.context("not yet").map(drop)
    })?;
    figures.took("ground order: ordered to land after", since, now());
    field.wait_down(NODE)?;
    program.fly(None);
    Ok(())
}

fn stopped(field: &Field, figures: &mut Figures, what: &str, since: u64, most: f64) -> anyhow::Result<()> {
    let stop = field.wait("the order to stop", 30, || {
        let stop = field.record(NODE).first_sent(since, MavCmd::MAV_CMD_DO_REPOSITION);
        stop.context("not yet")
    })?;
    figures.took_at_most(what, since, stop, most)
}

fn send_other(field: &Field, [east, north, up]: [f64; 3]) -> anyhow::Result<()> {
    let patch = json!({"spec": {"station": place(east, north, up)}}).to_string();
    field
        .kubectl()
        .run(["patch", "drone", "two", "--type=merge", "-p", &patch])
        .map(drop)
}

fn wait_reason(field: &Field, node: &str, reason: &str, words: &str) -> anyhow::Result<()> {
    field.wait(&format!("{node} to be Ready for {reason}"), 60, || {
        let drone = field.objects().of(node).context("there is no Drone")?;
        let ready = condition(&drone, "Ready");
        let message = ready["message"].as_str().unwrap_or_default();
        ensure!(ready["reason"] == reason && message.contains(words), "{ready}");
        Ok(())
    })
}

struct Program {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// North, east and down, meters per second; `None`: it is silent.
    velocity: Mutex<Option<[f32; 3]>>,
    ended: AtomicBool,
}

impl Program {
    fn start(port: u16, stack: Stack) -> anyhow::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("no program listens")?;
        stream.set_read_timeout(Some(Duration::from_millis(20)))?;
        let shared = Arc::new(Shared::default());
        let told = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let _ = talk(stream, stack, &told);
        });
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    fn fly(&self, velocity: Option<[f32; 3]>) {
        *self.shared.velocity.lock().unwrap_or_else(PoisonError::into_inner) = velocity;
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn talk(mut stream: TcpStream, stack: Stack, shared: &Shared) -> anyhow::Result<()> {
    let (mut framer, mut buffer) = (Framer::default(), [0; 4096]);
    let (mut vehicle, mut next_point, mut next_beat) = (None, Instant::now(), Instant::now());
    while !shared.ended.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => framer.push(&buffer[..n]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error.into()),
        }
        while let Some(frame) = framer.next_frame() {
            if frame.component.0 == 1 && frame.message_id == 0 {
                let mut payload = frame.payload().to_vec();
                payload.resize(9, 0);
                let mode = u32::from_le_bytes([payload[0], payload[1], payload[2], payload[3]]);
                vehicle = Some((frame.system.0, mode));
            }
        }
        let velocity = *shared.velocity.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some((system, mode)), Some([vx, vy, vz])) = (vehicle, velocity) else {
            continue;
        };
        if Instant::now() >= next_point {
            next_point = Instant::now() + Duration::from_millis(50);
            say(&mut stream, &set_point(system, [vx, vy, vz]))?;
        }
        if Instant::now() >= next_beat {
            next_beat = Instant::now() + Duration::from_secs(1);
            say(&mut stream, &beat())?;
            if mode != PROGRAMS.number(stack) {
                say(&mut stream, &own_mode(system, stack))?;
            }
        }
    }
    Ok(())
}

fn set_point(target_system: u8, [vx, vy, vz]: [f32; 3]) -> MavMessage {
    // Velocities only.
    const VELOCITY: u16 = 0x0DC7;
    MavMessage::SET_POSITION_TARGET_LOCAL_NED(SET_POSITION_TARGET_LOCAL_NED_DATA {
        vx,
        vy,
        vz,
        type_mask: PositionTargetTypemask::from_bits_truncate(VELOCITY),
        target_system,
        target_component: 1,
        coordinate_frame: MavFrame::MAV_FRAME_LOCAL_NED,
        ..SET_POSITION_TARGET_LOCAL_NED_DATA::default()
    })
}

fn beat() -> MavMessage {
    MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        mavtype: MavType::MAV_TYPE_GCS,
        autopilot: MavAutopilot::MAV_AUTOPILOT_INVALID,
        mavlink_version: 3,
        ..HEARTBEAT_DATA::default()
    })
}

fn own_mode(target_system: u8, stack: Stack) -> MavMessage {
    let main = match stack {
        Stack::ArduPilot => PROGRAMS.0,
        Stack::Px4 => PROGRAMS.1[0],
    };
    MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
        param1: 1.0,
        param2: main.into(),
        command: MavCmd::MAV_CMD_DO_SET_MODE,
        target_system,
        target_component: 1,
        ..COMMAND_LONG_DATA::default()
    })
}

fn say(stream: &mut TcpStream, message: &MavMessage) -> anyhow::Result<()> {
    let header = MavHeader {
        system_id: 245,
        component_id: 190,
        sequence: 0,
    };
    let mut raw = MAVLinkV2MessageRaw::new();
    raw.serialize_message(header, message);
    Ok(stream.write_all(raw.raw_bytes())?)
}
