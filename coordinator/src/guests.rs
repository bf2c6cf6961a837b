//! Ground stations of people at vehicles: `skein connect`, as `proto/fleet.proto` has it (service `Guests`).
//!
//! Owns: who may reach which vehicle and how far ([`Guests`]), bringing a person's stream and an agent's together ([`waiting`]), and what goes
//! between them (`relay`, [`lane`]). Must not: read a frame, or use the agent's session but for one short message: orders and reports never
//! wait for guests.
//!
//! ```text
//! skein connect ──── Join ────► here ── ToAgent.guest_call (the session) ──► agent
//!                              here ◄── Answer (a connection of its own) ── agent
//! ```

pub mod lane;
mod relay;
pub mod waiting;

use crate::cluster::events::Note;
use crate::cluster::key::Key;
use crate::controllers::facts::{DroneSnapshot, Observer};
use crate::metrics::Metrics;
use crate::server::ServiceGate;
use crate::server::admission::Ticket;
use crate::server::admission::buckets::Buckets;
use crate::server::auth::{Auth, Refusal, Right, StreamRight, Who};
use crate::server::places::{Places, Words};
use crate::spans;
use crds::drone::Control;
use model::guest::{GuestAccess, GuestCall};
use model::ids::NodeName;
use proto::v1;
use proto::v1::connect_request::Message as FromPerson;
use relay::Relay;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};
use tracing::Instrument;
use waiting::{AgentEnd, Waiting};

/// Ground stations at a time.
const MAX_GUESTS: usize = 1024;
const MAX_GUESTS_PER_PERSON: usize = 512;
const WORDS: Words = Words {
    full: "too many ground stations are connected through this coordinator; end another `skein connect`, or try again later",
    own: "is connected to vehicles",
    end: "`skein connect`",
};

/// Calls of one agent at once, and one more after each [`AGENT_CALL_INTERVAL`]: each costs it a connection.
const AGENT_CALL_BURST: u32 = 16;
const AGENT_CALL_INTERVAL: Duration = Duration::from_millis(500);

/// From a caller, or an agent.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// An agent dials, shakes hands and answers within this; a radio may take a second for each way.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// After this a person's rights are checked again, by answers no older. One whose right ends is cut off within twice this.
const RIGHTS_RECHECK_INTERVAL: Duration = Duration::from_secs(4);

#[derive(Debug)]
pub struct GuestHandles {
    pub observer: Observer,
    pub waiting: Waiting,
    pub metrics: Metrics,
}

#[derive(Clone, Debug)]
pub struct Guests {
    gate: ServiceGate<GuestHandles>,
    auth: Auth,
    places: Places,
    calls: Arc<Buckets<NodeName>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Unreachable {
    #[error("there is no Drone {0}; see `kubectl get drones -A`")]
    NoSuchDrone(Key),
    #[error("no program may fly Drone {0}; set its spec.control to External, and see docs/how-to/fly-with-own-code.md")]
    NotLent(Key),
    #[error("Drone {0} has no vehicle yet; see `kubectl get drones -A`")]
    NoVehicle(Key),
    #[error("the agent on node {0} is not connected, so its vehicle cannot be reached from here; try again")]
    AgentSilent(NodeName),
    #[error("the vehicle of node {node} does not serve Drone {drone}; try again")]
    OtherDrone { node: NodeName, drone: Key },
    #[error("the agent on node {0} has received nothing from its autopilot yet; try again")]
    NoAutopilot(NodeName),
}

impl From<Unreachable> for Status {
    fn from(why: Unreachable) -> Self {
        let text = why.to_string();
        match why {
            Unreachable::NoSuchDrone(_) => Self::not_found(text),
            Unreachable::NotLent(_)
            | Unreachable::NoVehicle(_)
            | Unreachable::AgentSilent(_)
            | Unreachable::OtherDrone { .. }
            | Unreachable::NoAutopilot(_) => Self::failed_precondition(text),
        }
    }
}

impl Guests {
    pub fn new(gate: ServiceGate<GuestHandles>, auth: Auth) -> Self {
        Self {
            gate,
            auth,
            places: Places::new(MAX_GUESTS, MAX_GUESTS_PER_PERSON, WORDS),
            calls: Arc::new(Buckets::new(AGENT_CALL_BURST, AGENT_CALL_INTERVAL)),
        }
    }

