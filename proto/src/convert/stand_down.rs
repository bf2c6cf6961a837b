//! `StandDown` and `StandUp`: a vehicle that is left to a person, and their release, to and from `model::stand_down`.

use super::{BadMessage, filled};
use crate::v1;
use model::ids::{DroneName, DroneUid, Term};
use model::stand_down::{Reported, StandUp, StoodDown};

impl From<StandUp> for v1::StandUp {
    fn from(order: StandUp) -> Self {
        Self {
            term: order.term.0,
            number: order.number,
        }
    }
}

impl From<v1::StandUp> for StandUp {
    fn from(order: v1::StandUp) -> Self {
        Self {
            term: Term(order.term),
            number: order.number,
        }
    }
}

impl From<&Reported> for v1::StandDown {
    fn from(down: &Reported) -> Self {
        let why = match down.why {
            StoodDown::Killed => v1::StandDownWhy::Killed,
            StoodDown::LowBattery => v1::StandDownWhy::LowBattery,
            StoodDown::CoordinatorLoss => v1::StandDownWhy::CoordinatorLoss,
            StoodDown::AutopilotFailsafe => v1::StandDownWhy::AutopilotFailsafe,
            StoodDown::TakenOver => v1::StandDownWhy::TakenOver,
            StoodDown::Landed => v1::StandDownWhy::Unspecified,
        };
        Self {
            number: down.number,
            why: why.into(),
            drone_uid: down.uid.0.clone(),
            drone_namespace: down.name.namespace.clone(),
            drone_name: down.name.name.clone(),
        }
    }
}

impl TryFrom<v1::StandDown> for Reported {
    type Error = BadMessage;

    /// An unknown reason leaves the vehicle to a person, too.
    fn try_from(down: v1::StandDown) -> Result<Self, BadMessage> {
        Ok(Self {
            number: down.number,
            why: match down.why() {
                v1::StandDownWhy::Killed => StoodDown::Killed,
                v1::StandDownWhy::LowBattery => StoodDown::LowBattery,
                v1::StandDownWhy::CoordinatorLoss => StoodDown::CoordinatorLoss,
                v1::StandDownWhy::AutopilotFailsafe => StoodDown::AutopilotFailsafe,
                v1::StandDownWhy::TakenOver => StoodDown::TakenOver,
                v1::StandDownWhy::Unspecified => StoodDown::Landed,
            },
            uid: DroneUid(filled("stand_down.drone_uid", down.drone_uid)?),
            name: DroneName {
                namespace: down.drone_namespace,
                name: down.drone_name,
            },
        })
    }
}
