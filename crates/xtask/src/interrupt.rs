//! Ctrl-C and SIGTERM as a flag to check, so that a command can finish in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Exit status after Ctrl-C, by the convention of shells.
const ENDED_BY_INTERRUPT: i32 = 130;

#[derive(Debug, Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on the first signal only sets the flag, and the second ends the process.
    pub fn catch() -> anyhow::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: a signal that finds the flag set ends the process, and one that does not sets it.
            flag::register_conditional_shutdown(signal, ENDED_BY_INTERRUPT, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Self(asked))
    }

    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
