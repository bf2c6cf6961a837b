//! Single messages from an input: every kind that the agent reads, with any content, and noise.

use crate::bytes::Bytes;
use link::dialect::{
    COMMAND_ACK_DATA, EXTENDED_SYS_STATE_DATA, HEARTBEAT_DATA, MavAutopilot, MavCmd, MavLandedState, MavMessage,
    MavModeFlag, MavParamType, MavResult, MavState, MavSysStatusSensor, MavType, PARAM_VALUE_DATA, SYS_STATUS_DATA,
};
use mavlink::{MavlinkVersion, Message};

/// HEARTBEAT, SYS_STATUS, SYSTEM_TIME, PARAM_VALUE, ATTITUDE, LOCAL_POSITION_NED, GLOBAL_POSITION_INT, COMMAND_ACK,
/// BATTERY_STATUS, AUTOPILOT_VERSION, HOME_POSITION, EXTENDED_SYS_STATE, STATUSTEXT, EVENT, CURRENT_EVENT_SEQUENCE,
/// RESPONSE_EVENT_ERROR, COMPONENT_METADATA, COMPONENT_INFORMATION, FILE_TRANSFER_PROTOCOL, and some that it does not
/// read.
const READ: [u32; 22] = [
    0, 1, 2, 22, 30, 31, 32, 33, 77, 147, 148, 242, 245, 253, 410, 411, 413, 397, 395, 110, 109, 36,
];

/// A message in a few words, for a story.
pub fn brief(sender: (u8, u8), message: &MavMessage) -> String {
    let what = match message {
        MavMessage::HEARTBEAT(m) => format!("{:?} mode {:#x} {:?}", m.autopilot, m.custom_mode, m.base_mode),
        MavMessage::EXTENDED_SYS_STATE(m) => format!("{:?}", m.landed_state),
        MavMessage::COMMAND_ACK(m) => format!("{:?} {:?} for {}", m.command, m.result, m.target_component),
        _ => String::new(),
    };
    format!("{sender:?} {} {what}", message.message_name())
}

/// A message whose payload is the input's.
pub fn any(bytes: &mut Bytes<'_>) -> Option<MavMessage> {
    let id = bytes.pick(&READ);
    let len = usize::from(bytes.below(64));
    MavMessage::parse(MavlinkVersion::V2, id, bytes.take(len)).ok()
}

pub fn heartbeat(bytes: &mut Bytes<'_>) -> MavMessage {
    const MODES: [u32; 10] = [
        0,
        4,
        5,
        6,
        9,
        0x0003_0000,
        0x0204_0000,
        0x0304_0000,
        0x0504_0000,
        0x0604_0000,
    ];
    let flags = bytes.byte();
    let mut base_mode = MavModeFlag::MAV_MODE_FLAG_CUSTOM_MODE_ENABLED;
    base_mode.set(MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED, flags & 1 != 0);
    MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        custom_mode: bytes.pick(&MODES),
        mavtype: [
            MavType::MAV_TYPE_QUADROTOR,
            MavType::MAV_TYPE_QUADROTOR,
            MavType::MAV_TYPE_HEXAROTOR,
            MavType::MAV_TYPE_GCS,
            MavType::MAV_TYPE_FIXED_WING,
        ][usize::from(flags >> 1) % 5],
        autopilot: [
            MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
            MavAutopilot::MAV_AUTOPILOT_PX4,
            MavAutopilot::MAV_AUTOPILOT_INVALID,
            MavAutopilot::MAV_AUTOPILOT_GENERIC,
        ][usize::from(flags >> 4) % 4],
        base_mode,
        system_status: MavState::MAV_STATE_STANDBY,
        mavlink_version: if flags >= 0xF0 { 2 } else { 3 },
    })
}

