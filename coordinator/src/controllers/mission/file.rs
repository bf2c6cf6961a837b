//! The mission file that a Mission names, out of its ConfigMap.

use super::lock::lock;
use super::pool::{Asked, Done, Place, Pool, Task};
use super::turns::Turns;
use super::work::{File, FileWork, digest};
use crate::cluster::api::{self, ApiError};
use crds::labels;
use crds::mission::ConfigMapKey;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::ResourceExt;
use kube::api::Api;
use std::collections::{HashMap, HashSet};
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;

/// A mission that has begun cannot change, and a new leader could not go on with another file.
const REREAD_INTERVAL: Duration = Duration::from_secs(60);

/// For a file that is missing or cannot be flown.
const BAD_FILE_REREAD_INTERVAL: Duration = Duration::from_secs(10);

/// Each of another namespace.
const CONCURRENT_READS: usize = 8;

/// A shorter file is planned where it is read: that takes less time than waiting for another thread.
const INLINE_PLANNING_BYTES: usize = 8192;

/// The reason of a Mission at whose file the reader panics.
const FAULT: &str = "reading it ended in a fault of this program, which its log has; change the file, and report it";

pub fn is_due(ago: Duration, good: bool) -> bool {
    ago >= if good {
        REREAD_INTERVAL
    } else {
        BAD_FILE_REREAD_INTERVAL
    }
}

#[derive(Clone, Debug)]
pub struct Order {
    pub namespace: String,
    pub uid: String,
    pub from: ConfigMapKey,
    /// The work of the text that was read before: the same text is not planned again.
    known: Option<Arc<FileWork>>,
}

impl Order {
    pub const fn new(namespace: String, uid: String, from: ConfigMapKey) -> Self {
        Self {
            namespace,
            uid,
            from,
            known: None,
        }
    }

    /// On an error it is unknown what exists.
    async fn read(&mut self, client: kube::Client, pool: &Pool) -> Result<File, ApiError> {
        let ConfigMapKey { name, key } = &self.from;
        let namespace = &self.namespace;
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let map = match api::call("read the ConfigMap of a Mission", api.get_opt(name)).await {
            Ok(Some(map)) => map,
            Ok(None) => {
                return Ok(Err(format!(
                    "there is no ConfigMap {name} in namespace {namespace}; create it with the mission file under the key {key}"
                )));
            }
            Err(error) if error.is_refusal() => {
                return Ok(Err(format!(
                    "the coordinator may not read ConfigMap {name}; let its ServiceAccount get configmaps in namespace {namespace}"
                )));
            }
            Err(error) => return Err(error),
        };
        if let Some(text) = map.data.unwrap_or_default().remove(key) {
            let work = self.work(text, pool).await;
            self.known = Some(Arc::clone(&work));
            return self.may_fly(client, work).await;
        }
        Ok(Err({
            let binary = map.binary_data.is_some_and(|data| data.contains_key(key));
            let what = if binary {
                "under binaryData, and no text"
            } else {
                "not there"
            };
            format!("key {key} of ConfigMap {name} is {what}; put the text of the mission file under data.{key}")
        }))
    }

    async fn work(&self, text: String, pool: &Pool) -> Arc<FileWork> {
        let digest = digest(&text);
        if let Some(known) = self.known.as_ref().filter(|known| known.digest == digest) {
            return Arc::clone(known);
        }
        if text.len() <= INLINE_PLANNING_BYTES {
            let work = catch_unwind(|| FileWork::of(&text));
            return Arc::new(work.unwrap_or_else(|_| FileWork::bad(&text, FAULT)));
        }
        let text: Arc<str> = text.into();
        let of = (self.namespace.as_str(), self.uid.as_str());
        match pool.result(of, &digest, || Task::File(Arc::clone(&text))).await {
            Done::File(work) => work,
            Done::Survey(_) | Done::Sharing(..) => Arc::new(FileWork::bad(&text, FAULT)),
        }
    }

