//! Aircraft of others, in reports.

use super::{moment, ms};
use crate::convert::{BadMessage, place, within};
use crate::v1;
use model::traffic::{Aircraft, Altitude, MOST_REPORTED};
use model::units::AltitudeAmsl;
use v1::aircraft::Altitude as Reported;

/// Meters per second, faster than anything that flies.
const FASTEST: f64 = 1000.0;

impl From<&Aircraft> for v1::Aircraft {
    fn from(aircraft: &Aircraft) -> Self {
        Self {
            icao_address: aircraft.icao,
            latitude_deg: aircraft.at.latitude_deg,
            longitude_deg: aircraft.at.longitude_deg,
            altitude: aircraft.altitude.map(|altitude| match altitude {
                Altitude::Satellite(amsl) => Reported::SatelliteM(amsl.0),
                Altitude::Pressure(amsl) => Reported::PressureM(amsl.0),
            }),
            velocity: aircraft
                .velocity
                .map(|[east_m_s, north_m_s]| v1::AircraftVelocity { east_m_s, north_m_s }),
            climb_m_s: aircraft.climb,
            may_be_uncrewed: aircraft.may_be_uncrewed,
            seen_ms: ms(aircraft.seen),
        }
    }
}

impl TryFrom<v1::Aircraft> for Aircraft {
    type Error = BadMessage;

    fn try_from(aircraft: v1::Aircraft) -> Result<Self, BadMessage> {
        let speed = |field, got| within(field, got, -FASTEST, FASTEST, "at most 1000 m/s");
        let height = |field, got| within(field, got, f64::MIN, f64::MAX, "a number").map(AltitudeAmsl);
        let at = place(
            ("traffic.latitude_deg", aircraft.latitude_deg),
            ("traffic.longitude_deg", aircraft.longitude_deg),
        )?;
        let altitude = match aircraft.altitude {
            None => None,
            Some(Reported::SatelliteM(got)) => Some(Altitude::Satellite(height("traffic.satellite_m", got)?)),
            Some(Reported::PressureM(got)) => Some(Altitude::Pressure(height("traffic.pressure_m", got)?)),
        };
        let velocity = match aircraft.velocity {
            None => None,
            Some(v1::AircraftVelocity { east_m_s, north_m_s }) => Some([
                speed("traffic.velocity.east_m_s", east_m_s)?,
                speed("traffic.velocity.north_m_s", north_m_s)?,
            ]),
        };
        let climb = aircraft.climb_m_s;
        Ok(Self {
            icao: aircraft.icao_address,
            at,
            altitude,
            velocity,
            climb: climb.map(|got| speed("traffic.climb_m_s", got)).transpose()?,
            may_be_uncrewed: aircraft.may_be_uncrewed,
            seen: moment(aircraft.seen_ms),
        })
    }
}

pub(super) fn traffic(reported: Vec<v1::Aircraft>) -> Result<Vec<Aircraft>, BadMessage> {
    if reported.len() > MOST_REPORTED {
        return Err(BadMessage::OutOfRange {
            field: "traffic",
            got: u32::try_from(reported.len()).map_or(f64::INFINITY, f64::from),
            must: "at most 16 of them",
        });
    }
    reported.into_iter().map(TryInto::try_into).collect()
}
