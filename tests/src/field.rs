//! A field: simulated vehicles in a process of their own, and a laptop with `skein up`.

use crate::wire::Wire;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use testkit::control_plane::Binaries;
use testkit::process::Signal;
use testkit::{Kubectl, Launch, Process, Scratch, wait_for};

pub const PATIENCE: Duration = Duration::from_secs(90);

const SPEEDUP: &str = "10";

/// From full to empty in 1000 simulated minutes, 100 here: simulated time goes on while a loaded machine takes long.
const BATTERY_PERCENT_PER_MINUTE: &str = "0.1";

/// One field at a time: two cores can run one fleet.
static ONE: Mutex<()> = Mutex::new(());

// Fields are dropped in this order.
pub struct Field {
    pub up: Option<Process>,
    pub agent: Option<Process>,
    _simulator: Process,
    vehicles: Vec<String>,
    port: u16,
    kubectl: Kubectl,
    scratch: Scratch,
    _one: MutexGuard<'static, ()>,
}

impl Field {
    pub fn with(vehicles: &[&str], autopilot: &str) -> anyhow::Result<Self> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = Scratch::new("skein-up-")?;
        let simulator = Launch::workspace("skein-sitl")?
            .args([
                "--autopilot",
                autopilot,
                "--speedup",
                SPEEDUP,
                "--battery-percent-per-minute",
                BATTERY_PERCENT_PER_MINUTE,
                "--names",
                &vehicles.join(","),
            ])
            .args(["--link", &format!("pty:{}", scratch.folder("ports")?.display())])
            .arg("--wire-log")
            .arg(scratch.folder("wire")?)
            .logs_in(scratch.folder("logs")?)
            .start()?;
        for vehicle in vehicles {
            simulator.wait_for_line(PATIENCE, |line| line.contains(&format!("\"{vehicle}\"")))?;
        }
        let kubectl = Kubectl::new(
            Binaries::find_or_build()?.path("kubectl"),
            scratch.path().join("kubeconfig"),
            scratch.path().join("kubectl.cache"),
        );
        Ok(Self {
            up: None,
            agent: None,
            _simulator: simulator,
            vehicles: vehicles.iter().map(|vehicle| (*vehicle).to_owned()).collect(),
            port: testkit::ports::free_tcp_port()?,
            kubectl,
            scratch,
            _one: one,
        })
    }

    fn link(&self, vehicle: &str) -> String {
        let port = self.scratch.path().join("ports").join(vehicle);
        format!("serial:{}:57600", port.display())
    }

    pub fn station(&self, vehicles: &[&str]) -> anyhow::Result<Launch> {
        Ok(self.on_this_laptop(Launch::workspace("skein")?, vehicles))
    }

    pub fn station_with_output(&self, vehicles: &[&str], redirection: &str) -> anyhow::Result<Launch> {
        let shell = Launch::program("/bin/sh")
            .named("skein")
            .args(["-c", &format!("exec \"$0\" \"$@\" {redirection}")])
            .arg(testkit::launch::workspace_binary("skein")?);
        Ok(self.on_this_laptop(shell, vehicles))
    }

    fn on_this_laptop(&self, skein: Launch, vehicles: &[&str]) -> Launch {
        let mut launch = skein
            .args(["up", "--listen", &format!("127.0.0.1:{}", self.port)])
            .arg("--data-dir")
            .arg(self.data())
            .arg("--kubeconfig")
            .arg(self.kubectl.kubeconfig())
            .logs_in(self.scratch.path().join("logs"));
        for vehicle in vehicles {
            launch = launch.args(["--node", &format!("{vehicle}={}", self.link(vehicle))]);
        }
        launch
    }

    pub fn listen(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// `skein status` with only the address, and the station's authority.
    pub fn stranger(&self, server: &str) -> anyhow::Result<std::process::Output> {
        let own = tempfile::tempdir()?;
        let token = own.path().join("token");
        std::fs::write(&token, "guessed")?;
        let mut command = std::process::Command::new(testkit::launch::workspace_binary("skein")?);
        command
            .args(["--server", server, "--server-ca"])
            .arg(self.data().join("operator/ca.crt"))
            .arg("--token-file")
            .arg(token)
            .arg("status");
        testkit::run::output(command, None, Duration::from_secs(15))
    }

    pub fn data(&self) -> PathBuf {
        self.scratch.path().join("data")
    }

    pub fn start_up(&mut self, vehicles: &[&str]) -> anyhow::Result<()> {
        self.start_up_with(vehicles, &[])
    }

    pub fn start_up_with(&mut self, vehicles: &[&str], flags: &[&str]) -> anyhow::Result<()> {
        let up = self.station(vehicles)?.args(flags).start()?;
        up.wait_for_line(PATIENCE, |line| line.starts_with("Skein is up."))?;
        self.up = Some(up);
        Ok(())
    }

    pub fn up(&self) -> anyhow::Result<&Process> {
        self.up.as_ref().context("skein up does not run")
    }

    pub fn kill_up(&mut self) -> anyhow::Result<()> {
        self.up.take().context("skein up does not run")?.kill();
        Ok(())
    }

    pub fn end_up(&mut self) -> anyhow::Result<String> {
        let up = self.up.take().context("skein up does not run")?;
        up.signal(Signal::SIGINT)?;
        let status = up.wait_for_exit(PATIENCE)?;
        ensure!(status.success(), "{status}: {}", up.tail());
        Ok(up.stdout())
    }

    pub fn enrolled(&self, node: &str) -> anyhow::Result<PathBuf> {
        let files = self.scratch.path().join(format!("enrolled-{node}"));
        if !files.exists() {
            let out = files.display().to_string();
            self.skein_says(&["enroll", node, "--out", &out])?;
        }
        Ok(files)
    }

    pub fn start_agent(&mut self, vehicle: &str) -> anyhow::Result<()> {
        self.start_agent_with(vehicle, &[])
    }

    pub fn start_agent_with(&mut self, vehicle: &str, settings: &[(&str, String)]) -> anyhow::Result<()> {
        let files = self.enrolled(vehicle)?;
        let mut agent = Launch::workspace("skein-agent")?
            .env("NODE", vehicle)
            .env("SKEIN_LINK", self.link(vehicle))
            .env("SKEIN_COORDINATOR", format!("https://127.0.0.1:{}", self.port))
            .env("SKEIN_COORDINATOR_CA", files.join("ca.crt"))
            .env("SKEIN_CLIENT_CERT", files.join("agent.crt"))
            .env("SKEIN_CLIENT_KEY", files.join("agent.key"))
            .env("SKEIN_FLIGHT_LOG_DIR", self.flight_logs())
            .arg("--state-dir")
            .arg(self.scratch.folder("state")?)
            .logs_in(self.scratch.path().join("logs"));
        for (name, value) in settings {
            agent = agent.env(name, value);
        }
        self.agent = Some(agent.start()?);
        Ok(())
    }

    pub fn flight_logs(&self) -> PathBuf {
        self.scratch.path().join("flight-logs")
    }

    pub fn kill_agent(&mut self) -> anyhow::Result<()> {
        self.agent.take().context("no agent runs")?.kill();
        Ok(())
    }

    pub fn person(&self) -> anyhow::Result<Launch> {
        Ok(Launch::workspace("skein")?
            .env("SKEIN_STATION", self.data())
            .logs_in(self.scratch.path().join("logs")))
    }

    pub fn remember(&self, state: &Value) -> anyhow::Result<()> {
        let file = self.scratch.folder("state")?.join("state.json");
        Ok(std::fs::write(file, state.to_string())?)
    }

    pub fn wire(&self, vehicle: &str) -> Wire {
        Wire(self.scratch.path().join("wire").join(format!("{vehicle}.tlog")))
    }

    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    pub fn read(&self, path: &str) -> anyhow::Result<Value> {
        self.kubectl.read(&format!("/apis/skein.dev/v1alpha1/{path}"))
    }

    pub fn fly(&self, replicas: usize, altitude: f64) -> anyhow::Result<()> {
        let swarm = serde_json::json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": "alpha", "namespace": "default"},
            "spec": {"replicas": replicas, "template": {"spec": {"takeoffAltitudeMeters": altitude}}},
        });
        self.kubectl.apply(&swarm.to_string()).map(drop)
    }

    pub fn wait_ready(&self, swarm: &str) -> anyhow::Result<()> {
        let timeout = format!("--timeout={}s", PATIENCE.as_secs());
        let waited = self
            .kubectl
            .run(["wait", "--for=condition=Ready", &format!("swarm/{swarm}"), &timeout]);
        waited.map(drop).map_err(|error| self.explain(error))
    }

    pub fn drones(&self) -> anyhow::Result<Vec<[String; 3]>> {
        let list = self.read("namespaces/default/drones")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let drone = |d: &Value| {
            [
                text(&d["metadata"]["name"]),
                text(&d["metadata"]["uid"]),
                text(&d["spec"]["nodeName"]),
            ]
        };
        Ok(list["items"].as_array().into_iter().flatten().map(drone).collect())
    }

    /// Waits until these are at their altitude and all others not armed, by their own messages.
    pub fn wait_in_air(&self, wanted: &[&str]) -> anyhow::Result<()> {
        let result = wait_for(format!("{wanted:?} in the air"), PATIENCE, || {
            for vehicle in &self.vehicles {
                let said = self.wire(vehicle).said();
                let fits = if wanted.contains(&vehicle.as_str()) {
                    said.in_air()
                } else {
                    said.not_flying()
                };
                ensure!(fits, "{vehicle} says {said:?}");
            }
            Ok(())
        });
        result.map_err(|error| self.explain(error))
    }

    pub fn skein(&self, args: &[&str]) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.skein_says(args)?)?)
    }

    pub fn skein_says(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut command = std::process::Command::new(testkit::launch::workspace_binary("skein")?);
        command
            .args(args)
            .env("SKEIN_STATION", self.data())
            .env_remove("KUBECONFIG");
        let output = testkit::run::output(command, None, Duration::from_secs(15))?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    pub fn readiness(&self, node: &str) -> anyhow::Result<[String; 2]> {
        let node = self.kubectl.read(&format!("/api/v1/nodes/{node}"))?;
        let conditions = node["status"]["conditions"].as_array();
        let ready = conditions.into_iter().flatten().find(|c| c["type"] == "Ready");
        let ready = ready.context("it has no Ready condition yet")?;
        Ok(["status", "reason"].map(|field| ready[field].as_str().unwrap_or_default().to_owned()))
    }

    pub fn wait_readiness(&self, node: &str, status: &str, reason: &str) -> anyhow::Result<()> {
        let result = wait_for(format!("node {node} to be {reason}"), PATIENCE, || {
            let seen = self.readiness(node)?;
            ensure!(seen == [status, reason], "{seen:?}");
            Ok(())
        });
        result.map_err(|error| self.explain(error))
    }

    pub fn wait_inventory(&self, wanted: &str) -> anyhow::Result<()> {
        let columns =
            r#"jsonpath={range .items[*]}{.spec.nodeName}: {.status.conditions[?(@.type=="Free")].reason}; {end}"#;
        let result = wait_for(format!("the inventory to say {wanted}"), PATIENCE, || {
            let sorted = ["get", "vehicles", "--sort-by=.spec.nodeName", "-o", columns];
            let seen = self.kubectl.run(sorted)?;
            ensure!(seen.trim_end_matches("; ") == wanted, "{seen}");
            Ok(())
        });
        result.map_err(|error| self.explain(error))
    }

    pub fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let seen = self
            .kubectl
            .run(["get", "nodes,swarms,drones,vehicles", "-o", "wide"])
            .unwrap_or_default();
        let mut all = format!("{seen}\n");
        for process in self.up.iter().chain(&self.agent) {
            all += &format!("--- {}\n{}\n", process.name(), process.tail());
        }
        error.context(all)
    }
}
