//! MAVLink over any byte stream: one link to one autopilot that never gives up.
//!
//! Owns: link URLs ([`url`]), transports ([`transport`]), framing and resynchronisation ([`deframer`]), the backlog
//! filter after an open ([`backlog`]), reconnecting ([`link`]), the bounded event queue ([`events`]) and counters
//! ([`counters`]).
//! Must not: know Kubernetes or gRPC, interpret a message beyond its time stamp, or decide what is sent.
//!
//! Reading never blocks (the oldest frame is dropped when nobody listens); writing is never queued (a frame is written
//! now, within a deadline, or not at all).

pub mod backlog;
pub mod counters;
pub mod deframer;
pub mod events;
pub mod link;
pub mod transport;
pub mod url;

pub use counters::CounterSnapshot;
pub use events::{Events, Frame, LinkEvent};
pub use link::{Link, LinkHandle, SendError};
pub use url::LinkUrl;

/// The MAVLink dialect spoken: ardupilotmega, a superset of common.
pub use mavlink::dialects::ardupilotmega as dialect;
