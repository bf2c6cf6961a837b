//! A simulated fleet for the tests of upgrades: idle nodes with an outdated agent until a test says otherwise.

use super::*;
use crate::planning::upgrade::node_snapshot::{Agent, Pod};
use model::assignment::Held;
use model::ids::{DroneUid, Term};
use model::report::{Activity, Report};
use model::vehicle::{Airborne, FlightTruth};

pub(super) const ONE: Pace = Pace {
    most: 1,
    patience: Duration::from_secs(600),
};

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// Each method changes one thing.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) pod: Option<Pod>,
    pub(super) ready: bool,
    pub(super) connected_for: Option<Duration>,
    pub(super) report: Report,
    pub(super) age: Duration,
    pub(super) bound: bool,
}

pub(super) fn name(name: &str) -> NodeName {
    NodeName::parse(name).unwrap()
}

/// Its Pod is outdated, and its vehicle is on the ground and serves no Drone.
pub(super) fn idle() -> Node {
    Node {
        pod: Some(Pod {
            uid: "old".into(),
            version: Version::Outdated,
            runs: true,
        }),
        ready: true,
        connected_for: Some(Duration::from_secs(1000)),
        report: Report {
            link_alive: true,
            truth: FlightTruth::Disarmed,
            ..Report::of_nothing(name("n"))
        },
        age: SECOND,
        bound: false,
    }
}

pub(super) fn held(grounded: bool) -> Held {
    Held {
        uid: DroneUid("d".into()),
        term: Term(1),
        generation: 1,
        grounded,
        settled: true,
        details: None,
    }
}

impl Node {
    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(super) fn truth(self, truth: FlightTruth) -> Self {
        self.with(|n| n.report.truth = truth)
    }

    pub(super) fn serving(self, grounded: bool, activity: Activity) -> Self {
        self.with(|n| {
            n.bound = true;
            n.report.held = Some(held(grounded));
            n.report.activity = activity;
        })
    }

    pub(super) fn flying(self) -> Self {
        self.serving(false, Activity::Holding)
            .truth(FlightTruth::Airborne(Airborne::InAir))
            .with(|n| n.report.held.as_mut().unwrap().settled = false)
    }

    pub(super) fn silent(self) -> Self {
        self.with(|n| n.connected_for = None)
    }

    pub(super) fn pod(self, uid: &str, version: Version) -> Self {
        self.with(|n| {
            n.pod = Some(Pod {
                uid: uid.into(),
                version,
                runs: true,
            });
        })
    }

    pub(super) fn not_running(self) -> Self {
        self.silent().with(|n| n.pod.as_mut().unwrap().runs = false)
    }

    pub(super) fn snapshot(&self) -> NodeSnapshot<'_> {
        NodeSnapshot {
            pod: self.pod.clone(),
            node_ready: self.ready,
            agent: self.connected_for.map(|connected_for| Agent {
                connected_for,
                report: Some((&self.report, self.age)),
            }),
            bound: self.bound,
        }
    }
}

pub(super) struct Fleet {
    pub(super) upgrade: Upgrade,
    pub(super) nodes: BTreeMap<NodeName, Node>,
    pub(super) pace: Pace,
    pub(super) now: Moment,
}

impl Fleet {
    pub(super) fn of<const N: usize>(nodes: [(&str, Node); N]) -> Self {
        Self {
            upgrade: Upgrade::default(),
            nodes: nodes.into_iter().map(|(n, node)| (name(n), node)).collect(),
            pace: ONE,
            now: Moment::at(Duration::from_secs(50)),
        }
    }

    pub(super) fn plan(&mut self) -> Plan {
        let snapshots = self.nodes.iter().map(|(name, node)| (name.clone(), node.snapshot()));
        self.upgrade.plan(&snapshots.collect(), self.pace, self.now)
    }

    pub(super) fn after(&mut self, time: Duration) -> Plan {
        self.now = self.now.plus(time);
        for node in self.nodes.values_mut() {
            node.connected_for = node.connected_for.map(|connected| connected + time);
        }
        self.plan()
    }

    pub(super) fn set(&mut self, node: &str, change: impl FnOnce(Node) -> Node) {
        let old = self.nodes.remove(&name(node)).unwrap();
        self.nodes.insert(name(node), change(old));
    }

    pub(super) fn delete(&mut self, plan: &Plan) -> Vec<String> {
        for node in &plan.replace {
            let uid = self.nodes[node].pod.clone().unwrap().uid;
            self.upgrade.replaced(node, &uid, self.now);
            self.set(node.as_str(), |n| n.silent().pod("old", Version::Leaving));
        }
        plan.replace.iter().map(ToString::to_string).collect()
    }

    pub(super) fn next(&mut self) -> Vec<String> {
        let _chosen = self.plan();
        let plan = self.after(MIN_HOLD);
        self.delete(&plan)
    }

    pub(super) fn comes_back(&mut self, node: &str) {
        self.set(node, |n| {
            n.pod("new", Version::Current)
                .with(|n| n.connected_for = Some(Duration::ZERO))
        });
    }
}
