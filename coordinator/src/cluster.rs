//! What this coordinator has to do with the Kubernetes API.
//!
//! Owns: what was observed of the cluster ([`world`]) and the watches that fill it ([`watching`]), how its ground orders and labels are
//! read ([`world::ground_order`], [`selection`]), what has to be reconciled ([`wake_set`]), claims to nodes ([`claims`]), Events
//! ([`events`]), the conditions of a status ([`conditions`]), what the API server itself confirms ([`confirm`]) of what is acted on
//! ([`acted_on`]), and calls with deadlines ([`api`], [`retry`]); all of it as one handle, [`Cluster`]. Must not: decide anything about a
//! Drone, or know of agents.

pub mod acted_on;
pub mod api;
pub mod claims;
pub mod client;
pub mod conditions;
pub mod confirm;
pub mod events;
pub mod key;
pub mod node_objects;
pub mod proxy;
pub mod retry;
pub mod selection;
pub mod status;
pub mod wake_set;
pub mod watching;
pub mod world;

use crate::metrics::Metrics;
use client::Client;
use confirm::Confirmed;
use std::sync::Arc;
use tokio::sync::mpsc;
use world::{Wakes, World};

/// What is read from the Kubernetes API and written to it. A copy is the same.
#[derive(Clone, Debug)]
pub struct Cluster {
    client: Client,
    pub namespace: Arc<str>,
    /// What was observed of the cluster.
    pub world: Arc<World>,
    pub wakes: Wakes,
    pub events: Arc<events::Outbox>,
    /// Which rules and Missions the controllers act on.
    pub acted_on: Arc<acted_on::ActedOn>,
    /// What the API server itself has said of late.
    confirmed: Arc<Confirmed>,
}

impl Cluster {
    /// The cluster behind `client`, and the Events about it that are to be published.
    pub fn new(
        client: kube::Client,
        namespace: &str,
        world: Arc<World>,
        metrics: Metrics,
    ) -> (Self, mpsc::Receiver<events::Message>) {
        let (events, messages) = events::channel(metrics);
        let cluster = Self {
            client: Client::new(client),
            namespace: namespace.into(),
            wakes: world.wakes(),
            world,
            events: Arc::new(events),
            acted_on: Arc::default(),
            confirmed: Arc::default(),
        };
        (cluster, messages)
    }

    pub fn client(&self) -> kube::Client {
        kube::Client::clone(&self.client)
    }
}
