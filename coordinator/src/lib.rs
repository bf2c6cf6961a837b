//! The coordinator: watches Swarms, Drones and drone nodes, binds Drones to vehicles, and sends each node's agent what
//! should be true.
//!
//! Owns: the controllers, the agents' sessions, the claims to nodes, the leadership term, the fleet service.
//! Must not: talk MAVLink, or decide by itself: the decisions are pure functions in `fleet`. An API server that is away
//! changes nothing in the air, and the end of this process lands nobody.

pub mod cluster;
pub mod context;
pub mod controllers;
pub mod fleet_service;
pub mod ground;
pub mod leadership;
pub mod logging;
pub mod metrics;
pub mod options;
pub mod server;
pub mod sessions;
pub mod shutdown;
pub mod spans;

pub use metrics::Metrics;
pub use options::Options;
pub use server::Listeners;
pub use server::security::Security;
pub use shutdown::shutdown_signal;

use anyhow::Context as _;
use cluster::world::{Wakes, World};
use cluster::{api, events, watching};
use context::{Context, Higher};
use fleet::freshness::Knowledge;
use fleet::upgrade::Pace;
use leadership::state::LeadershipState;
use leadership::{LeaderLease, Led, Lost, Raise, Successor, WentBack};
use metrics::FleetNow;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What a coordinator needs.
#[derive(Clone)]
pub struct Setup {
    /// The Kubernetes API.
    pub client: kube::Client,
    /// Namespace of the coordinator's own objects, which exists.
    pub namespace: String,
    /// Who this process is, as holder of the Lease. No other coordinator may have the same.
    pub identity: String,
    /// There is no other coordinator: the lead is taken at once, whichever holds the Lease, and it is not renewed.
    pub alone: bool,
    /// Address of this coordinator's Pod, for the EndpointSlice that points to the leader; `None` outside a cluster.
    pub pod_ip: Option<IpAddr>,
    /// Where there is no cluster: a Node object is kept for each agent that connects ([`controllers::node`]).
    pub agents_become_nodes: bool,
    /// How agents are replaced by a newer version; `None` where nothing but their owner does that.
    pub upgrades: Option<Pace>,
    /// Whether a vehicle that is granted to no namespace is used by none ([`fleet::binding::is_granted`]).
    pub granted_vehicles_only: bool,
    /// What is counted.
    pub metrics: Metrics,
    /// How the links of agents and people are secured.
    pub security: Security,
}

/// Runs the coordinator of this program until `stop` is done, or it is deposed.
///
/// # Errors
/// A bad kubeconfig, an address that cannot be bound, or a higher leadership term seen at an agent.
pub async fn run(options: Options, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
    // Fails only if a provider is installed already, which is as good.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    server::file_limit::raise();
    let metrics = Metrics::default();
    let setup = Setup {
        security: options.security()?,
        client: api::client(&metrics.api_calls).await?,
        namespace: options.namespace(),
        identity: options.identity(),
        alone: options.alone,
        pod_ip: options.pod_ip,
        agents_become_nodes: false,
        upgrades: Some(options.upgrades()),
        granted_vehicles_only: options.granted_vehicles_only,
        metrics: metrics.clone(),
    };
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
    // Metrics that could not be served to the end are no reason to call the coordinator failed.
    if let Ok(Err(error)) = serving.await {
        tracing::warn!("{error:#}");
    }
    result
}

