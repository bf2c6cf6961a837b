//! Airspace around stations for programs: who has it, who is kept out of it, and how it ends.

use super::*;
use model::lent::{Room, USUAL_LEASE};
use model::units::Meters;

const ROOM: Room = Room {
    radius: Meters(25.0),
    below: Meters(8.0),
    above: Meters(8.0),
    lease: USUAL_LEASE,
};

fn lent(site: &mut Site, room: Room) {
    site.lend(BTreeMap::from([(node("a"), room)]));
}

fn room_of(site: &Site) -> Option<Room> {
    site.route(&node("a"))?.room
}

/// On its station 60 m north with airspace for a program, and since when.
fn flown(site: &mut Site, others: Vec<Vehicle>) -> (Vec<Vehicle>, u64) {
    let mut vehicles = vec![vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0)))];
    vehicles.extend(others);
    let (mut second, _) = run(site, &mut vehicles, 0);
    lent(site, ROOM);
    for _ in 0..5 {
        second += 1;
        update(site, &vehicles, second);
        take_room(site, &mut vehicles[0]);
    }
    (vehicles, second)
}

fn take_room(site: &Site, vehicle: &mut Vehicle) {
    if let Some(route) = site
        .route(&vehicle.node)
        .filter(|route| route.number > vehicle.state.last)
    {
        vehicle.state = RouteState {
            last: route.number,
            order: Some(route.clone()),
            next: Some(1),
            ..RouteState::default()
        };
    }
}

#[test]
fn one_on_its_station_is_given_its_airspace_and_others_are_kept_out_of_all_of_it() {
    let mut site = new();
    let other = vehicle("b", 60.0, Desire::Nothing);
    let (mut vehicles, second) = flown(&mut site, vec![other]);
    assert_eq!(room_of(&site), Some(ROOM));
    assert_eq!(site.off_station(&node("a"), at(second)), Some(OffStation::Lent));
    vehicles[1].desire = Desire::At(station(20.0, 75.0, 20.0));
    vehicles[1].roams = true;
    // Anywhere in it, without being a stray.
    let places = [(0.0, 20.0), (20.0, 26.0), (-24.0, 14.0), (10.0, 20.0)];
    for ((east, up), step) in places.into_iter().zip(1..) {
        vehicles[0].at = (east, 60.0);
        vehicles[0].up = up;
        update(&mut site, &vehicles, second + step);
        assert_eq!(room_of(&site), Some(ROOM), "{east} m east");
        assert!(site.route(&node("b")).is_none(), "the station of b lies in it");
    }
    let why = site.off_station(&node("b"), at(second + 4));
    assert!(
        matches!(&why, Some(OffStation::Waits(why)) if why.contains("node a")),
        "{why:?}"
    );
}

/// It was given and taken back by turns, once a second, and no program flew it.
#[test]
fn one_that_sways_on_its_station_keeps_what_it_was_given() {
    for off in [1.2, 1.4] {
        let mut site = new();
        let mut vehicles = vec![vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0)))];
        let (ended, _) = run(&mut site, &mut vehicles, 0);
        vehicles[0].up = 20.0 + off;
        // The next leader knows only where it holds.
        let mut site = Site::new(Term(4), Rules::default(), CENTER).unwrap();
        lent(&mut site, ROOM);
        let mut given = BTreeSet::new();
        for second in ended + 1..ended + 20 {
            update(&mut site, &vehicles, second);
            take_room(&site, &mut vehicles[0]);
            let route = site.route(&node("a")).filter(|route| route.room.is_some());
            given.extend(route.map(|route| route.number));
        }
        assert_eq!((room_of(&site), given.len()), (Some(ROOM), 1), "{off} m above");
    }
}

