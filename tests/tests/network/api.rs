//! The Kubernetes API of the simulation: the embedded one, called as a function, so that an answer takes no real time.

use bytes::Bytes;
use embedded_api::request::{Answer, ApiRequest, Body};
use embedded_api::verbs::{Api, Options};
use futures::StreamExt;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

const LEASE: &str = "/leases/skein-coordinator";
const LEASES: &str = "/namespaces/skein-system/leases";
const LEASE_PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/skein-system/leases/skein-coordinator";

const MISSIONS: &str = "/missions";

const YEARS: Duration = Duration::from_secs(1 << 30);

/// Interval at which a delayed frame checks whether it may continue.
const LATE: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Open,
    Silent,
    Refused,
    /// About half of the requests get 429 and 500, and answers are lost.
    Strained,
}

struct Caller {
    way: Way,
    watches: CancellationToken,
    /// Until then its watches get no data, then everything that was delayed; other answers are not late.
    late_until: Duration,
    /// Meters that it reads the altitude steps of Missions too high.
    raises: f64,
}

pub struct Cluster {
    api: Mutex<Arc<Api>>,
    folder: PathBuf,
    runtime: Runtime,
    callers: Mutex<Vec<Caller>>,
    rng: Mutex<StdRng>,
    leader: Mutex<Option<usize>>,
    writes: Mutex<Option<Vec<Write>>>,
    astray: Mutex<Vec<String>>,
}

pub struct Write {
    pub path: String,
    pub body: String,
}

