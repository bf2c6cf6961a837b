//! Real autopilots, each on a wire of ours; an API, a coordinator and agents as processes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use model::geo::shifted;
use model::units::Wgs84;
use serde_json::{Value, json};
use testkit::autopilots::{Autopilot, Firmware, HOME, Instance, Settings, Stack};
use testkit::control_plane::Binaries;
use testkit::{Embedded, Kubectl, Launch, Process, wait_for};

use crate::objects::{Objects, is};
use crate::pilot::Pilot;
use crate::record::Record;
use crate::relay::{Fault, Relay, Way};

pub const SWARM: &str = "alpha";

const SYSTEM: &str = "skein-system";

/// Time for a busy machine, besides the time in the air.
const SLACK: Duration = Duration::from_secs(45);

pub const NODES: [&str; 6] = ["node-1", "node-2", "node-3", "node-4", "node-5", "node-6"];

#[derive(Clone, Debug)]
pub struct Setup {
    pub vehicles: usize,
    /// Home of the first: latitude and longitude in degrees, altitude above mean sea level in meters.
    pub home: [f64; 3],
    /// Meters between homes; the first is the westernmost.
    pub apart: f64,
    pub mixed: bool,
    pub versions: bool,
    pub ardupilot: Vec<(&'static str, f64)>,
    pub px4: Vec<(&'static str, f64)>,
    /// Baud, in the vehicle's time. PX4 fills half of the line with what was not requested.
    pub baud: Option<u32>,
    pub agent: Vec<String>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            vehicles: 1,
            home: HOME,
            apart: 0.0,
            mixed: false,
            versions: false,
            ardupilot: vec![],
            px4: vec![],
            baud: None,
            agent: vec![],
        }
    }
}

/// Fields are dropped in this order.
pub struct Vehicle {
    pub pilot: Pilot,
    pub relay: Relay,
    pub autopilot: Autopilot,
}

pub struct Field {
    agents: BTreeMap<String, Process>,
    coordinator: Option<Process>,
    objects: Objects,
    vehicles: BTreeMap<&'static str, Vehicle>,
    pub api: Embedded,
    pub stack: Stack,
    pub speedup: u32,
    setup: Setup,
    port: u16,
    metrics_port: u16,
}

/// Set by `cargo xtask fly --repeat-versions`.
const REPEAT_VERSIONS: &str = "SKEIN_FLY_REPEAT_VERSIONS";

pub fn may_repeat_versions() -> bool {
    std::env::var_os(REPEAT_VERSIONS).is_some()
}

/// The newest first, both stacks in turn.
fn each_version(wanted: usize) -> anyhow::Result<Vec<Firmware>> {
    let [copters, px4] = Stack::ALL.map(|stack| {
        let mut all = Firmware::all(stack).programs;
        all.reverse();
        all
    });
    ensure!(
        !copters.is_empty() && !px4.is_empty(),
        "it needs an ArduCopter and a PX4 in ~/.cache/skein/autopilots, best two versions of each"
    );
    let count = copters.len().max(px4.len());
    let turn = |number: usize| [copters.get(number).cloned(), px4.get(number).cloned()];
    let all: Vec<Firmware> = (0..count).flat_map(turn).flatten().collect();
    ensure!(
        all.len() >= wanted || may_repeat_versions(),
        "it needs {wanted} programs of different versions, and found {} ({}); put more into ~/.cache/skein/autopilots, or say --repeat-versions",
        all.len(),
        all.iter().map(Firmware::name).collect::<Vec<_>>().join(", ")
    );
    Ok(all)
}

