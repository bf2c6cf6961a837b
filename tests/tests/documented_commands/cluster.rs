//! A real control plane with Helm, a real coordinator in the place of its Pods, and a fake kubelet of their node.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;
use testkit::launch::workspace_binary;
use testkit::process::Signal;
use testkit::{ControlPlane, Helm, Launch, Process, Scratch, wait_for};

use crate::{Reader, commands, run};
use skein_tests::certificates::{ClusterAuthority, person};
use skein_tests::kubelet::Kubelet;

const INSTALLS: &str = "deploy/chart/README.md";
const TUTORIAL: &str = "docs/tutorial/cluster.md";
const MOVES: &str = "docs/how-to/move-to-a-cluster.md";
const DEPLOYS: &str = "deploy/README.md";

pub const PAGES: [&str; 4] = [INSTALLS, TUTORIAL, MOVES, DEPLOYS];

const PATIENCE: Duration = Duration::from_secs(60);
const SYSTEM: &str = "skein-system";
const SERVER: &str = "server-1";
const COMPANION: &str = "companion-1";

const MOVED: &str = "moved";

struct Cluster {
    coordinator: Option<Process>,
    _kubelet: Kubelet,
    plane: ControlPlane,
    port: u16,
    scratch: Scratch,
}

impl Cluster {
    fn start(people: &ClusterAuthority) -> anyhow::Result<Self> {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let builder = ControlPlane::builder().client_authority(people.certificate_pem(), people.key_pem());
        let plane = builder.start()?;
        plane.create_nodes(&[SERVER, COMPANION], &[])?;
        let port = testkit::ports::free_tcp_port()?;
        let kubelet = Kubelet::start(([127, 0, 0, 1], port).into());
        let endpoint = json!({"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.address.port()}},
        }});
        let cluster = Self {
            coordinator: None,
            _kubelet: kubelet,
            plane,
            port,
            scratch: Scratch::new("skein-cluster-")?,
        };
        for node in [SERVER, COMPANION] {
            cluster.patch_status(&["node", node], &endpoint)?;
        }
        Ok(cluster)
    }

    fn patch_status(&self, what: &[&str], to: &serde_json::Value) -> anyhow::Result<()> {
        let to = to.to_string();
        let args = [&["patch"], what, &["--subresource=status", "--type=merge", "-p", &to]].concat();
        self.plane.kubectl().run(args).map(drop)
    }

    fn run_coordinator(&mut self) -> anyhow::Result<()> {
        self.coordinator = None;
        let pods = wait_for("two Pods of the coordinator on nodes", PATIENCE, || {
            let label = "app.kubernetes.io/name=skein-coordinator";
            let pods = self.plane.kubectl().json(["-n", SYSTEM, "get", "pods", "-l", label])?;
            let items = pods["items"].as_array().cloned().unwrap_or_default();
            let placed = items
                .iter()
                .filter(|pod| pod["spec"]["nodeName"].is_string() && !pod["metadata"]["deletionTimestamp"].is_string())
                .filter_map(|pod| Some(pod["metadata"]["name"].as_str()?.to_owned()));
            let names: Vec<String> = placed.collect();
            ensure!(names.len() == 2, "{names:?}");
            Ok(names)
        })?;
        for pod in &pods {
            let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
            self.patch_status(&["pod", pod, "-n", SYSTEM], &ready)?;
        }
        self.start_coordinator(&pods[0])
    }

    fn start_coordinator(&mut self, pod: &str) -> anyhow::Result<()> {
        // A ServiceAccount that was installed again is another one.
        let former = self
            .plane
            .scratch()
            .path()
            .join(format!("{SYSTEM}.skein-coordinator.kubeconfig"));
        if former.exists() {
            std::fs::remove_file(former)?;
        }
        let kubeconfig = self.plane.service_account_kubeconfig(SYSTEM, "skein-coordinator")?;
        let coordinator = Launch::workspace("skein-coordinator")?
            .env("KUBECONFIG", kubeconfig)
            .env("HOSTNAME", pod)
            .args(["--listen", &format!("127.0.0.1:{}", self.port), "--namespace", SYSTEM])
            .logs_in(self.scratch.folder("logs")?)
            .start()?;
        self.coordinator = Some(coordinator);
        Ok(())
    }

    fn remove(&mut self, helm: &Helm) -> anyhow::Result<()> {
        if let Some(coordinator) = self.coordinator.take() {
            coordinator.signal(Signal::SIGTERM)?;
            coordinator.wait_for_exit(PATIENCE)?;
        }
        let kubeconfig = self.plane.kubeconfig().display().to_string();
        helm.run(["uninstall", "skein", "--namespace", SYSTEM, "--kubeconfig", &kubeconfig])?;
        for binding in [
            "-n field rolebinding/pilots",
            "-n skein-system rolebinding/pilots",
            "clusterrolebinding/pilots-skein",
            "clusterrolebinding/pilots-ground-all",
            "clusterrole/ground-all",
        ] {
            let args = ["delete", "--ignore-not-found"].into_iter().chain(binding.split(' '));
            self.plane.kubectl().run(args)?;
        }
        Ok(())
    }
}

