//! The stream of one vehicle, reopened until it is refused for good.

use super::connection_pool::SharedConnection;
use super::port::ToGroup;
use super::port_table::{AssignedPort, PortTable};
use crate::args::{ConnectArgs, ObjectKey};
use crate::failure::Failure;
use crate::server::GuestClient;
use crate::watch::{RETRY, jitter};
use link::framing::Framer;
use link::raw::{Direction, RawFrame};
use link::renumber::Number;
use model::guest::LATE;
use model::units::SystemId;
use proto::v1;
use proto::v1::connect_request::Message as ToCoordinator;
use proto::v1::connect_response::Message as FromCoordinator;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tonic::{Code, Status, Streaming};

/// More than the 15 s for which the coordinator waits for the agent.
const OPEN_TIMEOUT: Duration = Duration::from_secs(25);
const MAX_WAITING_FRAMES: usize = 128;
const MAX_MESSAGE_BYTES: usize = 4096;
/// Duration of a stream.
const BACKOFF_RESET_AFTER: Duration = Duration::from_secs(10);
const LOSSES_SAID_INTERVAL: Duration = Duration::from_secs(10);

pub struct DroneStream {
    pub drone: ObjectKey,
    pub wants: Wants,
    pub connection: Arc<SharedConnection>,
    pub port_table: Arc<PortTable>,
    pub say: mpsc::Sender<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    Watch,
    /// Flight by a program, within the volume that the Drone allows.
    Control,
    Command,
}

impl Wants {
    pub const fn of(args: &ConnectArgs) -> Self {
        match (args.watch_only, args.control) {
            (true, _) => Self::Watch,
            (false, true) => Self::Control,
            (false, false) => Self::Command,
        }
    }
}

pub struct Ended(pub String);

enum Lost {
    ForNow(String),
    /// Reopened at once, with another proof of the person.
    Proof,
    ForGood(String),
}

struct Open {
    assigned: AssignedPort,
    outbound: mpsc::Sender<v1::ConnectRequest>,
    inbound: Streaming<v1::ConnectResponse>,
}

impl DroneStream {
    pub async fn keep(self) -> Ended {
        let (mut failures, mut said) = (0, String::new());
        loop {
            let began = Instant::now();
            let mut opened = false;
            let why = match self.session(&mut opened).await {
                Lost::ForGood(why) => {
                    self.port_table.leave(&self.drone).await;
                    return Ended(why);
                }
                Lost::Proof => continue,
                Lost::ForNow(why) => why,
            };
            self.port_table.leave(&self.drone).await;
            if opened {
                said.clear();
                if began.elapsed() >= BACKOFF_RESET_AFTER {
                    failures = 0;
                }
            }
            if why != said {
                self.say(format!("{why}; trying again")).await;
                said = why;
            }
            failures += 1;
            sleep(RETRY.delay(failures, jitter())).await;
        }
    }

    async fn session(&self, opened: &mut bool) -> Lost {
        let (generation, client) = match self.connection.client().await {
            Ok(client) => client,
            Err(failure @ (Failure::Unreachable { .. } | Failure::Away(_) | Failure::NotReady { .. })) => {
                return Lost::ForNow(failure.to_string());
            }
            Err(failure) => return Lost::ForGood(failure.to_string()),
        };
        let ended = match self.open(client).await {
            Ok(Ok(open)) => {
                *opened = true;
                self.serve(open).await
            }
            Ok(Err(failure)) => return Lost::ForGood(failure.to_string()),
            Err(status) => status,
        };
        if self.connection.ended(generation, &ended).await {
            return Lost::Proof;
        }
        judge(&ended)
    }