#[test]
fn it_is_not_given_where_another_holds_where_the_ground_is_or_where_a_geofence_ends() {
    let told = |prepare: &dyn Fn(&mut Site), others: Vec<Vehicle>, room| {
        let mut site = new();
        let mut vehicles = vec![vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 20.0)))];
        vehicles.extend(others);
        let (ended, _) = run(&mut site, &mut vehicles, 0);
        prepare(&mut site);
        lent(&mut site, room);
        for second in ended + 1..ended + 4 {
            update(&mut site, &vehicles, second);
        }
        assert_eq!(room_of(&site), None);
        match site.off_station(&node("a"), at(ended + 3)) {
            Some(OffStation::WaitsForRoom(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let near = vehicle("b", 40.0, Desire::At(station(20.0, 60.0, 20.0)));
    let why = told(&|_: &mut Site| {}, vec![near], ROOM);
    assert!(why.contains("waits for the airspace of the vehicle of node b"), "{why}");
    let deep = Room {
        below: Meters(18.0),
        ..ROOM
    };
    let why = told(&|_: &mut Site| {}, Vec::new(), deep);
    assert!(why.contains("2.0 m above home"), "{why}");
    let high = Room {
        above: Meters(101.0),
        ..ROOM
    };
    let why = told(&|_: &mut Site| {}, Vec::new(), high);
    assert!(why.contains("121 m above home"), "{why}");
    let hole = |site: &mut Site| {
        let mut block = fence("block");
        block.exclude = vec![model::rules::Outline::Circle {
            center: shifted(CENTER, 0.0, 90.0),
            radius: Meters(4.0),
        }];
        site.keep_within(Some(BTreeMap::from([(node("a"), vec![Arc::new(block)])])));
    };
    let why = told(&hole, Vec::new(), ROOM);
    assert!(why.contains("Geofence block does not allow all of it"), "{why}");
    let why = told(&|site: &mut Site| site.keep_within(None), Vec::new(), ROOM);
    assert!(why.contains("its Geofences are not known yet"), "{why}");
}

#[test]
fn a_volume_that_is_taken_back_stays_claimed_until_its_agent_has_let_go_of_it() {
    let mut site = new();
    let other = vehicle("b", 60.0, Desire::Nothing);
    let (mut vehicles, second) = flown(&mut site, vec![other]);
    let number = site.route(&node("a")).unwrap().number;
    vehicles[0].desire = Desire::Home;
    (vehicles[1].desire, vehicles[1].roams) = (Desire::At(station(20.0, 75.0, 20.0)), true);
    for step in 1..4 {
        update(&mut site, &vehicles, second + step);
        assert_eq!(site.route(&node("a")), None, "the order names none");
        assert_eq!(site.last_granted(&node("a")), Some(number), "and that it is void");
        assert!(site.route(&node("b")).is_none(), "it may still be anywhere in it");
    }
    vehicles[0].state.order = None;
    vehicles[0].state.next = None;
    vehicles[0].at = (-4.0, 60.0);
    update(&mut site, &vehicles, second + 4);
    assert_eq!(site.route(&node("a")), None, "not before it has stopped");
    assert!(site.route(&node("b")).is_none());
    update(&mut site, &vehicles, second + 5);
    update(&mut site, &vehicles, second + 6);
    let home = site.route(&node("a")).unwrap();
    assert!(home.number > number && home.room.is_none(), "{home:?}");
    let frame = Frame::at(CENTER).unwrap();
    let begins = frame.local(home.places[0].at, home.places[0].amsl).unwrap();
    assert!((begins.east + 4.0).abs() < 0.1, "from where it is: {begins:?}");
}

#[test]
fn one_that_a_program_flew_low_comes_home_above_its_station() {
    let mut site = new();
    let mut vehicles = vec![vehicle("a", 0.0, Desire::At(station(0.0, 60.0, 60.0)))];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    let deep = Room {
        below: Meters(50.0),
        ..ROOM
    };
    lent(&mut site, deep);
    for second in ended + 1..ended + 6 {
        update(&mut site, &vehicles, second);
        take_room(&site, &mut vehicles[0]);
    }
    assert_eq!(room_of(&site), Some(deep));
    (vehicles[0].at, vehicles[0].up, vehicles[0].desire) = ((20.0, 60.0), 12.0, Desire::Home);
    update(&mut site, &vehicles, ended + 6);
    (vehicles[0].state.order, vehicles[0].state.next) = (None, None);
    let home = (ended + 7..ended + 17).find_map(|second| {
        update(&mut site, &vehicles, second);
        site.route(&node("a")).cloned()
    });
    let home = home.unwrap();
    let crosses = home.places[1..].iter().map(|place| place.amsl.0 - SEA);
    assert!(crosses.fold(f64::INFINITY, f64::min) >= 60.0, "{home:?}");
}

#[test]
fn a_vehicle_that_leaves_its_volume_is_astray_and_comes_back_from_where_it_stopped() {
    let mut site = new();
    let (mut vehicles, second) = flown(&mut site, Vec::new());
    vehicles[0].at = (0.0, 95.0);
    update(&mut site, &vehicles, second + 1);
    let owned = site.claims.volume(&Owner::Vehicle(node("a"))).cloned().unwrap();
    let far = Route::hold(
        site.frame
            .local(shifted(CENTER, 0.0, 130.0), AltitudeAmsl(SEA + 20.0))
            .unwrap(),
    );
    let beyond = far.volume(site.claims.rules().margin(site.claims.rules().accuracy));
    assert!(!owned.clear_of(&beyond, site.claims.rules()), "it may fly on");
    vehicles[0].state.order = None;
    vehicles[0].state.next = None;
    for step in 2..6 {
        update(&mut site, &vehicles, second + step);
    }
    assert!(site.route(&node("a")).is_some_and(|route| route.room.is_none()));
    site.lend(BTreeMap::new());
    let (ended, _) = run(&mut site, &mut vehicles, second + 6);
    assert!(ended < second + 60, "it is back on its station");
}

#[test]
fn a_new_leader_knows_what_is_lent_by_the_report_alone() {
    let mut site = new();
    let (vehicles, second) = flown(&mut site, Vec::new());
    let route = site.route(&node("a")).cloned();
    let mut next = Site::new(Term(4), Rules::default(), CENTER).unwrap();
    lent(&mut next, ROOM);
    update(&mut next, &vehicles, second + 1);
    update(&mut next, &vehicles, second + 2);
    assert_eq!(next.route(&node("a")).cloned(), route);
    assert_eq!(next.off_station(&node("a"), at(second + 2)), Some(OffStation::Lent));
    next.lend(BTreeMap::new());
    update(&mut next, &vehicles, second + 3);
    assert_eq!(next.route(&node("a")), None);
    assert_eq!(next.last_granted(&node("a")), route.map(|route| route.number));
}

#[test]
fn a_volume_that_is_still_reported_after_its_agent_took_it_back_stays_claimed() {
    let mut site = new();
    let (mut vehicles, second) = flown(&mut site, Vec::new());
    // Its agent flies it along no route any more, and reports that it has not stopped.
    (vehicles[0].state.next, vehicles[0].at) = (None, (10.0, 60.0));
    let mut next = Site::new(Term(4), Rules::default(), CENTER).unwrap();
    for site in [&mut site, &mut next] {
        update(site, &vehicles, second + 1);
        assert_eq!(
            site.claims.unsteady(at(second + 1)).count(),
            0,
            "it is where it should be"
        );
        assert!(site.claims.room(&node("a")).is_some());
    }
}

#[test]
fn a_geofence_ends_a_volume_and_one_that_is_not_known_for_a_while_does_not() {
    let mut site = new();
    let (vehicles, second) = flown(&mut site, Vec::new());
    site.keep_within(None);
    update(&mut site, &vehicles, second + 1);
    assert_eq!(room_of(&site), Some(ROOM), "it was granted before");
    let mut low = fence("low");
    low.ceiling = Some(AltitudeAboveHome(26.0));
    site.keep_within(Some(BTreeMap::from([(node("a"), vec![Arc::new(low)])])));
    update(&mut site, &vehicles, second + 2);
    assert_eq!(room_of(&site), None);
}

#[test]
fn one_whose_way_leads_over_it_crosses_above_it() {
    let mut site = new();
    let other = vehicle("b", -80.0, Desire::Nothing);
    let (mut vehicles, second) = flown(&mut site, vec![other]);
    let tall = Room {
        above: Meters(40.0),
        ..ROOM
    };
    lent(&mut site, tall);
    for step in 1..12 {
        update(&mut site, &vehicles, second + step);
        if site.route(&node("a")).is_none() {
            (vehicles[0].state.order, vehicles[0].state.next) = (None, None);
        }
        take_room(&site, &mut vehicles[0]);
    }
    assert_eq!(room_of(&site), Some(tall));
    // A straight line would cross the room, whose middle is 60 m north.
    vehicles[1].desire = Desire::At(station(80.0, 110.0, 20.0));
    vehicles[1].roams = true;
    let granted = (12..20).find_map(|step| {
        update(&mut site, &vehicles, second + step);
        site.route(&node("b")).cloned()
    });
    let highest = granted.map(|route| route.places.iter().map(|place| place.amsl.0 - SEA).fold(0.0, f64::max));
    assert!(highest.is_some_and(|highest| highest > 65.0), "{highest:?}");
}

/// Text about the airspace of `a` around its station once both are there, `None`: it has it; and about the return of `b`.
fn told_beside(b: Vehicle, own: Station, room: Room, strict: &[&str]) -> (Option<String>, Option<String>) {
    let mut site = new();
    site.keep_returns_clear(strict.iter().map(|name| node(name)).collect());
    let mut vehicles = [vehicle("a", 0.0, Desire::At(own)), b];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    assert!(ended < 100, "all that have a station are there");
    lent(&mut site, room);
    for second in ended + 1..ended + 4 {
        update(&mut site, &vehicles, second);
    }
    let said = match site.off_station(&node("a"), at(ended + 3)) {
        Some(OffStation::WaitsForRoom(why)) => Some(why),
        Some(OffStation::Lent) => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(room_of(&site).is_some(), said.is_none());
    (said, site.crossed_station(&node("b")))
}

#[test]
fn it_is_not_given_over_the_home_of_another_that_is_in_the_air() {
    let high = station(0.0, 10.0, 40.0);
    let away = vehicle("b", 20.0, Desire::At(station(100.0, 60.0, 20.0)));
    let (why, _) = told_beside(away, high, ROOM, &[]);
    let why = why.unwrap();
    assert!(why.contains("node b") && why.contains("come down to its home"), "{why}");
    let (why, _) = told_beside(vehicle("b", 20.0, Desire::Nothing), high, ROOM, &[]);
    assert_eq!(why, None, "on the ground it needs no way down");
}

#[test]
fn it_ends_for_one_that_has_no_other_way_down_and_comes_back_after_it() {
    let mut site = new();
    let mut vehicles = [
        vehicle("a", 0.0, Desire::At(station(0.0, 10.0, 40.0))),
        vehicle("b", 20.0, Desire::Nothing),
    ];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    lent(&mut site, ROOM);
    for second in ended + 1..ended + 4 {
        update(&mut site, &vehicles, second);
        take_room(&site, &mut vehicles[0]);
    }
    assert_eq!(room_of(&site), Some(ROOM));
    (vehicles[1].at, vehicles[1].up, vehicles[1].activity) = ((100.0, 60.0), 20.0, Activity::Holding);
    (vehicles[1].desire, vehicles[1].roams) = (Desire::At(station(100.0, 60.0, 20.0)), true);
    let mut next = Site::new(Term(4), Rules::default(), CENTER).unwrap();
    lent(&mut next, ROOM);
    for second in ended + 4..ended + 8 {
        update(&mut next, &vehicles, second);
        vehicles[1].step(&next);
    }
    assert_eq!(room_of(&next), Some(ROOM), "it holds elsewhere");
    vehicles[1].desire = Desire::Home;
    let frame = Frame::at(CENTER).unwrap();
    let goes = (ended + 8..ended + 28).any(|second| {
        update(&mut next, &vehicles, second);
        if next.route(&node("a")).is_none() {
            (vehicles[0].state.order, vehicles[0].state.next) = (None, None);
        }
        take_room(&next, &mut vehicles[0]);
        let end = next.route(&node("b")).and_then(RouteOrder::end);
        let end = end.map(|end| frame.local(end.at, end.amsl).unwrap());
        end.is_some_and(|end| end.north.abs() < 1.0 && (end.east - 20.0).abs() < 1.0)
    });
    assert!(goes, "{:?}", next.off_station(&node("b"), at(ended + 28)));
    assert_eq!(room_of(&next), None);
    for second in ended + 29..ended + 32 {
        update(&mut next, &vehicles, second);
        assert_eq!(room_of(&next), None, "it would be in the way again");
    }
    vehicles[1].step(&next);
    (vehicles[1].state.order, vehicles[1].state.next) = (None, None);
    (vehicles[1].at, vehicles[1].up, vehicles[1].desire) = ((20.0, 0.0), 0.0, Desire::Nothing);
    for second in ended + 32..ended + 36 {
        update(&mut next, &vehicles, second);
    }
    assert_eq!(room_of(&next), Some(ROOM), "it has landed");
}

#[test]
fn it_is_not_given_where_the_autopilot_of_another_would_climb_through_it() {
    let room = Room {
        radius: Meters(40.0),
        below: Meters(8.0),
        above: Meters(10.0),
        ..ROOM
    };
    let told = |returns_at: f64| {
        let mut b = vehicle("b", 40.0, Desire::At(station(30.0, 60.0, 15.0)));
        b.returns_at = Some(returns_at);
        told_beside(b, station(0.0, 60.0, 40.0), room, &[])
    };
    let (why, crossed) = told(60.0);
    let why = why.unwrap();
    assert!(why.contains("node b") && why.contains("RTL_ALT"), "{why}");
    let crossed = crossed.unwrap();
    assert!(
        crossed.contains("the volume around the station of the vehicle of node a"),
        "{crossed}"
    );
    assert_eq!(told(15.0), (None, None), "it returns below all of it");
}

#[test]
fn a_return_across_a_volume_is_named_and_with_a_strict_preflight_it_is_not_given() {
    let told = |strict: &[&str]| {
        let b = vehicle("b", 30.0, Desire::At(station(30.0, 140.0, 20.0)));
        told_beside(b, station(0.0, 60.0, 20.0), ROOM, strict)
    };
    let (why, crossed) = told(&[]);
    assert_eq!(why, None);
    assert!(crossed.unwrap().contains("the volume around the station"));
    for strict in [&["a"], &["b"]] {
        let (why, crossed) = told(strict);
        let why = why.unwrap();
        assert!(why.contains("preflight: Refuse") && why.contains("node b"), "{why}");
        assert!(crossed.is_some());
    }
}
