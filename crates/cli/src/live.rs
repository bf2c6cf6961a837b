//! Shared by views that keep showing the fleet (`skein top`, `skein map`): time, stream and objects. Must not: draw.

pub mod clock;
pub mod fleet_feed;
pub mod objects;
