//! Why a question about logs has no answer.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    #[error("the agent keeps no flight logs; start it, or its ground station, with --flight-log-dir FOLDER")]
    NotKept,
    #[error("there is no log {0} on the agent's disk; it may have been removed to make room: see `skein logs`")]
    NoSuchLog(String),
    #[error("there are no flight logs yet: the agent has received nothing from its autopilot")]
    NoneYet,
    /// The question is of a newer coordinator.
    #[error("the agent does not understand the question; is it older than the coordinator? See `skein --version`")]
    NotUnderstood,
    #[error("{0}")]
    Autopilot(String),
    #[error("another log is coming from the autopilot, which gives one at a time; wait for it")]
    Busy,
    #[error(
        "what came is not equal to the autopilot's log, again and again; is it still being written? Try again later"
    )]
    Differs,
    #[error("the log has no room on the agent's disk; raise --flight-log-max-mib, or free space there")]
    NoRoom,
    #[error("the agent cannot read its flight logs: {0}; check its disk")]
    Disk(#[from] io::Error),
}
