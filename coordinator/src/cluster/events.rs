//! Kubernetes Events on Drones, and on the agents' DaemonSet, for `kubectl describe` and `kubectl events`.

use crate::cluster::api;
use crate::metrics::Metrics;
use crds::{Drone, labels};
use futures::FutureExt;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const MAX_QUEUED_EVENTS: usize = 1024;

/// The reason of a flight's record: each is published, even with the same text.
pub const FLIGHT: &str = "Flight";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub warning: bool,
    pub reason: &'static str,
    pub text: String,
}

impl Note {
    pub fn normal(reason: &'static str, text: impl Into<String>) -> Self {
        Self {
            warning: false,
            reason,
            text: text.into(),
        }
    }

    pub fn warning(reason: &'static str, text: impl Into<String>) -> Self {
        Self {
            warning: true,
            reason,
            text: text.into(),
        }
    }
}

#[derive(Debug)]
pub struct Message {
    about: ObjectReference,
    related: Option<ObjectReference>,
    note: Note,
}

#[derive(Debug)]
pub struct Outbox {
    sender: mpsc::Sender<Message>,
    dropped: AtomicU64,
    metrics: Metrics,
}

pub fn channel(metrics: Metrics) -> (Outbox, mpsc::Receiver<Message>) {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
    (
        Outbox {
            sender,
            dropped: AtomicU64::new(0),
            metrics,
        },
        receiver,
    )
}

impl Outbox {
    pub fn record(&self, drone: &Drone, note: Note) {
        self.record_about(drone.object_ref(&()), None, note);
    }

    /// Records `note` about an object, and a related one. Of Events with the same reason about the same objects only the first is shown,
    /// with a count; a warning with another text counts as another reason.
    pub fn record_about(&self, about: ObjectReference, related: Option<ObjectReference>, note: Note) {
        let message = Message { about, related, note };
        if self.sender.try_send(message).is_err() {
            self.metrics.event(false);
            let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
            if dropped.is_power_of_two() {
                tracing::warn!(dropped, "Events are dropped because the API server is slow or away");
            }
        }
    }
}

pub async fn publish(
    client: kube::Client,
    mut messages: mpsc::Receiver<Message>,
    metrics: Metrics,
    ending: CancellationToken,
) {
    let recorder = Recorder::new(client, Reporter::from(labels::COORDINATOR));
    loop {
        let Message { about, related, note } = tokio::select! {
            () = ending.cancelled() => return,
            message = messages.recv() => match message {
                Some(message) => message,
                None => return,
            },
        };
        let event = Event {
            type_: if note.warning {
                EventType::Warning
            } else {
                EventType::Normal
            },
            reason: note.reason.to_owned(),
            action: action(&note),
            note: Some(clipped(note.text)),
            secondary: related,
        };
        // The recorder's future is large.
        let published = api::call("publish an Event", recorder.publish(&event, &about).boxed()).await;
        metrics.event(published.is_ok());
        if let Err(error) = published {
            tracing::debug!(%error, reason = event.reason, "Event lost");
        }
    }
}

/// The recorder publishes one text per reason and action. A warning with another text is another action: the second reason not to arm must
/// not hide behind the first. Numbers make no other text.
fn action(note: &Note) -> String {
    let record = note.reason == FLIGHT;
    if !note.warning && !record {
        return note.reason.to_owned();
    }
    let bytes = note.text.bytes().filter(|byte| record || !byte.is_ascii_digit());
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("{}-{hash:08x}", note.reason)
}

/// Kubernetes limits the note of an Event to 1 kB.
fn clipped(mut text: String) -> String {
    const MAX_TEXT_BYTES: usize = 1000;
    if text.len() > MAX_TEXT_BYTES {
        let end = (0..=MAX_TEXT_BYTES)
            .rev()
            .find(|&i| text.is_char_boundary(i))
            .unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_with_another_text_is_another_event_and_one_with_other_numbers_is_not() {
        let warned = |text: &str| action(&Note::warning("ArmingRefused", text));
        assert_ne!(
            warned("Need Position Estimate"),
            warned("Throttle (RC3) is not neutral")
        );
        assert_eq!(warned("battery at 15 %"), warned("battery at 7 %"));
        assert_eq!(action(&Note::normal("Flying", "in the air and holding")), "Flying");
    }
}
