//! What went wrong, in words that say what to do, and the exit code for it.

use std::process::ExitCode;

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The coordinator said no, or could not.
    #[error("{0}")]
    Failed(String),
    /// The command line makes no sense, in a way that clap cannot see.
    #[error("{0}")]
    Usage(String),
    /// Nothing answers.
    #[error("cannot reach the coordinator at {server}: {why}; {advice}")]
    Unreachable {
        /// Where.
        server: String,
        /// What the system says.
        why: String,
        /// Advice, by how the coordinator was named.
        advice: &'static str,
    },
    /// There is none to be reached, or none yet, for a reason that is known.
    #[error("{0}")]
    Away(String),
    /// It answers, but does not know the fleet yet.
    #[error("{why} (the coordinator at {server})")]
    NotReady {
        /// Where.
        server: String,
        /// What it says, with what to do.
        why: String,
    },
    /// The person wanted the end at once.
    #[error("{0}")]
    AtOnce(String),
    /// Printing failed.
    #[error("cannot write the answer: {0}")]
    Output(#[from] std::io::Error),
}

impl Failure {
    /// The exit code, as documented in `skein --help`.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.number())
    }

    const fn number(&self) -> u8 {
        match self {
            Self::Failed(_) | Self::Output(_) => 1,
            Self::Usage(_) => 2,
            Self::Unreachable { .. } | Self::Away(_) | Self::NotReady { .. } => 3,
            // As shells count a process that was ended by Ctrl-C.
            Self::AtOnce(_) => 130,
        }
    }

    /// Whether the reader of our output has gone, as in `skein status | head -1`; that is no failure.
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
