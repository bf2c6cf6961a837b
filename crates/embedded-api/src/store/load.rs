//! From disk to memory: opens the folder, reads the log once, and builds the state.

use super::error::OpenError;
use super::folder::Folder;
use super::journal::{Journal, Medium};
use super::names::Names;
use super::object::{FactsFn, Object};
use super::record::Record;
use super::state::{Change, State};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

pub(super) struct Loaded {
    pub(super) folder: Folder,
    pub(super) journal: Journal,
    pub(super) state: State,
    pub(super) names: Names,
    pub(super) unneeded: Vec<u64>,
}

pub(super) fn load(path: &Path, medium: &Medium, facts: &FactsFn) -> Result<Loaded, OpenError> {
    let mut folder = Folder::open(path)?;
    if folder.is_fresh()? {
        folder.make_objects(Journal::create)?;
    }
    let journal = Journal::open(&folder.objects(), medium)?;
    let head = journal.head()?;
    let mut state = State::new(head.floor);
    let mut names = Names::default();
    let (mut unneeded, mut records) = (Vec::new(), 0);
    journal.each(|revision, bytes| {
        let change = read(revision, bytes, facts, &mut names).map_err(|what| journal.damaged(what))?;
        unneeded.extend(state.apply(change));
        records += 1;
        Ok(())
    })?;
    // The record of the newest revision exists, unless it was a deletion and the floor is above it.
    if (records, state.revision()) != (head.records, head.newest) {
        let found = format!("{records} records up to revision {}", state.revision());
        let expected = format!("{} up to revision {}", head.records, head.newest);
        return Err(journal.damaged(format!("{found} where there were {expected}")));
    }
    folder.sign()?;
    Ok(Loaded {
        folder,
        journal,
        state,
        names,
        unneeded,
    })
}

fn read(revision: u64, bytes: &[u8], facts: &FactsFn, names: &mut Names) -> Result<Change, String> {
    let record = Record::decode(revision, bytes).map_err(|error| error.to_string())?;
    let value: Value = serde_json::from_slice(&record.json).map_err(|error| format!("revision {revision}: {error}"))?;
    let object = Object {
        facts: names.facts(facts(&record.key, &value)),
        key: names.key(record.key),
        revision,
        json: record.json,
    };
    Ok(Change {
        object: Arc::new(object),
        deleted: record.deleted,
        written_ms: record.written_ms,
    })
}
