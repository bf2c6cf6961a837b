//! The log of commands that run for a while.

use crate::args::LogFormat;
use crate::failure::Failure;
use agent::lines::Lines;
use std::fs::File;
use std::io;
use std::time::Duration;
use tracing_subscriber::EnvFilter;

const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(1);

/// The coordinator's default: kube logs each failed connection as an error, and its Controller repeats names.
const DEFAULT: &str = "info,kube_client::client::builder=off,kube_runtime::controller=warn";

/// Dropping it writes waiting lines, briefly.
#[derive(Debug)]
pub struct Log(Lines);

impl Log {
    /// `RUST_LOG` filters, here and in [`Self::to_file`].
    pub fn to_standard_error(format: LogFormat) -> Result<Self, Failure> {
        Ok(Self::start(
            Lines::to_standard_error().map_err(|why| cannot(&why))?,
            format,
        ))
    }

    pub fn to_file(file: File) -> Result<Self, Failure> {
        Ok(Self::start(
            Lines::to(file).map_err(|why| cannot(&why))?,
            LogFormat::Text,
        ))
    }

    fn start(lines: Lines, format: LogFormat) -> Self {
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT));
        let builder = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(false)
            .log_internal_errors(false)
            .with_writer(lines.clone());
        // Fails only if a log is installed already.
        let _ = match format {
            LogFormat::Text => builder.try_init(),
            LogFormat::Json => builder.json().flatten_event(true).try_init(),
        };
        Self(lines)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.0.write_out(LAST_LINES_TIMEOUT);
    }
}

fn cannot(why: &io::Error) -> Failure {
    Failure::Failed(format!(
        "cannot start the log: {why}; end other programs, or allow more files and threads"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_last_lines_are_written_before_the_log_ends() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines = Lines::to(file.reopen().unwrap()).unwrap();
        let log = Log(lines.clone());
        for number in 0..100 {
            lines.clone().write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        drop(log);
        assert_eq!(std::fs::read_to_string(file.path()).unwrap().lines().count(), 100);
    }
}
