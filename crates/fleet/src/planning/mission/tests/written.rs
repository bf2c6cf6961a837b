//! Items that a person has written are flown unchanged, and continued where another vehicle stopped.

use super::*;
use crate::planning::mission::PlannedFlight;
use crate::planning::mission::written::BadItems;
use model::plan::BadPlan;
use model::plan::item::{self, Item};

/// As ground stations write it: with all seven values, above home.
fn written(command: u16, values: [f64; 7]) -> Item {
    Item {
        command,
        frame: item::FRAME_GLOBAL_RELATIVE_ALT,
        params: values.map(Some),
        goes_on: true,
    }
}

fn place(command: u16, east: f64) -> Item {
    let at = at(east, 50.0);
    let round = |degrees: f64| (degrees * 1e7).round() / 1e7;
    written(
        command,
        [
            2.0,
            0.0,
            0.0,
            0.0,
            round(at.latitude_deg),
            round(at.longitude_deg),
            30.0,
        ],
    )
}

fn done(command: u16, first: f64) -> Item {
    written(command, [first, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0])
}

fn file() -> Vec<Item> {
    vec![
        place(item::NAV_TAKEOFF, 0.0),
        done(item::DO_CHANGE_SPEED, 1.0),
        place(item::NAV_WAYPOINT, 100.0),
        done(item::DO_SET_CAM_TRIGG_DIST, 10.0),
        place(item::NAV_WAYPOINT, 200.0),
        done(item::IMAGE_START_CAPTURE, 0.0),
        done(item::NAV_DELAY, 5.0),
        place(item::NAV_LOITER_TIME, 300.0),
        done(item::DO_SET_CAM_TRIGG_DIST, 0.0),
        done(item::NAV_RETURN_TO_LAUNCH, 0.0),
    ]
}

fn flight(from: f64, to: f64, raised: f64) -> PlannedFlight {
    flight_of(&file(), from, to, raised)
}

fn flight_of(items: &[Item], from: f64, to: f64, raised: f64) -> PlannedFlight {
    let work = Work::of_items(items).unwrap();
    let part = Stretches::new([Stretch { from, to }]);
    work.flight(&part, at(0.0, 0.0), Meters(raised)).unwrap()
}

fn commands(items: &[Item]) -> Vec<u16> {
    items.iter().map(|item| item.command).collect()
}

#[test]
fn all_of_it_is_flown_as_it_stands_between_two_places_above_the_start() {
    let (all, file) = (flight(0.0, 3.0, 0.0), file());
    assert_eq!(all.items.len(), 11, "{:?}", commands(&all.items));
    assert_eq!(all.items[2..10], file[1..9]);
    let above_start = [&all.places[0], all.places.last().unwrap()];
    assert!(above_start.iter().all(|place| place.at == at(0.0, 0.0)));
    assert_eq!(
        Work::of_items(&file).unwrap().whole(),
        Stretches::new([Stretch { from: 0.0, to: 3.0 }])
    );
    assert_eq!(all.flown(|_| true), Stretches::new([Stretch { from: 0.0, to: 3.0 }]));
    assert!(
        all.flown(|item| item == 4 || item == 9).is_empty(),
        "the ends of two legs that were not flown from their begins"
    );
    // The second place is done once the photo is taken and the delay is over.
    assert_eq!(
        all.flown(|item| item <= 6),
        Stretches::new([Stretch { from: 0.0, to: 1.0 }])
    );
    assert_eq!(
        all.flown(|item| item <= 7),
        Stretches::new([Stretch { from: 0.0, to: 2.0 }])
    );
}

