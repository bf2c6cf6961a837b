//! MAVLink over any byte stream: one link to one autopilot that never gives up.
//!
//! Owns: link URLs, framing, signing, the backlog filter, numbers of vehicles on a shared port, reconnecting, the
//! bounded event queue, copies of all frames ([`tap`]) and counters. Must not: know Kubernetes or gRPC, interpret a
//! message beyond its time stamp, or decide what is sent. Reading never blocks (the oldest frame is dropped); writing
//! is never queued.

pub mod auto;
pub mod backlog;
pub mod counters;
pub mod decode;
pub mod events;
pub mod framing;
pub mod handle;
pub mod heartbeat;
pub mod layout;
pub mod link;
mod named_port;
pub mod opener;
pub mod raw;
pub mod renumber;
pub mod sequence;
pub mod signing;
mod supervisor;
pub mod tap;
pub mod transport;
pub mod url;

pub use counters::CounterSnapshot;
pub use events::{Events, Frame, LinkEvent};
pub use handle::{LinkHandle, SendError};
pub use link::{Link, Options};
pub use tap::Tap;
pub use url::LinkUrl;

/// A superset of common.
pub use mavlink::dialects::ardupilotmega as dialect;
