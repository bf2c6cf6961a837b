//! Coordinator, agent and commands beside real parts of computers and networks: no IPv4, a clock that was never set, a
//! serial port that is named by its socket, a company's proxy. Without root and the packages, a test prints `skipped:`
//! and passes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

use anyhow::{Context, ensure};
use crds::kinds::{ALL, Kind};
use serde_json::{Value, json};
use skein_tests::stage::{PATIENCE, Stage, swarm};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use testkit::control_plane::{Binaries, workspace_root};
use testkit::launch::workspace_binary;
use testkit::prerequisites::on_path;
use testkit::{Embedded, Launch, Process, Scratch, ServedBy, wait_for};

const AT_ONCE: Duration = Duration::from_secs(30);

const SYSTEM: &str = "skein-system";

/// A name that only the proxy can look up.
const BEHIND: &str = "cluster.skein.test";

/// From now back into January of 1970, for some years to come.
const NEVER_SET: &str = "-20780d";

fn faketime() -> Option<PathBuf> {
    let folders = ["x86_64-linux-gnu", "aarch64-linux-gnu"];
    let paths = folders.map(|folder| PathBuf::from(format!("/usr/lib/{folder}/faketime/libfaketimeMT.so.1")));
    paths.into_iter().find(|path| path.is_file())
}

fn with_parts(parts: &[(&str, bool)], test: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let root = ("root", nix::unistd::geteuid().is_root());
    let missing: Vec<&str> = std::iter::once(&root)
        .chain(parts)
        .filter(|(_, is_there)| !is_there)
        .map(|(name, _)| *name)
        .collect();
    if missing.is_empty() {
        return test();
    }
    // Bypasses the test runner's capture, as a test that did not run must not look as if it had.
    writeln!(std::io::stderr(), "skipped: missing here: {}", missing.join(", "))?;
    Ok(())
}

struct WithoutIpv4(Process);

impl WithoutIpv4 {
    fn make() -> anyhow::Result<Self> {
        let make = "ip link set lo up && ip -4 address flush dev lo && echo made && exec sleep infinity";
        let process = Launch::program("unshare").args(["--net", "sh", "-c", make]).start()?;
        process.wait_for_line(AT_ONCE, |line| line == "made")?;
        Ok(Self(process))
    }

    fn launch(&self, program: &Path) -> Launch {
        let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
        Launch::program("nsenter")
            .named(name)
            .args(["--target", &self.0.pid().to_string(), "--net", "--"])
            .arg(program)
    }

    fn run(&self, program: &Path, kubeconfig: &Path, args: &[&str], stdin: Option<&str>) -> anyhow::Result<String> {
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &self.0.pid().to_string(), "--net", "--"])
            .arg(program)
            .args(args)
            .env("KUBECONFIG", kubeconfig);
        let output = testkit::run::output(command, stdin, AT_ONCE)?;
        ensure!(output.status.success(), "{args:?}: {}", said(&output));
        Ok(String::from_utf8(output.stdout)?)
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn crds() -> Vec<String> {
    let folder = workspace_root().join("crds");
    let file = |kind: Kind| folder.join(format!("{}.yaml", kind.plural)).display().to_string();
    ALL.into_iter()
        .flat_map(|kind| ["--crds".to_owned(), file(kind)])
        .collect()
}

