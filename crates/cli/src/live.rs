//! Views that go on showing the fleet (`skein top`, `skein map`): the time, the coordinator's stream and the objects.
//!
//! Owns: these, once for all such views. Must not: draw.

pub mod clock;
pub mod fleet_feed;
pub mod objects;
