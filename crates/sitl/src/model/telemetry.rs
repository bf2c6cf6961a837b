//! Telemetry messages that both profiles build alike, from the state of the airframe.

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::types::CharArray;

use super::core::Core;
use super::geo::Wgs84;
use super::params::{Param, ParamKind};
use crate::wire::Address;

pub(super) mod id {
    pub const HEARTBEAT: u32 = 0;
    pub const SYS_STATUS: u32 = 1;
    pub const SYSTEM_TIME: u32 = 2;
    pub const PING: u32 = 4;
    pub const GPS_RAW_INT: u32 = 24;
    pub const ATTITUDE: u32 = 30;
    pub const ATTITUDE_QUATERNION: u32 = 31;
    pub const LOCAL_POSITION_NED: u32 = 32;
    pub const GLOBAL_POSITION_INT: u32 = 33;
    pub const MISSION_CURRENT: u32 = 42;
    pub const GPS_GLOBAL_ORIGIN: u32 = 49;
    pub const VFR_HUD: u32 = 74;
    pub const TIMESYNC: u32 = 111;
    pub const ALTITUDE: u32 = 141;
    pub const BATTERY_STATUS: u32 = 147;
    pub const AUTOPILOT_VERSION: u32 = 148;
    pub const FENCE_STATUS: u32 = 162;
    pub const EKF_STATUS_REPORT: u32 = 193;
    pub const ESTIMATOR_STATUS: u32 = 230;
    pub const HOME_POSITION: u32 = 242;
    pub const EXTENDED_SYS_STATE: u32 = 245;
    pub const PROTOCOL_VERSION: u32 = 300;
    pub const COMPONENT_INFORMATION: u32 = 395;
    pub const COMPONENT_METADATA: u32 = 397;
    pub const CURRENT_EVENT_SEQUENCE: u32 = 411;
    pub const CURRENT_MODE: u32 = 436;
}

/// `home_amsl_m` is the reference of relative altitude.
pub(super) fn compose(core: &Core, message: u32, home_amsl_m: f64) -> Option<MavMessage> {
    let place = core.place();
    let (lat, lon) = place.e7();
    let at = core.airframe.position;
    let v = core.airframe.velocity;
    let relative_m = place.amsl_m - home_amsl_m;
    // From -pi to pi, as in MAVLink.
    let yaw = ((core.airframe.heading_deg + 180.0).rem_euclid(360.0) - 180.0).to_radians();
    Some(match message {
        id::SYSTEM_TIME => MavMessage::SYSTEM_TIME(apm::SYSTEM_TIME_DATA {
            time_unix_usec: 0,
            time_boot_ms: core.boot_ms(),
        }),
        id::ATTITUDE => MavMessage::ATTITUDE(apm::ATTITUDE_DATA {
            time_boot_ms: core.boot_ms(),
            yaw: yaw as f32,
            ..apm::ATTITUDE_DATA::DEFAULT
        }),
        id::ATTITUDE_QUATERNION => MavMessage::ATTITUDE_QUATERNION(apm::ATTITUDE_QUATERNION_DATA {
            time_boot_ms: core.boot_ms(),
            q1: (yaw / 2.0).cos() as f32,
            q4: (yaw / 2.0).sin() as f32,
            ..apm::ATTITUDE_QUATERNION_DATA::DEFAULT
        }),
        id::LOCAL_POSITION_NED => MavMessage::LOCAL_POSITION_NED(apm::LOCAL_POSITION_NED_DATA {
            time_boot_ms: core.boot_ms(),
            x: at.north as f32,
            y: at.east as f32,
            z: -at.up as f32,
            vx: v.north as f32,
            vy: v.east as f32,
            vz: -v.up as f32,
        }),
        id::GLOBAL_POSITION_INT => MavMessage::GLOBAL_POSITION_INT(apm::GLOBAL_POSITION_INT_DATA {
            time_boot_ms: core.boot_ms(),
            lat,
            lon,
            alt: place.amsl_mm(),
            relative_alt: (relative_m * 1000.0).round() as i32,
            vx: centimeters(v.north),
            vy: centimeters(v.east),
            vz: centimeters(-v.up),
            hdg: (core.airframe.heading_deg * 100.0) as u16 % 36_000,
        }),
        id::VFR_HUD => MavMessage::VFR_HUD(apm::VFR_HUD_DATA {
            airspeed: 0.0,
            groundspeed: v.north.hypot(v.east) as f32,
            alt: place.amsl_m as f32,
            climb: v.up as f32,
            heading: core.airframe.heading_deg as i16 % 360,
            throttle: if at.up > 0.0 { 50 } else { 0 },
        }),
        id::ALTITUDE => MavMessage::ALTITUDE(apm::ALTITUDE_DATA {
            time_usec: core.boot_us(),
            altitude_monotonic: place.amsl_m as f32,
            altitude_amsl: place.amsl_m as f32,
            altitude_local: at.up as f32,
            altitude_relative: relative_m as f32,
            altitude_terrain: f32::NAN,
            bottom_clearance: at.up as f32,
        }),
        id::PROTOCOL_VERSION => super::outdated::protocol_version(),
        _ => return None,
    })
}

fn millimeters(meters: f64) -> u32 {
    (meters * 1000.0).round() as u32
}

