//! Upload of flight logs: an agent and a real S3-compatible server (s3rver), over TLS, while both are killed at random;
//! and no byte in flight.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

mod store;

use anyhow::{Context, ensure};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use skein_tests::field::{Field, PATIENCE};
use std::collections::BTreeMap;
use std::fs;
use store::{Scheme, Store};
use testkit::wait_for;

/// Logs of earlier flights, and their lengths: in one piece, of several parts, empty.
const OLD: [(&str, usize); 4] = [
    ("skein-alpha-20260101T000000Z-1.tlog", 17 << 20),
    ("skein-alpha-20260101T000000Z-2.tlog", 0),
    ("skein-alpha-20260101T000000Z-3.tlog", 3 << 20),
    ("autopilot-alpha/00000007-11534336.BIN", 11 << 20),
];

fn write_old(field: &Field, rng: &mut StdRng) -> anyhow::Result<BTreeMap<&'static str, Vec<u8>>> {
    let mut logs = BTreeMap::new();
    for (name, length) in OLD {
        let mut log = vec![0; length];
        rng.fill(&mut log[..]);
        let path = field.flight_logs().join(name);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(path, &log)?;
        logs.insert(name, log);
    }
    Ok(logs)
}

fn stem(name: &str) -> String {
    let name = name.replace("autopilot-alpha/", "autopilot/");
    format!(
        "fleet/alpha/{}-",
        name.rsplit_once('.').map_or(&*name, |(stem, _)| stem)
    )
}

