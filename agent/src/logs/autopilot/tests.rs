//! A log of the autopilot on its way to the disk, while the agent dies at any step.

use super::*;
use crate::logs::fetch::LogFetch;
use crate::logs::fetch::tests::Server;
use crate::sent::Sent;
use model::ids::NodeName;
use model::vehicle::Autopilot;
use std::fs;
use std::path::Path;

const PATH: &str = "/APM/LOGS/00000007.BIN";
const NAME: &str = "00000007.BIN";

struct Life {
    fetch: LogFetch,
    logs: AutopilotLogs,
    shelf: Shelf,
}

impl Life {
    fn begin(folder: &Path) -> Self {
        let wanted = Wanted::default();
        Self {
            fetch: LogFetch::of(wanted.clone()),
            logs: AutopilotLogs::of(wanted),
            shelf: Shelf::beside(folder, &NodeName::parse("pine").unwrap(), 1 << 20, Sent::default()),
        }
    }

    fn ask(
        &mut self,
        server: &mut Server,
        clock: &mut u64,
        questions: usize,
    ) -> Option<Result<v1::LogFetched, NoAnswer>> {
        for _ in 0..questions {
            match self.logs.fetch(NAME, &self.shelf) {
                Ok(fetched) if !fetched.done => {}
                ended => return Some(ended),
            }
            *clock = server.serve(&mut self.fetch, Autopilot::ArduPilot, *clock, 200, || false);
        }
        None
    }
}

fn content(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join("autopilot-pine").join(name)).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("autopilot-pine")).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_log_that_an_agent_dies_over_is_brought_by_the_next_with_no_loss_or_repeat() {
    let log: Vec<u8> = (0..60_000_u32).map(|n| (n * 7 % 251) as u8).collect();
    for questions in [1, 2, 3, 5, 8, 13, 21] {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Server::of(&[(PATH, &log)]);
        let mut clock = 0;
        let mut lives = 0;
        let fetched = loop {
            lives += 1;
            assert!(lives < 100, "{questions} questions are too few for any progress");
            // Each life has a little longer, or one question could never be enough.
            let ended = Life::begin(folder.path()).ask(&mut server, &mut clock, questions + lives);
            if let Some(ended) = ended {
                break ended.unwrap();
            }
        };
        assert_eq!((fetched.name.as_str(), fetched.got), ("00000007-60000.BIN", 60_000));
        assert_eq!(names(folder.path()), ["00000007-60000.BIN"], "and nothing else");
        assert_eq!(content(folder.path(), &fetched.name), log);
        // It is not brought again.
        let mut life = Life::begin(folder.path());
        let again = life.ask(&mut server, &mut clock, 10).unwrap().unwrap();
        assert_eq!(again.name, fetched.name);
    }
}

#[test]
fn a_log_that_grows_meanwhile_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::of(&[(PATH, &[1; 30_000])]);
    let mut clock = 0;
    let mut life = Life::begin(folder.path());
    assert!(life.ask(&mut server, &mut clock, 5).is_none());
    let come = life.shelf.there(&life.logs.logs[0]);
    assert!(come > 0 && come < 30_000, "it is on its way: {come}");
    server.files.get_mut(PATH).unwrap().extend([2; 500]);
    let fetched = life.ask(&mut server, &mut clock, 60).unwrap().unwrap();
    assert_eq!(fetched.name, "00000007-30500.BIN");
    assert_eq!(content(folder.path(), &fetched.name), server.files[PATH]);
}

#[test]
fn a_log_that_is_still_written_is_gone_on_with_until_closed_and_not_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::of(&[(PATH, &[1; 30_000])]);
    server.grows = 8;
    let mut clock = 0;
    let mut life = Life::begin(folder.path());
    let fetched = life.ask(&mut server, &mut clock, 600).unwrap().unwrap();
    assert_eq!(fetched.name, "00000007-30400.BIN");
    assert_eq!(content(folder.path(), &fetched.name), server.files[PATH]);
    assert!(server.asked < 250, "it came once: {} requests", server.asked);
    assert!(
        (40_000..60_000).contains(&clock),
        "{clock} ms: the checks are some seconds apart"
    );
}

#[test]
fn a_log_that_never_ends_is_given_up_and_gone_on_with_when_it_is_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::of(&[(PATH, &[1; 30_000])]);
    server.grows = 31;
    let mut clock = 0;
    let mut life = Life::begin(folder.path());
    let refused = life.ask(&mut server, &mut clock, 2000).unwrap().unwrap_err();
    assert!(matches!(refused, NoAnswer::Differs), "{refused}");
    let before = server.asked;
    let fetched = life.ask(&mut server, &mut clock, 100).unwrap().unwrap();
    assert_eq!(content(folder.path(), &fetched.name), server.files[PATH]);
    assert!(server.asked < before + 20, "{} requests", server.asked - before);
}

