//! What the Kubernetes API has to say, as the view shows it.

use crate::live::objects::Reading;
use crate::vehicle::printable;
use crds::{Mission, Swarm, Vehicle};
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use std::sync::Arc;

/// An object that a person looks at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Swarm, Drone, Vehicle or Mission.
    pub kind: &'static str,
    /// Empty for a Vehicle.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The kinds that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// Swarms.
    Swarms,
    /// Vehicles.
    Vehicles,
    /// Missions.
    Missions,
}

/// What is looked at now, and so worth reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The list.
    pub list: Option<Listed>,
    /// The object.
    pub details: Option<ObjectRef>,
}

/// All that was read.
#[derive(Debug, Clone, Default)]
pub struct ObjectsSnapshot {
    /// Why there are no objects to be read at all, such as that no kubeconfig is known.
    pub none: Option<String>,
    /// The Swarms.
    pub swarms: Reading<Arc<Vec<Swarm>>>,
    /// The inventory.
    pub vehicles: Reading<Arc<Vec<Vehicle>>>,
    /// The Missions.
    pub missions: Reading<Arc<Vec<Mission>>>,
    /// The object that is looked at, and what is known of it.
    pub details: Option<(ObjectRef, Reading<Details>)>,
}

/// Conditions and Events of one object.
#[derive(Debug, Clone)]
pub struct Details {
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// Its Events, the newest first, or why they cannot be read.
    pub events: Result<Vec<EventLine>, String>,
}

/// An Event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLine {
    /// When it happened last; `None` when it does not say.
    pub at: Option<jiff::Timestamp>,
    /// Whether it is a warning.
    pub warning: bool,
    /// Its reason.
    pub reason: String,
    /// Its text.
    pub text: String,
    /// How often it happened.
    pub count: i32,
}

impl EventLine {
    /// The line of an Event.
    pub fn of(event: &Event) -> Self {
        let series = event.series.as_ref();
        let times = [
            series
                .and_then(|series| series.last_observed_time.as_ref())
                .map(|time| time.0),
            event.last_timestamp.as_ref().map(|time| time.0),
            event.event_time.as_ref().map(|time| time.0),
            event.metadata.creation_timestamp.as_ref().map(|time| time.0),
        ];
        let count = series.and_then(|series| series.count).or(event.count);
        Self {
            at: times.into_iter().flatten().max(),
            warning: event.type_.as_deref() == Some("Warning"),
            reason: printable(event.reason.as_deref().unwrap_or("-")),
            text: printable(event.message.as_deref().unwrap_or_default()),
            count: count.unwrap_or(1).max(1),
        }
    }
}