/// Runs a coordinator in any process, serving agents and tools on `listeners`, until `stop` is done, or it is deposed.
///
/// # Errors
/// The listener fails, or a higher leadership term was seen at an agent: start it again then, and it leads with a term
/// above that. Nothing that it does ends the process, and vehicles go on as assigned.
pub async fn run_with(
    setup: Setup,
    listeners: impl Into<Listeners>,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let ending = CancellationToken::new();
    let gate = server::Gate::default();
    let listeners = listeners.into();
    let here = listeners.grpc.local_addr()?;
    let here = setup.pod_ip.map(|ip| SocketAddr::new(ip, here.port()));
    let mut server = tokio::spawn(server::serve(listeners, gate.clone(), setup.clone(), ending.clone()));

    // One that cannot serve agents must neither count as ready nor lead: the one that it would relieve serves them still.
    let mut lead = std::pin::pin!(async {
        match ending.run_until_cancelled(gate.able()).await {
            Some(()) => lead(setup, here, gate.clone(), ending.clone()).await,
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
            anyhow::bail!("the gRPC server has ended by itself; ending so that it is started afresh");
        }
        () = stop => {
            tracing::info!("asked to end; vehicles go on as assigned");
            ending.cancel();
            // Each call to the API has a deadline, so what is under way ends by itself.
            lead.await
        }
    };
    ending.cancel();
    server.await.context("the gRPC server ended abnormally")??;
    result
}

/// Is on standby until it can take the lead, and keeps the fleet as desired until `ending`; an error when deposed. Agents and tools
/// find it at `here`. All of a coordinator but its listeners, which a simulated network brings itself: `gate` is what they
/// serve.
///
/// # Errors
/// A higher leadership term was seen, or another has taken the Lease.
pub async fn lead(
    setup: Setup,
    here: Option<SocketAddr>,
    gate: server::Gate,
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
        gate.warm().await;
        setup.metrics.knows_the_fleet();
        tokio::select! {
            led = leader_lease.take(&leadership) => led.map_err(Over::WentBack),
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
            let context = Context::new(&setup, leading, Arc::clone(&leadership), world, ending.clone());
            let serving = serve_fleet(context, (stores, relist), here, &gate, &mut tasks);
            let over = ending.run_until_cancelled(async {
                tokio::select! {
                    over = serving => over,
                    lost = leader_lease.keep(&led, &leadership) => match lost {
                        Lost::To(successor) => Over::Succeeded(successor),
                        Lost::WentBack(what) => Over::WentBack(what),
                    },
                }
            });
            let over = Box::pin(over).await;
            (Some(led), over)
        }
    };
    // When it was asked to end, that its parts end is no news.
    let over = over.filter(|_| !ending.is_cancelled());
    ending.cancel();
    setup.metrics.leads_no_more();
    while tasks.join_next().await.is_some() {}
    end(&leader_lease, led.as_ref(), over).await
}

/// Lets go of the Lease, now that nothing acts any more, and says why it is over.
async fn end(leader_lease: &LeaderLease, led: Option<&Led>, over: Option<Over>) -> anyhow::Result<()> {
    if let Some(led) = led {
        let raise = match &over {
            // The Lease may have been lost or restored: the next start has to lead with a higher term than all before.
            Some(Over::Deposed(Higher { term, most })) => Some(Raise { to: *term, most: *most }),
            Some(Over::Succeeded(_) | Over::Broken | Over::WentBack(_)) | None => None,
        };
        leader_lease.let_go(led, raise).await;
    }
    let ours = led.map_or_else(|| "none".to_owned(), |led| led.term.to_string());
    match over {
        None => Ok(()),
        Some(Over::Deposed(higher)) => anyhow::bail!(
            "deposed: an agent has seen term {}, this coordinator leads term {ours}; ending so that it cannot command anything",
            higher.term
        ),
        Some(Over::WentBack(WentBack(what))) => anyhow::bail!(
            "the store of the API server went back in time ({what}); ending so that it is started afresh, and nothing takes off until a person has confirmed what the store holds"
        ),
        Some(Over::Succeeded(Successor(by))) => anyhow::bail!(
            "deposed: the Lease is held by {by}, this coordinator led term {ours}; ending so that it cannot command anything"
        ),
        Some(Over::Broken) => anyhow::bail!(
            "a part of the coordinator has ended by a fault of its own, logged above; ending so that it is started afresh; vehicles go on as assigned"
        ),
    }
}

