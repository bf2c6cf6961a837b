//! What an autopilot reports of the aircraft itself, for the inventory only: nothing is decided by it.

use crate::units::Percent;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// `None` until it answered, and where the autopilot does not know.
    pub board: Option<Board>,
    /// Of the most worn of several batteries.
    pub wear: BatteryWear,
}

/// From AUTOPILOT_VERSION (148); 0 is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Board {
    /// The upper 16 bits of board_version: the number that ArduPilot and PX4 assign to each board.
    pub number: u16,
    pub vendor: u16,
    pub product: u16,
}

impl Board {
    /// `None` where no field says anything.
    pub fn of(board_version: u32, vendor: u16, product: u16) -> Option<Self> {
        let board = Self {
            number: u16::try_from(board_version >> 16).unwrap_or_default(),
            vendor,
            product,
        };
        (board != Self::default()).then_some(board)
    }
}

/// From BATTERY_INFO (372), sent by smart batteries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatteryWear {
    pub cycles: Option<u16>,
    /// Present full capacity as a share of the design capacity.
    pub health: Option<Percent>,
}

impl BatteryWear {
    /// The worse of both, of each.
    pub fn or_worse(self, other: Self) -> Self {
        let least = |one: Option<Percent>, other: Option<Percent>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self {
            cycles: self.cycles.max(other.cycles),
            health: least(self.health, other.health),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_of_which_nothing_is_told_is_none() {
        assert_eq!(Board::of(0xffff, 0, 0), None, "the lower half is a revision");
        let board = Board {
            number: 9,
            vendor: 0x26ac,
            product: 0x11,
        };
        assert_eq!(Board::of(9 << 16 | 3, 0x26ac, 0x11), Some(board));
    }

    #[test]
    fn of_several_batteries_the_one_that_is_worn_most_counts() {
        let wear = |cycles, health: Option<u8>| BatteryWear {
            cycles,
            health: health.and_then(Percent::new),
        };
        let both = wear(Some(40), Some(98)).or_worse(wear(Some(210), Some(81)));
        assert_eq!(both, wear(Some(210), Some(81)));
        assert_eq!(both.or_worse(wear(None, None)), both, "one that says nothing");
        assert_eq!(wear(None, None).or_worse(both), both);
    }
}
