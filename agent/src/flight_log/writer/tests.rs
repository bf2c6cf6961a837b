//! The writer on a store that breaks on purpose, and on a real folder.

use super::super::log_store::{Folder, StoredLog};
use super::*;
use std::collections::BTreeMap;
use std::sync::{Mutex, mpsc};

const PLENTY: u64 = 1 << 40;

/// What the disk holds and how it behaves.
#[derive(Debug)]
struct Disk {
    files: BTreeMap<String, Vec<u8>>,
    free: u64,
    /// This many bytes can be added before it is full.
    room: usize,
}

#[derive(Clone)]
struct Fake(Arc<Mutex<Disk>>);

struct FakeFile(Arc<Mutex<Disk>>, String);

impl Fake {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Disk {
            files: BTreeMap::new(),
            free: PLENTY,
            room: usize::MAX,
        })))
    }

    fn see<T>(&self, look: impl FnOnce(&mut Disk) -> T) -> T {
        look(&mut self.0.lock().unwrap())
    }

    /// Length of each file in the order of their numbers.
    fn lengths(&self) -> Vec<(u64, usize)> {
        let mut all: Vec<_> = self.see(|disk| {
            let files = disk.files.iter();
            files
                .map(|(name, bytes)| (file_name::number(&node(), name).unwrap(), bytes.len()))
                .collect()
        });
        all.sort_unstable();
        all
    }
}

impl LogStore for Fake {
    fn stored(&mut self) -> io::Result<Vec<StoredLog>> {
        let kept = |(name, bytes): (&String, &Vec<u8>)| StoredLog {
            number: file_name::number(&node(), name).unwrap(),
            name: name.clone(),
            bytes: bytes.len() as u64,
        };
        Ok(self.see(|disk| disk.files.iter().map(kept).collect()))
    }

    fn begin(&mut self, name: &str) -> io::Result<Box<dyn LogFile>> {
        let before = self.see(|disk| disk.files.insert(name.to_owned(), Vec::new()));
        assert!(before.is_none(), "{name} was there already");
        Ok(Box::new(FakeFile(Arc::clone(&self.0), name.to_owned())))
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.see(|disk| disk.files.remove(name))
            .map(drop)
            .ok_or(io::ErrorKind::NotFound.into())
    }

    fn free(&mut self) -> io::Result<u64> {
        Ok(self.see(|disk| disk.free))
    }
}

impl LogFile for FakeFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        let fits = bytes.len().min(disk.room);
        disk.room -= fits;
        disk.files.get_mut(&self.1).unwrap().extend_from_slice(&bytes[..fits]);
        if fits < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        disk.files
            .get_mut(&self.1)
            .unwrap()
            .truncate(usize::try_from(bytes).unwrap());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn node() -> NodeName {
    NodeName::parse("pine").unwrap()
}

fn chunk(new_file: bool) -> Chunk {
    Chunk {
        new_file: new_file.then_some(SystemTime::UNIX_EPOCH),
        bytes: vec![7; 100],
        frames: 2,
    }
}

fn writer(disk: &Fake, limit: u64, longest: u64) -> (Writer<Fake>, Arc<Counters>) {
    let counters = Arc::new(Counters::default());
    let writer = Writer::new(disk.clone(), node(), limit, longest, Arc::clone(&counters));
    (writer, counters)
}

#[test]
fn a_long_file_is_followed_by_a_new_one_and_the_oldest_go_when_all_are_too_long() {
    let disk = Fake::new();
    let (mut writer, counters) = writer(&disk, 1000, 250);
    let now = Instant::now();
    for n in 0..40 {
        writer.take(&chunk(n == 0), now);
        let total: usize = disk.lengths().iter().map(|(_, length)| length).sum();
        assert!(total <= 1000, "{total} bytes after {n}");
    }
    assert_eq!(disk.lengths(), [(17, 200), (18, 200), (19, 200), (20, 200)]);
    let told = counters.snapshot();
    assert_eq!((told.written, told.lost, told.files, told.removed), (80, 0, 20, 16));
}

#[test]
fn uploaded_logs_make_room_first_and_others_only_where_nothing_else_is_left() {
    let disk = Fake::new();
    let (writer, _) = writer(&disk, 1000, 250);
    let sent = Sent::none_yet();
    let mut writer = writer.removing_first(sent.clone());
    let now = Instant::now();
    let name = |number| file_name::name(&node(), SystemTime::UNIX_EPOCH, number);
    (0..8).for_each(|n| writer.take(&chunk(n == 0), now));
    assert_eq!(disk.lengths(), [(1, 200), (2, 200), (3, 200), (4, 200)]);
    sent.replace([2, 4].into_iter().map(|number| (name(number), "key".to_owned())));
    writer.take(&chunk(false), now);
    assert_eq!(
        disk.lengths(),
        [(1, 200), (3, 200), (4, 200), (5, 100)],
        "2 was uploaded"
    );
    assert_eq!(sent.removed_before(), 0);
    (0..3).for_each(|_| writer.take(&chunk(false), now));
    assert_eq!(
        disk.lengths(),
        [(1, 200), (3, 200), (5, 200), (6, 200)],
        "4 was uploaded"
    );
    (0..2).for_each(|_| writer.take(&chunk(false), now));
    assert_eq!(disk.lengths(), [(3, 200), (5, 200), (6, 200), (7, 200)]);
    assert_eq!(sent.removed_before(), 1, "1 was not");
}

