//! The download against a server that loses, doubles, delays and refuses.

use super::*;
use crate::ftp::packet::server_answer;
use proptest::prelude::*;

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

fn file(len: usize) -> Vec<u8> {
    (0..len).map(|n| u8::try_from(n * 7 % 251).unwrap()).collect()
}

struct Server {
    file: Vec<u8>,
    open: bool,
    busy: u8,
    asked: Vec<Operation>,
}

impl Server {
    fn of(file: Vec<u8>) -> Self {
        Self {
            file,
            open: false,
            busy: 5,
            asked: Vec::new(),
        }
    }

    fn answer(&mut self, request: &Request) -> Vec<u8> {
        self.asked.push(request.operation);
        let size = u32::try_from(self.file.len()).unwrap().to_le_bytes();
        let result: Result<&[u8], u8> = match request.operation {
            Operation::Open if self.open => Err(self.busy),
            Operation::Open if request.data != b"etc/file" => Err(10),
            Operation::Open => {
                self.open = true;
                Ok(&size)
            }
            Operation::Read if !self.open => Err(4),
            Operation::Read => {
                let rest = &self.file[(request.offset as usize).min(self.file.len())..];
                match &rest[..rest.len().min(usize::from(request.want))] {
                    [] => Err(6),
                    piece => Ok(piece),
                }
            }
            Operation::List | Operation::Checksum => Err(7),
            Operation::Terminate | Operation::Reset => {
                self.open = false;
                Ok(&[])
            }
        };
        server_answer(&request.encode(), result)
    }
}

/// Downloads until it ends; `deliver` says, for each answer, at what delays in milliseconds it arrives.
fn run(download: &mut Download, server: &mut Server, mut deliver: impl FnMut() -> Vec<u64>) -> (Progress, u64) {
    let mut on_the_way: Vec<(u64, Vec<u8>)> = Vec::new();
    for ms in (0..600_000).step_by(5) {
        if let Some(request) = download.next(at(ms), 0.5) {
            let answer = server.answer(&request);
            on_the_way.extend(deliver().into_iter().map(|delay| (ms + delay, answer.clone())));
        }
        let (due, later) = on_the_way.into_iter().partition(|(when, _)| *when <= ms);
        on_the_way = later;
        let due: Vec<(u64, Vec<u8>)> = due;
        due.iter().for_each(|(_, answer)| download.receive(answer, at(ms)));
        match download.progress() {
            Progress::Going => {}
            ended => return (ended, ms),
        }
    }
    (Progress::Going, 600_000)
}

fn download() -> Download {
    Download::new("etc/file".to_owned(), Vec::new(), 0, false)
}

#[test]
fn a_file_arrives_whole_and_its_session_is_ended() {
    for len in [0, 1, 238, 239, 240, 5000] {
        let mut server = Server::of(file(len));
        let (end, _) = run(&mut download(), &mut server, || vec![5]);
        assert_eq!(end, Progress::Done(file(len)), "{len} bytes");
        assert!(!server.open);
    }
}

#[test]
fn only_one_request_is_on_its_way_and_the_link_is_left_half_free() {
    let mut server = Server::of(file(239 * 40));
    let mut download = download();
    let (end, ms) = run(&mut download, &mut server, || vec![60]);
    assert!(matches!(end, Progress::Done(_)));
    assert!(ms >= 42 * 110, "42 answers of 60 ms, and as much rest: {ms} ms");
    let mut fresh = self::download();
    assert!(fresh.next(at(0), 0.0).is_some());
    assert_eq!(fresh.next(at(1), 0.0), None);
}

#[test]
fn on_a_radio_that_is_slower_than_the_first_patience_hardly_anything_is_asked_twice() {
    let mut server = Server::of(file(239 * 40));
    let (end, _) = run(&mut download(), &mut server, || vec![900]);
    assert!(matches!(end, Progress::Done(_)));
    assert!(server.asked.len() <= 42 + 2, "{} requests", server.asked.len());
}

#[test]
fn an_answer_that_never_comes_ends_it_after_a_few_repeats_and_what_came_is_kept() {
    let mut server = Server::of(file(2000));
    let mut answers = 4;
    let mut first = download();
    let (end, _) = run(&mut first, &mut server, || {
        answers -= 1;
        if answers >= 0 { vec![5] } else { Vec::new() }
    });
    let Progress::Failed(Failed::NoAnswer, got) = end else {
        unreachable!("{end:?}")
    };
    assert_eq!(got, file(2000)[..3 * 239]);
    assert_eq!(server.asked.len(), 4 + 6);
    // The session that was left behind is ended by the next one, which goes on where the first one ended.
    server.asked.clear();
    let mut second = Download::new("etc/file".to_owned(), got, first.seq(), true);
    let (end, _) = run(&mut second, &mut server, || vec![5]);
    assert_eq!(end, Progress::Done(file(2000)));
    assert_eq!(server.asked.iter().filter(|o| **o == Operation::Read).count(), 6);
}

