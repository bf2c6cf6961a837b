//! A scripted ArduCopter or PX4 in memory, with faults, after recordings; shares only the framing with the agent.

use link::decode::decode;
use link::dialect::{
    AUTOPILOT_VERSION_DATA, COMMAND_ACK_DATA, EXTENDED_SYS_STATE_DATA, GLOBAL_POSITION_INT_DATA, GPS_RAW_INT_DATA,
    GpsFixType, HEARTBEAT_DATA, HOME_POSITION_DATA, MESSAGE_INTERVAL_DATA, MavAutopilot, MavCmd, MavLandedState,
    MavMessage, MavModeFlag, MavResult, MavState, MavSysStatusSensor, MavType, STATUSTEXT_DATA, SYS_STATUS_DATA,
};
use link::framing::Framer;
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, interval};

/// Home, meters above mean sea level.
pub const HOME_AMSL: f32 = 488.0;
pub const SYSTEM: u8 = 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    ArduCopter,
    Px4,
}

#[derive(Clone, Debug)]
pub struct Received {
    pub at: Instant,
    pub command: MavCmd,
    pub int: bool,
    pub z: f32,
    pub confirmation: u8,
}

#[derive(Debug)]
pub struct World {
    pub kind: Kind,
    pub armed: bool,
    pub custom_mode: u32,
    pub landed: MavLandedState,
    pub altitude: f32,
    pub target: f32,
    pub ready: bool,
    /// Arming checks in SYS_STATUS until they run again, where they differ.
    pub ready_before: Option<bool>,
    /// Percent.
    pub remaining: i8,
    /// From the takeoff command to the first movement.
    pub lifts_off_after: Duration,
    pub received: Vec<Received>,
    pub beats_from_us: u32,
    pub strange_senders: u32,
    pub refuse_arm: u32,
    pub lose_takeoff_acks: u32,
    pub mute_acks: bool,
    pub reboot: bool,
    pub may_be_killed: bool,
    pub refuse_kill: bool,
    /// HEARTBEAT.system_status while armed.
    pub state: MavState,
    pub texts: Vec<&'static str>,
    /// Knows NAV_RETURN_TO_LAUNCH.
    pub can_return: bool,
    pub deaf_to_land: bool,
    /// Falls with stopped motors, and still reports that it is in the air.
    pub falls: bool,
    /// Sent with a refusal to arm although its checks pass.
    pub refuses_with: &'static str,
    /// GPS_RAW_INT.h_acc and v_acc.
    pub accuracy_mm: [u32; 2],
    /// Home, north of the vehicle, degrees × 10⁷.
    pub home_north_e7: i32,
    streams: HashMap<u32, Duration>,
    sent: HashMap<u32, Instant>,
    boot: Instant,
    changed: Instant,
    climb_from: Option<Instant>,
}

pub type Shared = Arc<Mutex<World>>;

pub fn world(kind: Kind) -> Shared {
    let now = Instant::now();
    Arc::new(Mutex::new(World {
        kind,
        armed: false,
        custom_mode: if kind == Kind::Px4 { 0x0304_0000 } else { 0 },
        landed: MavLandedState::MAV_LANDED_STATE_ON_GROUND,
        altitude: 0.0,
        target: 0.0,
        ready: true,
        ready_before: None,
        remaining: 90,
        lifts_off_after: Duration::from_secs(1),
        received: Vec::new(),
        beats_from_us: 0,
        strange_senders: 0,
        refuse_arm: 0,
        lose_takeoff_acks: 0,
        mute_acks: false,
        reboot: false,
        may_be_killed: false,
        refuse_kill: false,
        state: MavState::MAV_STATE_STANDBY,
        texts: Vec::new(),
        can_return: false,
        deaf_to_land: false,
        falls: false,
        refuses_with: "Arm: Compass not healthy",
        accuracy_mm: [900, 1780],
        home_north_e7: 0,
        streams: HashMap::new(),
        sent: HashMap::new(),
        boot: now,
        changed: now,
        climb_from: None,
    }))
}

