//! `Inventory`: the aircraft by its autopilot's account.

use crate::v1;
use model::inventory::{BatteryWear, Board, Inventory};
use model::units::Percent;

impl From<Inventory> for v1::Inventory {
    fn from(inventory: Inventory) -> Self {
        let board = inventory.board.unwrap_or_default();
        Self {
            board_number: board.number.into(),
            usb_vendor: board.vendor.into(),
            usb_product: board.product.into(),
            battery_cycles: inventory.wear.cycles.map(Into::into),
            battery_health_percent: inventory.wear.health.map(|health| health.get().into()),
        }
    }
}

/// Values out of range are unknown.
impl From<v1::Inventory> for Inventory {
    fn from(inventory: v1::Inventory) -> Self {
        let number = |number: u32| u16::try_from(number).unwrap_or_default();
        let board = Board {
            number: number(inventory.board_number),
            vendor: number(inventory.usb_vendor),
            product: number(inventory.usb_product),
        };
        let health = inventory.battery_health_percent;
        Self {
            board: (board != Board::default()).then_some(board),
            wear: BatteryWear {
                cycles: inventory.battery_cycles.and_then(|cycles| u16::try_from(cycles).ok()),
                health: health.and_then(|health| Percent::new(u8::try_from(health).ok()?)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_not_known_and_refuses_no_report() {
        let read = Inventory::from(v1::Inventory {
            board_number: 70_000,
            usb_vendor: 0x26ac,
            usb_product: 0x11,
            battery_cycles: Some(70_000),
            battery_health_percent: Some(101),
        });
        let board = Board {
            vendor: 0x26ac,
            product: 0x11,
            ..Board::default()
        };
        assert_eq!((read.board, read.wear), (Some(board), BatteryWear::default()));
    }
}
