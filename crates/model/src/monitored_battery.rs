//! Which of the batteries that an autopilot monitors drive the motors.

use crate::units::Percent;
use std::collections::BTreeSet;
use std::str::FromStr;

/// By BATTERY_STATUS (147).battery_function, or a person's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Drives {
    /// The motors, alone or with all else (ALL, PROPULSION), or not reported. ArduPilot never reports it; PX4 always reports ALL.
    #[default]
    Motors,
    /// MAV_BATTERY_FUNCTION_AVIONICS.
    Avionics,
    /// MAV_BATTERY_FUNCTION_PAYLOAD.
    Payload,
    /// Not the motors, by a person's choice of ids.
    LeftOut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherBattery {
    pub id: u8,
    pub drives: Drives,
    pub remaining: Option<Percent>,
}

/// The ids of the batteries that drive the motors, as a person named them. Empty: all but those of which the autopilot says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MotorBatteries(BTreeSet<u8>);

impl MotorBatteries {
    /// `drives`: what the autopilot reports.
    pub fn judge(&self, id: u8, drives: Drives) -> Drives {
        match drives {
            _ if self.0.contains(&id) => Drives::Motors,
            Drives::Motors if !self.0.is_empty() => Drives::LeftOut,
            said => said,
        }
    }
}

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
