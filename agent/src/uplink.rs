//! The uplink: one long-lived gRPC stream to the coordinator, opened again for ever.

use crate::coordinator::Coordinator;
use crate::credentials::Reader;
use crate::dial::{self, root_cause};
use crate::logs::LogDesk;
use model::assignment::Order;
use model::backoff::Backoff;
use model::guest::GuestCall;
use model::ids::{NodeName, Term};
use model::kill::{KillAnswer, KillOrder};
use model::plan::FlightPlan;
use model::remote_id::RemoteIdOrder;
use model::report::Report;
use model::rules::Rules;
use model::stand_down::StandUp;
use proto::convert::BadMessage;
use proto::v1;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, error, info, warn};

const OPEN_WITHIN: Duration = Duration::from_secs(10);
const SEND_WITHIN: Duration = Duration::from_secs(5);
const FAREWELL_WITHIN: Duration = Duration::from_secs(2);
const RETRY: Backoff = Backoff {
    first: Duration::from_millis(200),
    cap: Duration::from_secs(5),
};
/// A stream that lived this long resets the back-off.
const STEADY: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq)]
pub enum FromUplink {
    Opened,
    Closed,
    Order(Box<Order>),
    Rules(Rules),
    Plan(FlightPlan),
    RemoteId(RemoteIdOrder),
    StandUp(StandUp),
    /// An order to stop the motors came on the open stream, just then.
    Kill(KillOrder, Instant),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outward {
    pub report: Option<Report>,
    pub highest_term: Term,
    /// Sent once.
    pub kill_answer: Option<KillAnswer>,
}

#[derive(Clone, Debug)]
pub struct Uplink {
    pub coordinator: Coordinator,
    pub node: NodeName,
    /// Random number of this life of the agent.
    pub life: u64,
    pub outward: watch::Receiver<Outward>,
    pub pilot: mpsc::Sender<FromUplink>,
    /// A guest that is not taken at once is let go.
    pub guests: mpsc::Sender<GuestCall>,
    pub logs: LogDesk,
    /// Cancelled when the last report is in `outward` and should be sent before the end.
    pub farewell: CancellationToken,
}

enum End {
    Lost(String),
    Farewell,
}

/// Lives `life` again and again until it ends in order, should it die of a fault: the vehicle must neither be left
/// without its coordinator nor believe that it still has one.
async fn again<L>(mut life: impl FnMut() -> L, pilot: mpsc::Sender<FromUplink>)
where
    L: Future<Output = ()> + Send + 'static,
{
    let mut failures = 0_u32;
    let mut task = JoinSet::new();
    loop {
        task.spawn(life().in_current_span());
        match task.join_next().await {
            None | Some(Ok(())) => return,
            Some(Err(fault)) => {
                error!(%fault, "the uplink has died, which is a fault of the agent; it is started again");
            }
        }
        if pilot.send(FromUplink::Closed).await.is_err() {
            return;
        }
        failures = failures.saturating_add(1);
        sleep(RETRY.delay(failures, rand::random())).await;
    }
}

impl Uplink {
    /// Like [`Self::run`], but it survives faults of its own.
    pub async fn keep(self) {
        let pilot = self.pilot.clone();
        again(|| self.clone().run(), pilot).await;
    }

    /// Keeps the stream open until the farewell, or until the pilot is gone.
    pub async fn run(mut self) {
        let mut failures = 0_u32;
        let mut logged = String::new();
        let mut reader = Reader::default();
        loop {
            let began = Instant::now();
            let mut opened = false;
            let end = self.session(&mut reader, &mut opened).await;
            if opened && self.pilot.send(FromUplink::Closed).await.is_err() {
                return;
            }
            let why = match end {
                End::Farewell => return,
                End::Lost(why) => why,
            };
            if opened && began.elapsed() >= STEADY {
                failures = 0;
            }
            if opened {
                logged.clear();
            }
            if why == logged {
                debug!(coordinator = %self.coordinator, why, "coordinator still not reached");
            } else {
                warn!(coordinator = %self.coordinator, why, "no coordinator, retrying for ever");
                logged = why;
            }
            failures = failures.saturating_add(1);
            tokio::select! {
                () = sleep(RETRY.delay(failures, rand::random())) => {}
                () = self.farewell.cancelled() => return,
                () = self.pilot.closed() => return,
            }
        }
    }

