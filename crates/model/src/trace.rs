//! One OpenTelemetry trace for each Drone, from its creation until its vehicle is in the air, across coordinator and agent.
//!
//! Owns: [`Span`], the parts of a takeoff ([`Part`]), and the ids. These follow from the Drone's uid, so both programs share a trace, also
//! after a restart, and send each other nothing about it. The generation is no part of them: binding, slots and stations change it before
//! the first takeoff. `fleet::planning::trace` and `fleet::flight::trace` decide what ends a span.
//! Must not: read a clock. Each side counts moments from 1970, or converts them before it sends a span.
//!
//! ```text
//! flight     coordinator  the Drone was created … its vehicle is observed in the air       the root
//!   bind     coordinator  the Drone was created … it is bound to a vehicle
//!   order    coordinator  it is bound … the order to fly is sent
//!   prepare  agent        the order to fly is taken … an arm command is sent               again after each refusal
//!   arm      agent        the arm command is sent … it is answered
//!   takeoff  agent        the takeoff command is sent … it is answered
//!   liftoff  agent        that is answered … the autopilot reports that the vehicle is in the air
//! ```

use crate::ids::{DroneName, DroneUid};
use crate::time::Moment;
use sha2::{Digest, Sha256};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Flight {
        /// The Drone has flown before: it is no root then.
        again: bool,
    },
    Bind,
    /// Until the coordinator lets it take off.
    Order,
    /// Until the autopilot can be armed.
    Prepare,
    Arm,
    Takeoff,
    /// Until it is in the air.
    Liftoff,
}

impl Part {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flight { .. } => "flight",
            Self::Bind => "bind",
            Self::Order => "order",
            Self::Prepare => "prepare",
            Self::Arm => "arm",
            Self::Takeoff => "takeoff",
            Self::Liftoff => "liftoff",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub uid: DroneUid,
    pub name: DroneName,
    pub generation: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub of: Subject,
    pub part: Part,
    pub start: Moment,
    pub end: Moment,
    pub fault: Option<String>,
}

impl Span {
    pub fn trace(&self) -> [u8; 16] {
        id(&["trace", &self.of.uid.0])
    }

    pub fn id(&self) -> [u8; 8] {
        if self.part == (Part::Flight { again: false }) {
            return root(&self.of.uid);
        }
        let start = self.start.since_epoch().as_nanos().to_string();
        id(&[self.part.name(), &self.of.uid.0, &start])
    }

    /// `None` for the root.
    pub fn parent(&self) -> Option<[u8; 8]> {
        (self.part != Part::Flight { again: false }).then(|| root(&self.of.uid))
    }
}

fn root(uid: &DroneUid) -> [u8; 8] {
    id(&["root", &uid.0])
}

/// First bytes of the digest of `words`; never zero, which is no valid id.
fn id<const N: usize>(words: &[&str]) -> [u8; N] {
    let mut digest = Sha256::new();
    for word in words {
        digest.update(word);
        digest.update([0]);
    }
    let mut id = [0; N];
    id.copy_from_slice(&digest.finalize()[..N]);
    id[N - 1] |= 1;
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn span(uid: &str, part: Part, second: u64) -> Span {
        Span {
            of: Subject {
                uid: DroneUid(uid.into()),
                name: DroneName {
                    namespace: "default".into(),
                    name: "a".into(),
                },
                generation: 1,
            },
            part,
            start: Moment::at(Duration::from_secs(second)),
            end: Moment::at(Duration::from_secs(second + 1)),
            fault: None,
        }
    }

    #[test]
    fn both_sides_find_the_same_trace_and_root_by_the_uid_alone() {
        let root = span("u", Part::Flight { again: false }, 1);
        let mut arm = span("u", Part::Arm, 9);
        arm.of.generation = 7;
        assert_eq!(root.parent(), None);
        assert_eq!((arm.trace(), arm.parent()), (root.trace(), Some(root.id())));
        assert_ne!(span("v", Part::Arm, 9).trace(), root.trace());
        assert_ne!(span("v", Part::Arm, 9).parent(), arm.parent());
    }

    #[test]
    fn ids_are_for_ever_those_that_other_versions_make() {
        let root = span("5f0c", Part::Flight { again: false }, 1);
        let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(&root.trace()), "0fcdd925b74dfa11faeff61d04f6d677");
        assert_eq!(hex(&root.id()), "ade950d5a290c5b3");
    }

    #[test]
    fn what_was_tried_twice_is_two_spans_and_what_was_written_twice_is_one() {
        let first = span("u", Part::Arm, 1);
        assert_eq!(first.id(), span("u", Part::Arm, 1).id());
        assert_ne!(first.id(), span("u", Part::Arm, 2).id());
        assert_ne!(first.id(), span("u", Part::Prepare, 1).id());
    }

    #[test]
    fn a_later_flight_of_the_same_drone_is_no_second_root() {
        let (first, later) = (
            span("u", Part::Flight { again: false }, 1),
            span("u", Part::Flight { again: true }, 90),
        );
        assert_eq!(later.parent(), Some(first.id()));
        assert_ne!(later.id(), first.id());
    }
}