#[test]
fn a_fleet_is_served_where_there_is_no_ipv4() -> anyhow::Result<()> {
    with_parts(&[("ip", on_path("ip")), ("unshare", on_path("unshare"))], || {
        let network = WithoutIpv4::make()?;
        let scratch = Scratch::new("skein-ipv6-")?;
        let kubeconfig = scratch.path().join("kubeconfig");
        let api = network
            .launch(&workspace_binary("skein-api")?)
            .args(["--listen", "[::1]:0"])
            .arg("--data-dir")
            .arg(scratch.path().join("data"))
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .args(crds())
            .start()?;
        let ready = api.wait_for_line(PATIENCE, |line| line.starts_with("{\"") && line.contains("\"server\""))?;
        ensure!(ready.contains("https://[::1]:"), "{ready}");
        let kubectl = Binaries::find_or_build()?.path("kubectl");
        let kubectl = |args: &[&str], stdin: Option<&str>| network.run(&kubectl, &kubeconfig, args, stdin);
        kubectl(&["create", "namespace", SYSTEM], None)?;
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "pine", "labels": {"node-role.kubernetes.io/drone": ""}},
        });
        kubectl(&["create", "-f", "-"], Some(&node.to_string()))?;
        let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}).to_string();
        kubectl(
            &[
                "patch",
                "node",
                "pine",
                "--subresource=status",
                "--type=merge",
                "-p",
                &ready,
            ],
            None,
        )?;
        let port = testkit::ports::free_tcp_port()?;
        // The default of every address, which here is one of IPv6 only.
        let coordinator = network
            .launch(&workspace_binary("skein-coordinator")?)
            .args(["--listen", &format!("[::]:{port}"), "--namespace", SYSTEM])
            .args(["--insecure-plaintext", "--insecure-plaintext"])
            .env("KUBECONFIG", &kubeconfig)
            .start()?;
        coordinator.wait_for_line(PATIENCE, |line| line.contains("leading"))?;
        let ports = scratch.folder("ports")?;
        let simulator = Launch::workspace("skein-sitl")?
            .args(["--autopilot", "px4", "--names", "pine", "--speedup", "10"])
            .args(["--link", &format!("pty:{}", ports.display())])
            .start()?;
        simulator.wait_for_line(PATIENCE, |line| line.contains("\"pine\""))?;
        let server = format!("http://[::1]:{port}");
        let _agent = network
            .launch(&workspace_binary("skein-agent")?)
            .env("NODE", "pine")
            .env("SKEIN_LINK", format!("serial:{}:57600", ports.join("pine").display()))
            .env("SKEIN_COORDINATOR", &server)
            .arg("--state-dir")
            .arg(scratch.folder("state")?)
            .start()?;
        let skein = workspace_binary("skein")?;
        wait_for("the vehicle to be shown by skein status", PATIENCE, || {
            let shown = network.run(&skein, &kubeconfig, &["--server", &server, "status"], None)?;
            let row = shown
                .lines()
                .find(|line| line.contains("pine"))
                .context(shown.clone())?;
            ensure!(row.contains("AUTO.LOITER"), "{row}");
            Ok(())
        })?;
        wait_for("a Vehicle object of it", PATIENCE, || {
            let list: Value = serde_json::from_str(&kubectl(&["get", "vehicles", "-o", "json"], None)?)?;
            let name = list["items"][0]["metadata"]["name"].as_str();
            ensure!(name.is_some_and(|name| name.starts_with("pine-")), "{list}");
            Ok(())
        })?;
        let drone = json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": "solo", "namespace": "default"},
            "spec": {"takeoffAltitudeMeters": 5},
        });
        kubectl(&["apply", "-f", "-"], Some(&drone.to_string()))?;
        wait_for("the Drone to fly", PATIENCE, || {
            let drone: Value = serde_json::from_str(&kubectl(&["get", "drone", "solo", "-o", "json"], None)?)?;
            ensure!(drone["status"]["flying"] == true, "{}", drone["status"]);
            Ok(())
        })?;
        let station = testkit::ports::free_tcp_port()?;
        let _connect = network
            .launch(&skein)
            .args(["--server", &server, "connect", "default/solo"])
            .args(["--listen", &format!("tcp:[::1]:{station}")])
            .env("KUBECONFIG", &kubeconfig)
            .start()?;
        wait_for("a frame at the port of a ground station", PATIENCE, || {
            let read = format!("timeout 10 head -c 1 </dev/tcp/::1/{station} | od -An -tu1");
            let first = network.run(Path::new("bash"), &kubeconfig, &["-c", &read], None)?;
            ensure!(first.trim() == "253", "it begins with {first:?}");
            Ok(())
        })
    })
}

