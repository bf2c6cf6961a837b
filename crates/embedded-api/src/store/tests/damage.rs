//! A damaged folder: always an error that names the file, never an empty or a shorter store.

use super::build::{DRONES, drone, facts, number, open, put};
use crate::store::journal::{self, Commit, Journal};
use crate::store::{OpenError, Options, Page, Store};
use redb::{ReadableDatabase, ReadableTable};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const OBJECTS: u64 = 40;

fn try_open(folder: &Path) -> Result<Store, OpenError> {
    Store::open(Options::new(folder), facts())
}

fn refusal(folder: &Path) -> OpenError {
    match try_open(folder) {
        Err(error) => error,
        Ok(store) => panic!("opened: {store:?}"),
    }
}

async fn filled(folder: &Path) -> Store {
    let store = open(folder);
    for number in 0..OBJECTS {
        put(&store, &drone(&format!("d{number:02}")), number)
            .await
            .expect("kept");
    }
    store
}

async fn file_after_a_kill() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("folder");
    let store = filled(folder.path()).await;
    let file = fs::read(folder.path().join("objects.redb")).expect("read");
    store.close().await;
    file
}

async fn file_after_a_close() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("folder");
    filled(folder.path()).await.close().await;
    fs::read(folder.path().join("objects.redb")).expect("read")
}

/// Opens these bytes, twice if needed; each time the store must be refused, or be complete.
fn whole_or_refused(folder: &Path, file: &[u8], what: &str) -> bool {
    fs::write(folder.join("objects.redb"), file).expect("written");
    opens_whole(folder, what) || opens_whole(folder, &format!("{what}, at the second start"))
}

fn opens_whole(folder: &Path, what: &str) -> bool {
    match try_open(folder) {
        Ok(store) => {
            let listed = store.list(DRONES, None, &Page::default(), |_| true).expect("listed");
            let numbers: Vec<_> = listed.objects.iter().map(|object| number(object)).collect();
            assert_eq!(
                numbers,
                (0..OBJECTS).collect::<Vec<_>>(),
                "{what}: silently lost or changed"
            );
            assert_eq!(store.revision(), OBJECTS, "{what}");
            true
        }
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains("objects.redb"), "{what}: {message}");
            false
        }
    }
}

#[tokio::test]
async fn no_flipped_byte_loses_anything_in_silence() {
    for (how, file) in [
        ("killed", file_after_a_kill().await),
        ("closed", file_after_a_close().await),
    ] {
        let folder = tempfile::tempdir().expect("folder");
        assert!(whole_or_refused(folder.path(), &file, how));
        // Each byte of the file's own header, and some of every page.
        let places = (0..320).chain((320..file.len()).step_by(2039));
        let mut refused = 0;
        for place in places {
            let mut damaged = file.clone();
            damaged[place] ^= 0x55;
            let what = format!("{how}, byte {place}");
            refused += u32::from(!whole_or_refused(folder.path(), &damaged, &what));
        }
        assert!(refused > 50, "{how}: only {refused} refused");
    }
}

#[tokio::test]
async fn damage_where_no_record_is_is_noticed_too() {
    let file = file_after_a_close().await;
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("objects.redb");
    let records_are_there = || {
        std::panic::catch_unwind(|| {
            let file = redb::Database::open(&path).ok()?;
            let log = file
                .begin_read()
                .ok()?
                .open_table(redb::TableDefinition::<u64, &[u8]>::new("log"))
                .ok()?;
            log.iter().ok()?.all(|entry| entry.is_ok()).then_some(())
        })
    };
    let mut noticed = 0;
    for place in (320..file.len()).step_by(2039) {
        let mut damaged = file.clone();
        damaged[place] ^= 0x55;
        if whole_or_refused(folder.path(), &damaged, "") {
            continue;
        }
        fs::write(&path, &damaged).expect("written");
        let by_the_engine = refusal(folder.path()).to_string().contains("corrupted");
        fs::write(&path, &damaged).expect("written");
        noticed += u32::from(by_the_engine && matches!(records_are_there(), Ok(Some(()))));
    }
    assert!(noticed > 0);
}

#[tokio::test]
async fn no_cut_file_loses_anything_in_silence() {
    for (how, file) in [
        ("killed", file_after_a_kill().await),
        ("closed", file_after_a_close().await),
    ] {
        let folder = tempfile::tempdir().expect("folder");
        let lengths = (0..file.len()).step_by(file.len() / 60);
        for length in lengths {
            let what = format!("{how}, cut at {length}");
            assert!(
                !whole_or_refused(folder.path(), &file[..length], &what),
                "{what}: not noticed"
            );
        }
    }
}

