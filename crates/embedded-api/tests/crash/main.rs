//! The whole program under `kill -9`: writers and watchers over HTTPS, the process killed at random moments and started
//! again on the same folder. No acknowledged write is lost, nothing appears that was not requested, revisions never
//! decrease, and a watch that is resumed sees every change once, in order.
//! `SKEIN_CRASH_ROUNDS` sets the number of rounds (20), `SKEIN_CRASH_SEED` repeats the choices of an earlier run.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on ends here"
)]

mod change;
mod process;
mod record;
mod watcher;
mod writer;

use change::State;
use kube::api::{Api, DynamicObject, ListParams};
use process::Program;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::timeout;
use watcher::{Compacted, Watcher, events_since};
use writer::{Pace, Writer};

const SOON: Duration = Duration::from_secs(60);
const WRITERS: usize = 6;

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

fn seeded() -> SmallRng {
    let seed = from_environment("SKEIN_CRASH_SEED").unwrap_or_else(rand::random);
    println!("SKEIN_CRASH_SEED={seed}");
    SmallRng::seed_from_u64(seed)
}

async fn everything(drones: &Api<DynamicObject>) -> (u64, BTreeMap<String, State>) {
    let list = timeout(SOON, drones.list(&ListParams::default()))
        .await
        .unwrap()
        .unwrap();
    let revision = list.metadata.resource_version.as_deref().unwrap().parse().unwrap();
    let objects = list
        .items
        .iter()
        .map(|one| (one.metadata.name.clone().unwrap(), State::from(one)));
    (revision, objects.collect())
}

fn differences<'a>(known: &'a BTreeMap<String, State>, found: &'a BTreeMap<String, State>) -> Vec<Difference<'a>> {
    let names: BTreeSet<&String> = known.keys().chain(found.keys()).collect();
    let pairs = names
        .into_iter()
        .map(|name| (name.as_str(), known.get(name), found.get(name)));
    pairs.filter(|(_, known, found)| known != found).collect()
}

type Difference<'a> = (&'a str, Option<&'a State>, Option<&'a State>);

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_and_watches_resume_however_often_it_is_killed() {
    let rounds = from_environment("SKEIN_CRASH_ROUNDS").unwrap_or(20);
    let mut random = seeded();
    let mut program = Program::new();
    program.start().await;
    let drones = program.drones().await;

    let (first, found) = everything(&drones).await;
    assert!(found.is_empty());
    let pace = Pace::new(first);
    let mut watcher = Watcher::follow(drones.clone(), first);
    let mut writers: Vec<Writer> = (0..WRITERS).map(|id| Writer::new(id, random.random())).collect();
    let mut record = Record::default();
    let (mut begin_before, mut unknown, mut starts_killed) = (first, 0, 0);

    for round in 1..=rounds {
        let until = pace.acknowledged() + random.random_range(1..=300);
        let writing = writers
            .into_iter()
            .map(|writer| tokio::spawn(writer.write(drones.clone(), pace.clone())));
        let writing: Vec<_> = writing.collect();
        timeout(SOON, pace.reaches(until))
            .await
            .expect("writes are acknowledged");
        // A random moment, not a condition to wait for.
        tokio::time::sleep(Duration::from_micros(random.random_range(0..4000))).await;
        program.kill().await;
        writers = Vec::new();
        for written in writing {
            writers.push(timeout(SOON, written).await.unwrap().unwrap());
        }
        while random.random_bool(0.2) {
            program
                .start_and_kill(Duration::from_millis(random.random_range(0..150)))
                .await;
            starts_killed += 1;
        }

        program.start().await;
        let (revision, found) = everything(&drones).await;
        assert!(
            revision >= pace.highest(),
            "round {round}: revision {revision} after {}",
            pace.highest()
        );
        let mut known = BTreeMap::new();
        for writer in &mut writers {
            unknown += usize::from(writer.resolve(&found));
            record.extend(writer.take_applied());
            known.extend(writer.objects());
        }
        let wrong = differences(&known, &found);
        assert!(wrong.is_empty(), "round {round}: {wrong:#?}");
        pace.saw(revision);

        watcher.resume();
        let events = timeout(SOON, watcher.at_least(record.len())).await;
        let events = events.unwrap_or_else(|_| panic!("round {round}: {} events for {}", watcher.len(), record.len()));
        record
            .check(&events)
            .unwrap_or_else(|wrong| panic!("round {round}: {wrong}"));
        let later: Vec<_> = events
            .iter()
            .filter(|event| event.revision > begin_before)
            .cloned()
            .collect();
        let again = timeout(SOON, events_since(&drones, begin_before, later.len()))
            .await
            .unwrap();
        assert_eq!(again.as_ref(), Ok(&later), "round {round}: from {begin_before}");
        begin_before = revision;
    }
    // All events from the beginning, or an error once they were compacted.
    let all = watcher.at_least(record.len()).await;
    let events = timeout(SOON, events_since(&drones, first, all.len())).await;
    let compacted = match events.expect("a watch from the beginning returns all or is refused") {
        Ok(events) => {
            assert_eq!(events, all);
            false
        }
        Err(Compacted) => true,
    };
    program.kill().await;
    println!(
        "{rounds} rounds, {starts_killed} more killed while starting: {} writes acknowledged, {unknown} under way at a kill, \
         {} changes and {} events, {} resumed watches, newest revision {}, history compacted: {}",
        pace.acknowledged(),
        record.len(),
        watcher.len(),
        watcher.resumed(),
        pace.highest(),
        compacted,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_during_the_very_first_start_leaves_a_folder_that_starts() {
    let mut random = seeded();
    for _ in 0..10 {
        let mut program = Program::new();
        program
            .start_and_kill(Duration::from_millis(random.random_range(0..150)))
            .await;
        program.start().await;
        let (_, found) = everything(&program.drones().await).await;
        assert!(found.is_empty());
        program.kill().await;
    }
}
