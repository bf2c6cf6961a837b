//! Where the autopilot's metadata is: COMPONENT_METADATA (397), or the older COMPONENT_INFORMATION (395).
#![allow(deprecated, reason = "autopilots of some years ago know only the older message")]

use link::dialect::MavMessage;

/// The newer one first.
pub(super) const MESSAGES: [u16; 2] = [397, 395];

/// URI and checksum of the index.
pub(super) fn named(message: &MavMessage) -> Option<(String, u32)> {
    let (uri, crc) = match message {
        MavMessage::COMPONENT_METADATA(m) => (&m.uri, m.file_crc),
        MavMessage::COMPONENT_INFORMATION(m) => (&m.general_metadata_uri, m.general_metadata_file_crc),
        _ => return None,
    };
    Some((uri.to_str().unwrap_or_default().to_owned(), crc))
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::dialect::{COMPONENT_INFORMATION_DATA, COMPONENT_METADATA_DATA, HEARTBEAT_DATA};

    #[test]
    fn both_messages_name_the_index() {
        let newer = MavMessage::COMPONENT_METADATA(COMPONENT_METADATA_DATA {
            file_crc: 7,
            uri: "mftp://a".into(),
            ..COMPONENT_METADATA_DATA::default()
        });
        let older = MavMessage::COMPONENT_INFORMATION(COMPONENT_INFORMATION_DATA {
            general_metadata_file_crc: 8,
            general_metadata_uri: "mftp://b".into(),
            ..COMPONENT_INFORMATION_DATA::default()
        });
        assert_eq!(named(&newer), Some(("mftp://a".to_owned(), 7)));
        assert_eq!(named(&older), Some(("mftp://b".to_owned(), 8)));
        assert_eq!(named(&MavMessage::HEARTBEAT(HEARTBEAT_DATA::default())), None);
    }

    #[test]
    fn a_uri_that_is_no_text_is_an_empty_one() {
        let broken = MavMessage::COMPONENT_METADATA(COMPONENT_METADATA_DATA {
            uri: [0xFF; 100].into(),
            ..COMPONENT_METADATA_DATA::default()
        });
        assert_eq!(named(&broken), Some((String::new(), 0)));
    }
}