#[test]
fn a_file_of_something_else_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("objects.redb");
    let text = "not a store\n".repeat(1000);
    fs::write(&file, &text).expect("written");
    assert!(matches!(refusal(folder.path()), OpenError::Damaged { .. }));
    assert_eq!(fs::read_to_string(&file).expect("read"), text);
}

#[test]
fn an_empty_file_is_not_taken_for_a_new_store() {
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("objects.redb"), "").expect("written");
    let message = refusal(folder.path()).to_string();
    assert!(message.contains("objects.redb is damaged (it is empty)"), "{message}");
}

#[tokio::test]
async fn a_lost_file_is_not_taken_for_a_new_store() {
    let folder = tempfile::tempdir().expect("folder");
    filled(folder.path()).await.close().await;
    fs::remove_file(folder.path().join("objects.redb")).expect("removed");
    let error = refusal(folder.path());
    assert!(matches!(&error, OpenError::Missing { .. }), "{error:?}");
    fs::remove_file(folder.path().join("objects.lock")).expect("removed");
    assert_eq!(open(folder.path()).revision(), 0, "as the error says");
}

#[test]
fn a_store_whose_making_was_cut_short_is_made_afresh() {
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("objects.redb.new"), "half").expect("written");
    fs::write(folder.path().join("objects.lock"), "").expect("written");
    assert_eq!(open(folder.path()).revision(), 0);
}

#[tokio::test]
async fn a_second_process_is_refused_with_the_first_ones_name() {
    let folder = tempfile::tempdir().expect("folder");
    let store = filled(folder.path()).await;
    let message = refusal(folder.path()).to_string();
    assert!(
        message.contains(&format!("in use by process {}", std::process::id())),
        "{message}"
    );
    put(&store, &drone("x"), 1).await.expect("the first goes on");
    drop(store);
    assert_eq!(open(folder.path()).revision(), OBJECTS + 1);
}

#[test]
fn another_format_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    drop(open(folder.path()));
    {
        let file = redb::Database::open(folder.path().join("objects.redb")).expect("opens");
        let change = file.begin_write().expect("begins");
        let table = redb::TableDefinition::<&str, u64>::new("about");
        change
            .open_table(table)
            .expect("table")
            .insert("format", 2)
            .expect("inserted");
        change.commit().expect("committed");
    }
    let message = refusal(folder.path()).to_string();
    assert!(message.contains("has format 2, this program knows 1"), "{message}");
}

#[tokio::test]
async fn a_missing_record_is_noticed() {
    for (says, message) in [
        ("records", "40 records up to revision 40 where there were 41"),
        ("newest", "revision 41"),
    ] {
        let folder = tempfile::tempdir().expect("folder");
        filled(folder.path()).await.close().await;
        {
            let file = redb::Database::open(folder.path().join("objects.redb")).expect("opens");
            let change = file.begin_write().expect("begins");
            let table = redb::TableDefinition::<&str, u64>::new("about");
            change
                .open_table(table)
                .expect("table")
                .insert(says, OBJECTS + 1)
                .expect("inserted");
            change.commit().expect("committed");
        }
        let error = refusal(folder.path()).to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_record_that_is_none_is_noticed() {
    let folder = tempfile::tempdir().expect("folder");
    drop(open(folder.path()));
    {
        let path = folder.path().join("objects.redb");
        let journal = Journal::open(&path, &journal::file()).expect("opens");
        let keep = [(1, b"something else".to_vec())];
        let commit = Commit {
            keep: &keep,
            newest: 1,
            ..Commit::default()
        };
        journal.commit(&commit).expect("committed");
    }
    let message = refusal(folder.path()).to_string();
    assert!(
        message.contains("the checksum of revision 1 does not match"),
        "{message}"
    );
}

#[test]
fn what_the_store_makes_is_the_owners_alone() {
    let parent = tempfile::tempdir().expect("folder");
    let folder = parent.path().join("data").join("store");
    drop(open(&folder));
    let mode = |path: PathBuf| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(folder.clone()), 0o700);
    let files: Vec<_> = fs::read_dir(&folder)
        .expect("read")
        .map(|file| file.expect("file").path())
        .collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        assert_eq!(mode(file.clone()), 0o600, "{}", file.display());
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let parent = tempfile::tempdir().expect("folder");
    let file = parent.path().join("file");
    fs::write(&file, "").expect("written");
    let message = refusal(&file.join("store")).to_string();
    assert!(message.contains("file/store"), "{message}");
}

#[test]
fn a_folder_that_may_not_be_written_is_reported() {
    // Refused to every user, including root.
    let error = refusal(Path::new("/sys/store"));
    assert!(matches!(&error, OpenError::NotWritable { .. }), "{error:?}");
    assert!(
        error
            .to_string()
            .contains("/sys/store cannot be written: give this user the right to"),
        "{error}"
    );
}
