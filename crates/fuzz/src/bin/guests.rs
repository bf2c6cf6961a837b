//! libFuzzer's program for the pass-through.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::tell(&fuzz::guests::run(input)));
