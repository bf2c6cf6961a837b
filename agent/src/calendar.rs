//! The dates of moments, for traces.

use model::time::Moment;
use std::time::{Duration, SystemTime};

/// Both clocks differ by more where the date was set meanwhile.
const SET: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Calendar {
    epoch: SystemTime,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            epoch: SystemTime::UNIX_EPOCH,
        }
    }
}

impl Calendar {
    pub fn set(&mut self, now: Moment, date: SystemTime) {
        let Some(epoch) = date.checked_sub(now.since_epoch()) else {
            return;
        };
        let differs = epoch
            .duration_since(self.epoch)
            .unwrap_or_else(|before| before.duration());
        if differs > SET {
            self.epoch = epoch;
        }
    }

    pub fn date(&self, moment: Moment) -> SystemTime {
        self.epoch + moment.since_epoch()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_moment_keeps_its_date_until_the_clock_is_set() {
        let (mut calendar, start) = (Calendar::default(), SystemTime::UNIX_EPOCH + ms(1_800_000_000_000));
        calendar.set(Moment::at(ms(1000)), start);
        let date = calendar.date(Moment::at(ms(400)));
        assert_eq!(date, start - ms(600));
        calendar.set(Moment::at(ms(2000)), start + ms(1003));
        assert_eq!(
            calendar.date(Moment::at(ms(400))),
            date,
            "the clocks were read one after the other"
        );
        calendar.set(Moment::at(ms(3000)), start + ms(3_600_000));
        assert_eq!(
            calendar.date(Moment::at(ms(3000))),
            start + ms(3_600_000),
            "NTP has set it"
        );
    }
}