pub async fn run(world: Shared, mut lines: mpsc::Receiver<DuplexStream>) {
    let mut line: Option<DuplexStream> = None;
    let mut framer = Framer::default();
    let mut tick = interval(Duration::from_millis(50));
    let mut buffer = [0; 2048];
    let mut sequence = 0_u8;
    loop {
        let mut out = Vec::new();
        tokio::select! {
            new = lines.recv() => match new {
                Some(new) => { line = Some(new); framer = Framer::default(); }
                None => return,
            },
            read = async { match line.as_mut() {
                Some(l) => l.read(&mut buffer).await,
                None => std::future::pending().await,
            }} => match read {
                Ok(0) | Err(_) => line = None,
                Ok(n) => {
                    framer.push(&buffer[..n]);
                    while let Some(frame) = framer.next_frame() {
                        if let Ok((header, message)) = decode(&frame) {
                            world.lock().unwrap().receive(header, &message, &mut out);
                        }
                    }
                }
            },
            _ = tick.tick() => world.lock().unwrap().tick(&mut out),
        }
        let Some(l) = line.as_mut() else { continue };
        for message in out {
            let mut raw = MAVLinkV2MessageRaw::new();
            raw.serialize_message(
                MavHeader {
                    system_id: u32::from(SYSTEM),
                    component_id: 1,
                    sequence,
                },
                &message,
            );
            sequence = sequence.wrapping_add(1);
            if l.write_all(raw.raw_bytes()).await.is_err() {
                break;
            }
        }
    }
}

impl World {
    pub fn count(&self, command: MavCmd) -> usize {
        self.received.iter().filter(|r| r.command == command).count()
    }

    #[allow(deprecated, reason = "older firmware knows no other way, and newer still knows it")]
    pub fn steps(&self) -> Vec<MavCmd> {
        let requests = [
            MavCmd::MAV_CMD_GET_MESSAGE_INTERVAL,
            MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL,
            MavCmd::MAV_CMD_REQUEST_MESSAGE,
        ];
        self.received
            .iter()
            .map(|r| r.command)
            .filter(|c| !requests.contains(c))
            .collect()
    }

    pub fn never_lifts(&mut self) {
        self.climb_from = Some(Instant::now() + Duration::from_secs(3600));
    }

    fn station(&self) -> u32 {
        if self.kind == Kind::Px4 { 0x0304_0000 } else { 4 }
    }

    fn in_land(&self) -> bool {
        self.custom_mode == if self.kind == Kind::Px4 { 0x0604_0000 } else { 9 }
    }

    fn flying(&self) -> bool {
        self.landed != MavLandedState::MAV_LANDED_STATE_ON_GROUND
    }

    fn receive(&mut self, header: MavHeader, message: &MavMessage, out: &mut Vec<MavMessage>) {
        if (header.system_id, header.component_id) != (u32::from(SYSTEM), 191) {
            self.strange_senders += 1;
        }
        let at = Instant::now();
        match message {
            MavMessage::HEARTBEAT(m) => {
                assert_eq!(
                    m.mavtype,
                    MavType::MAV_TYPE_ONBOARD_CONTROLLER,
                    "never a ground station"
                );
                self.beats_from_us += 1;
            }
            MavMessage::COMMAND_LONG(m) if m.target_system == SYSTEM => {
                self.received.push(Received {
                    at,
                    command: m.command,
                    int: false,
                    z: m.param7,
                    confirmation: m.confirmation,
                });
                self.obey(m.command, [m.param1, m.param2, m.param3], m.param7, out);
            }
            MavMessage::COMMAND_INT(m) if m.target_system == SYSTEM => {
                self.received.push(Received {
                    at,
                    command: m.command,
                    int: true,
                    z: m.z,
                    confirmation: 0,
                });
                self.obey(m.command, [m.param1, m.param2, m.param3], m.z, out);
            }
            _ => {}
        }
    }

