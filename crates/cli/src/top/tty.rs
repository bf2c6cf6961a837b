//! Takes the terminal, and gives it back whatever happens.

use crate::failure::Failure;
use crossterm::cursor::{Hide, Show};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, dup2_stderr, dup2_stdin, getpgrp, tcgetpgrp};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Stdout, Write, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Static, as a panic may come from any thread.
static TERMINAL_TAKEN: AtomicBool = AtomicBool::new(false);

/// A whole screen is written at once.
const SCREEN_BUFFER_BYTES: usize = 1 << 16;

const CLEAR: &[u8] = b"\x1b[0m\x1b[2J";

type Drawn = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

pub struct Tty {
    drawn: Drawn,
    before: Before,
}

/// Original standard input and standard error: other programs must neither read keys nor write on the screen.
struct Before {
    input: Option<OwnedFd>,
    errors: OwnedFd,
}

/// Errors: [`Failure::Usage`] without a suitable terminal, with advice.
pub fn ensure() -> Result<(), Failure> {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if !stdin().is_terminal() || !stdout().is_terminal() || dumb {
        return Err(Failure::Usage(
            "skein top needs a terminal that it can draw on, as input and as output; elsewhere use `skein status` or `skein watch`. Over \
             ssh: ssh -t HOST skein top"
                .to_owned(),
        ));
    }
    if tcgetpgrp(stdin()).is_ok_and(|group| group != getpgrp()) {
        return Err(Failure::Usage(
            "skein top cannot run in the background: start it without &".to_owned(),
        ));
    }
    Ok(())
}

impl Tty {
    /// Loses standard error and empties standard input from now on.
    pub fn take() -> std::io::Result<Self> {
        give_back_on_panic();
        let null = File::options().read(true).write(true).open("/dev/null")?;
        let mut before = Before {
            input: None,
            errors: std::io::stderr().as_fd().try_clone_to_owned()?,
        };
        dup2_stderr(&null)?;
        // Keys are then read from /dev/tty, which macOS cannot wait for.
        if cfg!(target_os = "linux") && File::open("/dev/tty").is_ok() {
            before.input = Some(stdin().as_fd().try_clone_to_owned()?);
            dup2_stdin(&null)?;
        }
        let mut tty = Self {
            drawn: begin()?,
            before,
        };
        tty.again()?;
        Ok(tty)
    }

    pub const fn drawn(&mut self) -> &mut Drawn {
        &mut self.drawn
    }

    /// Resets the terminal, whatever another program did to it.
    pub fn again(&mut self) -> std::io::Result<()> {
        take()?;
        self.drawn = begin()?;
        Ok(())
    }

    pub fn redraw(&mut self) -> std::io::Result<()> {
        stdout().write_all(CLEAR)?;
        self.drawn = begin()?;
        Ok(())
    }

    /// Gives the terminal back and stops the process group, as Ctrl-Z does. Returns at once: the stop comes later.
    pub fn suspend(&self) -> std::io::Result<()> {
        give_back();
        // The whole group, to stop a script that has started this, too.
        Ok(kill(Pid::from_raw(0), Signal::SIGTSTP)?)
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        give_back();
        // Failures do not matter at the end of the program.
        let _ = dup2_stderr(&self.before.errors);
        if let Some(input) = &self.before.input {
            let _ = dup2_stdin(input);
        }
    }
}

fn begin() -> std::io::Result<Drawn> {
    Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(
        SCREEN_BUFFER_BYTES,
        stdout(),
    )))
}

fn take() -> std::io::Result<()> {
    TERMINAL_TAKEN.store(true, Ordering::SeqCst);
    // A shell may have changed the mode while this program was stopped.
    disable_raw_mode()?;
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, Hide)?;
    stdout().write_all(CLEAR)?;
    stdout().flush()
}

/// Does nothing unless it is taken. The mode comes first and waits for nothing: output may be blocked.
pub fn give_back() {
    if TERMINAL_TAKEN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone cannot show an error.
        let _ = disable_raw_mode();
        let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    }
}

/// Restores only the mode, while output may be blocked.
pub fn give_back_mode() {
    let _ = disable_raw_mode();
}

fn give_back_on_panic() {
    static HOOK_SET: AtomicBool = AtomicBool::new(false);
    if HOOK_SET.swap(true, Ordering::SeqCst) {
        return;
    }
    let before = std::panic::take_hook();
    // Standard error is not the terminal while the view is shown.
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        let _ = dup2_stderr(stdout());
        before(panic);
    }));
}
