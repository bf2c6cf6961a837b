//! The uplink service: one stream per agent, as `proto/fleet.proto` has it.
//!
//! Owns: the life of a stream: Hello, reports in, orders out, silence, replacement, the end of its credentials. An agent speaks
//! for the node of its credentials and no other. Must not: decide what is ordered.

mod pace;

use crate::cluster::node_objects::NodeObjects;
use crate::cluster::world::World;
use crate::leadership::leading::Leadership;
use crate::leadership::state::AFTER_DOUBT;
use crate::metrics::Metrics;
use crate::server::ServiceGate;
use crate::server::admission::Ticket;
use crate::server::admission::buckets::Buckets;
use crate::server::auth::{Auth, Over, Who};
use crate::sessions::{KillShot, NotOpened, Opened, Sessions};
use crate::spans;
use fleet::planning::drone::order::taken;
use model::assignment::Order;
use model::ids::{NodeName, Term};
use model::kill::{KillAnswer, KillOrder};
use model::report::Report;
use pace::Pace;
use proto::v1;
use proto::v1::from_agent::Message;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};
use tracing::Instrument;

/// Agents report at least once a second; one that is silent for this long is gone.
pub const AGENT_SILENCE_LIMIT: Duration = Duration::from_secs(5);

/// Orders on their way to one agent. Each is a whole picture, so more would only be old ones.
const MAX_QUEUED_ORDERS: usize = 2;

/// Least time between two sendings of an order that the reports do not show as taken.
const MIN_RESEND_INTERVAL: Duration = Duration::from_secs(1);

/// Streams of one node at once, and one more after each [`REOPEN_INTERVAL`].
const REOPEN_BURST: u32 = 20;
const REOPEN_INTERVAL: Duration = Duration::from_millis(500);

/// Characters logged of an agent's version, which may be any text.
const MAX_VERSION_CHARS: usize = 64;

#[derive(Clone, Debug)]
pub struct UplinkHandles {
    pub sessions: Arc<Sessions>,
    pub leadership: Leadership,
    pub world: Arc<World>,
    pub node_objects: NodeObjects,
    pub metrics: Metrics,
}

#[derive(Clone, Debug)]
pub struct Uplink {
    gate: ServiceGate<UplinkHandles>,
    auth: Auth,
    openings: Arc<Buckets<NodeName>>,
}

impl Uplink {
    /// `auth` says when a session is over.
    pub fn new(gate: ServiceGate<UplinkHandles>, auth: Auth) -> Self {
        let openings = Arc::new(Buckets::new(REOPEN_BURST, REOPEN_INTERVAL));
        Self { gate, auth, openings }
    }
}

#[derive(Debug)]
struct Call {
    /// When the agent asked for the stream.
    came: Instant,
    who: Who,
    peer: Option<SocketAddr>,
    auth: Auth,
    openings: Arc<Buckets<NodeName>>,
}

#[tonic::async_trait]
impl v1::uplink_server::Uplink for Uplink {
    type SessionStream = ReceiverStream<Result<v1::ToAgent, Status>>;

