//! libFuzzer's program for the agent's pilot.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::tell(&fuzz::flight::run(input)));
