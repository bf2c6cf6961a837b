//! One of the two measured servers, as processes of their own, with a client over HTTPS.

use anyhow::Context;
use crds::Drone;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use skein_tests::figures::Figure;
use std::path::Path;
use testkit::{ControlPlane, Embedded};

pub struct Side {
    drones: Api<Drone>,
    pids: Vec<u32>,
    _server: Server,
}

enum Server {
    Kubernetes { _plane: Box<ControlPlane> },
    Embedded { _api: Box<Embedded> },
}

impl Side {
    pub async fn kubernetes() -> anyhow::Result<Self> {
        let plane = ControlPlane::builder().durable(true).manifests(["crds"]).start()?;
        let drones = client(plane.kubeconfig()).await?;
        let [etcd, api_server, ..] = plane.processes().map(testkit::Process::pid);
        Ok(Self {
            drones,
            pids: vec![etcd, api_server],
            _server: Server::Kubernetes {
                _plane: Box::new(plane),
            },
        })
    }

    pub async fn embedded() -> anyhow::Result<Self> {
        let api = Embedded::start()?;
        Ok(Self {
            drones: client(api.kubeconfig()).await?,
            pids: vec![api.process().pid()],
            _server: Server::Embedded { _api: Box::new(api) },
        })
    }

    pub fn drones(&self) -> &Api<Drone> {
        &self.drones
    }

    /// VmRSS of proc(5).
    pub fn resident(&self) -> anyhow::Result<Figure> {
        let each = self.pids.iter().map(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            let kib: u64 = line
                .and_then(|rest| rest.split_whitespace().next())
                .context("no VmRSS")?
                .parse()?;
            Ok(kib * 1024)
        });
        Ok(Figure::Memory(each.sum::<anyhow::Result<u64>>()?))
    }
}

async fn client(kubeconfig: &Path) -> anyhow::Result<Api<Drone>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Api::namespaced(Client::try_from(config)?, "default"))
}
