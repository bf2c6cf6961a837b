//! The coordinator: watches Swarms, Drones and drone nodes, binds Drones to vehicles, and sends each node's agent its desired state.
//!
//! Owns: the controllers, the agents' sessions, the claims to nodes, the leadership term, the fleet service. Must not: talk MAVLink, or
//! decide by itself: the decisions are pure functions in `fleet`. An API server that is away changes nothing in the air, and the end of
//! this process lands no vehicle.

pub mod cluster;
pub mod controllers;
pub mod fleet_service;
pub mod ground;
pub mod guests;
pub mod leader;
pub mod leadership;
pub mod listener;
pub mod logging;
pub mod metrics;
pub mod options;
pub mod server;
pub mod sessions;
pub mod shutdown;
pub mod spans;

pub use leader::Gates;
pub use metrics::Metrics;
pub use options::Options;
pub use server::Listeners;
pub use server::security::Security;
pub use shutdown::shutdown_signal;
pub use traces::Traces;

use anyhow::Context as _;
use cluster::world::{Wakes, World};
use cluster::{api, watching};
use controllers::airspace::SiteRules;
use fleet::planning::freshness::{Knowledge, WentBack};
use fleet::planning::upgrade::Pace;
use leader::Ended;
use leadership::deposition::Higher;
use leadership::state::LeadershipState;
use leadership::{LeaderLease, Led, Lost, Raise, Successor};
use server::auth::Auth;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use traces::Program;

/// Spans of traces to be sent: those of a thousand takeoffs at once.
const MAX_SPANS: usize = 4096;

/// Time to send the last spans.
const LAST_SPANS: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub struct Setup {
    pub client: kube::Client,
    /// Namespace of the coordinator's own objects, which exists.
    pub namespace: String,
    /// Holder of the Lease, unique among coordinators.
    pub identity: String,
    /// There is no other coordinator: the lead is taken at once, whoever holds the Lease, and it is not renewed.
    pub alone: bool,
    /// For the EndpointSlice that points to the leader; `None` outside a cluster.
    pub pod_ip: Option<IpAddr>,
    /// Where there is no cluster: a Node object is kept for each agent that connects ([`controllers::node`]).
    pub agents_become_nodes: bool,
    /// `None` where only their owner replaces agents.
    pub upgrades: Option<Pace>,
    /// Whether a vehicle that is granted to no namespace is used by none ([`fleet::planning::binding::is_granted`]).
    pub granted_vehicles_only: bool,
    pub site: SiteRules,
    pub metrics: Metrics,
    pub security: Security,
    pub traces: Traces,
}

/// Runs the coordinator of this program until `stop` is done, or it is deposed. The error: a bad kubeconfig, an address that cannot be
/// bound, or a higher leadership term reported by an agent.
pub async fn run(options: Options, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
    // Fails only if a provider is installed already, which is as good.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    server::file_limit::raise();
    let metrics = Metrics::default();
    let identity = options.identity();
    let traces = Traces::from_environment(&Program {
        name: "skein-coordinator",
        version: model::version::version().to_owned(),
        instance: identity.clone(),
        queue: MAX_SPANS,
    });
    let setup = Setup {
        security: options.security()?,
        client: api::client(&metrics.api_calls).await?,
        namespace: options.namespace(),
        identity,
        alone: options.alone,
        pod_ip: options.pod_ip,
        agents_become_nodes: false,
        upgrades: Some(options.upgrades()),
        granted_vehicles_only: options.granted_vehicles_only,
        site: options.site.rules()?,
        metrics: metrics.clone(),
        traces: traces.clone(),
    };
    let result = serve(&options, setup, metrics, stop).await;
    if traces.are_written() {
        // Nobody waits longer than the spans' time.
        let _ = tokio::task::spawn_blocking(move || traces.finish(LAST_SPANS)).await;
    }
    result
}

