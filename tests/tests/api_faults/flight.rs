//! Two vehicles in the air, whose coordinator reaches the API server over a connection that can fail. In each fault the
//! failsafe of the Swarm's Drones is changed at the API server: it has to reach Drones and statuses after the fault,
//! and no vehicle may get a command at any time.

use crate::fault::Fault;
use crate::proxy::Proxy;
use anyhow::{Context, ensure};
use serde_json::Value;
use skein_tests::stage::{PATIENCE, Stage, condition, swarm};
use skein_tests::wire;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use testkit::{Cluster, ControlPlane, ServedBy, wait_for};

pub const NODES: [&str; 2] = ["node-1", "node-2"];
const SWARM: &str = "alpha";

static FLIGHT: Mutex<Option<Flight>> = Mutex::new(None);

pub struct Flight {
    pub stage: Stage,
    pub proxy: Proxy,
    /// Seconds in the failsafe that were set last; each change sets more.
    asked: u64,
}

pub struct Before {
    since: u64,
    uids: BTreeMap<String, String>,
    disconnected: usize,
}

impl Flight {
    pub fn turn() -> anyhow::Result<MutexGuard<'static, Option<Self>>> {
        let mut turn = FLIGHT.lock().unwrap_or_else(PoisonError::into_inner);
        if turn.is_none() {
            *turn = Some(Self::begin()?);
        }
        let flight = turn.as_mut().context("it has just begun")?;
        flight.proxy.set(Fault::No);
        wait_for("the release", PATIENCE, || flight.stage.skein(&["release", SWARM]))?;
        flight.stage.wait_in_air(&NODES, NODES.len())?;
        let caught_up = flight.caught_up(PATIENCE);
        caught_up.map_err(|error| flight.stage.explain(error))?;
        Ok(turn)
    }

    fn begin() -> anyhow::Result<Self> {
        let mut proxy = None;
        // All tests are one flight; at ten times real time, batteries would not last.
        let lasting = ["--battery-percent-per-minute", "0"];
        let mut stage = Stage::set_by_way_of(
            ServedBy::Kubernetes,
            &NODES,
            "mixed",
            &lasting,
            |cluster, kubeconfig| {
                let plane = cluster.kubernetes().context("a real one was asked for")?;
                let way = Proxy::start(plane)?;
                let leads = way.lead(&kubeconfig)?;
                proxy = Some(way);
                Ok(leads)
            },
        )?;
        for node in NODES {
            stage.add_node(node)?;
        }
        stage.cluster.kubectl().apply(&swarm("default", SWARM, 2, &[]))?;
        Ok(Self {
            stage,
            proxy: proxy.context("the way was asked for")?,
            asked: 60,
        })
    }

    pub fn plane(&mut self) -> anyhow::Result<&mut ControlPlane> {
        match &mut *self.stage.cluster {
            Cluster::Kubernetes(plane) => Ok(plane),
            Cluster::Embedded(_) => anyhow::bail!("it is the embedded API"),
        }
    }

    pub fn before(&self) -> anyhow::Result<Before> {
        Ok(Before {
            since: wire::now(),
            uids: self.uids()?,
            disconnected: self.disconnected()?,
        })
    }

    pub fn change(&mut self) -> anyhow::Result<()> {
        self.asked += 1;
        let asked = self.asked;
        let patch =
            format!(r#"{{"spec":{{"template":{{"spec":{{"failsafe":{{"coordinatorLossSeconds":{asked}}}}}}}}}}}"#);
        self.stage
            .kubectl(&["patch", "swarm", SWARM, "--type=merge", "-p", &patch])
            .map(drop)
    }

    pub fn caught_up(&self, within: Duration) -> anyhow::Result<Duration> {
        let start = Instant::now();
        wait_for("the Drones and their status to be as asked for", within, || {
            let swarm = self.stage.read(&format!("namespaces/default/swarms/{SWARM}"))?;
            ensure!(fresh(&swarm), "the Swarm: {}", swarm["status"]);
            for drone in self.stage.drones("default")? {
                let loss = &drone["spec"]["failsafe"]["coordinatorLossSeconds"];
                ensure!(self.asked == 60 || *loss == self.asked, "{loss} s, not {}", self.asked);
                let connected = condition(&drone, "Connected")["status"] == "True";
                ensure!(fresh(&drone) && connected, "a Drone: {}", drone["status"]);
            }
            Ok(())
        })?;
        Ok(start.elapsed())
    }

    /// Checks that vehicles, agents and status show no change since `before`.
    pub fn unmoved(&self, before: &Before) -> anyhow::Result<()> {
        self.undisturbed(before)?;
        let now = self.disconnected()?;
        ensure!(
            now == before.disconnected,
            "{} agents were disconnected",
            now - before.disconnected
        );
        Ok(())
    }

    /// The same, except for agents that disconnected by themselves.
    pub fn undisturbed(&self, before: &Before) -> anyhow::Result<()> {
        for node in NODES {
            let sent = self.stage.wire(node).commands_since(before.since);
            ensure!(sent.is_empty(), "{node} was sent {sent:?}");
            ensure!(
                self.stage.wire(node).flew_without_a_break_since(before.since),
                "{node} came down"
            );
        }
        let uids = self.uids()?;
        ensure!(
            uids == before.uids,
            "the Drones were {:?} and are {uids:?}",
            before.uids
        );
        Ok(())
    }

    /// Nothing happens in the air, and `within` after the fault everything is up to date.
    pub fn survives(fault: Fault, lasts: Duration, within: Duration) -> anyhow::Result<()> {
        Self::survives_all(&[fault], lasts, within)
    }

    pub fn survives_all(faults: &[Fault], lasts: Duration, within: Duration) -> anyhow::Result<()> {
        let mut turn = Self::turn()?;
        let flight = turn.as_mut().context("it flies")?;
        let before = flight.before()?;
        for fault in faults {
            flight.proxy.set(*fault);
            let end = Instant::now() + lasts;
            flight.change()?;
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
            // A short fault lasts until a request falls into it.
            wait_for(format!("a request under the fault {fault:?}"), PATIENCE, || {
                ensure!(flight.proxy.touched() > 0, "no call came near it");
                Ok(())
            })?;
        }
        flight.proxy.set(Fault::No);
        let took = flight.caught_up(within).map_err(|error| flight.stage.explain(error))?;
        println!("{faults:?} for {lasts:?} each: caught up {took:?} later");
        flight.unmoved(&before)
    }

    fn uids(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let drones = self.stage.drones("default")?;
        let pair = |drone: &Value| (text(&drone["metadata"]["name"]), text(&drone["metadata"]["uid"]));
        Ok(drones.iter().map(pair).collect())
    }

    fn disconnected(&self) -> anyhow::Result<usize> {
        let log = self.stage.coordinator()?.stderr();
        Ok(log.matches("agent disconnected").count())
    }
}

fn fresh(object: &Value) -> bool {
    let generation = &object["metadata"]["generation"];
    let ready = condition(object, "Ready");
    object["status"]["observedGeneration"] == *generation
        && ready["observedGeneration"] == *generation
        && ready["status"] == "True"
}