impl Cluster {
    pub fn open(folder: &Path, callers: usize, rng: StdRng) -> Arc<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let api = Mutex::new(store(&runtime, folder));
        let caller = || Caller {
            way: Way::Open,
            watches: CancellationToken::new(),
            late_until: Duration::ZERO,
            raises: 0.0,
        };
        Arc::new(Self {
            api,
            folder: folder.to_owned(),
            runtime,
            callers: Mutex::new((0..callers).map(|_| caller()).collect()),
            rng: Mutex::new(rng),
            leader: Mutex::default(),
            writes: Mutex::default(),
            astray: Mutex::default(),
        })
    }

    pub fn set(&self, caller: usize, way: Way) {
        let mut callers = self.callers.lock().unwrap();
        let caller = &mut callers[caller];
        caller.way = way;
        if way != Way::Open {
            std::mem::take(&mut caller.watches).cancel();
        }
    }

    pub fn hold_back(&self, caller: usize, until: Duration) {
        self.callers.lock().unwrap()[caller].late_until = until;
    }

    pub fn late_until(&self, caller: usize) -> Duration {
        self.callers.lock().unwrap()[caller].late_until
    }

    /// Reads the altitude steps of Missions `raises` meters higher, as a version that plans otherwise does.
    pub fn reads_higher_steps(&self, caller: usize, raises: f64) {
        self.callers.lock().unwrap()[caller].raises = raises;
    }

    fn as_read(&self, caller: usize, path: &str, bytes: Bytes) -> Bytes {
        let raises = self.callers.lock().unwrap()[caller].raises;
        match raises > 0.0 && path.contains(MISSIONS) {
            true => raised(&bytes, raises),
            false => bytes,
        }
    }

    pub fn keep_writes(&self) {
        *self.writes.lock().unwrap() = Some(Vec::new());
    }

    pub fn writes(&self) -> Vec<Write> {
        self.writes.lock().unwrap().take().unwrap_or_default()
    }

    pub fn astray(&self) -> Option<String> {
        self.astray.lock().unwrap().first().cloned()
    }

    fn check_status(&self, path: &str, sent: &[u8], answer: &[u8]) {
        let object = |bytes| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
        let (meant, written) = (object(sent), object(answer));
        let (meant, written) = (&meant["metadata"]["uid"], &written["metadata"]["uid"]);
        if meant.is_string() && meant != written {
            let astray = format!("{path}: what is said of {meant} was written on {written}");
            self.astray.lock().unwrap().push(astray);
        }
    }

    fn is_late(&self, caller: usize) -> bool {
        let now = turmoil::sim_elapsed().unwrap_or_default();
        now < self.callers.lock().unwrap()[caller].late_until
    }

    fn api(&self) -> Arc<Api> {
        Arc::clone(&self.api.lock().unwrap())
    }

    pub fn revision(&self) -> u64 {
        self.api().revision()
    }

    pub fn back_up(&self) {
        copy(&self.folder, &self.folder.with_extension("backup"));
    }

    /// As a restore of etcd: all watches end, and nothing says that time went back.
    pub fn restore(&self) {
        let restored = self.folder.with_extension("restored");
        copy(&self.folder.with_extension("backup"), &restored);
        *self.api.lock().unwrap() = store(&self.runtime, &restored);
        for caller in self.callers.lock().unwrap().iter_mut() {
            std::mem::take(&mut caller.watches).cancel();
        }
        self.note_the_leader(self.lease().to_string().as_bytes());
    }

    fn lease(&self) -> Value {
        self.ask(Method::GET, LEASE_PATH, &Value::Null)
    }

    pub fn went_back(&self) -> bool {
        !self.lease()["metadata"]["annotations"][crds::labels::WENT_BACK].is_null()
    }

    pub fn confirm(&self) {
        let confirmed = json!({"metadata": {"annotations": {crds::labels::WENT_BACK: null}}});
        self.ask(Method::PATCH, LEASE_PATH, &confirmed);
    }

    pub fn leader(&self) -> Option<usize> {
        *self.leader.lock().unwrap()
    }

    pub fn ask(&self, method: Method, path: &str, body: &Value) -> Value {
        let _context = self.runtime.enter();
        let content_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let answer = self.answer(ApiRequest {
            method,
            path: path.to_owned(),
            query: Vec::new(),
            accept: "application/json".to_owned(),
            content_type: content_type.to_owned(),
            user_agent: "operator".to_owned(),
            body: if body.is_null() {
                Bytes::new()
            } else {
                body.to_string().into()
            },
        });
        let Body::Whole(bytes) = answer.body else {
            panic!("no watch was asked for")
        };
        serde_json::from_slice(&bytes).unwrap()
    }

    /// May take real time: simulated time does not advance meanwhile.
    fn answer(&self, mut request: ApiRequest) -> Answer {
        let about_the_lease = request.path.ends_with(LEASE) || request.path.ends_with(LEASES);
        if about_the_lease && (request.method == Method::PUT || request.method == Method::POST) {
            self.wind_the_clock(&mut request);
        }
        futures::executor::block_on(tokio::task::coop::unconstrained(self.api().handle(request)))
    }

    /// Renewals differ only by their time.
    fn wind_the_clock(&self, request: &mut ApiRequest) {
        let mut lease: Value = serde_json::from_slice(&request.body).unwrap();
        if lease["metadata"]["name"] != "skein-coordinator" {
            return;
        }
        let now = turmoil::sim_elapsed().unwrap_or_default();
        let (hours, minutes, seconds) = (now.as_secs() / 3600, now.as_secs() / 60 % 60, now.as_secs() % 60);
        lease["spec"]["renewTime"] = json!(format!(
            "2026-01-01T{hours:02}:{minutes:02}:{seconds:02}.{:06}Z",
            now.subsec_micros()
        ));
        request.body = lease.to_string().into();
    }

    fn note_the_leader(&self, lease: &[u8]) {
        let lease: Value = serde_json::from_slice(lease).unwrap();
        if lease["metadata"]["name"] == "skein-coordinator" {
            let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
            *self.leader.lock().unwrap() = holder.strip_prefix("coordinator-").and_then(|n| n.parse().ok());
        }
    }

    fn dice<T>(&self, throw: impl FnOnce(&mut StdRng) -> T) -> T {
        throw(&mut self.rng.lock().unwrap())
    }

    pub fn client(self: &Arc<Self>, caller: usize) -> kube::Client {
        let line = Line {
            cluster: Arc::clone(self),
            caller,
        };
        kube::Client::new(line, "default")
    }
}

