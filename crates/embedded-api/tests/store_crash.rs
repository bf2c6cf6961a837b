//! The store under `kill -9`: nothing acknowledged is lost, revisions never go back, watches resume. In each round a
//! child writes and prints what was acknowledged, and is killed at any moment: while the store is opened, written or
//! compacted.
//! `SKEIN_CRASH_ROUNDS` sets the number of rounds (30), `SKEIN_CRASH_SEED` repeats the moments of an earlier run.

use embedded_api::store::{Event, Expect, Facts, FactsFn, Key, Limits, Object, Options, Page, Store, Write};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

const KIND: &str = "drones.skein.dev";
const WRITERS: u64 = 8;
const OBJECTS: u64 = 6;

fn facts() -> FactsFn {
    Arc::new(|_, _| Facts::default())
}

fn options(folder: &Path, forgetful: bool) -> Options {
    let history = if forgetful {
        Limits {
            age: Duration::ZERO,
            events: 40,
            bytes: 1 << 20,
        }
    } else {
        Limits::default()
    };
    Options {
        history,
        ..Options::new(folder)
    }
}

fn number(object: &Object) -> u64 {
    let value: serde_json::Value = serde_json::from_slice(&object.json).expect("JSON");
    assert_eq!(value["metadata"]["resourceVersion"], object.revision.to_string());
    value["number"].as_u64().expect("a number")
}

#[test]
#[ignore = "the child of the test below, which starts and kills it"]
fn a_process_that_writes_until_it_is_killed() {
    let folder = env::var_os("SKEIN_CRASH_FOLDER").expect("set by the parent");
    let forgetful = env::var_os("SKEIN_CRASH_FORGETFUL").is_some();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("runtime");
    runtime.block_on(async {
        let store = Store::open(options(Path::new(&folder), forgetful), facts()).expect("opens after a kill");
        println!("open {}", store.revision());
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| tokio::spawn(write_on(store.clone(), writer)))
            .collect();
        for writer in writers {
            writer.await.expect("no panic");
        }
    });
}

