//! A disk that fails at any moment: acknowledged writes are there, others not, and the store works again afterwards.

use super::build::{DRONES, drone, facts, next, number, put};
use crate::store::journal::{Medium, open_checked};
use crate::store::{OpenError, Options, Page, Store, WriteError};
use redb::StorageBackend;
use redb::backends::FileBackend;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Takes `left` more writes and syncs, then fails until it is repaired.
#[derive(Debug)]
struct Disk {
    left: AtomicI64,
    /// The failing operation is done nevertheless, as when an error comes late.
    late: bool,
    fault: AtomicBool,
    opened: AtomicU32,
    opening: Duration,
}

const HEALTHY: i64 = i64::MAX / 2;

impl Disk {
    fn new(late: bool) -> Arc<Self> {
        Self::slow(late, Duration::ZERO)
    }

    fn slow(late: bool, opening: Duration) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicI64::new(HEALTHY),
            late,
            fault: AtomicBool::new(false),
            opened: AtomicU32::new(0),
            opening,
        })
    }

    fn fail_after(&self, operations: i64) {
        self.left.store(operations, Ordering::SeqCst);
    }

    fn repair(&self) {
        self.left.store(HEALTHY, Ordering::SeqCst);
    }

    fn medium(self: &Arc<Self>) -> Medium {
        let disk = Arc::clone(self);
        Arc::new(move |path: &Path| {
            disk.opened.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(disk.opening);
            let file = OpenOptions::new().read(true).write(true).open(path)?;
            let file = FileBackend::new(file)?;
            let disk = Arc::clone(&disk);
            open_checked(|builder| builder.create_with_backend(Backend { file, disk }))
        })
    }
}

#[derive(Debug)]
struct Backend {
    file: FileBackend,
    disk: Arc<Disk>,
}

impl Backend {
    fn operation(&self, run: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        assert!(!self.disk.fault.swap(false, Ordering::SeqCst), "a fault");
        let left = self.disk.left.fetch_sub(1, Ordering::SeqCst);
        if left > 0 {
            return run();
        }
        if left == 0 && self.disk.late {
            run()?;
        }
        Err(io::Error::from(ErrorKind::StorageFull))
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.operation(|| self.file.set_len(len))
    }
    fn sync_data(&self) -> io::Result<()> {
        self.operation(|| self.file.sync_data())
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.operation(|| self.file.write(offset, data))
    }
    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}

fn open_on(folder: &Path, disk: &Arc<Disk>) -> Result<Store, OpenError> {
    Store::open_on(Options::new(folder), facts(), disk.medium())
}

fn numbers(store: &Store) -> Vec<u64> {
    let listed = store.list(DRONES, None, &Page::default(), |_| true).expect("listed");
    listed.objects.iter().map(|object| number(object)).collect()
}

async fn insist(store: &Store, name: &str, number: u64) -> usize {
    let deadline = Instant::now() + Duration::from_secs(20);
    for refused in 0.. {
        match put(store, &drone(name), number).await {
            Ok(_) => return refused,
            Err(WriteError::NotStored(_)) if Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(2)).await
            }
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("the loop has no end")
}

#[tokio::test]
async fn a_write_that_the_disk_does_not_take_is_not_there_and_the_next_one_is() {
    // A commit has some twenty operations: this fails at each of them, and at each of the next commit's.
    for (late, operations) in (0..24).flat_map(|operations| [(false, operations), (true, operations)]) {
        let folder = tempfile::tempdir().expect("folder");
        let disk = Disk::new(late);
        let store = open_on(folder.path(), &disk).expect("opens");
        let mut watch = store.watch(DRONES, 0).expect("from the start");
        put(&store, &drone("a"), 1).await.expect("kept");
        disk.fail_after(operations);
        let mut stored = vec![1];
        for (name, number) in [("b", 2), ("c", 3), ("d", 4), ("e", 5)] {
            match put(&store, &drone(name), number).await {
                Ok(_) => stored.push(number),
                Err(WriteError::NotStored(message)) => {
                    assert!(message.contains("is full: free some space"), "{message}");
                    assert!(message.contains("objects.redb"), "{message}");
                }
                Err(error) => panic!("{error}"),
            }
            assert_eq!(numbers(&store), stored, "late {late}, after {operations}");
        }
        let before = store.revision();
        disk.repair();
        let refused = insist(&store, "f", 6).await;
        stored.push(6);
        assert!(refused == 0 || stored.len() < 6, "late {late}, after {operations}");
        assert!(store.revision() > before);
        assert_eq!(numbers(&store), stored, "late {late}, after {operations}");
        for number in &stored {
            assert_eq!(super::build::number(&next(&mut watch).await.object), *number);
        }
        let revision = store.revision();
        store.close().await;
        let store = open_on(folder.path(), &disk).expect("opens again");
        assert_eq!(
            (numbers(&store), store.revision()),
            (stored, revision),
            "late {late}, after {operations}"
        );
    }
}

