//! A `kubectl proxy` that stays, so that a test that polls starts no process for each read.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use super::Kubectl;
use crate::{Process, Scratch, wait_for};
use anyhow::Context as _;

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Proxy {
    _process: Process,
    socket: PathBuf,
    _folder: Scratch,
}

impl Proxy {
    pub(super) fn start(kubectl: &Kubectl) -> anyhow::Result<Self> {
        let folder = Scratch::new("skein-proxy-")?;
        let socket = folder.path().join("socket");
        let process = kubectl
            .launch("kubectl-proxy", ["proxy", "--unix-socket"])
            .arg(&socket)
            .start()?;
        wait_for("kubectl proxy to listen", PATIENCE, || {
            Ok(UnixStream::connect(&socket)?)
        })?;
        Ok(Self {
            _process: process,
            socket,
            _folder: folder,
        })
    }

    pub(super) fn get(&self, path: &str, deadline: Duration) -> anyhow::Result<(u16, String)> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(deadline))?;
        // HTTP/1.0 ends the answer with the stream, without chunks.
        write!(
            stream,
            "GET {path} HTTP/1.0\r\nHost: localhost\r\nAccept: application/json\r\n\r\n"
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n");
        let (head, body) = answer.split_at(end.context("no answer")? + 4);
        let head = String::from_utf8_lossy(head);
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.with_context(|| format!("no status: {head}"))?;
        Ok((status, String::from_utf8_lossy(body).into_owned()))
    }
}