#[test]
fn what_is_left_of_another_log_of_that_number_is_replaced() {
    let log = vec![3; 3000];
    for left in [vec![9; 1000], vec![9; 3000], vec![9; 5000]] {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("autopilot-pine")).unwrap();
        fs::write(folder.path().join("autopilot-pine/00000007.BIN.part"), &left).unwrap();
        let mut server = Server::of(&[(PATH, &log)]);
        let mut life = Life::begin(folder.path());
        let fetched = life.ask(&mut server, &mut 0, 200).unwrap().unwrap();
        assert_eq!(content(folder.path(), &fetched.name), log, "{} bytes left", left.len());
    }
}

#[test]
fn a_log_without_room_is_refused_and_older_ones_make_room() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::of(&[(PATH, &vec![3; (1 << 20) + 1])]);
    let refused = Life::begin(folder.path())
        .ask(&mut server, &mut 0, 20)
        .unwrap()
        .unwrap_err();
    assert!(matches!(refused, NoAnswer::NoRoom), "{refused}");

    let mut server = Server::of(&[(PATH, &[3; 3000])]);
    fs::create_dir_all(folder.path().join("autopilot-pine")).unwrap();
    fs::write(
        folder.path().join("autopilot-pine/00000001-1048000.BIN"),
        vec![0; 1_048_000],
    )
    .unwrap();
    let fetched = Life::begin(folder.path())
        .ask(&mut server, &mut 0, 60)
        .unwrap()
        .unwrap();
    assert_eq!(names(folder.path()), [fetched.name]);
}

#[test]
fn a_log_that_is_longer_than_its_list_said_and_has_no_room_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::of(&[(PATH, &[3; 3000])]);
    let mut clock = 0;
    let mut life = Life::begin(folder.path());
    while life.logs.logs.is_empty() {
        assert!(life.ask(&mut server, &mut clock, 1).is_none(), "it is listed first");
    }
    assert_eq!(life.logs.logs[0].bytes, 3000);
    server.files.insert(PATH.to_owned(), vec![3; 4 << 20]);
    let refused = life.ask(&mut server, &mut clock, 60).unwrap().unwrap_err();
    assert!(matches!(refused, NoAnswer::NoRoom), "{refused}");
    assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
    assert_eq!(life.logs.wanted.board().errand, None);
}

#[test]
fn a_log_that_outgrows_its_room_on_the_way_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::of(&[(PATH, &[1; 30_000])]);
    let mut clock = 0;
    let mut life = Life::begin(folder.path());
    assert!(life.ask(&mut server, &mut clock, 5).is_none());
    assert_eq!(names(folder.path()), ["00000007.BIN.part"], "it is on its way");
    server.files.get_mut(PATH).unwrap().extend(vec![2; 1 << 20]);
    let refused = life.ask(&mut server, &mut clock, 60).unwrap().unwrap_err();
    assert!(matches!(refused, NoAnswer::NoRoom), "{refused}");
    assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
    assert_eq!(life.logs.wanted.board().errand, None);
}

#[test]
fn a_longer_log_than_its_list_said_makes_room_for_all_of_itself() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::of(&[(PATH, &[3; 3000])]);
    let mut clock = 0;
    let mut life = Life::begin(folder.path());
    while life.logs.logs.is_empty() {
        assert!(life.ask(&mut server, &mut clock, 1).is_none(), "it is listed first");
    }
    fs::create_dir_all(folder.path().join("autopilot-pine")).unwrap();
    // Beside it there is room for the log of the list, and not for the one that comes.
    let older = folder.path().join("autopilot-pine/00000001-1040000.BIN");
    fs::write(older, vec![0; 1_040_000]).unwrap();
    server.files.insert(PATH.to_owned(), vec![3; 20_000]);
    let fetched = life.ask(&mut server, &mut clock, 60).unwrap().unwrap();
    assert_eq!(fetched.name, "00000007-20000.BIN");
    assert_eq!(names(folder.path()), [fetched.name]);
}

#[test]
fn no_part_is_larger_than_the_limit_whatever_comes() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = Life::begin(folder.path()).shelf;
    let log = RemoteLog {
        path: PATH.to_owned(),
        name: NAME.to_owned(),
        bytes: 3000,
    };
    shelf.make_room(&log).unwrap();
    assert!(shelf.append(&log, 0, &vec![3; 1 << 20]).unwrap());
    let refused = shelf.append(&log, 1 << 20, &[3]).unwrap_err();
    assert!(matches!(refused, NoAnswer::NoRoom), "{refused}");
    assert_eq!(shelf.there(&log), 1 << 20);
}

#[test]
fn what_a_full_disk_does_not_take_is_not_left_on_it() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("autopilot-pine")).unwrap();
    let part = folder.path().join("autopilot-pine/00000007.BIN.part");
    std::os::unix::fs::symlink("/dev/full", part).unwrap();
    let mut server = Server::of(&[(PATH, &[3; 3000])]);
    let mut life = Life::begin(folder.path());
    let refused = life.ask(&mut server, &mut 0, 60).unwrap().unwrap_err();
    assert!(
        matches!(&refused, NoAnswer::Disk(why) if why.kind() == std::io::ErrorKind::StorageFull),
        "{refused}"
    );
    assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
    assert_eq!(life.logs.wanted.board().errand, None);
}
