//! The surroundings of a measured fleet: an API with a Node object for each vehicle, and a coordinator as a process.

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Node, ServiceAccount};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;
use testkit::launch::workspace_binary;
use testkit::{Cluster, Launch, Process, ServedBy, wait_for};

use crate::SYSTEM;
use crate::large_fleet::agents::node;
use crate::large_fleet::way;

const PATIENCE: Duration = Duration::from_secs(120);

const AT_A_TIME: usize = 32;

pub struct Place {
    pub client: Client,
    cluster: Cluster,
    kubeconfig: PathBuf,
    started: usize,
    security: Security,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Security {
    Plain,
    /// TLS, with a token for each agent that is bound to its node.
    Tokens,
}

pub struct Coordinator {
    pub process: Process,
    pub address: String,
    metrics: String,
}

impl Place {
    pub async fn start(served_by: ServedBy, count: usize, security: Security) -> anyhow::Result<Self> {
        let cluster = Cluster::start(served_by, &["deploy/namespace.yaml"], &["deploy/rbac.yaml"])?;
        let kubeconfig = cluster.service_account_kubeconfig(SYSTEM, "skein-coordinator")?;
        let admin = kube::config::Kubeconfig::read_from(cluster.kubeconfig())?;
        let config = kube::Config::from_custom_kubeconfig(admin, &kube::config::KubeConfigOptions::default()).await?;
        let place = Self {
            client: Client::try_from(config)?,
            cluster,
            kubeconfig,
            started: 0,
            security,
        };
        let nodes: Api<Node> = Api::all(place.client.clone());
        stream::iter(0..count)
            .map(|number| make(nodes.clone(), node(number), None))
            .buffer_unordered(AT_A_TIME)
            .try_collect::<()>()
            .await?;
        Ok(place)
    }

    pub async fn add_node(&self, name: &str, label: (String, String)) -> anyhow::Result<()> {
        make(Api::all(self.client.clone()), name.to_owned(), Some(label)).await
    }

    pub fn coordinator(&mut self, listen: &str) -> anyhow::Result<Coordinator> {
        self.coordinator_on(listen, None)
    }

    /// `cpus`: those that it may use, as taskset(1) takes them.
    pub fn coordinator_on(&mut self, listen: &str, cpus: Option<&str>) -> anyhow::Result<Coordinator> {
        self.started += 1;
        let file = |name: &str| self.cluster.scratch().path().join(format!("{name}-{}", self.started));
        let (listen_file, metrics_file) = (file("address"), file("metrics"));
        let launch = match cpus {
            None => Launch::workspace("skein-coordinator")?,
            Some(cpus) => Launch::program("taskset")
                .named("skein-coordinator")
                .args(["--cpu-list", cpus])
                .arg(workspace_binary("skein-coordinator")?),
        };
        let process = launch
            .env("KUBECONFIG", &self.kubeconfig)
            .args([
                "--listen",
                listen,
                "--namespace",
                SYSTEM,
                "--metrics-listen",
                "127.0.0.1:0",
            ])
            .args((self.security == Security::Plain).then_some("--insecure-plaintext"))
            .arg("--listen-file")
            .arg(&listen_file)
            .arg("--metrics-listen-file")
            .arg(&metrics_file)
            .start()?;
        let read_from = |file: &PathBuf| {
            wait_for("the coordinator's address", PATIENCE, || {
                process.ensure_running()?;
                Ok(std::fs::read_to_string(file)?)
            })
        };
        let (address, metrics) = (read_from(&listen_file)?, read_from(&metrics_file)?);
        let coordinator = Coordinator {
            process,
            address,
            metrics,
        };
        wait_for("the coordinator to lead", PATIENCE, || {
            let read_from = coordinator.get("/metrics")?;
            ensure!(read_from.contains("skein_leader 1\n"), "it does not lead");
            Ok(())
        })?;
        Ok(coordinator)
    }

    pub async fn credentials(&self, count: usize) -> anyhow::Result<Option<PathBuf>> {
        if self.security == Security::Plain {
            return Ok(None);
        }
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), SYSTEM);
        let map = maps.get("skein-ca").await?;
        let authority = map.data.and_then(|mut data| data.remove("ca.crt"));
        let authority = authority.context("the coordinator has published no authority")?;
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), SYSTEM);
        let tokens: Vec<String> = stream::iter(0..count)
            .map(|number| token(accounts.clone(), node(number)))
            .buffered(AT_A_TIME)
            .try_collect()
            .await?;
        let folder = self.cluster.scratch().path().join("credentials");
        way::write(&folder, &authority, &tokens)?;
        Ok(Some(folder))
    }
}

async fn token(accounts: Api<ServiceAccount>, node: String) -> anyhow::Result<String> {
    let request: TokenRequest = serde_json::from_value(json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {
            "audiences": ["skein-coordinator"], "expirationSeconds": 7200,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Node", "name": node},
        },
    }))?;
    let made = accounts
        .create_token_request("skein-agent", &PostParams::default(), &request)
        .await?;
    Ok(made.status.context("a token was asked for, and none made")?.token)
}

async fn make(nodes: Api<Node>, name: String, label: Option<(String, String)>) -> anyhow::Result<()> {
    let mut object: Node = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"node-role.kubernetes.io/drone": "", "kubernetes.io/hostname": name}},
    }))?;
    object.labels_mut().extend(label);
    nodes.create(&PostParams::default(), &object).await?;
    let ready = json!({"status": {"conditions": [
        {"type": "Ready", "status": "True", "reason": "Bench", "message": "set by the benchmark"}]}});
    let params = PatchParams::default();
    nodes.patch_status(&name, &params, &Patch::Merge(ready)).await?;
    // The API server taints every new node as not ready.
    let untainted = json!({"spec": {"taints": null}});
    nodes.patch(&name, &params, &Patch::Merge(untainted)).await?;
    Ok(())
}

impl Coordinator {
    fn get(&self, path: &str) -> anyhow::Result<String> {
        let mut stream = TcpStream::connect(&self.metrics)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n"
        )?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    pub fn sum(&self, metric: &str) -> anyhow::Result<f64> {
        let text = self.get("/metrics")?;
        let lines = text.lines().filter(|line| line.starts_with(metric));
        lines
            .map(|line| {
                let value = line.rsplit(' ').next().unwrap_or_default();
                value.parse::<f64>().with_context(|| format!("{metric}: {line}"))
            })
            .sum()
    }

    /// Changes on the Kubernetes API since its start, without the renewals of leadership.
    pub fn writes(&self) -> anyhow::Result<f64> {
        Ok(self.written()?.values().sum())
    }

    /// Only the renewal of the Lease uses PUT here: taking over the claim of a deleted Drone would too, but none is
    /// deleted.
    pub fn written(&self) -> anyhow::Result<BTreeMap<String, f64>> {
        let methods = ["POST", "PATCH", "DELETE"].map(|method| format!("method=\"{method}\""));
        let mut written = BTreeMap::new();
        for line in self.get("/metrics")?.lines() {
            if let Some((series, count)) = line.rsplit_once(' ')
                && series.starts_with("rest_client_requests_total{")
                && methods.iter().any(|method| series.contains(method))
            {
                written.insert(series.to_owned(), count.parse().with_context(|| line.to_owned())?);
            }
        }
        Ok(written)
    }
}
