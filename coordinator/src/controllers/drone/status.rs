//! The Drone's status object: put together from what is known, and written when it changes in a way that matters.

use crate::cluster::api::ApiError;
use crate::cluster::conditions::condition;
use crate::cluster::status::write_while;
use crate::controllers::drone::DroneController;
use crate::controllers::drone::apply::Applied;
use crate::controllers::drone::heights::check_again;
use crate::controllers::drone::notes::notes;
use crate::controllers::drone::refusals;
use crate::controllers::facts::{DroneSnapshot, Observer, serving_node};
use crate::controllers::pacing::{Due, Urgency};
use crate::controllers::reported_flight::{later, reported_flight, so_far};
use crds::drone::{BatteryStatus, PositionStatus, VehicleIdentity};
use crds::{Drone, DroneStatus};
use fleet::planning::drone::status::{Binding, ON_ITS_WAY, Phase, Question, ReadyReason, Status, status};
use fleet::planning::pads::{CLOSE_PADS, close_pads};
use fleet::planning::site;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::Api;
use model::report::Report;
use model::vehicle::Autopilot;
use std::time::Duration;
use tokio::time::Instant;

/// A battery change of this many percent is worth a write of its own: a whole charge then costs three writes at most, within the budget of
/// eight for a long flight. Live figures come with the fleet service.
pub(crate) const BATTERY_STEP_PERCENT: i32 = 25;

/// Begins of warnings about other vehicles.
const OF_OTHERS: [&str; 3] = [site::SHARED_RETURN, site::CROSSED_STATION, CLOSE_PADS];

/// Warning for a Drone without a station or a plan: others do not take off so near to another.
fn too_near(observer: &Observer, snapshot: &DroneSnapshot) -> Option<String> {
    let facts = &snapshot.facts;
    let node = snapshot.node.as_ref();
    let node = node.filter(|_| facts.movement.is_none() && facts.plan.is_none())?;
    let least = observer.airspace.rules().rules.pads_apart();
    let other = observer.sessions.pad_beside(node, least)?;
    Some(close_pads(&other, least))
}

/// Warning for a Drone without a station: the movement of others has it.
fn returns_through(observer: &Observer, snapshot: &DroneSnapshot) -> Option<String> {
    let node = snapshot.node.as_ref();
    let node = node.filter(|_| snapshot.facts.movement.is_none())?;
    observer.airspace.crossed_station(node)
}

/// Writes the status after a step, or says when to reconcile again.
pub async fn write(controller: &DroneController, applied: &Applied) -> Result<Option<Duration>, ApiError> {
    let (snapshot, binding) = (applied.snapshot(), applied.binding());
    let Observer {
        cluster, leadership, ..
    } = controller.observer();
    let serves = serving_node(controller.observer(), snapshot).is_some();
    let report = snapshot.report.as_deref().filter(|_| serves);
    let height = controller.heights.observe(snapshot, leadership.state.now());
    let again = check_again(height);
    let sooner = |delay| Some(again.map_or(delay, |again| again.min(delay)));
    let new = status(&Question {
        drone: &snapshot.facts,
        binding,
        report,
        no_release: applied.no_release(),
        height,
    });
    let old = snapshot.drone.status.clone().unwrap_or_default();
    if let Some(grace) =
        grace(controller.observer(), snapshot).filter(|_| old.phase.is_some() && old.node_name.is_some())
    {
        return Ok(sooner(grace));
    }
    let mut next = assemble(
        &old,
        &new,
        binding,
        report,
        snapshot.held_by_agent(),
        snapshot.facts.generation,
        Timestamp::now(),
    );
    next.preflight_warnings
        .retain(|line| !OF_OTHERS.iter().any(|begin| line.starts_with(begin)));
    let movement = snapshot.facts.movement.as_ref().filter(|_| serves);
    next.preflight_warnings
        .extend(movement.and_then(|movement| movement.shared_return.clone()));
    next.preflight_warnings
        .extend(movement.and_then(|movement| movement.crossed_station.clone()));
    next.preflight_warnings
        .extend(too_near(controller.observer(), snapshot).filter(|_| serves));
    next.preflight_warnings
        .extend(returns_through(controller.observer(), snapshot).filter(|_| serves));
    match controller
        .paces
        .due(snapshot.uid(), urgency(&old, &next), Instant::now())
    {
        Due::Never => return Ok(again),
        Due::In(delay) => return Ok(sooner(delay)),
        Due::Now => {}
    }
    if let Some(report) = report {
        refresh(&mut next, report, Timestamp::now());
    }
    let drones: Api<Drone> = Api::namespaced(cluster.client(), &snapshot.key.namespace);
    if leadership.ending.is_cancelled() {
        // Sessions end because we end; that says nothing about vehicles.
        return Ok(None);
    }
    let acts = || leadership.state.acts();
    let what = "write the status of a Drone";
    let written = write_while(acts, what, &drones, &snapshot.drone.metadata, &next).await?;
    controller.paces.written(snapshot.uid(), Instant::now());
    let traces = &controller.observer().traces;
    traces.flies(&snapshot.drone, snapshot.node.as_ref(), (old.flying, next.flying));
    cluster.world.learn_drone(written);
    let (from, to) = (
        old.phase.as_deref().unwrap_or("none"),
        next.phase.as_deref().unwrap_or("none"),
    );
    if from != to {
        tracing::info!(from, to, "phase changed");
    }
    for note in notes(&old, &next) {
        cluster.events.record(&snapshot.drone, note);
    }
    Ok(again)
}

