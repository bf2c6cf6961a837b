//! Which messages we need, how often, and the commands that request them.

use crate::recipe::Command;
use link::dialect::{MavCmd, MavMessage};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Needed {
    /// EXTENDED_SYS_STATE (245): landed_state.
    Landed,
    /// SYS_STATUS (1): readiness.
    SysStatus,
    /// GLOBAL_POSITION_INT (33).
    Position,
    /// AUTOPILOT_VERSION (148), once.
    Version,
    /// HOME_POSITION (242), once.
    Home,
    /// BATTERY_STATUS (147).
    Battery,
    /// GPS_RAW_INT (24): how well the place is known.
    Accuracy,
    /// ADSB_VEHICLE (246), while other aircraft are heard.
    Traffic,
    /// HEARTBEAT (0), once and now: the mode has just been set.
    BeatNow,
    /// SYS_STATUS (1), once and now: the arming checks have just been run.
    ReadyNow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// How often it is sent: GET_MESSAGE_INTERVAL (510). A stream that others use must not become slower by us.
    Interval,
    /// That it is sent as often as we need it: SET_MESSAGE_INTERVAL (511).
    Stream,
    /// That it is sent once: REQUEST_MESSAGE (512).
    Single,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    pub needed: Needed,
    pub how: How,
}

pub(super) const IN_ORDER: [Needed; 8] = [
    Needed::Landed,
    Needed::SysStatus,
    Needed::Position,
    Needed::Version,
    Needed::Home,
    Needed::Battery,
    Needed::Accuracy,
    Needed::Traffic,
];

/// In the order of need.
pub(super) const AT_ONCE: [Needed; 2] = [Needed::BeatNow, Needed::ReadyNow];
pub(super) const KINDS: usize = IN_ORDER.len() + AT_ONCE.len();

pub(super) struct Terms {
    pub(super) id: u16,
    /// `None`: wanted once.
    pub(super) every: Option<Duration>,
    /// Time without any, or a little later than the stream usually comes.
    pub(super) single_after: Duration,
    /// It is asked for after this long at the latest.
    pub(super) single_by: Duration,
    /// Between two requests for a message that does not come.
    pub(super) cap: Duration,
    /// It comes only while there is something to report: that it does not come says nothing.
    pub(super) seldom: bool,
}

impl Needed {
    pub(super) const fn terms(self) -> Terms {
        const fn stream(id: u16, every_ms: u64, [single_after_ms, single_by_ms]: [u64; 2], cap_s: u64) -> Terms {
            let every = Some(Duration::from_millis(every_ms));
            Terms {
                id,
                every,
                single_after: Duration::from_millis(single_after_ms),
                single_by: Duration::from_millis(single_by_ms),
                cap: Duration::from_secs(cap_s),
                seldom: false,
            }
        }
        const fn once(id: u16, cap_s: u64) -> Terms {
            Terms {
                id,
                every: None,
                single_after: Duration::from_secs(2),
                single_by: Duration::from_secs(2),
                cap: Duration::from_secs(cap_s),
                seldom: false,
            }
        }
        match self {
            Self::Landed => stream(245, 500, [1000, 2000], 4),
            Self::SysStatus => stream(1, 500, [1200, 2200], 4),
            Self::Position => stream(33, 500, [1000, 1500], 10),
            // What it says counts for 10 s; a slow line brings it seldom enough.
            Self::Battery => stream(147, 2000, [4500, 8500], 60),
            // It says how well the place is known, which changes slowly and counts for 15 s; 32 bytes a second.
            Self::Accuracy => stream(24, 2000, [4500, 8500], 60),
            // ArduPilot reports one aircraft with each.
            Self::Traffic => Terms {
                seldom: true,
                ..stream(246, 250, [0, 0], 60)
            },
            Self::Version => once(148, 60),
            Self::Home => once(242, 20),
            Self::BeatNow => once(0, 4),
            Self::ReadyNow => once(1, 4),
        }
    }

    pub const fn fulfilled_by(message: &MavMessage) -> Option<Self> {
        Some(match message {
            MavMessage::EXTENDED_SYS_STATE(_) => Self::Landed,
            MavMessage::SYS_STATUS(_) => Self::SysStatus,
            MavMessage::GLOBAL_POSITION_INT(_) => Self::Position,
            MavMessage::BATTERY_STATUS(_) => Self::Battery,
            MavMessage::AUTOPILOT_VERSION(_) => Self::Version,
            MavMessage::HOME_POSITION(_) => Self::Home,
            MavMessage::GPS_RAW_INT(_) => Self::Accuracy,
            MavMessage::ADSB_VEHICLE(_) => Self::Traffic,
            _ => return None,
        })
    }
}

impl Request {
    #[must_use]
    #[allow(
        deprecated,
        reason = "GET_MESSAGE_INTERVAL is what all firmware in the field answers, REQUEST_MESSAGE of MESSAGE_INTERVAL is not"
    )]
    pub fn command(self) -> Command {
        let terms = self.needed.terms();
        let id = f32::from(terms.id);
        #[allow(
            clippy::cast_precision_loss,
            reason = "a few million microseconds are exact in an f32"
        )]
        let interval_us = terms.every.unwrap_or_default().as_micros() as f32;
        let (command, params) = match self.how {
            How::Interval => (MavCmd::MAV_CMD_GET_MESSAGE_INTERVAL, [id, 0.0, 0.0, 0.0]),
            How::Stream => (MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL, [id, interval_us, 0.0, 0.0]),
            How::Single => (MavCmd::MAV_CMD_REQUEST_MESSAGE, [id, 0.0, 0.0, 0.0]),
        };
        Command::long(command, params)
    }
}
