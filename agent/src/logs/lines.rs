//! What a flight log says, in lines for people: arming, modes, taking off and landing, the autopilot's words, commands and what came
//! of them.

use super::records::Record;
use super::summary::is_in_air;
use crate::normalize::modes;
use crate::normalize::text::TextJoiner;
use link::decode::decode;
use link::dialect::{
    COMMAND_ACK_DATA, HEARTBEAT_DATA, MavAutopilot, MavCmd, MavMessage, MavModeFlag, MavResult, STATUSTEXT_DATA,
};
use link::raw::RawFrame;
use model::time::Moment;
use model::vehicle::Autopilot;
use std::fmt::Debug;

/// HEARTBEAT, STATUSTEXT, EXTENDED_SYS_STATE, COMMAND_LONG, COMMAND_INT, COMMAND_ACK.
const SHOWN: [u32; 6] = [0, 253, 245, 76, 75, 77];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    pub text: String,
}

#[derive(Debug, Default)]
pub struct Teller {
    armed: Option<bool>,
    in_air: Option<bool>,
    mode: Option<u32>,
    texts: TextJoiner,
    lines: Vec<Line>,
    at_ms: u64,
}

impl Teller {
    /// `context` is that of the lines before; 0: from the beginning.
    pub fn going_on(context: u64) -> Self {
        let bit = |known: u32, value: u32| (context >> known & 1 == 1).then_some(context >> value & 1 == 1);
        Self {
            armed: bit(32, 33),
            in_air: bit(34, 35),
            mode: (context >> 36 & 1 == 1).then_some(u32::try_from(context & 0xFFFF_FFFF).unwrap_or(0)),
            ..Self::default()
        }
    }

    /// State after the last line, for [`Self::going_on`].
    pub fn context(&self) -> u64 {
        let bit =
            |value: Option<bool>, known: u32| value.map_or(0, |value| 1 << known | u64::from(value) << (known + 1));
        bit(self.armed, 32) | bit(self.in_air, 34) | self.mode.map_or(0, |mode| 1 << 36 | u64::from(mode))
    }

    pub fn take(&mut self, record: &Record) {
        let frame = &record.frame;
        self.at_ms = record.at_us / 1000;
        if !SHOWN.contains(&frame.message_id) {
            return;
        }
        let Ok((_, message)) = decode(frame) else { return };
        match message {
            MavMessage::HEARTBEAT(beat) => self.beat(&beat),
            MavMessage::STATUSTEXT(text) => self.text(frame, &text),
            MavMessage::EXTENDED_SYS_STATE(state) => {
                let in_air = is_in_air(state.landed_state);
                if self.in_air.replace(in_air) != Some(in_air) {
                    self.say(if in_air { "in the air" } else { "on the ground" }.to_owned());
                }
            }
            MavMessage::COMMAND_LONG(command) => self.command(frame, command.command),
            MavMessage::COMMAND_INT(command) => self.command(frame, command.command),
            MavMessage::COMMAND_ACK(ack) => self.ack(&ack),
            _ => {}
        }
    }

    pub fn lines(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.lines)
    }

    fn say(&mut self, text: String) {
        let at_ms = self.at_ms;
        self.lines.push(Line { at_ms, text });
    }

    fn beat(&mut self, beat: &HEARTBEAT_DATA) {
        let autopilot = match beat.autopilot {
            MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA => Autopilot::ArduPilot,
            MavAutopilot::MAV_AUTOPILOT_PX4 => Autopilot::Px4,
            _ => return,
        };
        let armed = beat.base_mode.contains(MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED);
        if self.armed.replace(armed) != Some(armed) {
            self.say(if armed { "armed" } else { "disarmed" }.to_owned());
        }
        if self.mode.replace(beat.custom_mode) != Some(beat.custom_mode) {
            self.say(format!("mode {}", modes::mode(autopilot, beat.custom_mode).label));
        }
    }

    fn text(&mut self, frame: &RawFrame, text: &STATUSTEXT_DATA) {
        let severity = word(&text.severity, "MAV_SEVERITY_").to_lowercase();
        let from = if frame.component.0 == 1 {
            String::new()
        } else {
            format!(" of component {}", frame.component.0)
        };
        for words in self.texts.receive(text, Moment::default()) {
            self.say(format!("{severity}{from}: {words}"));
        }
    }

    fn command(&mut self, frame: &RawFrame, command: MavCmd) {
        if is_told(command) {
            let sender = frame.sender();
            let name = word(&command, "MAV_CMD_");
            self.say(format!(
                "command {name} from {}/{}",
                sender.system.0, sender.component.0
            ));
        }
    }

    fn ack(&mut self, ack: &COMMAND_ACK_DATA) {
        if is_told(ack.command) && ack.result != MavResult::MAV_RESULT_IN_PROGRESS {
            let (name, result) = (word(&ack.command, "MAV_CMD_"), word(&ack.result, "MAV_RESULT_"));
            self.say(format!("command {name}: {}", result.to_lowercase()));
        }
    }
}

