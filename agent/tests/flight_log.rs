//! The flight log over a line in memory: the content of the files, and that nothing waits for the disk.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

mod gcs {
    #[allow(dead_code, reason = "shared with the tests of the pass-through")]
    pub mod line;
}

use agent::flight_log::log_store::{LogFile, LogStore, StoredLog};
use agent::flight_log::{Config, Snapshot, start, start_on};
use agent::sent::Sent;
use gcs::line::{DEADLINE, beat, gcs_beat, line, signed, unknown, v1, v2, vehicle_beat};
use link::dialect::{MavAutopilot, MavType};
use link::raw::RawFrame;
use model::ids::NodeName;
use model::units::Address;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, sleep};

const VEHICLE: (u8, u8) = (7, 1);
const US: Address = Address::new(7, 191);
const QGC: (u8, u8) = (255, 190);
const GCS: MavType = MavType::MAV_TYPE_GCS;
const NO_AUTOPILOT: MavAutopilot = MavAutopilot::MAV_AUTOPILOT_INVALID;
const WITHIN: Duration = Duration::from_millis(500);

fn node() -> NodeName {
    NodeName::parse("pine").unwrap()
}

fn config(folder: &Path) -> Config {
    Config {
        folder: Some(folder.to_owned()),
        ..Config::default()
    }
}

async fn until(what: &str, told: impl Fn() -> Snapshot, holds: impl Fn(Snapshot) -> bool) {
    let began = Instant::now();
    while !holds(told()) {
        assert!(began.elapsed() < DEADLINE, "not in time: {what}; {:?}", told());
        sleep(Duration::from_millis(10)).await;
    }
}

fn files(folder: &Path) -> Vec<Vec<(u64, Vec<u8>)>> {
    let mut all: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            assert!(name.starts_with("skein-pine-20") && name.ends_with(".tlog"), "{name}");
            let number: u64 = name
                .trim_end_matches(".tlog")
                .rsplit_once('-')
                .unwrap()
                .1
                .parse()
                .unwrap();
            (number, records(&std::fs::read(entry.path()).unwrap()))
        })
        .collect();
    all.sort();
    all.into_iter().map(|(_, records)| records).collect()
}

fn records(mut rest: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut all = Vec::new();
    while !rest.is_empty() {
        let (time, frame) = rest.split_at(8);
        let length = match frame[0] {
            0xFD => 12 + usize::from(frame[1]) + if frame[2] & 1 == 0 { 0 } else { 13 },
            0xFE => 8 + usize::from(frame[1]),
            other => panic!("a frame begins with {other:#x}"),
        };
        all.push((u64::from_be_bytes(time.try_into().unwrap()), frame[..length].to_vec()));
        rest = &frame[length..];
    }
    all
}

fn frames(records: &[(u64, Vec<u8>)]) -> Vec<Vec<u8>> {
    records.iter().map(|(_, frame)| frame.clone()).collect()
}

#[tokio::test]
async fn every_frame_of_the_wire_is_in_the_log_byte_for_byte_in_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let mut line = line(8192).await;
    let log = start(config(folder.path()), node(), &line.handle, Sent::default());
    let told = [
        v1(VEHICLE, 0, &vehicle_beat(false)),
        v2(VEHICLE, 1, &vehicle_beat(false)),
        unknown(VEHICLE, 2),
        v2(VEHICLE, 3, &vehicle_beat(false)),
    ];
    line.says(&told.concat()).await;
    until("what was heard", || log.counters(), |c| c.written == 4).await;
    line.handle.send(US, &gcs_beat(), WITHIN).await.unwrap();
    let guests = RawFrame::parse(&v2(QGC, 9, &gcs_beat())).unwrap();
    line.handle.send_raw(&guests, WITHIN).await.unwrap();
    line.receives("the guest's", &guests.bytes).await;
    log.close().await;

    let all = files(folder.path());
    assert_eq!(all.len(), 1);
    let logged = frames(&all[0]);
    assert_eq!(logged[..4], told);
    assert_eq!(logged.len(), 6);
    assert_eq!(
        logged[4][5..7],
        [US.system.0, US.component.0],
        "ours, as it was written"
    );
    assert!(line.has_received(&logged[4]));
    assert_eq!(logged[5], guests.bytes[..]);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
    for pair in all[0].windows(2) {
        assert!(pair[0].0 <= pair[1].0, "times run backwards");
    }
    let (first, last) = (u128::from(all[0][0].0), u128::from(all[0][5].0));
    assert!(now - first < 20_000_000 && last <= now, "{first}..{last}, now {now}");
}

