//! The agent: one on each companion computer, usually a process of its own, which flies one vehicle as its Drone wants.
//!
//! Owns: finding the autopilot ([`discovery`], [`shared_id`]), receiving from it ([`normalize`], [`streams`], [`metadata`]), commanding it ([`recipe`],
//! [`command`]), the uplink ([`uplink`], [`dial`], [`coordinator`], [`credentials`], [`contact`]), what survives a restart
//! ([`state_file`], `durable`), the plan that the vehicle flies by itself ([`plan`]), ground stations as guests ([`gcs`]), the
//! flight log ([`flight_log`]), what people ask about it ([`logs`]) and its way to an object store (`upload`, [`sent`]), and putting it
//! together ([`pilot`], [`shell`], [`life`], [`run`]). Must not: talk to Kubernetes, decide what the vehicle does ([`fleet::flight::converge`]
//! does), or disarm; no message here can stop motors.

mod calendar;
pub mod clock;
pub mod command;
pub mod config;
pub mod contact;
pub mod coordinator;
pub mod credentials;
pub mod dial;
pub mod discovery;
pub mod drone_span;
mod durable;
pub mod flight_line;
pub mod flight_log;
mod ftp;
pub mod gcs;
pub mod kill;
pub mod life;
pub mod lines;
pub mod logs;
pub mod metadata;
pub mod network;
pub mod normalize;
pub mod outgoing;
pub mod pilot;
pub mod plan;
pub mod preflight;
pub mod readiness;
pub mod recipe;
pub mod remote_id;
pub mod rules;
pub mod run;
pub mod sent;
pub mod shared_id;
pub mod shell;
pub mod state_file;
mod state_folder;
pub mod streams;
pub mod uplink;
#[cfg(feature = "upload")]
pub mod upload;

pub use config::Config;
pub use coordinator::Coordinator;
pub use credentials::Credentials;
pub use life::Agent;
pub use link::LinkUrl;
pub use link::url::FORMS as LINK_FORMS;
pub use shell::Ending;
pub use traces::Traces;
