//! Acts as frames of a ground station.

use mavlink::Message;
use mavlink::dialects::ardupilotmega::MavMessage;

use super::script::{Act, At, Form, Setpoint};
use sitl::model::{Autopilot, Firmware, Wgs84};
use sitl::wire::Sender;

const BOOT_MS: [u8; 4] = [0; 4];
const PARAM_INT32: u8 = 6;
const PARAM_REAL32: u8 = 9;

#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    /// Position when the script began; its altitude is the ground's.
    pub(super) place: Wgs84,
    pub(super) system: u8,
    pub(super) autopilot: Autopilot,
    pub(super) firmware: Firmware,
}

/// `None` for an act that sends nothing at once.
pub(super) fn frame(scene: &Scene, sender: &mut Sender, act: &Act) -> Option<Vec<u8>> {
    let (id, payload) = match act {
        Act::Command {
            id,
            params,
            at,
            form,
            system,
            component,
        } => {
            let target = system.map_or(0, |add| scene.system.wrapping_add(add));
            command(scene, *id, *params, *at, *form, (target, *component))
        }
        Act::SetMode { base_mode, custom_mode } => {
            let mut payload = custom_mode.to_le_bytes().to_vec();
            payload.extend([scene.system, *base_mode]);
            (11, payload)
        }
        Act::ParamSet { name, value, integer } => param_set(scene, name, *value, *integer),
        Act::ParamRead { name } => (20, param_read(scene.system, name)),
        Act::Point(point) => setpoint(scene, point),
        Act::Stream(_) | Act::Heartbeats(_) | Act::Wait => return None,
    };
    Some(framed(sender, id, &payload))
}

pub(super) fn point_frame(scene: &Scene, sender: &mut Sender, point: &Setpoint) -> Vec<u8> {
    let (id, payload) = setpoint(scene, point);
    framed(sender, id, &payload)
}

pub(super) fn heartbeat(sender: &mut Sender) -> Vec<u8> {
    const GROUND_STATION: u8 = 6;
    const NO_AUTOPILOT: u8 = 8;
    const ACTIVE: u8 = 4;
    framed(sender, 0, &[0, 0, 0, 0, GROUND_STATION, NO_AUTOPILOT, 0, ACTIVE, 3])
}

pub(super) fn clear_plan(sender: &mut Sender, system: u8, kind: u8) -> Vec<u8> {
    framed(sender, 45, &[system, 1, kind])
}

pub(super) fn read_parameter(sender: &mut Sender, system: u8, name: &str) -> Vec<u8> {
    framed(sender, 20, &param_read(system, name))
}

/// PARAM_SET with these bits and type.
pub(super) fn write_parameter(sender: &mut Sender, system: u8, name: &str, bits: u32, kind: u8) -> Vec<u8> {
    let mut payload = bits.to_le_bytes().to_vec();
    payload.extend([system, 1]);
    payload.extend(padded(name));
    payload.push(kind);
    framed(sender, 23, &payload)
}

pub(super) fn plain_command(sender: &mut Sender, system: u8, id: u16, params: [f32; 7]) -> Vec<u8> {
    let mut payload: Vec<u8> = params.into_iter().flat_map(f32::to_le_bytes).collect();
    payload.extend(id.to_le_bytes());
    payload.extend([system, 1, 0]);
    framed(sender, 76, &payload)
}

fn framed(sender: &mut Sender, id: u32, payload: &[u8]) -> Vec<u8> {
    sender.frame(id, payload, MavMessage::extra_crc(id))
}

fn padded(name: &str) -> [u8; 16] {
    let bytes = name.as_bytes();
    std::array::from_fn(|place| bytes.get(place).copied().unwrap_or(0))
}

fn param_read(system: u8, name: &str) -> Vec<u8> {
    let mut payload = (-1_i16).to_le_bytes().to_vec();
    payload.extend([system, 1]);
    payload.extend(padded(name));
    payload
}

