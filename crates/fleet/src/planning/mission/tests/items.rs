//! Waypoints and items say the same.

use super::*;
use model::plan::item::{self, Item, Omitted, Unroutable};
use std::time::Duration;

prop_compose! {
    fn waypoints()(
        east in -5000.0..5000.0_f64, north in -5000.0..5000.0_f64, height in 1.0..120.0_f64, above_sea: bool,
        speed in prop::option::of(1.0..20.0_f64), hold in 0_u64..600, heading in prop::option::of(1.0..360.0_f64),
        actions in prop::collection::vec(prop_oneof![
            Just(Action::Photo), Just(Action::StopTrigger), (1.0..50.0_f64).prop_map(|d| Action::TriggerEvery(Meters(d))),
        ], 0..4),
    ) -> Waypoint {
        let altitude = if above_sea {
            Altitude::Amsl(model::units::AltitudeAmsl(height))
        } else {
            Altitude::AboveHome(AltitudeAboveHome(height))
        };
        Waypoint {
            at: at(east, north),
            altitude,
            speed: speed.map(MetersPerSecond),
            hold: Duration::from_secs(hold),
            heading: heading.map(Heading),
            actions,
        }
    }
}

proptest! {
    #[test]
    fn the_items_of_waypoints_are_read_as_these_waypoints(waypoints in prop::collection::vec(waypoints(), 1..20)) {
        let items = item::of_waypoints(&waypoints);
        // ArduPilot refuses a plan with NaN, except for the heading of a waypoint.
        let open = |item: &Item| (0..4).any(|n| item.params[n].is_none() && (item.command, n) != (item::NAV_WAYPOINT, 3));
        prop_assert!(!items.iter().any(open), "{items:?}");
        prop_assert_eq!(item::to_waypoints(&items), Ok((waypoints, Omitted::default())));
    }
}

fn command(command: u16, params: [f64; 7]) -> Item {
    Item {
        command,
        frame: item::FRAME_GLOBAL_RELATIVE_ALT,
        params: params.map(Some),
        goes_on: true,
    }
}

#[test]
fn what_a_route_cannot_say_is_named_with_its_number() {
    let waypoint = command(16, [0.0, 0.0, 0.0, 0.0, 47.0, 8.0, 30.0]);
    let terrain = Item { frame: 10, ..waypoint };
    let waits = Item {
        goes_on: false,
        ..waypoint
    };
    let number = |parameter, name, value| Unroutable::Parameter { name, parameter, value };
    for (wrong, expected) in [
        (
            command(177, [1.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            Unroutable::Command {
                command: 177,
                name: "DO_JUMP",
            },
        ),
        (
            command(82, [0.0; 7]),
            Unroutable::Command {
                command: 82,
                name: "NAV_SPLINE_WAYPOINT",
            },
        ),
        (terrain, Unroutable::Terrain),
        (waits, Unroutable::Waits),
        (Item { frame: 1, ..waypoint }, Unroutable::Frame(1)),
        (
            command(178, [2.0, 5.0, -1.0, 0.0, 0.0, 0.0, 0.0]),
            number(1, "DO_CHANGE_SPEED", 2.0),
        ),
        (
            command(178, [1.0, -1.0, -1.0, 0.0, 0.0, 0.0, 0.0]),
            number(2, "DO_CHANGE_SPEED", -1.0),
        ),
        (
            command(206, [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            number(1, "DO_SET_CAM_TRIGG_DIST", -1.0),
        ),
        (
            command(2000, [0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            number(3, "IMAGE_START_CAPTURE", 0.0),
        ),
        (
            command(16, [-1.0, 0.0, 0.0, 0.0, 47.0, 8.0, 30.0]),
            number(1, "NAV_WAYPOINT", -1.0),
        ),
        (
            command(93, [-1.0, 12.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            number(2, "NAV_DELAY", 12.0),
        ),
    ] {
        let error = item::to_waypoints(&[waypoint, wrong]).unwrap_err();
        assert_eq!((error.number, error.source), (1, expected));
    }
    let photo = command(2000, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(
        item::to_waypoints(&[photo]).unwrap_err().source,
        Unroutable::BeforeFirst("IMAGE_START_CAPTURE")
    );
    let home = command(20, [0.0; 7]);
    assert_eq!(
        item::to_waypoints(&[waypoint, home, waypoint]).unwrap_err().source,
        Unroutable::LandsBefore
    );
}

#[test]
fn takeoff_and_landing_are_left_to_skein_and_a_delay_is_a_hold() {
    let items = [
        command(22, [0.0, 0.0, 0.0, 0.0, 47.0, 8.0, 30.0]),
        command(206, [0.0; 7]),
        command(16, [2.0, 0.0, 0.0, 0.0, 47.0, 8.0, 30.0]),
        command(93, [3.0, -1.0, -1.0, -1.0, 0.0, 0.0, 0.0]),
        command(20, [0.0; 7]),
    ];
    let (waypoints, omitted) = item::to_waypoints(&items).unwrap();
    assert_eq!(
        omitted,
        Omitted {
            takeoffs: 1,
            landings: 1
        }
    );
    assert_eq!(waypoints.len(), 1);
    assert_eq!(waypoints[0].hold, Duration::from_secs(5));
    assert_eq!(
        item::places(&items).unwrap().len(),
        1,
        "the takeoff is not flown as the file has it"
    );
}