#[tokio::test]
async fn a_kill_after_a_failed_write_loses_nothing_that_was_acknowledged() {
    for operations in 0..30 {
        let folder = tempfile::tempdir().expect("folder");
        let disk = Disk::new(true);
        let store = open_on(folder.path(), &disk).expect("opens");
        put(&store, &drone("a"), 1).await.expect("kept");
        disk.fail_after(operations);
        let second = put(&store, &drone("b"), 2).await;
        let left = tempfile::tempdir().expect("folder");
        for file in ["objects.redb", "objects.lock"] {
            std::fs::copy(folder.path().join(file), left.path().join(file)).expect("copied");
        }
        let found = numbers(&super::build::open(left.path()));
        match second {
            Ok(_) => assert_eq!(found, [1, 2]),
            // The outcome of a write that was not acknowledged is unknown until the disk answers again.
            Err(_) => assert!(found == [1] || found == [1, 2], "{found:?}"),
        }
        disk.repair();
    }
}

#[tokio::test]
async fn reading_goes_on_while_the_disk_fails() {
    let folder = tempfile::tempdir().expect("folder");
    let disk = Disk::new(false);
    let store = open_on(folder.path(), &disk).expect("opens");
    put(&store, &drone("a"), 1).await.expect("kept");
    disk.fail_after(0);
    for _ in 0..10 {
        put(&store, &drone("a"), 2).await.expect_err("the disk fails");
    }
    assert_eq!((numbers(&store), store.revision()), (vec![1], 1));
    assert!(
        store
            .watch(DRONES, 0)
            .expect("watched")
            .take()
            .expect("goes on")
            .is_some()
    );
    disk.repair();
}

#[tokio::test]
async fn that_the_disk_fails_is_known_until_it_takes_something_again_though_nobody_writes() {
    let folder = tempfile::tempdir().expect("folder");
    let disk = Disk::new(false);
    let store = open_on(folder.path(), &disk).expect("opens");
    put(&store, &drone("a"), 1).await.expect("kept");
    assert_eq!(store.failing(), None);
    disk.fail_after(0);
    put(&store, &drone("a"), 2).await.expect_err("the disk fails");
    let why = store.failing().expect("known");
    assert!(why.contains("is full: free some space"), "{why}");
    disk.repair();
    let tried = async {
        while store.failing().is_some() {
            tokio::task::yield_now().await;
        }
    };
    let soon = Duration::from_secs(20);
    tokio::time::timeout(soon, tried).await.expect("tried again by itself");
}

#[tokio::test]
async fn a_refusal_that_rests_on_a_failed_write_is_a_failure_too() {
    let folder = tempfile::tempdir().expect("folder");
    let disk = Disk::new(false);
    let store = open_on(folder.path(), &disk).expect("opens");
    put(&store, &drone("a"), 1).await.expect("kept");
    disk.fail_after(0);
    let (a, b) = (drone("a"), drone("b"));
    let absent = crate::store::Expect::Absent;
    // The writer finds all three at once, or each fails on its own: the outcomes are the same.
    let (first, second, third) = tokio::join!(
        super::build::put_if(&store, &b, 1, absent),
        super::build::put_if(&store, &b, 2, absent),
        super::build::put_if(&store, &a, 3, absent),
    );
    assert!(matches!(first, Err(WriteError::NotStored(_))), "{first:?}");
    assert!(matches!(second, Err(WriteError::NotStored(_))), "{second:?}");
    assert!(matches!(third, Err(WriteError::Exists)), "{third:?}");
    disk.repair();
}

#[tokio::test]
async fn a_store_that_cannot_be_made_for_want_of_space_is_made_later() {
    let folder = tempfile::tempdir().expect("folder");
    let disk = Disk::new(false);
    for operations in 0..10 {
        disk.fail_after(operations);
        if let Err(error) = open_on(folder.path(), &disk) {
            assert!(matches!(&error, OpenError::Full { .. }), "{error:?}");
        }
    }
    disk.repair();
    let store = open_on(folder.path(), &disk).expect("opens");
    put(&store, &drone("a"), 1).await.expect("kept");
}

#[tokio::test]
async fn a_fault_of_the_engine_is_a_write_that_is_not_stored() {
    let folder = tempfile::tempdir().expect("folder");
    let disk = Disk::new(false);
    let store = open_on(folder.path(), &disk).expect("opens");
    put(&store, &drone("a"), 1).await.expect("kept");
    disk.fault.store(true, Ordering::SeqCst);
    let lost = put(&store, &drone("b"), 2).await;
    assert!(matches!(lost, Err(WriteError::NotStored(_))), "{lost:?}");
    insist(&store, "c", 3).await;
    assert_eq!(numbers(&store), [1, 3]);
    store.close().await;
    let store = open_on(folder.path(), &disk).expect("opens again");
    assert_eq!(numbers(&store), [1, 3]);
}

#[tokio::test]
async fn a_disk_that_goes_on_failing_is_not_read_all_the_time() {
    let folder = tempfile::tempdir().expect("folder");
    let opening = Duration::from_millis(200);
    let disk = Disk::slow(false, opening);
    let store = open_on(folder.path(), &disk).expect("opens");
    disk.fail_after(0);
    put(&store, &drone("a"), 1).await.expect_err("the disk fails");
    let (begun, before) = (Instant::now(), disk.opened.load(Ordering::SeqCst));
    let mut opened = 0;
    while opened < 4 {
        put(&store, &drone("a"), 1).await.expect_err("the disk fails");
        opened = disk.opened.load(Ordering::SeqCst) - before;
    }
    // The first attempt may be at once, as the duration of opening is not known yet.
    let spent = begun.elapsed();
    assert!(spent > opening * opened + opening * 3 * (opened - 1), "{spent:?}");
    disk.repair();
    insist(&store, "b", 2).await;
}
