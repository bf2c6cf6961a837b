//! The Swarm's status, from the status of its Drones.

use crate::cluster::api::ApiError;
use crate::cluster::conditions::{condition, exact_condition};
use crate::cluster::key::Key;
use crate::cluster::selection::swarm_label;
use crate::cluster::status::write as write_status;
use crate::cluster::world::uid;
use crate::controllers::facts::Observer;
use crate::controllers::pacing::{Due, Urgency};
use crate::controllers::swarm::expectations::EXCEEDED_QUOTA;
use crate::controllers::swarm::members::slot;
use crate::controllers::swarm::rollout::is_outdated;
use crate::controllers::swarm::{SwarmController, formation};
use crate::controllers::takeoff_slots::bounds;
use crate::ground::{self, Ground};
use crds::formation::SlotStatus;
use crds::{Drone, Swarm, SwarmStatus};
use fleet::planning::formation::coverage::{Coverage, Slot};
use fleet::planning::swarm::{Readiness, Tally, readiness};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp, Unit};
use kube::ResourceExt;
use kube::api::Api;
use model::geo::offset;
use model::station::Station;
use model::time::Moment;
use model::units::Wgs84;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const MAX_NAMES: usize = 100;

/// Writes the Swarm's status, or says when to reconcile again. `trouble`: why Drones could not be made or removed, a word and a sentence.
pub async fn write(
    controller: &SwarmController,
    swarm: &Swarm,
    trouble: Option<(&'static str, String)>,
) -> Result<Option<Duration>, ApiError> {
    let Observer {
        cluster,
        ground,
        airspace,
        leadership,
        ..
    } = &controller.observer;
    let drones = cluster.world.drones_of_swarm(uid(swarm));
    let old = swarm.status.clone().unwrap_or_default();
    let calm = controller.assessments.calm(uid(swarm));
    let grounded = swarm.spec.grounded || covered(ground, &drones);
    let mut next = assemble(swarm, &old, (&drones, grounded), calm, trouble, Timestamp::now());
    match formation::slots(swarm, airspace.rules()) {
        None => {}
        Some(Ok(slots)) => {
            let snapshot = SlotsSnapshot {
                coverage: controller.coverages.of(uid(swarm)),
                now: leadership.state.now(),
                unsure: leadership.grace_left().is_some(),
                waits: waits(&drones, |drone| {
                    formation::asks_for_slot(drone, &slots, airspace.rules())
                }),
            };
            add_slots(&mut next, (&old, swarm), &slots, &drones, &snapshot, Timestamp::now());
        }
        // An invalid formation is not waited for.
        Some(Err(why)) => {
            let generation = swarm.metadata.generation.unwrap_or_default();
            let (old, text) = (&old.conditions, super::bad_formation(&why));
            let covered = condition(
                old,
                "Covered",
                Some(false),
                BAD_FORMATION,
                &text,
                generation,
                Timestamp::now(),
            );
            next.conditions.push(covered);
        }
    }
    let ready = |s: &SwarmStatus| s.conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True");
    let urgency = match (old == next, ready(&next) && !ready(&old)) {
        (true, _) => Urgency::None,
        (false, true) => Urgency::Now,
        (false, false) => Urgency::Soon,
    };
    match controller.paces.due(uid(swarm), urgency, Instant::now()) {
        Due::Never => return Ok(None),
        Due::In(delay) => return Ok(Some(delay)),
        Due::Now => {}
    }
    let key = Key::of(swarm);
    let swarms: Api<Swarm> = Api::namespaced(cluster.client(), &key.namespace);
    let written = write_status("write the status of a Swarm", &swarms, &swarm.metadata, &next).await?;
    controller.paces.written(uid(swarm), Instant::now());
    cluster.world.learn_swarm(written);
    Ok(None)
}

/// Whether ground orders keep all Drones of a Swarm on the ground.
fn covered(ground: &Ground, drones: &[Arc<Drone>]) -> bool {
    !drones.is_empty() && drones.iter().all(|drone| ground::covering(ground, drone).is_some())
}

fn assemble(
    swarm: &Swarm,
    old: &SwarmStatus,
    (drones, grounded): (&[Arc<Drone>], bool),
    calm: bool,
    trouble: Option<(&'static str, String)>,
    now: Timestamp,
) -> SwarmStatus {
    let small = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let mut tally = Tally {
        surge: if calm { 0 } else { bounds(swarm).surge },
        desired: usize::try_from(swarm.spec.replicas).unwrap_or_default(),
        live: 0,
        leaving: 0,
        assigned: 0,
        ready: 0,
        stalled: 0,
        unknown: 0,
        grounded,
        deleting: swarm.metadata.deletion_timestamp.is_some(),
    };
    let mut flying = 0;
    for drone in drones {
        count(swarm, drone, &mut tally, &mut flying);
    }
    let mut verdict = readiness(&tally);
    let foreign = trouble.as_ref().is_some_and(|(_, text)| !text.contains(EXCEEDED_QUOTA));
    if let Some((reason, message)) = trouble {
        verdict = Readiness {
            ready: false,
            stalled: true,
            reason,
            message,
        };
    }
    let generation = swarm.metadata.generation.unwrap_or_default();
    // In the order of their names.
    let names = drones.iter().take(MAX_NAMES).map(|drone| drone.name_any());
    let make = |kind, value| {
        let (reason, message) = (verdict.reason, &verdict.message);
        condition(&old.conditions, kind, Some(value), reason, message, generation, now)
    };
    let mut ready = make("Ready", verdict.ready);
    // Foreign texts may hold numbers that are no news; the number of flying Drones is, and so are those of a quota.
    if !foreign {
        ready.message.clone_from(&verdict.message);
    }
    let mut conditions = vec![ready];
    // As kstatus has it: present only while true.
    conditions.extend(verdict.stalled.then(|| make("Stalled", true)));
    SwarmStatus {
        replicas: small(drones.len()),
        assigned_drones: small(tally.assigned),
        flying_drones: small(flying),
        unknown_drones: small(tally.unknown),
        selector: swarm_label(swarm).map(|(key, value)| format!("{key}={value}")),
        drone_names: names.collect(),
        // Of a formation that cannot be flown, the last known values stay.
        covered_slots: old.covered_slots.filter(|_| swarm.spec.formation.is_some()),
        slots: old.slots.clone(),
        observed_generation: Some(generation),
        conditions,
    }
}

pub(super) const BAD_FORMATION: &str = "BadFormation";

struct SlotsSnapshot {
    coverage: Coverage,
    now: Moment,
    /// Agents have not had time to connect: a slot that was covered may still be.
    unsure: bool,
    /// A relief that waits on the ground for its slot, and the Drone that it waits for, in a sentence.
    waits: Option<String>,
}

/// The first relief that waits on the ground for the very slot of another, which has to leave first as no place beside it is free.
fn waits(drones: &[Arc<Drone>], asks_for_slot: impl Fn(&Drone) -> bool) -> Option<String> {
    let flies = |drone: &Drone| drone.status.as_ref().and_then(|status| status.flying);
    let on_ground = drones
        .iter()
        .filter(|drone| drone.metadata.deletion_timestamp.is_none() && flies(drone) == Some(false));
    on_ground.filter(|drone| asks_for_slot(drone)).find_map(|relief| {
        let slot = slot(relief)?;
        let mut there = drones.iter().filter(|drone| self::slot(drone) == Some(slot));
        let holder = there.find(|drone| flies(drone) == Some(true))?;
        Some(format!(
            "no place beside or below slot {slot} is free, so {} waits on the ground until {} has left",
            relief.name_any(),
            holder.name_any()
        ))
    })
}

/// Adds the slots of the formation. The message of a slot stays as written while only numbers change in it.
fn add_slots(
    next: &mut SwarmStatus,
    (old, swarm): (&SwarmStatus, &Swarm),
    slots: &[Station],
    drones: &[Arc<Drone>],
    snapshot: &SlotsSnapshot,
    now: Timestamp,
) {
    let small = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let by_uid: BTreeMap<&str, &Arc<Drone>> = drones.iter().map(|drone| (uid(drone.as_ref()), drone)).collect();
    // Of the Drones that were given a slot, one that is not leaving.
    let mut holders: BTreeMap<usize, &Arc<Drone>> = BTreeMap::new();
    let leaves = |drone: &Drone| drone.metadata.deletion_timestamp.is_some();
    for drone in drones {
        let Some(slot) = slot(drone) else { continue };
        if holders.get(&slot).is_none_or(|holder| leaves(holder) && !leaves(drone)) {
            holders.insert(slot, drone);
        }
    }
    let mut all: Vec<SlotStatus> = Vec::with_capacity(slots.len());
    for (number, station) in slots.iter().enumerate() {
        // Written in order, from slot 0.
        let before = old.slots.get(number).filter(|slot| slot.slot == small(number));
        let slot = snapshot.coverage.slots().get(number);
        let covered_by = slot.and_then(Slot::covered_by);
        let holder = match covered_by {
            Some(by) => by_uid.get(by.0.as_str()),
            None => holders.get(&number),
        };
        let holder = holder.copied();
        let seconds = |time: Timestamp| Time(time.round(Unit::Second).unwrap_or(time));
        let since = slot.and_then(Slot::since).map(|since| {
            let ago = SignedDuration::try_from(snapshot.now.since(since)).unwrap_or_default();
            seconds(now.checked_sub(ago).unwrap_or(now))
        });
        // A leader that has never observed it covered goes on from the written time, or counts from now.
        let unchanged = before.filter(|before| before.covered == covered_by.is_some());
        let since = since
            .or_else(|| unchanged?.since.clone())
            .unwrap_or_else(|| seconds(now));
        let slot = SlotStatus {
            slot: small(number),
            covered: covered_by.is_some(),
            since: Some(since),
            drone: holder.map(|drone| drone.name_any()),
            off_meters: holder.and_then(|drone| off(drone, station)),
            message: covered_by.is_none().then(|| why(holder)),
        };
        let same = |before: &&SlotStatus| {
            (before.covered, &before.drone, &before.message) == (slot.covered, &slot.drone, &slot.message)
        };
        let stays = before.filter(|before| same(before) || (snapshot.unsure && before.covered && !slot.covered));
        all.push(stays.cloned().unwrap_or(slot));
    }
    let covered = all.iter().filter(|slot| slot.covered).count();
    let (reason, message) = match (covered, all.len()) {
        (covered, all) if covered == all => ("AllCovered", format!("{covered} of {all} slots are covered")),
        (covered, all) => (
            "NotAllCovered",
            format!("{covered} of {all} slots are covered; see status.slots"),
        ),
    };
    let message = match &snapshot.waits {
        Some(waits) => format!("{message}; {waits}"),
        None => message,
    };
    let generation = swarm.metadata.generation.unwrap_or_default();
    let value = Some(covered == all.len());
    let condition = exact_condition(&old.conditions, "Covered", value, reason, &message, generation, now);
    next.conditions.push(condition);
    next.covered_slots = Some(small(covered));
    all.truncate(MAX_NAMES);
    next.slots = all;
}

/// Distance over ground from a place, in whole meters, by the Drone's status.
fn off(drone: &Drone, station: &Station) -> Option<f64> {
    let position = drone.status.as_ref()?.position.as_ref()?;
    let at = Wgs84 {
        latitude_deg: position.latitude_degrees,
        longitude_deg: position.longitude_degrees,
    };
    let (east, north) = offset(station.place().at, at);
    Some(east.hypot(north).round())
}

/// Why no vehicle covers a slot that this Drone was given.
fn why(holder: Option<&Arc<Drone>>) -> String {
    let Some(drone) = holder else {
        return "no Drone has it yet".to_owned();
    };
    let conditions = drone.status.iter().flat_map(|status| &status.conditions);
    let ready = conditions.into_iter().find(|condition| condition.type_ == "Ready");
    match ready {
        Some(ready) if ready.status == "True" => "it has not been observed there for a second".to_owned(),
        Some(ready) if ready.message.is_empty() => ready.reason.clone(),
        Some(ready) => ready.message.clone(),
        None => "it waits for a vehicle".to_owned(),
    }
}

fn count(swarm: &Swarm, drone: &Drone, tally: &mut Tally, flying: &mut usize) {
    let status = drone.status.as_ref();
    *flying += usize::from(status.is_some_and(|status| status.flying == Some(true)));
    let bound = drone.spec.node_name.is_some();
    tally.assigned += usize::from(bound);
    // Absent while unknown; a Drone that was not reconciled yet has no phase either.
    tally.unknown += usize::from(bound && status.is_some_and(|s| s.flying.is_none() && s.phase.is_some()));
    if drone.metadata.deletion_timestamp.is_some() {
        tally.leaving += 1;
        return;
    }
    tally.live += 1;
    let is = |kind: &str| {
        let mut conditions = status.into_iter().flat_map(|status| &status.conditions);
        // Conditions of an earlier spec say nothing of this one.
        conditions.any(|c| c.type_ == kind && c.status == "True" && c.observed_generation == drone.metadata.generation)
    };
    tally.ready += usize::from(is("Ready") && !is_outdated(swarm, drone));
    tally.stalled += usize::from(is("Stalled"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::labels;
    use serde_json::json;

    #[test]
    fn the_words_of_a_swarm_tell_how_many_fly_now() {
        let swarm = Swarm::new(
            "alpha",
            crds::SwarmSpec {
                replicas: 3,
                ..crds::SwarmSpec::default()
            },
        );
        let drone = |flies: bool| {
            let mut drone = Drone::new(
                "alpha-1",
                crds::DroneSpec {
                    node_name: Some("n1".into()),
                    ..crds::DroneSpec::default()
                },
            );
            drone.metadata.generation = Some(1);
            let ready = condition(&[], "Ready", Some(flies), "Holding", "", 1, Timestamp::UNIX_EPOCH);
            drone.status = Some(crds::DroneStatus {
                conditions: vec![ready],
                ..crds::DroneStatus::default()
            });
            Arc::new(drone)
        };
        let make = |old: &SwarmStatus, flying: usize| {
            let drones: Vec<_> = (0..3).map(|n| drone(n < flying)).collect();
            assemble(&swarm, old, (&drones, false), true, None, Timestamp::UNIX_EPOCH)
        };
        let one = make(&SwarmStatus::default(), 1);
        assert!(one.conditions[0].message.starts_with("1 of 3 fly"));
        let two = make(&one, 2);
        assert!(
            two.conditions[0].message.starts_with("2 of 3 fly"),
            "{}",
            two.conditions[0].message
        );
        assert_eq!(make(&two, 2), two, "nothing is written while nothing changes");
    }

    #[test]
    fn a_relief_that_waits_on_the_ground_for_its_slot_is_named_with_what_it_waits_for() {
        let drone = |name: &str, slot: &str, flying: bool| {
            let mut drone = Drone::new(name, crds::DroneSpec::default());
            drone.metadata.labels = Some([(labels::SLOT.to_owned(), slot.to_owned())].into());
            drone.status = Some(crds::DroneStatus {
                flying: Some(flying),
                ..crds::DroneStatus::default()
            });
            Arc::new(drone)
        };
        let drones = [
            drone("a", "0", true),
            drone("b", "1", true),
            drone("c", "1", false),
            drone("d", "2", false),
        ];
        assert_eq!(
            waits(&drones, |_| true).as_deref(),
            Some("no place beside or below slot 1 is free, so c waits on the ground until b has left")
        );
        assert_eq!(waits(&drones, |_| false), None, "it takes off beside");
        assert_eq!(waits(&drones[..2], |_| true), None);
    }

    #[test]
    fn each_slot_says_who_covers_it_or_why_nobody_does_and_is_written_when_that_changes() {
        let anchor = json!({"latitudeDegrees": 47.4, "longitudeDegrees": 8.5, "altitudeMeters": 20});
        let formation = json!({"shape": "Line", "anchor": anchor, "spacingMeters": 20});
        let spec = json!({"replicas": 2, "formation": formation});
        let swarm = Swarm::new("alpha", serde_json::from_value(spec).unwrap());
        let slots = formation::slots(&swarm, &crate::controllers::airspace::SiteRules::default());
        let slots = slots.unwrap().unwrap();
        let drone = |name: &str, slot: &str, meters: f64| {
            let mut drone = Drone::new(name, crds::DroneSpec::default());
            drone.metadata.uid = Some(name.into());
            drone.metadata.labels = Some([(labels::SLOT.to_owned(), slot.to_owned())].into());
            let ready = condition(
                &[],
                "Ready",
                Some(false),
                "Moving",
                "it flies",
                1,
                Timestamp::UNIX_EPOCH,
            );
            drone.status = Some(crds::DroneStatus {
                conditions: vec![ready],
                position: Some(crds::drone::PositionStatus {
                    latitude_degrees: 47.4 + meters / 111_200.0,
                    longitude_degrees: 8.5,
                    ..crds::drone::PositionStatus::default()
                }),
                ..crds::DroneStatus::default()
            });
            Arc::new(drone)
        };
        let second = |n: u64| Moment::at(Duration::from_secs(n));
        let seen = |covered: bool| {
            let mut coverage = Coverage::default();
            for at in 10..13 {
                let off = slots[0].off(
                    slots[0].place().at,
                    model::units::AltitudeAmsl(0.0),
                    model::units::AltitudeAboveHome(20.0),
                );
                let near = fleet::planning::formation::coverage::Near {
                    uid: model::ids::DroneUid("a".into()),
                    slot: 0,
                    off,
                    at: second(at),
                };
                let near: Vec<_> = covered.then_some(near).into_iter().collect();
                coverage.observe(2, &near, model::station::Tolerance::default(), second(at));
            }
            coverage
        };
        let make = |old: &SwarmStatus, meters: f64, covered: bool, unsure: bool| {
            let mut next = SwarmStatus::default();
            let snapshot = SlotsSnapshot {
                coverage: seen(covered),
                now: second(12),
                unsure,
                waits: None,
            };
            let drones = [drone("a", "0", meters)];
            add_slots(
                &mut next,
                (old, &swarm),
                &slots,
                &drones,
                &snapshot,
                Timestamp::UNIX_EPOCH,
            );
            next
        };
        let status = make(&SwarmStatus::default(), 0.0, true, false);
        let [one, two] = &status.slots[..] else {
            panic!("two slots")
        };
        assert_eq!(
            (one.covered, one.drone.as_deref(), one.off_meters, &one.message),
            (true, Some("a"), Some(0.0), &None)
        );
        assert_eq!(
            (two.covered, two.drone.as_deref(), two.message.as_deref()),
            (false, None, Some("no Drone has it yet"))
        );
        assert_eq!(
            two.since,
            Some(Time(Timestamp::UNIX_EPOCH)),
            "uncovered since it is known"
        );
        assert_eq!(
            (status.covered_slots, status.conditions[0].message.as_str()),
            (Some(1), "1 of 2 slots are covered; see status.slots")
        );
        assert_eq!(make(&status, 1.6, true, false), status, "only a number has changed");
        let lost = make(&status, 30.0, false, false);
        assert_eq!(
            (
                lost.slots[0].covered,
                lost.slots[0].message.as_deref(),
                lost.slots[0].off_meters
            ),
            (false, Some("it flies"), Some(30.0))
        );
        assert_eq!(
            make(&status, 30.0, false, true).slots,
            status.slots,
            "a new leader has not heard them yet"
        );
        // To a leader that has never observed it covered, it is uncovered since its predecessor wrote so.
        let mut reported = lost.clone();
        reported.slots[0].since = Some(Time(Timestamp::from_second(-500).unwrap()));
        reported.slots[0].message = Some("it takes off".into());
        let later = make(&reported, 40.0, false, false).slots[0].clone();
        assert_eq!(
            (&later.since, later.message.as_deref()),
            (&reported.slots[0].since, Some("it flies"))
        );
    }
}
