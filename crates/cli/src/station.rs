//! A ground station in one process: the Kubernetes API, the coordinator, and the agents of vehicles reached from here.
//!
//! Owns: the order of start and end: no agent begins before everything that another program may hold is acquired, and
//! API and coordinator outlive the agents. Must not: print (`up` and `demo` do), or decide anything about flight.

pub mod agents;
pub mod commander;
pub mod guard;

use crate::args::AgentSettings;
use crate::failure::Failure;
use crate::fleet_api::{FleetApi, SYSTEM, Source};
use crate::objects::Objects;
use agent::life::CannotStart;
use agent::state_file::StoreError;
use agent::{Agent, Config, Coordinator};
use agents::Agents;
use commander::Commander;
use coordinator::Security;
use coordinator::controllers::airspace::SiteRules;
use guard::Guard;
use model::ids::NodeName;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

#[derive(Clone, Debug)]
pub struct NodeSetup {
    pub name: NodeName,
    pub link: agent::LinkUrl,
    pub state: PathBuf,
    pub settings: AgentSettings,
}

#[derive(Clone, Debug)]
pub struct Setup {
    pub api: Source,
    /// Port 0: any free one.
    pub listen: SocketAddr,
    /// For TLS with agents and tools; `None`: plain text, on this machine only.
    pub keys: Option<PathBuf>,
    pub nodes: Vec<NodeSetup>,
    pub metrics_listen: Option<SocketAddr>,
    /// Orders everything stored to the ground, before anything could fly.
    pub grounded: bool,
    pub site: SiteRules,
    /// Cancelled, also during the start: the agents land their vehicles and end.
    pub end_requested: CancellationToken,
}

pub struct Station {
    pub api: FleetApi,
    pub agents: Agents,
    pub guard: Option<Arc<Guard>>,
    commander: Commander,
    uplink: SocketAddr,
    keeping: Option<JoinHandle<()>>,
    serving: Option<JoinHandle<anyhow::Result<()>>>,
}

impl Station {
    /// Errors: what is in the way, with advice.
    pub async fn start(setup: Setup) -> Result<Self, Failure> {
        let listener = Commander::bind(setup.listen).await?;
        let metrics = coordinator::Metrics::default();
        let metrics_port = match setup.metrics_listen {
            Some(listen) => Some(
                coordinator::metrics::serve::bind(listen)
                    .await
                    .map_err(|why| Failure::Failed(format!("{why:#}")))?,
            ),
            None => None,
        };
        let uplink = listener
            .local_addr()
            .map_err(|error| Failure::Failed(format!("the port for agents has no address: {error}")))?;
        let guard = match setup.keys {
            None => None,
            Some(folder) => {
                let nodes: Vec<NodeName> = setup.nodes.iter().map(|node| node.name.clone()).collect();
                let opened = tokio::task::spawn_blocking(move || Guard::open(&folder, nodes.into_iter())).await;
                Some(Arc::new(opened.map_err(|fault| Failure::Failed(fault.to_string()))??))
            }
        };
        let mut ready = Vec::new();
        for node in setup.nodes {
            let held = guard.as_ref().and_then(|guard| guard.agent(&node.name));
            let coordinator = match held {
                Some(credentials) => Coordinator::held(reached(uplink), credentials),
                None => Coordinator::plain(&format!("http://{}", reached(uplink)))
                    .map_err(|why| Failure::Failed(why.to_string()))?,
            };
            let AgentSettings {
                gcs,
                ground_station,
                flight_log,
                signing,
            } = node.settings;
            let config = Config {
                gcs,
                ground_station,
                flight_log,
                signing,
                ..Config::new(node.name, node.link, coordinator, node.state)
            };
            let again = config.clone();
            let opened = tokio::task::spawn_blocking(move || Agent::open(config)).await;
            let opened = opened.map_err(|fault| Failure::Failed(fault.to_string()))?;
            let opened = opened.map_err(|error| cannot(&again.node, error))?;
            ready.push((again, opened));
        }
        let api = FleetApi::start(setup.api).await?;
        if setup.grounded {
            Objects::new(api.client()).ground_all().await?;
        }
        let commander = Commander::start(
            coordinator::Setup {
                client: api.client(),
                namespace: SYSTEM.to_owned(),
                identity: format!("skein-{}", std::process::id()),
                upgrades: None,
                // Everybody who has this API has all of it.
                granted_vehicles_only: false,
                site: setup.site,
                agents_become_nodes: true,
                alone: true,
                pod_ip: None,
                metrics: metrics.clone(),
                security: guard.as_ref().map_or(Security::Plaintext, |guard| guard.security()),
                traces: coordinator::Traces::default(),
            },
            listener,
            uplink,
        );
        let serving = metrics_port.map(|port| {
            let end = CancellationToken::new();
            tokio::spawn(coordinator::metrics::serve::serve(port, metrics, end))
        });
        let keeping = guard
            .clone()
            .map(|guard| tokio::spawn(async move { guard.keep().await }));
        Ok(Self {
            api,
            agents: Agents::start(ready, &setup.end_requested)?,
            guard,
            commander,
            uplink,
            keeping,
            serving,
        })
    }

