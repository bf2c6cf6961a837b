//! Pseudo-terminal with a stable name: the serial port of a simulated vehicle.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Context;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::openpty;
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
use nix::unistd::ttyname;
use tokio::net::unix::pipe::Receiver;

use super::out_buffer::OutBuffer;

/// Dropping it removes the symbolic link.
pub(super) struct PtyLink {
    path: PathBuf,
    pair: Option<Pair>,
    out: OutBuffer,
}

struct Pair {
    from_client: Receiver,
    to_client: File,
    _client_end: OwnedFd,
    device: PathBuf,
}

impl PtyLink {
    /// Replaces a stale link FOLDER/NAME of an earlier run, nothing else.
    pub(super) fn open(folder: &Path, name: &str) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let path = std::path::absolute(folder.join(name))
            .with_context(|| format!("{} has no absolute form", folder.display()))?;
        let pair = Pair::open(&path)?;
        Ok(Self {
            path,
            pair: Some(pair),
            out: OutBuffer::default(),
        })
    }

    pub(super) fn endpoint(&self) -> String {
        self.path.display().to_string()
    }

    /// Like a pulled plug: a client that has it open gets an error, and its name goes.
    pub(super) fn hang_up(&mut self) {
        self.out.clear();
        if let Some(pair) = self.pair.take() {
            pair.unlink(&self.path);
        }
    }

    pub(super) fn come_back(&mut self) -> anyhow::Result<()> {
        if self.pair.is_none() {
            self.pair = Some(Pair::open(&self.path)?);
        }
        Ok(())
    }

    pub(super) async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(pair) = &self.pair else {
            return std::future::pending().await;
        };
        loop {
            pair.from_client.readable().await?;
            match pair.from_client.try_read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
        }
    }

    pub(super) fn send(&mut self, frame: &[u8]) {
        if self.pair.is_some() && !self.out.push(frame) {
            self.flush();
            self.out.push(frame);
        }
    }

    pub(super) fn flush(&mut self) {
        let Some(pair) = &self.pair else { return };
        let mut end = &pair.to_client;
        // An error means that the terminal is gone, which cannot happen while both ends are open.
        let _ = self.out.flush(|bytes: &[u8]| end.write(bytes));
    }
}

impl Pair {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let pair = openpty(None, None).context("cannot open a pseudo-terminal; are there too many already?")?;
        let mut mode = tcgetattr(&pair.slave).context("cannot read the pseudo-terminal's mode")?;
        cfmakeraw(&mut mode);
        tcsetattr(&pair.slave, SetArg::TCSANOW, &mode).context("cannot make the pseudo-terminal raw")?;
        fcntl(&pair.master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))
            .context("cannot make the pseudo-terminal non-blocking")?;
        let device = ttyname(&pair.slave).context("the pseudo-terminal has no name")?;
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_symlink() => {
                fs::remove_file(path).with_context(|| format!("cannot replace the old link {}", path.display()))?;
            }
            Ok(_) => anyhow::bail!(
                "{} exists and is not a link of ours; move it away or choose another folder",
                path.display()
            ),
            Err(_) => {}
        }
        symlink(&device, path).with_context(|| format!("cannot make the link {}", path.display()))?;
        let to_client = File::from(pair.master);
        let from_client = to_client.try_clone().and_then(Receiver::from_file_unchecked);
        let from_client = from_client.context("cannot watch the pseudo-terminal")?;
        Ok(Self {
            from_client,
            to_client,
            _client_end: pair.slave,
            device,
        })
    }

    fn unlink(&self, path: &Path) {
        if fs::read_link(path).is_ok_and(|target| target == self.device) {
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for PtyLink {
    fn drop(&mut self) {
        self.hang_up();
    }
}
