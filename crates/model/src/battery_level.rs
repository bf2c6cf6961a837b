//! How full a battery is, as far as flight goes.

/// How full a battery is, as far as flight goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    #[default]
    Unknown,
    /// Above the reserve, and the autopilot does not complain.
    Fine,
    /// At or below the reserve, or the autopilot calls it low or critical.
    Low,
    /// The autopilot says that it must land now.
    Emergency,
}
