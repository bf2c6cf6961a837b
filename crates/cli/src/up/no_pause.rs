//! Ctrl-Z must not pause a ground station: its agents would stop, and its vehicles be left alone without a message.

use super::messages;
use crate::failure::Failure;
use crate::terminal;
use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

#[derive(Debug)]
pub struct NoPause(JoinHandle<()>);

impl NoPause {
    pub fn begin() -> Result<Self, Failure> {
        let mut pauses = signal(SignalKind::from_raw(Signal::SIGTSTP as i32))
            .map_err(|why| Failure::Failed(format!("cannot wait for signals: {why}")))?;
        Ok(Self(tokio::spawn(async move {
            while pauses.recv().await.is_some() {
                terminal::line(messages::NOT_PAUSED);
            }
        })))
    }
}

impl Drop for NoPause {
    fn drop(&mut self) {
        self.0.abort();
    }
}
