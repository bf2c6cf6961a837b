//! The target finds true frames and notices what is wrong.

use super::*;

#[test]
fn the_true_frames_are_true() {
    for frame in HEARTBEATS {
        assert!(link::raw::RawFrame::parse(frame).is_ok(), "{frame:02X?}");
    }
}

#[test]
fn a_wrong_checksum_is_noticed() {
    let mut frame = link::raw::RawFrame::parse(HEARTBEATS[0]).unwrap();
    assert!(line::has_good_checksum(&frame));
    let mut bytes = frame.bytes.to_vec();
    bytes[13] ^= 4;
    frame.bytes = bytes.into();
    assert!(!line::has_good_checksum(&frame));
}

#[test]
fn an_input_of_true_frames_is_read_and_accepted() {
    // True frames, signed frames, and one signed frame again.
    let tally = run(&[2, 10, 3, 1, 3, 1, 4, 0]);
    assert_eq!((tally.frames, tally.read, tally.believed), (5, 5, 2));
}

#[test]
fn noise_before_a_true_frame_does_not_lose_it() {
    let mut input = vec![7 | 9 << 3, 0xFD, 0xFF, 0, 1, 2, 3, 4, 0xFE, 200];
    input.push(2);
    assert_eq!(run(&input).read, 1);
}

#[test]
#[should_panic(expected = "unaccounted")]
fn a_byte_that_is_lost_is_noticed() {
    let mut line = Line::default();
    line.chunk(&[0xFE, 9]);
    line.lose_a_byte();
    line.chunk(&[0]);
}