    /// The work of a file, unless it moves actuators and its namespace may not: the right to create Missions is none to drop things over
    /// people.
    async fn may_fly(&self, client: kube::Client, work: Arc<FileWork>) -> Result<File, ApiError> {
        let Some(item) = work.moves else {
            return Ok(Ok(work));
        };
        let namespace = &self.namespace;
        let api: Api<Namespace> = Api::all(client);
        let read = api::call("read the namespace of a Mission", api.get_opt(namespace)).await;
        let found = match read {
            Err(error) if !error.is_refusal() => return Err(error),
            found => found.ok().flatten(),
        };
        let is_allowed = |namespace: &Namespace| {
            let label = namespace.labels().get(labels::ACTUATORS);
            label.is_some_and(|value| value == labels::ALLOWED)
        };
        if found.as_ref().is_some_and(is_allowed) {
            return Ok(Ok(work));
        }
        Ok(Err(format!(
            "the file moves something on board ({item}), and namespace {namespace} may not order that; people who may edit the namespace \
             allow it with `kubectl label namespace {namespace} {}={}`; or import the file with `--leave-out`",
            labels::ACTUATORS,
            labels::ALLOWED
        )))
    }
}

/// Reads one file per Mission at a time.
#[derive(Debug, Default)]
pub struct Reader {
    readings: Arc<Mutex<Readings>>,
    asked: HashSet<String>,
    tasks: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Readings {
    turns: Turns<String, Order>,
    /// By the uid of the Mission.
    underway: HashMap<String, Order>,
    done: HashMap<String, (ConfigMapKey, Result<File, ApiError>)>,
    /// The work of the text that was read last.
    works: HashMap<String, Arc<FileWork>>,
}

impl Readings {
    fn take(&mut self) -> Option<Order> {
        if self.underway.len() >= CONCURRENT_READS {
            return None;
        }
        let underway = &self.underway;
        let may = |name: &str| !underway.values().any(|order| order.namespace == name);
        let (_, uid, order) = self.turns.take(may)?;
        self.underway.insert(uid, order.clone());
        Some(order)
    }
}

impl Reader {
    /// The result of this order, whose reading it begins.
    pub fn read(&mut self, mut order: Order, client: &kube::Client, pool: &Pool) -> Asked<Result<File, ApiError>> {
        while self.tasks.try_join_next().is_some() {}
        let uid = order.uid.clone();
        let mut readings = lock(&self.readings);
        if let Some((from, read)) = readings.done.remove(&uid)
            && from == order.from
        {
            self.asked.remove(&uid);
            return Asked::Done(read);
        }
        if readings
            .underway
            .get(&uid)
            .is_none_or(|underway| underway.from != order.from)
        {
            let namespace = order.namespace.clone();
            order.known = readings.works.get(&uid).cloned();
            readings.turns.put(&namespace, uid.clone(), order);
        }
        while let Some(first) = readings.take() {
            let (readings, client, pool) = (Arc::clone(&self.readings), client.clone(), pool.clone());
            self.tasks.spawn(work_off(readings, first, client, pool));
        }
        self.asked.insert(uid.clone());
        let place = match readings.turns.before(&uid) {
            _ if readings.underway.contains_key(&uid) => Place::Now,
            Some(before) => Place::After(before + 1),
            None => Place::NoRoom,
        };
        Asked::Waits(place)
    }

    pub fn is_asked(&self, uid: &str) -> bool {
        self.asked.contains(uid)
    }

