//! The simulator against the real autopilot, live: random scripts run on both, and their answers are compared.
//!
//! A script is drawn from a seed ([`generate`]) and run on the real autopilot first ([`Live`]), by the clock of the
//! vehicle, so any speed-up works. The simulated vehicle gets the same bytes at the same seconds ([`simulated`]). Acks,
//! modes, armed and landed states of both are then compared ([`judge`]). A script that differs is run again with fewer
//! steps until none can be left out (`shrink`). Must not: share anything with the crates that talk to vehicles.
//!
//! Differences that are expected, and do not count:
//!
//! | what | how much | why |
//! |---|---|---|
//! | when a state or ack is reported | 2 s, and a tenth of the time since the last common one | as in [`crate::replay`], where it is justified |
//! | a state that one side only reported for less than 1.1 s | | both report states about once a second |
//! | what follows a message that arrives near a transition | the simulated vehicle gets all messages again up to 1.5 s earlier or later, and with pauses a tenth shorter or longer; one run that agrees is enough ([`Warp`]) | a landing of 20 s takes 18 to 22 s on the real one too, and a command in its last second meets either state |
//! | the order of two acks of one command | 0.3 s | PX4's link and its commander both answer a change of mode |
//! | PX4's answer to a request of VFR_HUD or POSITION_TARGET_LOCAL_NED | accepted or denied | two runs of the same script on the real one differ in it |
//! | when PX4 begins to land after a return that follows a landing without GPS | up to 18 s after the return | it drifted by chance: 5 to 17 s in runs of one script on the real one |
//! | what comes within 6 s after the last step | may be missing on one side | it may come later |

mod corpus;
mod encode;
mod generate;
mod judge;
mod live;
mod pools;
mod run;
mod script;
mod session;
mod shrink;
mod simulated;

pub use corpus::{load, save};
pub use generate::generate;
pub use judge::{Outcome, judge};
pub use live::{Live, LiveError, Wire};
pub use script::{Act, At, Form, Script, Setpoint, Step};
pub use session::{Found, Report, Session, Settings};
pub use simulated::{Warp, simulated};
