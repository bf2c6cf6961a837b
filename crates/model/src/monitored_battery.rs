//! Which of the batteries that an autopilot monitors drive the motors.

use crate::units::Percent;
use std::collections::BTreeSet;
use std::str::FromStr;

/// What a battery drives, by BATTERY_STATUS (147).battery_function, or by a person's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Drives {
    /// The motors, alone or with all else (ALL, PROPULSION), or the autopilot does not say. ArduPilot never says, and PX4 says ALL of each.
    #[default]
    Motors,
    /// MAV_BATTERY_FUNCTION_AVIONICS.
    Avionics,
    /// MAV_BATTERY_FUNCTION_PAYLOAD.
    Payload,
    /// Not the motors, by the person's choice of ids.
    LeftOut,
}

/// A battery that does not drive the motors, as it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherBattery {
    /// BATTERY_STATUS.id, from 0.
    pub id: u8,
    pub drives: Drives,
    /// What is left in it; `None` when not known.
    pub remaining: Option<Percent>,
}

/// The ids of the batteries that drive the motors, where a person has named them; none named: all but those of which the autopilot says
/// otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MotorBatteries(BTreeSet<u8>);

impl MotorBatteries {
    /// What the battery with this id drives, of which the autopilot says that it `drives` this.
    pub fn judge(&self, id: u8, drives: Drives) -> Drives {
        match drives {
            _ if self.0.contains(&id) => Drives::Motors,
            Drives::Motors if !self.0.is_empty() => Drives::LeftOut,
            said => said,
        }
    }
}

/// A list of ids that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadIds;

impl FromStr for MotorBatteries {
    type Err = BadIds;

    /// Ids from 0 to 255, separated by commas; an empty text names none.
    fn from_str(text: &str) -> Result<Self, BadIds> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let ids = text.split(',').map(|id| id.trim().parse::<u8>().map_err(|_| BadIds));
        ids.collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_choice_what_the_autopilot_says_counts() {
        let all: MotorBatteries = "".parse().unwrap();
        for said in [Drives::Motors, Drives::Avionics, Drives::Payload] {
            assert_eq!(all.judge(1, said), said);
        }
    }

    #[test]
    fn with_a_choice_the_ids_that_it_names_drive_the_motors_and_no_others() {
        let chosen: MotorBatteries = "0, 2".parse().unwrap();
        assert_eq!(chosen.judge(0, Drives::Motors), Drives::Motors);
        assert_eq!(chosen.judge(1, Drives::Motors), Drives::LeftOut);
        assert_eq!(chosen.judge(1, Drives::Payload), Drives::Payload);
        assert_eq!(chosen.judge(2, Drives::Avionics), Drives::Motors, "the person knows");
    }

    #[test]
    fn a_list_of_ids_is_numbers_of_one_byte() {
        for bad in ["BATT2", "-1", "0,", "256", "0;1"] {
            assert_eq!(bad.parse::<MotorBatteries>(), Err(BadIds), "{bad}");
        }
    }
}
