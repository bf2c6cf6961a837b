//! Persons who wait for an agent's answer.

use model::guest::{GuestAccess, GuestCallId};
use model::ids::NodeName;
use proto::convert::read_guest_call_id;
use proto::v1;
use proto::v1::from_vehicle::Message;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tonic::{Status, Streaming};

/// The agent's end of a guest that it has let in.
#[derive(Debug)]
pub struct AgentEnd {
    pub access: GuestAccess,
    pub inbound: Streaming<v1::FromVehicle>,
    pub outbound: mpsc::Sender<Result<v1::GuestFrames, Status>>,
}

/// The error is the reason of a refusal.
type Answer = Result<AgentEnd, String>;

#[derive(Debug)]
struct Call {
    node: NodeName,
    answer: oneshot::Sender<Answer>,
}

type Calls = Arc<Mutex<HashMap<GuestCallId, Call>>>;

#[derive(Debug, Default)]
pub struct Waiting(Calls);

/// A waiting person; dropping it ends the wait.
#[derive(Debug)]
pub struct Answered {
    calls: Calls,
    id: GuestCallId,
    answer: oneshot::Receiver<Answer>,
}

impl Waiting {
    /// The number of a new call to the agent of `node`, and its answer.
    pub fn wait_for(&self, node: &NodeName) -> (GuestCallId, Answered) {
        let id = GuestCallId(rand::random());
        let (sender, answer) = oneshot::channel();
        let call = Call {
            node: node.clone(),
            answer: sender,
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, call);
        let calls = Arc::clone(&self.0);
        (id, Answered { calls, id, answer })
    }

    /// Takes the answer of the agent of `node`; `None`: links are not secured, and it may be any agent. The error is sent to the agent.
    pub async fn answer(
        &self,
        node: Option<NodeName>,
        mut inbound: Streaming<v1::FromVehicle>,
        outbound: mpsc::Sender<Result<v1::GuestFrames, Status>>,
        first_within: Duration,
    ) -> Result<(), Status> {
        let first = timeout(first_within, inbound.message()).await;
        let Ok(Ok(Some(v1::FromVehicle {
            message: Some(Message::Answer(answer)),
        }))) = first
        else {
            return Err(Status::invalid_argument("the first message must be GuestAnswer"));
        };
        let id = read_guest_call_id(&answer.id).map_err(|bad| Status::invalid_argument(bad.to_string()))?;
        let call = self.take(id, node.as_ref()).ok_or_else(no_call)?;
        let answer = match answer.access().allowed() {
            Some(access) => Ok(AgentEnd {
                access,
                inbound,
                outbound,
            }),
            None => Err(answer.refused),
        };
        call.answer.send(answer).map_err(|_| no_call())
    }

    /// The call, if it is one to that agent.
    fn take(&self, id: GuestCallId, node: Option<&NodeName>) -> Option<Call> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let meant = calls
            .get(&id)
            .is_some_and(|call| node.is_none_or(|node| *node == call.node));
        meant.then(|| calls.remove(&id)).flatten()
    }
}

fn no_call() -> Status {
    Status::not_found("no call waits for this answer")
}

impl Answered {
    pub async fn within(mut self, patience: Duration) -> Option<Answer> {
        timeout(patience, &mut self.answer).await.ok()?.ok()
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_agent_that_was_called_answers_once_and_nobody_after_the_caller_has_gone() {
        let node = |name: &str| NodeName::parse(name).unwrap();
        let waiting = Waiting::default();
        let (id, _answered) = waiting.wait_for(&node("a"));
        assert!(waiting.take(id, Some(&node("b"))).is_none(), "another agent");
        assert!(
            waiting.take(GuestCallId(id.0 ^ 1), Some(&node("a"))).is_none(),
            "a guess"
        );
        assert!(waiting.take(id, Some(&node("a"))).is_some());
        assert!(waiting.take(id, Some(&node("a"))).is_none(), "once");
        let (id, answered) = waiting.wait_for(&node("a"));
        drop(answered);
        assert!(waiting.take(id, None).is_none());
        assert!(waiting.0.lock().unwrap().is_empty());
    }
}
