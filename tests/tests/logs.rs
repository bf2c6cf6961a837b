//! `skein logs`: flight logs of an agent elsewhere, copied through the coordinator while everything on the way is
//! killed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

use anyhow::{Context, ensure};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use skein_tests::field::{Field, PATIENCE};
use std::fs;
use std::path::Path;
use testkit::{Process, wait_for};

/// Before all others on the list's end: large, so that there is time to kill.
const LARGE: &str = "skein-alpha-20260101T000000Z-1.tlog";

fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut names: Vec<_> = entries
        .iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

#[test]
fn a_flight_is_listed_and_its_log_copied_byte_for_byte() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha"], "px4")?;
    field.start_up(&[])?;
    field.start_agent("alpha")?;
    field.wait_readiness("alpha", "True", "AgentConnected")?;
    field.fly(1, 10.0)?;
    field.wait_ready("alpha")?;
    let drone = field.drones()?.first().context("no Drone")?[0].clone();
    wait_for("the flight to be on the list", PATIENCE, || {
        let list = field.skein_says(&["logs", &drone])?;
        let row = list.lines().nth(1).context("the list is empty")?;
        let columns: Vec<_> = row.split_whitespace().collect();
        let unit = columns.iter().position(|column| *column == "m").context("no height")?;
        let listed: f64 = columns[unit - 1].parse()?;
        let sent = field.wire("alpha").heights().into_iter().fold(0.0, f64::max);
        ensure!(sent > 9.0 && (listed - sent).abs() <= 1.0, "{sent} m were sent: {list}");
        Ok(())
    })?;
    field.kubectl().run(["delete", "swarm", "alpha"])?;
    field.wait_in_air(&[])?;
    // The agent is gone before its log is read: it is whole then, and grows no more.
    field.kill_agent()?;
    field.start_agent("alpha")?;
    let folder = tempfile::tempdir()?;
    let download = format!("--download={}", folder.path().display());
    wait_for("the agent to be back", PATIENCE, || {
        field.skein_says(&["logs", "--vehicle", "alpha", &download]).map(drop)
    })?;
    let names = names(folder.path())?;
    ensure!(names.len() == 1, "the last flight and nothing else: {names:?}");
    let log = fs::read(folder.path().join(&names[0]))?;
    assert_eq!(log, fs::read(field.flight_logs().join(&names[0]))?);
    let said = field.skein_says(&["logs", "--vehicle", "alpha", &download])?;
    assert!(said.contains("was there already"), "{said}");
    let refused = field
        .skein_says(&["logs", "--vehicle", "nosuch"])
        .unwrap_err()
        .to_string();
    assert!(refused.contains("there is no drone node nosuch"), "{refused}");
    Ok(())
}

#[test]
fn a_download_goes_on_after_the_death_of_any_part_and_nothing_is_lost_or_doubled() -> anyhow::Result<()> {
    let seed = std::env::var("SKEIN_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(7);
    let mut rng = StdRng::seed_from_u64(seed);
    let mut field = Field::with(&["alpha"], "px4")?;
    let mut log = vec![0; 48 << 20];
    rng.fill(&mut log[..]);
    fs::create_dir_all(field.flight_logs())?;
    fs::write(field.flight_logs().join(LARGE), &log)?;
    field.start_up(&[])?;
    field.start_agent("alpha")?;
    field.wait_readiness("alpha", "True", "AgentConnected")?;
    let folder = tempfile::tempdir()?;
    let part = folder.path().join(format!("{LARGE}.part"));
    let start = |field: &Field| -> anyhow::Result<Process> {
        let download = format!("--download={}", folder.path().display());
        field
            .person()?
            .args(["logs", "--vehicle", "alpha", &download, "--log", "1"])
            .start()
    };
    // It has its own name once it is whole.
    let size = || {
        let whole = fs::metadata(folder.path().join(LARGE));
        fs::metadata(&part).or(whole).map_or(0, |file| file.len())
    };
    let mut download = start(&field)?;
    for round in 0..9 {
        let before = size();
        let more = before + rng.random_range(1..(3 << 20));
        let result = wait_for("the download to go on", PATIENCE, || {
            ensure!(size() >= more, "{} of {more}, seed {seed}, round {round}", size());
            Ok(())
        });
        result
            .with_context(|| download.tail())
            .map_err(|error| field.explain(error))?;
        match round % 3 {
            0 => {
                download.kill();
                ensure!(size() >= more, "what had come is kept");
                download = start(&field)?;
            }
            1 => {
                field.kill_agent()?;
                field.start_agent("alpha")?;
            }
            _ => {
                field.kill_up()?;
                field.start_up(&[])?;
            }
        }
    }
    let status = download.wait_for_exit(PATIENCE)?;
    ensure!(status.success(), "{status}, seed {seed}: {}", download.tail());
    assert_eq!(names(folder.path())?, [LARGE]);
    assert!(
        fs::read(folder.path().join(LARGE))? == log,
        "seed {seed}: the copy differs"
    );
    Ok(())
}
