//! MAVLink FTP, from the side that asks (MAVLink guide, services/ftp): clients as plain state machines.
//!
//! Owns: packets ([`packet`]), one request on its way at a time and its repeats ([`exchange`]), and downloading a file ([`download`]).
//! Must not: send, read a clock, know what a file means, or write anything on the vehicle.

pub(crate) mod download;
pub(crate) mod exchange;
pub(crate) mod packet;

use link::dialect::{FILE_TRANSFER_PROTOCOL_DATA, MavMessage};
use model::vehicle::Identity;

pub(crate) fn message(request: &packet::Request, to: &Identity) -> MavMessage {
    MavMessage::FILE_TRANSFER_PROTOCOL(FILE_TRANSFER_PROTOCOL_DATA {
        target_network: 0,
        target_system: to.system.0,
        target_component: to.component.0,
        payload: request.encode(),
    })
}
