//! Guests that come through the coordinator: a person's ground station, whom the coordinator has asked who they are.
//!
//! Each call of the coordinator has a connection of its own: neither orders nor reports wait for what a guest receives. Must not: let anybody
//! in whom no coordinator has announced on the open session, or keep a place of a guest on site from it.
//!
//! What the way to the coordinator does not take in time is lost for the guest, oldest first ([`super::guest_queue`]); what waits there is
//! bounded by that queue, two messages and the window of one HTTP/2 stream.

use super::guest::GuestAdmission;
use super::hub::HubWork;
use super::switch::Rights;
use crate::coordinator::Coordinator;
use crate::credentials::Reader;
use crate::dial;
use model::guest::{GuestAccess, GuestCall, LATE, Transit};
use proto::convert::guest_call_id;
use proto::v1;
use proto::v1::from_vehicle::Message;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};
use tracing::{Instrument, info, warn};

/// Most guests through the coordinator that command or ask, and most that watch.
const GUESTS: usize = 4;
/// Programs that may fly the vehicle: two would fly it against each other.
const PROGRAMS: usize = 1;
/// More would be a fault of the coordinator.
const CALLS: usize = 16;
/// As long as the coordinator waits.
const OPEN_WITHIN: Duration = Duration::from_secs(10);
/// Bytes of frames in one message.
const AT_ONCE: usize = 4096;
const LARGEST_MESSAGE: usize = 16 * 1024;
/// A way that has taken nothing for this long is given up; the guest comes again.
const TAKES_WITHIN: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
struct Answering {
    coordinator: Coordinator,
    commanding: GuestAdmission,
    watching: GuestAdmission,
    flying: GuestAdmission,
    most: GuestAccess,
}

/// For ever. The hub is asked for when the first call comes: an agent without guests spends nothing on it.
pub async fn serve(
    mut calls: mpsc::Receiver<GuestCall>,
    coordinator: Coordinator,
    read_only: bool,
    hub: impl FnOnce() -> (GuestAdmission, Option<HubWork>),
) -> Infallible {
    let (mut work, mut guests) = (JoinSet::new(), JoinSet::new());
    let Some(mut call) = calls.recv().await else {
        return std::future::pending().await;
    };
    let (admission, hub_work) = hub();
    if let Some(hub_work) = hub_work {
        work.spawn(hub_work.in_current_span());
    }
    let answering = Answering {
        coordinator,
        commanding: admission.apart(GUESTS, Rights::Command),
        watching: admission.apart(GUESTS, Rights::Watch),
        flying: admission.apart(PROGRAMS, Rights::Control),
        most: if read_only {
            GuestAccess::Ask
        } else {
            GuestAccess::Command
        },
    };
    loop {
        if guests.len() < CALLS {
            guests.spawn(answer(call, answering.clone()).in_current_span());
        } else {
            warn!(
                person = call.person,
                "a ground station through the coordinator is not let in: too many come at once"
            );
        }
        call = loop {
            tokio::select! {
                next = calls.recv() => match next {
                    Some(call) => break call,
                    None => return std::future::pending().await,
                },
                Some(_) = guests.join_next() => {}
            }
        };
    }
}

async fn answer(call: GuestCall, answering: Answering) {
    let person = call.person.clone();
    if let Err(why) = host(call, answering).await {
        warn!(person, why, "a ground station through the coordinator was not served");
    }
}

