//! Objects of the Kubernetes API, as the view shows them.

use crate::live::objects::Reading;
use crate::vehicle::printable;
use crds::{Mission, Swarm, Vehicle};
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    pub kind: &'static str,
    /// Empty for a Vehicle.
    pub namespace: String,
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    Swarms,
    Vehicles,
    Missions,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub list: Option<Listed>,
    pub details: Option<ObjectRef>,
}

#[derive(Debug, Clone, Default)]
pub struct ObjectsSnapshot {
    pub none: Option<String>,
    pub swarms: Reading<Arc<Vec<Swarm>>>,
    pub vehicles: Reading<Arc<Vec<Vehicle>>>,
    pub missions: Reading<Arc<Vec<Mission>>>,
    pub details: Option<(ObjectRef, Reading<Details>)>,
}

#[derive(Debug, Clone)]
pub struct Details {
    pub conditions: Vec<Condition>,
    /// Newest first.
    pub events: Result<Vec<EventLine>, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLine {
    pub at: Option<jiff::Timestamp>,
    pub warning: bool,
    pub reason: String,
    pub text: String,
    pub count: i32,
}

impl EventLine {
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