/// How much longer silence is no news, while agents find a coordinator that has just started. For people only: no decision rests on it.
fn grace(observer: &Observer, snapshot: &DroneSnapshot) -> Option<Duration> {
    let node = snapshot.node.as_ref()?;
    let unheard = observer.sessions.snapshot(node).report.is_none();
    observer.leadership.grace_left().filter(|_| unheard)
}

/// A mode that changes on the way up or down is written with the next change.
fn urgency(old: &DroneStatus, next: &DroneStatus) -> Urgency {
    let ready = |s: &DroneStatus| s.conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True");
    let deviates = |s: &DroneStatus| {
        let ready = s.conditions.iter().find(|c| c.type_ == "Ready");
        ready
            .and_then(|c| ReadyReason::parse(&c.reason))
            .is_some_and(ReadyReason::is_alarm)
    };
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
    } else if flight || alarm || (ready(next) && !ready(old)) || (deviates(next) && !deviates(old)) {
        Urgency::Now
    } else if on_its_way(old).is_some() && on_its_way(old) == on_its_way(next) {
        Urgency::Later
    } else {
        Urgency::Soon
    }
}

/// The generation for which a vehicle is on its way to its station: why it waits, flies or settles changes from one second to the next.
fn on_its_way(status: &DroneStatus) -> Option<i64> {
    let ready = status.conditions.iter().find(|c| c.type_ == "Ready")?;
    let on_way = ReadyReason::parse(&ready.reason).is_some_and(|reason| ON_ITS_WAY.contains(&reason));
    on_way.then(|| ready.observed_generation.unwrap_or_default())
}