/// `folder` need not exist. Background tasks never run: no Swarm is deleted here, and Events may grow old.
fn store(runtime: &Runtime, folder: &Path) -> Arc<Api> {
    let mut options = Options::new(folder, crds::yaml::documents().unwrap());
    // Its thread would look for old history all the time, since the clock that it waits by does not advance here.
    options.history.age = YEARS;
    Arc::new(runtime.block_on(Api::open(options)).unwrap())
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[derive(Clone)]
struct Line {
    cluster: Arc<Cluster>,
    caller: usize,
}

type Bodied = UnsyncBoxBody<Bytes, io::Error>;
type Answered = Result<Response<Bodied>, io::Error>;

impl Line {
    async fn travel(&self) -> io::Result<Way> {
        let ms = self.cluster.dice(|rng| {
            if rng.random_bool(0.03) {
                rng.random_range(100..2000)
            } else {
                rng.random_range(1..15)
            }
        });
        sleep(Duration::from_millis(ms)).await;
        loop {
            let way = self.cluster.callers.lock().unwrap()[self.caller].way;
            match way {
                Way::Open | Way::Strained => return Ok(way),
                Way::Refused => return Err(io::ErrorKind::ConnectionRefused.into()),
                Way::Silent => sleep(Duration::from_millis(500)).await,
            }
        }
    }

    async fn ask(self, request: Request<kube::client::Body>) -> Answered {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.map_err(io::Error::other)?;
        let strained = self.travel().await? == Way::Strained;
        if strained && self.cluster.dice(|rng| rng.random_bool(0.3)) {
            let code: u16 = if self.cluster.dice(|rng| rng.random_bool(0.5)) {
                429
            } else {
                500
            };
            return Ok(refusal(code));
        }
        let header = |name| {
            parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_owned()
        };
        let query = parts.uri.query().unwrap_or_default();
        let (written, about) = (parts.method != Method::GET, parts.uri.path().to_owned());
        if written && let Some(writes) = self.cluster.writes.lock().unwrap().as_mut() {
            writes.push(Write {
                path: about.clone(),
                body: String::from_utf8_lossy(&body).into_owned(),
            });
        }
        let sent = body.clone();
        let answer = self.cluster.answer(ApiRequest {
            method: parts.method,
            path: about.clone(),
            query: form_urlencoded(query),
            accept: header("accept"),
            content_type: header("content-type"),
            user_agent: header("user-agent"),
            body,
        });
        let response = Response::builder()
            .status(answer.code)
            .header("content-type", answer.content_type);
        match answer.body {
            Body::Whole(bytes) => {
                if written && answer.code.is_success() && (about.ends_with(LEASE) || about.ends_with(LEASES)) {
                    self.cluster.note_the_leader(&bytes);
                }
                if written && answer.code.is_success() && about.ends_with("/status") {
                    self.cluster.check_status(&about, &sent, &bytes);
                }
                let lost = strained && self.cluster.dice(|rng| rng.random_bool(0.1));
                self.travel().await?;
                if lost {
                    return Err(io::ErrorKind::ConnectionReset.into());
                }
                let bytes = self.cluster.as_read(self.caller, &about, bytes);
                Ok(response.body(whole(bytes)).unwrap())
            }
            Body::Stream(frames) => {
                let broken = self.cluster.callers.lock().unwrap()[self.caller].watches.clone();
                let (cluster, caller) = (Arc::clone(&self.cluster), self.caller);
                let frames = ReceiverStream::new(frames).then(move |bytes| {
                    let (cluster, about) = (Arc::clone(&cluster), about.clone());
                    async move {
                        while cluster.is_late(caller) {
                            sleep(LATE).await;
                        }
                        Ok(Frame::data(cluster.as_read(caller, &about, bytes)))
                    }
                });
                let frames = frames.take_until(broken.cancelled_owned());
                Ok(response.body(StreamBody::new(frames).boxed_unsync()).unwrap())
            }
        }
    }
}

fn raised(bytes: &Bytes, raises: f64) -> Bytes {
    let lines = bytes.split(|byte| *byte == b'\n').map(|line| {
        let Ok(mut value) = serde_json::from_slice::<Value>(line) else {
            return line.to_vec();
        };
        raise(&mut value, raises);
        value.to_string().into_bytes()
    });
    lines.collect::<Vec<_>>().join(&b'\n').into()
}

fn raise(value: &mut Value, raises: f64) {
    if let Some(object) = value.get_mut("object") {
        raise(object, raises);
    }
    for item in value
        .get_mut("items")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        raise(item, raises);
    }
    let is_mission = value.get("spec").is_some_and(|spec| spec.get("parallelism").is_some());
    if is_mission {
        let step = value["spec"]["altitudeStepMeters"].as_f64().unwrap_or_default();
        value["spec"]["altitudeStepMeters"] = json!((step + raises).min(100.0));
    }
}

fn whole(bytes: Bytes) -> Bodied {
    Full::new(bytes)
        .map_err(|never: Infallible| match never {})
        .boxed_unsync()
}

fn refusal(code: u16) -> Response<Bodied> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
        "reason": if code == 429 { "TooManyRequests" } else { "InternalError" }, "message": "strained"});
    let response = Response::builder()
        .status(code)
        .header("content-type", "application/json");
    response.body(whole(status.to_string().into())).unwrap()
}

fn form_urlencoded(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let decode = |text: &str| {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'+' => b' ',
                b'%' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                byte => byte,
            });
        }
        String::from_utf8(bytes).unwrap()
    };
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

impl tower::Service<Request<kube::client::Body>> for Line {
    type Response = Response<Bodied>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Answered> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        Box::pin(self.clone().ask(request))
    }
}
