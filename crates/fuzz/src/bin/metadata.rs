//! libFuzzer's program for the autopilot's descriptions of itself.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::print_tally(&fuzz::metadata::run(input)));
