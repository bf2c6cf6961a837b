//! The state of the objects, each change with its time, as `kubectl get drones --watch` shows it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use testkit::Kubectl;

use skein_tests::wire::now;

type History = Arc<Mutex<Vec<(u64, Value)>>>;

pub struct Objects {
    history: History,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Objects {
    pub fn watch(kubectl: &Kubectl) -> anyhow::Result<Self> {
        let history = History::default();
        let ended = Arc::new(AtomicBool::new(false));
        let (into, stop, kubectl) = (Arc::clone(&history), Arc::clone(&ended), kubectl.clone());
        let watch = ["get", "drones", "-A", "--watch", "-o", "json"];
        let start = move || kubectl.launch("kubectl-watch", watch).start();
        let mut process = start()?;
        let thread = std::thread::spawn(move || {
            let mut read = 0;
            while !stop.load(Ordering::Relaxed) {
                if !process.is_running() {
                    // The API server has closed the watch.
                    let Ok(again) = start() else { return };
                    (process, read) = (again, 0);
                }
                read += take(&process.stdout()[read..], &into);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        Ok(Self {
            history,
            ended,
            thread: Some(thread),
        })
    }

    pub fn of_since(&self, node: &str, since: u64) -> Vec<(u64, Value)> {
        let history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = history
            .iter()
            .filter(|(at, d)| *at >= since && d["spec"]["nodeName"] == node);
        wanted.cloned().collect()
    }

    pub fn of(&self, node: &str) -> Option<Value> {
        self.of_since(node, 0).pop().map(|(_, drone)| drone)
    }

    pub fn phases_since(&self, node: &str, since: u64) -> Vec<String> {
        let states = self.of_since(node, since);
        let mut phases: Vec<String> = states
            .iter()
            .filter_map(|(_, d)| Some(d["status"]["phase"].as_str()?.to_owned()))
            .collect();
        phases.dedup();
        phases
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Takes the complete objects at the start of `text`; returns how many bytes they were.
fn take(text: &str, into: &History) -> usize {
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut taken = 0;
    while let Some(Ok(object)) = objects.next() {
        taken = objects.byte_offset();
        into.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((now(), object));
    }
    taken
}

pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let all = object["status"]["conditions"].as_array();
    all.into_iter()
        .flatten()
        .find(|c| c["type"] == kind)
        .unwrap_or(&Value::Null)
}

pub fn is(object: &Value, kind: &str) -> bool {
    condition(object, kind)["status"] == "True"
}
