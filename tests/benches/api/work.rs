//! The requests of the benchmark, the same for both sides.

use super::side::Side;
use anyhow::Context;
use crds::Drone;
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use skein_tests::figures::Figure;
use std::time::{Duration, Instant};

const AT_A_TIME: usize = 16;
const MANAGER: &str = "bench";

fn name(prefix: &str, number: usize) -> String {
    format!("{prefix}-{number:05}")
}

fn drone(prefix: &str, number: usize) -> anyhow::Result<Drone> {
    let drone = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Drone",
        "metadata": {
            "name": name(prefix, number),
            "labels": {"skein.dev/swarm": prefix, "site": "north"},
            "finalizers": ["skein.dev/landed"],
        },
        "spec": {"takeoffAltitudeMeters": 15.0, "nodeSelector": {"site": "north"}},
    });
    Ok(serde_json::from_value(drone)?)
}

/// The coordinator's status of a vehicle that holds; `round` makes each write differ.
fn status(prefix: &str, number: usize, round: usize) -> Value {
    let condition = |type_: &str, message: &str| {
        json!({
            "type": type_, "status": "True", "reason": "AsReported", "message": message, "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": name(prefix, number)},
        "status": {
            "phase": "Flying", "flying": true, "nodeName": format!("node-{number}"), "mode": "GUIDED", "observedGeneration": 1,
            "vehicle": {"autopilot": "ArduPilot", "systemId": 1 + number % 250, "firmware": "4.6.0"},
            "battery": {"remainingPercent": round % 100},
            "position": {"latitudeDegrees": 47.397742, "longitudeDegrees": 8.545594, "altitudeAboveHomeMeters": 15.0},
            "conditions": [
                condition("Assigned", "bound to its node"), condition("Connected", "the agent reports"),
                condition("Armable", "all checks pass"), condition("Flying", "armed and in the air"),
                condition("Ready", "holds at its altitude"),
            ],
        },
    })
}

async fn timed<T>(work: impl Future<Output = kube::Result<T>>) -> kube::Result<Duration> {
    let start = Instant::now();
    work.await?;
    Ok(start.elapsed())
}

async fn each<F: Future<Output = anyhow::Result<Duration>>>(
    count: usize,
    work: impl Fn(usize) -> F,
) -> anyhow::Result<Figure> {
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        times.push(work(number).await?);
    }
    Ok(Figure::Latency(times))
}

async fn many<F: Future<Output = anyhow::Result<Duration>>>(
    count: usize,
    work: impl Fn(usize) -> F,
) -> anyhow::Result<Figure> {
    let start = Instant::now();
    let all = stream::iter((0..count).map(work)).buffer_unordered(AT_A_TIME);
    all.try_for_each(|_| async { Ok(()) }).await?;
    Ok(Figure::Rate(count, start.elapsed()))
}

async fn create(drones: &Api<Drone>, prefix: &str, number: usize) -> anyhow::Result<Duration> {
    Ok(timed(drones.create(&PostParams::default(), &drone(prefix, number)?)).await?)
}

async fn write_status(drones: &Api<Drone>, prefix: &str, number: usize, round: usize) -> anyhow::Result<Duration> {
    let status = Patch::Apply(status(prefix, number, round));
    let params = PatchParams::apply(MANAGER).force();
    Ok(timed(drones.patch_status(&name(prefix, number), &params, &status)).await?)
}

pub async fn create_each(side: &Side, prefix: &str, count: usize) -> anyhow::Result<Figure> {
    each(count, |number| create(side.drones(), prefix, number)).await
}

pub async fn create_many(side: &Side, prefix: &str, count: usize) -> anyhow::Result<Figure> {
    many(count, |number| create(side.drones(), prefix, number)).await
}

pub async fn status_each(side: &Side, prefix: &str, count: usize) -> anyhow::Result<Figure> {
    each(count, |number| write_status(side.drones(), prefix, number, 1)).await
}

pub async fn status_many(side: &Side, prefix: &str, count: usize) -> anyhow::Result<Figure> {
    many(count, |number| write_status(side.drones(), prefix, number, 1)).await
}

pub async fn get_each(side: &Side, prefix: &str, count: usize) -> anyhow::Result<Figure> {
    each(count, |number| async move {
        Ok(timed(side.drones().get(&name(prefix, number))).await?)
    })
    .await
}

pub async fn list(side: &Side, prefix: &str, page: Option<u32>) -> anyhow::Result<Figure> {
    each(5, |_| async move {
        let start = Instant::now();
        let mut params = ListParams::default().labels(&format!("skein.dev/swarm={prefix}"));
        params.limit = page;
        let mut seen = 0;
        loop {
            let listed = side.drones().list(&params).await?;
            seen += listed.items.len();
            match listed.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => break,
            }
        }
        anyhow::ensure!(seen > 0, "an empty list was timed");
        Ok(start.elapsed())
    })
    .await
}

/// From sending a status to the event at the last of `watchers`.
pub async fn watch_latency(side: &Side, prefix: &str, watchers: usize, count: usize) -> anyhow::Result<Figure> {
    let version = side.drones().list(&ListParams::default().limit(1)).await?;
    let version = version.metadata.resource_version.context("a list without a version")?;
    let mut streams = Vec::with_capacity(watchers);
    for _ in 0..watchers {
        let params = WatchParams::default().labels(&format!("skein.dev/swarm={prefix}"));
        streams.push(side.drones().watch(&params, &version).await?.boxed());
    }
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let start = Instant::now();
        write_status(side.drones(), prefix, number, 2 + watchers).await?;
        let wanted = name(prefix, number);
        for stream in &mut streams {
            loop {
                match stream.try_next().await?.context("the watch has ended")? {
                    WatchEvent::Modified(drone) if drone.metadata.name.as_deref() == Some(&wanted) => break,
                    WatchEvent::Error(status) => anyhow::bail!("the watch failed: {}", status.message),
                    _ => {}
                }
            }
        }
        times.push(start.elapsed());
    }
    Ok(Figure::Latency(times))
}