    async fn session(&mut self, reader: &mut Reader, opened: &mut bool) -> End {
        let (channel, bearer) = tokio::select! {
            dialled = dial::open(&self.coordinator, reader) => match dialled {
                Ok(dialled) => dialled,
                Err(cannot) => return End::Lost(cannot.to_string()),
            },
            () = self.farewell.cancelled() => return End::Farewell,
        };
        let (tx, rx) = mpsc::channel(8);
        let highest_term = self.outward.borrow().highest_term.0;
        let hello = v1::Hello {
            node: self.node.to_string(),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            highest_term,
            life: self.life,
        };
        if tx.try_send(from_agent(v1::from_agent::Message::Hello(hello))).is_err() {
            return End::Lost("the stream is full before it began".to_owned());
        }
        let mut client = v1::uplink_client::UplinkClient::with_interceptor(channel, bearer);
        let open = timeout(OPEN_WITHIN, client.session(ReceiverStream::new(rx)));
        let mut inbound = tokio::select! {
            response = open => match response {
                Ok(Ok(response)) => response.into_inner(),
                Ok(Err(status)) => return End::Lost(message_of(&status)),
                Err(_) => return End::Lost("the coordinator does not open the stream".to_owned()),
            },
            () = self.farewell.cancelled() => return End::Farewell,
        };
        *opened = true;
        info!(coordinator = %self.coordinator, "coordinator connected");
        if self.pilot.send(FromUplink::Opened).await.is_err() {
            return End::Farewell;
        }
        // What came of a kill order is reported on the stream on which it came.
        let mut answered = self.outward.borrow().kill_answer.as_ref().map(|a| a.nonce);
        self.outward.mark_changed();
        let mut noticed = String::new();
        let mut log_answer = None;
        loop {
            tokio::select! {
                message = inbound.message() => match message {
                    Ok(Some(mut message)) => {
                        if let Some(question) = message.log_question.take() {
                            log_answer = self.logs.ask(question);
                            continue;
                        }
                        if message.notice != noticed {
                            noticed.clone_from(&message.notice);
                            if !noticed.is_empty() {
                                warn!(notice = noticed, "notice from the coordinator");
                            }
                        }
                        match read(message) {
                            Ok(Received::Guest(call)) => {
                                if self.guests.try_send(call).is_err() {
                                    warn!("a ground station through the coordinator is not let in: too many come at once");
                                }
                            }
                            Ok(Received::Word(word)) => {
                                if self.pilot.send(word).await.is_err() {
                                    return End::Farewell;
                                }
                            }
                            Err(bad) => warn!(%bad, "order refused: it makes no sense"),
                        }
                    }
                    Ok(None) => return End::Lost("the coordinator closed the stream".to_owned()),
                    Err(status) => return End::Lost(message_of(&status)),
                },
                changed = self.outward.changed() => {
                    if changed.is_err() {
                        return End::Farewell;
                    }
                    if !self.report(&tx, &mut answered).await {
                        return End::Lost("the coordinator does not take reports".to_owned());
                    }
                }
                answer = answered_about_logs(&mut log_answer) => {
                    // Behind reports, and left out where those wait; the coordinator asks again.
                    let _ = tx.try_send(from_agent(v1::from_agent::Message::LogAnswer(answer)));
                }
                () = self.farewell.cancelled() => {
                    self.report(&tx, &mut answered).await;
                    drop(tx);
                    // Once the other end has closed too, it has read everything.
                    let _ = timeout(FAREWELL_WITHIN, async { while let Ok(Some(_)) = inbound.message().await {} }).await;
                    return End::Farewell;
                }
            }
        }
    }