#[expect(clippy::print_stdout, reason = "it is how the child reports to its parent")]
async fn write_on(store: Store, writer: u64) {
    for count in store.revision() + writer.. {
        let name = format!("w{writer}-{}", count % OBJECTS);
        let key = Key::new(KIND, "default", &name);
        let now = store.get(&key);
        let value = json!({"metadata": {"name": name}, "number": count, "ballast": "x".repeat(2000)});
        let write = match &now {
            Some(now) if count % 5 == 0 => Write::Delete {
                key,
                expect: now.revision,
                value,
            },
            Some(now) => Write::Put {
                key,
                expect: Expect::Revision(now.revision),
                value,
            },
            None => Write::Put {
                key,
                expect: Expect::Absent,
                value,
            },
        };
        let how = if matches!(write, Write::Delete { .. }) {
            "delete"
        } else {
            "put"
        };
        println!("try {name} {count} {how} 0");
        let object = store.write(write).await.expect("kept");
        println!("ack {name} {count} {how} {}", object.revision);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LoggedWrite {
    name: String,
    number: u64,
    deleted: bool,
    /// 0 while it was not acknowledged.
    revision: u64,
}

fn parse_line(line: &str) -> Option<(bool, LoggedWrite)> {
    // The test harness may print before the first line.
    let words: Vec<&str> = line.split(' ').collect();
    let [kind @ ("try" | "ack"), name, number, how, revision] = words.as_slice() else {
        return None;
    };
    let write = LoggedWrite {
        name: (*name).to_owned(),
        number: number.parse().ok()?,
        deleted: *how == "delete",
        revision: revision.parse().ok()?,
    };
    Some((*kind == "ack", write))
}

fn start(folder: &Path, forgetful: bool) -> (Child, Receiver<String>) {
    let mut child = Command::new(env::current_exe().expect("this test"));
    child
        .args(["--exact", "a_process_that_writes_until_it_is_killed"])
        .args(["--ignored", "--nocapture", "--test-threads=1"])
        .env("SKEIN_CRASH_FOLDER", folder)
        .stdout(Stdio::piped());
    if forgetful {
        child.env("SKEIN_CRASH_FORGETFUL", "1");
    }
    let mut child = child.spawn().expect("starts");
    let output = child.stdout.take().expect("piped");
    let (lines, received) = channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = String::new();
        // A line that was cut by the kill is ignored.
        while output.read_line(&mut line).is_ok_and(|length| length > 0) && line.ends_with('\n') {
            if lines.send(line.trim_end().to_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    (child, received)
}

fn killed(folder: &Path, forgetful: bool, random: &mut StdRng) -> (Vec<LoggedWrite>, Vec<LoggedWrite>) {
    let (mut child, output) = start(folder, forgetful);
    let mut lines = Vec::new();
    if random.random_ratio(4, 5) {
        let enough = random.random_range(1..400);
        lines.extend((0..enough).map_while(|_| output.recv_timeout(Duration::from_secs(30)).ok()));
        assert_eq!(lines.len(), enough, "the child stopped by itself: {:?}", lines.last());
    }
    // The moment of the kill varies: while opening, or between any two steps of a commit.
    let most = if lines.is_empty() { 60_000 } else { 3_000 };
    thread::sleep(Duration::from_micros(random.random_range(0..most)));
    child.kill().expect("killed");
    child.wait().expect("ended");
    lines.extend(output.iter());
    let (mut acknowledged, mut open) = (Vec::new(), BTreeMap::new());
    for (is_acknowledged, write) in lines.iter().filter_map(|line| parse_line(line)) {
        if is_acknowledged {
            open.remove(&write.name);
            acknowledged.push(write);
        } else {
            open.insert(write.name.clone(), write);
        }
    }
    acknowledged.sort_by_key(|write| write.revision);
    (acknowledged, open.into_values().collect())
}

fn logged_write(event: &Event) -> LoggedWrite {
    LoggedWrite {
        name: event.object.key.name.to_string(),
        number: number(&event.object),
        deleted: event.deleted,
        revision: event.revision,
    }
}

fn resumed(store: &Store, since: u64) -> Vec<LoggedWrite> {
    let mut watch = store.watch(KIND, since).expect("at or above the floor");
    std::iter::from_fn(|| watch.take().expect("goes on"))
        .map(|event| logged_write(&event))
        .collect()
}

#[test]
fn nothing_acknowledged_is_lost_by_a_kill_at_any_moment() {
    let rounds = env::var("SKEIN_CRASH_ROUNDS").map_or(30, |rounds| rounds.parse().expect("a number"));
    let seed = env::var("SKEIN_CRASH_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().expect("a number"));
    println!("SKEIN_CRASH_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let folder = tempfile::tempdir().expect("folder");
    let mut expected: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let (mut newest, mut written, mut unanswered_stored, mut compacted) = (0, 0, 0, 0);
    for round in 0..rounds {
        let forgetful = random.random();
        let (acknowledged, unanswered) = killed(folder.path(), forgetful, &mut random);
        written += acknowledged.len();
        let store = Store::open(options(folder.path(), forgetful), facts()).expect("opens after a kill");
        let reached = acknowledged.last().map_or(newest, |write| write.revision);
        assert!(
            store.revision() >= reached,
            "round {round}: at {}, acknowledged {reached}",
            store.revision()
        );

        // A watch gets every write of the round, once and in order; besides the acknowledged ones only some of those in
        // progress.
        let since = newest.max(store.floor());
        compacted += u32::from(since > newest);
        let events = resumed(&store, since);
        assert!(
            events.is_sorted_by(|one, next| one.revision < next.revision),
            "round {round}: {events:?}"
        );
        let (answered, others): (Vec<_>, Vec<_>) = events.into_iter().partition(|write| acknowledged.contains(write));
        let known: Vec<_> = acknowledged
            .iter()
            .filter(|write| write.revision > since)
            .cloned()
            .collect();
        assert_eq!(answered, known, "round {round}");
        for write in &others {
            let tried = LoggedWrite {
                revision: 0,
                ..write.clone()
            };
            assert!(unanswered.contains(&tried), "round {round}: nobody wrote {write:?}");
        }
        unanswered_stored += others.len();

        // Objects are as the acknowledged writes left them, except for writes in progress.
        for write in acknowledged.iter().chain(&others) {
            if write.deleted {
                expected.remove(&write.name);
            } else {
                expected.insert(write.name.clone(), (write.revision, write.number));
            }
        }
        let listed = store.list(KIND, None, &Page::default(), |_| true).expect("listed");
        let mut found = BTreeMap::new();
        for object in &listed.objects {
            found.insert(object.key.name.to_string(), (object.revision, number(object)));
        }
        if since > newest {
            // Writes in progress may be older than what a watch can still read: accept them if a writer sent them.
            for write in unanswered.iter().filter(|write| !write.deleted) {
                if let Some(state) = found.get(&write.name).filter(|(_, number)| *number == write.number) {
                    expected.insert(write.name.clone(), *state);
                }
            }
            for write in unanswered
                .iter()
                .filter(|write| write.deleted && !found.contains_key(&write.name))
            {
                expected.remove(&write.name);
            }
        }
        assert_eq!(found, expected, "round {round}");
        newest = store.revision();
    }
    assert!(written > 10 * rounds, "only {written} writes in {rounds} rounds");
    println!(
        "{rounds} kills, {written} acknowledged writes, none lost; {unanswered_stored} kept without an answer; newest \
         revision {newest}; in {compacted} rounds the watch had to start at the floor"
    );
}
