//! The agent's part of a trace: from the order to fly until the vehicle is in the air.
//!
//! Owns: [`TakeoffTrace`], which gets what is observed, sent and answered, and gives the spans that ended. Nothing is kept on disk: an
//! agent restarted before the takeoff begins its part again, and one restarted in flight has none.
//! Must not: decide anything else.

use crate::flight::memory::{Outcome, StepKind};
use model::assignment::{Assignment, Desired};
use model::time::Moment;
use model::trace::{Part, Span, Subject};
use model::vehicle::FlightTruth;

/// More would mean that nothing takes them.
const MAX_WAITING_SPANS: usize = 32;

#[derive(Debug, Default)]
pub struct TakeoffTrace {
    under_way: Option<UnderWay>,
    ended: Vec<Span>,
}

#[derive(Debug)]
struct UnderWay {
    of: Subject,
    /// `None` while it does not wait to be armed.
    waits: Option<Moment>,
    /// Not answered yet.
    sent: Option<(StepKind, Moment)>,
    /// When the last command was answered, or sent: from then on it is the vehicle's turn.
    commanded: Moment,
    in_air: bool,
}

impl TakeoffTrace {
    pub fn observe(&mut self, held: Option<&Assignment>, truth: FlightTruth, now: Moment) {
        let Some(held) = held.filter(|held| matches!(held.desired, Desired::Flying { .. })) else {
            self.under_way = None;
            return;
        };
        let in_air = matches!(truth, FlightTruth::Airborne(_));
        match &mut self.under_way {
            Some(known) if known.of.uid == held.uid => {
                known.of.generation = held.generation;
                if in_air && !known.in_air {
                    known.in_air = true;
                    let (of, since) = (known.of.clone(), known.commanded);
                    self.end(of, Part::Liftoff, (since, now), None);
                }
            }
            _ => {
                self.under_way = Some(UnderWay {
                    of: Subject {
                        uid: held.uid.clone(),
                        name: held.name.clone(),
                        generation: held.generation,
                    },
                    waits: (!in_air).then_some(now),
                    sent: None,
                    commanded: now,
                    in_air,
                });
            }
        }
    }

    pub fn sent(&mut self, kind: StepKind, now: Moment) {
        let Some(known) = self.under_way.as_mut().filter(|known| !known.in_air) else {
            return;
        };
        if !matches!(kind, StepKind::Arm | StepKind::TakeOff) {
            return;
        }
        known.sent = Some((kind, now));
        known.commanded = now;
        if let Some(since) = known.waits.take().filter(|_| kind == StepKind::Arm) {
            let of = known.of.clone();
            self.end(of, Part::Prepare, (since, now), None);
        }
    }

    pub fn answered(&mut self, kind: StepKind, outcome: &Outcome, now: Moment) {
        let Some(known) = &mut self.under_way else { return };
        let Some((_, since)) = known.sent.take_if(|(sent, _)| *sent == kind) else {
            return;
        };
        let part = if kind == StepKind::Arm {
            Part::Arm
        } else {
            Part::Takeoff
        };
        let fault = match outcome {
            Outcome::Accepted => None,
            Outcome::Refused { result } => Some(format!("refused: {result}")),
            Outcome::NoAnswer => Some("no answer".to_owned()),
            Outcome::NotSent => Some("not sent: the link is down or too slow".to_owned()),
        };
        if !known.in_air {
            known.commanded = now;
        }
        if part == Part::Arm && fault.is_some() {
            known.waits = Some(now);
        }
        let of = known.of.clone();
        self.end(of, part, (since, now), fault);
    }

    pub fn take(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.ended)
    }

    fn end(&mut self, of: Subject, part: Part, (start, end): (Moment, Moment), fault: Option<String>) {
        if self.ended.len() < MAX_WAITING_SPANS {
            self.ended.push(Span {
                of,
                part,
                start,
                end,
                fault,
            });
        }
    }
}

#[cfg(test)]
mod tests;
