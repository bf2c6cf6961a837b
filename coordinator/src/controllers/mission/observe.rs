//! Missions and their Drones, as input of the plan.

use super::memory::Memory;
use super::{Controller, reach, status, work};
use crate::cluster::key::Key;
use crate::cluster::world::uid;
use crate::controllers::facts::DroneSnapshot;
use crds::{Drone, Mission};
use fleet::planning::drone::on_mission::{Patience, Question, doing, passing};
use fleet::planning::mission::Stretches;
use fleet::planning::mission::priority::Claim;
use fleet::planning::mission::progress::{Doing, Observed};
use fleet::planning::population::Existing;
use kube::ResourceExt;
use model::ids::NodeName;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Vehicles that become fit this soon after the first share the work from the beginning.
const GATHERING_TIME: Duration = Duration::from_secs(5);

/// A vehicle that could not fly a part from where it is on the ground is judged again after this long.
const REACH_RECHECK_INTERVAL: Duration = Duration::from_secs(10);

pub(super) struct Subject {
    pub(super) mission: Arc<Mission>,
    pub(super) drones: Vec<DroneSnapshot>,
}

impl Subject {
    pub(super) fn namespace(&self) -> &str {
        self.mission.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Its namespace, and its uid.
    pub(super) fn place(&self) -> (&str, &str) {
        (self.namespace(), uid(self.mission.as_ref()))
    }

    pub(super) fn claim(&self) -> Claim<'_> {
        let drone = |snapshot: &DroneSnapshot| Existing {
            has_vehicle: snapshot.node.is_some(),
            leaving: snapshot.facts.deleting,
            lost: false,
        };
        Claim {
            namespace: self.namespace(),
            priority: self.mission.spec.priority,
            drones: self.drones.iter().map(drone).collect(),
        }
    }
}

impl Controller {
    pub(super) fn subjects(&self) -> Vec<Subject> {
        let mut missions = self.missions.state();
        missions.sort_by_key(|mission| (-mission.spec.priority, Key::of(mission.as_ref())));
        let subject = |mission: Arc<Mission>| {
            let own = self.observer.world().drones_of_mission(uid(mission.as_ref()));
            // An owner reference from another namespace does not count.
            let is_own = |drone: &Arc<Drone>| drone.namespace() == mission.namespace();
            Subject {
                drones: own
                    .into_iter()
                    .filter(is_own)
                    .map(|drone| DroneSnapshot::of(&self.observer, drone))
                    .collect(),
                mission,
            }
        };
        missions.into_iter().map(subject).collect()
    }

