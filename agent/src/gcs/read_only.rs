//! What a guest may still send to the autopilot in read-only mode: what only asks.
//!
//! What is not on the list does not pass, also what this file does not know. Passed are:
//!
//! | message | why it changes nothing |
//! |---|---|
//! | PING (4) | the autopilot answers it |
//! | PARAM_REQUEST_READ, _LIST (20, 21), PARAM_EXT_REQUEST_READ, _LIST (320, 321) | reads parameters |
//! | MISSION_REQUEST (40), _LIST (43), _INT (51), _PARTIAL_LIST (37) | reads missions, fences and rally points |
//! | MISSION_ACK (47) that says ACCEPTED | ends a reading; another verdict could cancel somebody's upload |
//! | COMMAND_LONG or _INT with GET_HOME_POSITION (410), GET_MESSAGE_INTERVAL (510), REQUEST_MESSAGE (512), REQUEST_PROTOCOL_VERSION (519), REQUEST_AUTOPILOT_CAPABILITIES (520) | each is answered with one message |
//! | FILE_TRANSFER_PROTOCOL (110) that lists, opens to read, reads, checks or closes | reads files, among them parameters and metadata |
//!
//! PX4 1.18 has removed 410, 519 and 520, for REQUEST_MESSAGE. They pass there as well: a ground station that is answered UNSUPPORTED by the
//! autopilot asks by REQUEST_MESSAGE; DENIED of ours would end its asking.
//!
//! Not passed, though they seem harmless: SET_MESSAGE_INTERVAL and REQUEST_DATA_STREAM (the agent flies by the streams
//! that they would change), SYSTEM_TIME (sets the clock of an autopilot without GPS), TIMESYNC (moves PX4's estimate of
//! its companion's clock), RUN_PREARM_CHECKS, the log download (takes the line for minutes), and HEARTBEAT, unless that is
//! desired: an onlooker whose leaving could bring the vehicle home is none.

use super::fields;
use link::raw::RawFrame;

const ASKING: [u32; 9] = [4, 20, 21, 37, 40, 43, 51, 320, 321];
const ASKING_COMMANDS: [u16; 5] = [410, 510, 512, 519, 520];
/// TerminateSession, ListDirectory, OpenFileRO, ReadFile, CalcFileCRC32, BurstReadFile.
const READING_OPERATIONS: [u8; 6] = [1, 3, 4, 5, 14, 15];
const ACCEPTED: u8 = 0;

pub fn only_asks(frame: &RawFrame) -> bool {
    ASKING.contains(&frame.message_id)
        || fields::command(frame).is_some_and(|command| ASKING_COMMANDS.contains(&command))
        || fields::mission_result(frame) == Some(ACCEPTED)
        || fields::file_operation(frame).is_some_and(|operation| READING_OPERATIONS.contains(&operation))
}

#[cfg(test)]
#[allow(deprecated, reason = "ground stations still send what is old")]
mod tests {
    use super::*;
    use crate::gcs::tests::{frame, ping};
    use link::dialect::{
        COMMAND_INT_DATA, COMMAND_LONG_DATA, FILE_TRANSFER_PROTOCOL_DATA, HEARTBEAT_DATA, LOG_ERASE_DATA,
        MANUAL_CONTROL_DATA, MISSION_ACK_DATA, MISSION_CLEAR_ALL_DATA, MISSION_COUNT_DATA, MISSION_REQUEST_INT_DATA,
        MISSION_REQUEST_LIST_DATA, MavCmd, MavMessage, MavMissionResult, PARAM_REQUEST_LIST_DATA,
        PARAM_REQUEST_READ_DATA, PARAM_SET_DATA, RC_CHANNELS_OVERRIDE_DATA, REQUEST_DATA_STREAM_DATA,
        SERIAL_CONTROL_DATA, SET_MODE_DATA, SET_POSITION_TARGET_LOCAL_NED_DATA, SYSTEM_TIME_DATA, TIMESYNC_DATA,
    };
    use model::units::Address;

