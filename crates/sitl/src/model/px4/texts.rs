//! PX4's text queue: STATUSTEXT is sent only on a link on which ground station heartbeats arrive.

use std::collections::VecDeque;

use mavlink::dialects::ardupilotmega::{MavMessage, MavSeverity};

use crate::model::telemetry;

const OLDEST_S: f64 = 5.0;
const PACE_S: f64 = 0.09;
const QUEUE_LIMIT: usize = 32;

#[derive(Clone, Debug)]
struct Waiting {
    said_s: f64,
    severity: MavSeverity,
    text: String,
}

#[derive(Clone, Debug)]
pub(super) struct Texts {
    waiting: VecDeque<Waiting>,
    next_id: u16,
    free_s: f64,
}

impl Texts {
    pub(super) fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            next_id: 0,
            free_s: 0.0,
        }
    }

    pub(super) fn send_text(&mut self, severity: MavSeverity, text: String, now_s: f64) {
        if self.waiting.len() == QUEUE_LIMIT {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Waiting {
            said_s: now_s,
            severity,
            text,
        });
    }

    pub(super) fn step(&mut self, ground_station: bool, now_s: f64) -> Vec<MavMessage> {
        self.waiting.retain(|text| now_s - text.said_s <= OLDEST_S);
        if !ground_station || now_s < self.free_s {
            return Vec::new();
        }
        let Some(text) = self.waiting.pop_front() else {
            return Vec::new();
        };
        self.free_s = now_s + PACE_S;
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        let chunks = text.text.as_bytes().chunks(50).enumerate();
        chunks
            .map(|(number, chunk)| telemetry::status_text(text.severity, chunk, id, number as u8))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_waits_for_a_ground_station_but_not_for_ever() {
        let mut texts = Texts::new();
        texts.send_text(MavSeverity::MAV_SEVERITY_INFO, "kept".into(), 0.0);
        assert!(texts.step(false, 1.0).is_empty());
        assert_eq!(texts.step(true, 2.0).len(), 1);
        texts.send_text(MavSeverity::MAV_SEVERITY_INFO, "lost".into(), 2.0);
        assert!(texts.step(true, 7.5).is_empty());
    }
}
