//! A home that somebody moves while the vehicle flies.

use model::home_shift::HomeShift;
use model::route_order::Waypoint;
use model::time::Moment;
use model::units::{AltitudeAmsl, Wgs84};
use model::vehicle::{FlightTruth, Vehicle};
use std::time::Duration;

/// The message of the home that ArduPilot sets at arming may come when the vehicle is reported in the air already.
const SET_AT_ARMING_WITHIN: Duration = Duration::from_secs(5);

/// Wider than PX4's altitude of home wanders in flight.
const SAME_SHIFT_WITHIN_M: f64 = 6.0;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HomeInFlight {
    at: Option<Wgs84>,
    amsl: Option<AltitudeAmsl>,
    up_since: Option<Moment>,
    /// It flew when the agent started: its home was set at arming long before.
    is_settled: bool,
    shift: Option<HomeShift>,
}

impl HomeInFlight {
    /// An agent before observed the vehicle to take off from there.
    pub(super) fn of(home: Waypoint) -> Self {
        Self {
            at: Some(home.at),
            amsl: Some(home.amsl),
            is_settled: true,
            ..Self::default()
        }
    }

    pub(super) fn before(&self) -> Option<Waypoint> {
        let (at, amsl) = self.at.zip(self.amsl)?;
        Some(Waypoint { at, amsl })
    }

    /// `amsl` was received twice. Returns how far home was moved in flight.
    pub(super) fn observe(&mut self, vehicle: &Vehicle, amsl: AltitudeAmsl, now: Moment) -> Option<HomeShift> {
        match vehicle.truth(now) {
            FlightTruth::Disarmed | FlightTruth::ArmedOnGround => {
                *self = Self {
                    at: vehicle.home_at,
                    amsl: Some(amsl),
                    ..Self::default()
                };
            }
            FlightTruth::Unknown(_) => {}
            FlightTruth::Airborne(_) => {
                let up_for = now.since(*self.up_since.get_or_insert(now));
                self.at = self.at.or(vehicle.home_at);
                let from = *self.amsl.get_or_insert(amsl);
                let shift = HomeShift {
                    up_m: amsl.0 - from.0,
                    ..self.over_ground(vehicle)
                };
                if !self.is_settled && up_for <= SET_AT_ARMING_WITHIN && shift.is_one_in_flight() {
                    (self.at, self.amsl) = (vehicle.home_at, Some(amsl));
                    return None;
                }
                self.shift = match self.shift {
                    Some(known) if is_same(&known, &shift) && shift.is_one_in_flight() => Some(known),
                    _ => Some(shift).filter(HomeShift::is_one_in_flight),
                };
            }
        }
        self.shift
    }

    fn over_ground(&self, vehicle: &Vehicle) -> HomeShift {
        let both = self.at.zip(vehicle.home_at);
        both.map_or_else(HomeShift::default, |(from, to)| HomeShift::between(from, to, 0.0))
    }
}

fn is_same(one: &HomeShift, other: &HomeShift) -> bool {
    let over_ground = (one.east_m - other.east_m).hypot(one.north_m - other.north_m);
    over_ground < SAME_SHIFT_WITHIN_M && (one.up_m - other.up_m).abs() < SAME_SHIFT_WITHIN_M
}