    /// The inner error: no port for the vehicle.
    async fn open(&self, mut client: GuestClient) -> Result<Result<Open, Failure>, Status> {
        let (outbound, requests) = mpsc::channel(4);
        let open = v1::ConnectOpen {
            namespace: self.drone.namespace.clone(),
            name: self.drone.name.clone(),
            watch_only: self.wants == Wants::Watch,
            control: self.wants == Wants::Control,
        };
        // Cannot be full: nothing was sent before.
        let _ = outbound.try_send(request(ToCoordinator::Open(open)));
        let requests = futures::stream::unfold(requests, |mut requests| async move {
            requests.recv().await.map(|request| (request, requests))
        });
        let silent = |_| Status::deadline_exceeded("the coordinator does not answer");
        let mut inbound = timeout(OPEN_TIMEOUT, client.join(requests))
            .await
            .map_err(silent)??
            .into_inner();
        let first = timeout(OPEN_TIMEOUT, inbound.message()).await.map_err(silent)??;
        let Some(v1::ConnectResponse {
            message: Some(FromCoordinator::Connected(connected)),
        }) = first
        else {
            return Err(no_sense());
        };
        let own = u8::try_from(connected.system_id)
            .ok()
            .filter(|id| *id > 0)
            .ok_or_else(no_sense)?;
        let assigned = match self.port_table.assign(&self.drone, SystemId(own)).await {
            Ok(assigned) => assigned,
            Err(failure) => return Ok(Err(failure)),
        };
        self.say(summary(&assigned, &connected, self.wants)).await;
        Ok(Ok(Open {
            assigned,
            outbound,
            inbound,
        }))
    }

    async fn serve(&self, open: Open) -> Status {
        let Open {
            assigned,
            outbound,
            mut inbound,
        } = open;
        let (to_vehicle, mut for_vehicle) = mpsc::channel(MAX_WAITING_FRAMES);
        let _ = assigned.group.send(ToGroup::Joined(assigned.vehicle, to_vehicle)).await;
        let mut framer = Framer::new(Direction::Autopilot);
        let mut lost = (0, Instant::now());
        let mut others = BTreeSet::new();
        let (mut dropped, mut late, opened) = (0, 0, Instant::now());
        loop {
            tokio::select! {
                message = inbound.message() => match message {
                    Ok(Some(v1::ConnectResponse { message: Some(FromCoordinator::Frames(frames)) })) => {
                        framer.push(&frames.data);
                        while let Some(frame) = framer.next_after_silence() {
                            let other = frame.system;
                            if other != assigned.vehicle.own && others.insert(other) {
                                self.observe_other(&assigned, other).await;
                            }
                            let frame = ToGroup::Frame(assigned.vehicle.number.system, frame);
                            let _ = assigned.group.send(frame).await;
                        }
                        framer.forget_unfinished();
                        if frames.lost > lost.0 && lost.1.elapsed() >= LOSSES_SAID_INTERVAL {
                            self.say(format!("{} frames of it were lost, as the way is too slow", frames.lost - lost.0)).await;
                            lost = (frames.lost, Instant::now());
                        }
                        if frames.late > late {
                            let seconds = LATE.as_secs();
                            self.say(format!("{} frames for it came more than {seconds} s late and were NOT passed on", frames.late - late)).await;
                            late = frames.late;
                        }
                    }
                    Ok(Some(_)) => return no_sense(),
                    Ok(None) => return Status::aborted("the coordinator closed the stream"),
                    Err(status) => return status,
                },
                frame = for_vehicle.recv() => {
                    // Another stream of the same Drone took its place, which this program never opens.
                    let Some(frame) = frame else { return Status::aborted("the port is closed") };
                    let frames = batch(frame, &mut for_vehicle, dropped, opened.elapsed());
                    let count = u64::from(frames.count);
                    if outbound.try_send(request(ToCoordinator::Frames(frames))).is_err() {
                        dropped += count;
                    }
                }
            }
        }
    }

    async fn observe_other(&self, assigned: &AssignedPort, other: SystemId) {
        let number = Number {
            system: other,
            ..assigned.vehicle.number
        };
        if self.port_table.observe_other(number).await {
            self.say(format!(
                "something else on its wire is system {0}, too, and is not shown: {0} is another vehicle's number here",
                other.0
            ))
            .await;
        }
    }

    async fn say(&self, what: String) {
        let _ = self.say.send(format!("{}: {what}", self.drone)).await;
    }
}

