//! The conformance table.

use std::fmt::Write;

use super::compare::Verdict;
use super::explained::Explained;
use super::{Channel, Outcome};

pub const LEGEND: &str = "\
One line for each recording that agrees, and one for each channel in which a recording does not:
  NAME  same        CHANNEL COUNT, SECONDS; ...   COUNT statements are equal, the latest by SECONDS;
                                                  'and N lost': N answers that the recorder lost
                                                  'and N brief': N states under 1.1 s that one side reported
  NAME  DIFFERS     CHANNEL: #PLACE: recorded but simulated   the first statement that is another one
  NAME  DIFFERS     CHANNEL: #PLACE: statement +SECONDS       equal, but too late (-: too early)
  NAME  explained   CHANNEL: ... (reason)         a known deviation, from explained.json in the folder
  NAME  UNREADABLE  why                           the files do not hold a recording
  NAME  IDLE        CHANNEL #PLACE                an explanation of something that does not differ
Channels: acks (COMMAND_ACK), armed, mode, landed (landed_state), status (MAV_STATE), ready (prearm bit), charge
(battery charge_state), mission (current item, items reached), plans (mission protocol), params (PARAM_VALUE and
PARAM_ERROR), and texts (STATUSTEXT; counted without regard to order and numbers, never judged).
A statement may be 2 s and a tenth of the time since the last one early or late; answers must be equal and in order.";

pub fn table(outcomes: &[Outcome], explained: &Explained) -> String {
    let mut text = String::new();
    let width = outcomes.iter().map(|outcome| outcome.name.len()).max().unwrap_or(0);
    for Outcome { name, result } in outcomes {
        let comparison = match result {
            Ok(comparison) => comparison,
            Err(error) => {
                let _ = writeln!(text, "{name:width$}  UNREADABLE  {error}");
                continue;
            }
        };
        if comparison.is_same() {
            let texts = |(channel, verdict): &(Channel, Verdict)| match verdict {
                Verdict::Same {
                    count: 0,
                    lost: 0,
                    brief: 0,
                    ..
                }
                | Verdict::Texts { recorded: 0, .. } => None,
                verdict => Some(format!("{} {verdict}", channel.name())),
            };
            let texts: Vec<String> = comparison.0.iter().filter_map(texts).collect();
            let _ = writeln!(text, "{name:width$}  same        {}", texts.join("; "));
        }
        for (channel, verdict) in comparison.differences() {
            let channel_name = channel.name();
            let reason = verdict
                .place()
                .and_then(|place| explained.reason(name, channel_name, place));
            let _ = match reason {
                Some(reason) => writeln!(text, "{name:width$}  explained   {channel_name}: {verdict} ({reason})"),
                None => writeln!(text, "{name:width$}  DIFFERS     {channel_name}: {verdict}"),
            };
        }
    }
    for entry in super::idle(outcomes, explained) {
        let _ = writeln!(
            text,
            "{:width$}  IDLE        {} #{} does not differ any more: take the explanation out",
            entry.recording, entry.channel, entry.place
        );
    }
    let same = outcomes.iter().filter(|outcome| outcome.is_same()).count();
    let _ = writeln!(text, "{same} of {} recordings are the same", outcomes.len());
    text
}