fn centimeters(meters: f64) -> i16 {
    (meters * 100.0).round() as i16
}

/// `time_us` since boot; relative to the origin at the place of boot.
pub(super) fn home_position(core: &Core, home: Wgs84, time_us: u64) -> MavMessage {
    let (latitude, longitude) = home.e7();
    let local = core.config.home.to_local(home);
    MavMessage::HOME_POSITION(apm::HOME_POSITION_DATA {
        latitude,
        longitude,
        altitude: home.amsl_mm(),
        x: local.north as f32,
        y: local.east as f32,
        z: -local.up as f32,
        q: [f32::NAN; 4],
        time_usec: time_us,
        ..apm::HOME_POSITION_DATA::DEFAULT
    })
}

pub(super) fn global_origin(origin: Wgs84, time_us: u64) -> MavMessage {
    let (latitude, longitude) = origin.e7();
    MavMessage::GPS_GLOBAL_ORIGIN(apm::GPS_GLOBAL_ORIGIN_DATA {
        latitude,
        longitude,
        altitude: origin.amsl_mm(),
        time_usec: time_us,
    })
}

pub(super) fn gps_fix(core: &Core, fix_type: apm::GpsFixType, eph: u16) -> MavMessage {
    let place = core.place();
    let (lat, lon) = place.e7();
    let v = core.airframe.velocity;
    MavMessage::GPS_RAW_INT(apm::GPS_RAW_INT_DATA {
        time_usec: core.boot_us(),
        lat,
        lon,
        alt: place.amsl_mm(),
        eph,
        epv: 110,
        vel: (v.north.hypot(v.east) * 100.0).round() as u16,
        cog: 0,
        fix_type,
        satellites_visible: 10,
        alt_ellipsoid: place.amsl_mm(),
        h_acc: millimeters(core.config.gps.horizontal_accuracy_m),
        v_acc: millimeters(core.config.gps.vertical_accuracy_m),
        vel_acc: 400,
        ..apm::GPS_RAW_INT_DATA::DEFAULT
    })
}

pub(super) fn no_gps_fix(core: &Core) -> MavMessage {
    MavMessage::GPS_RAW_INT(apm::GPS_RAW_INT_DATA {
        time_usec: core.boot_us(),
        eph: u16::MAX,
        epv: u16::MAX,
        vel: u16::MAX,
        cog: u16::MAX,
        fix_type: apm::GpsFixType::GPS_FIX_TYPE_NO_FIX,
        ..apm::GPS_RAW_INT_DATA::DEFAULT
    })
}

pub(super) fn message_interval(message: u32, interval_us: i32) -> MavMessage {
    MavMessage::MESSAGE_INTERVAL(apm::MESSAGE_INTERVAL_DATA {
        interval_us,
        message_id: message as u16,
    })
}

pub(super) fn status_text(severity: apm::MavSeverity, text: &[u8], id: u16, chunk: u8) -> MavMessage {
    let mut bytes = [0u8; 50];
    let len = text.len().min(50);
    bytes[..len].copy_from_slice(&text[..len]);
    MavMessage::STATUSTEXT(apm::STATUSTEXT_DATA {
        severity,
        text: CharArray::new(bytes),
        id,
        chunk_seq: chunk,
    })
}

/// Value field of PARAM_VALUE.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ParamEncoding {
    /// ArduPilot: every type as a float.
    AsFloat,
    /// PX4: integers keep their bits.
    ByteWise,
}

impl ParamEncoding {
    fn encode(self, param: &Param) -> f32 {
        match (self, param.kind) {
            (Self::ByteWise, ParamKind::Int8 | ParamKind::Int16 | ParamKind::Int32) => {
                f32::from_bits(param.value as i32 as u32)
            }
            _ => param.value,
        }
    }

    /// `kind` is MAV_PARAM_TYPE.
    pub(super) fn decode(self, field: f32, kind: u8) -> f32 {
        match (self, kind) {
            (Self::ByteWise, 1..=6) => field.to_bits() as i32 as f32,
            _ => field,
        }
    }
}

/// `index` is -1 for a request by name.
pub(super) fn param_missing(to: Address, index: i16, name: &str) -> MavMessage {
    MavMessage::PARAM_ERROR(apm::PARAM_ERROR_DATA {
        param_index: index,
        target_system: to.system,
        target_component: to.component,
        param_id: name.into(),
        error: apm::MavParamError::MAV_PARAM_ERROR_DOES_NOT_EXIST,
    })
}

/// `index` is 65535 in an answer to a write.
pub(super) fn param_value(param: &Param, encoding: ParamEncoding, index: u16, count: usize) -> MavMessage {
    MavMessage::PARAM_VALUE(apm::PARAM_VALUE_DATA {
        param_value: encoding.encode(param),
        param_count: count as u16,
        param_index: index,
        param_id: param.name.into(),
        param_type: match param.kind {
            ParamKind::Int8 => apm::MavParamType::MAV_PARAM_TYPE_INT8,
            ParamKind::Int16 => apm::MavParamType::MAV_PARAM_TYPE_INT16,
            ParamKind::Int32 => apm::MavParamType::MAV_PARAM_TYPE_INT32,
            ParamKind::Real32 => apm::MavParamType::MAV_PARAM_TYPE_REAL32,
        },
    })
}
