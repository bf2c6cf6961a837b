//! MAVLink bytes at the border of the simulator. Owns: framing, lenient decoding of peers' messages, encoding of the
//! vehicle's. Must not: know what a vehicle does with a message, read a clock, open a port.

mod fields;
mod frame_reader;
mod incoming;
mod outgoing;
mod plan;
mod remote_id;

pub use fields::Fields;
pub use frame_reader::{Frame, FrameReader};
pub use incoming::{Command, CommandForm, GotoTarget, Incoming, LocalTarget, Request};
pub use outgoing::{CommandAck, CommandLong, Outgoing, Sender};
pub use plan::{PlanBody, PlanItem, PlanMessage, PlanReply};
pub use remote_id::RemoteIdMessage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// 0 means all systems.
    pub system: u8,
    /// 0 means all components.
    pub component: u8,
}
