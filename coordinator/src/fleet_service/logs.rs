//! Logs of one vehicle, for people, by way of the vehicle's agent.

use super::FleetService;
use crate::cluster::key::Key;
use crate::controllers::facts::DroneSnapshot;
use crate::controllers::facts::serving_node;
use crate::fleet_service::{FleetHandles, drone_key};
use crate::server::auth::Right;
use crate::sessions::log_calls::{ANSWER_WITHIN, LogCall};
use model::ids::NodeName;
use proto::v1;
use proto::v1::logs_request::Whose;
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use tonic::{Request, Status};

/// Each answer may be some hundred KiB.
const CONCURRENT_QUESTIONS: usize = 64;

/// A question waits this long behind others to the same agent.
const QUESTION_TIMEOUT: Duration = ANSWER_WITHIN.saturating_mul(2);

#[derive(Debug)]
pub struct LogAskers(Semaphore);

impl Default for LogAskers {
    fn default() -> Self {
        Self(Semaphore::new(CONCURRENT_QUESTIONS))
    }
}

enum Vehicle {
    OfDrone(Key),
    OfNode(NodeName),
}

pub(super) async fn ask(service: &FleetService, request: Request<v1::LogsRequest>) -> Result<v1::LogAnswer, Status> {
    let handles = service.gate.handles()?;
    let vehicle = match &request.get_ref().whose {
        Some(Whose::Drone(drone)) => Vehicle::OfDrone(drone_key(&drone.namespace, &drone.name)?),
        Some(Whose::Node(node)) => {
            let node = NodeName::parse(&node.name).map_err(|bad| Status::invalid_argument(bad.to_string()))?;
            Vehicle::OfNode(node)
        }
        None => return Err(Status::invalid_argument("name a Drone or a node")),
    };
    let right = match &vehicle {
        Vehicle::OfDrone(drone) => Right::to_read_logs(drone),
        Vehicle::OfNode(_) => Right::to_read_all_logs(),
    };
    service.allow(&request, &right).await?;
    let question = request.into_inner().question;
    let question = question.ok_or_else(|| Status::invalid_argument("ask something about logs"))?;
    let node = match vehicle {
        Vehicle::OfNode(node) => node,
        Vehicle::OfDrone(drone) => node_of(&handles, &drone)?,
    };
    let Ok(_place) = handles.log_askers.0.try_acquire() else {
        return Err(Status::resource_exhausted(
            "too many people read logs at once; try again in some seconds",
        ));
    };
    let (answer, answered) = oneshot::channel();
    if !handles
        .observer
        .sessions
        .ask_about_logs(&node, LogCall { question, answer })
    {
        // An agent may outlive its Node object, and its logs can be read then.
        return Err(if handles.observer.world().knows_node(&node) {
            Status::unavailable(format!(
                "the agent on node {node} is not connected, or others read its logs; try again in some seconds"
            ))
        } else {
            Status::not_found(format!("there is no drone node {node}; see `kubectl get vehicles`"))
        });
    }
    match timeout(QUESTION_TIMEOUT, answered).await {
        Ok(Ok(answer)) => Ok(v1::LogAnswer {
            node: node.to_string(),
            ..answer
        }),
        Ok(Err(_)) | Err(_) => Err(Status::unavailable(format!(
            "the agent on node {node} did not answer; is it older than the coordinator? See `skein status`"
        ))),
    }
}

/// Who may read the logs of a Drone may not read those of a vehicle that it merely names.
pub(super) fn node_of(handles: &FleetHandles, key: &Key) -> Result<NodeName, Status> {
    let drone = handles.observer.world().get_drone(key);
    let drone =
        drone.ok_or_else(|| Status::not_found(format!("there is no Drone {key}; see `kubectl get drones -A`")))?;
    let snapshot = DroneSnapshot::of(&handles.observer, drone);
    if let Some(node) = serving_node(&handles.observer, &snapshot) {
        return Ok(node.clone());
    }
    Err(Status::failed_precondition(match &snapshot.node {
        None => format!("Drone {key} has no vehicle; name one with --vehicle NODE (`kubectl get vehicles`)"),
        Some(node) => format!(
            "the vehicle of node {node} does not serve Drone {key}; wait until it does (`kubectl get drones -A`), or ask for the logs \
             of that vehicle with --vehicle {node}, which needs `get` on vehicles/log"
        ),
    }))
}