/// Why a coordinator cannot go on.
#[derive(Clone, Debug)]
enum Over {
    /// An agent has seen this higher term.
    Deposed(Higher),
    /// Another has taken the Lease.
    Succeeded(Successor),
    /// The store of the API server went back in time.
    WentBack(WentBack),
    /// A part that should go on for ever, a watch or a controller, has ended.
    Broken,
}

/// Starts everything that a leader does, and waits until this coordinator cannot go on.
async fn serve_fleet(
    (context, published): (Context, mpsc::Receiver<events::Message>),
    (stores, relist): (watching::Stores, watching::Relist),
    here: Option<SocketAddr>,
    gate: &server::Gate,
    tasks: &mut tokio::task::JoinSet<()>,
) -> Over {
    let context = &Arc::new(context);
    let led = Arc::downgrade(context);
    context.metrics.leads(context.term, move || fleet_now(&*led.upgrade()?));
    tasks.spawn(events::publish(
        context.client(),
        published,
        context.metrics.clone(),
        context.ending.clone(),
    ));
    // It is set once.
    let _ = context.leading_since.set(tokio::time::Instant::now());
    let forgetting = Arc::downgrade(context);
    context.world.on_departure(move |drone| {
        if let Some(context) = forgetting.upgrade() {
            context.takeoff_slots.forget(&context, drone);
            context.assessments.forget(drone);
        }
    });
    context.takeoff_slots.begin(context);
    tasks.spawn(know_the_present(Arc::clone(context), relist));
    ground::start(context, tasks);
    controllers::node::start(context, tasks);
    controllers::orders::start(context, tasks);
    controllers::drone::start(context, stores.drones, tasks);
    controllers::swarm::start(context, stores.swarms, tasks);
    controllers::upgrade::start(context, tasks);
    gate.open(Arc::clone(context)).await;
    if let Some(here) = here {
        leadership::endpoint::start(context, here, tasks);
    }
    tokio::select! {
        higher = context.deposed() => Over::Deposed(higher),
        _ = tasks.join_next() => Over::Broken,
    }
}

/// The fleet for a scrape; `None` once this coordinator ends.
fn fleet_now(context: &Context) -> Option<FleetNow> {
    if context.ending.is_cancelled() {
        return None;
    }
    let Context { world, wakes, .. } = context;
    let connected = context.sessions.connected().into_iter();
    Some(FleetNow {
        knowledge: context.leadership.knowledge(),
        waiting: [
            ("Drone", wakes.drones.len()),
            ("Swarm", wakes.swarms.len()),
            ("Node", wakes.nodes.len()),
        ],
        drones: world.all_drones(None),
        swarms: world.all_swarms(),
        upgrades: context.upgrades.plan(),
        connected: connected.map(|(node, snapshot)| (node, snapshot.report)).collect(),
    })
}

/// A leader that still does not know the present says so this often.
const SLOW: Duration = Duration::from_secs(10);

/// Lists everything after the Lease was taken, and again after a person has confirmed what a restored store holds: until then only
/// what keeps the present state is ordered (invariant 16).
async fn know_the_present(context: Arc<Context>, relist: watching::Relist) {
    let leadership = &context.leadership;
    let work = async {
        loop {
            leadership.until(Knowledge::BeforeLeading).await;
            let mut listing = std::pin::pin!(relist.all());
            while tokio::time::timeout(SLOW, &mut listing).await.is_err() {
                tracing::warn!(
                    "not everything could be listed yet since the lead was taken: nothing takes off, and what flies goes on"
                );
            }
            if leadership.knowledge() == Knowledge::BeforeLeading {
                // A Drone that has got a vehicle since counts as up, too, until its agent has reported that it is not.
                context.takeoff_slots.begin(&context);
                leadership.knows(Knowledge::Current);
                tracing::info!("everything was listed since the lead was taken");
                context.world.wake_all();
            }
        }
    };
    context.ending.run_until_cancelled(work).await;
}
