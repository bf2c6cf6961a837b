//! The fleet service for people's tools, as `proto/fleet.proto` has it.
//!
//! Each call is for those who may ([`crate::server::auth::right`]). Reads are from memory, and of a Drone they show the vehicle that serves
//! it ([`serving_node`]). Must not: hold rules of its own.

pub mod kill;
mod logs;
mod orders;
mod resume;
mod shared_lists;

use crate::cluster::key::Key;
use crate::cluster::selection::Selection;
use crate::cluster::world::owner;
use crate::controllers::drone::binding::{candidate, flies_elsewhere};
use crate::controllers::drone::heights::Heights;
use crate::controllers::facts::{DroneSnapshot, Observer, serving_node};
use crate::metrics::Metrics;
use crate::server::ServiceGate;
use crate::server::admission::Ticket;
use crate::server::auth::{Auth, Refusal, Right, StreamRight, Who};
use crate::sessions;
use crate::spans;
use crds::Drone;
use fleet::planning::binding::{Why, free};
use fleet::planning::drone::Claimed;
use fleet::planning::drone::status::{Binding, Kind, Question, status};
use kill::{KillError, Kills};
pub use logs::LogAskers;
use model::ids::NodeName;
use model::report::Report;
use model::vehicle::{FlightTruth, WhyUnknown};
use proto::v1;
use resume::{ResumeError, StandUpError};
pub use shared_lists::SharedLists;
use shared_lists::Watched;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use tracing::Instrument;

/// Between two messages.
const DEFAULT_WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// A watcher that does not read for this long is dropped.
const WATCHER_READ_TIMEOUT: Duration = Duration::from_secs(30);

const RIGHTS_RECHECK_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct FleetHandles {
    pub observer: Observer,
    /// Vehicles on their way to another altitude.
    pub heights: Arc<Heights>,
    /// Unused codes to stop motors.
    pub kills: Kills,
    pub log_askers: LogAskers,
    pub shared_lists: SharedLists,
    pub metrics: Metrics,
}

#[derive(Clone, Debug)]
pub struct FleetService {
    gate: ServiceGate<FleetHandles>,
    auth: Auth,
}

impl FleetService {
    pub const fn new(gate: ServiceGate<FleetHandles>, auth: Auth) -> Self {
        Self { gate, auth }
    }

    /// Whether the caller has the right; orders are logged with the caller.
    async fn allow<T>(&self, request: &Request<T>, right: &Right) -> Result<(), Status> {
        self.allow_any(request, std::slice::from_ref(right)).await
    }

