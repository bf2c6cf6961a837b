//! Which agents are replaced by a newer version now. An agent that shuts down lands its vehicle, so this happens on the ground only.
//!
//! Owns: [`Upgrade`]: which node is next, which nodes get no flight meanwhile, and when to stop because one has not come back. Must not:
//! read a clock, end anything itself, or land a vehicle: what flies is replaced after it has landed.
//!
//! ```text
//!   outdated --chosen--> Held --reported at rest for a while--> Away --runs and is connected for a while--> done
//!      ^                     | flies, unknown, too long          | not back in time: no other is replaced
//!      +------- Resting <----+                                   +--> stuck
//! ```

pub mod node_snapshot;

use model::ids::NodeName;
use model::time::Moment;
use node_snapshot::{Busy, Free, NodeSnapshot, Version, assess};
use std::collections::BTreeMap;
use std::time::Duration;

/// Time on the ground before an agent is ended: an order to fly that was on its way when it was chosen would show in the agent's reports by
/// then.
pub const MIN_HOLD: Duration = Duration::from_secs(3);

/// Time after which a node that cannot be replaced is released again, and flies.
pub const MAX_HOLD: Duration = Duration::from_secs(15);

/// Time before a released node is chosen again.
pub const RECHOSEN_AFTER: Duration = Duration::from_secs(60);

/// Time that a new agent must be connected and receive its vehicle. One that crashes early is not back.
pub const STEADY_AFTER: Duration = Duration::from_secs(15);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// At most this many are being replaced or have not come back; 0: none is ever replaced.
    pub most: usize,
    /// After this time a node is stuck, and no other is replaced.
    pub patience: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Work {
    /// Chosen: its vehicle stays on the ground.
    Held {
        since: Moment,
    },
    /// Its Pod was ended, by us or by others, or runs nothing.
    Away {
        since: Moment,
        ended: Option<String>,
        /// Its Pod is being deleted, no matter by whom.
        leaving: bool,
        /// Since when all has been well again.
        back: Option<Moment>,
        reported: bool,
    },
    Resting {
        until: Moment,
    },
}

/// For the log and the metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    Chosen(NodeName, Free),
    /// It may fly.
    NotReplaced(NodeName, Option<Busy>),
    Done(NodeName),
    /// Its new agent has not come back, and no other is replaced before it has.
    Stuck(NodeName),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Their Pods are to be deleted now.
    pub replace: Vec<NodeName>,
    pub progress: Vec<Progress>,
    pub outdated: usize,
    /// Nodes that are being replaced or have not come back.
    pub under_way: usize,
    pub stuck: Vec<NodeName>,
    pub waiting: BTreeMap<Busy, usize>,
}

#[derive(Clone, Debug, Default)]
pub struct Upgrade(BTreeMap<NodeName, Work>);

