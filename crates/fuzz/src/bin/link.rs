//! libFuzzer's program for the link's reader.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::print_tally(&fuzz::reader::run(input)));
