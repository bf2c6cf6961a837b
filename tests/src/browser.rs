//! A page in Chromium, driven by `tests/map/page.mjs`.

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use testkit::control_plane::workspace_root;
use testkit::wait_for;

/// Drawing takes long without a GPU on a busy machine.
const STEP: Duration = Duration::from_secs(150);

const PATIENCE: Duration = Duration::from_secs(240);

const END: Duration = Duration::from_secs(15);

pub const PICTURES: &str = "target/map-pictures";

pub struct Page {
    driver: Child,
    steps: Option<ChildStdin>,
    answers: Receiver<String>,
}

fn prepared(variable: &str) -> PathBuf {
    let value = std::env::var_os(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from).unwrap_or_else(|| {
        panic!("{variable} is not set; run `cargo xtask test --only map`, which installs what is needed and sets it")
    })
}

impl Page {
    pub fn start(address: &str) -> anyhow::Result<Self> {
        // Node.js searches for packages beside the program.
        let program = prepared("SKEIN_TEST_MAP_NODE").join("page.mjs");
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("map/page.mjs"), &program)?;
        let pictures = workspace_root().join(PICTURES);
        std::fs::create_dir_all(&pictures)?;
        let mut driver = Command::new("node")
            .arg(program)
            .env("ADDRESS", address)
            .env("CHROMIUM", prepared("SKEIN_TEST_CHROMIUM"))
            .env("PICTURES", pictures)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let steps = driver.stdin.take();
        let output = BufReader::new(driver.stdout.take().context("no output")?);
        let (said, answers) = channel();
        std::thread::spawn(move || {
            output
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| said.send(line))
        });
        let page = Self { driver, steps, answers };
        let ready = page.answers.recv_timeout(STEP).context("Chromium does not start")?;
        ensure!(ready == "ready", "{ready}");
        Ok(page)
    }

    pub fn step(&mut self, step: &Value) -> anyhow::Result<Value> {
        writeln!(self.steps.as_mut().context("no input")?, "{step}")?;
        let line = self
            .answers
            .recv_timeout(STEP)
            .with_context(|| format!("no answer to {step}"))?;
        let mut answer: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
        match answer["error"].as_str() {
            Some(error) => bail!("{step}: {error}"),
            None => Ok(answer["ok"].take()),
        }
    }

    pub fn wait(&mut self, what: &str, judge: impl Fn(&Value) -> anyhow::Result<()>) -> anyhow::Result<Value> {
        let mut last = Value::Null;
        wait_for(what, PATIENCE, || {
            last = self.step(&json!({"step": "lists"}))?;
            judge(&last)
        })?;
        Ok(last)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        drop(self.steps.take());
        let ended = wait_for("the browser to end", END, || self.driver.try_wait()?.context("it runs"));
        if ended.is_err() {
            let _ = self.driver.kill();
        }
        let _ = self.driver.wait();
    }
}
