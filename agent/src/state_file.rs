//! What the agent remembers over restarts, in one file of the state directory.
//!
//! A file that cannot be understood is an error, never a fresh start: the vehicle may be flying. One that is understood is served, even when the
//! disk cannot be written. Must not: decide when to write; the shell writes before it acts.

use crate::durable;
use crate::plan;
use crate::remote_id;
use crate::rules::Remembered;
use fleet::flight::stand_down::StandDowns;
use fleet::flight_record::FlightRecord;
use model::assignment::Fence;
use model::ids::NodeName;
use model::route_order::{Progress, RouteOrder, Waypoint};
use model::units::Address;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Another number is another layout.
const LAYOUT: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub fence: Fence,
    pub record: FlightRecord,
    #[serde(default)]
    pub stand_downs: StandDowns,
    /// While a Drone is held, no other vehicle is taken for it.
    #[serde(default)]
    pub vehicle: Option<Address>,
    #[serde(default)]
    pub progress: Option<Progress>,
    /// At the takeoff for the flight that it is on.
    #[serde(default)]
    pub home_before: Option<Waypoint>,
    /// Whether its charge was near the reserve in that flight.
    #[serde(default)]
    pub near_reserve: bool,
    /// For how long the agent has had no contact with the coordinator in that flight, rounded down, and no longer than until it acts.
    #[serde(default)]
    pub alone_for: Duration,
    /// For how long its battery has been low in that flight, rounded down.
    #[serde(default)]
    pub low_for: Duration,
    /// The route with the airspace in which it is to stop, as it was taken back from a program.
    #[serde(default)]
    pub stops_in: Option<RouteOrder>,
    /// Whether somebody else flew it just now, while it served no Drone.
    #[serde(default)]
    pub others_flew: bool,
    /// Whether it was armed, or has not rested on the ground since: the next life of the agent lets it rest.
    #[serde(default)]
    pub unrested: bool,
    /// The rules that are to be in force, and what was on the autopilot before them.
    #[serde(default)]
    pub rules: Remembered,
    #[serde(default)]
    pub plan: plan::Remembered,
    #[serde(default)]
    pub remote_id: remote_id::Remembered,
}

#[derive(Serialize, Deserialize)]
struct OnDisk {
    layout: u32,
    node: String,
    #[serde(flatten)]
    state: State,
}

#[derive(Debug)]
pub struct Store {
    file: PathBuf,
    node: NodeName,
    unwritten: Option<io::Error>,
    _lock: File,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be made, locked or read, or holds no state yet and cannot be written.
    #[error("cannot use state directory {dir}: {why}; check --state-dir, its volume and permissions")]
    Unusable { dir: String, why: io::Error },
    #[error("another skein-agent is using state directory {0}; stop it, or give this one its own --state-dir")]
    InUse(String),
    #[error(
        "state file {file} cannot be understood ({why}); the agent does not guess what its vehicle is doing: make sure that the vehicle is on the ground and fit to fly, since it is forgotten whether it stands down, then remove the file"
    )]
    Corrupt { file: String, why: String },
    #[error(
        "state directory {dir} belongs to node {theirs}, but NODE is {ours}; correct NODE, or use another --state-dir"
    )]
    OtherNode {
        dir: String,
        theirs: String,
        ours: NodeName,
    },
}

impl Store {
    /// A state that is read but cannot be written again is no error, since its vehicle may be in the air: see [`Self::unwritten`].
    ///
    /// # Errors
    /// [`StoreError`]; the agent must not start then.
    pub fn open(dir: &Path, node: &NodeName) -> Result<(Self, State), StoreError> {
        let name = dir.display().to_string();
        let unusable = |why| StoreError::Unusable { dir: name.clone(), why };
        fs::create_dir_all(dir).map_err(unusable)?;
        let lock = lock_file(&dir.join("agent.lock")).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(name)),
            Err(TryLockError::Error(why)) => return Err(unusable(why)),
        }
        let file = dir.join("state.json");
        let remembered = match fs::read(&file) {
            Ok(bytes) => Some(read(&bytes, dir, &file, node)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(why) => return Err(unusable(why)),
        };
        let is_known = remembered.is_some();
        let state = remembered.unwrap_or_default();
        let mut store = Self {
            file,
            node: node.clone(),
            unwritten: None,
            _lock: lock,
        };
        // A directory that cannot be written is found out now, not when the first order comes.
        match store.save(&state) {
            Ok(()) => {}
            Err(why) if is_known => store.unwritten = Some(why),
            Err(why) => return Err(unusable(why)),
        }
        Ok((store, state))
    }

    /// `None`: the state could be written when the directory was taken. Else the vehicle is served, and nothing is done that needs the state on the
    /// disk before [`Self::save`] succeeds.
    pub const fn unwritten(&self) -> Option<&io::Error> {
        self.unwritten.as_ref()
    }

    /// On the disk once this returns. After an error the old state is there, but for the case that `durable::replace_file` names.
    pub fn save(&self, state: &State) -> io::Result<()> {
        let on_disk = OnDisk {
            layout: LAYOUT,
            node: self.node.to_string(),
            state: state.clone(),
        };
        let bytes = serde_json::to_vec_pretty(&on_disk)?;
        durable::replace_file(&self.file, &self.file.with_extension("json.new"), &bytes)
    }
}

/// On a disk that is mounted read-only, a lock file that is there can be locked too.
fn lock_file(path: &Path) -> io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path);
    file.or_else(|error| File::open(path).map_err(|_| error))
}

