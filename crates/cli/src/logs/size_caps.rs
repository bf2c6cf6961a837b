//! Limits of a download: an agent may report any length of its logs.

use super::list::size;
use crate::failure::Failure;
use model::logs::LogName;

const MIB: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeCaps {
    log: u64,
    total: u64,
    taken: u64,
}

impl SizeCaps {
    pub const fn of_mib(log: u64, total: u64) -> Self {
        Self {
            log: log.saturating_mul(MIB),
            total: total.saturating_mul(MIB),
            taken: 0,
        }
    }

    /// Errors: the exceeded limit, and the flag that raises it.
    pub fn take(&mut self, name: &LogName, bytes: u64) -> Result<(), Failure> {
        let all = self.taken.saturating_add(bytes);
        let (what, cap, flag) = if bytes > self.log {
            (format!("log {name} has {}", size(bytes)), self.log, "--max-log-mib")
        } else if all > self.total {
            let what = format!("the logs up to {name} have {} together", size(all));
            (what, self.total, "--max-total-mib")
        } else {
            self.taken = all;
            return Ok(());
        };
        let cap = size(cap);
        Err(Failure::Failed(format!(
            "{what}, more than the {cap} of {flag}; raise it if your disk has room, or name fewer logs with --log"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_and_all_logs_together_have_a_cap() {
        let name = LogName::parse("00000003.BIN").unwrap();
        let mut caps = SizeCaps::of_mib(2, 5);
        let why = caps.take(&name, 2 * MIB + 1).unwrap_err().to_string();
        assert!(why.contains("--max-log-mib") && why.contains("2.0 MiB"), "{why}");
        assert!(caps.take(&name, u64::MAX).is_err());
        assert!(caps.take(&name, 2 * MIB).is_ok() && caps.take(&name, 2 * MIB).is_ok());
        let why = caps.take(&name, 2 * MIB).unwrap_err().to_string();
        assert!(
            why.contains("--max-total-mib") && why.contains("6.0 MiB together"),
            "{why}"
        );
        assert!(caps.take(&name, MIB).is_ok(), "what was refused was not counted");
    }
}
