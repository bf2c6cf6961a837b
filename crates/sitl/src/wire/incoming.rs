//! A peer's message, decoded leniently: enum values outside the dialect must reach the vehicle, which refuses them.

use super::Address;
use super::fields::Fields;
use super::frame_reader::Frame;
use super::plan::{self, PlanMessage};
use super::remote_id::{self, RemoteIdMessage};

#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    pub from: Address,
    pub request: Request,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// MAV_TYPE, 6 for a ground station.
    Heartbeat {
        kind: u8,
    },
    Command(Command),
    SetMode {
        system: u8,
        /// MAV_MODE_FLAG.
        base_mode: u8,
        custom_mode: u32,
    },
    ParamRead {
        to: Address,
        /// -1: by name.
        index: i16,
        name: String,
    },
    ParamList {
        to: Address,
    },
    ParamSet {
        to: Address,
        name: String,
        /// Raw bits; their meaning depends on the type and autopilot.
        value: f32,
        kind: u8,
    },
    Plan(PlanMessage),
    RemoteId(RemoteIdMessage),
    /// SET_POSITION_TARGET_GLOBAL_INT (86).
    Goto(GotoTarget),
    /// SET_POSITION_TARGET_LOCAL_NED (84).
    Steer(LocalTarget),
    /// MANUAL_CONTROL (69), in its order: x, y, z, r.
    Sticks {
        system: u8,
        axes: [i16; 4],
    },
    /// REQUEST_DATA_STREAM (66), the old request for telemetry.
    DataStream {
        to: Address,
        /// MAV_DATA_STREAM; 0 means all.
        stream: u8,
        rate_hz: u16,
        start: bool,
    },
    Events {
        first: u16,
        last: u16,
    },
    Ftp {
        to: Address,
        /// Trailing zeros may be cut off.
        packet: Vec<u8>,
    },
    /// A TIMESYNC (111) with `tc1` = 0.
    TimesyncAsk {
        ts1: i64,
    },
    PingAsk {
        time_usec: u64,
        seq: u32,
    },
    Other(u32),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    pub to: Address,
    /// May be in no dialect.
    pub id: u16,
    pub params: [f32; 4],
    pub form: CommandForm,
}

/// Parameters 5 to 7.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CommandForm {
    /// COMMAND_LONG: three floats, no frame.
    Long { xyz: [f32; 3], confirmation: u8 },
    /// COMMAND_INT: degrees × 10⁷ (INT32_MAX: not used) and a frame.
    Int { frame: u8, x: i32, y: i32, z: f32 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GotoTarget {
    pub to: Address,
    pub frame: u8,
    /// POSITION_TARGET_TYPEMASK; bits 0..2 set mean "ignore position".
    pub type_mask: u16,
    pub lat_e7: i32,
    pub lon_e7: i32,
    /// Meters in `frame`.
    pub alt_m: f32,
    /// North, east and down; bits 3..5 of the mask set mean "ignore velocity".
    pub velocity_m_s: [f32; 3],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalTarget {
    pub to: Address,
    pub frame: u8,
    pub type_mask: u16,
    pub place_m: [f32; 3],
    /// Meters a second in `frame`, down positive.
    pub velocity_m_s: [f32; 3],
}

impl Command {
    /// Parameter 7, the altitude of position commands.
    pub fn z(&self) -> f32 {
        match self.form {
            CommandForm::Long { xyz, .. } => xyz[2],
            CommandForm::Int { z, .. } => z,
        }
    }
}

impl Incoming {
    pub fn decode(frame: &Frame) -> Self {
        let from = Address {
            system: frame.system,
            component: frame.component,
        };
        Self {
            from,
            request: request(frame.id, Fields(&frame.payload)),
        }
    }
}

fn request(id: u32, p: Fields<'_>) -> Request {
    let to = |offset: usize| Address {
        system: p.u8(offset),
        component: p.u8(offset + 1),
    };
    match id {
        0 => Request::Heartbeat { kind: p.u8(4) },
        4 if p.u8(12) == 0 => Request::PingAsk {
            time_usec: p.u64(0),
            seq: p.u32(8),
        },
        11 => Request::SetMode {
            system: p.u8(4),
            base_mode: p.u8(5),
            custom_mode: p.u32(0),
        },
        20 => Request::ParamRead {
            to: to(2),
            index: p.i16(0),
            name: p.text(4, 16),
        },
        21 => Request::ParamList { to: to(0) },
        23 => Request::ParamSet {
            to: to(4),
            name: p.text(6, 16),
            value: p.f32(0),
            kind: p.u8(22),
        },
        66 => Request::DataStream {
            to: to(2),
            stream: p.u8(4),
            rate_hz: p.u16(0),
            start: p.u8(5) != 0,
        },
        69 => Request::Sticks {
            system: p.u8(10),
            axes: [p.i16(0), p.i16(2), p.i16(4), p.i16(6)],
        },
        75 => Request::Command(Command {
            to: to(30),
            id: p.u16(28),
            params: [p.f32(0), p.f32(4), p.f32(8), p.f32(12)],
            form: CommandForm::Int {
                frame: p.u8(32),
                x: p.i32(16),
                y: p.i32(20),
                z: p.f32(24),
            },
        }),
        76 => Request::Command(Command {
            to: to(30),
            id: p.u16(28),
            params: [p.f32(0), p.f32(4), p.f32(8), p.f32(12)],
            form: CommandForm::Long {
                xyz: [p.f32(16), p.f32(20), p.f32(24)],
                confirmation: p.u8(32),
            },
        }),
        84 => Request::Steer(LocalTarget {
            to: to(50),
            frame: p.u8(52),
            type_mask: p.u16(48),
            place_m: [p.f32(4), p.f32(8), p.f32(12)],
            velocity_m_s: [p.f32(16), p.f32(20), p.f32(24)],
        }),
        86 => Request::Goto(GotoTarget {
            to: to(50),
            frame: p.u8(52),
            type_mask: p.u16(48),
            lat_e7: p.i32(4),
            lon_e7: p.i32(8),
            alt_m: p.f32(12),
            velocity_m_s: [p.f32(16), p.f32(20), p.f32(24)],
        }),
        110 => Request::Ftp {
            to: to(1),
            packet: p.0.get(3..).unwrap_or(&[]).to_vec(),
        },
        111 if p.i64(0) == 0 => Request::TimesyncAsk { ts1: p.i64(8) },
        412 => Request::Events {
            first: p.u16(0),
            last: p.u16(2),
        },
        other => plan::decode(other, p)
            .map(Request::Plan)
            .or_else(|| remote_id::decode(other, p).map(Request::RemoteId))
            .unwrap_or(Request::Other(other)),
    }
}
