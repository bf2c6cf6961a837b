//! The coordinator's side of the Kubernetes API, as one handle, [`Cluster`].
//!
//! Owns: what was observed of the cluster ([`world`]) and the watches that fill it ([`watching`]), what has to be reconciled
//! ([`wake_set`]), claims to nodes ([`claims`]), Events ([`events`]), what the API server itself confirms ([`confirm`]), and calls with
//! deadlines ([`api`], [`retry`]). Must not: decide anything about a Drone, or know of agents.

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

/// Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct Cluster {
    client: Client,
    pub namespace: Arc<str>,
    pub world: Arc<World>,
    pub wakes: Wakes,
    pub events: Arc<events::Outbox>,
    pub acted_on: Arc<acted_on::ActedOn>,
    /// Recent answers of the API server itself.
    confirmed: Arc<Confirmed>,
}

impl Cluster {
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