impl Field {
    pub fn new(firmware: &Firmware, speedup: u32, setup: Setup) -> anyhow::Result<Self> {
        let api = Embedded::start_with(Binaries::kubectl()?)?;
        api.kubectl().run(["create", "namespace", SYSTEM])?;
        let objects = Objects::watch(api.kubectl())?;
        let mut field = Self {
            agents: BTreeMap::new(),
            coordinator: None,
            objects,
            vehicles: BTreeMap::new(),
            api,
            stack: firmware.stack(),
            speedup,
            port: testkit::ports::free_tcp_port()?,
            metrics_port: testkit::ports::free_tcp_port()?,
            setup,
        };
        field.start_coordinator()?;
        let other = field.setup.mixed.then(|| Firmware::find(firmware.stack().other()));
        let other = other.transpose()?;
        let versions = match field.setup.versions {
            true => each_version(field.setup.vehicles)?,
            false => Vec::new(),
        };
        for (number, node) in NODES.into_iter().take(field.setup.vehicles).enumerate() {
            let firmware = other.as_ref().filter(|_| number % 2 == 1).unwrap_or(firmware);
            let firmware = versions.get(number % versions.len().max(1)).unwrap_or(firmware);
            field.add_vehicle(node, firmware)?;
        }
        Ok(field)
    }

    fn add_vehicle(&mut self, node: &'static str, firmware: &Firmware) -> anyhow::Result<()> {
        let folder = self.folder("wire")?;
        let relay = Relay::start(File::create(folder.join(format!("{node}.tlog")))?, 7)?;
        relay.set_both(Fault {
            bytes_per_second: Some(self.bytes_per_second()),
            ..Fault::NONE
        });
        let mut settings = Settings {
            speedup: self.speedup,
            serial: Some((relay.autopilot_port(), self.baud())),
            ..Settings::default()
        };
        let east = self.setup.apart * f64::from(u32::try_from(self.vehicles.len())?);
        let [latitude_deg, longitude_deg, altitude] = self.setup.home;
        let first = Wgs84 {
            latitude_deg,
            longitude_deg,
        };
        let at = shifted(first, east, 0.0);
        settings.home = [at.latitude_deg, at.longitude_deg, altitude];
        let own = match firmware.stack() {
            Stack::ArduPilot => &self.setup.ardupilot,
            Stack::Px4 => &self.setup.px4,
        };
        // A battery that lasts, unless the scenario is about it. PX4's never goes below half.
        let drains = own.iter().any(|(name, _)| name.starts_with("SIM_BATT"));
        let lasting: &[_] = match firmware.stack() {
            Stack::ArduPilot if !drains => &[("SIM_BATT_CAP_AH", 60.0), ("BATT_CAPACITY", 60_000.0)],
            _ => &[],
        };
        for (name, value) in lasting.iter().chain(own) {
            settings = settings.parameter(name, *value);
        }
        let autopilot = Autopilot::start(firmware.clone(), Instance::claim()?, settings)?;
        let vehicle = Vehicle {
            pilot: Pilot::at(&autopilot)?,
            relay,
            autopilot,
        };
        self.vehicles.insert(node, vehicle);
        self.api.create_node(node, &[("node-role.kubernetes.io/drone", "")])?;
        self.start_agent(node)
    }

    /// As on companion computers; less in a faster time, as a fast PX4 sends too much on such a line for two cores.
    fn baud(&self) -> u32 {
        self.setup
            .baud
            .unwrap_or(if self.speedup == 1 { 921_600 } else { 230_400 })
    }

    /// By the real clock.
    fn bytes_per_second(&self) -> u32 {
        self.baud() / 10 * self.speedup
    }