async fn serve(
    options: &Options,
    setup: Setup,
    metrics: Metrics,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let grpc = server::bind(options.listen).await?;
    if let Some(path) = &options.listen_file {
        server::write_address(&grpc, path)?;
    }
    let health = match options.health_listen {
        Some(address) => Some(server::bind(address).await?),
        None => None,
    };
    let listeners = Listeners { grpc, health };
    let Some(address) = options.metrics_listen else {
        return run_with(setup, listeners, stop).await;
    };
    let port = metrics::serve::bind(address).await?;
    if let Some(path) = &options.metrics_listen_file {
        server::write_address(&port, path)?;
    }
    let ending = CancellationToken::new();
    let serving = tokio::spawn(metrics::serve::serve(port, metrics, ending.clone()));
    let result = run_with(setup, listeners, stop).await;
    ending.cancel();
    // A failure of the metrics server is no failure of the coordinator.
    if let Ok(Err(error)) = serving.await {
        tracing::warn!("{error:#}");
    }
    result
}

/// Runs a coordinator in any process, serving agents and tools on `listeners`, until `stop` is done, or it is deposed. The error: the
/// listener fails, or an agent reported a higher leadership term: start it again then, and it leads with a term above that. It never ends
/// the process, and vehicles go on as assigned.
pub async fn run_with(
    setup: Setup,
    listeners: impl Into<Listeners>,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let ending = CancellationToken::new();
    let gates = Gates::default();
    let listeners = listeners.into();
    let here = listeners.grpc.local_addr()?;
    let here = setup.pod_ip.map(|ip| SocketAddr::new(ip, here.port()));
    let links = server::Links {
        client: setup.client.clone(),
        namespace: setup.namespace.clone(),
        security: setup.security.clone(),
    };
    let services = {
        let gates = gates.clone();
        move |auth: &Auth| leader::services(&gates, auth)
    };
    let serving = server::serve(listeners, gates.all.clone(), links, services, ending.clone());
    let mut server = tokio::spawn(serving);

    // A coordinator that cannot serve agents must neither count as ready nor lead: the one that it would relieve serves them still.
    let mut lead = std::pin::pin!(async {
        match ending.run_until_cancelled(gates.all.able()).await {
            Some(()) => lead(setup, here, gates.clone(), ending.clone()).await,
            None => Ok(()),
        }
    });
    let result = tokio::select! {
        result = &mut lead => result,
        // Without it no agent gets an order: another must lead.
        served = &mut server => {
            ending.cancel();
            lead.await?;
            served.context("the gRPC server ended abnormally")??;
            anyhow::bail!("the gRPC server has ended by itself; ending so that it is started again");
        }
        () = stop => {
            tracing::info!("asked to end; vehicles go on as assigned");
            ending.cancel();
            // Each call to the API has a deadline, so calls under way end by themselves.
            lead.await
        }
    };
    ending.cancel();
    server.await.context("the gRPC server ended abnormally")??;
    result
}

