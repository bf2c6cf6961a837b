//! The whole way, against an autopilot that is scripted here: what it offers, refuses, loses and forgets.

use super::*;
use crate::discovery::latched_as;
use crate::ftp::packet::{crc32, server_answer};
use link::dialect::{COMPONENT_METADATA_DATA, FILE_TRANSFER_PROTOCOL_DATA, MavMessage};
use model::units::{Address, SystemId};
use model::vehicle::Autopilot;
use std::collections::BTreeMap;

const US: Address = Address::new(7, 191);
const EVENTS: &[u8] = br#"{"version": 1, "components": {"1": {"namespace": "a", "event_groups": {"default":
    {"events": {"3": {"name": "e", "message": "Hello"}}}}}}}"#;

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

fn identity() -> Identity {
    latched_as(Autopilot::Px4, SystemId(7))
}

fn refused() -> Outcome {
    Outcome::Refused {
        result: "UNSUPPORTED".to_owned(),
    }
}

struct Autopilot4 {
    files: BTreeMap<String, Vec<u8>>,
    uri: String,
    crc: u32,
    open: Option<String>,
    link: bool,
    packets: usize,
    asked_for: Vec<u16>,
}

impl Autopilot4 {
    fn with(events: &[u8]) -> Self {
        let index = format!(
            r#"{{"version": 1, "metadataTypes": [{{"type": 4, "uri": "mftp://etc/events", "fileCrc": {}}}]}}"#,
            crc32(events)
        );
        Self {
            crc: crc32(index.as_bytes()),
            files: [
                ("etc/index".to_owned(), index.into_bytes()),
                ("etc/events".to_owned(), events.to_vec()),
            ]
            .into(),
            uri: "mftp://etc/index".to_owned(),
            open: None,
            link: true,
            packets: 0,
            asked_for: Vec::new(),
        }
    }

    fn metadata(&self) -> MavMessage {
        MavMessage::COMPONENT_METADATA(COMPONENT_METADATA_DATA {
            file_crc: self.crc,
            uri: self.uri.as_str().into(),
            ..COMPONENT_METADATA_DATA::default()
        })
    }

    fn answer(&mut self, payload: &[u8; 251]) -> Option<MavMessage> {
        if !self.link {
            return None;
        }
        self.packets += 1;
        let (size, offset) = (
            usize::from(payload[4]),
            u32::from_le_bytes([payload[8], payload[9], payload[10], payload[11]]),
        );
        let size_of = |file: &Vec<u8>| u32::try_from(file.len()).unwrap().to_le_bytes().to_vec();
        let result = match payload[3] {
            4 if self.open.is_some() => Err(5),
            4 => {
                let path = String::from_utf8(payload[12..12 + size].to_vec()).unwrap();
                let size = self.files.get(&path).map(size_of).ok_or(10_u8);
                if size.is_ok() {
                    self.open = Some(path);
                }
                size
            }
            5 => match self.open.as_ref().and_then(|path| self.files.get(path)) {
                Some(file) => Ok(file[offset as usize..].iter().take(size).copied().collect()),
                None => Err(4),
            },
            _ => {
                self.open = None;
                Ok(Vec::new())
            }
        };
        let answer = match &result {
            Ok(data) => server_answer(payload, Ok(data)),
            Err(why) => server_answer(payload, Err(*why)),
        };
        let mut bytes = [0; 251];
        bytes[..answer.len()].copy_from_slice(&answer);
        Some(ftp(US, bytes))
    }
}

fn ftp(to: Address, payload: [u8; 251]) -> MavMessage {
    MavMessage::FILE_TRANSFER_PROTOCOL(FILE_TRANSFER_PROTOCOL_DATA {
        target_network: 0,
        target_system: to.system.0,
        target_component: to.component.0,
        payload,
    })
}

struct World {
    fetch: Fetch,
    autopilot: Autopilot4,
    now: u64,
    cache: MetadataCache,
    _dir: tempfile::TempDir,
}

impl World {
    fn with(events: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cache = MetadataCache::in_state(dir.path());
        Self {
            fetch: Fetch::new(Some(cache.clone())),
            autopilot: Autopilot4::with(events),
            now: 0,
            cache,
            _dir: dir,
        }
    }