fn assemble(
    old: &DroneStatus,
    new: &Status,
    binding: &Binding,
    report: Option<&Report>,
    held: bool,
    generation: i64,
    now: Timestamp,
) -> DroneStatus {
    // Only an agent that holds this Drone can report of its flight.
    let holder = report.filter(|_| held);
    let node_name = match binding {
        Binding::Bound(node) => Some(node.to_string()),
        // The finalizer depends on a node that may have served it, so it is never forgotten.
        _ => old.node_name.clone(),
    };
    let phase = Some(new.phase.text().to_owned());
    let transition = old.phase != phase || old.flying != new.flying;
    // Identity and last position, where a person may search, stay when the agent falls silent. An old charge is not shown: it drains on.
    let same_node = old.node_name == node_name;
    let before = if same_node { old.clone() } else { DroneStatus::default() };
    let flight = later(reported_flight(&before), holder);
    let vehicle = same_airframe(before.vehicle, report.and_then(identity));
    let battery = match report.and_then(|r| battery(r, now)) {
        Some(now) if transition || far_from(before.battery.as_ref(), &now) => Some(now),
        None if new.phase == Phase::Unknown => None,
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
        takeovers: Some(i32::try_from(flight.takeovers).unwrap_or(i32::MAX)).filter(|&count| count > 0),
        flight: so_far(flight.so_far).map(str::to_owned),
        arming_refusals: report.map_or_else(Vec::new, |r| refusals::reported(&before.arming_refusals, r, now)),
        preflight_warnings: warnings(before.preflight_warnings, report),
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

/// Figures that cause no write of their own, taken along with one.
fn refresh(next: &mut DroneStatus, report: &Report, now: Timestamp) {
    next.battery = battery(report, now).or_else(|| next.battery.take());
    next.position = position(report).or_else(|| next.position.take());
}

/// An agent that was restarted in flight has yet to read the autopilot's parameters: findings from before the flight stay.
fn warnings(before: Vec<String>, report: Option<&Report>) -> Vec<String> {
    match report {
        Some(r) if !r.warnings.is_empty() || r.truth.flying() != Some(true) => r.warnings.clone(),
        Some(_) | None => before,
    }
}

/// Hardware that was read once stays, because a Drone never moves to another airframe.
fn same_airframe(before: Option<VehicleIdentity>, read: Option<VehicleIdentity>) -> Option<VehicleIdentity> {
    let (before, read) = match (before, read) {
        (Some(before), Some(read)) => (before, read),
        (before, read) => return read.or(before),
    };
    let another = read.hardware_uid.is_some()
        && before
            .hardware_uid
            .as_ref()
            .is_some_and(|_| before.hardware_uid != read.hardware_uid);
    Some(if another {
        before
    } else {
        VehicleIdentity {
            hardware_uid: read.hardware_uid.or(before.hardware_uid),
            firmware: read.firmware.or(before.firmware),
            ..read
        }
    })
}

pub(crate) fn identity(report: &Report) -> Option<VehicleIdentity> {
    report.identity.as_ref().map(|id| VehicleIdentity {
        autopilot: match id.autopilot {
            Autopilot::ArduPilot => "ArduPilot".into(),
            Autopilot::Px4 => "PX4".into(),
        },
        system_id: i32::from(id.system.0),
        firmware: id.firmware.clone(),
        hardware_uid: id.hardware.map(|uid| uid.to_string()),
    })
}

pub(crate) fn battery(report: &Report, now: Timestamp) -> Option<BatteryStatus> {
    let remaining = report.battery?.remaining?;
    let age = report.battery_at.map_or(Duration::ZERO, |at| report.made.since(at));
    // Kubernetes keeps whole seconds.
    let observed = now.checked_sub(age).map_or(now.as_second(), Timestamp::as_second);
    Some(BatteryStatus {
        remaining_percent: Some(i32::from(remaining.get())),
        observed_time: Timestamp::from_second(observed).ok().map(Time),
    })
}

pub(crate) fn far_from(before: Option<&BatteryStatus>, now: &BatteryStatus) -> bool {
    match (before.and_then(|b| b.remaining_percent), now.remaining_percent) {
        (Some(before), Some(now)) => (before - now).abs() >= BATTERY_STEP_PERCENT,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::key::Key;
    use crate::cluster::world::Change;
    use crate::controllers::drone::apply::apply;
    use crate::controllers::drone::binding::Binder;
    use crate::controllers::drone::decide::decide;
    use crate::controllers::facts::tests::{bound, holding, observer};
    use crate::controllers::pacing::{BATCH_DELAY, Paces};
    use crds::DroneSpec;
    use fleet::planning::drone::status::{Condition as Said, Kind};
    use http::{Request, Response};
    use kube::client::Body;
    use model::ids::{NodeName, Term};
    use model::reported_flight::{ReportedFlight, SoFar};
    use model::units::{AltitudeAboveHome, AltitudeAmsl, ComponentId, Percent, SystemId, Wgs84};
    use model::vehicle::{Battery, Charge, FlightTruth, Identity, Position};
    use serde_json::{Value, json};
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};
    use tower::service_fn;

    fn status(phase: Phase, flying: Option<bool>, ready: bool) -> Status {
        let ready = Said {
            kind: Kind::Ready,
            value: Some(ready),
            reason: phase.text(),
            message: phase.text().into(),
        };
        Status {
            phase,
            flying,
            conditions: vec![ready],
        }
    }

    fn report(percent: u8, mode: &str) -> Report {
        Report {
            link_alive: true,
            truth: FlightTruth::Disarmed,
            mode: Some(mode.into()),
            battery: Some(Battery {
                charge: Charge::Unknown,
                remaining: Percent::new(percent),
                voltage: None,
            }),
            ..Report::of_nothing(NodeName::parse("n").unwrap())
        }
    }

    fn next(old: &DroneStatus, status: &Status, report: Option<&Report>, second: i64) -> DroneStatus {
        let binding = Binding::Bound(NodeName::parse("n").unwrap());
        assemble(
            old,
            status,
            &binding,
            report,
            true,
            1,
            Timestamp::from_second(second).unwrap(),
        )
    }

    #[test]
    fn what_was_told_of_a_flight_is_kept_until_an_agent_with_the_drone_says_otherwise() {
        let binding = Binding::Bound(NodeName::parse("n").unwrap());
        let says = |old: &DroneStatus, report: Option<&Report>, held| {
            let now = Timestamp::from_second(9).unwrap();
            assemble(
                old,
                &status(Phase::Unknown, None, false),
                &binding,
                report,
                held,
                1,
                now,
            )
        };
        for so_far in [SoFar::Fresh, SoFar::Flown, SoFar::Over, SoFar::Killed] {
            let report = Report {
                takeovers: 2,
                so_far,
                ..report(80, "GUIDED")
            };
            let kept = says(&DroneStatus::default(), Some(&report), true);
            assert_eq!(
                reported_flight(&kept),
                ReportedFlight {
                    takeovers: 2,
                    so_far,
                    hardware: None
                }
            );
            let forgetful = Report::of_nothing(NodeName::parse("n").unwrap());
            for later in [says(&kept, None, false), says(&kept, Some(&forgetful), false)] {
                assert_eq!(reported_flight(&later), reported_flight(&kept));
            }
            // An agent whose disk is older does not take back a takeover or a kill: it gets them back itself.
            let stale = reported_flight(&says(&kept, Some(&forgetful), true));
            let expected = match so_far {
                SoFar::Killed => SoFar::Killed,
                SoFar::Fresh | SoFar::Flown | SoFar::Over => SoFar::Fresh,
            };
            assert_eq!((stale.takeovers, stale.so_far), (2, expected));
        }
    }

    #[test]
    fn a_battery_is_written_at_transitions_and_when_it_has_changed_by_a_quarter() {
        let flying = status(Phase::Flying, Some(true), true);
        let first = next(&DroneStatus::default(), &flying, Some(&report(80, "GUIDED")), 10);
        let later = next(&first, &flying, Some(&report(56, "GUIDED")), 20);
        assert_eq!((urgency(&first, &later), &later), (Urgency::None, &first));
        let low = next(&first, &flying, Some(&report(55, "GUIDED")), 30);
        assert_eq!(urgency(&first, &low), Urgency::Soon);
        let landing = next(
            &first,
            &status(Phase::Landing, Some(true), false),
            Some(&report(79, "LAND")),
            40,
        );
        assert_eq!(landing.battery.unwrap().remaining_percent, Some(79));
        let unheard = next(&first, &status(Phase::Unknown, None, false), None, 50);
        assert_eq!(unheard.battery, None, "an old charge is not shown");
        assert_eq!(unheard.vehicle, first.vehicle);
    }

    #[test]
    fn a_write_for_another_reason_has_the_battery_of_now_and_the_time_of_its_report() {
        let first = next(
            &DroneStatus::default(),
            &status(Phase::Flying, Some(true), true),
            Some(&report(80, "GUIDED")),
            10,
        );
        let mut written = next(
            &first,
            &status(Phase::Flying, Some(true), false),
            Some(&report(71, "GUIDED")),
            100,
        );
        assert_eq!(written.battery, first.battery);
        let seconds = |s| model::time::Moment::at(Duration::from_secs(s));
        let reported = Report {
            made: seconds(60),
            battery_at: Some(seconds(57)),
            ..report(71, "GUIDED")
        };
        refresh(&mut written, &reported, Timestamp::from_second(100).unwrap());
        let battery = written.battery.unwrap();
        assert_eq!(battery.remaining_percent, Some(71));
        assert_eq!(battery.observed_time.unwrap().0.as_second(), 97);
    }

    #[test]
    fn what_preflight_found_stands_while_an_agent_restarted_in_flight_reads_it_again() {
        let found = vec!["NAV_DLL_ACT is 0".to_owned()];
        let with = |truth, warnings: &[String]| Report {
            truth,
            warnings: warnings.to_vec(),
            ..report(80, "GUIDED")
        };
        let flying = FlightTruth::Airborne(model::vehicle::Airborne::InAir);
        assert_eq!(warnings(found.clone(), Some(&with(flying, &[]))), found);
        assert_eq!(warnings(found.clone(), None), found);
        assert!(warnings(found.clone(), Some(&with(FlightTruth::Disarmed, &[]))).is_empty());
        assert_eq!(warnings(vec![], Some(&with(flying, &found))), found);
    }

    #[test]
    fn the_time_of_a_condition_is_that_of_its_last_change_of_status() {
        let first = next(
            &DroneStatus::default(),
            &status(Phase::Preparing, Some(false), false),
            None,
            10,
        );
        let other_reason = next(&first, &status(Phase::Arming, Some(false), false), None, 20);
        assert_eq!(
            other_reason.conditions[0].last_transition_time,
            first.conditions[0].last_transition_time
        );
        let ready = next(&other_reason, &status(Phase::Flying, Some(true), true), None, 30);
        assert_eq!(ready.conditions[0].last_transition_time.0.as_second(), 30);
    }

    #[test]
    fn takeoff_readiness_and_loss_are_written_at_once_and_the_rest_can_wait() {
        let preparing = next(
            &DroneStatus::default(),
            &status(Phase::Preparing, Some(false), false),
            None,
            0,
        );
        let to = |phase, flying, ready| next(&preparing, &status(phase, flying, ready), None, 0);
        assert_eq!(urgency(&DroneStatus::default(), &preparing), Urgency::Soon);
        assert_eq!(
            urgency(&preparing, &to(Phase::Arming, Some(false), false)),
            Urgency::Soon
        );
        assert_eq!(
            urgency(&preparing, &to(Phase::TakingOff, Some(true), false)),
            Urgency::Now
        );
        assert_eq!(urgency(&preparing, &to(Phase::Unknown, None, false)), Urgency::Now);
        assert_eq!(
            urgency(&preparing, &to(Phase::Interrupted, Some(false), false)),
            Urgency::Now
        );
        let climbing = to(Phase::TakingOff, Some(true), false);
        let holding = next(&climbing, &status(Phase::Flying, Some(true), true), None, 0);
        assert_eq!(urgency(&climbing, &holding), Urgency::Now);
    }

    #[test]
    fn a_mode_that_changes_on_the_way_down_costs_no_write_of_its_own() {
        let landing = status(Phase::Landing, Some(true), false);
        let first = next(&DroneStatus::default(), &landing, Some(&report(80, "GUIDED")), 0);
        let later = next(&first, &landing, Some(&report(80, "LAND")), 0);
        assert_eq!(urgency(&first, &later), Urgency::None);
        let flying = status(Phase::Flying, Some(true), true);
        let first = next(&DroneStatus::default(), &flying, Some(&report(80, "GUIDED")), 0);
        let later = next(&first, &flying, Some(&report(80, "LOITER")), 0);
        assert_eq!(urgency(&first, &later), Urgency::Soon);
    }

    #[test]
    fn what_changes_on_the_way_to_a_station_is_written_when_it_lasts() {
        let because = |ready, reason| {
            let mut status = status(Phase::Flying, Some(true), ready);
            status.conditions[0].reason = reason;
            next(&DroneStatus::default(), &status, None, 0)
        };
        let [moving, waits, clear] = ["Moving", "NoRoute", "KeepsClear"].map(|reason| because(false, reason));
        assert_eq!(urgency(&because(true, "Holding"), &moving), Urgency::Soon, "it leaves");
        assert_eq!(urgency(&moving, &waits), Urgency::Later);
        assert_eq!(urgency(&moving, &clear), Urgency::Soon);
        let mut elsewhere = waits.clone();
        elsewhere.conditions[0].observed_generation = Some(99);
        assert_eq!(
            urgency(&moving, &elsewhere),
            Urgency::Soon,
            "it was asked for another place"
        );
        assert_eq!(urgency(&waits, &because(true, "Holding")), Urgency::Now, "it is there");
    }

    #[test]
    fn a_node_that_may_have_served_is_never_forgotten() {
        let bound = next(
            &DroneStatus::default(),
            &status(Phase::Flying, Some(true), true),
            None,
            0,
        );
        let taken = Binding::NodeTaken {
            node: "n".into(),
            by: "x/y".into(),
        };
        let now = Timestamp::from_second(0).unwrap();
        let after = assemble(
            &bound,
            &status(Phase::Pending, Some(false), false),
            &taken,
            None,
            false,
            1,
            now,
        );
        assert_eq!(after.node_name.as_deref(), Some("n"));
    }

    #[test]
    fn a_flight_that_leaves_its_order_is_written_at_once_and_is_an_event_with_reason() {
        let reasons =
            |old: &DroneStatus, new: &DroneStatus| notes(old, new).iter().map(|n| n.reason).collect::<Vec<_>>();
        let because = |phase, reason| {
            let mut status = status(phase, Some(true), false);
            status.conditions[0].reason = reason;
            status
        };
        let flying = next(
            &DroneStatus::default(),
            &status(Phase::Flying, Some(true), true),
            None,
            0,
        );
        let low = next(&flying, &because(Phase::Flying, "AltitudeLost"), None, 0);
        assert_eq!(urgency(&flying, &low), Urgency::Now);
        assert_eq!(reasons(&flying, &low), ["AltitudeLost"]);
        assert_eq!(reasons(&low, &low), [""; 0]);
        let other_mode = next(&flying, &because(Phase::Interrupted, "OtherMode"), None, 0);
        let battery = next(&other_mode, &because(Phase::Interrupted, "BatteryFailsafe"), None, 0);
        assert_eq!(reasons(&other_mode, &battery), ["BatteryFailsafe"]);
        let fell = next(&flying, &because(Phase::Interrupted, "Fell"), None, 0);
        assert_eq!(reasons(&flying, &fell), ["Interrupted", "Fell"]);
    }

    #[test]
    fn each_change_of_phase_is_one_event() {
        let reasons =
            |old: &DroneStatus, new: &DroneStatus| notes(old, new).iter().map(|n| n.reason).collect::<Vec<_>>();
        let preparing = next(
            &DroneStatus::default(),
            &status(Phase::Preparing, Some(false), false),
            None,
            0,
        );
        let flying = next(&preparing, &status(Phase::Flying, Some(true), true), None, 0);
        let lost = next(&flying, &status(Phase::Unknown, None, false), None, 0);
        assert_eq!(reasons(&DroneStatus::default(), &preparing), [""; 0]);
        assert_eq!(reasons(&preparing, &flying), ["Flying"]);
        assert_eq!(reasons(&flying, &flying), [""; 0]);
        assert_eq!(reasons(&flying, &lost), ["Lost"]);
    }

    /// An API server that keeps the last status.
    fn api(kept: &Arc<Mutex<Option<Value>>>) -> kube::Client {
        let kept = Arc::clone(kept);
        let service = service_fn(move |request: Request<Body>| {
            let kept = Arc::clone(&kept);
            async move {
                let body = request.into_body().collect_bytes().await.unwrap();
                let mut drone: Value = serde_json::from_slice(&body).unwrap();
                *kept.lock().unwrap() = Some(drone["status"].clone());
                drone["spec"] = json!({});
                Ok::<_, Infallible>(Response::new(Body::from(drone.to_string().into_bytes())))
            }
        });
        kube::Client::new(service, "north")
    }

    /// The status that the Drone `name` gets: `n`, whose vehicle is that of node `n` and is heard, or `x`, which merely names that node.
    async fn written_of(name: &str) -> DroneStatus {
        let kept = Arc::default();
        let observer = observer(api(&kept));
        bound(&observer, "n", |_| {});
        let mut other = Drone::new("x", DroneSpec::default());
        other.spec.node_name = Some("n".to_owned());
        other.metadata.namespace = Some("north".to_owned());
        other.metadata.uid = Some("uid-x".to_owned());
        observer.world().drone(Change::Is(Arc::new(other)));
        let identity = Identity {
            autopilot: Autopilot::Px4,
            system: SystemId(7),
            component: ComponentId(1),
            firmware: None,
            hardware: None,
        };
        let position = Position {
            at: Wgs84 {
                latitude_deg: 47.4,
                longitude_deg: 8.5,
            },
            amsl: AltitudeAmsl(500.0),
            above_home: AltitudeAboveHome(0.0),
        };
        let held = holding("uid-n");
        let report = Report {
            identity: Some(identity),
            position: Some(position),
            held: Some(held),
            warnings: vec!["NAV_DLL_ACT is 0".to_owned()],
            ..report(80, "GUIDED")
        };
        let node = NodeName::parse("n").unwrap();
        let opened = observer.sessions.open(&node, 1).unwrap();
        let beside = Report {
            node: NodeName::parse("beside").unwrap(),
            ..report.clone()
        };
        observer.sessions.report(&node, opened.epoch, report);
        let opened = observer.sessions.open(&beside.node, 1).unwrap();
        observer.sessions.report(&beside.node.clone(), opened.epoch, beside);
        let drone = observer.world().get_drone(&Key::new("north", name)).unwrap();
        let controller = DroneController {
            binder: Binder {
                observer,
                granted_only: false,
            },
            assessments: Arc::default(),
            heights: Arc::default(),
            paces: Paces::default(),
        };
        let snapshot = DroneSnapshot::of(controller.observer(), drone);
        let step = decide(&snapshot, Term(1));
        let applied = apply(&controller, snapshot, step, None).await.unwrap().unwrap();
        write(&controller, &applied).await.unwrap();
        assert!(kept.lock().unwrap().is_none(), "it waits for what follows");
        tokio::time::advance(BATCH_DELAY).await;
        write(&controller, &applied).await.unwrap();
        let status = kept.lock().unwrap().take().unwrap();
        serde_json::from_value(status).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn the_status_of_a_drone_that_merely_names_a_node_has_nothing_of_the_vehicle_there() {
        let own = Box::pin(written_of("n")).await;
        assert_eq!(own.vehicle.map(|vehicle| vehicle.system_id), Some(7));
        assert!(own.position.is_some() && own.battery.is_some());
        let other = Box::pin(written_of("x")).await;
        assert_eq!((other.phase.as_deref(), other.node_name), (Some("Pending"), None));
        assert_eq!((other.vehicle, other.position, other.battery), (None, None, None));
        assert_eq!((other.mode, other.preflight_warnings), (None, vec![]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_drone_without_a_station_says_that_another_stands_where_it_is_to_land() {
        let own = Box::pin(written_of("n")).await;
        let said = &own.preflight_warnings;
        assert_eq!((said.len(), said[0].as_str()), (2, "NAV_DLL_ACT is 0"));
        assert!(
            said[1].starts_with(CLOSE_PADS) && said[1].contains("node beside:") && said[1].contains("4 m apart"),
            "{said:?}"
        );
    }

    #[tokio::test]
    async fn a_node_that_has_gone_over_to_another_drone_serves_that_one_alone() {
        let observer = observer(api(&Arc::default()));
        let was_served = |drone: &mut Drone| {
            drone.spec.node_name = Some("n".to_owned());
            drone.status = Some(DroneStatus {
                node_name: Some("n".to_owned()),
                ..DroneStatus::default()
            });
        };
        let serves = |drone: &Arc<Drone>| {
            let snapshot = DroneSnapshot::of(&observer, Arc::clone(drone));
            serving_node(&observer, &snapshot).map(ToString::to_string)
        };
        let before = bound(&observer, "x", was_served);
        assert_eq!(serves(&before).as_deref(), Some("n"), "nobody holds the claim");
        let now = bound(&observer, "n", |_| {});
        assert_eq!((serves(&before), serves(&now).as_deref()), (None, Some("n")));
    }

    #[test]
    fn hardware_that_was_read_once_stays_whatever_is_read_later() {
        let of = |uid: Option<&str>, firmware: Option<&str>| VehicleIdentity {
            autopilot: "PX4".into(),
            system_id: 1,
            firmware: firmware.map(Into::into),
            hardware_uid: uid.map(Into::into),
        };
        let known = of(Some("01"), Some("1.17.0"));
        for read in [None, Some(of(None, None)), Some(of(Some("02"), Some("1.18.0")))] {
            assert_eq!(same_airframe(Some(known.clone()), read), Some(known.clone()));
        }
        let updated = of(Some("01"), Some("1.18.0"));
        assert_eq!(same_airframe(Some(known.clone()), Some(updated.clone())), Some(updated));
        assert_eq!(same_airframe(None, Some(known.clone())), Some(known));
    }
}
