//! The binary half of a recording: each packet is Unix time in microseconds (8 bytes, big-endian) and the MAVLink
//! frame.

use sitl::wire::{Frame, FrameReader};

#[derive(Clone, Debug, Default)]
pub struct Tlog {
    /// Frames of the dialect with a valid checksum, with Unix seconds.
    pub frames: Vec<(f64, Frame)>,
    /// For every frame, including unknown ones: Unix seconds, sender, sequence number.
    pub numbers: Vec<(f64, (u8, u8), u8)>,
}

/// The error: the position without a frame, as a text.
pub fn read(tlog: &[u8]) -> Result<Tlog, String> {
    let (mut rest, mut found) = (tlog, Tlog::default());
    while let Some((stamp, after)) = rest.split_first_chunk::<8>() {
        let (length, sender, number) = match after {
            [0xFD, length, flags, _, number, system, component, ..] => {
                let signature = if flags & 1 == 0 { 0 } else { 13 };
                (12 + usize::from(*length) + signature, (*system, *component), *number)
            }
            [0xFE, length, number, system, component, ..] => (8 + usize::from(*length), (*system, *component), *number),
            [0xFD | 0xFE, ..] | [] => break,
            [other, ..] => {
                let place = tlog.len() - rest.len() + stamp.len();
                return Err(format!("byte {place}: no frame begins with {other:#04x}"));
            }
        };
        // The last frame may be incomplete.
        let Some((frame, after)) = after.split_at_checked(length) else {
            break;
        };
        let at = u64::from_be_bytes(*stamp) as f64 / 1e6;
        found.numbers.push((at, sender, number));
        let mut reader = FrameReader::default();
        reader.push(frame);
        if let Some(frame) = reader.next_frame() {
            found.frames.push((at, frame));
        }
        rest = after;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sitl::wire::{CommandAck, Outgoing, Sender};

    fn packet(sender: &mut Sender) -> Vec<u8> {
        let ack = CommandAck {
            command: 400,
            result: 0,
            target_system: 255,
            target_component: 190,
        };
        let mut packet = 1_000_000_u64.to_be_bytes().to_vec();
        packet.extend(sender.encode(&Outgoing::Ack(ack)));
        packet
    }

    #[test]
    fn frames_have_their_times_and_numbers() {
        let mut sender = Sender::new(1, 1);
        let bytes = [packet(&mut sender), packet(&mut sender)].concat();
        let tlog = read(&bytes).expect("two frames");
        assert_eq!(tlog.frames.len(), 2);
        assert_eq!(tlog.numbers, [(1.0, (1, 1), 0), (1.0, (1, 1), 1)]);
    }

    #[test]
    fn a_half_written_last_frame_is_left_out() {
        let bytes = packet(&mut Sender::new(1, 1));
        for cut in [1, 3, bytes.len() - 9] {
            let tlog = read(&bytes[..bytes.len() - cut]).expect("cut off");
            assert_eq!(tlog.frames.len(), 0, "{cut} bytes short");
        }
    }

    #[test]
    fn something_else_than_a_frame_is_named_with_its_place() {
        let mut bytes = packet(&mut Sender::new(1, 1));
        let place = bytes.len() + 8;
        bytes.extend([0; 16]);
        assert_eq!(
            read(&bytes).expect_err("zeros"),
            format!("byte {place}: no frame begins with 0x00")
        );
    }
}
