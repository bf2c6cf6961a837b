//! Position of a vehicle against where it should be, in one flight.

use super::*;
use crate::units::AltitudeAmsl;
use crate::vehicle::{Heartbeat, LandedState, ModeReport};

const HERE: Wgs84 = Wgs84 {
    latitude_deg: 47.4,
    longitude_deg: 8.5,
};

/// Read five times a second.
struct Flight {
    watch: Watch,
    ms: u64,
    asked: f64,
    mode: Mode,
    ours: bool,
    armed: bool,
    north: f64,
    home_up: f64,
}

fn asked_for(height: f64) -> Flight {
    Flight {
        watch: Watch::default(),
        ms: 10_000,
        asked: height,
        mode: Mode::Station,
        ours: true,
        armed: true,
        north: 0.0,
        home_up: 488.0,
    }
}

impl Flight {
    /// What is found after `ms` at this altitude and sink rate.
    fn at(&mut self, height: f64, sink: f64, ms: u64) -> Option<Astray> {
        for _ in 0..ms / 200 {
            self.ms += 200;
            let now = Moment::at(Duration::from_millis(self.ms));
            let mode = ModeReport {
                mode: self.mode,
                label: String::new(),
            };
            let landed = if self.armed {
                LandedState::InAir
            } else {
                LandedState::OnGround
            };
            let position = Position {
                at: Wgs84 {
                    latitude_deg: HERE.latitude_deg + self.north / 111_195.0,
                    ..HERE
                },
                amsl: AltitudeAmsl(self.home_up + height),
                above_home: AltitudeAboveHome(height),
            };
            let vehicle = Vehicle {
                heartbeat: Some(Sighting::new(
                    Heartbeat {
                        armed: self.armed,
                        mode,
                    },
                    now,
                )),
                landed: Some(Sighting::new(Some(landed), now)),
                position: Some(Sighting::new(position, now)),
                sink_m_s: Some(Sighting::new(sink, now)),
                ..Vehicle::default()
            };
            let asked = Asked {
                height: AltitudeAboveHome(self.asked),
                place: None,
                moves: false,
                ours: self.ours,
            };
            self.watch.observe(&vehicle, Some(asked), now);
        }
        self.watch.astray()
    }
}

fn fell(from: f64) -> Option<Astray> {
    Some(Astray::Fell {
        from: AltitudeAboveHome(from),
    })
}

fn height(at: f64) -> Option<Astray> {
    Some(Astray::Height {
        at: AltitudeAboveHome(at),
    })
}

#[test]
fn a_vehicle_that_holds_and_drifts_a_little_is_where_it_should_be() {
    let mut flight = asked_for(30.0);
    for (at, sink) in [(10.0, -2.0), (29.0, -1.0), (31.0, 0.0), (26.0, 1.0), (30.0, 0.0)] {
        assert_eq!(flight.at(at, sink, 2000), None, "at {at} m");
    }
    flight.north = 6.0;
    assert_eq!(flight.at(30.0, 0.0, 2000), None);
}

#[test]
fn one_whose_motors_stop_has_fallen_within_a_second_and_stays_so_on_the_ground() {
    let mut flight = asked_for(30.0);
    assert_eq!(flight.at(30.0, 0.0, 2000), None);
    assert_eq!(flight.at(28.0, 5.0, 600), fell(28.0));
    assert_eq!(flight.at(0.0, 0.0, 30_000), fell(28.0), "it lies there armed");
    assert_eq!(flight.at(30.0, 0.0, 1000), None, "it holds its height again");
    flight.at(28.0, 5.0, 600);
    flight.armed = false;
    assert_eq!(flight.at(0.0, 0.0, 200), None);
}

#[test]
fn one_that_is_flown_down_has_left_its_height_within_two_seconds() {
    let mut flight = asked_for(20.0);
    flight.at(20.0, 0.0, 1000);
    assert_eq!(flight.at(13.9, 1.5, 600), None, "a gust passes");
    assert_eq!(flight.at(13.0, 1.5, 1000), height(13.0));
    assert_eq!(flight.at(3.0, 0.0, 5000), height(13.0), "it is reported once");
    assert_eq!(flight.at(16.5, -1.0, 1000), height(13.0));
    assert_eq!(flight.at(17.5, -1.0, 1000), None);
}

#[test]
fn the_ground_is_never_within_the_tolerance_of_a_low_height() {
    for low in [3.0, 5.0, 10.0] {
        let mut flight = asked_for(low);
        assert_eq!(flight.at(low, 0.0, 1000), None);
        assert_eq!(flight.at(0.0, 0.0, 1400), height(0.0), "{low} m");
    }
}

#[test]
fn one_that_is_moved_away_has_left_its_place() {
    let mut flight = asked_for(20.0);
    flight.at(20.0, 0.0, 1000);
    flight.north = 14.0;
    let found = flight.at(20.0, 0.0, 1200);
    assert!(
        matches!(found, Some(Astray::Place { off }) if (off - 14.0).abs() < 0.2),
        "{found:?}"
    );
    flight.north = 4.0;
    assert_eq!(flight.at(20.0, 0.0, 400), None);
}

#[test]
fn another_height_is_a_way_and_no_deviation_and_the_place_stays() {
    let mut flight = asked_for(40.0);
    flight.at(40.0, 0.0, 1000);
    flight.asked = 10.0;
    for (at, sink) in [(38.0, 4.0), (30.0, 4.0), (20.0, 4.0), (10.5, 1.0)] {
        assert_eq!(flight.at(at, sink, 1000), None, "at {at} m");
    }
    flight.north = 20.0;
    assert!(matches!(flight.at(10.0, 0.0, 1200), Some(Astray::Place { .. })));
}

#[test]
fn a_landing_is_no_fall_until_it_is_faster_than_any_landing() {
    let mut flight = asked_for(40.0);
    flight.at(40.0, 0.0, 1000);
    for mode in [Mode::Land, Mode::Return] {
        flight.mode = mode;
        assert_eq!(flight.at(20.0, 3.5, 2000), None);
    }
    assert_eq!(flight.at(15.0, 7.0, 600), fell(15.0));
}

#[test]
fn who_flies_it_by_hand_is_not_judged_and_a_fall_before_that_stays_true() {
    let mut flight = asked_for(20.0);
    flight.at(20.0, 0.0, 1000);
    flight.ours = false;
    assert_eq!(flight.at(3.0, 8.0, 2000), None);
    flight.ours = true;
    flight.at(20.0, 0.0, 1000);
    flight.at(18.0, 5.0, 600);
    flight.ours = false;
    assert_eq!(flight.at(0.0, 0.0, 2000), fell(18.0));
}

#[test]
fn a_home_that_is_set_again_in_flight_takes_no_altitude_from_a_vehicle_that_holds() {
    let mut flight = asked_for(20.0);
    flight.at(20.0, 0.0, 2000);
    flight.home_up = 518.0;
    assert_eq!(flight.at(-10.0, 0.0, 5000), None, "home was set 30 m higher");
    assert_eq!(flight.at(-17.0, 0.0, 5000), height(-17.0), "and then it sank by 7 m");
}