struct Clock {
    file: PathBuf,
    library: PathBuf,
    link: PathBuf,
    settings: Vec<(&'static str, String)>,
    _scratch: Scratch,
}

impl Clock {
    fn never_set(library: &Path) -> anyhow::Result<Self> {
        let scratch = Scratch::new("skein-clock-")?;
        let file = scratch.path().join("clock");
        let link = scratch.path().join("libfaketime.so");
        let settings = vec![
            ("LD_PRELOAD", link.display().to_string()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
        ];
        let clock = Self {
            file,
            library: library.to_owned(),
            link,
            settings,
            _scratch: scratch,
        };
        clock.set(NEVER_SET)?;
        Ok(clock)
    }

    fn set(&self, offset: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(&self.file, format!("{offset}\n"))?)
    }

    fn stage(&self, served_by: ServedBy) -> anyhow::Result<Stage> {
        let kept = |_: &testkit::Cluster, kubeconfig| Ok(kubeconfig);
        let mut stage = Stage::set_with(served_by, &["pine"], "px4", &[], (kept, self.settings.clone()))?;
        // Programs started before this have the clock of the machine: the loader goes on without a missing library.
        std::os::unix::fs::symlink(&self.library, &self.link)?;
        stage.add_node("pine")?;
        stage.cluster.kubectl().apply(&swarm("default", "alpha", 1, &[]))?;
        Ok(stage)
    }
}

/// The vehicle lands while its agent's clock shows `time`; checks the agent's log since it connected.
fn lands_as_told(stage: &Stage, time: impl Fn(&str) -> bool) -> anyhow::Result<()> {
    stage.skein(&["ground", "alpha"])?;
    let agent = stage.agent("pine")?;
    let landed = |line: &str| time(line) && line.contains("vehicle=Disarmed");
    agent
        .wait_for_line(PATIENCE, landed)
        .map_err(|error| stage.explain(error))?;
    let log = agent.stderr();
    let connections = log.matches("coordinator connected").count();
    ensure!(connections == 1 && !log.contains("link down"), "{log}");
    Ok(())
}

/// The agent names the clock, connects as soon as it is set, and flies on when it is set by an hour in flight.
#[test]
fn in_a_cluster_a_clock_that_was_never_set_is_named_and_its_jumps_disturb_no_flight() -> anyhow::Result<()> {
    let library = faketime();
    with_parts(&[("faketime", library.is_some())], || {
        let clock = Clock::never_set(&library.unwrap_or_default())?;
        let stage = clock.stage(ServedBy::Kubernetes)?;
        let agent = stage.agent("pine")?;
        let named = agent.wait_for_line(PATIENCE, |line| line.contains("check this computer's clock"))?;
        ensure!(named.starts_with("1970-01-"), "{named}");
        clock.set("+0")?;
        agent.wait_for_line(PATIENCE, |line| line.contains("commanding the vehicle step=Arm"))?;
        stage.wait_in_air(&["pine"], 1)?;
        clock.set("-1h")?;
        // Lines bear the time of the clock; this one is an hour before the agent was connected.
        let log = stage.agent("pine")?.stderr();
        let connected = log.lines().find(|line| line.contains("coordinator connected"));
        let connected = connected.context("not connected")?.to_owned();
        lands_as_told(&stage, |line| !line.starts_with("1970-") && line < connected.as_str())
    })
}

#[test]
fn at_a_ground_station_a_clock_that_was_never_set_is_no_obstacle() -> anyhow::Result<()> {
    let library = faketime();
    with_parts(&[("faketime", library.is_some())], || {
        let clock = Clock::never_set(&library.unwrap_or_default())?;
        let stage = clock.stage(ServedBy::Embedded)?;
        stage.wait_in_air(&["pine"], 1)?;
        let log = stage.agent("pine")?.stderr();
        ensure!(log.lines().all(|line| line.starts_with("1970-01-")), "{log}");
        clock.set("+0")?;
        lands_as_told(&stage, |line| line.starts_with("20"))
    })
}

#[test]
fn an_agent_flies_over_a_serial_port_that_is_named_by_its_socket() -> anyhow::Result<()> {
    let devices = Scratch::new("skein-devices-")?;
    let sockets = devices.folder("serial")?.join("by-path");
    std::fs::create_dir_all(&sockets)?;
    let named = sockets.join("pci-0000:00:14.0-usb-0:1.2:1.0-port0");
    let settings = vec![("SKEIN_LINK", format!("serial:{}:57600", named.display()))];
    let kept = |_: &testkit::Cluster, kubeconfig| Ok(kubeconfig);
    let mut stage = Stage::set_with(ServedBy::Embedded, &["pine"], "px4", &[], (kept, settings))?;
    let wire = stage.wire("pine").0;
    let simulator = wire.parent().and_then(Path::parent).context("no folder")?;
    std::os::unix::fs::symlink(simulator.join("ports").join("pine"), &named)?;
    stage.add_node("pine")?;
    stage.cluster.kubectl().apply(&swarm("default", "alpha", 1, &[]))?;
    stage.wait_in_air(&["pine"], 1)?;
    let opened = format!("link opened link=serial:{}:57600", named.display());
    let log = stage.agent("pine")?.stderr();
    ensure!(log.contains(&opened), "{log}");
    Ok(())
}

#[test]
fn a_command_whose_clock_was_never_set_is_told_to_check_it() -> anyhow::Result<()> {
    let library = faketime();
    with_parts(&[("faketime", library.is_some())], || {
        let stage = Stage::set(ServedBy::Kubernetes, &["pine"], "px4", &[])?;
        let status = |offset: &str| -> anyhow::Result<Output> {
            let mut command = Command::new(workspace_binary("skein")?);
            command
                .args(["status"])
                .env("KUBECONFIG", stage.cluster.kubeconfig())
                .env("LD_PRELOAD", library.clone().unwrap_or_default())
                .env("FAKETIME", offset)
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
            testkit::run::output(command, None, AT_ONCE)
        };
        let never_set = status(NEVER_SET)?;
        ensure!(!never_set.status.success(), "it went through");
        let said = said(&never_set);
        ensure!(said.contains("check this computer's clock"), "{said}");
        Ok(())
    })
}

struct Proxy {
    process: Process,
    port: u16,
    _scratch: Scratch,
}

impl Proxy {
    fn start() -> anyhow::Result<Self> {
        let scratch = Scratch::new("skein-proxy-")?;
        let port = testkit::ports::free_tcp_port()?;
        let hosts = scratch.path().join("hosts");
        std::fs::write(&hosts, format!("127.0.0.1 localhost {BEHIND}\n"))?;
        let settings = scratch.path().join("tinyproxy.conf");
        std::fs::write(
            &settings,
            format!("Port {port}\nListen 127.0.0.1\nAllow 127.0.0.1\nTimeout 600\nMaxClients 100\nLogLevel Connect\n"),
        )?;
        let start = "mount --bind \"$0\" /etc/hosts && exec tinyproxy -d -c \"$1\"";
        let process = Launch::program("unshare")
            .named("tinyproxy")
            .args(["--mount", "sh", "-c", start])
            .arg(&hosts)
            .arg(&settings)
            .start()?;
        process.wait_until("the proxy to answer", AT_ONCE, || {
            Ok(std::net::TcpStream::connect(("127.0.0.1", port))?)
        })?;
        Ok(Self {
            process,
            port,
            _scratch: scratch,
        })
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        let log = self.process.stdout() + &self.process.stderr();
        let host = |line: &str| Some(line.split_once("CONNECT ")?.1.split_once(' ')?.0.to_owned());
        let requests = log.lines().filter(|line| line.contains("Request (file descriptor"));
        requests.filter_map(|line| host(line.split_once("): ")?.1)).collect()
    }
}

fn behind(api: &Embedded, folder: &Path) -> anyhow::Result<PathBuf> {
    let mut kubeconfig: Value = serde_json::from_str(&std::fs::read_to_string(api.kubeconfig())?)?;
    let (_, port) = api.server().rsplit_once(':').context("a server without a port")?;
    let cluster = &mut kubeconfig["clusters"][0]["cluster"];
    cluster["server"] = json!(format!("https://{BEHIND}:{port}"));
    cluster["tls-server-name"] = json!("localhost");
    let path = folder.join("behind");
    std::fs::write(&path, kubeconfig.to_string())?;
    Ok(path)
}

#[test]
fn a_cluster_is_reached_through_a_real_proxy_and_loopback_never() -> anyhow::Result<()> {
    let parts = [("tinyproxy", on_path("tinyproxy")), ("unshare", on_path("unshare"))];
    with_parts(&parts, || {
        let api = Embedded::start()?;
        api.kubectl().run(["create", "namespace", SYSTEM])?;
        let proxy = Proxy::start()?;
        let scratch = Scratch::new("skein-behind-")?;
        let behind = behind(&api, scratch.path())?;
        let coordinator = |kubeconfig: &Path, variables: &[(&str, &str)]| -> anyhow::Result<Process> {
            let port = testkit::ports::free_tcp_port()?;
            let launch = Launch::workspace("skein-coordinator")?
                .args(["--listen", &format!("127.0.0.1:{port}"), "--namespace", SYSTEM])
                .arg("--insecure-plaintext")
                .env("KUBECONFIG", kubeconfig);
            launch.envs(variables.iter().copied()).start()
        };
        let leads = |process: Process| -> anyhow::Result<()> {
            process.wait_for_line(PATIENCE, |line| line.contains("leading"))?;
            process.stop(AT_ONCE)?;
            Ok(())
        };
        let url = proxy.url();
        leads(coordinator(&behind, &[("HTTPS_PROXY", &url)])?)?;
        let asked = proxy
            .process
            .wait_until("the coordinator to ask the proxy", AT_ONCE, || {
                let asked = proxy.asked();
                ensure!(!asked.is_empty(), "nothing was asked");
                Ok(asked)
            })?;
        ensure!(asked.iter().all(|host| host.starts_with(BEHIND)), "{asked:?}");
        let idle = Proxy::start()?;
        let url = idle.url();
        let excepted = coordinator(&behind, &[("HTTPS_PROXY", &url), ("NO_PROXY", "localhost,.skein.test")])?;
        excepted.wait_for_line(PATIENCE, |line| line.contains("dns error"))?;
        excepted.stop(AT_ONCE)?;
        leads(coordinator(api.kubeconfig(), &[("HTTPS_PROXY", &url)])?)?;
        ensure!(idle.asked().is_empty(), "{:?}", idle.asked());

        let status = |kubeconfig: &Path, proxy: Option<&str>| -> anyhow::Result<String> {
            let mut command = Command::new(workspace_binary("skein")?);
            command.arg("status").env("KUBECONFIG", kubeconfig);
            for name in ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"] {
                command.env_remove(name);
            }
            command.envs(proxy.map(|url| ("HTTPS_PROXY", url)));
            Ok(said(&testkit::run::output(command, None, AT_ONCE)?))
        };
        // A coordinator without TLS publishes no authority, which only the API server can tell.
        let not_published = "has not published its certificate authority yet";
        let through = status(&behind, Some(&url))?;
        ensure!(through.contains(not_published), "{through}");
        idle.process.wait_until("the command to ask the proxy", AT_ONCE, || {
            ensure!(!idle.asked().is_empty(), "nothing was asked");
            Ok(())
        })?;
        let without = status(&behind, None)?;
        ensure!(without.contains("dns error"), "{without}");
        let closed = "http://127.0.0.1:1";
        let on_this_computer = status(api.kubeconfig(), Some(closed))?;
        ensure!(on_this_computer.contains(not_published), "{on_this_computer}");
        let no_proxy_there = status(&behind, Some(closed))?;
        ensure!(no_proxy_there.contains("Connection refused"), "{no_proxy_there}");
        let no_url = status(&behind, Some("nonsense://"))?;
        ensure!(no_url.contains("write the proxy as http://HOST:PORT"), "{no_url}");
        Ok(())
    })
}