    fn folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        Ok(self.api.scratch().folder(name)?)
    }

    pub fn start_coordinator(&mut self) -> anyhow::Result<()> {
        let process = Launch::workspace("skein-coordinator")?
            .args(["--listen", &format!("127.0.0.1:{}", self.port), "--namespace", SYSTEM])
            .arg("--insecure-plaintext")
            .args(["--metrics-listen", &format!("127.0.0.1:{}", self.metrics_port)])
            .env("KUBECONFIG", self.api.kubeconfig())
            .logs_in(self.folder("logs")?)
            .start()?;
        self.coordinator = Some(process);
        Ok(())
    }

    pub fn metric(&self, sample: &str) -> anyhow::Result<f64> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.metrics_port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: coordinator\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let value = text.lines().find_map(|line| line.strip_prefix(sample));
        value
            .with_context(|| format!("no {sample} in {text}"))?
            .trim()
            .parse()
            .context("no number")
    }

    pub fn kill_coordinator(&mut self) {
        if let Some(process) = self.coordinator.take() {
            process.kill();
        }
    }

    pub fn start_agent(&mut self, node: &str) -> anyhow::Result<()> {
        let port = self.vehicle(node).relay.agent_port();
        let process = Launch::workspace("skein-agent")?
            .named(format!("skein-agent-{node}"))
            .env("NODE", node)
            .env("SKEIN_LINK", format!("serial:{}:{}", port.display(), self.baud()))
            .env("SKEIN_COORDINATOR", format!("http://127.0.0.1:{}", self.port))
            .arg("--state-dir")
            .arg(self.folder(&format!("state-{node}"))?)
            .args(&self.setup.agent)
            .logs_in(self.folder("logs")?)
            .start()?;
        self.agents.insert(node.to_owned(), process);
        Ok(())
    }

    pub fn write_secret(&self, name: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
        let path = self.api.scratch().path().join(name);
        let mut options = File::options();
        options
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path)?
            .write_all(bytes)?;
        Ok(path)
    }

    pub fn more_agent_arguments(&mut self, arguments: impl IntoIterator<Item = String>) {
        self.setup.agent.extend(arguments);
    }

    pub fn kill_agent(&mut self, node: &str) {
        if let Some(process) = self.agents.remove(node) {
            process.kill();
        }
    }

    pub fn agent(&self, node: &str) -> anyhow::Result<&Process> {
        self.agents.get(node).with_context(|| format!("{node} has no agent"))
    }

    /// Panics when there is none: scenarios name only those that they started.
    pub fn vehicle(&self, node: &str) -> &Vehicle {
        &self.vehicles[node]
    }

    pub fn vehicle_mut(&mut self, node: &str) -> anyhow::Result<&mut Vehicle> {
        self.vehicles
            .get_mut(node)
            .with_context(|| format!("there is no {node}"))
    }

    pub fn nodes(&self) -> Vec<&'static str> {
        self.vehicles.keys().copied().collect()
    }

    pub fn record(&self, node: &str) -> std::sync::MutexGuard<'_, Record> {
        self.vehicle(node).relay.record()
    }

    pub fn fault(&self, node: &str, ways: &[Way], fault: Fault) {
        for way in ways {
            let bytes_per_second = fault.bytes_per_second.or(Some(self.bytes_per_second()));
            self.vehicle(node).relay.set(
                *way,
                Fault {
                    bytes_per_second,
                    ..fault
                },
            );
        }
    }

    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    pub fn kubectl(&self) -> &Kubectl {
        self.api.kubectl()
    }

    pub fn read(&self, path: &str) -> anyhow::Result<Value> {
        self.kubectl().read(&format!("/apis/skein.dev/v1alpha1/{path}"))
    }

    pub fn fly(&self, replicas: usize, meters: f64) -> anyhow::Result<()> {
        self.fly_with(replicas, meters, &json!({}))
    }

    pub fn fly_with(&self, replicas: usize, meters: f64, failsafe: &Value) -> anyhow::Result<()> {
        let swarm = json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": SWARM},
            "spec": {"replicas": replicas, "template": {"spec": {
                "takeoffAltitudeMeters": meters, "failsafe": failsafe,
            }}},
        });
        self.kubectl().apply(&swarm.to_string()).map(drop)
    }

    pub fn start_skein(&self, args: &[&str]) -> anyhow::Result<Process> {
        Launch::workspace("skein")?
            .args(["--server", &format!("http://127.0.0.1:{}", self.port)])
            .args(args)
            .logs_in(self.folder("logs")?)
            .start()
    }

    pub fn skein(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut command = std::process::Command::new(testkit::launch::workspace_binary("skein")?);
        command
            .args(["--server", &format!("http://127.0.0.1:{}", self.port)])
            .args(args);
        let output = testkit::run::output(command, None, Duration::from_secs(30))?;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        ensure!(output.status.success(), "skein {args:?}: {said}");
        Ok(said)
    }

    /// `seconds` are of the vehicles' time.
    pub fn wait<T>(&self, what: &str, seconds: u32, probe: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<T> {
        let deadline = Duration::from_secs(u64::from(seconds)) / self.speedup + SLACK;
        wait_for(what, deadline, probe)
    }

    /// Lets so many seconds of the vehicles' time pass, but not less than `least` of real time.
    pub fn pass(&self, seconds: u32, least: Duration) {
        std::thread::sleep((Duration::from_secs(u64::from(seconds)) / self.speedup).max(least));
    }

    /// Waits until exactly these vehicles are in the air, within 1.5 m of their altitude, and no other is armed.
    pub fn wait_in_air(&self, nodes: &[&str], meters: f64) -> anyhow::Result<()> {
        self.wait(&format!("{nodes:?} to be at {meters} m"), 150, || {
            for node in self.nodes() {
                let record = self.record(node);
                let (said, height) = (record.said(), record.height().unwrap_or_default());
                match nodes.contains(&node) {
                    true => ensure!(
                        said.in_air() && (height - meters).abs() < 1.5,
                        "{node}: {said:?} at {height:.1} m"
                    ),
                    false => ensure!(said.not_flying(), "{node} flies: {said:?} at {height:.1} m"),
                }
            }
            Ok(())
        })
    }

    /// Waits until so many are in the air at their altitude and no other is armed; returns which.
    pub fn wait_count_in_air(&self, count: usize, meters: f64) -> anyhow::Result<Vec<&'static str>> {
        self.wait(&format!("{count} in the air at {meters} m"), 200, || {
            let (up, others): (Vec<_>, Vec<_>) = self.nodes().into_iter().partition(|node| {
                let record = self.record(node);
                record.said().in_air() && record.height().is_some_and(|height| (height - meters).abs() < 1.5)
            });
            let armed: Vec<_> = others
                .iter()
                .filter(|node| !self.record(node).said().not_flying())
                .collect();
            ensure!(
                up.len() == count && armed.is_empty(),
                "in the air: {up:?}, armed besides: {armed:?}"
            );
            Ok(up)
        })
    }

    pub fn wait_down(&self, node: &str) -> anyhow::Result<()> {
        self.wait_down_within(120, node)
    }

    pub fn wait_down_within(&self, seconds: u32, node: &str) -> anyhow::Result<()> {
        self.wait(&format!("{node} to be down"), seconds, || {
            let record = self.record(node);
            ensure!(record.said().down(), "{:?} at {:?} m", record.said(), record.height());
            Ok(())
        })
    }

    pub fn wait_ready(&self, node: &str) -> anyhow::Result<()> {
        self.wait(&format!("the Drone of {node} to be Ready"), 60, || {
            let drone = self.objects.of(node).context("there is none")?;
            ensure!(is(&drone, "Ready") && is(&drone, "Flying"), "{}", drone["status"]);
            Ok(())
        })
    }

    pub fn take_off(&self, meters: f64) -> anyhow::Result<()> {
        self.fly(1, meters)?;
        self.wait_in_air(&[NODES[0]], meters)?;
        self.wait_ready(NODES[0])
    }

    pub fn account(&self) -> String {
        let objects = self
            .kubectl()
            .run(["get", "swarms,missions,drones,nodes", "-A", "-o", "wide"])
            .unwrap_or_default();
        let mut all = format!("{objects}\n");
        for node in self.nodes() {
            let record = self.record(node);
            let commands = record.commands_since(0);
            let sent: Vec<String> = commands
                .iter()
                .rev()
                .take(12)
                .rev()
                .map(|c| format!("{:?}", c.command))
                .collect();
            let texts = record.texts_since(0);
            let texts = &texts[texts.len().saturating_sub(12)..];
            all += &format!(
                "--- {node}: {:?} at {:?} m, mode {:?}, silent for at most {:.1} s\n    sent {sent:?}\n    said {texts:?}\n",
                record.said(),
                record.height(),
                record.mode(),
                record.longest_silence().as_secs_f64()
            );
            if let Some(drone) = self.objects.of(node) {
                all += &format!("    status {}\n", drone["status"]);
            }
        }
        for process in self.coordinator.iter().chain(self.agents.values()) {
            all += &format!("--- {}\n{}\n", process.name(), process.tail());
        }
        all
    }
}
