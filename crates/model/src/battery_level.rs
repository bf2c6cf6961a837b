//! How full a battery is, as far as flight is concerned.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    #[default]
    Unknown,
    /// Above the reserve, and no warning of the autopilot.
    Fine,
    /// At or below the reserve, or low or critical by the autopilot.
    Low,
    /// The autopilot reports that it must land now.
    Emergency,
}