/// The arming checks and the battery, or the position.
pub fn status(bytes: &mut Bytes<'_>) -> MavMessage {
    let what = bytes.byte();
    if what & 1 == 0 {
        return MavMessage::EXTENDED_SYS_STATE(EXTENDED_SYS_STATE_DATA {
            landed_state: [
                MavLandedState::MAV_LANDED_STATE_UNDEFINED,
                MavLandedState::MAV_LANDED_STATE_ON_GROUND,
                MavLandedState::MAV_LANDED_STATE_IN_AIR,
                MavLandedState::MAV_LANDED_STATE_TAKEOFF,
                MavLandedState::MAV_LANDED_STATE_LANDING,
            ][usize::from(what >> 1) % 5],
            ..EXTENDED_SYS_STATE_DATA::default()
        });
    }
    let mut health = MavSysStatusSensor::empty();
    health.set(MavSysStatusSensor::MAV_SYS_STATUS_PREARM_CHECK, what & 2 != 0);
    MavMessage::SYS_STATUS(SYS_STATUS_DATA {
        onboard_control_sensors_health: health,
        voltage_battery: 12_600,
        battery_remaining: bytes.byte().cast_signed(),
        ..SYS_STATUS_DATA::default()
    })
}

/// The value of a parameter that preflight reads.
pub fn parameter(bytes: &mut Bytes<'_>) -> MavMessage {
    let param_id = bytes.pick(&["NAV_DLL_ACT", "COM_LOW_BAT_ACT", "FS_GCS_ENABLE", "BATT_FS_LOW_ACT", ""]);
    let number = bytes.pick(&[0_u8, 1, 2]);
    let integer = bytes.below(2) == 0;
    MavMessage::PARAM_VALUE(PARAM_VALUE_DATA {
        param_value: if integer {
            f32::from_bits(u32::from(number))
        } else {
            f32::from(number)
        },
        param_id: param_id.into(),
        param_type: if integer {
            MavParamType::MAV_PARAM_TYPE_INT32
        } else {
            MavParamType::MAV_PARAM_TYPE_INT8
        },
        ..PARAM_VALUE_DATA::default()
    })
}

/// An answer, perhaps to another command, to another system, or late.
pub fn answer(bytes: &mut Bytes<'_>, command: MavCmd, system: u8) -> MavMessage {
    const RESULTS: [MavResult; 11] = [
        MavResult::MAV_RESULT_ACCEPTED,
        MavResult::MAV_RESULT_TEMPORARILY_REJECTED,
        MavResult::MAV_RESULT_DENIED,
        MavResult::MAV_RESULT_UNSUPPORTED,
        MavResult::MAV_RESULT_FAILED,
        MavResult::MAV_RESULT_IN_PROGRESS,
        MavResult::MAV_RESULT_CANCELLED,
        MavResult::MAV_RESULT_COMMAND_LONG_ONLY,
        MavResult::MAV_RESULT_COMMAND_INT_ONLY,
        MavResult::MAV_RESULT_COMMAND_UNSUPPORTED_MAV_FRAME,
        MavResult::MAV_RESULT_NOT_IN_CONTROL,
    ];
    const COMMANDS: [MavCmd; 8] = [
        MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
        MavCmd::MAV_CMD_NAV_TAKEOFF,
        MavCmd::MAV_CMD_NAV_LAND,
        MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH,
        MavCmd::MAV_CMD_DO_SET_MODE,
        MavCmd::MAV_CMD_RUN_PREARM_CHECKS,
        MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL,
        MavCmd::MAV_CMD_DO_FLIGHTTERMINATION,
    ];
    let how = bytes.byte();
    let (target_system, target_component) = [(system, 191), (0, 0), (system, 191), (255, 190)][usize::from(how >> 6)];
    MavMessage::COMMAND_ACK(COMMAND_ACK_DATA {
        command: if how & 0x20 == 0 {
            command
        } else {
            bytes.pick(&COMMANDS)
        },
        result: RESULTS[usize::from(how & 0x1F) % RESULTS.len()],
        target_system,
        target_component,
        ..COMMAND_ACK_DATA::default()
    })
}
