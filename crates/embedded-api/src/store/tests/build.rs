//! Objects and stores for tests.

use crate::store::{Event, Expect, Facts, FactsFn, Key, Limits, Object, Options, Store, Watch, Write, WriteError};
use bytes::Bytes;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(in crate::store) const DRONES: &str = "drones.skein.dev";

pub(in crate::store) fn object(resource: &str, name: &str, revision: u64) -> Arc<Object> {
    Arc::new(Object {
        key: Key::new(resource, "default", name),
        revision,
        json: Bytes::from_static(b"{}"),
        facts: Facts::default(),
    })
}

pub(in crate::store) fn facts() -> FactsFn {
    Arc::new(|_, value| {
        let metadata = &value["metadata"];
        let text = |value: &Value| Arc::from(value.as_str().unwrap_or_default());
        let owners = || metadata["ownerReferences"].as_array().into_iter().flatten();
        let blocks = owners().filter(|owner| owner["blockOwnerDeletion"] == true);
        let labels = metadata["labels"].as_object().into_iter().flatten();
        Facts {
            uid: text(&metadata["uid"]),
            owners: owners().map(|owner| text(&owner["uid"])).collect(),
            blocks: blocks.map(|owner| text(&owner["uid"])).collect(),
            labels: labels.map(|(key, value)| (key.as_str().into(), text(value))).collect(),
            deleting: !metadata["deletionTimestamp"].is_null(),
            ..Facts::default()
        }
    })
}

pub(in crate::store) fn open(folder: &Path) -> Store {
    open_with(folder, Limits::default())
}

pub(in crate::store) fn open_with(folder: &Path, history: Limits) -> Store {
    let options = Options {
        history,
        ..Options::new(folder)
    };
    Store::open(options, facts()).expect("opens")
}

pub(in crate::store) fn newest(events: usize) -> Limits {
    Limits {
        age: Duration::ZERO,
        events,
        bytes: usize::MAX,
    }
}

pub(in crate::store) fn drone(name: &str) -> Key {
    Key::new(DRONES, "default", name)
}

pub(in crate::store) fn body(key: &Key, number: u64) -> Value {
    json!({"metadata": {"name": &*key.name, "uid": format!("uid-{}", key.name)}, "spec": {"number": number}})
}

pub(in crate::store) fn number(object: &Object) -> u64 {
    let value: Value = serde_json::from_slice(&object.json).expect("JSON");
    assert_eq!(value["metadata"]["resourceVersion"], object.revision.to_string());
    value["spec"]["number"].as_u64().expect("a number")
}

pub(in crate::store) async fn put(store: &Store, key: &Key, number: u64) -> Result<Arc<Object>, WriteError> {
    let expect = store
        .get(key)
        .map_or(Expect::Absent, |object| Expect::Revision(object.revision));
    put_if(store, key, number, expect).await
}

pub(in crate::store) async fn put_if(
    store: &Store,
    key: &Key,
    number: u64,
    expect: Expect,
) -> Result<Arc<Object>, WriteError> {
    let write = Write::Put {
        key: key.clone(),
        expect,
        value: body(key, number),
    };
    store.write(write).await
}

pub(in crate::store) async fn delete(store: &Store, key: &Key) -> Result<Arc<Object>, WriteError> {
    let now = store.get(key).expect("it is there");
    let write = Write::Delete {
        key: key.clone(),
        expect: now.revision,
        value: body(key, number(&now)),
    };
    store.write(write).await
}

pub(in crate::store) async fn next(watch: &mut Watch) -> Arc<Event> {
    let next = tokio::time::timeout(Duration::from_secs(10), watch.next()).await;
    next.expect("an event within ten seconds").expect("the watch goes on")
}
