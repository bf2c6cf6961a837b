//! Names of a Swarm's Drones: `<swarm>-<adjective>-<noun>`, the same sequence each time for the same Swarm.

use petname::lang::english::Petnames;

/// That of a DNS label.
pub const MAX_LENGTH: usize = 63;

/// Endless, each a DNS label of at most [`MAX_LENGTH`] characters; a few may occur twice. The caller skips names in use.
pub fn drone_names(swarm: &str, uid: &str) -> impl Iterator<Item = String> {
    let words = Petnames::small();
    let seed = fnv1a(uid.as_bytes());
    let swarm = swarm.replace('.', "-");
    (0u64..).map(move |i| {
        let bits = mix(seed.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let adjective = word(&words.adjectives, bits & 0xffff_ffff, "good");
        let noun = word(&words.nouns, bits >> 32, "bird");
        let tail = format!("{adjective}-{noun}");
        let room = MAX_LENGTH.saturating_sub(tail.len() + 1);
        let head: String = swarm.chars().take(room).collect();
        format!("{}-{tail}", head.trim_end_matches('-'))
    })
}

fn word<'a>(words: &[&'a str], bits: u64, otherwise: &'a str) -> &'a str {
    let index = usize::try_from(bits).unwrap_or_default() % words.len().max(1);
    words.get(index).copied().unwrap_or(otherwise)
}

/// FNV-1a, 64 bits: stable over versions of Rust, which `std`'s hashers do not promise.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| {
        (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The finalizer of splitmix64: spreads neighboring numbers over all bits.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn two_coordinators_think_of_the_same_names_for_a_swarm() {
        let first: Vec<_> = drone_names("alpha", "uid-1").take(50).collect();
        assert_eq!(first, drone_names("alpha", "uid-1").take(50).collect::<Vec<_>>());
        assert_ne!(first, drone_names("alpha", "uid-2").take(50).collect::<Vec<_>>());
    }

    #[test]
    fn there_are_enough_different_names_for_the_largest_swarm() {
        let different: HashSet<_> = drone_names("alpha", "uid-1").take(20_000).collect();
        assert!(different.len() >= 10_000, "{}", different.len());
    }

    #[test]
    fn each_name_is_a_dns_label_however_long_the_swarm_name_is() {
        for swarm in [
            "a",
            "alpha.field.example",
            &"x".repeat(253),
            &format!("{}-{}", "y".repeat(49), "z".repeat(60)),
        ] {
            for name in drone_names(swarm, "3f6c").take(500) {
                assert!(name.len() <= MAX_LENGTH, "{name}");
                assert!(
                    name.bytes()
                        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                    "{name}"
                );
                assert!(
                    !name.starts_with('-') && !name.ends_with('-') && !name.contains("--"),
                    "{name}"
                );
            }
        }
    }
}
