//! Frames of the autopilot that the recorder missed: each frame of a sender has the number of the one before plus one
//! (MAVLink guide, packet loss), so a missing number was sent and lost.

/// A frame may arrive this many numbers late and still count as late.
const LATE: u8 = 16;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Arrival of the frame before, seconds.
    pub from_s: f64,
    pub to_s: f64,
    pub missing: u8,
}

#[derive(Clone, Debug, Default)]
pub struct Gaps {
    last: Option<(f64, u8)>,
    found: Vec<Gap>,
}

impl Gaps {
    pub fn receive(&mut self, at_s: f64, number: u8) {
        let Some((last_s, last)) = self.last else {
            self.last = Some((at_s, number));
            return;
        };
        let missing = number.wrapping_sub(last).wrapping_sub(1);
        if missing >= u8::MAX - LATE {
            // Overtaken by other frames, it was counted as missing.
            if let Some(gap) = self.found.iter_mut().rev().find(|gap| gap.missing > 0) {
                gap.missing -= 1;
            }
            return;
        }
        // Half of the numbers or more is not a loss but a restart.
        if (1..128).contains(&missing) {
            self.found.push(Gap {
                from_s: last_s,
                to_s: at_s,
                missing,
            });
        }
        self.last = Some((at_s, number));
    }

    pub fn done(self) -> Vec<Gap> {
        self.found.into_iter().filter(|gap| gap.missing > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(numbers: &[u8]) -> Vec<(f64, u8)> {
        let mut gaps = Gaps::default();
        for (place, number) in numbers.iter().enumerate() {
            gaps.receive(place as f64, *number);
        }
        gaps.done().into_iter().map(|gap| (gap.from_s, gap.missing)).collect()
    }

    #[test]
    fn missing_numbers_are_a_gap_also_where_they_wrap() {
        assert_eq!(gaps(&[7, 8, 11, 12]), [(1.0, 2)]);
        assert_eq!(gaps(&[254, 1]), [(0.0, 2)]);
        assert_eq!(gaps(&[1, 2, 3]), []);
    }

    #[test]
    fn a_frame_that_was_overtaken_is_not_lost() {
        assert_eq!(gaps(&[10, 12, 11, 13]), []);
    }

    #[test]
    fn a_restart_is_distinguished_from_a_loss_by_more_than_half_of_the_numbers() {
        assert_eq!(gaps(&[48, 0, 1]), []);
        assert_eq!(gaps(&[200, 0, 1]), [(0.0, 55)], "less cannot be distinguished");
    }
}
