//! Events about Remote ID transmitters, on their Vehicles.

use crate::cluster::events::Note;
use model::remote_id::Transmitter;

/// The Event when a transmitter reports `now` after `before`; `None`: nothing was known, as after a change of leader.
pub fn news(before: Option<&Transmitter>, now: &Transmitter) -> Option<Note> {
    use Transmitter::{Fails, Good, Lost, Unheard};
    if before == Some(now) {
        return None;
    }
    match (before, now) {
        (_, Fails(words)) => Some(Note::warning(
            "TransmitterNotGood",
            format!("the Remote ID transmitter is not good to arm: {words}"),
        )),
        (_, Lost) => Some(Note::warning(
            "TransmitterLost",
            "the Remote ID transmitter is not received any more; check its power and its line to the autopilot",
        )),
        (Some(Fails(_) | Lost | Unheard), Good) => Some(Note::normal(
            "TransmitterGood",
            "the Remote ID transmitter is good to arm",
        )),
        (None | Some(Good), Good) | (_, Unheard) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Transmitter::{Fails, Good, Lost, Unheard};

    #[test]
    fn each_change_of_a_transmitter_is_told_once_and_trouble_also_by_the_next_leader() {
        let reason =
            |before: Option<&Transmitter>, now: &Transmitter| news(before, now).map(|note| (note.reason, note.warning));
        let fails = |words: &str| Fails(words.to_owned());
        let (bad, worse) = (fails("GPS no fix"), fails("GPS no fix; low power"));
        assert_eq!(reason(Some(&Good), &bad), Some(("TransmitterNotGood", true)));
        assert_eq!(reason(Some(&bad), &bad), None);
        assert_eq!(reason(Some(&bad), &worse), Some(("TransmitterNotGood", true)));
        assert!(news(Some(&Good), &bad).unwrap().text.ends_with("GPS no fix"));
        assert_eq!(reason(Some(&worse), &Good), Some(("TransmitterGood", false)));
        assert_eq!(reason(Some(&Good), &Lost), Some(("TransmitterLost", true)));
        assert_eq!(reason(Some(&Unheard), &Good), Some(("TransmitterGood", false)));
        // Another leader knows nothing from before.
        assert_eq!(reason(None, &Good), None);
        assert_eq!(reason(None, &Unheard), None);
        assert_eq!(reason(None, &Lost), Some(("TransmitterLost", true)));
    }
}
