//! One round of the Mission controller: all Missions once, those of different namespaces side by side.
//!
//! Owns: the order, the time of each namespace, and failures. Must not: let the calls for one namespace delay another.

use super::lock::lock;
use super::memory::Memory;
use super::observe::Subject;
use super::{Controller, ReconcileError};
use crate::cluster::api::error_chain;
use crate::cluster::key::Key;
use crate::cluster::world::uid;
use crate::controllers::plans::Known;
use crds::Mission;
use fleet::planning::mission::priority::{Claim, comes_before, room, urgent};
use futures::stream::{self, StreamExt};
use std::collections::{HashMap, HashSet};
use tokio::time::Instant;

/// Each has at most some calls to the Kubernetes API under way.
const CONCURRENT_NAMESPACES: usize = 32;

pub(super) struct Turn<'a> {
    pub(super) subject: &'a Subject,
    /// A Mission of its namespace that waits for vehicles and comes before it.
    pub(super) before: Option<&'a Mission>,
    /// How many more Drones may be made in its namespace.
    pub(super) room: usize,
    pub(super) memory: Option<Memory>,
}

impl Controller {
    pub(super) async fn reconcile_all(&mut self) {
        let subjects = self.subjects();
        let known: HashSet<&str> = subjects.iter().map(|subject| uid(subject.mission.as_ref())).collect();
        let mut memories = std::mem::take(&mut self.memories);
        memories.retain(|mission, _| known.contains(mission.as_str()));
        self.pool.retain(|mission| known.contains(mission));
        lock(&self.reader).retain(|mission| known.contains(mission));
        let claims: Vec<Claim<'_>> = subjects.iter().map(Subject::claim).collect();
        let urgent = self.urgent(&subjects, &claims);
        let room = room(&claims);
        let places: Vec<(&str, &str)> = subjects.iter().map(Subject::place).collect();
        let order = lock(&self.rounds).begin(&places);
        let mut namespaces: Vec<Vec<Turn<'_>>> = Vec::new();
        for subject in order.into_iter().filter_map(|number| subjects.get(number)) {
            let (namespace, mission) = subject.place();
            let urgent = urgent.get(namespace).copied();
            let turn = Turn {
                subject,
                before: urgent.filter(|urgent| comes_before(urgent.spec.priority, subject.mission.spec.priority)),
                room: room.get(namespace).copied().unwrap_or_default(),
                memory: memories.remove(mission),
            };
            match namespaces.last_mut() {
                Some(turns) if turns.first().is_some_and(|turn| turn.subject.namespace() == namespace) => {
                    turns.push(turn);
                }
                _ => namespaces.push(vec![turn]),
            }
        }
        let all: Vec<_> = namespaces.into_iter().map(|turns| self.take_turns(turns)).collect();
        let mut taken = stream::iter(all).buffer_unordered(CONCURRENT_NAMESPACES);
        let mut known = Known::default();
        while let Some(turns) = taken.next().await {
            // The vehicles of a namespace wait for no other's calls.
            self.show(&turns, &mut known);
            let of = turns.into_iter().filter_map(|turn| {
                let mission = uid(turn.subject.mission.as_ref()).to_owned();
                Some((mission, turn.memory?))
            });
            memories.extend(of);
        }
        drop(taken);
        self.memories = memories;
        self.observer.missions.lock().forget_others_than(&known);
        let memories = self.memories.iter();
        let acted_on = memories.filter_map(|(mission, memory)| Some((mission.clone(), memory.acted_on?)));
        self.observer.cluster.acted_on.put("missions", acted_on);
    }

    /// Reconciles the Missions of one namespace, one after the other, as long as it has time left in this round.
    async fn take_turns<'a>(&self, mut turns: Vec<Turn<'a>>) -> Vec<Turn<'a>> {
        let mut room = turns.first().map_or(0, |turn| turn.room);
        for turn in &mut turns {
            let (namespace, mission) = turn.subject.place();
            let key = Key::of(turn.subject.mission.as_ref());
            let now = Instant::now();
            if !self.acts() || self.failures.resting(&key, now).is_some() || !lock(&self.rounds).may(namespace, mission)
            {
                continue;
            }
            turn.room = room;
            match Box::pin(self.reconcile(turn, now)).await {
                Ok(()) => self.failures.forget(&key),
                Err(ReconcileError::MayNotAct) => {}
                // The watch brings the other writer's change.
                Err(ReconcileError::Api(error)) if error.is_overtaken() => {}
                Err(ReconcileError::Api(error)) => {
                    self.failures.failed(&key, &error, now, rand::random());
                    tracing::warn!(mission = %key, error = error_chain(&error), "a Mission could not be brought on; will be tried again");
                }
            }
            room = turn.room;
            lock(&self.rounds).took(namespace, now.elapsed());
        }
        turns
    }

    /// The Mission of each namespace that waits for vehicles before the others.
    fn urgent<'a>(&self, subjects: &'a [Subject], claims: &[Claim<'a>]) -> HashMap<&'a str, &'a Mission> {
        let mission = |number: usize| -> Option<&'a Mission> { Some(subjects.get(number)?.mission.as_ref()) };
        let has_node = |number| {
            let selector = mission(number).map(|mission| &mission.spec.node_selector);
            selector.is_some_and(|selector| self.observer.world().has_node_for(selector))
        };
        let urgent = urgent(claims, has_node).into_iter();
        urgent
            .filter_map(|(namespace, number)| Some((namespace, mission(number)?)))
            .collect()
    }
}
