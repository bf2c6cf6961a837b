//! A leading coordinator, put together from its parts.

use crate::Setup;
use crate::cluster::Cluster;
use crate::cluster::events;
use crate::cluster::node_objects::NodeObjects;
use crate::cluster::watching;
use crate::cluster::world::World;
use crate::controllers::airspace::Airspace;
use crate::controllers::airspace_grants;
use crate::controllers::drone::binding::Binder;
use crate::controllers::drone::heights::Heights;
use crate::controllers::drone::{self, DroneController};
use crate::controllers::facts::Observer;
use crate::controllers::flight_traces::FlightTraces;
use crate::controllers::mission;
use crate::controllers::node_rules::NodeRules;
use crate::controllers::pacing::Paces;
use crate::controllers::plans::Missions;
use crate::controllers::rules;
use crate::controllers::swarm::expectations::Expectations;
use crate::controllers::swarm::formation::{self, Coverages};
use crate::controllers::swarm::members::Assessments;
use crate::controllers::swarm::{self, SwarmController};
use crate::controllers::takeoff_slots::TakeoffSlots;
use crate::controllers::upgrade::{self, UpgradeController, Upgrades};
use crate::controllers::{node, operator, orders, vehicle};
use crate::fleet_service::kill::Kills;
use crate::fleet_service::{FleetHandles, FleetService, LogAskers, SharedLists};
use crate::ground::{self, Ground};
use crate::guests::waiting::Waiting;
use crate::guests::{GuestHandles, Guests};
use crate::leadership::deposition::Higher;
use crate::leadership::endpoint;
use crate::leadership::leading::Leadership;
use crate::leadership::state::LeadershipState;
use crate::metrics::{FleetNow, Metrics};
use crate::server::auth::Auth;
use crate::server::security::Security;
use crate::server::{Gate, MAX_MESSAGE_BYTES, ServiceGate};
use crate::sessions::Sessions;
use crate::sessions::uplink::{Uplink, UplinkHandles};
use fleet::planning::freshness::Knowledge;
use model::ids::Term;
use proto::v1::fleet_server::FleetServer;
use proto::v1::guests_server::GuestsServer;
use proto::v1::uplink_server::UplinkServer;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

/// Gates of all services, closed until this coordinator leads. Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct Gates {
    pub all: Gate,
    pub uplink: ServiceGate<UplinkHandles>,
    pub fleet: ServiceGate<FleetHandles>,
    pub guests: ServiceGate<GuestHandles>,
}

impl Default for Gates {
    fn default() -> Self {
        let all = Gate::default();
        Self {
            uplink: ServiceGate::new(&all),
            fleet: ServiceGate::new(&all),
            guests: ServiceGate::new(&all),
            all,
        }
    }
}

