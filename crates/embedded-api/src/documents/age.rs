//! Time since an instant in the few characters of a table cell: `45s`, `9m17s`, `3h5m`, `2d4h`, `8y`.

use jiff::Timestamp;

pub const UNKNOWN: &str = "<unknown>";
/// The time cannot be read, or is in the future.
pub const INVALID: &str = "<invalid>";

#[must_use]
pub fn of(time: &str, now: Timestamp) -> String {
    if time.is_empty() {
        return UNKNOWN.to_owned();
    }
    match time.parse::<Timestamp>() {
        Ok(time) => short(now.duration_since(time).as_millis()),
        Err(_) => INVALID.to_owned(),
    }
}

/// Clocks may differ by a second: slightly below zero is zero.
fn short(millis: i128) -> String {
    let seconds = millis / 1000;
    if seconds < -1 {
        return INVALID.to_owned();
    }
    if millis < 0 {
        return "0s".to_owned();
    }
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, "d", hours % 24, "h"),
        () if years < 2 => format!("{days}d"),
        () if years < 8 => two(years, "y", days % 365, "d"),
        () => format!("{years}y"),
    }
}

fn two(large: i128, unit: &str, small: i128, small_unit: &str) -> String {
    if small == 0 {
        return format!("{large}{unit}");
    }
    format!("{large}{unit}{small}{small_unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_gets_coarser_as_it_grows() {
        const MINUTE: i128 = 60;
        const HOUR: i128 = 60 * MINUTE;
        const DAY: i128 = 24 * HOUR;
        let cases = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (10 * MINUTE - 1, "9m59s"),
            (10 * MINUTE, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 5 * MINUTE, "3h5m"),
            (8 * HOUR - 1, "7h59m"),
            (8 * HOUR, "8h"),
            (48 * HOUR - 1, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + 4 * HOUR, "2d4h"),
            (8 * DAY - 1, "7d23h"),
            (8 * DAY, "8d"),
            (730 * DAY - 1, "729d"),
            (730 * DAY, "2y"),
            (731 * DAY, "2y1d"),
            (8 * 365 * DAY, "8y"),
        ];
        for (seconds, age) in cases {
            assert_eq!(short(seconds * 1000), age, "{seconds} seconds");
        }
        assert_eq!(short(-500), "0s");
    }

    #[test]
    fn what_is_no_time_has_no_age() {
        let now = "2026-11-21T06:00:00Z".parse().expect("a time");
        assert_eq!(of("yesterday", now), INVALID);
        assert_eq!(of("2026-11-21T05:59:15.250000Z", now), "44s");
    }
}