    /// Returns whether they could be sent.
    async fn report(&mut self, tx: &mpsc::Sender<v1::FromAgent>, answered: &mut Option<u64>) -> bool {
        let (report, answer) = {
            let outward = self.outward.borrow_and_update();
            let new = outward.kill_answer.as_ref().filter(|a| Some(a.nonce) != *answered);
            (outward.report.as_ref().map(v1::Report::from), new.cloned())
        };
        if let Some(answer) = answer {
            let message = from_agent(v1::from_agent::Message::KillAnswer((&answer).into()));
            if !matches!(timeout(SEND_WITHIN, tx.send(message)).await, Ok(Ok(()))) {
                return false;
            }
            *answered = Some(answer.nonce);
        }
        match report {
            None => true,
            Some(report) => {
                let message = from_agent(v1::from_agent::Message::Report(report));
                matches!(timeout(SEND_WITHIN, tx.send(message)).await, Ok(Ok(())))
            }
        }
    }
}

/// Waits for an answer about logs, for ever if none is owed. Safe to cancel.
async fn answered_about_logs(owed: &mut Option<oneshot::Receiver<v1::LogAnswer>>) -> v1::LogAnswer {
    loop {
        let Some(pending) = owed.as_mut() else {
            return std::future::pending().await;
        };
        let answer = pending.await;
        *owed = None;
        if let Ok(answer) = answer {
            return answer;
        }
    }
}

enum Received {
    Word(FromUplink),
    /// The pilot need not know of it.
    Guest(GuestCall),
}

fn read(mut message: v1::ToAgent) -> Result<Received, BadMessage> {
    if let Some(kill) = message.kill.take() {
        return Ok(Received::Word(FromUplink::Kill(kill.try_into()?, Instant::now())));
    }
    if let Some(order) = message.stand_up.take() {
        return Ok(Received::Word(FromUplink::StandUp(order.into())));
    }
    if let Some(call) = message.guest_call.take() {
        return Ok(Received::Guest(call.try_into()?));
    }
    let word = match (message.rules.take(), message.plan.take(), message.remote_id.take()) {
        (Some(rules), ..) => FromUplink::Rules(rules.try_into()?),
        (None, Some(plan), _) => FromUplink::Plan(plan.try_into()?),
        (None, None, Some(order)) => FromUplink::RemoteId(order.try_into()?),
        (None, None, None) => FromUplink::Order(Box::new(message.try_into()?)),
    };
    Ok(Received::Word(word))
}

const fn from_agent(message: v1::from_agent::Message) -> v1::FromAgent {
    v1::FromAgent { message: Some(message) }
}

fn message_of(status: &tonic::Status) -> String {
    if let Some(source) = std::error::Error::source(status) {
        return match root_cause(source) {
            // A certificate is refused only once the handshake is over for us (RFC 8446, 4.4.2.4).
            why if why.contains("received fatal alert") => dial::refused(&why),
            why => format!("the connection broke ({why})"),
        };
    }
    match status.message() {
        "" => format!("{:?}", status.code()),
        message => format!("{:?}: {message}", status.code()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_uplink_that_dies_of_a_fault_is_told_to_be_closed_and_started_again() {
        let (tx, mut heard) = mpsc::channel(4);
        let told = tx.clone();
        let mut lives = 0;
        again(
            || {
                lives += 1;
                let (life, tx) = (lives, tx.clone());
                async move {
                    tx.send(FromUplink::Opened).await.unwrap();
                    assert!(life > 1, "a fault");
                }
            },
            told,
        )
        .await;
        drop(tx);
        let mut received = Vec::new();
        while let Some(event) = heard.recv().await {
            received.push(event);
        }
        assert_eq!(received, [FromUplink::Opened, FromUplink::Closed, FromUplink::Opened]);
    }
}