    pub(super) fn observe(&self, subject: &Subject, memory: &mut Memory, now: Instant) -> Vec<Observed> {
        let mut all = Vec::new();
        for snapshot in &subject.drones {
            let name = &snapshot.key.name;
            let flight = memory
                .flights
                .get(name)
                .filter(|_| memory.progress.part(name).is_some());
            let question = Question {
                drone: &snapshot.facts,
                served: snapshot.was_served(),
                report: snapshot.report.as_deref(),
                digest: flight.map(|(_, _, plan)| &plan.digest),
            };
            let passes = passing(&question).map(|what| {
                let since = match memory.since.get(name) {
                    Some((known, since)) if *known == what => *since,
                    _ => now,
                };
                memory.since.insert(name.clone(), (what, since));
                (what, now - since)
            });
            if passes.is_none() {
                memory.since.remove(name);
            }
            let mut does = doing(&question, passes, &Patience::default());
            // Until its part is planned here, it is flown as it was.
            if memory.progress.part(name).is_some() && flight.is_none() && matches!(does, Doing::Fit(_) | Doing::Waits)
            {
                does = Doing::Busy;
            }
            let barred = snapshot
                .node
                .as_ref()
                .and_then(|node| self.observer.airspace.plan_barred(node));
            let ends = memory.replanned.get(name).cloned().or(barred);
            if let Some(why) = ends.filter(|_| does == Doing::Busy) {
                does = Doing::Unfit(why);
            }
            if let Doing::Fit(at) = does {
                does = match memory
                    .unfit
                    .get(name)
                    .filter(|(_, at)| now - *at < REACH_RECHECK_INTERVAL)
                {
                    Some((why, _)) => Doing::Unfit(why.clone()),
                    // Where it may fly is not known yet.
                    None if !self.observer.rules.is_complete() => Doing::Waits,
                    None => Doing::Fit(memory.start(name, work::rounded(at))),
                };
            }
            if let (Doing::Busy, Some((_, flight, plan)), Some(report)) = (&does, flight, &snapshot.report) {
                let holds = report.has_plan(&snapshot.facts.uid, &plan.digest);
                let reached = |item| holds && u16::try_from(item).is_ok_and(|item| report.plan.reached.has(item));
                let judged = reach::goes_on(&self.observer, snapshot, flight, reached, memory.judged.remove(name));
                if let Some(judged) = judged {
                    if let Err(why) = &judged.verdict {
                        does = Doing::Unfit(why.clone());
                    }
                    memory.judged.insert(name.clone(), judged);
                }
            }
            let (flown, underway, begun, passed_beside) = match (flight, &snapshot.report) {
                (Some((_, flight, plan)), Some(report)) if report.has_plan(&snapshot.facts.uid, &plan.digest) => {
                    let reached = |item| u16::try_from(item).is_ok_and(|item| report.plan.reached.has(item));
                    let on_leg = report.plan.current.zip(report.position);
                    let underway = on_leg.map(|(item, position)| flight.underway(item.into(), position.at));
                    (
                        flight.flown(reached),
                        underway.unwrap_or_default(),
                        flight.has_begun(reached),
                        Some(report.plan.passed_beside),
                    )
                }
                _ => (Stretches::default(), Stretches::default(), false, None),
            };
            all.push(Observed {
                drone: name.clone(),
                node: snapshot.node.clone(),
                leaving: snapshot.facts.deleting || self.expectations.expects_deletion(snapshot.uid(), now),
                doing: does,
                flown,
                underway,
                begun,
                passed_beside,
            });
        }
        let there: HashSet<&String> = subject.drones.iter().map(|snapshot| &snapshot.key.name).collect();
        memory.since.retain(|name, _| there.contains(name));
        memory.unfit.retain(|name, _| there.contains(name));
        memory.replanned.retain(|name, _| there.contains(name));
        all
    }
}

/// Whether others may become fit soon, to share the work.
pub(super) fn gathering(memory: &mut Memory, drones: &[Observed], now: Instant) -> bool {
    let may = |seen: &&Observed| !seen.leaving && memory.progress.part(&seen.drone).is_none();
    let fit = drones
        .iter()
        .filter(may)
        .any(|seen| matches!(seen.doing, Doing::Fit(_)));
    let waits = drones.iter().filter(may).any(|seen| seen.doing == Doing::Waits);
    if !fit {
        memory.fit_since = None;
        return false;
    }
    let since = *memory.fit_since.get_or_insert(now);
    waits && now - since < GATHERING_TIME
}

/// Why the existing Drones do not fly.
pub(super) fn waits(memory: &Memory, subject: &Subject, controller: &Controller) -> Option<status::Waits> {
    for snapshot in &subject.drones {
        let name = &snapshot.key.name;
        if let Some((why, _)) = memory.unfit.get(name) {
            return Some(status::Waits::Unfit(format!("Drone {name} has no part: {why}")));
        }
    }
    subject.drones.iter().find_map(|snapshot| {
        let node: &NodeName = snapshot.node.as_ref()?;
        let why = controller.observer.airspace.plan_waits(node)?;
        Some(status::Waits::Airspace(format!("Drone {} {why}", snapshot.key.name)))
    })
}
