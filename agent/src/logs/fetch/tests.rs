//! Listing and downloading against a file server that loses, refuses and forgets.

use super::*;
use crate::discovery::latched_as;
use crate::ftp::packet::{DATA, crc32, server_answer};
use link::dialect::FILE_TRANSFER_PROTOCOL_DATA;
use model::units::SystemId;
use std::collections::BTreeMap;

const US: Address = Address::new(1, 191);

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

fn autopilot(autopilot: Autopilot) -> Identity {
    latched_as(autopilot, SystemId(1))
}

#[derive(Default)]
pub(in crate::logs) struct Server {
    pub files: BTreeMap<String, Vec<u8>>,
    pub open: Option<String>,
    /// Of so many answers one is lost; 0: none.
    pub loses: usize,
    /// So often the file is longer each time that its checksum is asked for.
    pub grows: u32,
    pub asked: usize,
    last: Option<(u16, Vec<u8>)>,
}

impl Server {
    pub fn of(files: &[(&str, &[u8])]) -> Self {
        let files = files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec()));
        Self {
            files: files.collect(),
            ..Self::default()
        }
    }

    fn folder(&self, folder: &str, from: usize) -> Result<Vec<u8>, u8> {
        let mut entries: Vec<String> = Vec::new();
        for (path, bytes) in &self.files {
            let Some(inside) = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) else {
                continue;
            };
            let entry = match inside.split_once('/') {
                Some((below, _)) => format!("D{below}"),
                None => format!("F{inside}\t{}", bytes.len()),
            };
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        if entries.is_empty() {
            return Err(10);
        }
        let mut listing = Vec::new();
        for entry in entries.iter().skip(from) {
            if listing.len() + entry.len() + 1 > 60 {
                break;
            }
            listing.extend(entry.as_bytes());
            listing.push(0);
        }
        if listing.is_empty() { Err(6) } else { Ok(listing) }
    }

    fn answer(&mut self, request: &[u8; 251]) -> Vec<u8> {
        let seq = u16::from_le_bytes([request[0], request[1]]);
        if let Some((_, answer)) = self.last.as_ref().filter(|(last, _)| *last == seq) {
            return answer.clone();
        }
        let offset = u32::from_le_bytes([request[8], request[9], request[10], request[11]]) as usize;
        let text: Vec<u8> = request[12..].iter().copied().take_while(|byte| *byte != 0).collect();
        let path = String::from_utf8(text).unwrap();
        if request[3] == 14 && self.grows > 0 {
            self.grows -= 1;
            self.files.entry(path.clone()).or_default().extend([2; 50]);
        }
        let result: Result<Vec<u8>, u8> = match request[3] {
            1 | 2 => {
                self.open = None;
                Ok(Vec::new())
            }
            3 => self.folder(&path, offset),
            4 if self.open.is_some() => Err(5),
            4 => self.files.get(&path).ok_or(10).map(|file| {
                self.open = Some(path.clone());
                (file.len() as u32).to_le_bytes().to_vec()
            }),
            5 => match &self.open {
                None => Err(4),
                Some(path) => Ok(self.files[path][offset..]
                    .iter()
                    .copied()
                    .take(usize::from(request[4]))
                    .collect()),
            },
            14 => self
                .files
                .get(&path)
                .ok_or(10)
                .map(|file| crc32(file).to_le_bytes().to_vec()),
            _ => Err(7),
        };
        let answer = server_answer(request, result.as_deref().map_err(|why| *why));
        self.last = Some((seq, answer.clone()));
        answer
    }

    /// Steps both, from `ms` on, until `done` or for `within` ms; returns when that was.
    pub fn serve(
        &mut self,
        fetch: &mut LogFetch,
        kind: Autopilot,
        from: u64,
        within: u64,
        mut done: impl FnMut() -> bool,
    ) -> u64 {
        let identity = autopilot(kind);
        let mut due: Vec<(u64, Vec<u8>)> = Vec::new();
        for ms in (from..from + within).step_by(5) {
            if let Some(MavMessage::FILE_TRANSFER_PROTOCOL(request)) = fetch.next(&identity, at(ms), 0.5) {
                self.asked += 1;
                let answer = self.answer(&request.payload);
                if self.loses == 0 || !self.asked.is_multiple_of(self.loses) {
                    due.push((ms + 5, answer));
                }
            }
            let (now, later) = due.into_iter().partition(|(when, _)| *when <= ms);
            due = later;
            let now: Vec<(u64, Vec<u8>)> = now;
            for (_, answer) in now {
                let mut payload = [0; 251];
                payload[..answer.len()].copy_from_slice(&answer);
                fetch.receive(&to(US, payload), US, at(ms));
            }
            if done() {
                return ms;
            }
        }
        from + within
    }
}

