//! Setup of a PX4's port, as a flag.

use clap::ValueEnum;

use crate::model::Port;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PortKind {
    /// A telemetry radio: what fits 1200 bytes a second.
    Radio,
    /// A companion on a serial line at 57600 baud: more messages, as many as fit.
    Companion,
    /// A network with room for everything.
    Network,
}

impl From<PortKind> for Port {
    fn from(kind: PortKind) -> Self {
        match kind {
            PortKind::Radio => Self::Radio,
            PortKind::Companion => Self::Companion,
            PortKind::Network => Self::Network,
        }
    }
}