fn station(reader: &Reader, plane: &ControlPlane) -> anyhow::Result<Process> {
    let data = reader.home().join(".local/share/skein");
    let up = Launch::workspace("skein")?
        .args([
            "up",
            "--listen",
            &format!("127.0.0.1:{}", testkit::ports::free_tcp_port()?),
            "--data-dir",
        ])
        .arg(&data)
        .logs_in(reader.home())
        .start()?;
    up.wait_for_line(PATIENCE, |line| line.starts_with("Skein is up."))?;
    let swarm = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm",
        "metadata": {"name": MOVED, "namespace": "default"}, "spec": {"replicas": 2, "grounded": true}});
    plane.kubectl_as(data.join("kubeconfig")).apply(&swarm.to_string())?;
    Ok(up)
}

#[test]
fn each_command_for_a_cluster_does_what_its_page_says() -> anyhow::Result<()> {
    let people = ClusterAuthority::make();
    let mut cluster = Cluster::start(&people)?;
    let helm = Helm::find_or_build()?;
    let mut reader = Reader::new(cluster.plane.kubectl())?;
    reader.has("helm", helm.command([""; 0]).get_program().as_ref())?;
    reader.has("skein", &workspace_binary("skein")?)?;
    let anna = people.sign(&person("anna", &[]));
    let anna = cluster
        .plane
        .certificate_kubeconfig("anna", anna.certificate_pem(), anna.key_pem())?;

    follow(&mut cluster, &reader, INSTALLS)?;
    cluster.remove(&helm)?;
    // The steps from 5 on are for the person who was given the rights.
    let steps = commands(TUTORIAL)?;
    let own = steps
        .iter()
        .position(|line| line.starts_with("skein"))
        .context("nobody uses skein")?;
    follow_lines(&mut cluster, &reader, TUTORIAL, &steps[..own])?;
    let administrator = std::mem::replace(&mut reader.kubeconfig, anna);
    follow_lines(&mut cluster, &reader, TUTORIAL, &steps[own..])?;
    reader.kubeconfig = administrator;
    let up = station(&reader, &cluster.plane)?;
    follow(&mut cluster, &reader, MOVES)?;
    cluster.plane.kubectl().run(["get", "swarm", MOVED])?;
    up.stop(PATIENCE)?;
    cluster.remove(&helm)?;
    follow(&mut cluster, &reader, DEPLOYS)
}

fn follow(cluster: &mut Cluster, reader: &Reader, page: &str) -> anyhow::Result<()> {
    follow_lines(cluster, reader, page, &commands(page)?)
}

fn follow_lines(cluster: &mut Cluster, reader: &Reader, page: &str, lines: &[String]) -> anyhow::Result<()> {
    for line in lines {
        let line = line.replace(" NODE ", &format!(" {COMPANION} "));
        if line.starts_with("skein") {
            // A coordinator that has just been started is not ready yet, and a new right takes a moment.
            wait_for(format!("`{line}` to be done"), PATIENCE, || {
                run(page, &line, reader.shell(&line))
            })?;
        } else {
            run(page, &line, reader.shell(&line))?;
        }
        if line.starts_with("helm install") && page != INSTALLS {
            cluster.run_coordinator()?;
        }
        if line.contains("term-epoch") {
            // Its Pod would be started again.
            let former = cluster.coordinator.take().context("no coordinator runs")?;
            former.wait_for_exit(PATIENCE)?;
            cluster.start_coordinator("skein-coordinator-restarted")?;
        }
    }
    Ok(())
}