    /// Whether the caller has any of these rights; a refusal names the first.
    async fn allow_any<T>(&self, request: &Request<T>, rights: &[Right]) -> Result<(), Status> {
        let who = who(request)?;
        let mut refused: Option<Refusal> = None;
        for right in rights {
            match self.auth.may(&who, right).await {
                Ok(()) => {
                    if right.changes() {
                        tracing::info!(by = who.name(), what = %right, "order taken");
                    }
                    return Ok(());
                }
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        Err(self.refuse(request, refused.unwrap_or(Refusal::NoCredentials)))
    }

    /// `Resume` of a node's vehicle that stands down.
    async fn stand_up(
        &self,
        handles: &FleetHandles,
        request: &Request<v1::ResumeRequest>,
    ) -> Result<Response<v1::ResumeResponse>, Status> {
        let node = NodeName::parse(&request.get_ref().node);
        let node = node.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let flew_for = resume::stand_down(handles, &node).map(|down| Key::new(&down.name.namespace, &down.name.name));
        self.allow(request, &Right::to_stand_up(flew_for.as_ref())).await?;
        let stood_up = resume::stand_up(handles, &node).instrument(spans::agent(&node)).await;
        let down = stood_up.map_err(|error| {
            let text = error.to_string();
            match error {
                StandUpError::NotConnected(_) | StandUpError::NotConfirmed(_) => Status::unavailable(text),
                StandUpError::NoStandDown(_) | StandUpError::ServesItsDrone { .. } => Status::failed_precondition(text),
            }
        })?;
        Ok(Response::new(v1::ResumeResponse {
            takeovers: 0,
            vehicle: None,
            stood_down: Some((&down).into()),
        }))
    }

    /// The answer to a refused call, which is logged.
    fn refuse<T>(&self, request: &Request<T>, refusal: Refusal) -> Status {
        if let Some(ticket) = request.extensions().get::<Ticket>() {
            self.auth.refusals().refusal(ticket.remote(), "call refused", &refusal);
        }
        refusal.into()
    }
}

fn who<T>(request: &Request<T>) -> Result<Who, Status> {
    request.extensions().get::<Who>().cloned().ok_or_else(Who::missing)
}

#[tonic::async_trait]
impl v1::fleet_server::Fleet for FleetService {
    type WatchStream = ReceiverStream<Result<v1::ListResponse, Status>>;

    async fn list(&self, request: Request<v1::ListRequest>) -> Result<Response<v1::ListResponse>, Status> {
        let handles = self.gate.handles()?;
        let asked = request.get_ref();
        self.allow(&request, &Right::to_see(&asked.namespace)).await?;
        let selection = to_read(&asked.namespace, &asked.selector)?;
        Ok(Response::new(list(&handles, &selection, asked.airspace)))
    }

    async fn get(&self, request: Request<v1::GetRequest>) -> Result<Response<v1::Vehicle>, Status> {
        let handles = self.gate.handles()?;
        let asked = request.get_ref();
        let key = Key::new(&asked.namespace, &asked.name);
        self.allow(&request, &Right::to_see_one(&key)).await?;
        let drone = handles.observer.world().get_drone(&key);
        let drone =
            drone.ok_or_else(|| Status::not_found(format!("there is no Drone {key}; see `kubectl get drones -A`")))?;
        Ok(Response::new(vehicle(&handles, drone)))
    }

    async fn watch(&self, request: Request<v1::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let handles = self.gate.handles()?;
        let right = Right::to_see(&request.get_ref().namespace);
        self.allow(&request, &right).await?;
        let watcher = StreamRight {
            who: who(&request)?,
            right,
            auth: self.auth.clone(),
            ticket: request.extensions().get::<Ticket>().cloned(),
            recheck: RIGHTS_RECHECK_INTERVAL,
        };
        let asked = request.into_inner();
        let selection = to_read(&asked.namespace, &asked.selector)?;
        let interval = match asked.interval_ms {
            0 => DEFAULT_WATCH_INTERVAL,
            ms @ 100..=60_000 => Duration::from_millis(ms.into()),
            ms => {
                return Err(Status::invalid_argument(format!(
                    "interval_ms is {ms}; it must be from 100 to 60000, or 0"
                )));
            }
        };
        let watched = Watched {
            namespace: asked.namespace,
            selector: asked.selector,
            airspace: asked.airspace,
        };
        let (sender, receiver) = mpsc::channel(1);
        let who = watcher.who.clone();
        self.gate
            .track_watcher(&who, watch(handles, watcher, (selection, watched), interval, sender))?;
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn ground(&self, request: Request<v1::GroundRequest>) -> Result<Response<v1::GroundResponse>, Status> {
        orders::carry_out(self, orders::Verb::Ground, &request).await
    }

    async fn release(&self, request: Request<v1::GroundRequest>) -> Result<Response<v1::GroundResponse>, Status> {
        orders::carry_out(self, orders::Verb::Release, &request).await
    }

    async fn resume(&self, request: Request<v1::ResumeRequest>) -> Result<Response<v1::ResumeResponse>, Status> {
        let handles = self.gate.handles()?;
        if !request.get_ref().node.is_empty() {
            return self.stand_up(&handles, &request).await;
        }
        let key = drone_key(&request.get_ref().namespace, &request.get_ref().name)?;
        self.allow(&request, &Right::to_resume(&key)).await?;
        let span = spans::drone_of(handles.observer.world(), &key);
        let resumed = resume::resume(&handles, &key).instrument(span).await;
        let (takeovers, drone) = resumed.map_err(|error| {
            let text = error.to_string();
            match error {
                ResumeError::NoSuchDrone(_) => Status::not_found(text),
                ResumeError::NeverTakenOver(_) | ResumeError::AlreadyOrdered { .. } => {
                    Status::failed_precondition(text)
                }
                ResumeError::NotWritten(_) => Status::unavailable(text),
            }
        })?;
        let vehicle = Some(vehicle(&handles, drone));
        Ok(Response::new(v1::ResumeResponse {
            takeovers,
            vehicle,
            stood_down: None,
        }))
    }

    async fn kill(&self, request: Request<v1::KillRequest>) -> Result<Response<v1::KillResponse>, Status> {
        let handles = self.gate.handles()?;
        let key = drone_key(&request.get_ref().namespace, &request.get_ref().name)?;
        let drone = handles.observer.world().get_drone(&key);
        let swarm = drone
            .as_ref()
            .and_then(|drone| owner(drone))
            .map(|(_, name)| Key::new(&key.namespace, name));
        let rights = std::iter::once(Right::to_kill(&key)).chain(swarm.as_ref().map(Right::to_kill_of));
        self.allow_any(&request, &Vec::from_iter(rights)).await?;
        let asked = request.into_inner();
        if asked.code.is_empty() {
            let (code, drone) = kill::offer(&handles, &key).map_err(|error| no_kill(&error))?;
            let lives_ms = u32::try_from(kill::CODE_LIFE.as_millis()).unwrap_or(u32::MAX);
            let offer = v1::KillOffer { code, lives_ms };
            return Ok(Response::new(v1::KillResponse {
                vehicle: Some(vehicle(&handles, drone)),
                step: Some(v1::kill_response::Step::Offer(offer)),
            }));
        }
        // On a task of its own: the outcome is sent to others too, even if the caller hangs up.
        let (shared, target) = (Arc::clone(&handles), key.clone());
        let span = spans::drone_of(handles.observer.world(), &key);
        let order = async move { kill::carry_out(&shared, &target, &asked.code).await };
        let order = tokio::spawn(order.instrument(span));
        let result = order
            .await
            .map_err(|_| Status::internal("the order was cut off; check the vehicle"))?;
        let (answer, drone) = result.map_err(|error| no_kill(&error))?;
        Ok(Response::new(v1::KillResponse {
            vehicle: Some(vehicle(&handles, drone)),
            step: Some(v1::kill_response::Step::Answer((&answer).into())),
        }))
    }

    async fn logs(&self, request: Request<v1::LogsRequest>) -> Result<Response<v1::LogAnswer>, Status> {
        logs::ask(self, request).await.map(Response::new)
    }
}

fn drone_key(namespace: &str, name: &str) -> Result<Key, Status> {
    if namespace.is_empty() || name.is_empty() {
        return Err(Status::invalid_argument("name a Drone with its namespace"));
    }
    Ok(Key::new(namespace, name))
}

fn no_kill(error: &KillError) -> Status {
    let text = error.to_string();
    match error {
        KillError::NoSuchDrone(_) => Status::not_found(text),
        KillError::NoVehicle(_) | KillError::AgentSilent(_) | KillError::OtherDrone { .. } | KillError::BadCode => {
            Status::failed_precondition(text)
        }
        KillError::Gone(_) => Status::unavailable(text),
    }
}

async fn watch(
    handles: Arc<FleetHandles>,
    watcher: StreamRight,
    (selection, watched): (Selection, Watched),
    interval: Duration,
    sender: mpsc::Sender<Result<v1::ListResponse, Status>>,
) {
    let shared = handles.shared_lists.join(&watched);
    let (mut due, mut sent) = (Instant::now(), None::<u64>);
    let mut over = std::pin::pin!(watcher.is_over());
    loop {
        tokio::select! {
            status = over.as_mut() => {
                // The caller may be gone already.
                let _ = sender.try_send(Err(status));
                return;
            }
            () = handles.observer.leadership.ending.cancelled() => {
                // The caller may be gone already.
                let _ = sender.try_send(Err(Status::unavailable("the coordinator is ending; reconnect")));
                return;
            }
            () = sender.closed() => return,
            () = tokio::time::sleep_until(due) => {}
        }
        let news = shared.news(sent, || list(&handles, &selection, watched.airspace)).await;
        if let Some((digest, list)) = news {
            sent = Some(digest);
            if !matches!(
                tokio::time::timeout(WATCHER_READ_TIMEOUT, sender.send(Ok(list))).await,
                Ok(Ok(()))
            ) {
                return;
            }
        }
        due = handles.shared_lists.next(due, interval, Instant::now());
    }
}

fn to_read(namespace: &str, selector: &str) -> Result<Selection, Status> {
    Selection::to_read(namespace, selector).map_err(|error| Status::invalid_argument(error.to_string()))
}

fn list(handles: &FleetHandles, selection: &Selection, airspace: bool) -> v1::ListResponse {
    let chosen = |drone: &Arc<Drone>| {
        if selection.is_everything() {
            return true;
        }
        let swarm = handles.observer.world().swarm_of(drone);
        selection.has_drone(drone, swarm.as_deref())
    };
    let owned = |node: &NodeName| -> Option<v1::Airspace> {
        let owned = airspace.then(|| handles.observer.airspace.owned(node)).flatten();
        owned.as_ref().map(Into::into)
    };
    let (mut vehicles, mut serving) = (Vec::new(), HashSet::<NodeName>::new());
    let drones = handles.observer.world().all_drones(selection.namespace());
    for drone in drones.into_iter().filter(chosen) {
        let (vehicle, node) = vehicle_of(handles, DroneSnapshot::of(&handles.observer, drone));
        vehicles.push(v1::Vehicle {
            airspace: node.as_ref().and_then(owned),
            ..vehicle
        });
        serving.extend(node);
    }
    if selection.is_everything() {
        let mut idle = handles.observer.sessions.connected();
        idle.retain(|(node, _)| !serving.contains(node));
        idle.sort_by(|a, b| a.0.cmp(&b.0));
        vehicles.extend(idle.into_iter().map(|(node, snapshot)| v1::Vehicle {
            node: node.to_string(),
            phase: "Idle".into(),
            message: idle_because(handles, &node, &snapshot).into(),
            airspace: owned(&node),
            ..vehicle_report(&snapshot)
        }));
    }
    v1::ListResponse { vehicles }
}

/// The message about a node whose agent is connected and which serves no Drone.
fn idle_because(handles: &FleetHandles, node: &NodeName, snapshot: &sessions::SessionSnapshot) -> Cow<'static, str> {
    let report = snapshot.report.as_ref().map(|(report, _)| report.as_ref());
    if let Some(unheard) = unheard(report) {
        return unheard;
    }
    let Some(facts) = handles.observer.world().node_facts(node) else {
        return "no node of this name carries the label node-role.kubernetes.io/drone, so no Drone can be bound to it"
            .into();
    };
    let elsewhere = flies_elsewhere(&handles.observer, node, report);
    let free = free(&candidate(&handles.observer, &facts, false, elsewhere, report));
    free.map_or_else(Why::sentence, |_| "no Drone is bound to this node")
        .into()
}

/// The link that is not heard, with why it is not open or what is heard on it instead.
fn unheard(report: Option<&Report>) -> Option<Cow<'static, str>> {
    let Some(report) = report else {
        return Some(Why::AgentSilent.sentence().into());
    };
    let sentence = match report.truth {
        _ if report.link_alive => return None,
        FlightTruth::Unknown(WhyUnknown::NeverHeard) => {
            "no autopilot has been heard yet, so no Drone can be bound to this node; check cable, port, baud rate and power"
        }
        _ => Why::AutopilotSilent.sentence(),
    };
    Some(match &report.link_fault {
        Some(fault) => format!("{sentence}; on its link: {fault}").into(),
        None => sentence.into(),
    })
}

fn vehicle_report(snapshot: &sessions::SessionSnapshot) -> v1::Vehicle {
    v1::Vehicle {
        agent_connected: snapshot.connected,
        report: snapshot
            .report
            .as_ref()
            .map(|(report, _)| v1::Report::from(report.as_ref())),
        report_age_ms: snapshot
            .report
            .as_ref()
            .map_or(0, |(_, age)| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
        ..v1::Vehicle::default()
    }
}

fn vehicle(handles: &FleetHandles, drone: Arc<Drone>) -> v1::Vehicle {
    vehicle_of(handles, DroneSnapshot::of(&handles.observer, drone)).0
}

/// A Drone with the report of the vehicle that serves it, and the node of that vehicle.
fn vehicle_of(handles: &FleetHandles, snapshot: DroneSnapshot) -> (v1::Vehicle, Option<NodeName>) {
    let swarm = owner(&snapshot.drone)
        .map(|(_, name)| name.to_owned())
        .unwrap_or_default();
    let (phase, message) = phase_and_message(handles, &snapshot);
    let serving = serving_node(&handles.observer, &snapshot).cloned();
    let vehicle = serving
        .as_ref()
        .map(|node| vehicle_report(&handles.observer.sessions.snapshot(node)))
        .unwrap_or_default();
    // A Drone that was served once keeps its node: one without a node is shown as not flying, which is not known of it.
    let bound = serving.is_some() || snapshot.was_served();
    let node = snapshot.node.as_ref().filter(|_| bound);
    let vehicle = v1::Vehicle {
        node: node.map(ToString::to_string).unwrap_or_default(),
        drone_namespace: snapshot.key.namespace,
        drone_name: snapshot.key.name,
        swarm,
        phase,
        message,
        ..vehicle
    };
    (vehicle, serving)
}

/// Of a bound Drone as of now, of another from its status.
fn phase_and_message(handles: &FleetHandles, snapshot: &DroneSnapshot) -> (String, String) {
    match &snapshot.node {
        Some(node) if snapshot.facts.claim == Claimed::Ours => {
            let binding = Binding::Bound(node.clone());
            let question = Question {
                drone: &snapshot.facts,
                binding: &binding,
                report: snapshot.report.as_deref(),
                no_release: None,
                height: handles
                    .heights
                    .observe(snapshot, handles.observer.leadership.state.now()),
            };
            let now = status(&question);
            let ready = now.conditions.iter().find(|c| c.kind == Kind::Ready);
            (
                now.phase.text().to_owned(),
                ready.map(|c| c.message.clone()).unwrap_or_default(),
            )
        }
        _ => {
            let status = snapshot.drone.status.clone().unwrap_or_default();
            let ready = status.conditions.into_iter().find(|c| c.type_ == "Ready");
            (
                status.phase.unwrap_or_else(|| "Pending".into()),
                ready.map(|c| c.message).unwrap_or_default(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::world::Change;
    use crate::controllers::facts::tests::{bound, holding, observer};
    use crate::server::auth::tests::scripted::Scripted;
    use crds::DroneSpec;
    use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
    use model::vehicle::Position;

    fn bravo() -> NodeName {
        NodeName::parse("bravo").unwrap()
    }

    /// Drone north/x names node `bravo`, whose agent is connected.
    fn one_that_names_bravo() -> FleetHandles {
        let observer = observer(Scripted::new().client());
        let mut drone = Drone::new("x", DroneSpec::default());
        drone.spec.node_name = Some("bravo".to_owned());
        drone.metadata.namespace = Some("north".to_owned());
        drone.metadata.uid = Some("uid-x".to_owned());
        observer.world().drone(Change::Is(Arc::new(drone)));
        FleetHandles {
            observer,
            heights: Arc::default(),
            kills: Kills::default(),
            log_askers: LogAskers::default(),
            shared_lists: SharedLists::default(),
            metrics: Metrics::default(),
        }
    }

    /// The agent of node `bravo` connects, and holds the Drone with this uid.
    fn bravo_serves(handles: &FleetHandles, uid: Option<&str>) {
        let held = uid.map(holding);
        let position = Position {
            at: Wgs84 {
                latitude_deg: 47.4,
                longitude_deg: 8.5,
            },
            amsl: AltitudeAmsl(500.0),
            above_home: AltitudeAboveHome(0.0),
        };
        let report = Report {
            link_alive: true,
            truth: FlightTruth::Disarmed,
            position: Some(position),
            held,
            ..Report::of_nothing(bravo())
        };
        let sessions = &handles.observer.sessions;
        let opened = sessions.open(&bravo(), 1).unwrap();
        sessions.report(&bravo(), opened.epoch, report);
    }

    fn shown(handles: &FleetHandles, key: &Key) -> v1::Vehicle {
        vehicle(handles, handles.observer.world().get_drone(key).unwrap())
    }

    /// The list of everything: Drone, node, and whether there is a report.
    fn listed(handles: &FleetHandles) -> Vec<(String, String, bool)> {
        let all = list(handles, &Selection::to_read("", "").unwrap(), true).vehicles;
        let row = |one: v1::Vehicle| (one.drone_name, one.node, one.report.is_some());
        all.into_iter().map(row).collect()
    }

    #[tokio::test]
    async fn a_drone_that_merely_names_a_node_shows_no_vehicle_and_reads_no_logs_there() {
        let handles = one_that_names_bravo();
        bound(&handles.observer, "bravo", |drone| {
            drone.metadata.namespace = Some("south".to_owned());
        });
        bravo_serves(&handles, Some("uid-bravo"));
        let (own, other) = (Key::new("south", "bravo"), Key::new("north", "x"));
        assert!(shown(&handles, &own).report.is_some());
        assert_eq!(logs::node_of(&handles, &own).unwrap(), bravo());
        let seen = shown(&handles, &other);
        assert_eq!(
            (seen.report, seen.agent_connected, seen.node.as_str()),
            (None, false, "")
        );
        let refused = logs::node_of(&handles, &other).unwrap_err();
        assert_eq!(refused.code(), tonic::Code::FailedPrecondition);
        assert!(refused.message().contains("does not serve Drone north/x"), "{refused}");
        let row = |drone: &str, node: &str, report| (drone.to_owned(), node.to_owned(), report);
        assert_eq!(listed(&handles), [row("x", "", false), row("bravo", "bravo", true)]);
    }

    #[tokio::test]
    async fn a_vehicle_that_a_drone_merely_names_is_listed_as_one_without_a_drone() {
        let handles = one_that_names_bravo();
        bravo_serves(&handles, None);
        let row = |drone: &str, node: &str, report| (drone.to_owned(), node.to_owned(), report);
        assert_eq!(listed(&handles), [row("x", "", false), row("", "bravo", true)]);
    }

    #[tokio::test]
    async fn a_drone_is_shown_with_its_vehicle_by_its_claim_and_while_the_agent_holds_it() {
        // The claim went to another, and the agent does not know yet.
        let handles = one_that_names_bravo();
        bound(&handles.observer, "bravo", |_| {});
        bravo_serves(&handles, Some("uid-x"));
        let key = Key::new("north", "x");
        let seen = shown(&handles, &key);
        assert_eq!((seen.report.is_some(), seen.node.as_str()), (true, "bravo"));
        assert_eq!(logs::node_of(&handles, &key).unwrap(), bravo());
        let handles = one_that_names_bravo();
        bound(&handles.observer, "bravo", |_| {});
        bravo_serves(&handles, None);
        let seen = shown(&handles, &Key::new("north", "bravo"));
        assert_eq!((seen.report.is_some(), seen.node.as_str()), (true, "bravo"));
    }

    #[test]
    fn a_node_whose_autopilot_is_not_heard_is_not_merely_without_a_drone() {
        let silent = Report::of_nothing(NodeName::parse("n").unwrap());
        let message = |report: Option<Report>| unheard(report.as_ref()).unwrap_or_default();
        assert!(message(None).contains("not reported yet"));
        assert!(message(Some(silent.clone())).starts_with("no autopilot has been heard yet"));
        let without_frame = Report {
            link_fault: Some("system 1 component 1 says no type of vehicle".into()),
            ..silent.clone()
        };
        assert!(message(Some(without_frame)).ends_with("; on its link: system 1 component 1 says no type of vehicle"));
        let lost = Report {
            truth: FlightTruth::Unknown(WhyUnknown::LinkLost),
            ..silent.clone()
        };
        assert!(message(Some(lost)).starts_with("the agent receives nothing from its autopilot any more"));
        let heard = Report {
            link_alive: true,
            truth: FlightTruth::Disarmed,
            ..silent
        };
        assert_eq!(message(Some(heard)), "");
    }
}
