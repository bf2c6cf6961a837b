//! Errors of the command line.

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgsError {
    #[error("--count {count} but {names} names in --names; leave --count out")]
    CountAndNames { count: usize, names: usize },
    #[error("--names has `{0}` twice; every vehicle needs its own name")]
    NameTwice(String),
    #[error("`{0}` cannot be a vehicle's name; use letters, digits, `-`, `_` and `.`")]
    BadName(String),
    #[error("{flag}: there is no vehicle `{name}`; vehicles are {known}")]
    NoSuchVehicle {
        flag: &'static str,
        name: String,
        known: String,
    },
    #[error("{flag}: `{value}` is not {range}; write NUMBER or NAME=NUMBER")]
    BadNumber {
        flag: &'static str,
        value: String,
        range: String,
    },
    #[error("--param: `{0}` is not a parameter with its value; write NAME=NUMBER, such as COM_LOW_BAT_ACT=3")]
    BadParameter(String),
    #[error("{0} {1} is out of range; use 0.01 to 100")]
    Speedup(&'static str, String),
    #[error("--count 0 makes no vehicle; use 1 or more")]
    None,
    #[error("--system-id-base {0} is out of range; use 1 to 255")]
    SystemId(u16),
    #[error("{count} vehicles do not fit above port {port}; choose a lower port")]
    Ports { count: usize, port: u16 },
}
