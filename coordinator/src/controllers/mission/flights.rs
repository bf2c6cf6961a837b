//! Flights of the vehicles of a Mission: the plan of each part, judged, kept, and passed to agents and to the other controllers.

use super::memory::Memory;
use super::observe::Subject;
use super::round::Turn;
use super::{Controller, reach};
use crate::cluster::world::uid;
use crate::controllers::facts::DroneSnapshot;
use crate::controllers::plans::{Known, Plan, Planned};
use fleet::planning::mission::progress::{Carrier, NotGiven, Part, Progress, Sharer, Wanted};
use model::plan::FlightPlan;
use model::report::Report;
use model::vehicle::FlightTruth;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::time::Instant;

impl Controller {
    /// Plans the flights of parts that another leader gave: an agent reports the items flown of its plan, and a vehicle is judged by that.
    pub(super) fn plan_written(
        &self,
        subject: &Subject,
        memory: &mut Memory,
        work: (&Sharer<'_>, &Wanted),
        now: Instant,
    ) {
        let is_unplanned = |snapshot: &DroneSnapshot| {
            let name = &snapshot.key.name;
            let has_part = memory.progress.part(name).is_some();
            has_part && snapshot.report.is_some() && !memory.has_judged(name)
        };
        if subject.drones.iter().any(is_unplanned) {
            let mut progress = memory.progress.clone();
            self.judge(subject, memory, work, &mut progress, now);
            let written = &memory.progress;
            memory
                .flights
                .retain(|name, (part, _, _)| written.part(name) == Some(part));
        }
    }

    /// Plans the flights of all parts, and takes back those that the vehicle could not fly.
    pub(super) fn judge(
        &self,
        subject: &Subject,
        memory: &mut Memory,
        (sharer, wanted): (&Sharer<'_>, &Wanted),
        next: &mut Progress,
        now: Instant,
    ) {
        let term = self.observer.leadership.term;
        let progress = &*next;
        let unchanged = |name: &String, of: &Part| {
            progress
                .part(name)
                .is_some_and(|part| part.stretches == of.stretches && part.start == of.start)
        };
        memory.flights.retain(|name, (of, _, _)| unchanged(name, of));
        memory.judged.retain(|name, _| memory.flights.contains_key(name));
        let (mut refused, mut unanswered) = (Vec::new(), BTreeSet::new());
        for part in &mut next.parts {
            if memory.has_judged(&part.drone) {
                continue;
            }
            let raised = part.raised(wanted.layer_height);
            let Ok(planned) = sharer.flight(&part.stretches, part.start, raised) else {
                // A part from another leader is flown as it was until then.
                if memory.progress.part(&part.drone).is_none() {
                    unanswered.insert(part.drone.clone());
                }
                continue;
            };
            let planned = planned.map_err(|why| why.to_string());
            let snapshot = subject.drones.iter().find(|snapshot| snapshot.key.name == part.drone);
            let planned = planned.and_then(|flight| {
                let is_new = memory.progress.part(&part.drone).is_none();
                if let Some(snapshot) = snapshot.filter(|_| is_new) {
                    reach::allows(&self.observer, snapshot, &flight)?;
                }
                let plan = FlightPlan::new(term, flight.items.clone()).map_err(|why| why.to_string())?;
                Ok((snapshot.and_then(|snapshot| snapshot.report.clone()), flight, plan))
            });
            let planned = planned.map(|(report, flight, plan)| {
                let carrier = carrier(report.as_deref());
                let given = part.give(plan.digest.clone(), raised, carrier);
                given.map(|()| (part.clone(), flight, plan))
            });
            match planned {
                Ok(Err(NotGiven::Unknown)) => {}
                Ok(Err(why @ NotGiven::Otherwise)) => {
                    memory.replanned.insert(part.drone.clone(), why.to_string());
                }
                Ok(Ok(planned)) => {
                    memory.unfit.remove(&part.drone);
                    memory.flights.insert(part.drone.clone(), planned);
                }
                Err(why) => refused.push((part.drone.clone(), why)),
            }
        }
        next.parts.retain(|part| !unanswered.contains(&part.drone));
        for part in &mut next.parts {
            part.relief = part.relief.take().filter(|relief| !unanswered.contains(&relief.drone));
        }
        for (drone, why) in refused {
            next.parts.retain(|part| part.drone != drone);
            memory.unfit.insert(drone, (why, now));
        }
    }

    /// Adds the plans of a Mission to what is `known`, and has them sent.
    fn plans(&self, subject: &Subject, memory: &Memory, known: &mut Known) {
        let parts = |snapshot: &&DroneSnapshot| memory.progress.part(&snapshot.key.name).is_some();
        let unplanned = subject.drones.iter().filter(parts);
        let unplanned = unplanned.filter(|snapshot| !memory.has_judged(&snapshot.key.name));
        known
            .plans
            .extend(unplanned.map(|snapshot| (snapshot.uid().to_owned(), Plan::Unknown)));
        let Ok(job) = &memory.job else { return };
        for snapshot in &subject.drones {
            let Some((part, flight, plan)) = memory.flights.get(&snapshot.key.name) else {
                continue;
            };
            // Only parts that are in the status.
            if memory.progress.part(&snapshot.key.name).is_none() {
                continue;
            }
            if let Some(node) = &snapshot.node
                && self.observer.sessions.send_plan(node, plan)
            {
                tracing::info!(drone = %snapshot.key, %node, digest = %plan.digest, items = plan.items.len(), "a plan is sent to the agent");
            }
            let planned = Planned {
                digest: plan.digest.clone(),
                start: part.start,
                takeoff: job.takeoff,
                places: flight.places.clone(),
                numbers: flight.to_reach().collect(),
                work: Some(Arc::clone(&job.work)),
            };
            known
                .plans
                .insert(snapshot.uid().to_owned(), Plan::Known(Arc::new(planned)));
        }
    }

    /// Publishes the plans of one namespace to the other controllers, wakes those whom a change concerns, and adds them to `all`.
    pub(super) fn show(&self, turns: &[Turn<'_>], all: &mut Known) {
        let mut next = Known::default();
        for turn in turns {
            if let Some(memory) = &turn.memory {
                next.missions.insert(uid(turn.subject.mission.as_ref()).to_owned());
                self.plans(turn.subject, memory, &mut next);
            }
        }
        let mut known = self.observer.missions.lock();
        let mut changed = Vec::new();
        for subject in turns.iter().map(|turn| turn.subject) {
            let mission = uid(subject.mission.as_ref());
            let news = known.missions.contains(mission) != next.missions.contains(mission);
            for snapshot in &subject.drones {
                let drone = snapshot.uid();
                let digest = |known: &Known| known.planned(drone).map(|planned| planned.digest.clone());
                if news || digest(&known) != digest(&next) {
                    changed.push(snapshot);
                }
                known.plans.remove(drone);
            }
        }
        known.missions.extend(next.missions.iter().cloned());
        known.plans.extend(next.plans.clone());
        drop(known);
        all.missions.extend(next.missions);
        all.plans.extend(next.plans);
        for snapshot in changed {
            if let Some(node) = &snapshot.node {
                self.observer.cluster.wakes.nodes.wake(node.clone());
            }
            self.observer.cluster.wakes.drones.wake(snapshot.key.clone());
        }
    }
}

pub(super) fn carrier(report: Option<&Report>) -> Carrier<'_> {
    match report.map(|report| (report.truth, report)) {
        None | Some((FlightTruth::Unknown(_), _)) => Carrier::Unknown,
        Some((FlightTruth::Disarmed, _)) => Carrier::Down,
        Some((FlightTruth::Airborne(_) | FlightTruth::ArmedOnGround, report)) => Carrier::Up(report.plan.held.as_ref()),
    }
}