    async fn session(
        &self,
        request: Request<Streaming<v1::FromAgent>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let handles = self.gate.handles()?;
        let (sender, receiver) = mpsc::channel(MAX_QUEUED_ORDERS);
        let extensions = request.extensions();
        let call = Call {
            came: Instant::now(),
            // A caller that was not authenticated is refused.
            who: extensions.get::<Who>().cloned().ok_or_else(Who::missing)?,
            peer: extensions.get::<Ticket>().map(Ticket::remote),
            auth: self.auth.clone(),
            openings: Arc::clone(&self.openings),
        };
        let inbound = request.into_inner();
        // The task ends with its stream, at silence, or with the coordinator; the server waits for it before it ends.
        self.gate.track(async move {
            if let Err(status) = serve(&handles, &call, inbound, &sender).await {
                tracing::debug!(peer = ?call.peer, %status, "session ends");
                // The agent may be gone already; nobody else waits for this.
                let _ = timeout(AGENT_SILENCE_LIMIT, sender.send(Err(status))).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}

type Sender = mpsc::Sender<Result<v1::ToAgent, Status>>;

async fn serve(
    handles: &UplinkHandles,
    call: &Call,
    mut inbound: Streaming<v1::FromAgent>,
    sender: &Sender,
) -> Result<(), Status> {
    let hello = match next(&mut inbound, Instant::now() + AGENT_SILENCE_LIMIT).await? {
        Some(Message::Hello(hello)) => hello,
        Some(Message::Report(_) | Message::KillAnswer(_) | Message::LogAnswer(_)) => {
            return Err(Status::invalid_argument("the first message must be Hello"));
        }
        None => return Ok(()),
    };
    let node = NodeName::parse(&hello.node).map_err(|error| Status::invalid_argument(error.to_string()))?;
    let span = spans::agent(&node);
    hold(handles, call, node, hello, inbound, sender).instrument(span).await
}

/// One session, from the agent's Hello to its end.
async fn hold(
    handles: &UplinkHandles,
    call: &Call,
    node: NodeName,
    hello: v1::Hello,
    mut inbound: Streaming<v1::FromAgent>,
    sender: &Sender,
) -> Result<(), Status> {
    own_node(call, &node)?;
    if !call.openings.take(node.clone(), Instant::now()) {
        return Err(Status::resource_exhausted(
            "this agent reconnects too often; try again in some seconds",
        ));
    }
    believable("highest_term", Term(hello.highest_term))?;
    handles
        .leadership
        .deposition
        .note_reported_term(&node, Term(hello.highest_term));
    if handles.leadership.term < Term(hello.highest_term) {
        return Err(Status::unavailable(
            "the agent has received a higher term than this coordinator leads; reconnect",
        ));
    }
    let opened = handles.sessions.open_since(&node, hello.life, call.came);
    let opened = opened.map_err(|error| {
        tracing::warn!(%error, "agent refused");
        match error {
            NotOpened::TooMany => Status::resource_exhausted(error.to_string()),
            NotOpened::Taken => Status::already_exists(error.to_string()),
        }
    })?;
    let version: String = hello.agent_version.chars().take(MAX_VERSION_CHARS).collect();
    tracing::info!(version, "agent connected");
    handles.node_objects.agent_changed(&node);
    if !has_object(handles, &node) {
        tracing::warn!("{}", no_such_node(&node));
    }
    let (epoch, replaced) = (opened.epoch, opened.replaced.clone());
    let over = async {
        let over = call.auth.is_over(&call.who, rand::random()).await;
        // While nobody can be asked, showing them would only lock the agent out, and then its vehicle would land.
        while over == Over::Aged && !handles.leadership.state.leads() {
            tokio::time::sleep(AFTER_DOUBT).await;
        }
        over
    };
    let result = tokio::select! {
        result = converse(handles, &node, opened, &mut inbound, sender) => result,
        over = over => {
            let status = closing_status(over);
            if over == Over::Aged {
                // The agent comes back at once, and until then it counts as connected: nothing has happened.
                let _ = timeout(AGENT_SILENCE_LIMIT, sender.send(Err(status.clone()))).await;
                let _ = timeout(AGENT_SILENCE_LIMIT, replaced.cancelled()).await;
            }
            Err(status)
        }
    };
    handles.sessions.close(&node, epoch);
    handles.node_objects.agent_changed(&node);
    let why = result
        .as_ref()
        .err()
        .map_or("the agent closed the stream", Status::message);
    tracing::info!(why, "agent disconnected");
    result
}

/// An agent speaks for the node of its credentials only.
fn own_node(call: &Call, node: &NodeName) -> Result<(), Status> {
    let own = match &call.who {
        Who::Unauthenticated => return Ok(()),
        Who::Agent { node: own, .. } if own == node => return Ok(()),
        Who::Agent { node: own, .. } => own.to_string(),
        Who::Operator { .. } | Who::User(_) => call.who.name(),
    };
    let why =
        format!("the credentials are those of node {own}, and the agent says that it is {node}; set NODE to {own}");
    if let Some(peer) = call.peer {
        call.auth.refusals().refusal(peer, "agent refused", &why);
    }
    Err(Status::permission_denied(why))
}

fn closing_status(over: Over) -> Status {
    match over {
        Over::Aged => Status::unavailable("credentials have to be shown again; reconnect"),
        Over::Revoked => Status::unauthenticated("the certificate was revoked; make a new one with `skein enroll`"),
    }
}

async fn converse(
    handles: &UplinkHandles,
    node: &NodeName,
    mut session: Opened,
    inbound: &mut Streaming<v1::FromAgent>,
    sender: &Sender,
) -> Result<(), Status> {
    let mut sent: Option<(Order, Instant)> = None;
    let mut killing: Option<(u64, oneshot::Sender<KillAnswer>)> = None;
    let mut heard_autopilot: Option<bool> = None;
    let mut heard = Instant::now();
    let mut pace = Pace::new(heard);
    loop {
        tokio::select! {
            () = handles.leadership.ending.cancelled() => {
                return Err(Status::unavailable("the coordinator is ending; reconnect"));
            }
            () = session.replaced.cancelled() => {
                return Err(Status::aborted("a newer session of this node has taken over"));
            }
            changed = session.orders.changed() => {
                if changed.is_err() {
                    return Err(Status::aborted("a newer session of this node has taken over"));
                }
                let order = session.orders.borrow_and_update().clone();
                if let Some(order) = order {
                    send(handles, node, sender, &order).await?;
                    handles.metrics.order(false);
                    sent = Some((order, Instant::now()));
                }
            }
            changed = session.rules.changed() => {
                if changed.is_err() {
                    return Err(Status::aborted("a newer session of this node has taken over"));
                }
                let rules = session.rules.borrow_and_update().clone();
                if let Some(rules) = rules {
                    let message = v1::ToAgent {
                        rules: Some((&rules).into()),
                        ..v1::ToAgent::default()
                    };
                    deliver(sender, message).await?;
                }
            }
            changed = session.plans.changed() => {
                if changed.is_err() {
                    return Err(Status::aborted("a newer session of this node has taken over"));
                }
                let plan = session.plans.borrow_and_update().clone();
                if let Some(plan) = plan {
                    let message = v1::ToAgent {
                        plan: Some((&plan).into()),
                        ..v1::ToAgent::default()
                    };
                    deliver(sender, message).await?;
                }
            }
            changed = session.stand_ups.changed() => {
                if changed.is_err() {
                    return Err(Status::aborted("a newer session of this node has taken over"));
                }
                let order = *session.stand_ups.borrow_and_update();
                if let Some(order) = order {
                    let message = v1::ToAgent {
                        stand_up: Some(order.into()),
                        ..v1::ToAgent::default()
                    };
                    deliver(sender, message).await?;
                }
            }
            changed = session.remote_id.changed() => {
                if changed.is_err() {
                    return Err(Status::aborted("a newer session of this node has taken over"));
                }
                let order = session.remote_id.borrow_and_update().clone();
                if let Some(order) = order {
                    let message = v1::ToAgent {
                        remote_id: Some((&order).into()),
                        ..v1::ToAgent::default()
                    };
                    deliver(sender, message).await?;
                }
            }
            shot = session.kills.recv() => {
                let shot = shot.ok_or_else(|| Status::aborted("a newer session of this node has taken over"))?;
                killing = send_kill(handles, node, sender, shot).await?;
            }
            call = session.guests.recv() => {
                let call = call.ok_or_else(|| Status::aborted("a newer session of this node has taken over"))?;
                let message = v1::ToAgent {
                    guest_call: Some((&call).into()),
                    ..v1::ToAgent::default()
                };
                // A guest does not wait behind orders; it asks again.
                let _ = sender.try_send(Ok(message));
            }
            question = session.logs.next() => {
                let message = v1::ToAgent {
                    log_question: Some(question),
                    ..v1::ToAgent::default()
                };
                deliver(sender, message).await?;
            }
            message = paced(pace, inbound, heard + AGENT_SILENCE_LIMIT) => {
                heard = Instant::now();
                pace.took_one(heard);
                let report = match message? {
                    Some(Message::Report(report)) => report,
                    Some(Message::KillAnswer(answer)) => {
                        if let Some((_, waiting)) = killing.take_if(|(nonce, _)| *nonce == answer.nonce) {
                            // The caller may have gone.
                            let _ = waiting.send(answer.into());
                        }
                        continue;
                    }
                    Some(Message::LogAnswer(answer)) => {
                        session.logs.answered(answer, heard);
                        continue;
                    }
                    Some(Message::Hello(_)) => return Err(Status::invalid_argument("Hello comes only once")),
                    None => return Ok(()),
                };
                let report = proto::convert::report(node.clone(), report)
                    .map_err(|error| Status::invalid_argument(error.to_string()))?;
                if let Some(held) = &report.held {
                    believable("held.term", held.term)?;
                }
                believable("route.last_term", report.route.last.term)?;
                let (held, latch, link_alive) = (report.held.clone(), report.ground_latch, report.link_alive);
                let route = report.route.clone();
                handles.sessions.report(node, session.epoch, report);
                if heard_autopilot.replace(link_alive) != Some(link_alive) {
                    handles.node_objects.agent_changed(node);
                }
                if let Some((order, at)) = &mut sent
                    && at.elapsed() >= MIN_RESEND_INTERVAL
                    && !taken(order, held.as_ref(), latch, &route)
                {
                    send(handles, node, sender, order).await?;
                    handles.metrics.order(true);
                    *at = Instant::now();
                }
            }
        }
    }
}

/// A term that no coordinator can have is not believed: one damaged agent must not depose the leader.
fn believable(field: &str, term: Term) -> Result<(), Status> {
    if term.can_be() {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "{field} is beyond any that a coordinator can have; remove the agent's state folder if its file is damaged"
    )))
}

/// Whether there is a drone node of that name, or there will be in a moment.
fn has_object(handles: &UplinkHandles, node: &NodeName) -> bool {
    handles.node_objects.are_managed() || handles.world.knows_node(node)
}

/// For the person who reads the agent's log: its NODE is wrong, or its node not made ready yet.
fn no_such_node(node: &NodeName) -> String {
    format!(
        "there is no drone node {node}, so its vehicle will not be used: check NODE, or run \
         `kubectl label node {node} {}=`",
        crds::labels::DRONE_NODE
    )
}

/// The next message, when it may be read. Safe to cancel, as [`next`] is.
async fn paced(pace: Pace, inbound: &mut Streaming<v1::FromAgent>, until: Instant) -> Result<Option<Message>, Status> {
    sleep_until(pace.next()).await;
    next(inbound, until).await
}

/// The next message; `None` at the end of the stream. Safe to cancel: a message is either returned whole or still there.
async fn next(inbound: &mut Streaming<v1::FromAgent>, until: Instant) -> Result<Option<Message>, Status> {
    match timeout_at(until, inbound.message()).await {
        Err(_) => Err(Status::deadline_exceeded(format!(
            "no message for {} s",
            AGENT_SILENCE_LIMIT.as_secs()
        ))),
        Ok(Err(status)) => Err(status),
        Ok(Ok(None)) => Ok(None),
        Ok(Ok(Some(v1::FromAgent { message: Some(message) }))) => Ok(Some(message)),
        Ok(Ok(Some(v1::FromAgent { message: None }))) => Err(Status::invalid_argument("a message is empty")),
    }
}

/// Sends an order to stop the motors, once, unless its time is over; returns what to do with the agent's answer.
async fn send_kill(
    handles: &UplinkHandles,
    node: &NodeName,
    sender: &Sender,
    shot: KillShot,
) -> Result<Option<(u64, oneshot::Sender<KillAnswer>)>, Status> {
    let order = handles
        .sessions
        .current(node)
        .map(|report| kill_order(handles.leadership.term, &shot, &report));
    let Some(order) = order.filter(|_| Instant::now() <= shot.until) else {
        return Ok(None);
    };
    let message = v1::ToAgent {
        kill: Some((&order).into()),
        ..v1::ToAgent::default()
    };
    // An order that waits for longer than it lives is not sent.
    match timeout_at(shot.until, sender.reserve()).await {
        Ok(Ok(place)) => place.send(Ok(message)),
        Ok(Err(_)) => return Err(Status::cancelled("the agent is gone")),
        Err(_) => return Ok(None),
    }
    Ok(Some((shot.nonce, shot.answer)))
}

fn kill_order(term: Term, shot: &KillShot, report: &Report) -> KillOrder {
    KillOrder {
        nonce: shot.nonce,
        uid: shot.uid.clone(),
        term,
        last_report: report.made,
    }
}

async fn send(handles: &UplinkHandles, node: &NodeName, sender: &Sender, order: &Order) -> Result<(), Status> {
    let notice = match order {
        Order::Unassigned { .. } if !has_object(handles, node) => no_such_node(node),
        Order::Unassigned { .. } | Order::Assigned(_) => String::new(),
    };
    let message = v1::ToAgent {
        notice,
        ..v1::ToAgent::from(order)
    };
    deliver(sender, message).await
}

async fn deliver(sender: &Sender, message: v1::ToAgent) -> Result<(), Status> {
    match timeout(AGENT_SILENCE_LIMIT, sender.send(Ok(message))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Status::cancelled("the agent is gone")),
        Err(_) => Err(Status::deadline_exceeded("the agent does not read its orders")),
    }
}