impl Upgrade {
    pub fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        self.0.keys()
    }

    /// Whether the vehicle of `node` must not take off: its agent is about to be replaced, or is not steady again since.
    pub fn holds(&self, node: &NodeName) -> bool {
        match self.0.get(node) {
            Some(Work::Held { .. }) => true,
            Some(Work::Away { ended, leaving, .. }) => ended.is_some() || *leaving,
            Some(Work::Resting { .. }) | None => false,
        }
    }

    pub fn replaced(&mut self, node: &NodeName, uid: &str, now: Moment) {
        let away = Work::Away {
            since: now,
            ended: Some(uid.to_owned()),
            leaving: true,
            back: None,
            reported: false,
        };
        self.0.insert(node.clone(), away);
    }

    pub fn failed(&mut self, node: &NodeName, now: Moment) {
        self.rest(node, now);
    }

    fn rest(&mut self, node: &NodeName, now: Moment) {
        let until = now.plus(RECHOSEN_AFTER);
        self.0.insert(node.clone(), Work::Resting { until });
    }

    /// `nodes`: all that have an agent's Pod or something under way.
    pub fn plan(&mut self, nodes: &BTreeMap<NodeName, NodeSnapshot<'_>>, pace: Pace, now: Moment) -> Plan {
        let mut plan = Plan::default();
        // A node that is gone, with its Pod, holds up no other.
        self.0.retain(|node, _| nodes.contains_key(node));
        for (node, snapshot) in nodes {
            self.step(node, snapshot, pace, now, &mut plan);
        }
        if !plan.stuck.is_empty() {
            plan.replace.clear();
        }
        let outdated =
            |snapshot: &NodeSnapshot<'_>| matches!(&snapshot.pod, Some(pod) if pod.version == Version::Outdated);
        let mut free = Vec::new();
        for (node, snapshot) in nodes.iter().filter(|(_, snapshot)| outdated(snapshot)) {
            plan.outdated += 1;
            let why = match (self.0.get(node), assess(snapshot)) {
                (Some(Work::Held { .. } | Work::Away { .. }), _) => continue,
                (Some(Work::Resting { .. }), Ok(_)) => Busy::Lately,
                (_, Err(busy)) => busy,
                (None, Ok(class)) => {
                    free.push((class, node));
                    continue;
                }
            };
            *plan.waiting.entry(why).or_default() += 1;
        }
        let under_way = |work: &&Work| !matches!(work, Work::Resting { .. });
        plan.under_way = self.0.values().filter(under_way).count();
        let room = match plan.stuck.is_empty() {
            true => pace.most.saturating_sub(plan.under_way),
            false => 0,
        };
        free.sort_unstable();
        let why = if plan.stuck.is_empty() {
            Busy::OthersFirst
        } else {
            Busy::Stopped
        };
        for (place, (class, node)) in free.into_iter().enumerate() {
            if place < room {
                self.0.insert(node.clone(), Work::Held { since: now });
                plan.progress.push(Progress::Chosen(node.clone(), class));
                plan.under_way += 1;
            } else {
                *plan.waiting.entry(why).or_default() += 1;
            }
        }
        plan
    }

    fn step(&mut self, node: &NodeName, snapshot: &NodeSnapshot<'_>, pace: Pace, now: Moment, plan: &mut Plan) {
        let version = snapshot.pod.as_ref().map(|pod| pod.version);
        let runs = snapshot.pod.as_ref().is_some_and(|pod| pod.runs);
        match self.0.get_mut(node) {
            Some(Work::Held { since }) if version == Some(Version::Outdated) => {
                let held_for = now.since(*since);
                match assess(snapshot) {
                    Ok(free) if held_for >= MIN_HOLD && free != Free::Refused => plan.replace.push(node.clone()),
                    Ok(_) if held_for < MAX_HOLD => {}
                    assessed => {
                        self.rest(node, now);
                        plan.progress.push(Progress::NotReplaced(node.clone(), assessed.err()));
                    }
                }
            }
            Some(Work::Held { .. }) => match &snapshot.pod {
                // Our own deletion without an answer, or that of others.
                Some(pod) if pod.version == Version::Leaving => self.replaced(node, &pod.uid, now),
                Some(_) | None => {
                    self.0.remove(node);
                    plan.progress.push(Progress::NotReplaced(node.clone(), None));
                }
            },
            Some(Work::Away {
                since,
                ended,
                leaving,
                back,
                reported,
            }) => {
                *leaving = version == Some(Version::Leaving);
                let another = snapshot.pod.as_ref().map(|pod| &pod.uid) != ended.as_ref();
                let well = version == Some(Version::Current) && another && {
                    let heard = snapshot.agent.filter(|agent| agent.connected_for < now.since(*since));
                    runs && (ended.is_none() || heard.is_some_and(|agent| agent.receives_its_vehicle()))
                };
                *back = back.or(Some(now)).filter(|_| well);
                let ours = ended.is_some();
                if back.is_some_and(|back| now.since(back) >= STEADY_AFTER) {
                    self.0.remove(node);
                    plan.progress.extend(ours.then(|| Progress::Done(node.clone())));
                } else if version == Some(Version::Outdated) && another {
                    // There is a newer version still, or an older one again: it waits like all others.
                    self.0.remove(node);
                } else if !ours && !snapshot.node_ready {
                    // A node that is switched off: its state is not known.
                    self.0.remove(node);
                } else if now.since(*since) >= pace.patience {
                    if !std::mem::replace(reported, true) {
                        plan.progress.push(Progress::Stuck(node.clone()));
                    }
                    plan.stuck.push(node.clone());
                }
            }
            Some(Work::Resting { until }) if now < *until && version != Some(Version::Leaving) => {}
            Some(Work::Resting { .. }) | None => {
                self.0.remove(node);
                let away = version != Some(Version::Outdated) && !runs || version == Some(Version::Leaving);
                if away && snapshot.node_ready {
                    let away = Work::Away {
                        since: now,
                        ended: None,
                        leaving: version == Some(Version::Leaving),
                        back: None,
                        reported: false,
                    };
                    self.0.insert(node.clone(), away);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