    /// The access of `who` to the vehicle of `drone`. Rights for the whole namespace are asked first: one answer does for all its Drones.
    async fn access(&self, who: &Who, drone: &Key, wants: GuestAccess) -> Result<(GuestAccess, Right), Refusal> {
        let acting: Vec<_> = match wants {
            GuestAccess::Control => Right::to_control(drone).map(|right| (wants, right)).into(),
            GuestAccess::Command => Right::to_connect(drone).map(|right| (wants, right)).into(),
            GuestAccess::Watch | GuestAccess::Ask => Vec::new(),
        };
        let watching =
            [Right::to_see(&drone.namespace), Right::to_see_one(drone)].map(|right| (GuestAccess::Watch, right));
        let mut refused = None;
        // A program that may not fly is refused, and not given a view instead.
        let watching = watching.into_iter().filter(|_| wants != GuestAccess::Control);
        for (access, right) in acting.into_iter().chain(watching) {
            match self.auth.may(who, &right).await {
                Ok(()) => return Ok((access, right)),
                Err(refusal @ Refusal::Forbidden { .. }) => refused = refused.or(Some(refusal)),
                Err(refusal) => return Err(refusal),
            }
        }
        Err(refused.unwrap_or(Refusal::NoCredentials))
    }
}

#[tonic::async_trait]
impl v1::guests_server::Guests for Guests {
    type JoinStream = ReceiverStream<Result<v1::ConnectResponse, Status>>;
    type AnswerStream = ReceiverStream<Result<v1::GuestFrames, Status>>;

