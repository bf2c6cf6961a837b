//! The span of the Drone that an agent serves: each line of work for it carries the Drone's name.

use model::assignment::Assignment;
use model::ids::DroneUid;
use tracing::{Span, error_span};

#[derive(Debug, Default)]
pub struct DroneSpan(Option<(DroneUid, Span)>);

impl DroneSpan {
    pub fn of(&mut self, served: Option<&Assignment>) -> Span {
        let Some(served) = served else {
            self.0 = None;
            return Span::none();
        };
        match &self.0 {
            Some((uid, span)) if *uid == served.uid => span.clone(),
            _ => {
                let span = span_of(served);
                self.0 = Some((served.uid.clone(), span.clone()));
                span
            }
        }
    }
}

/// Of the highest level, so that lines have it whatever `RUST_LOG` leaves out.
pub fn span_of(assignment: &Assignment) -> Span {
    let (name, uid) = (&assignment.name, &assignment.uid);
    error_span!("drone", namespace = name.namespace, drone = name.name, %uid)
}