    #[allow(deprecated, reason = "older firmware knows no other way, and newer still knows it")]
    fn obey(&mut self, command: MavCmd, p: [f32; 3], z: f32, out: &mut Vec<MavMessage>) {
        use MavResult::{
            MAV_RESULT_ACCEPTED as ACCEPTED, MAV_RESULT_FAILED as FAILED, MAV_RESULT_TEMPORARILY_REJECTED as LATER,
        };
        let mut answer = true;
        let result = match command {
            MavCmd::MAV_CMD_GET_MESSAGE_INTERVAL => {
                let every = self.streams.get(&(p[0] as u32));
                out.push(MavMessage::MESSAGE_INTERVAL(MESSAGE_INTERVAL_DATA {
                    message_id: p[0] as u16,
                    interval_us: every.map_or(-1, |every| every.as_micros() as i32),
                }));
                ACCEPTED
            }
            MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL => {
                self.streams.insert(p[0] as u32, Duration::from_micros(p[1] as u64));
                ACCEPTED
            }
            MavCmd::MAV_CMD_REQUEST_MESSAGE => {
                out.extend(self.message(p[0] as u32));
                ACCEPTED
            }
            MavCmd::MAV_CMD_DO_SET_MODE => {
                if self.kind == Kind::Px4 {
                    out.push(ack(command, ACCEPTED));
                    self.custom_mode = (p[1] as u32) << 16 | (p[2] as u32) << 24;
                } else {
                    self.custom_mode = p[1] as u32;
                    out.push(self.beat());
                    out.extend(self.message(1));
                }
                ACCEPTED
            }
            MavCmd::MAV_CMD_RUN_PREARM_CHECKS => {
                self.ready_before = None;
                if !self.ready {
                    out.push(text("PreArm: Need Position Estimate"));
                }
                ACCEPTED
            }
            MavCmd::MAV_CMD_COMPONENT_ARM_DISARM => {
                let kill = p[0] == 0.0 && p[1] == 21_196.0 && self.may_be_killed;
                assert!(
                    kill || (p[0] == 1.0 && p[1] == 0.0),
                    "the agent never disarms and never forces"
                );
                if kill {
                    self.kill()
                } else if self.refuse_arm > 0 || !self.ready || self.custom_mode != self.station() {
                    self.refuse_arm = self.refuse_arm.saturating_sub(1);
                    out.push(text(self.refuses_with));
                    if self.kind == Kind::Px4 { LATER } else { FAILED }
                } else {
                    self.armed = true;
                    self.changed = Instant::now();
                    ACCEPTED
                }
            }
            MavCmd::MAV_CMD_NAV_TAKEOFF => {
                let height = if self.kind == Kind::Px4 { z - HOME_AMSL } else { z };
                if self.lose_takeoff_acks > 0 {
                    self.lose_takeoff_acks -= 1;
                    answer = false;
                }
                let possible = self.armed && (self.kind == Kind::Px4 || (self.custom_mode == 4 && !self.flying()));
                if possible {
                    self.target = height;
                    if self.climb_from.is_none() {
                        self.climb_from = Some(Instant::now() + self.lifts_off_after);
                    }
                    if self.kind == Kind::Px4 {
                        self.custom_mode = 0x0204_0000;
                    }
                    ACCEPTED
                } else {
                    FAILED
                }
            }
            MavCmd::MAV_CMD_NAV_LAND if self.deaf_to_land => return,
            MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH if self.can_return => {
                self.custom_mode = if self.kind == Kind::Px4 { 0x0504_0000 } else { 6 };
                ACCEPTED
            }
            MavCmd::MAV_CMD_NAV_LAND => {
                self.custom_mode = if self.kind == Kind::Px4 { 0x0604_0000 } else { 9 };
                self.climb_from = None;
                ACCEPTED
            }
            _ => MavResult::MAV_RESULT_UNSUPPORTED,
        };
        if answer && !self.mute_acks {
            out.push(ack(command, result));
        }
    }

    fn kill(&mut self) -> MavResult {
        if self.refuse_kill {
            return MavResult::MAV_RESULT_FAILED;
        }
        self.armed = false;
        self.landed = MavLandedState::MAV_LANDED_STATE_ON_GROUND;
        self.altitude = 0.0;
        MavResult::MAV_RESULT_ACCEPTED
    }

    fn tick(&mut self, out: &mut Vec<MavMessage>) {
        let now = Instant::now();
        if std::mem::take(&mut self.reboot) {
            self.boot = now;
            self.streams.clear();
            self.sent.clear();
            self.custom_mode = if self.kind == Kind::Px4 { 0x0304_0000 } else { 0 };
        }
        out.extend(std::mem::take(&mut self.texts).into_iter().map(text));
        let since_change = now.duration_since(self.changed);
        if self.falls {
            self.altitude = (self.altitude - 0.5).max(0.0);
        }
        if self.armed && self.in_land() {
            self.altitude = (self.altitude - 0.1).max(0.0);
            if self.altitude > 0.0 {
                self.landed = MavLandedState::MAV_LANDED_STATE_LANDING;
                self.changed = now;
            } else {
                self.landed = MavLandedState::MAV_LANDED_STATE_ON_GROUND;
                if since_change > Duration::from_secs(2) {
                    self.armed = false;
                    if self.kind == Kind::Px4 {
                        self.custom_mode = 0x0304_0000;
                    }
                }
            }
        } else if self.armed && self.climb_from.is_some_and(|from| now >= from) {
            self.altitude = (self.altitude + 0.15).min(self.target);
            self.changed = now;
            if self.altitude < self.target {
                self.landed = MavLandedState::MAV_LANDED_STATE_TAKEOFF;
            } else if self.landed != MavLandedState::MAV_LANDED_STATE_IN_AIR {
                self.landed = MavLandedState::MAV_LANDED_STATE_IN_AIR;
                self.custom_mode = self.station();
            }
        } else if self.armed && !self.flying() && since_change > Duration::from_secs(10) {
            self.armed = false;
            self.climb_from = None;
        }
        if !self.armed {
            self.climb_from = None;
        }
        if self.due(0, Duration::from_secs(1), now) {
            out.push(self.beat());
        }
        for (id, every) in self.streams.clone() {
            if self.due(id, every, now) {
                out.extend(self.message(id));
            }
        }
    }

