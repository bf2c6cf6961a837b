//! One guest: frames go between a person's stream and an agent's, for as long as the person may and the vehicle is the Drone's.

use super::lane::Lane;
use super::waiting::AgentEnd;
use super::{GuestHandles, RIGHTS_RECHECK_INTERVAL, record, vehicle};
use crate::cluster::events::Note;
use crate::cluster::key::Key;
use crate::server::auth::StreamRight;
use model::guest::GuestAccess;
use model::ids::NodeName;
use proto::v1;
use proto::v1::connect_request::Message as FromPerson;
use proto::v1::from_vehicle::Message as FromVehicle;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tonic::{Status, Streaming};

const MAX_MESSAGE_BYTES: usize = 8192;

/// A person who takes nothing for this long has gone.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes per second: a person is read no faster, here or by the agent, and a vehicle no faster than the fastest line.
const PERSON_BYTES_PER_S: f64 = 262_144.0;
const VEHICLE_BYTES_PER_S: f64 = 1_048_576.0;

pub(super) struct Relay {
    pub(super) handles: Arc<GuestHandles>,
    pub(super) drone: Key,
    pub(super) node: NodeName,
    pub(super) stream_right: StreamRight,
    pub(super) access: GuestAccess,
}

type ToPerson = mpsc::Sender<Result<v1::ConnectResponse, Status>>;

impl Relay {
    pub(super) async fn run(self, agent: AgentEnd, inbound: Streaming<v1::ConnectRequest>, person: ToPerson) {
        let (who, access) = (self.stream_right.who.name(), word(self.access));
        tracing::info!(by = who, access, "a ground station is connected to the vehicle");
        let does = match self.access {
            GuestAccess::Command => "may command the vehicle",
            GuestAccess::Control => "may fly the vehicle by a program, within the volume of spec.external",
            GuestAccess::Ask => "may ask the vehicle",
            GuestAccess::Watch => "only watches",
        };
        let note = Note::normal(
            "GroundStationConnected",
            format!("{who} has connected a ground station, which {does}"),
        );
        record(&self.handles.observer, &self.drone, note);
        let metrics = &self.handles.metrics;
        metrics.guest_call(access);
        let counted = Counted::new(self.handles.as_ref(), access);
        let (down, up) = (Lane::default(), Lane::default());
        let why = tokio::select! {
            status = self.stream_right.is_over() => status,
            status = self.vehicle_changes() => status,
            () = self.handles.observer.leadership.ending.cancelled() => {
                Status::unavailable("the coordinator is ending; reconnect")
            }
            status = self.hear_vehicle(agent.inbound, &down) => status,
            status = self.hear_person(inbound, &up) => status,
            status = self.send_to_person(&down, &person) => status,
            status = self.send_to_vehicle(&up, &agent.outbound) => status,
        };
        drop(counted);
        tracing::info!(
            by = who,
            access,
            why = why.message(),
            lost_for_it = down.lost(),
            lost_for_vehicle = up.lost(),
            "a ground station is disconnected from the vehicle"
        );
        let text = format!("the ground station of {who} is disconnected: {}", why.message());
        record(
            &self.handles.observer,
            &self.drone,
            Note::normal("GroundStationDisconnected", text),
        );
        // The agent gets the reason if there is room; the person's tool needs it to decide whether to come again.
        let _ = agent.outbound.try_send(Err(why.clone()));
        let _ = timeout(RIGHTS_RECHECK_INTERVAL, person.send(Err(why))).await;
    }

    /// Done, with the reason, once the vehicle is no longer the Drone's.
    async fn vehicle_changes(&self) -> Status {
        loop {
            sleep(RIGHTS_RECHECK_INTERVAL).await;
            match vehicle(&self.handles.observer, &self.drone) {
                Ok((node, _)) if node == self.node => {}
                Ok((node, _)) => {
                    return Status::aborted(format!("Drone {} has the vehicle of node {node} now", self.drone));
                }
                Err(why) => return why.into(),
            }
        }
    }

