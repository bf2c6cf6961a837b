//! libFuzzer's program for the agent's pilot.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::print_tally(&fuzz::flight::run(input)));
