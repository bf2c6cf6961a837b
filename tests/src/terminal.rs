//! A terminal with a person at it, on which `skein top` runs.

use anyhow::{Context, ensure};
use avt::{ScreenKind, Terminal};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use testkit::wait_for;

pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Screen {
    master: File,
    slave: File,
    child: Child,
    shown: Arc<Mutex<Shown>>,
    read: Arc<AtomicBool>,
    before: Termios,
}

struct Shown {
    terminal: Terminal,
    raw: Vec<u8>,
}

impl Screen {
    pub fn run(mut command: Command, (columns, rows): (u16, u16)) -> anyhow::Result<Self> {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(&size, None).context("no pseudo-terminal")?;
        let (master, slave) = (File::from(pty.master), File::from(pty.slave));
        let before = tcgetattr(&slave)?;
        command
            .stdin(slave.try_clone()?)
            .stdout(slave.try_clone()?)
            .stderr(slave.try_clone()?);
        let child = command.spawn().context("cannot start setsid (util-linux)")?;
        let shown = Shown {
            terminal: Terminal::new(columns.into(), rows.into())?,
            raw: Vec::new(),
        };
        let (shown, read) = (Arc::new(Mutex::new(shown)), Arc::new(AtomicBool::new(true)));
        let reading = (master.try_clone()?, Arc::clone(&shown), Arc::clone(&read));
        std::thread::spawn(move || follow(reading.0, &reading.1, &reading.2));
        Ok(Self {
            master,
            slave,
            child,
            shown,
            read,
            before,
        })
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn text(&self) -> String {
        let shown = self.shown();
        let line = |line: &avt::Line| {
            let text: String = line.cells().iter().map(avt::Cell::char).collect();
            text.trim_end().to_owned()
        };
        let lines: Vec<String> = shown.terminal.screen().visible_lines().map(line).collect();
        lines.join("\n")
    }

    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.shown().raw).into_owned()
    }

    /// The second screen, on which views are drawn.
    pub fn is_second(&self) -> bool {
        self.shown().terminal.active_screen_kind() == ScreenKind::Alternate
    }

    pub fn wait_for(&self, wanted: &[&str]) -> anyhow::Result<String> {
        self.wait_until(&format!("{wanted:?} on the screen"), |text| {
            wanted.iter().all(|wanted| text.contains(wanted))
        })
    }

    pub fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> anyhow::Result<String> {
        wait_for(what, PATIENCE, || {
            let text = self.text();
            ensure!(wanted(&text), "it shows:\n{text}");
            Ok(text)
        })
    }

    pub fn press(&self, keys: &str) -> anyhow::Result<()> {
        Ok((&self.master).write_all(keys.as_bytes())?)
    }

    /// The program is notified by SIGWINCH.
    pub fn resize(&self, (columns, rows): (u16, u16)) -> anyhow::Result<()> {
        let size = rustix::termios::Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        self.shown().terminal.resize(columns.into(), rows.into());
        Ok(rustix::termios::tcsetwinsize(&self.master, size)?)
    }

    pub fn read(&self, read: bool) {
        self.read.store(read, Ordering::SeqCst);
    }

    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill(Pid::from_raw(i32::try_from(self.child.id())?), signal)?)
    }

    pub fn is_as_before(&self) -> anyhow::Result<bool> {
        let now = tcgetattr(&self.slave)?;
        Ok(now.local_flags == self.before.local_flags
            && now.input_flags == self.before.input_flags
            && now.output_flags == self.before.output_flags)
    }

    pub fn wait_for_end(&mut self) -> anyhow::Result<ExitStatus> {
        let (child, shown) = (&mut self.child, &self.shown);
        wait_for("its end", PATIENCE, || {
            let shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            child
                .try_wait()?
                .with_context(|| format!("it runs and shows:\n{}", shown.terminal.screen().text().join("\n")))
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.read(true);
    }
}

/// A session on the terminal that is its input, with `home` and nothing else of the person's.
pub fn command(program: &Path, home: &Path) -> Command {
    in_session(&["--ctty", "--"], program, home)
}

/// Starts a session without a terminal, where `/dev/tty` cannot be opened.
pub fn detached(program: &Path, home: &Path) -> Command {
    in_session(&["--"], program, home)
}

fn in_session(setsid: &[&str], program: &Path, home: &Path) -> Command {
    let mut command = Command::new("setsid");
    command.args(setsid).arg(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SKEIN_") || name == "KUBECONFIG" || name == "NO_COLOR" {
            command.env_remove(name);
        }
    }
    command.env("HOME", home).env("TERM", "xterm-256color");
    command.env_remove("XDG_DATA_HOME");
    command
}

fn follow(mut master: File, shown: &Mutex<Shown>, read: &AtomicBool) {
    let mut unread = Vec::new();
    let mut bytes = [0; 1 << 14];
    loop {
        while !read.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(20));
        }
        // Linux reports an error once no process has the other end any more; this process has it until the end.
        let Ok(count @ 1..) = master.read(&mut bytes) else {
            return;
        };
        unread.extend_from_slice(&bytes[..count]);
        let end = match std::str::from_utf8(&unread) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => unread.len(),
        };
        let rest = unread.split_off(end);
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.terminal.feed(String::from_utf8_lossy(&unread).as_ref());
        shown.raw.extend_from_slice(&unread);
        unread = rest;
    }
}
