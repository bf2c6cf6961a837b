//! libFuzzer's program for the link's reader.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::tell(&fuzz::reader::run(input)));
