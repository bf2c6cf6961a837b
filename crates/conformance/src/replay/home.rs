//! The place of a recorded vehicle at the start.

use super::circumstances::Wire;
use sitl::model::Wgs84;
use sitl::wire::Fields;

/// Default place in the simulations of both projects, used without a reported position and for one within its noise.
const USUAL: Wgs84 = Wgs84 {
    lat_deg: 47.397742,
    lon_deg: 8.545594,
    amsl_m: 488.0,
};

/// Noise in degrees and meters.
const NOISE_DEG: f64 = 0.001;
const NOISE_M: f64 = 10.0;

const GLOBAL_POSITION_INT: u32 = 33;

pub fn home(wire: &Wire<'_>) -> Wgs84 {
    let reported = wire
        .frames
        .iter()
        .filter(|(_, frame)| frame.id == GLOBAL_POSITION_INT && wire.is_vehicle(frame))
        .find_map(|(_, frame)| {
            let fields = Fields(&frame.payload);
            let (lat, lon) = (fields.i32(4), fields.i32(8));
            let ground_mm = f64::from(fields.i32(12)) - f64::from(fields.i32(16));
            (lat != 0 || lon != 0).then_some(Wgs84 {
                lat_deg: f64::from(lat) / 1e7,
                lon_deg: f64::from(lon) / 1e7,
                amsl_m: ground_mm / 1000.0,
            })
        });
    match reported {
        Some(place) if !is_usual(place) => place,
        _ => USUAL,
    }
}

fn is_usual(place: Wgs84) -> bool {
    (place.lat_deg - USUAL.lat_deg).abs() < NOISE_DEG
        && (place.lon_deg - USUAL.lon_deg).abs() < NOISE_DEG
        && (place.amsl_m - USUAL.amsl_m).abs() < NOISE_M
}

#[cfg(test)]
mod tests {
    use super::*;
    use sitl::wire::Frame;

    fn home_of(lat: i32, alt_mm: i32) -> Wgs84 {
        let mut payload = vec![0; 28];
        payload[4..8].copy_from_slice(&lat.to_le_bytes());
        payload[8..12].copy_from_slice(&85_455_940_i32.to_le_bytes());
        payload[12..16].copy_from_slice(&alt_mm.to_le_bytes());
        let frame = Frame {
            system: 1,
            component: 1,
            id: GLOBAL_POSITION_INT,
            payload,
            raw: Vec::new(),
        };
        home(&Wire {
            frames: &[(1.0, frame)],
            vehicle: (1, 1),
        })
    }

    #[test]
    fn the_usual_place_is_exact_in_spite_of_noise() {
        assert_eq!(home_of(473_977_401, 489_100), USUAL);
    }

    #[test]
    fn another_place_is_taken_as_reported() {
        let place = home_of(-353_632_610, 584_000);
        assert_eq!((place.lat_deg, place.amsl_m), (-35.363261, 584.0));
    }
}