    fn passes(message: &MavMessage) -> bool {
        only_asks(&frame(Address::new(255, 190), message))
    }

    fn long(command: MavCmd) -> MavMessage {
        MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
            command,
            target_system: 7,
            target_component: 1,
            ..COMMAND_LONG_DATA::default()
        })
    }

    fn files(operation: u8) -> MavMessage {
        let mut data = FILE_TRANSFER_PROTOCOL_DATA {
            target_system: 7,
            target_component: 1,
            ..FILE_TRANSFER_PROTOCOL_DATA::default()
        };
        data.payload[3] = operation;
        MavMessage::FILE_TRANSFER_PROTOCOL(data)
    }

    fn verdict(mavtype: MavMissionResult) -> MavMessage {
        MavMessage::MISSION_ACK(MISSION_ACK_DATA {
            mavtype,
            target_system: 7,
            ..MISSION_ACK_DATA::default()
        })
    }

    #[test]
    fn what_only_asks_passes() {
        for message in [
            ping(),
            MavMessage::PARAM_REQUEST_READ(PARAM_REQUEST_READ_DATA::default()),
            MavMessage::PARAM_REQUEST_LIST(PARAM_REQUEST_LIST_DATA::default()),
            MavMessage::MISSION_REQUEST_LIST(MISSION_REQUEST_LIST_DATA::default()),
            MavMessage::MISSION_REQUEST_INT(MISSION_REQUEST_INT_DATA::default()),
            verdict(MavMissionResult::MAV_MISSION_ACCEPTED),
            long(MavCmd::MAV_CMD_REQUEST_MESSAGE),
            long(MavCmd::MAV_CMD_GET_MESSAGE_INTERVAL),
            long(MavCmd::MAV_CMD_GET_HOME_POSITION),
            long(MavCmd::MAV_CMD_REQUEST_PROTOCOL_VERSION),
            long(MavCmd::MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES),
            files(3),
            files(4),
            files(5),
            files(15),
        ] {
            assert!(passes(&message), "{message:?}");
        }
    }

    #[test]
    fn what_could_change_flight_parameters_missions_or_streams_does_not() {
        for message in [
            MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()),
            MavMessage::PARAM_SET(PARAM_SET_DATA::default()),
            MavMessage::MISSION_COUNT(MISSION_COUNT_DATA::default()),
            MavMessage::MISSION_CLEAR_ALL(MISSION_CLEAR_ALL_DATA::default()),
            verdict(MavMissionResult::MAV_MISSION_OPERATION_CANCELLED),
            MavMessage::MANUAL_CONTROL(MANUAL_CONTROL_DATA::default()),
            MavMessage::RC_CHANNELS_OVERRIDE(RC_CHANNELS_OVERRIDE_DATA::default()),
            MavMessage::SET_MODE(SET_MODE_DATA::default()),
            MavMessage::SET_POSITION_TARGET_LOCAL_NED(SET_POSITION_TARGET_LOCAL_NED_DATA::default()),
            MavMessage::SERIAL_CONTROL(SERIAL_CONTROL_DATA::default()),
            MavMessage::LOG_ERASE(LOG_ERASE_DATA::default()),
            MavMessage::SYSTEM_TIME(SYSTEM_TIME_DATA::default()),
            MavMessage::TIMESYNC(TIMESYNC_DATA::default()),
            MavMessage::REQUEST_DATA_STREAM(REQUEST_DATA_STREAM_DATA::default()),
            long(MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL),
            long(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM),
            long(MavCmd::MAV_CMD_DO_SET_MODE),
            long(MavCmd::MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN),
            MavMessage::COMMAND_INT(COMMAND_INT_DATA {
                command: MavCmd::MAV_CMD_DO_REPOSITION,
                ..COMMAND_INT_DATA::default()
            }),
            files(2),
            files(6),
            files(8),
        ] {
            assert!(!passes(&message), "{message:?}");
        }
    }
}
