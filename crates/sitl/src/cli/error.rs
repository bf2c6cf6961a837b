//! What can be wrong with the command line.

/// What is wrong with a combination of flags.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgsError {
    /// Names and count disagree.
    #[error("--count {count} but {names} names in --names; leave --count out")]
    CountAndNames {
        /// --count.
        count: usize,
        /// How many names.
        names: usize,
    },
    /// A name occurs twice.
    #[error("--names has `{0}` twice; every vehicle needs its own name")]
    NameTwice(String),
    /// A name cannot be a file name.
    #[error("`{0}` cannot be a vehicle's name; use letters, digits, `-`, `_` and `.`")]
    BadName(String),
    /// A flag names a vehicle that does not exist.
    #[error("{flag}: there is no vehicle `{name}`; vehicles are {known}")]
    NoSuchVehicle {
        /// The flag.
        flag: &'static str,
        /// The name in it.
        name: String,
        /// The existing names.
        known: String,
    },
    /// Not a number in range.
    #[error("{flag}: `{value}` is not {range}; write NUMBER or NAME=NUMBER")]
    BadNumber {
        /// The flag.
        flag: &'static str,
        /// What was written.
        value: String,
        /// Values that may be written.
        range: String,
    },
    /// A parameter is not NAME=NUMBER.
    #[error("--param: `{0}` is not a parameter with its value; write NAME=NUMBER, such as COM_LOW_BAT_ACT=3")]
    BadParameter(String),
    /// Speed must be positive.
    #[error("{0} {1} is out of range; use 0.01 to 100")]
    Speedup(&'static str, String),
    /// No vehicle.
    #[error("--count 0 makes no vehicle; use 1 or more")]
    None,
    /// System ids are numbers from 1 to 255.
    #[error("--system-id-base {0} is out of range; use 1 to 255")]
    SystemId(u16),
    /// Not enough ports.
    #[error("{count} vehicles do not fit above port {port}; choose a lower port")]
    Ports {
        /// Vehicles.
        count: usize,
        /// First port.
        port: u16,
    },
}