fn to(whom: Address, payload: [u8; 251]) -> MavMessage {
    MavMessage::FILE_TRANSFER_PROTOCOL(FILE_TRANSFER_PROTOCOL_DATA {
        target_network: 0,
        target_system: whom.system.0,
        target_component: whom.component.0,
        payload,
    })
}

fn listed(server: &mut Server, kind: Autopilot) -> Outcome {
    let wanted = Wanted::default();
    wanted.board().begin(Errand::List);
    let mut fetch = LogFetch::of(wanted.clone());
    server.serve(&mut fetch, kind, 0, 60_000, || {
        let mut board = wanted.board();
        board.asked += 1;
        board.outcome != Outcome::Open
    });
    std::mem::take(&mut wanted.board().outcome)
}

fn names(outcome: Outcome) -> Vec<(String, String, u64)> {
    let Outcome::Listed(logs) = outcome else {
        unreachable!("{outcome:?}")
    };
    logs.into_iter().map(|log| (log.name, log.path, log.bytes)).collect()
}

#[test]
fn logs_are_found_where_each_autopilot_has_them_the_newest_first() {
    let log = |name: &str, path: &str, bytes| (name.to_owned(), path.to_owned(), bytes);
    for loses in [0, 3] {
        let mut ardupilot = Server::of(&[
            ("/APM/LOGS/00000001.BIN", b"abc"),
            ("/APM/LOGS/00000002.BIN", b"abcd"),
            ("/APM/LOGS/LASTLOG.TXT", b"2"),
        ]);
        ardupilot.loses = loses;
        assert_eq!(
            names(listed(&mut ardupilot, Autopilot::ArduPilot)),
            [
                log("00000002.BIN", "/APM/LOGS/00000002.BIN", 4),
                log("00000001.BIN", "/APM/LOGS/00000001.BIN", 3)
            ]
        );
        let mut px4 = Server::of(&[
            ("/log/2026-11-20/09_10_11.ulg", b"a"),
            ("/log/2026-11-21/08_02_03.ulg", b"ab"),
            ("/log/2026-11-21/09_02_03.ulg", b"abc"),
            ("/log/2026-11-21/deeper/1.ulg", b"not a place of logs"),
        ]);
        px4.loses = loses;
        assert_eq!(
            names(listed(&mut px4, Autopilot::Px4)),
            [
                log("2026-11-21_09_02_03.ulg", "/log/2026-11-21/09_02_03.ulg", 3),
                log("2026-11-21_08_02_03.ulg", "/log/2026-11-21/08_02_03.ulg", 2),
                log("2026-11-20_09_10_11.ulg", "/log/2026-11-20/09_10_11.ulg", 1),
            ]
        );
    }
    assert_eq!(names(listed(&mut Server::of(&[("/etc/x", b"")]), Autopilot::Px4)), []);
}

#[test]
fn names_that_lead_elsewhere_are_no_logs() {
    let mut server = Server::of(&[("/logs/..\\x.BIN", b"a"), ("/logs/a b.BIN", b"a"), ("/logs/.BIN", b"a")]);
    assert_eq!(names(listed(&mut server, Autopilot::ArduPilot)), []);
}