#[test]
fn a_server_that_forgot_the_session_is_asked_to_open_again_but_not_for_ever() {
    let mut server = Server::of(file(5000));
    let mut count = 0;
    let mut download = download();
    let mut ended = Progress::Going;
    for ms in (0..60_000).step_by(20) {
        if let Some(request) = download.next(at(ms), 0.0) {
            count += 1;
            if count == 5 {
                server.open = false;
            }
            download.receive(&server.answer(&request), at(ms));
        }
        ended = download.progress();
        if ended != Progress::Going {
            break;
        }
    }
    assert_eq!(ended, Progress::Done(file(5000)));
    let mut download = self::download();
    let mut forgetful = Server::of(file(5000));
    for ms in (0..60_000).step_by(20) {
        if let Some(request) = download.next(at(ms), 0.0) {
            let answer = forgetful.answer(&request);
            forgetful.open = false;
            download.receive(&answer, at(ms));
        }
    }
    assert!(matches!(download.progress(), Progress::Failed(Failed::Refused(4), _)));
    assert!(forgetful.asked.len() < 20);
}

#[test]
fn refusals_name_the_fault() {
    // As PX4 says it, and ArduPilot.
    for busy in [5, 1] {
        let mut taken = Server::of(file(10));
        (taken.open, taken.busy) = (true, busy);
        let (end, _) = run(&mut download(), &mut taken, || vec![5]);
        assert_eq!(end, Progress::Failed(Failed::Busy, Vec::new()));
        assert!(taken.open, "the session of somebody else is not ended");
    }
    let mut missing = Download::new("etc/other".to_owned(), Vec::new(), 0, false);
    let (end, _) = run(&mut missing, &mut Server::of(file(10)), || vec![5]);
    assert_eq!(end, Progress::Failed(Failed::NotThere, Vec::new()));
}

#[test]
fn a_file_that_is_too_large_or_changes_its_size_is_not_taken() {
    let mut download = download();
    let open = download.next(at(0), 0.0).unwrap();
    let size = u32::try_from(LARGEST + 1).unwrap().to_le_bytes();
    download.receive(&server_answer(&open.encode(), Ok(&size)), at(5));
    let close = download.next(at(100), 0.0).unwrap();
    assert_eq!(close.operation, Operation::Terminate);
    download.receive(&server_answer(&close.encode(), Ok(&[])), at(105));
    assert_eq!(
        download.progress(),
        Progress::Failed(Failed::TooLarge(LARGEST + 1), Vec::new())
    );
    // More bytes than were asked for.
    let mut download = self::download();
    let open = download.next(at(0), 0.0).unwrap();
    download.receive(&server_answer(&open.encode(), Ok(&4_u32.to_le_bytes())), at(5));
    let read = download.next(at(100), 0.0).unwrap();
    download.receive(&server_answer(&read.encode(), Ok(b"12345")), at(105));
    assert_eq!(
        download.next(at(200), 0.0).map(|r| r.operation),
        Some(Operation::Terminate)
    );
}

#[test]
fn numbers_wrap_around() {
    let mut download = Download::new("etc/file".to_owned(), Vec::new(), u16::MAX - 4, false);
    let (end, _) = run(&mut download, &mut Server::of(file(3000)), || vec![5]);
    assert_eq!(end, Progress::Done(file(3000)));
}

proptest! {
    #[test]
    fn whatever_is_lost_doubled_or_late_the_file_is_right_or_not_there(
        len in 0_usize..4000,
        delays in prop::collection::vec(prop::collection::vec(5_u64..2500, 0..3), 1..40),
    ) {
        let mut next = 0;
        let mut server = Server::of(file(len));
        let (end, _) = run(&mut download(), &mut server, || {
            next += 1;
            delays[next % delays.len()].clone()
        });
        match end {
            Progress::Done(got) => prop_assert_eq!(got, file(len)),
            // A repeated Open finds its own session, whose answer was lost: busy.
            Progress::Failed(why, _) => prop_assert!(matches!(why, Failed::NoAnswer | Failed::Busy), "{why:?}"),
            Progress::Going => prop_assert!(false, "it never ends"),
        }
    }

    #[test]
    fn nonsense_neither_panics_nor_grows_it(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..260), 0..60)) {
        let mut download = download();
        for (n, packet) in packets.iter().enumerate() {
            let now = at(n as u64 * 50);
            download.next(now, 0.3);
            download.receive(packet, now);
        }
        prop_assert!(download.give_up().len() <= 60 * DATA);
    }
}
