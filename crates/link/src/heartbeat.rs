//! Whether a HEARTBEAT (0) is an autopilot's. Everything on a wire may beat: radios (SiK is system 51, component 68),
//! companion computers, cameras, and ground stations, some without a type. A vehicle without an airframe has no type
//! either, but names its autopilot.

/// MAV_AUTOPILOT_GENERIC, also sent by programs that fill in nothing.
const AUTOPILOT_GENERIC: u8 = 0;
const AUTOPILOT_INVALID: u8 = 8;
const TYPE_GENERIC: u8 = 0;
/// MAV_TYPE_GCS: a ground station may name the autopilot that it is for.
const TYPE_GCS: u8 = 6;
const TYPE_COMPANION: u8 = 18;
/// MAV_TYPE_GIMBAL, ADSB.
const TYPES_OF_PAYLOADS: std::ops::RangeInclusive<u8> = 26..=27;
/// MAV_TYPE_CAMERA, CHARGING_STATION, FLARM, SERVO, ODID.
const TYPES_OF_COMPONENTS: std::ops::RangeInclusive<u8> = 30..=34;
/// MAV_TYPE_BATTERY, PARACHUTE, LOG, OSD, IMU, GPS, WINCH. Before them is DECAROTOR.
const TYPES_OF_PARTS: std::ops::RangeInclusive<u8> = 36..=42;
/// MAV_TYPE_ILLUMINATOR. Around it are vehicles: GENERIC_MULTIROTOR and SPACECRAFT_ORBITER.
const TYPE_ILLUMINATOR: u8 = 44;
/// MAV_TYPE_GRIPPER, RADIO. Before them is VTOL_GYRODYNE.
const TYPES_OF_TOOLS: std::ops::RangeInclusive<u8> = 48..=49;

#[must_use]
pub fn is_autopilot(autopilot: u8, mav_type: u8) -> bool {
    let of_no_vehicle = mav_type == TYPE_GCS
        || mav_type == TYPE_COMPANION
        || TYPES_OF_PAYLOADS.contains(&mav_type)
        || TYPES_OF_COMPONENTS.contains(&mav_type)
        || TYPES_OF_PARTS.contains(&mav_type)
        || mav_type == TYPE_ILLUMINATOR
        || TYPES_OF_TOOLS.contains(&mav_type);
    let fills_in_nothing = autopilot == AUTOPILOT_GENERIC && mav_type == TYPE_GENERIC;
    autopilot != AUTOPILOT_INVALID && !of_no_vehicle && !fills_in_nothing
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavlink::dialects::ardupilotmega::{MavAutopilot, MavType};

    #[test]
    fn radios_companions_payloads_and_stations_without_a_type_are_no_autopilots() {
        use MavAutopilot::{
            MAV_AUTOPILOT_ARDUPILOTMEGA as ARDUPILOT, MAV_AUTOPILOT_GENERIC as GENERIC,
            MAV_AUTOPILOT_INVALID as INVALID, MAV_AUTOPILOT_PX4 as PX4,
        };
        for (autopilot, mav_type, expected) in [
            (ARDUPILOT, MavType::MAV_TYPE_QUADROTOR, true),
            (PX4, MavType::MAV_TYPE_DECAROTOR, true),
            (GENERIC, MavType::MAV_TYPE_QUADROTOR, true),
            (ARDUPILOT, MavType::MAV_TYPE_FIXED_WING, true),
            // Its airframe is not set up yet.
            (PX4, MavType::MAV_TYPE_GENERIC, true),
            // A station without a type, or a radio.
            (GENERIC, MavType::MAV_TYPE_GENERIC, false),
            (INVALID, MavType::MAV_TYPE_GENERIC, false),
            (ARDUPILOT, MavType::MAV_TYPE_GCS, false),
            (ARDUPILOT, MavType::MAV_TYPE_ONBOARD_CONTROLLER, false),
            (GENERIC, MavType::MAV_TYPE_ONBOARD_CONTROLLER, false),
            (GENERIC, MavType::MAV_TYPE_CAMERA, false),
            (GENERIC, MavType::MAV_TYPE_GIMBAL, false),
            (GENERIC, MavType::MAV_TYPE_BATTERY, false),
            (GENERIC, MavType::MAV_TYPE_WINCH, false),
            (GENERIC, MavType::MAV_TYPE_ILLUMINATOR, false),
            (GENERIC, MavType::MAV_TYPE_GRIPPER, false),
            (GENERIC, MavType::MAV_TYPE_RADIO, false),
            (GENERIC, MavType::MAV_TYPE_GENERIC_MULTIROTOR, true),
            (GENERIC, MavType::MAV_TYPE_VTOL_GYRODYNE, true),
        ] {
            assert_eq!(
                is_autopilot(autopilot as u8, mav_type as u8),
                expected,
                "{autopilot:?} {mav_type:?}"
            );
        }
    }
}
