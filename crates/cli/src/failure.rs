//! Errors of commands, with advice, and their exit codes.

use std::process::ExitCode;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{0}")]
    Failed(String),
    /// A fault of the command line that clap cannot see.
    #[error("{0}")]
    Usage(String),
    #[error("cannot reach the coordinator at {server}: {why}; {advice}")]
    Unreachable {
        server: String,
        why: String,
        advice: &'static str,
    },
    #[error("{0}")]
    Away(String),
    /// The coordinator does not know the fleet yet.
    #[error("{why} (the coordinator at {server})")]
    NotReady { server: String, why: String },
    #[error("{0}")]
    AtOnce(String),
    #[error("cannot write the answer: {0}")]
    Output(#[from] std::io::Error),
}

impl Failure {
    /// Documented in `skein --help`.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.number())
    }

    const fn number(&self) -> u8 {
        match self {
            Self::Failed(_) | Self::Output(_) => 1,
            Self::Usage(_) => 2,
            Self::Unreachable { .. } | Self::Away(_) | Self::NotReady { .. } => 3,
            // As a shell reports Ctrl-C.
            Self::AtOnce(_) => 130,
        }
    }

    /// Normal in `skein status | head -1`.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(e) if e.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_failure_has_its_exit_code() {
        let of = |s: &str| s.to_owned();
        assert_eq!(Failure::Failed(of("x")).number(), 1);
        assert_eq!(Failure::AtOnce(of("x")).number(), 130);
        assert_eq!(Failure::Usage(of("x")).number(), 2);
        assert_eq!(
            Failure::Unreachable {
                server: of("s"),
                why: of("w"),
                advice: "a"
            }
            .number(),
            3
        );
        assert_eq!(
            Failure::NotReady {
                server: of("s"),
                why: of("w")
            }
            .number(),
            3
        );
    }

    #[test]
    fn a_reader_that_closes_its_end_is_no_failure() {
        assert!(Failure::Output(std::io::ErrorKind::BrokenPipe.into()).is_closed_pipe());
        assert!(!Failure::Output(std::io::ErrorKind::StorageFull.into()).is_closed_pipe());
    }
}
