//! PX4's modes: `custom_mode` numbers, names, and what each allows.

/// MAV_MODE_FLAG_MANUAL_INPUT_ENABLED.
const MANUAL_INPUT: u8 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Manual,
    Altitude,
    Position,
    /// POSCTL with sub mode 2.
    PositionSlow,
    /// Around a point; entered by DO_ORBIT only.
    Orbit,
    Acro,
    Offboard,
    Stabilized,
    Takeoff,
    Hold,
    Mission,
    Return,
    Land,
    Follow,
    PrecisionLand,
    /// Mode of another program, by sub mode number: no such program runs.
    External(u8),
    /// A failsafe without a position; it cannot be chosen, and is reported as Land.
    Descend,
    Termination,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestedMode {
    Mode(Mode),
    Ignored,
    BadSubMode,
}

impl Mode {
    pub(super) fn from_numbers(main: u8, sub: u8) -> RequestedMode {
        RequestedMode::Mode(match (main, sub) {
            (1, _) => Self::Manual,
            (2, _) => Self::Altitude,
            (3, 2) => Self::PositionSlow,
            (3, _) => Self::Position,
            (5, _) => Self::Acro,
            (6, _) => Self::Offboard,
            (7, _) => Self::Stabilized,
            (4, 2) => Self::Takeoff,
            (4, 3) => Self::Hold,
            (4, 0 | 4) => Self::Mission,
            (4, 5) => Self::Return,
            (4, 6) => Self::Land,
            (4, sub @ 11..=18) => Self::External(sub),
            (4, 8) => Self::Follow,
            (4, 9) => Self::PrecisionLand,
            (4, _) => return RequestedMode::BadSubMode,
            _ => return RequestedMode::Ignored,
        })
    }

    pub(super) fn custom_mode(self) -> u32 {
        let (main, sub): (u32, u32) = match self {
            Self::Manual => (1, 0),
            Self::Altitude => (2, 0),
            Self::Position => (3, 0),
            Self::PositionSlow => (3, 2),
            Self::External(sub) => (4, u32::from(sub)),
            Self::Orbit => (3, 1),
            Self::Acro => (5, 0),
            Self::Offboard => (6, 0),
            Self::Stabilized => (7, 0),
            Self::Takeoff => (4, 2),
            Self::Hold => (4, 3),
            Self::Mission => (4, 4),
            Self::Return => (4, 5),
            Self::Land | Self::Descend => (4, 6),
            Self::Follow => (4, 8),
            Self::PrecisionLand => (4, 9),
            Self::Termination => (10, 0),
        };
        main << 16 | sub << 24
    }

    pub(super) fn base_mode(self) -> u8 {
        match self {
            Self::Offboard => 1,
            Self::Manual | Self::Altitude | Self::Position | Self::PositionSlow | Self::Acro | Self::Stabilized => 81,
            _ => 29,
        }
    }

    pub(super) fn follows_sticks(self) -> bool {
        self.base_mode() & MANUAL_INPUT != 0
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Manual => "Manual",
            Self::Altitude => "Altitude",
            Self::Position => "Position",
            Self::PositionSlow => "Position Slow",
            Self::External(_) => "External",
            Self::Orbit => "Orbit",
            Self::Acro => "Acro",
            Self::Offboard => "Offboard",
            Self::Stabilized => "Stabilized",
            Self::Takeoff => "Takeoff",
            Self::Hold => "Hold",
            Self::Mission => "Mission",
            Self::Return => "Return",
            Self::Land => "Land",
            Self::Follow => "Follow Target",
            Self::PrecisionLand => "Precision Land",
            Self::Descend => "Descend",
            Self::Termination => "Termination",
        }
    }

    /// Number in event arguments (navigation mode group of the event metadata).
    pub(super) fn event_number(self) -> u8 {
        match self {
            Self::Manual => 0,
            Self::Altitude => 1,
            Self::Position => 2,
            Self::PositionSlow => 16,
            Self::External(sub) => sub + 12,
            Self::Mission => 3,
            Self::Hold => 4,
            Self::Return => 5,
            Self::Acro => 6,
            Self::Offboard => 7,
            Self::Stabilized => 8,
            Self::Takeoff => 10,
            Self::Land => 11,
            Self::Follow => 12,
            Self::Orbit => 14,
            Self::PrecisionLand => 13,
            Self::Descend | Self::Termination => 255,
        }
    }

    /// Judges a vehicle with a position, but without stick input.
    pub(super) fn armable(self, mission: bool, offboard: bool) -> bool {
        matches!(self, Self::Takeoff | Self::Hold)
            || (self == Self::Mission && mission)
            || (self == Self::Offboard && offboard)
    }

    /// Needs no missing stick input or setpoints.
    pub(super) fn flyable(self, mission: bool, position: bool) -> bool {
        match self {
            Self::Land => true,
            Self::Mission => mission && position,
            Self::Takeoff | Self::Hold | Self::Orbit | Self::Return | Self::PrecisionLand | Self::Follow => position,
            _ => false,
        }
    }

    /// Arming in such a mode is refused as "not suitable".
    pub(super) fn is_descending(self) -> bool {
        matches!(self, Self::Return | Self::Land | Self::PrecisionLand | Self::Follow)
    }

    pub(super) fn needs_position(self) -> bool {
        matches!(
            self,
            Self::Takeoff | Self::Hold | Self::Mission | Self::Return | Self::PrecisionLand | Self::Follow
        )
    }
}
