//! Whether the autopilot has rebooted, from its own clock: `time_boot_ms`, which began again.
//!
//! Each kind of message is compared only with those of its own kind. In some firmware two kinds go by different clocks, or one
//! never gives the time; one after the other they would seem to be reboots without end.

use std::collections::BTreeMap;

/// Less is no reboot: messages overtake one another a little.
const REBOOT_MS: u32 = 1000;

/// By message id: as many as [`link::backlog::boot_ms`] knows.
#[derive(Clone, Debug, Default)]
pub struct BootClocks(BTreeMap<u32, BootClock>);

impl BootClocks {
    /// Each reboot is reported once.
    pub fn went_back(&mut self, message_id: u32, boot_ms: u32) -> bool {
        let back = self.0.entry(message_id).or_default().went_back(boot_ms);
        if back {
            // The others will go back too.
            self.0.retain(|id, _| *id == message_id);
        }
        back
    }
}

/// One late or broken value does not count as a reboot.
#[derive(Clone, Copy, Debug, Default)]
struct BootClock {
    latest: Option<u32>,
    suspicious: Option<u32>,
}

impl BootClock {
    fn went_back(&mut self, boot_ms: u32) -> bool {
        let Some(latest) = self.latest else {
            self.latest = Some(boot_ms);
            return false;
        };
        if boot_ms.saturating_add(REBOOT_MS) >= latest {
            // A leap ahead may be noise; it counts only if the next value goes along.
            if boot_ms > latest.saturating_add(60_000) && self.suspicious.is_none_or(|s| boot_ms.abs_diff(s) > 10_000) {
                self.suspicious = Some(boot_ms);
                return false;
            }
            self.suspicious = None;
            self.latest = Some(latest.max(boot_ms));
            return false;
        }
        let again = self.suspicious.is_some_and(|s| boot_ms >= s && boot_ms - s <= 10_000);
        if again {
            *self = Self {
                latest: Some(boot_ms),
                suspicious: None,
            };
        } else {
            self.suspicious = Some(boot_ms);
        }
        again
    }
}