async fn host(call: GuestCall, answering: Answering) -> Result<(), String> {
    let (channel, bearer) = dial::open(&answering.coordinator, &mut Reader::default())
        .await
        .map_err(|cannot| cannot.to_string())?;
    let mut client =
        v1::guests_client::GuestsClient::with_interceptor(channel, bearer).max_decoding_message_size(LARGEST_MESSAGE);
    let (admission, access) = match call.access {
        GuestAccess::Watch => (&answering.watching, GuestAccess::Watch),
        GuestAccess::Control if answering.most >= GuestAccess::Control => (&answering.flying, GuestAccess::Control),
        asked @ (GuestAccess::Ask | GuestAccess::Control | GuestAccess::Command) => {
            (&answering.commanding, asked.min(answering.most))
        }
    };
    let guest = admission
        .admit(format!("through the coordinator: {}", call.person), Arc::default())
        .await;
    let first = v1::GuestAnswer {
        id: guest_call_id(call.id),
        access: guest
            .as_ref()
            .map_or(v1::GuestAccess::Unspecified, |_| access.into())
            .into(),
        refused: match guest {
            Some(_) => String::new(),
            None if access == GuestAccess::Control => {
                "another program may fly this vehicle already; end its `skein connect --control` first".to_owned()
            }
            None => format!("this vehicle's agent serves {GUESTS} such ground stations already; close one of them"),
        },
    };
    let (tx, rx) = mpsc::channel(2);
    let began = Instant::now();
    let sent = tx.try_send(of_vehicle(Message::Answer(first)));
    let opened = timeout(OPEN_WITHIN, client.answer(ReceiverStream::new(rx))).await;
    let Some(mut guest) = guest else {
        // It is said; what the coordinator makes of it is its own affair.
        return Ok(());
    };
    let inbound = match (sent, opened) {
        (Ok(()), Ok(Ok(response))) => response.into_inner(),
        (_, Ok(Err(status))) => {
            guest.leave("the coordinator does not want it any more").await;
            return Err(status.message().to_owned());
        }
        _ => {
            guest.leave("the coordinator does not answer").await;
            return Err("the coordinator does not answer".to_owned());
        }
    };
    info!(
        person = call.person,
        ?access,
        "a ground station has come through the coordinator"
    );
    let queue = guest.queue.clone();
    let late = AtomicU64::new(0);
    let speak = async {
        let mut buffer = Vec::with_capacity(AT_ONCE);
        loop {
            let frames = queue.filled(&mut buffer, AT_ONCE).await;
            let message = Message::Frames(v1::GuestFrames {
                data: buffer.clone(),
                count: u32::try_from(frames).unwrap_or(u32::MAX),
                lost: queue.lost(),
                late: late.load(Ordering::Relaxed),
                ..v1::GuestFrames::default()
            });
            match timeout(TAKES_WITHIN, tx.send(of_vehicle(message))).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return "the connection broke",
                Err(_) => return "the way to it takes nothing any more",
            }
        }
    };
    let why = tokio::select! {
        why = listen(inbound, &mut guest, began, &late) => why,
        why = speak => why,
    };
    guest.leave(why).await;
    Ok(())
}

/// `began`: before the person was notified that the way is open.
async fn listen(
    mut inbound: Streaming<v1::GuestFrames>,
    guest: &mut super::guest::Guest,
    began: Instant,
    late: &AtomicU64,
) -> &'static str {
    let mut transit = Transit::default();
    loop {
        match inbound.message().await {
            Ok(Some(frames)) => {
                if transit.of(Duration::from_millis(frames.sent_ms), began.elapsed()) > LATE {
                    if late.fetch_add(frames.count.into(), Ordering::Relaxed) == 0 {
                        warn!(
                            "what a ground station sends through the coordinator comes too late and is not passed on"
                        );
                    }
                    continue;
                }
                let wait = guest.receive_datagram(&frames.data).await;
                if !wait.is_zero() {
                    sleep(wait).await;
                }
            }
            Ok(None) => return "it hung up",
            Err(status) => return ended(&status),
        }
    }
}

fn ended(status: &Status) -> &'static str {
    match status.code() {
        tonic::Code::Cancelled => "it hung up",
        tonic::Code::PermissionDenied => "it may not any more",
        _ => "the connection broke",
    }
}

const fn of_vehicle(message: Message) -> v1::FromVehicle {
    v1::FromVehicle { message: Some(message) }
}