    /// With the scheme: http without keys.
    pub fn server(&self) -> String {
        let scheme = if self.guard.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", reached(self.uplink))
    }

    pub const fn listen(&self) -> SocketAddr {
        self.uplink
    }

    /// Call it after the agents have ended.
    pub async fn end(self) {
        self.commander.end().await;
        if let Some(keeping) = self.keeping {
            keeping.abort();
        }
        if let Some(serving) = self.serving {
            serving.abort();
        }
        self.api.end().await;
    }
}

fn cannot(node: &NodeName, error: CannotStart) -> Failure {
    Failure::Failed(match error {
        CannotStart::State(StoreError::Unusable { dir, why }) => format!(
            "node {node}: cannot use its folder {dir}: {why}; see to its permissions and to the space on the disk, or choose \
             another data folder with --data-dir"
        ),
        CannotStart::State(StoreError::InUse(dir)) => {
            format!("node {node}: another agent is using its folder {dir}; stop that agent first")
        }
        CannotStart::State(StoreError::OtherNode { dir, theirs, .. }) => {
            format!("node {node}: its folder {dir} is that of node {theirs}; put each back in its place")
        }
        other @ (CannotStart::State(StoreError::Corrupt { .. }) | CannotStart::Signing(_)) => {
            format!("node {node}: {other}")
        }
    })
}

/// HOST:PORT by which this machine reaches `address`.
fn reached(address: SocketAddr) -> String {
    let host = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => "127.0.0.1".to_owned(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => "[::1]".to_owned(),
        SocketAddr::V4(v4) => v4.ip().to_string(),
        SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
    };
    format!("{host}:{}", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_cannot_write_its_state_is_reported_with_flags_that_exist_here() {
        let folder = tempfile::tempdir().unwrap();
        let node = |name: &str| NodeName::parse(name).unwrap();
        let open = |name: &str, dir: &std::path::Path| {
            let link = "udp:127.0.0.1:14550".parse().unwrap();
            let config = Config::new(
                node(name),
                link,
                Coordinator::plain("http://127.0.0.1:1").unwrap(),
                dir.to_owned(),
            );
            Agent::open(config).map_err(|error| cannot(&node(name), error).to_string())
        };
        let error = |name: &str, dir: &std::path::Path| open(name, dir).unwrap_err();
        let unusable = error("alpha", std::path::Path::new("/proc/none"));
        assert!(
            unusable.starts_with("node alpha: cannot use its folder /proc/none: "),
            "{unusable}"
        );
        assert!(
            unusable.ends_with("choose another data folder with --data-dir"),
            "{unusable}"
        );
        let first = open("alpha", folder.path()).unwrap();
        assert!(error("alpha", folder.path()).contains("another agent is using its folder"));
        drop(first);
        let other = error("bravo", folder.path());
        assert!(
            other.starts_with("node bravo: its folder ") && other.contains("is that of node alpha"),
            "{other}"
        );
        std::fs::write(folder.path().join("state.json"), "{").unwrap();
        assert!(error("alpha", folder.path()).contains("make sure that the vehicle is on the ground"));
    }

    #[test]
    fn what_listens_everywhere_is_reached_on_loopback() {
        let of = |text: &str| reached(text.parse().unwrap());
        assert_eq!(of("0.0.0.0:50051"), "127.0.0.1:50051");
        assert_eq!(of("[::]:50051"), "[::1]:50051");
        assert_eq!(of("192.168.1.7:1"), "192.168.1.7:1");
        assert_eq!(of("[fd00::1]:1"), "[fd00::1]:1");
    }
}
