//! A watch that is resumed after every crash, from the last revision that it received.

use crate::change::State;
use crate::record::Event;
use futures::StreamExt;
use kube::api::{Api, DynamicObject, WatchEvent, WatchParams};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(crate) struct Watcher {
    events: watch::Receiver<usize>,
    log: Arc<Mutex<Vec<Event>>>,
    starts: watch::Sender<usize>,
    task: JoinHandle<()>,
}

impl Watcher {
    pub(crate) fn follow(drones: Api<DynamicObject>, revision: u64) -> Self {
        let (count, events) = watch::channel(0);
        let starts = watch::Sender::new(0);
        let log: Arc<Mutex<Vec<Event>>> = Arc::default();
        let (shared, mut started) = (Arc::clone(&log), starts.subscribe());
        let task = tokio::spawn(async move {
            let mut last = revision;
            loop {
                last = until_it_breaks(&drones, last, |event| {
                    shared.lock().unwrap().push(event);
                    count.send_modify(|count| *count += 1);
                })
                .await;
                if started.changed().await.is_err() {
                    return;
                }
            }
        });
        Self {
            events,
            log,
            starts,
            task,
        }
    }

    pub(crate) fn resume(&self) {
        assert!(!self.task.is_finished(), "the watcher has ended");
        self.starts.send_modify(|starts| *starts += 1);
    }

    pub(crate) fn resumed(&self) -> usize {
        *self.starts.borrow()
    }

    pub(crate) fn len(&self) -> usize {
        *self.events.borrow()
    }

    pub(crate) async fn at_least(&mut self, count: usize) -> Vec<Event> {
        self.events.wait_for(|now| *now >= count).await.unwrap();
        self.log.lock().unwrap().clone()
    }
}

async fn until_it_breaks(drones: &Api<DynamicObject>, since: u64, mut on_event: impl FnMut(Event)) -> u64 {
    let mut last = since;
    let stream = match drones.watch(&WatchParams::default(), &since.to_string()).await {
        Ok(stream) => stream,
        Err(kube::Error::Api(status)) => panic!("the watch from {since} was refused: {status:?}"),
        Err(_) => return last,
    };
    let mut stream = Box::pin(stream);
    while let Some(Ok(event)) = stream.next().await {
        match read(event) {
            Ok(event) => {
                last = event.revision;
                on_event(event);
            }
            Err(bookmark) => {
                assert!(bookmark >= last, "a bookmark of {bookmark} after {last}");
                last = bookmark;
            }
        }
    }
    last
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Compacted;

pub(crate) async fn events_since(
    drones: &Api<DynamicObject>,
    since: u64,
    count: usize,
) -> Result<Vec<Event>, Compacted> {
    let mut stream = match drones.watch(&WatchParams::default(), &since.to_string()).await {
        Err(kube::Error::Api(status)) if status.code == 410 => return Err(Compacted),
        other => Box::pin(other.unwrap()),
    };
    let mut events = Vec::new();
    while events.len() < count {
        match stream.next().await.expect("the watch goes on").unwrap() {
            WatchEvent::Error(status) if status.code == 410 => return Err(Compacted),
            event => events.extend(read(event).ok()),
        }
    }
    Ok(events)
}

fn read(event: WatchEvent<DynamicObject>) -> Result<Event, u64> {
    let (object, deleted) = match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
        WatchEvent::Deleted(object) => (object, true),
        WatchEvent::Bookmark(bookmark) => return Err(bookmark.metadata.resource_version.parse().unwrap()),
        WatchEvent::Error(status) => panic!("the watch was refused: {status:?}"),
    };
    let state = State::from(&object);
    Ok(Event {
        revision: state.revision,
        state,
        deleted,
    })
}
