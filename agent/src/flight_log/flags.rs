//! Settings of the flight log, by flags and environment.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// The flight log.
#[derive(Args, Clone, Debug, Default)]
pub struct FlightLogFlags {
    /// Folder for flight logs (.tlog, every frame in both directions); without it nothing is logged.
    #[arg(long, env = "SKEIN_FLIGHT_LOG_DIR", value_name = "FOLDER")]
    flight_log_dir: Option<OsString>,
    /// Most that the flight logs of this node take together, in MiB; the oldest are removed. From 8 up.
    #[arg(long, env = "SKEIN_FLIGHT_LOG_MAX_MIB", value_name = "MIB", default_value_t = Config::USUAL_MIB,
          value_parser = clap::value_parser!(u64).range(8..=1_048_576))]
    flight_log_max_mib: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `None`: nothing is logged.
    pub folder: Option<PathBuf>,
    /// Bytes of all files of the node together.
    pub limit: u64,
}

impl Config {
    pub const USUAL_MIB: u64 = 512;

    /// Bytes: half an hour of the busiest autopilot, or an eighth of the limit.
    pub const fn longest(&self) -> u64 {
        const USUAL: u64 = 32 << 20;
        if self.limit / 8 < USUAL { self.limit / 8 } else { USUAL }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            folder: None,
            limit: Self::USUAL_MIB << 20,
        }
    }
}

impl From<FlightLogFlags> for Config {
    fn from(flags: FlightLogFlags) -> Self {
        Self {
            folder: flags
                .flight_log_dir
                .filter(|folder| !folder.is_empty())
                .map(PathBuf::from),
            limit: flags.flight_log_max_mib << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        log: FlightLogFlags,
    }

    fn config(flags: &[&str]) -> Result<Config, String> {
        let all = std::iter::once("program").chain(flags.iter().copied());
        match Program::try_parse_from(all) {
            Ok(program) => Ok(program.log.into()),
            Err(error) => Err(error.to_string().lines().next().unwrap_or_default().to_owned()),
        }
    }

    #[test]
    fn nothing_is_logged_unless_a_folder_is_named() {
        assert_eq!(config(&[]), Ok(Config::default()));
        assert_eq!(config(&["--flight-log-dir="]), Ok(Config::default()));
        let named = config(&["--flight-log-dir=/var/log/skein", "--flight-log-max-mib=64"]).unwrap();
        assert_eq!(named.folder, Some("/var/log/skein".into()));
        assert_eq!((named.limit, named.longest()), (64 << 20, 8 << 20));
        assert_eq!(Config::default().longest(), 32 << 20);
    }

    #[test]
    fn a_limit_that_makes_no_sense_is_refused() {
        for bad in ["0", "7", "-1", "much", "99999999999"] {
            let line = config(&[&format!("--flight-log-max-mib={bad}")]).unwrap_err();
            assert!(line.contains(bad), "{line}");
        }
    }
}
