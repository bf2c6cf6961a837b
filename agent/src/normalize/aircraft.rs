//! Aircraft of others, as the receiver of our vehicle reports them: ADSB_VEHICLE (246).

use link::dialect::{ADSB_VEHICLE_DATA, AdsbAltitudeType, AdsbEmitterType, AdsbFlags};
use model::time::Moment;
use model::traffic::{Aircraft, Altitude};
use model::units::{AltitudeAmsl, Wgs84};
use std::time::Duration;

/// `None`: the message does not say where the aircraft is.
pub fn aircraft(message: &ADSB_VEHICLE_DATA, now: Moment) -> Option<Aircraft> {
    let has = |flag| message.flags.contains(flag);
    if !has(AdsbFlags::ADSB_FLAGS_VALID_COORDS) {
        return None;
    }
    let at = Wgs84 {
        latitude_deg: f64::from(message.lat) / 1e7,
        longitude_deg: f64::from(message.lon) / 1e7,
    };
    let at = model::geo::position(at).ok()?;
    let amsl = AltitudeAmsl(f64::from(message.altitude) / 1000.0);
    let altitude = match message.altitude_type {
        AdsbAltitudeType::ADSB_ALTITUDE_TYPE_PRESSURE_QNH => Altitude::Pressure(amsl),
        AdsbAltitudeType::ADSB_ALTITUDE_TYPE_GEOMETRIC => Altitude::Satellite(amsl),
    };
    let moves = has(AdsbFlags::ADSB_FLAGS_VALID_VELOCITY) && has(AdsbFlags::ADSB_FLAGS_VALID_HEADING);
    let over_ground = || {
        let (east, north) = (f64::from(message.heading) / 100.0).to_radians().sin_cos();
        [east, north].map(|share| share * f64::from(message.hor_velocity) / 100.0)
    };
    let sighted = now
        .since_epoch()
        .saturating_sub(Duration::from_secs(message.tslc.into()));
    Some(Aircraft {
        icao: message.ICAO_address,
        at,
        altitude: has(AdsbFlags::ADSB_FLAGS_VALID_ALTITUDE).then_some(altitude),
        velocity: moves.then(over_ground),
        climb: has(AdsbFlags::ADSB_FLAGS_VERTICAL_VELOCITY_VALID).then(|| f64::from(message.ver_velocity) / 100.0),
        may_be_uncrewed: matches!(
            message.emitter_type,
            AdsbEmitterType::ADSB_EMITTER_TYPE_UAV | AdsbEmitterType::ADSB_EMITTER_TYPE_NO_INFO
        ),
        seen: Moment::at(sighted),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::at(Duration::from_secs(100));

    fn message() -> ADSB_VEHICLE_DATA {
        ADSB_VEHICLE_DATA {
            ICAO_address: 0x4b_1234,
            lat: 473_977_420,
            lon: 85_455_940,
            altitude: 612_500,
            heading: 9_000,
            hor_velocity: 5_100,
            ver_velocity: -250,
            tslc: 3,
            altitude_type: AdsbAltitudeType::ADSB_ALTITUDE_TYPE_GEOMETRIC,
            emitter_type: AdsbEmitterType::ADSB_EMITTER_TYPE_LIGHT,
            flags: AdsbFlags::all(),
            ..ADSB_VEHICLE_DATA::DEFAULT
        }
    }

    #[test]
    fn a_sighting_says_where_an_aircraft_was_and_how_it_moved() {
        let seen = aircraft(&message(), NOW).unwrap();
        let [east, north] = seen.velocity.unwrap();
        assert!((east - 51.0).abs() < 1e-9 && north.abs() < 1e-9, "due east");
        assert_eq!(seen.altitude, Some(Altitude::Satellite(AltitudeAmsl(612.5))));
        assert_eq!(
            (seen.icao, seen.climb, seen.may_be_uncrewed),
            (0x4b_1234, Some(-2.5), false)
        );
        assert_eq!(seen.seen, Moment::at(Duration::from_secs(97)), "tslc: 3 s ago");
        assert!((seen.at.latitude_deg - 47.397_742).abs() < 1e-9);
    }

    #[test]
    fn what_a_sighting_does_not_tell_is_not_known() {
        let without = |flag| {
            aircraft(
                &ADSB_VEHICLE_DATA {
                    flags: AdsbFlags::all() - flag,
                    ..message()
                },
                NOW,
            )
        };
        assert_eq!(without(AdsbFlags::ADSB_FLAGS_VALID_COORDS), None);
        assert_eq!(without(AdsbFlags::ADSB_FLAGS_VALID_ALTITUDE).unwrap().altitude, None);
        assert_eq!(without(AdsbFlags::ADSB_FLAGS_VALID_HEADING).unwrap().velocity, None);
        assert_eq!(without(AdsbFlags::ADSB_FLAGS_VALID_VELOCITY).unwrap().velocity, None);
        assert_eq!(
            without(AdsbFlags::ADSB_FLAGS_VERTICAL_VELOCITY_VALID).unwrap().climb,
            None
        );
        let nowhere = ADSB_VEHICLE_DATA {
            lat: i32::MAX,
            ..message()
        };
        assert_eq!(aircraft(&nowhere, NOW), None);
    }
}
