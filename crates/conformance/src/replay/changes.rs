//! Which statements of a vehicle count: all answers, and only the changes of a state.

use super::channel::Channel;
use super::fact::{Fact, Statement, facts};
use super::param_requests::ParamRequests;
use sitl::wire::Frame;

/// Keeps every ack and text, changes of each kind of state, and each other answer (plans, parameters) once: repetitions
/// of requests depend on the machine's load, and PX4 sends a parameter two or three times.
#[derive(Debug)]
pub struct Changes<'a> {
    param_requests: &'a ParamRequests,
    last: Vec<(Kind, Fact)>,
    changes: Vec<Statement>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Of(Channel),
    Reached,
}

impl<'a> Changes<'a> {
    /// Parameters count only if they were requested (`param_requests`).
    pub fn new(param_requests: &'a ParamRequests) -> Self {
        Self {
            param_requests,
            last: Vec::new(),
            changes: Vec::new(),
        }
    }

    pub fn receive(&mut self, at_s: f64, frame: &Frame) {
        for fact in facts(frame) {
            if !self.param_requests.is_answer(at_s, &fact) {
                continue;
            }
            let kind = match fact {
                Fact::Reached(_) => Kind::Reached,
                fact => Kind::Of(Channel::of(fact)),
            };
            if kind != Kind::Of(Channel::Acks) && kind != Kind::Of(Channel::Texts) {
                match self.last.iter_mut().find(|(known, _)| *known == kind) {
                    Some((_, last)) if *last == fact => continue,
                    Some((_, last)) => *last = fact,
                    None => self.last.push((kind, fact)),
                }
            }
            self.changes.push(Statement { at_s, fact });
        }
    }

    pub fn done(self) -> Vec<Statement> {
        self.changes
    }
}
