//! A ground station sets home while the vehicle flies.

use agent::pilot::Pilot;
use agent::state_file::State;
use agent_testkit::line::{HOME, Line};
use agent_testkit::orders::assignment;
use link::dialect::{COMMAND_LONG_DATA, MavCmd, MavMessage};
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use model::assignment::{Assignment, Desired, Order};
use model::geo::shifted;
use model::ids::{NodeName, Term};
use model::route_order::{OrderNumber, RouteOrder, Waypoint};
use model::time::Moment;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
use sitl::model::{Autopilot, VehicleConfig};
use sitl::wire::{FrameReader, Incoming};

pub(super) fn place(north: f64, up: f64) -> Waypoint {
    let home = Wgs84 {
        latitude_deg: HOME.lat_deg,
        longitude_deg: HOME.lon_deg,
    };
    Waypoint {
        at: shifted(home, 0.0, north),
        amsl: AltitudeAmsl(HOME.amsl_m + up),
    }
}

pub(super) fn route(count: u64, places: Vec<Waypoint>) -> Order {
    let altitude = AltitudeAboveHome(30.0);
    let number = OrderNumber { term: Term(3), count };
    Order::Assigned(Assignment {
        routed: true,
        route: Some(RouteOrder {
            number,
            places,
            room: None,
        }),
        ..assignment(1, Desired::Flying { altitude })
    })
}

/// MAV_CMD_DO_SET_HOME at the present place, by a foreign ground station.
fn sets_home_here(line: &mut Line) {
    let message = MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
        param1: 1.0,
        command: MavCmd::MAV_CMD_DO_SET_HOME,
        target_system: 7,
        target_component: 1,
        ..COMMAND_LONG_DATA::default()
    });
    let header = MavHeader {
        system_id: 254,
        component_id: 190,
        sequence: 0,
    };
    let mut raw = MAVLinkV2MessageRaw::new();
    raw.serialize_message(header, &message);
    let mut reader = FrameReader::default();
    reader.push(raw.raw_bytes());
    let frame = reader.next_frame().unwrap();
    line.vehicle.receive_pilot(&Incoming::decode(&frame));
}

#[test]
fn a_route_keeps_its_altitude_above_sea_level_though_home_was_set_in_flight() {
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        let pilot = Pilot::new(NodeName::parse("pine").unwrap(), State::default(), Moment::default());
        let mut line = Line::new(pilot, VehicleConfig::new(autopilot, 7, HOME));
        line.pass(60);
        line.order(&route(1, vec![place(0.0, 0.0), place(0.0, 30.0)]));
        line.until("30 m up", 120, |line| line.vehicle.truth().height_m > 29.5);
        line.pass(5);
        sets_home_here(&mut line);
        line.pass(5);
        line.order(&route(2, vec![place(0.0, 30.0), place(60.0, 30.0)]));
        let (mut lowest, mut highest) = (f64::MAX, f64::MIN);
        let north = place(60.0, 30.0).at.latitude_deg;
        let began = line.ms;
        while (line.vehicle.truth().place.lat_deg - north).abs() > 1e-5 {
            assert!(line.ms < began + 60_000, "{autopilot:?}: it does not come there");
            line.step();
            let up = line.vehicle.truth().height_m;
            (lowest, highest) = (lowest.min(up), highest.max(up));
        }
        assert!(
            lowest > 28.0 && highest < 32.0,
            "{autopilot:?}: from {lowest} m to {highest} m"
        );
        assert_eq!(line.pilot.report(line.now()).takeovers, 0);
    }
}