    pub fn retain(&mut self, known: impl Fn(&str) -> bool) {
        let mut readings = lock(&self.readings);
        readings.done.retain(|uid, _| known(uid));
        readings.works.retain(|uid, _| known(uid));
        readings.turns.retain(|uid| known(uid));
        self.asked.retain(|uid| known(uid));
    }
}

/// Reads one after the other, until none waits.
async fn work_off(readings: Arc<Mutex<Readings>>, first: Order, client: kube::Client, pool: Pool) {
    let mut next = Some(first);
    while let Some(mut order) = next {
        let read = order.read(client.clone(), &pool).await;
        next = {
            let mut readings = lock(&readings);
            readings.underway.remove(&order.uid);
            let works = order.known.map(|work| (order.uid.clone(), work));
            readings.works.extend(works);
            readings.done.insert(order.uid, (order.from, read));
            readings.take()
        };
        pool.ready.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Request, Response, StatusCode};
    use kube::client::Body;
    use serde_json::{Value, json};
    use std::convert::Infallible;
    use tower::service_fn;

    const DROPS: &str = "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.4\t8.5\t488\t1\n1\t0\t3\t16\t0\t0\t0\t0\t47.401\t8.5\t30\t1\n\
                         2\t0\t3\t183\t9\t1900\t0\t0\t0\t0\t0\t1\n3\t0\t3\t16\t0\t0\t0\t0\t47.402\t8.5\t30\t1\n";

    /// `None`: the coordinator may not read namespaces.
    async fn read_in(text: &str, labels: Option<Value>) -> File {
        let text = text.to_owned();
        let service = service_fn(move |request: Request<Body>| {
            let map =
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "files"}, "data": {"plan": text}});
            let (status, answer) = match (request.uri().path(), &labels) {
                ("/api/v1/namespaces/north/configmaps/files", _) => (StatusCode::OK, map),
                ("/api/v1/namespaces/north", Some(labels)) => (
                    StatusCode::OK,
                    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "north", "labels": labels}}),
                ),
                _ => (
                    StatusCode::FORBIDDEN,
                    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": ""}),
                ),
            };
            let answer = Response::builder()
                .status(status)
                .body(Body::from(answer.to_string().into_bytes()));
            async move { Ok::<_, Infallible>(answer.unwrap()) }
        });
        let from = ConfigMapKey {
            name: "files".to_owned(),
            key: "plan".to_owned(),
        };
        let mut order = Order::new("north".to_owned(), "uid-a".to_owned(), from);
        let client = kube::Client::new(service, "north");
        order.read(client, &Pool::default()).await.unwrap()
    }

    fn work(text: &str) -> File {
        Ok(FileWork::of(text).into())
    }

    #[tokio::test]
    async fn a_file_that_moves_actuators_is_flown_where_the_namespace_allows_it_only() {
        for labels in [None, Some(json!({})), Some(json!({"skein.dev/actuators": "no"}))] {
            let why = read_in(DROPS, labels).await.unwrap_err();
            assert!(
                why.contains("DO_SET_SERVO")
                    && why.contains("kubectl label namespace north skein.dev/actuators=allowed"),
                "{why}"
            );
        }
        let allowed = json!({"skein.dev/actuators": "allowed"});
        assert_eq!(read_in(DROPS, Some(allowed)).await, work(DROPS));
        let plain = DROPS.replace("\t183\t", "\t16\t");
        assert_eq!(read_in(&plain, None).await, work(&plain), "no namespace is read for it");
    }

    #[tokio::test]
    async fn a_text_that_was_read_before_is_not_planned_again_be_it_good_or_bad() {
        let long = DROPS.replace("\t183\t", "\t16\t") + &" ".repeat(2 * INLINE_PLANNING_BYTES);
        for text in [DROPS.to_owned(), "hello".to_owned(), long] {
            let from = ConfigMapKey {
                name: "files".to_owned(),
                key: "plan".to_owned(),
            };
            let mut order = Order::new("north".to_owned(), "uid-a".to_owned(), from);
            let pool = Pool::default();
            let first = order.work(text.clone(), &pool).await;
            order.known = Some(Arc::clone(&first));
            assert!(Arc::ptr_eq(&first, &order.work(text.clone(), &pool).await));
            let edited = order.work(text + "\n", &pool).await;
            assert!(!Arc::ptr_eq(&first, &edited));
        }
    }
}