#[test]
fn another_goes_on_with_what_was_set_and_repeats_nothing() {
    let rest = flight(2.0, 3.0, 0.0);
    let expected = [
        16,
        16,
        item::DO_CHANGE_SPEED,
        item::DO_SET_CAM_TRIGG_DIST,
        item::NAV_LOITER_TIME,
        item::DO_SET_CAM_TRIGG_DIST,
        16,
    ];
    assert_eq!(commands(&rest.items), expected);
    assert_eq!(rest.items[3], file()[3]);
    assert_eq!(rest.flown(|_| true), Stretches::new([Stretch { from: 2.0, to: 3.0 }]));
    assert!(!rest.has_begun(|item| item == 0) && rest.has_begun(|item| item <= 1));
}

#[test]
fn a_camera_that_is_on_where_a_flight_ends_is_switched_off() {
    let begin = flight(0.0, 2.0, 0.0);
    let last = &begin.items[begin.items.len() - 2];
    assert_eq!((last.command, last.params[0]), (item::DO_SET_CAM_TRIGG_DIST, Some(0.0)));
    let whole = flight(0.0, 3.0, 0.0);
    let off = |flight: &PlannedFlight| {
        flight
            .items
            .iter()
            .filter(|i| i.command == 206 && i.params[0] == Some(0.0))
            .count()
    };
    assert_eq!((off(&begin), off(&whole)), (1, 1), "once");
}

#[test]
fn photos_at_an_interval_go_on_with_another_until_they_are_stopped() {
    let photos = |camera: f64, every_s: f64, count: f64| {
        written(item::IMAGE_START_CAPTURE, [camera, every_s, count, 0.0, 0.0, 0.0, 0.0])
    };
    let (every_2_s, one) = (photos(3.0, 2.0, 0.0), photos(3.0, 0.0, 1.0));
    let (start, stop) = (item::IMAGE_START_CAPTURE, 2001);
    let file = [
        place(item::NAV_WAYPOINT, 100.0),
        every_2_s,
        place(item::NAV_WAYPOINT, 200.0),
        one,
        place(item::NAV_WAYPOINT, 300.0),
        done(stop, 3.0),
        place(item::NAV_WAYPOINT, 400.0),
    ];
    let flight = |from: f64, to: f64| flight_of(&file, from, to, 0.0).items;
    let middle = flight(1.0, 2.0);
    assert_eq!(commands(&middle), [16, 16, start, 16, start, stop, 16]);
    assert_eq!((middle[2], middle[4]), (every_2_s, one), "set again, and done");
    assert_eq!(middle[5].params[0], Some(3.0), "the same camera");
    assert_eq!(
        commands(&flight(2.0, 3.0)),
        [16, 16, start, 16, stop, 16],
        "stopped as it is written, and once"
    );
    assert_eq!(
        commands(&flight(3.0, 4.0)),
        [16, 16, 16, 16],
        "what was stopped is not set again"
    );
}

#[test]
fn in_a_layer_each_place_is_raised_and_nothing_else() {
    let (low, high) = (flight(0.0, 3.0, 0.0), flight(0.0, 3.0, 12.0));
    for (low, high) in low.items.iter().zip(&high.items) {
        let by = if low.place().is_some() { 12.0 } else { 0.0 };
        assert_eq!(high.params[..6], low.params[..6]);
        assert_eq!(high.params[6], low.params[6].map(|height| height + by));
    }
    assert!(
        high.places
            .iter()
            .all(|place| place.altitude == Altitude::AboveHome(AltitudeAboveHome(42.0)))
    );
}

#[test]
fn nobody_else_has_a_part_of_it() {
    let work = Work::of_items(&file()).unwrap();
    let flier = |east: f64| Flier {
        start: at(east, 0.0),
        speed: None,
        endurance: None,
    };
    assert_eq!(
        work.cut(&work.whole(), &[flier(0.0), flier(300.0)]).unwrap(),
        [(0, work.whole())]
    );
}

