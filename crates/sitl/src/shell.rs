//! The process around the models. Owns: every clock, file and socket. Must not: decide what a vehicle does.

mod fault_file;
mod link;
mod out_buffer;
mod pace;
mod pty;
mod run;
mod simulation;
mod speedup;
mod tcp;
mod udp;
mod vehicle_task;
mod wire_log;

pub use pace::PaceReading;
pub use run::run;
pub use simulation::{Listed, Simulation};
