//! Scripted faults: what fails on one vehicle, on its wire and around it, and when.
//!
//! Owns: the script as data and as text ([`Script`]), and playing it ([`Player`]). Must not: read a clock or a file, or
//! know a link: time is an input, and changes of the link are an output. The same script, seed and bytes give the same
//! faults.
//! ```text
//! seed 7
//! at 40 noise 1% for 20
//! on takeoff lose-ack
//! on arm 2 deny temporarily-rejected
//! south: on takeoff +5 reboot
//! ```

mod acks;
mod bytes;
pub mod chance;
mod keywords;
mod neighbors;
mod parse;
mod player;
mod reframe;
mod script;
mod signing;

pub use keywords::HELP;
pub use parse::{Problem, ScriptError};
pub use player::{Delivery, LinkChange, Player};
pub use script::{Around, Bytes, CommandFault, Line, ModeNumber, Occurrence, Script, Sudden, What, When};
pub use signing::{Key, KeyError};