#[test]
fn what_leaves_the_straight_way_arms_jumps_or_lands_elsewhere_is_refused_by_number() {
    let with = |at: usize, item: Item| {
        let mut items = file();
        items[at] = item;
        Work::of_items(&items).unwrap_err()
    };
    let curve = |name| BadItems::Curve { number: 4, name };
    assert_eq!(
        with(4, place(item::NAV_SPLINE_WAYPOINT, 200.0)),
        curve("NAV_SPLINE_WAYPOINT")
    );
    assert_eq!(with(4, place(18, 200.0)), curve("NAV_LOITER_TURNS"));
    for (command, name) in [
        (177, "DO_JUMP"),
        (22, "NAV_TAKEOFF"),
        (189, "DO_LAND_START"),
        (400, "no command that Skein knows"),
    ] {
        let bad = BadPlan::Command {
            number: 5,
            command,
            name,
        };
        assert_eq!(with(5, done(command, 1.0)), BadItems::Item(bad));
    }
    assert_eq!(
        with(4, place(item::NAV_LAND, 200.0)),
        BadItems::Item(BadPlan::AfterLanding(5))
    );
    let terrain = Item {
        frame: item::FRAME_GLOBAL_TERRAIN_ALT,
        ..place(item::NAV_WAYPOINT, 200.0)
    };
    assert_eq!(with(4, terrain), BadItems::Item(BadPlan::Place(4)));
    assert!(matches!(
        with(4, place(item::NAV_WAYPOINT, 900_000.0)),
        BadItems::Far { number: 4, .. }
    ));
    let second = |item: Item, value: f64| {
        let [first, _, rest @ ..] = item.params;
        let [third, fourth, x, y, z] = rest;
        let params = [first, Some(value), third, fourth, x, y, z];
        Item { params, ..item }
    };
    let waypoint = |radius| second(place(item::NAV_WAYPOINT, 200.0), radius);
    let (number, radius) = (4, 100.0);
    assert_eq!(with(4, waypoint(radius)), BadItems::Corner { number, radius });
    let mut narrow = file();
    narrow[4] = waypoint(2.0);
    Work::of_items(&narrow).unwrap();
    for (kind, does, speed, most) in [
        (1.0, "fly", 60.0, 20.0),
        (2.0, "climb", 6.5, 6.0),
        (3.0, "descend", 20.0, 3.0),
        (7.0, "descend", 20.0, 3.0),
    ] {
        let number = 5;
        let fast = BadItems::Fast {
            number,
            does,
            speed,
            most,
        };
        assert_eq!(with(5, second(done(item::DO_CHANGE_SPEED, kind), speed)), fast);
        let mut slower = file();
        slower[5] = second(done(item::DO_CHANGE_SPEED, kind), most);
        Work::of_items(&slower).unwrap();
    }
    let holds = |item: Item, seconds: f64| {
        let [_, rest @ ..] = item.params;
        let [second, third, fourth, x, y, z] = rest;
        let params = [Some(seconds), second, third, fourth, x, y, z];
        Item { params, ..item }
    };
    let months = 90.0 * 24.0 * 3600.0;
    for long in [
        place(item::NAV_WAYPOINT, 200.0),
        place(item::NAV_LOITER_TIME, 200.0),
        done(item::NAV_DELAY, 0.0),
        done(112, 0.0),
    ] {
        let (number, seconds) = (4, months);
        assert_eq!(with(4, holds(long, months)), BadItems::Long { number, seconds });
        let mut shorter = file();
        shorter[4] = holds(long, 3600.0);
        Work::of_items(&shorter).unwrap();
    }
    let at_noon = second(done(item::NAV_DELAY, 0.0), 12.0);
    assert_eq!(with(4, at_noon), BadItems::TimeOfDay { number: 4 });
    assert_eq!(Work::of_items(&[]).unwrap_err(), BadItems::NoPlace);
    assert_eq!(Work::of_items(&file()[..2]).unwrap_err(), BadItems::NoPlace);
    let many = vec![place(item::NAV_WAYPOINT, 1.0); 1001];
    assert_eq!(Work::of_items(&many).unwrap_err(), BadItems::TooMany(1001));
}
