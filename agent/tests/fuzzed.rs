//! The two fuzz targets as plain tests: their seeds, and as many inputs again from a fixed seed; `SKEIN_INPUTS` asks
//! for more. Must not: replace `cargo xtask fuzz`, which is guided by coverage.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]
#![allow(dead_code, reason = "the programs of the package use the rest")]

#[path = "../../crates/fuzz/src"]
mod fuzz {
    pub mod bytes;
    pub mod flight;
    pub mod reader;
    pub mod seeds;
}

use fuzz::{bytes, flight, reader, seeds};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::panic::catch_unwind;
use std::path::Path;

const MADE: u64 = 4000;

fn made() -> u64 {
    std::env::var("SKEIN_INPUTS").map_or(MADE, |n| n.parse().unwrap())
}

fn input(seeds: &[Vec<u8>], longest: usize, n: u64) -> Vec<u8> {
    let mut rng = StdRng::seed_from_u64(n);
    if rng.random_ratio(1, 4) {
        let length = rng.random_range(0..=longest);
        return (0..length).map(|_| rng.random()).collect();
    }
    let mut input = seeds[rng.random_range(0..seeds.len())].clone();
    for _ in 0..rng.random_range(1..=16) {
        let at = rng.random_range(0..input.len().max(1));
        match rng.random_range(0..4) {
            0 => input.truncate(at),
            1 => input.insert(at.min(input.len()), rng.random()),
            2 => input.extend_from_within(at.min(input.len())..),
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = rng.random();
                }
            }
        }
    }
    input.truncate(longest);
    input
}

/// Returns the sum of the target's counts for generated inputs.
fn all(seeds: &[Vec<u8>], longest: usize, target: fn(&[u8]) -> u64) -> u64 {
    for seed in seeds {
        target(seed);
    }
    let run = |n| {
        let input = input(seeds, longest, n);
        catch_unwind(|| target(&input)).unwrap_or_else(|_| panic!("input {n} fails: {input:?}"))
    };
    (0..made()).map(run).sum()
}

#[test]
fn no_input_makes_the_reader_lose_a_byte_or_believe_what_it_must_not() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/sitl/tests/recordings");
    let seeds = seeds::reader(&recordings).unwrap();
    let read = all(&seeds, 4096, |input| reader::run(input).read);
    assert!(read > made(), "{read} frames could be read");
}

#[test]
fn no_input_makes_the_pilot_do_what_it_must_not() {
    let arms = all(&seeds::flight(), 600, |input| flight::run(input).arms);
    assert!(arms > made() / 4, "{arms} times armed");
}