    async fn join(
        &self,
        request: Request<Streaming<v1::ConnectRequest>>,
    ) -> Result<Response<Self::JoinStream>, Status> {
        let handles = self.gate.handles()?;
        let who = request.extensions().get::<Who>().cloned().ok_or_else(Who::missing)?;
        let ticket = request.extensions().get::<Ticket>().cloned();
        let mut inbound = request.into_inner();
        let open = match timeout(FIRST_MESSAGE_TIMEOUT, inbound.message()).await {
            Ok(Ok(Some(v1::ConnectRequest {
                message: Some(FromPerson::Open(open)),
            }))) => open,
            Ok(Err(status)) => return Err(status),
            _ => return Err(Status::invalid_argument("the first message must be ConnectOpen")),
        };
        if open.namespace.is_empty() || open.name.is_empty() {
            return Err(Status::invalid_argument("name a Drone with its namespace"));
        }
        let drone = Key::new(&open.namespace, &open.name);
        let wants = match (open.watch_only, open.control) {
            (true, _) => GuestAccess::Watch,
            (false, true) => GuestAccess::Control,
            (false, false) => GuestAccess::Command,
        };
        let (access, right) = self.access(&who, &drone, wants).await.map_err(|refusal| {
            handles.metrics.guest_call("refused");
            if let Some(ticket) = &ticket {
                self.auth.refusals().refusal(ticket.remote(), "call refused", &refusal);
            }
            Status::from(refusal)
        })?;
        if access == GuestAccess::Control
            && let Some(object) = handles.observer.world().get_drone(&drone)
            && object.spec.control != Control::External
        {
            return Err(Unreachable::NotLent(drone).into());
        }
        let place = self.places.take(&who)?;
        let stream_right = StreamRight {
            who,
            right,
            auth: self.auth.clone(),
            ticket,
            recheck: RIGHTS_RECHECK_INTERVAL,
        };
        let span = spans::drone_of(handles.observer.world(), &drone);
        let brought = self
            .bring_together(&handles, &drone, &stream_right.who, access)
            .instrument(span.clone())
            .await;
        let (node, system, end) = brought.inspect_err(|_| handles.metrics.guest_call("failed"))?;
        // An agent decides whom it lets in, but may not give a person more than we do.
        let access = access.min(end.access);
        let connected = v1::Connected {
            access: v1::GuestAccess::from(access).into(),
            system_id: system.into(),
            node: node.to_string(),
        };
        let (sender, receiver) = mpsc::channel(2);
        let first = v1::connect_response::Message::Connected(connected);
        // There is room: nothing was sent before.
        let _ = sender.try_send(Ok(v1::ConnectResponse { message: Some(first) }));
        let relay = Relay {
            handles,
            drone,
            node,
            stream_right,
            access,
        };
        self.gate.track(
            async move {
                let _place = place;
                relay.run(end, inbound, sender).await;
            }
            .instrument(span),
        );
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn answer(
        &self,
        request: Request<Streaming<v1::FromVehicle>>,
    ) -> Result<Response<Self::AnswerStream>, Status> {
        let handles = self.gate.handles()?;
        let node = match request.extensions().get::<Who>().ok_or_else(Who::missing)? {
            Who::Agent { node, .. } => Some(node.clone()),
            // Links are not secured: any agent may be any.
            Who::Unauthenticated => None,
            Who::Operator { .. } | Who::User(_) => return Err(Status::permission_denied("only an agent answers")),
        };
        let (sender, receiver) = mpsc::channel(2);
        let inbound = request.into_inner();
        self.gate.track(async move {
            if let Err(status) = handles
                .waiting
                .answer(node, inbound, sender.clone(), FIRST_MESSAGE_TIMEOUT)
                .await
            {
                // The agent may be gone already.
                let _ = sender.try_send(Err(status));
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}

impl Guests {
    /// Has the agent of the Drone's vehicle called, and waits for its answer.
    async fn bring_together(
        &self,
        handles: &Arc<GuestHandles>,
        drone: &Key,
        who: &Who,
        access: GuestAccess,
    ) -> Result<(NodeName, u8, AgentEnd), Status> {
        let (node, system) = vehicle(&handles.observer, drone)?;
        if !self.calls.take(node.clone(), Instant::now()) {
            return Err(Status::resource_exhausted(
                "too many ground stations want to reach this vehicle; try again in some seconds",
            ));
        }
        let (id, answered) = handles.waiting.wait_for(&node);
        let call = GuestCall {
            id,
            access,
            person: who.name(),
        };
        if !handles.observer.sessions.announce(&node, call) {
            return Err(Unreachable::AgentSilent(node).into());
        }
        match answered.within(ANSWER_WITHIN).await {
            Some(Ok(end)) => Ok((node, system, end)),
            Some(Err(refused)) => Err(Status::resource_exhausted(refused)),
            None => Err(Status::failed_precondition(format!(
                "the agent on node {node} did not answer within {} s; is it older than this coordinator? Its log may say why",
                ANSWER_WITHIN.as_secs()
            ))),
        }
    }
}

/// The node whose vehicle serves `drone`, by its agent's open session, and the vehicle's system id.
fn vehicle(observer: &Observer, drone: &Key) -> Result<(NodeName, u8), Unreachable> {
    let object = observer.world().get_drone(drone);
    let object = object.ok_or_else(|| Unreachable::NoSuchDrone(drone.clone()))?;
    let snapshot = DroneSnapshot::of(observer, object);
    let node = snapshot
        .node
        .clone()
        .ok_or_else(|| Unreachable::NoVehicle(drone.clone()))?;
    let Some(report) = &snapshot.report else {
        return Err(Unreachable::AgentSilent(node));
    };
    if !snapshot.held_by_agent() {
        let drone = drone.clone();
        return Err(Unreachable::OtherDrone { node, drone });
    }
    match &report.identity {
        Some(identity) => Ok((node, identity.system.0)),
        None => Err(Unreachable::NoAutopilot(node)),
    }
}

/// Records `note` about the Drone, if it still exists.
fn record(observer: &Observer, drone: &Key, note: Note) {
    if let Some(object) = observer.world().get_drone(drone) {
        observer.cluster.events.record(&object, note);
    }
}