#[tokio::test]
async fn a_signature_is_not_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut line = line(8192).await;
    let log = start(config(folder.path()), node(), &line.handle, Sent::default());
    let frame = signed(VEHICLE, 1, &vehicle_beat(false));
    line.says(&frame).await;
    until("what was heard", || log.counters(), |c| c.written == 1).await;
    log.close().await;
    let logged = frames(&files(folder.path())[0]).remove(0);
    let bare = frame.len() - 6;
    assert_eq!((&logged[..bare], &logged[bare..]), (&frame[..bare], &[0; 6][..]));
}

#[tokio::test]
async fn each_start_and_each_arming_begins_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let mut line = line(8192).await;
        let log = start(config(folder.path()), node(), &line.handle, Sent::default());
        for (sequence, armed) in [false, true, true, false, true].into_iter().enumerate() {
            let sequence = u8::try_from(sequence).unwrap();
            line.says(&v2(VEHICLE, sequence, &vehicle_beat(armed))).await;
            // A ground station's own heartbeats begin no flight.
            line.says(&v2(QGC, sequence, &beat(GCS, NO_AUTOPILOT, !armed))).await;
        }
        until("what was heard", || log.counters(), |c| c.written == 10).await;
        log.close().await;
    }
    let begin: Vec<(usize, u8)> = files(folder.path()).iter().map(|f| (f.len(), f[0].1[4])).collect();
    assert_eq!(begin, [(2, 0), (6, 1), (2, 4), (2, 0), (6, 1), (2, 4)]);
}

#[tokio::test]
async fn without_a_folder_nothing_is_logged() {
    let line = line(8192).await;
    let log = start(Config::default(), node(), &line.handle, Sent::default());
    line.handle.send(US, &gcs_beat(), WITHIN).await.unwrap();
    assert_eq!(log.counters(), Snapshot::default());
    log.close().await;
}

#[derive(Clone, Default)]
struct Hung(Arc<(Mutex<bool>, Condvar)>);

impl Hung {
    fn let_go(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

impl LogStore for Hung {
    fn stored(&mut self) -> io::Result<Vec<StoredLog>> {
        Ok(Vec::new())
    }

    fn begin(&mut self, _name: &str) -> io::Result<Box<dyn LogFile>> {
        Ok(Box::new(self.clone()))
    }

    fn remove(&mut self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    fn free(&mut self) -> io::Result<u64> {
        Ok(u64::MAX / 2)
    }
}

impl LogFile for Hung {
    fn append(&mut self, _bytes: &[u8]) -> io::Result<()> {
        let gone = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(gone, |gone| !*gone).unwrap());
        Ok(())
    }

    fn cut(&mut self, _bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_disk_that_hangs_costs_frames_but_nobody_waits_for_it() {
    let (disk, mut line) = (Hung::default(), line(65_536).await);
    let log = start_on(disk.clone(), &Config::default(), node(), &line.handle, Sent::default());
    let frame = v2(VEHICLE, 0, &vehicle_beat(false));
    let burst: Vec<u8> = frame.repeat(500);
    let began = Instant::now();
    let mut heard = 0_u64;
    while log.counters().lost == 0 {
        assert!(began.elapsed() < DEADLINE * 3, "{:?}", log.counters());
        let asked = Instant::now();
        line.says(&burst).await;
        heard += 500;
        while line.handle.counters().frames < heard {
            while line.events.try_recv().is_some() {}
            assert!(asked.elapsed() < DEADLINE, "the link waits");
            sleep(Duration::from_millis(1)).await;
        }
        line.handle.send(US, &gcs_beat(), WITHIN).await.unwrap();
        let mut taken = [0; 1024];
        let _ = tokio::io::AsyncReadExt::read(&mut line.far, &mut taken).await.unwrap();
    }
    let closing = Instant::now();
    log.close().await;
    assert!(closing.elapsed() < Duration::from_secs(4), "{:?}", closing.elapsed());
    disk.let_go();
}

#[tokio::test]
async fn a_disk_that_hung_for_a_while_is_written_again() {
    let (disk, mut line) = (Hung::default(), line(65_536).await);
    let log = start_on(disk.clone(), &Config::default(), node(), &line.handle, Sent::default());
    let frame = v2(VEHICLE, 0, &vehicle_beat(false));
    line.says(&frame).await;
    sleep(Duration::from_millis(600)).await;
    assert_eq!(log.counters().written, 0);
    disk.let_go();
    line.says(&frame).await;
    until("both", || log.counters(), |c| c.written == 2 && c.lost == 0).await;
    log.close().await;
}
