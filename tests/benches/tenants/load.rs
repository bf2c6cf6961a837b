//! The hostile namespace: always as many Missions that are being planned or wait for it.

use crate::tenant::{PATIENCE, reason};
use anyhow::{Context, ensure};
use crds::Mission;
use futures::TryStreamExt;
use kube::api::{Api, PostParams};
use kube::runtime::{WatchStreamExt, wait, watcher};
use kube::{Client, ResourceExt};
use serde_json::json;
use skein_tests::hostile::slow_to_plan;
use std::collections::BTreeSet;
use std::pin::pin;

pub const NAMESPACE: &str = "hostile";

pub struct Load {
    missions: Api<Mission>,
    made: u32,
    /// Those that are not known to be planned.
    unplanned: BTreeSet<String>,
    planned: usize,
}

impl Load {
    pub async fn begin(client: &Client, count: u32) -> anyhow::Result<Self> {
        let mut load = Self {
            missions: Api::namespaced(client.clone(), NAMESPACE),
            made: 0,
            unplanned: BTreeSet::new(),
            planned: 0,
        };
        for _ in 0..count {
            load.make().await?;
        }
        let planning = |mission: Option<&Mission>| mission.is_some_and(|mission| reason(mission) == "Planning");
        let last = load.unplanned.last().context("there are no hostile Missions")?;
        let begun = Box::pin(wait::await_condition(load.missions.clone(), last, planning));
        tokio::time::timeout(PATIENCE, begun)
            .await
            .context("the hostile Missions never came to be planned")??;
        Ok(load)
    }

    async fn make(&mut self) -> anyhow::Result<()> {
        let name = format!("h{:04}", self.made);
        let mut spec = slow_to_plan(self.made);
        // Its Drones take no vehicle from another namespace.
        spec["nodeSelector"] = json!({"bench.skein.dev/vehicle": "none"});
        let object =
            json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Mission", "metadata": {"name": name}, "spec": spec});
        let object: Mission = serde_json::from_value(object)?;
        self.missions.create(&PostParams::default(), &object).await?;
        self.made += 1;
        self.unplanned.insert(name);
        Ok(())
    }

    /// Makes another for each that is planned, until that fails.
    pub async fn go_on(&mut self) -> anyhow::Error {
        match Box::pin(self.follow()).await {
            Ok(()) => anyhow::anyhow!("the watch of the hostile Missions has ended"),
            Err(error) => error,
        }
    }

    async fn follow(&mut self) -> anyhow::Result<()> {
        let events = watcher(self.missions.clone(), watcher::Config::default()).applied_objects();
        let mut events = pin!(events);
        while let Some(mission) = events.try_next().await? {
            let reason = reason(&mission);
            ensure!(reason != "BadWork", "{:?}", mission.status);
            if !matches!(reason, "" | "Planning") && self.unplanned.remove(&mission.name_any()) {
                self.planned += 1;
                self.make().await?;
            }
        }
        Ok(())
    }

    pub fn planned(&self) -> usize {
        self.planned
    }
}
