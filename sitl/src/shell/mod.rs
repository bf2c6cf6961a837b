//! The process around the models: links, clock, wire logs, signals.
//!
//! Owns: every clock, file and socket of the simulator. Must not: decide what a vehicle does.

mod link;
mod out_buffer;
mod pty;
mod run;
mod tcp;
mod udp;
mod vehicle_task;
mod wire_log;

pub use run::run;
