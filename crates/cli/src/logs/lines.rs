//! Prints a flight log line by line.

use super::source::Source;
use crate::failure::Failure;
use crate::server::logs::no_sense;
use crate::vehicle::printable;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proto::v1;
use proto::v1::log_answer::What as Answer;
use proto::v1::log_question::What as Question;
use std::io::Write;
use std::time::Duration;
use tokio::time::sleep;

const ASK_INTERVAL: Duration = Duration::from_millis(500);

pub async fn print(source: &mut impl Source, name: &str, zone: &TimeZone, out: &mut impl Write) -> Result<(), Failure> {
    let mut place = v1::LogLines {
        name: name.to_owned(),
        ..v1::LogLines::default()
    };
    while !step(source, &mut place, zone, out).await?.end {}
    Ok(())
}

pub async fn follow(source: &mut impl Source, zone: &TimeZone, out: &mut impl Write) -> Result<(), Failure> {
    let mut place = v1::LogLines {
        from_the_end: true,
        ..v1::LogLines::default()
    };
    loop {
        let text = step(source, &mut place, zone, out).await?;
        if text.end && !text.newer.is_empty() {
            (place.name, place.offset) = (text.newer, 0);
        } else if text.end {
            sleep(ASK_INTERVAL).await;
        }
    }
}

async fn step(
    source: &mut impl Source,
    place: &mut v1::LogLines,
    zone: &TimeZone,
    out: &mut impl Write,
) -> Result<v1::LogText, Failure> {
    let Answer::Text(text) = source.ask(Question::Lines(place.clone())).await? else {
        return Err(no_sense());
    };
    for line in &text.lines {
        writeln!(out, "{} {}", time(line.at_ms, zone), printable(&line.text))?;
    }
    out.flush()?;
    *place = v1::LogLines {
        name: text.name.clone(),
        offset: text.next,
        from_the_end: false,
        context: text.context,
    };
    Ok(text)
}

fn time(ms: u64, zone: &TimeZone) -> String {
    let at = i64::try_from(ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(
        || "-".to_owned(),
        |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S%.3f").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    struct Scripted(VecDeque<(v1::LogLines, v1::LogText)>);

    impl Source for Scripted {
        async fn ask(&mut self, question: Question) -> Result<Answer, Failure> {
            let Some((expected, text)) = self.0.pop_front() else {
                return Err(Failure::Failed("over".to_owned()));
            };
            assert_eq!(question, Question::Lines(expected));
            Ok(Answer::Text(text))
        }
    }

    fn asked(name: &str, offset: u64, from_the_end: bool, context: u64) -> v1::LogLines {
        let name = name.to_owned();
        v1::LogLines {
            name,
            offset,
            from_the_end,
            context,
        }
    }

    fn sent(line: &str, name: &str, next: u64, end: bool, newer: &str) -> v1::LogText {
        let line = v1::LogLine {
            at_ms: 1_795_248_123_045,
            text: line.to_owned(),
        };
        v1::LogText {
            lines: vec![line],
            name: name.to_owned(),
            next,
            end,
            context: 7,
            newer: newer.to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_log_is_followed_into_the_next_one() {
        let mut source = Scripted(VecDeque::from([
            (asked("", 0, true, 0), sent("armed", "a", 50, true, "")),
            (asked("a", 50, false, 7), sent("mode\u{1b} LAND", "a", 60, false, "b")),
            (asked("a", 60, false, 7), sent("disarmed", "a", 70, true, "b")),
            (asked("b", 0, false, 7), sent("armed", "b", 5, true, "")),
        ]));
        let mut out = Vec::new();
        let over = follow(&mut source, &TimeZone::UTC, &mut out).await.unwrap_err();
        assert_eq!(over.to_string(), "over");
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\
2026-11-21 08:02:03.045 armed
2026-11-21 08:02:03.045 mode  LAND
2026-11-21 08:02:03.045 disarmed
2026-11-21 08:02:03.045 armed
"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn one_log_is_printed_to_its_end() {
        let mut source = Scripted(VecDeque::from([
            (asked("a", 0, false, 0), sent("armed", "a", 50, false, "b")),
            (asked("a", 50, false, 7), sent("disarmed", "a", 60, true, "b")),
        ]));
        let mut out = Vec::new();
        print(&mut source, "a", &TimeZone::UTC, &mut out).await.unwrap();
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 2);
    }
}
