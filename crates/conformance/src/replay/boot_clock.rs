//! The autopilot's own clock in a recording, by `time_boot_ms` in its messages: a recorded simulation may have run a
//! little slower than real time, and its process some time before it booted.

use sitl::wire::Frame;

/// Two readings closer than this are not used to compute the pace.
const APART_S: f64 = 0.4;

/// A larger step back is a reboot.
const REBOOT_S: f64 = 1.0;

/// Pairs of recorder's seconds and autopilot's seconds since its first boot, in order.
#[derive(Clone, Debug, Default)]
pub struct BootClock {
    readings: Vec<(f64, f64)>,
    /// The part of `time_boot_ms` that a reboot reset.
    before_boot_s: f64,
    /// Last message before a reboot, and the boot.
    restarts: Vec<(f64, f64)>,
}

impl BootClock {
    pub fn receive(&mut self, at_s: f64, frame: &Frame) {
        let Some(said_s) = time_boot_s(frame) else { return };
        match self.readings.last() {
            Some((last_at_s, last_s)) => {
                let passed_s = at_s - last_at_s;
                if said_s + self.before_boot_s < last_s - REBOOT_S {
                    // Assumes that its clock did not advance from the last message to the first one after the reboot.
                    self.before_boot_s = last_s + passed_s - said_s;
                    self.restarts.push((*last_s, self.before_boot_s));
                }
                if passed_s >= APART_S {
                    self.readings.push((at_s, (said_s + self.before_boot_s).max(*last_s)));
                }
            }
            None => self.readings.push((at_s, said_s)),
        }
    }

    /// Reboots on the autopilot's own clock: when it stopped sending, and when it booted.
    pub fn restarts(&self) -> &[(f64, f64)] {
        &self.restarts
    }

    /// The autopilot's time at the recorder's `at_s`; `None` if it never sent it.
    pub fn at(&self, at_s: f64) -> Option<f64> {
        let (first, last) = (self.readings.first()?, self.readings.last()?);
        let after = self.readings.partition_point(|(reading, _)| *reading <= at_s);
        let Some(from) = after.checked_sub(1).and_then(|index| self.readings.get(index)) else {
            return Some(first.1 - (first.0 - at_s));
        };
        let Some(to) = self.readings.get(after) else {
            return Some(last.1 + (at_s - last.0));
        };
        Some(from.1 + (to.1 - from.1) * (at_s - from.0) / (to.0 - from.0))
    }
}

fn time_boot_s(frame: &Frame) -> Option<f64> {
    // SYSTEM_TIME (2), EVENT (410); ATTITUDE (30), LOCAL_POSITION_NED (32), GLOBAL_POSITION_INT (33).
    let place = match frame.id {
        2 => 8,
        410 => 4,
        30 | 32 | 33 => 0,
        _ => return None,
    };
    let bytes: [u8; 4] = std::array::from_fn(|index| frame.payload.get(place + index).copied().unwrap_or(0));
    let milliseconds = u32::from_le_bytes(bytes);
    (milliseconds > 0).then(|| f64::from(milliseconds) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system_time(milliseconds: u32) -> Frame {
        let mut payload = vec![0; 8];
        payload.extend(milliseconds.to_le_bytes());
        Frame {
            system: 1,
            component: 1,
            id: 2,
            payload,
            raw: Vec::new(),
        }
    }

    fn clock(readings: &[(f64, u32)]) -> BootClock {
        let mut clock = BootClock::default();
        for (at_s, shown_s) in readings {
            clock.receive(*at_s, &system_time(*shown_s));
        }
        clock
    }

    #[test]
    fn a_slow_simulation_is_read_at_its_own_pace() {
        let clock = clock(&[(11.0, 10_000), (13.0, 11_000)]);
        assert_eq!(clock.at(12.0), Some(10.5));
        assert_eq!(
            clock.at(2.0),
            Some(1.0),
            "before its first word its clock is taken to run as ours"
        );
        assert_eq!(clock.at(15.0), Some(13.0), "and so after its last");
    }

    #[test]
    fn a_reboot_does_not_turn_time_back() {
        let clock = clock(&[(10.0, 10_000), (20.0, 1_000), (21.0, 2_000)]);
        assert_eq!(clock.at(21.0), Some(21.0));
        assert_eq!(clock.restarts(), [(10.0, 19.0)], "silent from 10 s, booted at 19 s");
    }

    #[test]
    fn a_silent_autopilot_has_no_clock() {
        assert_eq!(BootClock::default().at(1.0), None);
    }
}
