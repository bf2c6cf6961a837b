//! Statements that are compared separately, so that a difference in one kind does not hide the others.

use super::fact::Fact;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// COMMAND_ACK.
    Acks,
    Armed,
    Mode,
    /// MAV_LANDED_STATE.
    Landed,
    /// MAV_STATE.
    Status,
    Ready,
    /// MAV_BATTERY_CHARGE_STATE.
    Charge,
    /// The current item of the mission, and items reached.
    Mission,
    Plans,
    /// PARAM_VALUE, PARAM_ERROR.
    Params,
    Texts,
}

impl Channel {
    pub const ALL: [Self; 11] = [
        Self::Acks,
        Self::Armed,
        Self::Mode,
        Self::Landed,
        Self::Status,
        Self::Ready,
        Self::Charge,
        Self::Mission,
        Self::Plans,
        Self::Params,
        Self::Texts,
    ];

    pub fn of(fact: Fact) -> Self {
        match fact {
            Fact::Ack { .. } => Self::Acks,
            Fact::Armed(_) => Self::Armed,
            Fact::Mode(_) => Self::Mode,
            Fact::Landed(_) => Self::Landed,
            Fact::Status(_) => Self::Status,
            Fact::Ready(_) => Self::Ready,
            Fact::Charge(_) => Self::Charge,
            Fact::Mission { .. } | Fact::Reached(_) => Self::Mission,
            Fact::Plan { .. } | Fact::Item { .. } => Self::Plans,
            Fact::Param { .. } | Fact::ParamError { .. } => Self::Params,
            Fact::Text { .. } => Self::Texts,
        }
    }

    /// An answer of this kind is not repeated: a lost one stays unknown.
    pub fn is_sent_once(self) -> bool {
        matches!(self, Self::Acks | Self::Plans | Self::Params | Self::Texts)
    }

    pub fn is_judged(self) -> bool {
        self != Self::Texts
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Acks => "acks",
            Self::Armed => "armed",
            Self::Mode => "mode",
            Self::Landed => "landed",
            Self::Status => "status",
            Self::Ready => "ready",
            Self::Charge => "charge",
            Self::Mission => "mission",
            Self::Plans => "plans",
            Self::Params => "params",
            Self::Texts => "texts",
        }
    }
}