fn param_set(scene: &Scene, name: &str, value: f32, integer: bool) -> (u32, Vec<u8>) {
    let (bits, kind) = match (scene.autopilot, integer) {
        (Autopilot::Px4, true) => ((value as i32).to_le_bytes(), PARAM_INT32),
        _ => (value.to_le_bytes(), PARAM_REAL32),
    };
    let mut payload = bits.to_vec();
    payload.extend([scene.system, 1]);
    payload.extend(padded(name));
    payload.push(kind);
    (23, payload)
}

/// Degrees × 10⁷ of a point at this distance, meters.
fn e7(place: Wgs84, north_m: f32, east_m: f32) -> (i32, i32) {
    place.offset_meters(f64::from(north_m), f64::from(east_m)).e7()
}

fn command(
    scene: &Scene,
    id: u16,
    params: [f32; 4],
    at: At,
    form: Form,
    (system, component): (u8, u8),
) -> (u32, Vec<u8>) {
    let altitude = |up_m: f32, amsl: bool| {
        if amsl { up_m + scene.place.amsl_m as f32 } else { up_m }
    };
    let mut payload: Vec<u8> = params.into_iter().flat_map(f32::to_le_bytes).collect();
    // NaN crashes the simulator of ArduPilot.
    let not_given = match scene.autopilot {
        Autopilot::Px4 => f32::NAN,
        Autopilot::ArduPilot => 0.0,
    };
    match form {
        Form::Long => {
            let xyz = match at {
                At::Plain(x, y, z) => [x, y, z],
                At::Here { up_m, amsl } => [not_given, not_given, altitude(up_m, amsl)],
                At::There {
                    north_m,
                    east_m,
                    up_m,
                    amsl,
                } => {
                    let (lat, lon) = e7(scene.place, north_m, east_m);
                    let degrees = |e7: i32| (f64::from(e7) / 1e7) as f32;
                    [degrees(lat), degrees(lon), altitude(up_m, amsl)]
                }
            };
            payload.extend(xyz.into_iter().flat_map(f32::to_le_bytes));
            payload.extend(id.to_le_bytes());
            payload.extend([system, component, 0]);
            (76, payload)
        }
        Form::Int(frame) => {
            let (x, y, z) = match at {
                At::Plain(x, y, z) => (x as i32, y as i32, z),
                At::Here { up_m, amsl } => (i32::MAX, i32::MAX, altitude(up_m, amsl)),
                At::There {
                    north_m,
                    east_m,
                    up_m,
                    amsl,
                } => {
                    let (lat, lon) = e7(scene.place, north_m, east_m);
                    (lat, lon, altitude(up_m, amsl))
                }
            };
            payload.extend(x.to_le_bytes());
            payload.extend(y.to_le_bytes());
            payload.extend(z.to_le_bytes());
            payload.extend(id.to_le_bytes());
            payload.extend([system, component, frame, 0, 0]);
            (75, payload)
        }
    }
}

fn setpoint(scene: &Scene, point: &Setpoint) -> (u32, Vec<u8>) {
    let mut payload = BOOT_MS.to_vec();
    let (id, frame, mask, velocity) = match *point {
        Setpoint::Global {
            frame,
            mask,
            place: [north_m, east_m, up_m],
            velocity,
        } => {
            let (lat, lon) = e7(scene.place, north_m, east_m);
            let above_sea = matches!(frame, 0 | 5);
            let altitude = if above_sea {
                up_m + scene.place.amsl_m as f32
            } else {
                up_m
            };
            payload.extend(lat.to_le_bytes());
            payload.extend(lon.to_le_bytes());
            payload.extend(altitude.to_le_bytes());
            (86, frame, mask, velocity)
        }
        Setpoint::Local {
            frame,
            mask,
            place,
            velocity,
        } => {
            payload.extend(place.into_iter().flat_map(f32::to_le_bytes));
            (84, frame, mask, velocity)
        }
    };
    payload.extend(velocity.into_iter().flat_map(f32::to_le_bytes));
    payload.extend([0; 20]);
    payload.extend(mask.to_le_bytes());
    payload.extend([scene.system, 1, frame]);
    (id, payload)
}
