//! Seeded randomness, the same in every run (SplitMix64).

#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        let mix = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        Self(name.bytes().fold(seed ^ 0xCBF2_9CE4_8422_2325, mix))
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    pub fn hits(&mut self, percent: f64) -> bool {
        percent > 0.0 && ((self.number() >> 11) as f64 / (1u64 << 53) as f64) * 100.0 < percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_percent_is_about_one_in_a_hundred_and_two_vehicles_do_not_share_their_luck() {
        let mut chance = Chance::new(1, "north");
        let hits = (0..100_000).filter(|_| chance.hits(1.0)).count();
        assert!((900..1100).contains(&hits), "{hits}");
        assert_ne!(Chance::new(1, "north").number(), Chance::new(1, "south").number());
        assert_eq!(Chance::new(1, "north").number(), Chance::new(1, "north").number());
    }
}
