//! The simulator's wire log as evidence of what the agent sent to the vehicle.

use mavlink::dialects::ardupilotmega::{MavCmd, MavLandedState, MavMessage, MavModeFlag};
use mavlink::{MavHeader, MavlinkReader};
use std::io::Cursor;
use std::path::Path;

const VEHICLE: (u32, u8) = (1, 1);
/// Commands that no automatic function may ever send.
const FORBIDDEN: [MavCmd; 2] = [
    MavCmd::MAV_CMD_DO_FLIGHTTERMINATION,
    MavCmd::MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN,
];
#[allow(deprecated, reason = "older firmware knows no other way, and newer still knows it")]
const ASKING: [MavCmd; 4] = [
    MavCmd::MAV_CMD_GET_MESSAGE_INTERVAL,
    MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL,
    MavCmd::MAV_CMD_REQUEST_MESSAGE,
    MavCmd::MAV_CMD_RUN_PREARM_CHECKS,
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Command {
    pub at_us: u64,
    pub command: MavCmd,
    pub param1: f32,
    pub param2: f32,
    pub to: (u32, u8),
    /// As the vehicle had reported by then.
    pub armed: Option<bool>,
    pub landed: Option<MavLandedState>,
}

#[derive(Debug, Default)]
pub struct Log {
    pub commands: Vec<Command>,
    pub armed: Option<bool>,
    pub landed: Option<MavLandedState>,
}

impl Log {
    pub fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap_or_default();
        let (mut rest, mut log) = (bytes.as_slice(), Self::default());
        while rest.len() > 11 {
            let at_us = u64::from_be_bytes(rest[..8].try_into().expect("eight bytes were taken"));
            let frame = &rest[8..];
            let length = match frame[0] {
                0xFD => 12 + usize::from(frame[1]) + if frame[2] & 1 != 0 { 13 } else { 0 },
                0xFE => 8 + usize::from(frame[1]),
                other => panic!("{}: a frame begins with {other:#x}", path.display()),
            };
            // The last frame may be half written.
            let Some(frame) = frame.get(..length) else { break };
            let mut reader = MavlinkReader::with_capacity(512, Cursor::new(frame));
            if let Ok((header, message)) = reader.read_any_message::<MavMessage>() {
                log.take_in(at_us, header, &message);
            }
            rest = &rest[8 + length..];
        }
        log
    }

    fn take_in(&mut self, at_us: u64, header: MavHeader, message: &MavMessage) {
        let from_vehicle = (header.system_id, header.component_id) == VEHICLE;
        let (command, param1, param2, to) = match message {
            MavMessage::HEARTBEAT(beat) if from_vehicle => {
                self.armed = Some(beat.base_mode.contains(MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED));
                return;
            }
            MavMessage::EXTENDED_SYS_STATE(state) if from_vehicle => {
                self.landed = Some(state.landed_state);
                return;
            }
            MavMessage::COMMAND_LONG(c) => (c.command, c.param1, c.param2, (c.target_system, c.target_component)),
            MavMessage::COMMAND_INT(c) => (c.command, c.param1, c.param2, (c.target_system, c.target_component)),
            _ => return,
        };
        if from_vehicle || ASKING.contains(&command) {
            return;
        }
        self.commands.push(Command {
            at_us,
            command,
            param1,
            param2,
            to: (u32::from(to.0), to.1),
            armed: self.armed,
            landed: self.landed,
        });
    }

    pub fn down(&self) -> bool {
        self.armed == Some(false) && self.landed == Some(MavLandedState::MAV_LANDED_STATE_ON_GROUND)
    }

    pub fn count(&self, command: MavCmd) -> usize {
        self.commands.iter().filter(|c| c.command == command).count()
    }

    /// Checks the rules that hold under every fault. Errors: the first command that breaks one.
    pub fn check(&self) -> anyhow::Result<()> {
        for command in &self.commands {
            anyhow::ensure!(command.to == VEHICLE, "sent to another: {command:?}");
            anyhow::ensure!(!FORBIDDEN.contains(&command.command), "forbidden: {command:?}");
            if command.command == MavCmd::MAV_CMD_COMPONENT_ARM_DISARM {
                anyhow::ensure!(
                    command.param1 == 1.0 && command.param2 == 0.0,
                    "no plain arming: {command:?}"
                );
                let on_ground = command.landed == Some(MavLandedState::MAV_LANDED_STATE_ON_GROUND);
                anyhow::ensure!(
                    on_ground && command.armed == Some(false),
                    "armed what was not at rest: {command:?}"
                );
            }
        }
        Ok(())
    }
}