#[test]
fn a_log_comes_whole_from_where_it_was_with_its_checksum() {
    let log: Vec<u8> = (0..5000_u32).map(|n| (n % 251) as u8).collect();
    for (before, loses) in [(0, 0), (1234, 0), (5000, 0), (0, 7)] {
        let mut server = Server::of(&[("/logs/1.BIN", &log)]);
        server.loses = loses;
        let wanted = Wanted::default();
        wanted.board().begin(Errand::Fetch {
            path: "/logs/1.BIN".to_owned(),
            before,
        });
        let mut fetch = LogFetch::of(wanted.clone());
        let mut come = Vec::new();
        server.serve(&mut fetch, Autopilot::ArduPilot, 0, 120_000, || {
            let mut board = wanted.board();
            board.asked += 1;
            if !board.come.is_empty() {
                assert_eq!(board.come_at, before + come.len() as u64);
                come.extend(std::mem::take(&mut board.come));
            }
            board.outcome != Outcome::Open
        });
        let expected = Outcome::Fetched {
            bytes: 5000,
            crc: crc32(&log),
        };
        assert_eq!(wanted.board().outcome, expected, "{before}, {loses}");
        assert_eq!(come, log[before as usize..]);
        assert_eq!(server.open, None, "its session is ended");
    }
}

#[test]
fn an_errand_that_nobody_asks_about_ends_and_its_session_too_before_the_next() {
    let log = vec![7; 2 * WAITING_AT_MOST];
    let mut server = Server::of(&[("/logs/1.BIN", &log)]);
    let wanted = Wanted::default();
    let path = "/logs/1.BIN".to_owned();
    wanted.board().begin(Errand::Fetch {
        path: path.clone(),
        before: 0,
    });
    let mut fetch = LogFetch::of(wanted.clone());
    // Bytes that nobody takes stop it.
    let abandoned = u64::try_from(ABANDONED_AFTER.as_millis()).unwrap();
    server.serve(&mut fetch, Autopilot::ArduPilot, 0, abandoned + 1000, || false);
    assert_eq!(wanted.board().errand, None);
    assert!(server.open.is_some(), "it had begun");
    let before = log.len() as u64 - 1000;
    wanted.board().begin(Errand::Fetch { path, before });
    server.serve(&mut fetch, Autopilot::ArduPilot, 60_000, 20_000, || {
        wanted.board().outcome != Outcome::Open
    });
    assert!(
        matches!(wanted.board().outcome, Outcome::Fetched { .. }),
        "{:?}",
        wanted.board().outcome
    );
}

#[test]
fn no_more_waits_for_the_disk_than_a_bound() {
    let log = vec![7; 2 * WAITING_AT_MOST];
    let mut server = Server::of(&[("/logs/1.BIN", &log)]);
    let wanted = Wanted::default();
    wanted.board().begin(Errand::Fetch {
        path: "/logs/1.BIN".to_owned(),
        before: 0,
    });
    let mut fetch = LogFetch::of(wanted.clone());
    server.serve(&mut fetch, Autopilot::ArduPilot, 0, 60_000, || {
        let mut board = wanted.board();
        board.asked += 1;
        assert!(board.come.len() <= WAITING_AT_MOST + DATA);
        false
    });
    assert!(wanted.board().come.len() >= WAITING_AT_MOST);
}

#[test]
fn a_transfer_of_somebody_else_is_not_disturbed() {
    let wanted = Wanted::default();
    wanted.board().begin(Errand::List);
    let mut fetch = LogFetch::of(wanted.clone());
    fetch.receive(&to(Address::new(255, 190), [0; 251]), US, at(1000));
    let identity = autopilot(Autopilot::Px4);
    assert!(fetch.next(&identity, at(2000), 0.5).is_none());
    assert!(matches!(wanted.board().waits, Some(Wait::Soon(why)) if why.contains("somebody else")));
    assert!(fetch.next(&identity, at(11_001), 0.5).is_some());
}