/// Is on standby until it can take the lead, and keeps the fleet as desired until `ending`. Agents and tools find it at `here`. All of a
/// coordinator but its listeners, which a simulated network brings itself and serves `gates` on. The error: a higher leadership term was
/// reported, or another has taken the Lease.
pub async fn lead(
    setup: Setup,
    here: Option<SocketAddr>,
    gates: Gates,
    ending: CancellationToken,
) -> anyhow::Result<()> {
    let Setup { client, namespace, .. } = &setup;
    let leader_lease = LeaderLease::new(client.clone(), namespace, &setup.identity, setup.alone);
    let leadership = Arc::new(LeadershipState::default());
    let world = Arc::new(World::new(Wakes::default()));
    let mut tasks = tokio::task::JoinSet::new();
    let (stores, relist) = watching::start(client, namespace, &world, &ending, &mut tasks);
    let taken = async {
        tokio::select! {
            () = world.synced() => {}
            _ = tasks.join_next() => return Err(Over::Broken),
        }
        tracing::info!("caches are filled");
        gates.all.warm().await;
        setup.metrics.set_ready();
        tokio::select! {
            led = leader_lease.take(&leadership) => led.map_err(Over::WentBack),
            what = went_back(&world, &leader_lease, &leadership) => Err(what),
            _ = tasks.join_next() => Err(Over::Broken),
        }
    };
    let taken = Box::pin(ending.run_until_cancelled(taken)).await;
    let (led, over) = match taken {
        None => (None, None),
        Some(Err(over)) => (None, Some(over)),
        Some(Ok(led)) => {
            tracing::info!(term = %led.term, "leading");
            if led.went_back {
                leadership.knows(Knowledge::WentBack);
            }
            let leading = (led.term, led.raised);
            let serving = leader::lead(
                (&setup, leading),
                (Arc::clone(&leadership), Arc::clone(&world)),
                (stores, relist),
                (here, &gates),
                ending.clone(),
                &mut tasks,
            );
            let over = ending.run_until_cancelled(async {
                tokio::select! {
                    ended = serving => match ended {
                        Ended::Deposed(higher) => Over::Deposed(higher),
                        Ended::Broken => Over::Broken,
                    },
                    lost = leader_lease.keep(&led, &leadership) => match lost {
                        Lost::To(successor) => Over::Succeeded(successor),
                        Lost::WentBack(what) => Over::WentBack(what),
                    },
                    what = went_back(&world, &leader_lease, &leadership) => what,
                }
            });
            let over = Box::pin(over).await;
            (Some(led), over)
        }
    };
    // When it was asked to end, the end of its parts is no news.
    let over = over.filter(|_| !ending.is_cancelled());
    ending.cancel();
    setup.metrics.leads_no_more();
    while tasks.join_next().await.is_some() {}
    end(&leader_lease, led.as_ref(), over).await
}

/// Waits until the API server's store is older than the caches, and notes that on the Lease.
async fn went_back(world: &World, leader_lease: &LeaderLease, leadership: &LeadershipState) -> Over {
    let what = world.went_back().await;
    leadership.knows(Knowledge::WentBack);
    leader_lease.note_went_back(&what).await;
    Over::WentBack(what)
}

/// Releases the Lease, now that nothing acts any more, and returns why it is over.
async fn end(leader_lease: &LeaderLease, led: Option<&Led>, over: Option<Over>) -> anyhow::Result<()> {
    if let Some(led) = led {
        let raise = match &over {
            // The Lease may have been lost or restored: the next start has to lead with a higher term than all before.
            Some(Over::Deposed(Higher { term, most })) => Some(Raise { to: *term, most: *most }),
            Some(Over::Succeeded(_) | Over::Broken | Over::WentBack(_)) | None => None,
        };
        leader_lease.release(led, raise).await;
    }
    let ours = led.map_or_else(|| "none".to_owned(), |led| led.term.to_string());
    match over {
        None => Ok(()),
        Some(Over::Deposed(higher)) => anyhow::bail!(
            "deposed: an agent has received term {}, this coordinator leads term {ours}; ending so that it cannot command anything",
            higher.term
        ),
        Some(Over::WentBack(WentBack(what))) => anyhow::bail!(
            "the store of the API server went back in time ({what}); ending so that it is started again, and nothing takes off until a person has confirmed what the store holds"
        ),
        Some(Over::Succeeded(Successor(by))) => anyhow::bail!(
            "deposed: the Lease is held by {by}, this coordinator led term {ours}; ending so that it cannot command anything"
        ),
        Some(Over::Broken) => anyhow::bail!(
            "a part of the coordinator has ended by a fault of its own, logged above; ending so that it is started again; vehicles go on as assigned"
        ),
    }
}

#[derive(Clone, Debug)]
enum Over {
    Deposed(Higher),
    Succeeded(Successor),
    WentBack(WentBack),
    Broken,
}