/// Requests for messages are no part of the story.
#[allow(
    deprecated,
    reason = "MAV_CMD_GET_MESSAGE_INTERVAL is old, and every autopilot still answers it"
)]
const fn is_told(command: MavCmd) -> bool {
    !matches!(
        command,
        MavCmd::MAV_CMD_REQUEST_MESSAGE | MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL | MavCmd::MAV_CMD_GET_MESSAGE_INTERVAL
    )
}

fn word(value: &impl Debug, prefix: &str) -> String {
    let name = format!("{value:?}");
    name.strip_prefix(prefix).map_or(name.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::records::{Records, tests::log_of};
    use link::dialect::{COMMAND_LONG_DATA, EXTENDED_SYS_STATE_DATA, MavLandedState, MavSeverity, MavType};

    fn beat(armed: bool, custom_mode: u32) -> MavMessage {
        MavMessage::HEARTBEAT(HEARTBEAT_DATA {
            mavtype: MavType::MAV_TYPE_QUADROTOR,
            autopilot: MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
            base_mode: if armed {
                MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED
            } else {
                MavModeFlag::empty()
            },
            custom_mode,
            mavlink_version: 3,
            ..HEARTBEAT_DATA::default()
        })
    }

    fn flight() -> Vec<(u64, MavMessage)> {
        let landed = |landed_state| {
            MavMessage::EXTENDED_SYS_STATE(EXTENDED_SYS_STATE_DATA {
                landed_state,
                ..Default::default()
            })
        };
        vec![
            (1, beat(false, 4)),
            (
                2,
                MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
                    command: MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
                    ..Default::default()
                }),
            ),
            (
                3,
                MavMessage::COMMAND_ACK(COMMAND_ACK_DATA {
                    command: MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
                    result: MavResult::MAV_RESULT_DENIED,
                    ..Default::default()
                }),
            ),
            (
                4,
                MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
                    command: MavCmd::MAV_CMD_REQUEST_MESSAGE,
                    ..Default::default()
                }),
            ),
            (
                5,
                MavMessage::STATUSTEXT(STATUSTEXT_DATA {
                    severity: MavSeverity::MAV_SEVERITY_CRITICAL,
                    text: "Arm: Compass not healthy".into(),
                    ..Default::default()
                }),
            ),
            (6, beat(true, 4)),
            (7, landed(MavLandedState::MAV_LANDED_STATE_TAKEOFF)),
            (8, landed(MavLandedState::MAV_LANDED_STATE_IN_AIR)),
            (9, beat(true, 9)),
            (10, landed(MavLandedState::MAV_LANDED_STATE_ON_GROUND)),
            (11, beat(false, 9)),
        ]
    }

    const STORY: [&str; 10] = [
        "1 disarmed",
        "1 mode GUIDED",
        "2 command COMPONENT_ARM_DISARM from 1/1",
        "3 command COMPONENT_ARM_DISARM: denied",
        "5 critical: Arm: Compass not healthy",
        "6 armed",
        "7 in the air",
        "9 mode LAND",
        "10 on the ground",
        "11 disarmed",
    ];

    #[test]
    fn a_flight_is_told_in_lines() {
        let mut teller = Teller::default();
        Records::of(&log_of(&flight())).for_each(|record| teller.take(&record));
        let shown: Vec<_> = teller
            .lines()
            .iter()
            .map(|line| format!("{} {}", line.at_ms, line.text))
            .collect();
        assert_eq!(shown, STORY);
    }

    #[test]
    fn a_flight_that_is_told_in_pieces_is_told_the_same_and_nothing_twice() {
        let mut shown = Vec::new();
        let mut context = 0;
        for message in flight() {
            let mut teller = Teller::going_on(context);
            Records::of(&log_of(&[message])).for_each(|record| teller.take(&record));
            shown.extend(
                teller
                    .lines()
                    .iter()
                    .map(|line| format!("{} {}", line.at_ms, line.text)),
            );
            context = teller.context();
        }
        assert_eq!(shown, STORY);
    }
}