#[test]
fn the_number_of_files_is_bounded_however_short_they_are() {
    let disk = Fake::new();
    let (mut writer, counters) = writer(&disk, 1 << 30, 1 << 20);
    let now = Instant::now();
    (0..FILES_AT_MOST + 50).for_each(|_| writer.take(&chunk(true), now));
    let numbers: Vec<u64> = disk.lengths().iter().map(|(number, _)| *number).collect();
    assert_eq!((numbers.len(), numbers.first()), (FILES_AT_MOST, Some(&51)));
    assert_eq!(counters.snapshot().removed, 50);
}

#[test]
fn a_new_file_is_begun_when_it_is_asked_for_and_counts_on_from_earlier_lives() {
    let disk = Fake::new();
    let now = Instant::now();
    for _ in 0..2 {
        let (mut writer, _) = writer(&disk, 100_000, 10_000);
        writer.take(&chunk(true), now);
        writer.take(&chunk(false), now);
        writer.take(&chunk(true), now);
    }
    assert_eq!(disk.lengths(), [(1, 200), (2, 100), (3, 200), (4, 100)]);
}

#[test]
fn a_full_disk_costs_frames_and_the_log_goes_on_when_there_is_room() {
    let disk = Fake::new();
    let (mut writer, counters) = writer(&disk, 100_000, 10_000);
    let began = Instant::now();
    let at = |s: u64| began + Duration::from_secs(s);
    disk.see(|d| d.room = 250);
    (0..3).for_each(|_| writer.take(&chunk(false), at(0)));
    assert_eq!(disk.lengths(), [(1, 200)], "the torn record is cut off");
    writer.take(&chunk(false), at(4));
    let told = counters.snapshot();
    assert_eq!(
        (told.written, told.lost, told.disk_errors),
        (4, 4, 1),
        "the disk is left alone for a while"
    );
    writer.take(&chunk(false), at(5));
    assert_eq!(disk.lengths(), [(1, 200)], "still full, and no empty file is left");
    disk.see(|d| d.room = usize::MAX);
    writer.take(&chunk(false), at(11));
    assert_eq!(disk.lengths(), [(1, 200), (2, 100)]);
    let told = counters.snapshot();
    assert_eq!((told.written, told.lost, told.disk_errors), (6, 6, 2));
}

#[test]
fn the_disk_is_never_filled_to_the_last_because_the_agent_needs_it_too() {
    let disk = Fake::new();
    let (mut writer, counters) = writer(&disk, 100_000, 10_000);
    let now = Instant::now();
    disk.see(|d| d.free = LEFT_FREE + 99);
    writer.take(&chunk(true), now);
    assert_eq!((disk.lengths(), counters.snapshot().lost), (vec![], 2));
    assert_eq!(
        counters.snapshot().files,
        0,
        "nor is a file begun that would stay empty"
    );
    disk.see(|d| d.free = LEFT_FREE + 100);
    writer.take(&chunk(true), now + AGAIN_AFTER);
    assert_eq!((disk.lengths(), counters.snapshot().written), (vec![(1, 100)], 2));
}

#[test]
fn in_a_folder_only_our_own_logs_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made/when/missing");
    let store = Folder {
        path: path.clone(),
        node: node(),
    };
    let (sender, chunks) = mpsc::channel();
    sender.send(chunk(true)).unwrap();
    drop(sender);
    Writer::new(store.clone(), node(), 300, 100, Arc::default()).run(&chunks);
    std::fs::write(path.join("skein-pine-2-20261121T080203Z-9.tlog"), [0; 5000]).unwrap();
    std::fs::write(path.join("notes.txt"), [0; 5000]).unwrap();
    let mut writer = Writer::new(store, node(), 300, 100, Arc::default());
    (0..9).for_each(|_| writer.take(&chunk(false), Instant::now()));
    let mut names: Vec<_> = std::fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "notes.txt",
            "skein-pine-19700101T000000Z-10.tlog",
            "skein-pine-19700101T000000Z-8.tlog",
            "skein-pine-19700101T000000Z-9.tlog",
            "skein-pine-2-20261121T080203Z-9.tlog",
        ]
    );
}

#[test]
fn a_real_disk_that_is_full_is_an_error_and_no_more() {
    // Linux' own full disk.
    let Ok(full) = std::fs::OpenOptions::new().append(true).open("/dev/full") else {
        return;
    };
    let mut full: Box<dyn LogFile> = Box::new(full);
    let error = full.append(&[0; 10]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
