//! Records the screen of `skein demo` once in each [`EVERY`] of the flight, while keys are pressed.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::Context;
use avt::{Cell, Line, Terminal};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{Winsize, openpty};

/// Size of the terminal; a table of the demo fits twice.
pub const COLUMNS: u16 = 100;
pub const ROWS: u16 = 24;

/// Time between frames. A shorter one adds nothing: a picture of a minute shows each for a part of a second.
const EVERY: Duration = Duration::from_millis(2500);

/// The demo prints this once it reads keys: all vehicles hold.
const KEYS: &str = "Keys, for a vehicle that holds";

/// Keys and when they are pressed, after the demo reads keys: a pilot takes a vehicle over, then Ctrl-C lands all.
const STORY: [(Duration, u8); 2] = [(Duration::from_secs(6), b't'), (Duration::from_secs(18), 0x03)];

/// A quiet machine takes two minutes.
const LONGEST: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub bold: bool,
}

/// Lines of a screen, without trailing blanks.
pub type Screen = Vec<Vec<Span>>;

#[derive(Debug)]
pub struct Recording {
    /// Equal distances in time; the last frame is the end.
    pub frames: Vec<Screen>,
    /// Index of the frame on which all vehicles hold, before any key is pressed.
    pub still: usize,
}

/// Runs `program demo` with `home` as the person's home.
pub fn record(program: &Path, home: &Path) -> anyhow::Result<Recording> {
    let size = Winsize {
        ws_row: ROWS,
        ws_col: COLUMNS,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(&size, None).context("no pseudo-terminal")?;
    // The demo reads keys only from a terminal of its own session.
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--"]).arg(program).arg("demo");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SKEIN_") || name == "KUBECONFIG" || name == "NO_COLOR" {
            command.env_remove(name);
        }
    }
    command.env("HOME", home).env("TERM", "xterm-256color");
    let end = || pty.slave.try_clone().map(File::from);
    command.stdin(end()?).stdout(end()?).stderr(end()?);
    let demo = command
        .spawn()
        .context("cannot start setsid (util-linux) with the demo")?;
    // Only the program's copies stay open, so that the reader ends when the program closes them.
    drop((command, pty.slave));
    watch(File::from(pty.master), Demo(demo))
}

fn watch(mut pty: File, mut demo: Demo) -> anyhow::Result<Recording> {
    let mut terminal = Terminal::new(COLUMNS.into(), ROWS.into())?;
    let mut unread = Vec::new();
    let begun = Instant::now();
    let (mut frames, mut still, mut reads_keys, mut pressed) = (Vec::new(), None, None, 0);
    loop {
        let elapsed = begun.elapsed();
        anyhow::ensure!(elapsed < LONGEST, "the demo does not end; {}", shown(&terminal));
        let due = EVERY * u32::try_from(frames.len() + 1).unwrap_or(u32::MAX);
        if elapsed >= due {
            frames.push(screen(&terminal));
        }
        if reads_keys.is_none() && terminal.screen().text().iter().any(|line| line.contains(KEYS)) {
            reads_keys = Some(Instant::now());
        }
        if let (Some(since), Some((after, key))) = (reads_keys, STORY.get(pressed))
            && since.elapsed() >= *after
        {
            still = still.or(frames.len().checked_sub(1));
            pty.write_all(&[*key])?;
            pressed += 1;
        }
        let mut ready = [PollFd::new(pty.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::from(50u8))? == 0 {
            continue;
        }
        let mut bytes = [0; 65536];
        match pty.read(&mut bytes) {
            // Linux reports an error when no process has the other end any more.
            Ok(0) | Err(_) => break,
            Ok(count) => {
                unread.extend_from_slice(&bytes[..count]);
                terminal.feed(text(&mut unread).as_str());
            }
        }
    }
    frames.push(screen(&terminal));
    let status = demo.0.wait()?;
    anyhow::ensure!(
        status.success() && pressed == STORY.len(),
        "the demo ended early, with {status}; {}",
        shown(&terminal)
    );
    let still = still.context("the demo was over before a frame was due")?;
    Ok(Recording { frames, still })
}

struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shown(terminal: &Terminal) -> String {
    format!("its screen shows:\n{}", terminal.screen().text().join("\n").trim_end())
}

/// Takes the text at the start of `bytes`; the beginning of a character stays there.
fn text(bytes: &mut Vec<u8>) -> String {
    let end = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    let rest = bytes.split_off(end);
    String::from_utf8_lossy(&std::mem::replace(bytes, rest)).into_owned()
}

/// The demo uses bold and no other style.
fn screen(terminal: &Terminal) -> Screen {
    let line = |line: &Line| {
        let differ = |a: &Cell, b: &Cell| a.pen().is_bold() != b.pen().is_bold();
        let span = |cells: Vec<Cell>| Span {
            text: cells.iter().map(Cell::char).collect(),
            bold: cells.first().is_some_and(|cell| cell.pen().is_bold()),
        };
        let mut spans: Vec<Span> = line.chunks(differ).map(span).collect();
        while let Some(span) = spans.last_mut() {
            span.text.truncate(span.text.trim_end().len());
            if !span.text.is_empty() {
                break;
            }
            spans.pop();
        }
        spans
    };
    terminal.screen().visible_lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_what_a_terminal_shows() {
        let mut terminal = Terminal::new(20, 3).unwrap();
        let mut bytes = "\x1b[1m==> flies\x1b[0m  so…\r\nold\r\n\x1b[1A\x1b[J\x1b[?7lnew, and longer than a line…"
            .as_bytes()
            .to_vec();
        let rest = bytes.split_off(bytes.len() - 1);
        terminal.feed(text(&mut bytes).as_str());
        bytes.extend(rest);
        terminal.feed(text(&mut bytes).as_str());
        let span = |text: &str, bold| Span {
            text: text.to_owned(),
            bold,
        };
        assert_eq!(
            screen(&terminal),
            [
                vec![span("==> flies", true), span("  so…", false)],
                vec![span("new, and longer tha…", false)],
                vec![]
            ]
        );
    }

    #[test]
    fn a_program_that_ends_before_its_vehicles_hold_is_an_error_with_its_own_words() {
        let home = tempfile::tempdir().unwrap();
        let error = record(Path::new("/bin/echo"), home.path()).unwrap_err().to_string();
        assert!(
            error.starts_with("the demo ended early, with exit status: 0"),
            "{error}"
        );
        assert!(error.contains("demo"), "{error}");
    }
}
