//! Restarts of etcd and the API server on their data, and compaction of history.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use super::{ControlPlane, PATIENCE};
use crate::process::wait_while_running;
use crate::{Launch, Process};

const CALL: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Again {
    etcd: Launch,
    api_server: Launch,
    etcd_port: u16,
}

impl Again {
    pub(super) fn new(etcd: Launch, api_server: Launch, etcd_port: u16) -> Self {
        Self {
            etcd,
            api_server,
            etcd_port,
        }
    }
}

impl ControlPlane {
    pub fn etcd(&self) -> &Process {
        &self.etcd
    }

    pub fn kill_etcd(&self) {
        self.etcd.kill();
    }

    pub fn start_etcd(&mut self) -> anyhow::Result<()> {
        self.etcd = self.again.etcd.clone().start()?;
        self.wait_ready()
    }

    pub fn kill_api_server(&self) {
        self.api_server.kill();
    }

    pub fn start_api_server(&mut self) -> anyhow::Result<()> {
        self.api_server = self.again.api_server.clone().start()?;
        self.wait_ready()
    }

    /// Drops all history from etcd, so that no client can resume from an earlier resourceVersion.
    pub fn compact(&self) -> anyhow::Result<()> {
        let now = self.ask_etcd("/v3/kv/range", &json!({"key": "AA=="}))?;
        let revision = &now["header"]["revision"];
        anyhow::ensure!(revision.is_string(), "etcd named no revision: {now}");
        self.ask_etcd("/v3/kv/compaction", &json!({"revision": revision, "physical": true}))
            .map(drop)
    }

    fn wait_ready(&self) -> anyhow::Result<()> {
        wait_while_running(
            &[&self.etcd, &self.api_server],
            "the API server to be ready",
            PATIENCE,
            || {
                self.admin
                    .clone()
                    .within(Duration::from_secs(10))
                    .run(["get", "--raw", "/readyz"])
            },
        )
        .map(drop)
    }

    fn ask_etcd(&self, path: &str, question: &Value) -> anyhow::Result<Value> {
        let body = question.to_string();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.again.etcd_port))?;
        stream.set_read_timeout(Some(CALL))?;
        write!(
            stream,
            "POST {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("etcd answered with no HTTP")?;
        anyhow::ensure!(head.contains(" 200 "), "etcd refused {path}: {answer}");
        Ok(serde_json::from_str(body)?)
    }
}