fn batch(first: RawFrame, waiting: &mut mpsc::Receiver<RawFrame>, lost: u64, at: Duration) -> v1::GuestFrames {
    let mut data = first.bytes.to_vec();
    let mut count = 1;
    while data.len() + link::raw::LONGEST <= MAX_MESSAGE_BYTES
        && let Ok(frame) = waiting.try_recv()
    {
        data.extend_from_slice(&frame.bytes);
        count += 1;
    }
    v1::GuestFrames {
        data,
        count,
        lost,
        sent_ms: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
        ..v1::GuestFrames::default()
    }
}

fn summary(assigned: &AssignedPort, connected: &v1::Connected, wants: Wants) -> String {
    let (own, shown) = (assigned.vehicle.own, assigned.vehicle.number.system);
    let called = if own == shown {
        String::new()
    } else {
        format!(" (it calls itself {})", own.0)
    };
    let may = match connected.access() {
        v1::GuestAccess::Command => "what a ground station sends reaches it",
        v1::GuestAccess::Control => {
            "FOR A PROGRAM: set-points, GUIDED, OFFBOARD and Hold reach it while Ready says that a program may fly it, and what only asks; each \
             set-point and each HEARTBEAT renews the lease"
        }
        v1::GuestAccess::Ask => {
            "READ-ONLY: its agent lets ground stations ask, and passes on nothing that changes anything (SKEIN_GCS_READ_ONLY)"
        }
        _ if wants == Wants::Watch => "READ-ONLY, as you asked for: nothing that a ground station sends reaches it",
        _ => {
            "READ-ONLY: nothing that a ground station sends reaches it, for you may `get` this Drone and lack the verb `connect` on \
             drones.skein.dev"
        }
    };
    format!(
        "vehicle of node {} is system {}{called} on {}; {may}",
        connected.node, shown.0, assigned.ports
    )
}

fn judge(status: &Status) -> Lost {
    let why = status.message().to_owned();
    match status.code() {
        Code::PermissionDenied | Code::Unauthenticated | Code::NotFound | Code::InvalidArgument => Lost::ForGood(why),
        Code::Unimplemented => {
            Lost::ForGood("the coordinator is older than this program and cannot do this".to_owned())
        }
        _ => Lost::ForNow(why),
    }
}

fn no_sense() -> Status {
    Status::invalid_argument("the coordinator's answer makes no sense; is it of another version?")
}

const fn request(message: ToCoordinator) -> v1::ConnectRequest {
    v1::ConnectRequest { message: Some(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_may_not_is_told_so_and_not_tried_again() {
        for (status, for_good) in [
            (Status::permission_denied("ada may not"), true),
            (Status::not_found("no Drone"), true),
            (Status::failed_precondition("no vehicle yet"), false),
            (Status::aborted("the agent has gone"), false),
            (Status::unavailable("another leads"), false),
            (Status::resource_exhausted("too many"), false),
        ] {
            let text = status.message().to_owned();
            match judge(&status) {
                Lost::ForGood(why) if for_good => assert_eq!(why, text),
                Lost::ForNow(why) if !for_good => assert_eq!(why, text),
                _ => panic!("{text}"),
            }
        }
    }

    #[test]
    fn frames_that_wait_go_together_and_never_in_a_message_that_is_too_long() {
        let beat = RawFrame::parse(&[0xFE, 2, 5, 255, 190, 21, 1, 0, 2, 0xDE]).unwrap();
        let (sender, mut waiting) = mpsc::channel(1000);
        for _ in 0..999 {
            sender.try_send(beat.clone()).unwrap();
        }
        let frames = batch(beat.clone(), &mut waiting, 7, Duration::from_millis(9));
        assert!(
            frames.data.len() <= MAX_MESSAGE_BYTES && frames.count > 300,
            "{}",
            frames.count
        );
        assert_eq!(
            (frames.data.len(), frames.lost, frames.sent_ms),
            (frames.count as usize * beat.bytes.len(), 7, 9)
        );
    }
}
