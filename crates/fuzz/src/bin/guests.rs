//! libFuzzer's program for the pass-through.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::print_tally(&fuzz::guests::run(input)));