    async fn hear_vehicle(&self, mut inbound: Streaming<v1::FromVehicle>, down: &Lane) -> Status {
        loop {
            match inbound.message().await {
                Ok(Some(v1::FromVehicle {
                    message: Some(FromVehicle::Frames(frames)),
                })) if frames.data.len() <= MAX_MESSAGE_BYTES => {
                    self.take(down, frames, "to_guest", VEHICLE_BYTES_PER_S).await;
                }
                Ok(Some(_)) => return Status::internal("the agent's answer makes no sense; is it of another version?"),
                Ok(None) | Err(_) => {
                    return Status::aborted(format!("the agent on node {} has gone; reconnect", self.node));
                }
            }
        }
    }

    async fn hear_person(&self, mut inbound: Streaming<v1::ConnectRequest>, up: &Lane) -> Status {
        loop {
            match inbound.message().await {
                Ok(Some(v1::ConnectRequest {
                    message: Some(FromPerson::Frames(frames)),
                })) if frames.data.len() <= MAX_MESSAGE_BYTES => {
                    if self.access == GuestAccess::Watch {
                        let refused = u64::from(frames.count.min(1024));
                        self.handles.metrics.guest_frames("to_vehicle", "refused", refused);
                        pause(frames.data.len(), PERSON_BYTES_PER_S).await;
                    } else {
                        self.take(up, frames, "to_vehicle", PERSON_BYTES_PER_S).await;
                    }
                }
                Ok(Some(_)) => {
                    return Status::invalid_argument(format!(
                        "after ConnectOpen come frames, at most {MAX_MESSAGE_BYTES} bytes at once"
                    ));
                }
                Ok(None) | Err(_) => return Status::cancelled("it hung up"),
            }
        }
    }

    async fn take(&self, lane: &Lane, frames: v1::GuestFrames, direction: &'static str, bytes_per_second: f64) {
        let bytes = frames.data.len();
        let lost = lane.push(frames);
        self.handles.metrics.guest_frames(direction, "lost", lost);
        pause(bytes, bytes_per_second).await;
    }

    async fn send_to_person(&self, down: &Lane, person: &ToPerson) -> Status {
        loop {
            let frames = down.next().await;
            let count = u64::from(frames.count);
            let message = v1::connect_response::Message::Frames(frames);
            let message = v1::ConnectResponse { message: Some(message) };
            match timeout(READ_TIMEOUT, person.send(Ok(message))).await {
                Ok(Ok(())) => self.handles.metrics.guest_frames("to_guest", "passed", count),
                Ok(Err(_)) => return Status::cancelled("it hung up"),
                Err(_) => return Status::aborted("it reads nothing of what it is sent; reconnect"),
            }
        }
    }

    async fn send_to_vehicle(&self, up: &Lane, agent: &mpsc::Sender<Result<v1::GuestFrames, Status>>) -> Status {
        loop {
            let frames = up.next().await;
            let count = u64::from(frames.count);
            match timeout(READ_TIMEOUT, agent.send(Ok(frames))).await {
                Ok(Ok(())) => self.handles.metrics.guest_frames("to_vehicle", "passed", count),
                Ok(Err(_)) | Err(_) => return Status::aborted("the agent takes nothing any more; reconnect"),
            }
        }
    }
}

/// The time that `bytes` take at that speed.
async fn pause(bytes: usize, bytes_per_second: f64) {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    sleep(Duration::from_secs_f64(f64::from(bytes) / bytes_per_second)).await;
}

const fn word(access: GuestAccess) -> &'static str {
    match access {
        GuestAccess::Watch => "watch",
        GuestAccess::Ask => "ask",
        GuestAccess::Control => "control",
        GuestAccess::Command => "command",
    }
}

/// A guest, counted for as long as this lives.
struct Counted<'a>(&'a GuestHandles, &'static str);

impl<'a> Counted<'a> {
    fn new(handles: &'a GuestHandles, access: &'static str) -> Self {
        handles.metrics.guests(access, 1);
        Self(handles, access)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.metrics.guests(self.1, -1);
    }
}