    fn due(&mut self, id: u32, every: Duration, now: Instant) -> bool {
        let due = self.sent.get(&id).is_none_or(|at| now.duration_since(*at) >= every);
        if due {
            self.sent.insert(id, now);
        }
        due
    }

    fn beat(&self) -> MavMessage {
        let mut base_mode = MavModeFlag::MAV_MODE_FLAG_CUSTOM_MODE_ENABLED;
        base_mode.set(MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED, self.armed);
        MavMessage::HEARTBEAT(HEARTBEAT_DATA {
            custom_mode: self.custom_mode,
            mavtype: MavType::MAV_TYPE_QUADROTOR,
            autopilot: match self.kind {
                Kind::ArduCopter => MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
                Kind::Px4 => MavAutopilot::MAV_AUTOPILOT_PX4,
            },
            base_mode,
            system_status: if self.armed {
                self.state
            } else {
                MavState::MAV_STATE_STANDBY
            },
            mavlink_version: 3,
        })
    }

    fn message(&self, id: u32) -> Option<MavMessage> {
        let boot_ms = u32::try_from(self.boot.elapsed().as_millis()).unwrap();
        let millimeters = |meters: f32| (meters * 1000.0) as i32;
        Some(match id {
            0 => self.beat(),
            1 => {
                let mut health = MavSysStatusSensor::empty();
                health.set(
                    MavSysStatusSensor::MAV_SYS_STATUS_PREARM_CHECK,
                    self.ready_before.unwrap_or(self.ready),
                );
                MavMessage::SYS_STATUS(SYS_STATUS_DATA {
                    onboard_control_sensors_health: health,
                    voltage_battery: 12_600,
                    battery_remaining: self.remaining,
                    ..SYS_STATUS_DATA::default()
                })
            }
            33 => MavMessage::GLOBAL_POSITION_INT(GLOBAL_POSITION_INT_DATA {
                time_boot_ms: boot_ms,
                lat: 473_977_420,
                lon: 85_455_940,
                alt: millimeters(HOME_AMSL + self.altitude),
                relative_alt: millimeters(self.altitude),
                vz: if self.falls && self.altitude > 0.0 { 1000 } else { 0 },
                ..GLOBAL_POSITION_INT_DATA::default()
            }),
            148 => MavMessage::AUTOPILOT_VERSION(AUTOPILOT_VERSION_DATA {
                flight_sw_version: 0x0407_0000,
                ..AUTOPILOT_VERSION_DATA::default()
            }),
            24 => MavMessage::GPS_RAW_INT(GPS_RAW_INT_DATA {
                fix_type: GpsFixType::GPS_FIX_TYPE_3D_FIX,
                h_acc: self.accuracy_mm[0],
                v_acc: self.accuracy_mm[1],
                ..GPS_RAW_INT_DATA::default()
            }),
            242 => MavMessage::HOME_POSITION(HOME_POSITION_DATA {
                latitude: 473_977_420 + self.home_north_e7,
                longitude: 85_455_940,
                altitude: millimeters(HOME_AMSL),
                ..HOME_POSITION_DATA::default()
            }),
            245 => MavMessage::EXTENDED_SYS_STATE(EXTENDED_SYS_STATE_DATA {
                landed_state: self.landed,
                ..EXTENDED_SYS_STATE_DATA::default()
            }),
            _ => return None,
        })
    }
}

fn ack(command: MavCmd, result: MavResult) -> MavMessage {
    MavMessage::COMMAND_ACK(COMMAND_ACK_DATA {
        command,
        result,
        target_system: SYSTEM,
        target_component: 191,
        ..COMMAND_ACK_DATA::default()
    })
}

fn text(words: &str) -> MavMessage {
    MavMessage::STATUSTEXT(STATUSTEXT_DATA {
        text: words.into(),
        ..STATUSTEXT_DATA::default()
    })
}
