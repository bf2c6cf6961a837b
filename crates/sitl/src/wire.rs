//! MAVLink bytes at the border of the simulator: frames in, frames out.
//!
//! Owns: framing, lenient decoding of peers' messages, encoding of the vehicle's messages.
//! Must not: know what a vehicle does with a message, read a clock, open a port.

mod fields;
mod frame_reader;
mod incoming;
mod outgoing;
mod plan;
mod remote_id;

pub use fields::Fields;
pub use frame_reader::{Frame, FrameReader};
pub use incoming::{Address, Command, CommandForm, GotoTarget, Incoming, LocalTarget, Request};
pub use outgoing::{CommandAck, CommandLong, Outgoing, Sender};
pub use plan::{PlanBody, PlanItem, PlanMessage, PlanReply};
pub use remote_id::RemoteIdMessage;