#[test]
fn whoever_dies_in_an_upload_every_log_is_in_the_store_once_and_equal() -> anyhow::Result<()> {
    let seed = std::env::var("SKEIN_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(7);
    let kills = std::env::var("SKEIN_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok())
        .unwrap_or(6);
    let mut rng = StdRng::seed_from_u64(seed);
    let mut field = Field::with(&["alpha"], "px4")?;
    let logs = write_old(&field, &mut rng)?;
    let mut store = Store::start(Scheme::Https)?;
    field.start_up(&[])?;
    field.start_agent_with("alpha", &store.settings(4096))?;
    let all: usize = logs.values().map(Vec::len).sum();
    let mut before = 0;
    for round in 0..kills {
        let more = (before + rng.random_range(1..(5 << 20))).min(all - 1);
        let result = wait_for("the upload to go on", PATIENCE, || {
            let there = store.bytes()?;
            ensure!(
                there >= more,
                "{there} of {more} bytes are there, seed {seed}, round {round}"
            );
            Ok(())
        });
        result.map_err(|error| field.explain(error))?;
        if rng.random_bool(0.5) {
            field.kill_agent()?;
            field.start_agent_with("alpha", &store.settings(4096))?;
        } else {
            store.kill();
            store.start_again()?;
        }
        before = store.bytes()?;
    }
    let result = wait_for("all logs to be in the store", 3 * PATIENCE, || {
        let listed = field.skein_says(&["logs", "--vehicle", "alpha"])?;
        let missing: Vec<_> = listed.lines().skip(2).filter(|line| !line.contains(" yes ")).collect();
        ensure!(
            missing.is_empty() && listed.contains("UPLOADED"),
            "not there, seed {seed}: {listed}"
        );
        ensure!(
            store.objects()?.keys().any(|key| key.starts_with(&stem(OLD[3].0))),
            "the autopilot's is not there"
        );
        let key = |name: &str| {
            store.objects().map(|all| {
                all.keys()
                    .any(|key| key.starts_with(&stem(name)) && key.ends_with(".json"))
            })
        };
        ensure!(key(OLD[3].0)?, "its record is not there");
        Ok(())
    });
    result.map_err(|error| field.explain(error))?;
    let objects = store.objects()?;
    for (name, log) in &logs {
        let of_it: Vec<_> = objects.iter().filter(|(key, _)| key.starts_with(&stem(name))).collect();
        ensure!(
            of_it.len() == 2,
            "the log and its record, nothing twice: {:?}, seed {seed}",
            objects.keys()
        );
        let [(key, bytes), (record_key, record)] = of_it[..] else {
            panic!("two")
        };
        ensure!(*bytes == *log, "seed {seed}: {key} differs from {name}");
        ensure!(*record_key == format!("{key}.json"), "{record_key}");
        let record: Value = serde_json::from_slice(record)?;
        ensure!(
            record["bytes"] == log.len() && record["node"] == "alpha" && record["key"] == **key,
            "{record}"
        );
    }
    Ok(())
}

#[test]
fn a_flight_is_uploaded_after_its_landing_and_nothing_while_the_vehicle_flies() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha"], "px4")?;
    write_old(&field, &mut StdRng::seed_from_u64(1))?;
    let store = Store::start(Scheme::Http)?;
    field.start_up(&[])?;
    // Slow enough that the first log takes more than a minute.
    field.start_agent_with("alpha", &store.settings(256))?;
    field.wait_readiness("alpha", "True", "AgentConnected")?;
    wait_for("the upload to begin", PATIENCE, || {
        ensure!(store.bytes()? > 0, "nothing yet");
        Ok(())
    })?;
    field.fly(1, 10.0)?;
    field.wait_in_air(&["alpha"])?;
    let agent = field.agent.as_ref().context("no agent")?;
    agent.wait_for_line(PATIENCE, |line| line.contains("waits for the next landing"))?;
    let in_air = store.bytes()?;
    field.wait_ready("alpha")?;
    wait_for("five seconds of flight to be in the log", PATIENCE, || {
        let list = field.skein_says(&["logs", "--vehicle", "alpha"])?;
        let row = list.lines().nth(1).context("the list is empty")?;
        let columns: Vec<_> = row.split_whitespace().collect();
        let seconds: u64 = columns[4]
            .trim_end_matches('s')
            .parse()
            .with_context(|| row.to_owned())?;
        ensure!(seconds >= 5, "{list}");
        Ok(())
    })?;
    assert_eq!(store.bytes()?, in_air, "the vehicle flies");

    field.kubectl().run(["delete", "swarm", "alpha"])?;
    field.wait_in_air(&[])?;
    field.kill_agent()?;
    field.start_agent_with("alpha", &store.settings(65_536))?;
    let result = wait_for("the flight to be in the store", PATIENCE, || {
        let objects = store.objects()?;
        let records = objects.iter().filter(|(key, _)| key.ends_with(".json"));
        let flown = records.filter_map(|(_, record)| serde_json::from_slice::<Value>(record).ok());
        let in_air: Vec<_> = flown.filter_map(|record| record["inAirSeconds"].as_f64()).collect();
        ensure!(in_air.iter().any(|seconds| *seconds >= 5.0), "{in_air:?}");
        Ok(())
    });
    result.map_err(|error| field.explain(error))
}

#[test]
fn a_landed_flight_is_uploaded_while_the_agent_goes_on() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha"], "ardupilot")?;
    let store = Store::start(Scheme::Http)?;
    field.start_up(&[])?;
    field.start_agent_with("alpha", &store.settings(65_536))?;
    field.wait_readiness("alpha", "True", "AgentConnected")?;
    field.fly(1, 10.0)?;
    field.wait_ready("alpha")?;
    ensure!(
        !store.objects()?.keys().any(|key| key.contains("-2-")),
        "the flight is in the store before it has ended"
    );
    field.kubectl().run(["delete", "swarm", "alpha"])?;
    let result = wait_for("the flight to be in the store", PATIENCE, || {
        let list = field.skein_says(&["logs", "--vehicle", "alpha"])?;
        let flight = list
            .lines()
            .find(|line| line.contains(" m "))
            .context("no flight is listed")?;
        ensure!(flight.contains(" yes "), "{list}");
        Ok(())
    });
    result.map_err(|error| field.explain(error))?;
    let objects = store.objects()?;
    let (name, bytes) = objects
        .iter()
        .find(|(key, _)| key.contains("-2-") && key.ends_with(".tlog"))
        .context("no flight")?;
    let on_disk = fs::read_dir(field.flight_logs())?.collect::<Result<Vec<_>, _>>()?;
    let on_disk = on_disk
        .iter()
        .find(|file| file.file_name().to_string_lossy().ends_with("-2.tlog"));
    ensure!(fs::read(on_disk.context("no log")?.path())? == *bytes, "{name} differs");
    Ok(())
}