    /// 20 ms at a time.
    fn run(&mut self, seconds: u64) -> Option<Arc<Table>> {
        self.run_ms(seconds * 1000)
    }

    fn run_ms(&mut self, ms: u64) -> Option<Arc<Table>> {
        let end = self.now + ms;
        while self.now < end {
            self.now += 20;
            let now = at(self.now);
            if let Some(job) = self.fetch.take_job()
                && let Some(table) = self.fetch.done(Some(job.run()), now, 0.5)
            {
                return Some(table);
            }
            if let Some(message) = self.fetch.wanted(now) {
                self.autopilot.asked_for.push(message);
                self.fetch.asked(now);
                if self.autopilot.link {
                    self.fetch.answered(&Outcome::Accepted, now, 0.5);
                    self.fetch.receive(&self.autopilot.metadata(), US, now, 0.5);
                } else {
                    self.fetch.answered(&Outcome::NoAnswer, now, 0.5);
                }
            }
            if let Some(MavMessage::FILE_TRANSFER_PROTOCOL(m)) = self.fetch.next(&identity(), now, 0.5)
                && let Some(answer) = self.autopilot.answer(&m.payload)
            {
                self.fetch.receive(&answer, US, now, 0.5);
            }
        }
        None
    }
}

/// Texts as different as they can be, so that many packets are needed.
fn large() -> Vec<u8> {
    let events: Vec<String> = (0..200)
        .map(|n| format!(r#""{n}": {{"name": "e{n}", "message": "{}"}}"#, n * 7919))
        .collect();
    let text = format!(
        r#"{{"components": {{"1": {{"namespace": "a", "event_groups": {{"g": {{"events": {{{}}}}}}}}}}}}}"#,
        events.join(",")
    );
    text.into_bytes()
}

#[test]
fn the_descriptions_are_downloaded_once_and_then_found_in_the_cache() {
    let mut world = World::with(EVENTS);
    let table = world.run(5).unwrap();
    assert_eq!(table.describe(0x0100_0003, &[]).unwrap().message, "Hello");
    assert_eq!(world.autopilot.asked_for, [397]);
    assert!(world.autopilot.open.is_none(), "the session was ended");
    assert_eq!(world.run(3600), None, "and nothing more is asked");
    assert_eq!(world.autopilot.asked_for, [397]);
    let before = world.autopilot.packets;
    world.fetch.rebooted(at(world.now));
    assert!(world.run(1).is_some());
    world.fetch = Fetch::new(Some(world.cache.clone()));
    assert!(world.run(1).is_some());
    assert_eq!(world.autopilot.packets, before, "no packet more");
}

#[test]
fn without_a_cache_nothing_is_asked() {
    let mut world = World::with(EVENTS);
    world.fetch = Fetch::new(None);
    assert_eq!(world.run(60), None);
    assert!(world.autopilot.asked_for.is_empty());
}

#[test]
fn an_autopilot_that_has_none_is_asked_ever_more_seldom() {
    let mut fetch = Fetch::new(Some(MetadataCache::in_state(std::path::Path::new("/proc/none"))));
    let mut asked = Vec::new();
    for ms in (0..24 * 3_600_000).step_by(500) {
        if let Some(message) = fetch.wanted(at(ms)) {
            asked.push(message);
            fetch.asked(at(ms));
            fetch.answered(&refused(), at(ms), 0.5);
        }
    }
    assert_eq!(asked[..4], [397, 395, 397, 395], "the older message is tried, too");
    assert!(asked.len() < 100, "{} in a day", asked.len());
    // The same for one that says nothing, or names nothing.
    let mut world = World::with(EVENTS);
    world.autopilot.uri = String::new();
    assert_eq!(world.run(3600), None);
    assert!(
        (3..15).contains(&world.autopilot.asked_for.len()),
        "{:?}",
        world.autopilot.asked_for
    );
}

#[test]
fn what_is_on_the_internet_is_not_fetched() {
    let mut world = World::with(EVENTS);
    world.autopilot.uri = "https://example.org/index.json.xz".to_owned();
    assert_eq!(world.run(3600), None);
    assert_eq!((world.autopilot.asked_for.len(), world.autopilot.packets), (1, 0));
}

#[test]
fn a_download_goes_on_where_it_was_after_a_lost_link_and_after_a_reboot() {
    for reboot in [false, true] {
        let mut world = World::with(&large());
        while world.autopilot.packets < 20 {
            assert_eq!(world.run_ms(20), None);
        }
        world.autopilot.link = false;
        assert_eq!(world.run(30), None);
        let before = world.autopilot.packets;
        world.autopilot.link = true;
        if reboot {
            world.autopilot.open = None;
            world.fetch.rebooted(at(world.now));
        }
        assert_eq!(world.run(120).unwrap().len(), 200);
        let whole = large().len().div_ceil(239);
        assert!(
            world.autopilot.packets - before < whole,
            "{} packets for the rest, {whole} for the whole",
            world.autopilot.packets - before
        );
    }
}

#[test]
fn while_nobody_calls_it_nothing_is_sent_and_afterwards_it_goes_on() {
    let mut world = World::with(&large());
    while world.autopilot.packets < 10 {
        assert_eq!(world.run_ms(20), None);
    }
    // A flight of ten minutes, in which the autopilot forgets the session.
    world.now += 600_000;
    world.autopilot.open = None;
    let before = world.autopilot.packets;
    assert_eq!(world.run(60).unwrap().len(), 200);
    assert!(world.autopilot.packets > before);
}

#[test]
fn a_file_that_was_damaged_on_the_way_is_not_taken_and_is_fetched_again() {
    let mut world = World::with(EVENTS);
    world
        .autopilot
        .files
        .insert("etc/events".to_owned(), EVENTS.to_ascii_uppercase());
    assert_eq!(world.run(8), None);
    world.autopilot.files.insert("etc/events".to_owned(), EVENTS.to_vec());
    assert!(world.run(60).is_some());
}

#[test]
fn somebody_elses_download_is_let_finish_first() {
    let mut world = World::with(EVENTS);
    let others = ftp(Address::new(255, 190), [0; 251]);
    for ms in (0..20_000).step_by(1000) {
        world.fetch.receive(&others, US, at(ms), 0.5);
        assert_eq!(world.run(1), None);
    }
    assert_eq!(world.autopilot.packets, 0);
    assert!(world.run(60).is_some());
}

#[test]
fn a_session_that_nobody_uses_is_ended_after_a_few_attempts() {
    let mut world = World::with(EVENTS);
    world.autopilot.open = Some("left over".to_owned());
    assert_eq!(world.run(25), None, "it might be somebody's");
    assert_eq!(world.autopilot.open.as_deref(), Some("left over"));
    assert!(world.run(300).is_some());
}

#[test]
fn files_of_another_component_are_left_alone() {
    let mut world = World::with(EVENTS);
    world.autopilot.uri = "mftp://[;comp=100]etc/index".to_owned();
    assert_eq!(world.run(600), None);
    assert_eq!(world.autopilot.packets, 0);
    world.autopilot.uri = "mftp://[;comp=1]etc/index".to_owned();
    assert!(world.run(1200).is_some());
}

#[test]
fn the_end_of_a_job_begun_before_a_reboot_is_not_taken_for_that_of_the_next() {
    let mut world = World::with(EVENTS);
    let now = at(10);
    world.fetch.asked(now);
    world.fetch.receive(&world.autopilot.metadata(), US, now, 0.5);
    let old = world.fetch.take_job().unwrap();
    world.fetch.rebooted(now);
    world.fetch.asked(now);
    world.fetch.receive(&world.autopilot.metadata(), US, now, 0.5);
    let new = world.fetch.take_job().unwrap();
    assert_eq!(world.fetch.done(Some(old.run()), now, 0.5), None);
    assert!(
        world.fetch.next(&identity(), now, 0.5).is_none(),
        "still waiting for the new one"
    );
    assert_eq!(world.fetch.done(Some(new.run()), now, 0.5), None);
    assert!(world.fetch.next(&identity(), now, 0.5).is_some());
    // One that broke off is a failure, not a wait for ever.
    world.fetch.rebooted(now);
    world.fetch.asked(now);
    world.fetch.receive(&world.autopilot.metadata(), US, now, 0.5);
    world.fetch.take_job().unwrap();
    assert_eq!(world.fetch.done(None, now, 0.5), None);
    assert_eq!(world.fetch.wanted(at(20_000)), Some(397));
}