fn read(bytes: &[u8], dir: &Path, file: &Path, node: &NodeName) -> Result<State, StoreError> {
    let corrupt = |why: String| StoreError::Corrupt {
        file: file.display().to_string(),
        why,
    };
    let on_disk: OnDisk = serde_json::from_slice(bytes).map_err(|error| corrupt(error.to_string()))?;
    if on_disk.layout != LAYOUT {
        return Err(corrupt(format!(
            "layout {} is of another version of the agent",
            on_disk.layout
        )));
    }
    if on_disk.node != node.as_str() {
        let dir = dir.display().to_string();
        return Err(StoreError::OtherNode {
            dir,
            theirs: on_disk.node,
            ours: node.clone(),
        });
    }
    Ok(on_disk.state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::Term;

    fn node(name: &str) -> NodeName {
        NodeName::parse(name).unwrap()
    }

    fn state() -> State {
        State {
            fence: Fence {
                highest_term: Term(7),
                ..Fence::default()
            },
            ..State::default()
        }
    }

    #[test]
    fn what_was_saved_is_remembered_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let (store, before) = Store::open(dir.path(), &node("a")).unwrap();
        assert_eq!(before, State::default());
        store.save(&state()).unwrap();
        drop(store);
        assert_eq!(Store::open(dir.path(), &node("a")).unwrap().1, state());
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_an_error_and_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        for broken in ["", "{", "{\"layout\": 1}", "{\"layout\": 2, \"node\": \"a\"}"] {
            fs::write(dir.path().join("state.json"), broken).unwrap();
            let error = Store::open(dir.path(), &node("a")).unwrap_err();
            assert!(
                error
                    .to_string()
                    .contains("make sure that the vehicle is on the ground"),
                "{error}"
            );
            assert_eq!(fs::read_to_string(dir.path().join("state.json")).unwrap(), broken);
        }
    }

    #[test]
    fn what_an_agent_wrote_before_takeovers_and_ground_orders_were_kept_is_understood() {
        let dir = tempfile::tempdir().unwrap();
        let held = r#"{"term": 7, "uid": "u", "name": {"namespace": "n", "name": "a"}, "generation": 2,
            "desired": {"Grounded": {"why": "Ordered"}}, "failsafe": {}}"#;
        let old = format!(
            r#"{{"layout": 1, "node": "a", "fence": {{"highest_term": 7, "held": {held}}},
            "record": {{"uid": "u", "stage": "Flown"}}}}"#
        );
        fs::write(dir.path().join("state.json"), old).unwrap();
        let (_, state) = Store::open(dir.path(), &node("a")).unwrap();
        assert_eq!((state.fence.highest_term, state.fence.ground_latch), (Term(7), None));
        assert_eq!((state.record.takeovers, state.record.killed), (0, false));
        assert!(!state.record.lifts && !state.unrested);
        assert_eq!(state.stand_downs, StandDowns::default());
        assert_eq!(state.alone_for, Duration::ZERO);
    }

    #[test]
    fn each_key_of_the_file_keeps_its_name_and_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("state.json");
        let full = include_str!("state_file/full.json");
        fs::write(&file, full).unwrap();
        let (store, state) = Store::open(dir.path(), &node("a")).unwrap();
        store.save(&state).unwrap();
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let saved = fs::read_to_string(&file).unwrap();
        assert_eq!(
            value(&saved),
            value(full),
            "agents of other versions read the file; add to it, and rename nothing"
        );
    }

    /// Takes the place of the new file, so that nothing can be written. Permissions would not stop root.
    fn obstruct(dir: &Path) {
        fs::create_dir(dir.join("state.json.new")).unwrap();
    }

    #[test]
    fn a_state_that_is_understood_is_served_although_it_cannot_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(dir.path(), &node("a")).unwrap();
        store.save(&state()).unwrap();
        assert!(store.unwritten().is_none());
        drop(store);
        obstruct(dir.path());
        let (store, remembered) = Store::open(dir.path(), &node("a")).unwrap();
        assert_eq!(remembered, state());
        let why = store.unwritten().map(io::Error::kind);
        assert_eq!(why, Some(io::ErrorKind::IsADirectory));
    }

    #[test]
    fn a_directory_without_a_state_that_cannot_be_written_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        obstruct(dir.path());
        let opened = Store::open(dir.path(), &node("a"));
        assert!(matches!(opened, Err(StoreError::Unusable { .. })), "{opened:?}");
    }

    #[test]
    fn a_lock_that_can_only_be_read_keeps_another_agent_out_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        // Like a file on a read-only disk, a folder can be locked and not opened for writing.
        fs::create_dir(dir.path().join("agent.lock")).unwrap();
        let first = Store::open(dir.path(), &node("a")).unwrap();
        assert!(matches!(Store::open(dir.path(), &node("a")), Err(StoreError::InUse(_))));
        drop(first);
    }

    #[test]
    fn a_directory_serves_one_agent_of_one_node() {
        let dir = tempfile::tempdir().unwrap();
        let first = Store::open(dir.path(), &node("a")).unwrap();
        assert!(matches!(Store::open(dir.path(), &node("a")), Err(StoreError::InUse(_))));
        drop(first);
        let error = Store::open(dir.path(), &node("b")).unwrap_err();
        assert!(
            error.to_string().contains("belongs to node a, but NODE is b"),
            "{error}"
        );
    }
}
