//! The origin of an autopilot's local coordinates: without it no one can say where a set-point in them leads.
//!
//! From GPS_GLOBAL_ORIGIN (49), or LOCAL_POSITION_NED (32) and GLOBAL_POSITION_INT (33) of one moment. A reboot moves it.

use super::fields;
use link::raw::RawFrame;
use model::geo::shifted;
use model::route_order::Waypoint;
use model::units::{AltitudeAmsl, Wgs84};

const LOCAL_POSITION_NED: u32 = 32;
const GLOBAL_POSITION_INT: u32 = 33;
const GPS_GLOBAL_ORIGIN: u32 = 49;

/// Both positions are of one moment when their time_boot_ms differ by no more than this, milliseconds: at 5 m/s, half a meter.
const ONE_MOMENT_MS: u32 = 100;

/// A position that comes out of turn is no older than this, milliseconds; an older one shows that the autopilot has restarted.
const LATE_MS: u32 = 1000;

#[derive(Debug, Default)]
pub struct LocalOrigin {
    origin: Option<Waypoint>,
    /// By time_boot_ms.
    global: Option<(u32, Waypoint)>,
    /// North, east and down of the origin, meters, by time_boot_ms.
    local: Option<(u32, [f64; 3])>,
}

impl LocalOrigin {
    pub const fn place(&self) -> Option<Waypoint> {
        self.origin
    }

    pub fn hear(&mut self, frame: &RawFrame) {
        match frame.message_id {
            GPS_GLOBAL_ORIGIN => self.origin = Some(place(frame, [0, 4, 8])),
            GLOBAL_POSITION_INT => {
                let at = fields::unsigned(frame, 0);
                if self
                    .global
                    .is_some_and(|(before, _)| before.saturating_sub(at) > LATE_MS)
                {
                    *self = Self::default();
                }
                self.global = Some((at, place(frame, [4, 8, 12])));
                self.compare();
            }
            LOCAL_POSITION_NED => {
                let meters = [4, 8, 12].map(|field| f64::from(fields::float(frame, field)));
                self.local = Some((fields::unsigned(frame, 0), meters));
                self.compare();
            }
            _ => {}
        }
    }

    fn compare(&mut self) {
        let (Some((one, global)), Some((other, [north, east, down]))) = (self.global, self.local) else {
            return;
        };
        if one.abs_diff(other) <= ONE_MOMENT_MS && [north, east, down].iter().all(|meters| meters.is_finite()) {
            self.origin = Some(Waypoint {
                at: shifted(global.at, -east, -north),
                amsl: AltitudeAmsl(global.amsl.0 + down),
            });
        }
    }
}

/// Degrees × 10⁷, and millimeters above mean sea level.
fn place(frame: &RawFrame, [latitude, longitude, altitude]: [usize; 3]) -> Waypoint {
    let whole = |field| f64::from(fields::integer(frame, field));
    Waypoint {
        at: Wgs84 {
            latitude_deg: whole(latitude) / 1e7,
            longitude_deg: whole(longitude) / 1e7,
        },
        amsl: AltitudeAmsl(whole(altitude) / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::frame;
    use link::dialect::{GLOBAL_POSITION_INT_DATA, GPS_GLOBAL_ORIGIN_DATA, LOCAL_POSITION_NED_DATA, MavMessage};
    use model::units::Address;

    fn global(time_boot_ms: u32) -> RawFrame {
        let data = GLOBAL_POSITION_INT_DATA {
            time_boot_ms,
            lat: 473_977_420,
            lon: 85_455_940,
            alt: 508_000,
            ..GLOBAL_POSITION_INT_DATA::default()
        };
        frame(Address::new(7, 1), &MavMessage::GLOBAL_POSITION_INT(data))
    }

    fn local(time_boot_ms: u32) -> RawFrame {
        let data = LOCAL_POSITION_NED_DATA {
            time_boot_ms,
            x: 30.0,
            y: -40.0,
            z: -20.0,
            ..LOCAL_POSITION_NED_DATA::default()
        };
        frame(Address::new(7, 1), &MavMessage::LOCAL_POSITION_NED(data))
    }

    #[test]
    fn it_is_found_by_two_positions_of_one_moment_and_forgotten_at_a_restart() {
        let mut origin = LocalOrigin::default();
        origin.hear(&global(60_000));
        origin.hear(&local(60_500));
        assert_eq!(origin.place(), None, "they are of two moments");
        origin.hear(&global(60_540));
        let found = origin.place().unwrap();
        let here = place(&global(0), [4, 8, 12]);
        let (east, north) = model::geo::offset(found.at, here.at);
        assert!(
            (east + 40.0).abs() < 0.1 && (north - 30.0).abs() < 0.1,
            "{east} {north}"
        );
        assert!((found.amsl.0 - 488.0).abs() < 1e-3, "{found:?}");
        origin.hear(&global(900));
        assert_eq!(origin.place(), None);
    }

    #[test]
    fn it_is_what_the_autopilot_says_that_it_is() {
        let mut origin = LocalOrigin::default();
        let data = GPS_GLOBAL_ORIGIN_DATA {
            latitude: 473_977_420,
            longitude: 85_455_940,
            altitude: 488_000,
            ..GPS_GLOBAL_ORIGIN_DATA::default()
        };
        origin.hear(&frame(Address::new(7, 1), &MavMessage::GPS_GLOBAL_ORIGIN(data)));
        let found = origin.place().unwrap();
        assert!((found.at.latitude_deg - 47.397_742).abs() < 1e-9 && (found.amsl.0 - 488.0).abs() < 1e-9);
    }
}
