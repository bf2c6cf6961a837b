//! The Drone's status object: put together from what is known, and written when it says something new.
//!
//! Owns: the mapping to the CRD's types, what is kept from the status before, and which change is worth a write.
//! Must not: decide what is the case; [`fleet::drone::status`] does.

use crate::api::{self, ApiError};
use crate::context::Context;
use crate::drones::facts::Seen;
use crate::drones::notes::notes;
use crate::drones::pacing::{Due, Urgency};
use crds::drone::{BatteryStatus, PositionStatus, VehicleIdentity};
use crds::{Drone, DroneStatus, labels};
use fleet::drone::status::{Binding, Question, Status, status};
use fleet::report::Report;
use fleet::safety::Keep;
use fleet::vehicle::Autopilot;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

/// A battery change of this many percent is worth a write of its own.
const BATTERY_STEP: i32 = 10;

/// Agents come back to a new coordinator within this time: their back-off is capped at 5 s.
const GRACE: Duration = Duration::from_secs(10);

/// Writes the Drone's status if it says something new, or says when to look again.
///
/// # Errors
/// [`ApiError`].
pub async fn write(
    context: &Context,
    seen: &Seen,
    binding: &Binding,
    kept: Option<Keep>,
) -> Result<Option<Duration>, ApiError> {
    let report = seen.report.as_deref();
    let new = status(&Question {
        drone: &seen.facts,
        binding,
        report,
        kept,
    });
    let old = seen.drone.status.clone().unwrap_or_default();
    if let Some(grace) = grace(context, seen).filter(|_| old.phase.is_some() && old.node_name.is_some()) {
        return Ok(Some(grace));
    }
    let next = assemble(&old, &new, binding, report, seen.facts.generation, Timestamp::now());
    match context
        .drone_paces
        .due(seen.uid(), urgency(&old, &next), Instant::now())
    {
        Due::Never => return Ok(None),
        Due::In(delay) => return Ok(Some(delay)),
        Due::Now => {}
    }
    let drones: Api<Drone> = Api::namespaced(context.client(), &seen.key.namespace);
    let patch = json!({
        "apiVersion": "skein.dev/v1alpha1",
        "kind": "Drone",
        "metadata": {"name": seen.key.name, "uid": seen.uid()},
        "status": next,
    });
    let params = PatchParams::apply(labels::COORDINATOR).force();
    let written = api::call(
        "write the status of a Drone",
        drones.patch_status(&seen.key.name, &params, &Patch::Apply(&patch)),
    )
    .await?;
    context.drone_paces.written(seen.uid(), Instant::now());
    context.world.learn_drone(written);
    let (from, to) = (
        old.phase.as_deref().unwrap_or("none"),
        next.phase.as_deref().unwrap_or("none"),
    );
    if from != to {
        tracing::info!(drone = %seen.key, from, to, "phase changed");
    }
    for note in notes(&old, &next) {
        context.events.tell(&seen.drone, note);
    }
    Ok(None)
}

/// While agents find their way to a coordinator that has just started, their silence is no news; how long that still holds.
/// It only holds back what people are shown: nothing is decided on an old report.
fn grace(context: &Context, seen: &Seen) -> Option<Duration> {
    let node = seen.node.as_ref()?;
    let unheard = context.sessions.seen(node).report.is_none();
    GRACE
        .checked_sub(context.started.elapsed())
        .filter(|left| unheard && !left.is_zero())
}

/// How much the change from `old` to `next` matters. A mode that changes on the way up or down goes with the next write.
fn urgency(old: &DroneStatus, next: &DroneStatus) -> Urgency {
    let ready = |s: &DroneStatus| s.conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True");
    let alarming = matches!(next.phase.as_deref(), Some("Interrupted" | "Unknown"));
    let under_way = matches!(
        next.phase.as_deref(),
        Some("Preparing" | "Arming" | "TakingOff" | "Landing")
    );
    let flight = old.flying.is_some() && old.flying != next.flying;
    let alarm = alarming && old.phase != next.phase && old.phase.is_some();
    if old == next
        || (under_way
            && *old
                == (DroneStatus {
                    mode: old.mode.clone(),
                    ..next.clone()
                }))
    {
        Urgency::None
    } else if flight || alarm || (ready(next) && !ready(old)) {
        Urgency::Now
    } else {
        Urgency::Soon
    }
}

fn assemble(
    old: &DroneStatus,
    new: &Status,
    binding: &Binding,
    report: Option<&Report>,
    generation: i64,
    now: Timestamp,
) -> DroneStatus {
    let node_name = match binding {
        Binding::Bound(node) => Some(node.to_string()),
        // What may have served it once is never forgotten: its finalizer depends on it.
        _ => old.node_name.clone(),
    };
    let phase = Some(new.phase.text().to_owned());
    let transition = old.phase != phase || old.flying != new.flying;
    // Who the vehicle is, and what was last known of its battery and place, stays true when the agent falls silent.
    let same_node = old.node_name == node_name;
    let before = if same_node { old.clone() } else { DroneStatus::default() };
    let vehicle = report.and_then(identity).or(before.vehicle);
    let battery = match report.and_then(battery) {
        Some(now) if transition || far_from(before.battery.as_ref(), &now) => Some(now),
        _ => before.battery,
    };
    let position = match report.and_then(position) {
        Some(now) if transition || before.position.is_none() => Some(now),
        _ => before.position,
    };
    DroneStatus {
        phase,
        flying: new.flying,
        node_name,
        vehicle,
        mode: report.and_then(|r| r.mode.clone()),
        battery,
        position,
        observed_generation: Some(generation),
        conditions: new
            .conditions
            .iter()
            .map(|c| {
                condition(
                    &old.conditions,
                    c.kind.text(),
                    c.value,
                    c.reason,
                    &c.message,
                    generation,
                    now,
                )
            })
            .collect(),
    }
}

/// A condition; the time of its last transition is kept while its status is the same.
pub(crate) fn condition(
    old: &[Condition],
    kind: &str,
    value: Option<bool>,
    reason: &str,
    message: &str,
    generation: i64,
    now: Timestamp,
) -> Condition {
    let status = match value {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    };
    let before = old.iter().find(|c| c.type_ == kind && c.status == status);
    // Kubernetes keeps whole seconds; what is compared must look the same before and after it was written.
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: Some(generation),
        last_transition_time: before.map_or(Time(now), |c| c.last_transition_time.clone()),
    }
}

fn identity(report: &Report) -> Option<VehicleIdentity> {
    report.identity.as_ref().map(|id| VehicleIdentity {
        autopilot: match id.autopilot {
            Autopilot::ArduPilot => "ArduPilot".into(),
            Autopilot::Px4 => "PX4".into(),
        },
        system_id: i32::from(id.system.0),
        firmware: id.firmware.clone(),
    })
}

fn battery(report: &Report) -> Option<BatteryStatus> {
    let remaining = report.battery?.remaining?;
    Some(BatteryStatus {
        remaining_percent: Some(i32::from(remaining.get())),
    })
}

fn far_from(before: Option<&BatteryStatus>, now: &BatteryStatus) -> bool {
    match (before.and_then(|b| b.remaining_percent), now.remaining_percent) {
        (Some(before), Some(now)) => (before - now).abs() >= BATTERY_STEP,
        (before, now) => before != now,
    }
}

fn position(report: &Report) -> Option<PositionStatus> {
    report.position.map(|p| PositionStatus {
        latitude_degrees: p.at.latitude_deg,
        longitude_degrees: p.at.longitude_deg,
        altitude_above_home_meters: (p.above_home.0 * 10.0).round() / 10.0,
    })
}