pub fn services(gates: &Gates, auth: &Auth) -> Routes {
    let uplink = Uplink::new(gates.uplink.clone(), auth.clone());
    let uplink = UplinkServer::new(uplink).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let fleet = FleetService::new(gates.fleet.clone(), auth.clone());
    let fleet = FleetServer::new(fleet).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let guests = Guests::new(gates.guests.clone(), auth.clone());
    let guests = GuestsServer::new(guests).max_decoding_message_size(MAX_MESSAGE_BYTES);
    Routes::new(uplink).add_service(fleet).add_service(guests)
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Ended {
    /// An agent has received this higher term.
    Deposed(Higher),
    /// A watch or a controller, which should run for ever, has ended.
    Broken,
}

/// Runs a leader until it cannot go on. `leading` is its term, and whether that was raised on the report of agents just before.
pub(crate) async fn lead(
    (setup, leading): (&Setup, (Term, bool)),
    (state, world): (Arc<LeadershipState>, Arc<World>),
    (stores, relist): (watching::Stores, watching::Relist),
    (here, gates): (Option<SocketAddr>, &Gates),
    ending: CancellationToken,
    tasks: &mut JoinSet<()>,
) -> Ended {
    let metrics = &setup.metrics;
    let sessions = Arc::new(Sessions::new(Arc::clone(&world), world.wakes().nodes, metrics.clone()));
    let secured = !matches!(setup.security, Security::Plaintext);
    let (cluster, published) = Cluster::new(
        setup.client.clone(),
        &setup.namespace,
        Arc::clone(&world),
        metrics.clone(),
    );
    let leadership = Leadership::new(leading, state, (ending, metrics.clone()), secured, world);
    let rules = Arc::new(NodeRules::default());
    let observer = Observer {
        ground: Ground::new(cluster.clone(), Arc::clone(&sessions), metrics.clone()),
        upgrades: Arc::new(Upgrades::new(setup.upgrades)),
        takeoff_slots: Arc::new(TakeoffSlots::default()),
        cluster: cluster.clone(),
        sessions: Arc::clone(&sessions),
        leadership: leadership.clone(),
        airspace: Airspace::new(setup.site, &rules),
        rules,
        missions: Arc::new(Missions::default()),
        operators: Arc::default(),
        traces: FlightTraces::to(setup.traces.clone()),
    };
    let (heights, assessments) = (Arc::new(Heights::default()), Arc::new(Assessments::default()));
    let node_objects = NodeObjects::new(setup.agents_become_nodes);
    count_the_fleet(metrics, &observer);
    tasks.spawn(events::publish(
        cluster.client(),
        published,
        metrics.clone(),
        leadership.ending.clone(),
    ));
    forget_departed(&observer, &assessments);
    drone::slots::begin(&observer);
    tasks.spawn(relist_when_leading(observer.clone(), relist));
    ground::start(&observer.ground, &leadership.loops, tasks);
    node::start(&cluster, &sessions, &node_objects, &leadership.ending, tasks);
    orders::start(&observer, tasks);
    let (vehicles, airframes) = vehicle::start(&observer, tasks);
    airspace_grants::start(&observer, vehicles.clone(), metrics, tasks);
    operator::start(&observer, (vehicles.clone(), airframes.clone()), tasks);
    rules::start(&observer, (vehicles, airframes), tasks);
    mission::start(&observer, tasks);
    let coverages = Arc::new(Coverages::default());
    formation::start(&observer, &coverages, metrics, tasks);
    let controller = DroneController {
        binder: Binder {
            observer: observer.clone(),
            granted_only: setup.granted_vehicles_only,
        },
        assessments: Arc::clone(&assessments),
        heights: Arc::clone(&heights),
        paces: Paces::default(),
    };
    drone::start(controller, stores.drones, metrics.reconciles_of("Drone"), tasks);
    let controller = SwarmController {
        observer: observer.clone(),
        assessments,
        expectations: Expectations::default(),
        coverages,
        paces: Paces::default(),
        reception: Mutex::default(),
    };
    swarm::start(controller, stores.swarms, metrics.reconciles_of("Swarm"), tasks);
    let controller = UpgradeController {
        cluster: cluster.clone(),
        sessions: Arc::clone(&sessions),
        leadership: leadership.clone(),
        upgrades: Arc::clone(&observer.upgrades),
        metrics: metrics.clone(),
    };
    upgrade::start(controller, tasks);
    gates.uplink.open(UplinkHandles {
        sessions,
        leadership: leadership.clone(),
        world: Arc::clone(&cluster.world),
        node_objects,
        metrics: metrics.clone(),
    });
    gates.guests.open(GuestHandles {
        observer: observer.clone(),
        waiting: Waiting::default(),
        metrics: metrics.clone(),
    });
    gates.fleet.open(FleetHandles {
        observer,
        heights,
        kills: Kills::default(),
        log_askers: LogAskers::default(),
        shared_lists: SharedLists::default(),
        metrics: metrics.clone(),
    });
    gates.all.open().await;
    if let Some(here) = here {
        endpoint::start(&cluster, &leadership, here, tasks);
    }
    tokio::select! {
        higher = leadership.deposition.deposed() => Ended::Deposed(higher),
        _ = tasks.join_next() => Ended::Broken,
    }
}

/// A Drone that leaves its Swarm gives back its takeoff slot and its assessment.
fn forget_departed(observer: &Observer, assessments: &Arc<Assessments>) {
    let world = observer.world();
    let (within, slots, assessments) = (
        Arc::downgrade(world),
        Arc::clone(&observer.takeoff_slots),
        Arc::clone(assessments),
    );
    world.on_departure(move |drone| {
        if let Some(world) = within.upgrade() {
            slots.forget(&world, drone);
            assessments.forget(drone);
        }
    });
}

/// Has `metrics` read the fleet at each scrape, and keep nothing of it alive.
fn count_the_fleet(metrics: &Metrics, observer: &Observer) {
    let Observer {
        cluster,
        sessions,
        leadership,
        upgrades,
        rules,
        ..
    } = observer;
    let rules = Arc::downgrade(rules);
    let (world, wakes) = (Arc::downgrade(&cluster.world), cluster.wakes.clone());
    let (sessions, upgrades) = (Arc::downgrade(sessions), Arc::downgrade(upgrades));
    let (state, ending) = (Arc::clone(&leadership.state), leadership.ending.clone());
    metrics.leads(leadership.term, move || {
        if ending.is_cancelled() {
            return None;
        }
        let (world, upgrades) = (Weak::upgrade(&world)?, Weak::upgrade(&upgrades)?);
        let connected = Weak::upgrade(&sessions)?.connected().into_iter();
        Some(FleetNow {
            knowledge: state.knowledge(),
            waiting: [
                ("Drone", wakes.drones.len()),
                ("Swarm", wakes.swarms.len()),
                ("Node", wakes.nodes.len()),
            ],
            drones: world.all_drones(None),
            swarms: world.all_swarms(),
            upgrades: upgrades.plan(),
            rules: Weak::upgrade(&rules)?.states(),
            connected: connected.map(|(node, snapshot)| (node, snapshot.report)).collect(),
        })
    });
}

/// Between two log lines of a leader that still does not know the present.
const SLOW_LISTING_LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Lists everything after taking the Lease, and after a person confirms a restored store: until then orders only keep the present state
/// (invariant 16).
async fn relist_when_leading(observer: Observer, relist: watching::Relist) {
    let leadership = &observer.leadership.state;
    let work = async {
        loop {
            leadership.until(Knowledge::BeforeLeading).await;
            let mut listing = std::pin::pin!(relist.all());
            while tokio::time::timeout(SLOW_LISTING_LOG_INTERVAL, &mut listing)
                .await
                .is_err()
            {
                tracing::warn!(
                    "not everything could be listed yet since the lead was taken: nothing takes off, and what flies goes on"
                );
            }
            if leadership.knowledge() == Knowledge::BeforeLeading {
                // A Drone that has got a vehicle since counts as up, too, until its agent reports otherwise.
                drone::slots::begin(&observer);
                leadership.knows(Knowledge::Current);
                tracing::info!("everything was listed since the lead was taken");
                observer.world().wake_all();
            }
        }
    };
    observer.leadership.ending.run_until_cancelled(work).await;
}
