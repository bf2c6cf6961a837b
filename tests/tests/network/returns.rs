//! Return altitudes: from the parameter of a simulated autopilot of each version, as its agent reads it, to what a leader claims and says.
//! Without a network.

use agent::pilot::Pilot;
use agent::state_file::State;
use agent_testkit::line::{HOME, Line};
use fleet::airspace::Rules;
use fleet::planning::site::{CROSSED_STATION, Desire, Expected, OffStation, Site};
use model::accuracy::Accuracy;
use model::assignment::Held;
use model::geo::shifted;
use model::ids::{DroneUid, NodeName, Term};
use model::report::{Activity, Report};
use model::route_order::Waypoint;
use model::station::{Altitude, Limits, Manner, Place, Station};
use model::time::Moment;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
use model::vehicle::{Airborne, FlightTruth, Position};
use sitl::model::{Autopilot, Firmware, VehicleConfig};
use std::collections::BTreeMap;
use std::time::Duration;

const CENTER: Wgs84 = Wgs84 {
    latitude_deg: HOME.lat_deg,
    longitude_deg: HOME.lon_deg,
};
/// Meters east of the center.
const HOME_OF_NEAR: f64 = 40.0;
const STATION_OF_FAR: [f64; 3] = [0.0, 120.0, 12.0];

fn node(name: &str) -> NodeName {
    NodeName::parse(name).unwrap()
}

fn at(second: u64) -> Moment {
    Moment::at(Duration::from_secs(1000 + second))
}

/// As reported by the agent of a vehicle on the ground whose autopilot has this parameter.
fn read(firmware: Firmware, name: &str, stored: f32) -> Option<AltitudeAboveHome> {
    let config = VehicleConfig {
        firmware,
        parameters: vec![(name.to_owned(), stored)],
        ..VehicleConfig::new(Autopilot::ArduPilot, 7, HOME)
    };
    let pilot = Pilot::new(node("far"), State::default(), Moment::default());
    let mut line = Line::new(pilot, config);
    line.pass(20);
    line.pilot.report(line.now()).return_height
}

fn station([east, north, up]: [f64; 3]) -> Desire {
    let place = Place {
        at: shifted(CENTER, east, north),
        altitude: Altitude::AboveHome(AltitudeAboveHome(up)),
        manner: Manner::default(),
    };
    Desire::At(Station::new(place, &Limits::default()).unwrap())
}

fn report(
    name: &str,
    home: f64,
    [east, north, up]: [f64; 3],
    returns: Option<AltitudeAboveHome>,
    second: u64,
) -> Report {
    let flies = up > 0.5;
    Report {
        made: at(second),
        link_alive: true,
        truth: match flies {
            true => FlightTruth::Airborne(Airborne::InAir),
            false => FlightTruth::Disarmed,
        },
        position: Some(Position {
            at: shifted(CENTER, east, north),
            amsl: AltitudeAmsl(HOME.amsl_m + up),
            above_home: AltitudeAboveHome(up),
        }),
        position_at: Some(at(second)),
        accuracy: Accuracy::of_meters(0.9, 1.78),
        held: Some(Held {
            uid: DroneUid(name.to_owned()),
            term: Term(3),
            generation: 1,
            grounded: false,
            settled: !flies,
            details: None,
        }),
        activity: match flies {
            true => Activity::Holding,
            false => Activity::Idle,
        },
        return_height: returns,
        detours: Some(false),
        home: Some(Waypoint {
            at: shifted(CENTER, home, 0.0),
            amsl: AltitudeAmsl(HOME.amsl_m),
        }),
        ..Report::of_nothing(node(name))
    }
}

fn near(second: u64) -> Report {
    let returns = Some(AltitudeAboveHome(15.0));
    report("near", HOME_OF_NEAR, [HOME_OF_NEAR, 0.0, 0.0], returns, second)
}

fn update(site: &mut Site, vehicles: [(&str, Option<&Report>, Desire); 2], second: u64) {
    let now = at(second);
    let expected = vehicles.map(|(name, report, desire)| {
        let expected = Expected {
            report: report.map(|report| (report, now)),
            may_fly: true,
            roams: true,
            desire,
        };
        (node(name), expected)
    });
    site.update(&BTreeMap::from(expected), now);
}

fn site() -> Site {
    Site::new(Term(3), Rules::default(), CENTER).unwrap()
}

/// What a vehicle is warned of before it takes off whose autopilot `returns` over another's station, `up` meters high.
fn warned(returns: Option<AltitudeAboveHome>, up: f64) -> Option<String> {
    let mut site = site();
    let (far, near) = (report("far", 0.0, [0.0; 3], returns, 0), near(0));
    let vehicles = [
        ("far", Some(&far), station(STATION_OF_FAR)),
        ("near", Some(&near), station([0.0, 60.0, up])),
    ];
    update(&mut site, vehicles, 0);
    site.crossed_station(&node("far"))
}

/// Why another waits on the ground, whose station is on the way home of one that is not heard any more and `returns` so high.
fn waits(returns: Option<AltitudeAboveHome>, up: f64) -> Option<String> {
    let mut site = site();
    let far = report("far", 0.0, STATION_OF_FAR, returns, 0);
    let stays = station(STATION_OF_FAR);
    update(
        &mut site,
        [("far", Some(&far), stays), ("near", Some(&near(0)), Desire::Nothing)],
        0,
    );
    let goes = station([0.0, 60.0, up]);
    for second in 17..20 {
        update(
            &mut site,
            [("far", None, stays), ("near", Some(&near(second)), goes)],
            second,
        );
    }
    match site.off_station(&node("near"), at(19)) {
        Some(OffStation::Waits(why)) => Some(why),
        _ => {
            assert!(site.route(&node("near")).is_some());
            None
        }
    }
}

pub fn a_return_altitude_is_claimed_and_warned_of_as_each_version_stores_it() {
    for (firmware, name, in_a_meter) in [
        (Firmware::Copter46, "RTL_ALT", 100.0_f32),
        (Firmware::Copter48, "RTL_ALT_M", 1.0),
    ] {
        let returns = |meters: f32| read(firmware, name, meters * in_a_meter);
        let (high, low) = (returns(100.0), returns(30.0));
        assert_eq!(high, Some(AltitudeAboveHome(100.0)), "{name}");
        let why = warned(high, 100.0).unwrap();
        assert!(
            why.starts_with(CROSSED_STATION) && why.contains("at 100 m above home") && why.contains("node near"),
            "{name}: {why}"
        );
        assert_eq!((warned(high, 60.0), warned(low, 100.0)), (None, None), "{name}");
        let why = waits(high, 100.0).unwrap();
        assert!(
            why.contains("waits for the airspace") && why.contains("far"),
            "{name}: {why}"
        );
        assert_eq!(waits(low, 100.0), None, "{name}: it returns 70 m below");
    }
}
