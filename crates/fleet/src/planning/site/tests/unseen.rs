//! Vehicles in the air that do not say where they are: in the hands of others, of Skein, or with an agent that has just started.

use super::*;

/// Which place a vehicle says it is at: none, the last that it knew, or where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Said {
    None,
    Old,
    New,
}

/// `b` holds 80 m north of its home; `a` is on the ground at home so far east.
fn one_holds(home: f64) -> (Site, [Vehicle; 2], u64) {
    let mut site = new();
    let mut vehicles = [
        vehicle("b", 0.0, Desire::At(station(0.0, 80.0, 20.0))),
        vehicle("a", home, Desire::Nothing),
    ];
    let (ended, _) = run(&mut site, &mut vehicles, 0);
    assert!(ended < 60 && site.off_station(&node("b"), at(ended)).is_none());
    (site, vehicles, ended)
}

/// Takes in `b` as it says it is, where the last that it knew of its place is of `known`.
fn update_b(site: &mut Site, vehicles: &[Vehicle], said: Said, known: u64, second: u64) {
    let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
    match said {
        Said::None => (reports[0].position, reports[0].position_at) = (None, None),
        Said::Old => reports[0].position_at = Some(at(known)),
        Said::New => {}
    }
    take_in(site, vehicles, &reports, second);
}

fn let_go(vehicle: &mut Vehicle, activity: Activity) {
    (vehicle.activity, vehicle.state.order, vehicle.state.next) = (activity, None, None);
}

#[test]
fn one_that_others_fly_without_a_position_may_be_wherever_it_could_have_flown() {
    let pilot = Activity::HandsOff(model::report::HandsOff::OtherMode);
    for (activity, said, free) in [
        (pilot, Said::None, false),
        (pilot, Said::Old, false),
        (pilot, Said::New, true),
        (Activity::Failsafe, Said::None, false),
        (Activity::LowBattery, Said::None, false),
        // Skein holds it there: its autopilot misses its position for a while.
        (Activity::Holding, Said::None, true),
    ] {
        let (mut site, mut vehicles, ended) = one_holds(200.0);
        let_go(&mut vehicles[0], activity);
        for second in ended + 1..ended + 15 {
            update_b(&mut site, &vehicles, said, ended, second);
        }
        // As far from the place of the other, and from its way home, as a pilot flies in that time.
        vehicles[1].desire = Desire::At(station(150.0, 80.0, 20.0));
        for second in ended + 15..ended + 18 {
            update_b(&mut site, &vehicles, said, ended, second);
        }
        let route = site.route(&node("a"));
        assert_eq!(route.is_some(), free, "{activity:?} {said:?}");
        let why = site.off_station(&node("a"), at(ended + 17));
        let named = matches!(&why, Some(OffStation::Waits(why)) if why.contains("node b"));
        assert_eq!(named, !free, "{why:?}");
        // It says again where it is: there, and nowhere else.
        for second in ended + 18..ended + 21 {
            update_b(&mut site, &vehicles, Said::New, second, second);
        }
        assert!(site.route(&node("a")).is_some(), "{activity:?} {said:?}");
    }
}

/// The wind carries it as it comes down.
#[test]
fn one_that_its_failsafe_lands_without_a_new_position_may_be_wherever_it_could_be() {
    for (said, free) in [(Said::Old, false), (Said::None, false), (Said::New, true)] {
        let (mut site, mut vehicles, ended) = one_holds(200.0);
        let_go(&mut vehicles[0], Activity::Failsafe);
        for second in ended + 1..ended + 15 {
            if second == ended + 12 {
                vehicles[1].desire = Desire::At(station(150.0, 80.0, 20.0));
            }
            let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
            reports[0].mode = Some("AUTO.LAND".to_owned());
            match said {
                Said::None => (reports[0].position, reports[0].position_at) = (None, None),
                Said::Old => reports[0].position_at = Some(at(ended)),
                Said::New => {}
            }
            take_in(&mut site, &vehicles, &reports, second);
        }
        assert_eq!(site.route(&node("a")).is_some(), free, "{said:?}");
    }
}

#[test]
fn one_that_came_down_without_a_position_goes_no_farther() {
    for lands in [false, true] {
        let (mut site, mut vehicles, ended) = one_holds(1500.0);
        let_go(&mut vehicles[0], Activity::HandsOff(model::report::HandsOff::OtherMode));
        for second in ended + 1..ended + 20 {
            update_b(&mut site, &vehicles, Said::None, ended, second);
        }
        // Within 0.5 km of where it was seen, and as high as it was before, or on the ground.
        vehicles[0].up = if lands { 0.0 } else { 20.0 };
        for second in ended + 20..ended + 200 {
            update_b(&mut site, &vehicles, Said::None, ended, second);
        }
        vehicles[1].desire = Desire::At(station(1500.0, 80.0, 20.0));
        for second in ended + 200..ended + 203 {
            update_b(&mut site, &vehicles, Said::None, ended, second);
        }
        assert_eq!(site.route(&node("a")).is_some(), lands);
    }
}

#[test]
fn one_that_a_pilot_lifts_without_a_position_goes_from_where_it_stood_until_then() {
    for (home, free) in [(200.0, false), (1000.0, true)] {
        let mut site = new();
        let mut vehicles = [vehicle("b", 0.0, Desire::Nothing), vehicle("a", home, Desire::Nothing)];
        update(&mut site, &vehicles, 0);
        for second in 1..60 {
            update_b(&mut site, &vehicles, Said::None, 0, second);
        }
        vehicles[0].up = 20.0;
        let_go(&mut vehicles[0], Activity::HandsOff(model::report::HandsOff::OtherMode));
        for second in 60..75 {
            update_b(&mut site, &vehicles, Said::None, 0, second);
        }
        vehicles[1].desire = Desire::At(station(home, 80.0, 20.0));
        for second in 75..78 {
            update_b(&mut site, &vehicles, Said::None, 0, second);
        }
        assert_eq!(site.route(&node("a")).is_some(), free, "{home} m away");
    }
}

#[test]
fn one_whose_agent_starts_anew_far_from_its_claim_owns_where_it_is_before_it_knows_its_home() {
    let (mut site, mut vehicles, ended) = one_holds(200.0);
    let_go(&mut vehicles[0], Activity::Holding);
    vehicles[0].at = (150.0, 80.0);
    vehicles[1].desire = Desire::At(station(150.0, 80.0, 20.0));
    for second in ended + 1..ended + 4 {
        let mut reports: Vec<Report> = vehicles.iter().map(|vehicle| vehicle.report(at(second))).collect();
        reports[0].home = None;
        take_in(&mut site, &vehicles, &reports, second);
    }
    assert_eq!(site.route(&node("a")), None, "it holds there");
}

#[test]
fn one_that_falls_silent_may_be_off_its_way_home_until_its_failsafes_were_read() {
    for (first, then, free) in [
        (Some(false), None, true),
        (Some(true), None, false),
        (None, None, false),
        (None, Some(false), true),
    ] {
        let mut site = new();
        let mut vehicles = [
            vehicle("b", 0.0, Desire::At(station(0.0, 80.0, 20.0))),
            vehicle("a", 200.0, Desire::Nothing),
        ];
        vehicles[0].detours = first;
        let (ended, _) = run(&mut site, &mut vehicles, 0);
        vehicles[0].detours = then;
        update(&mut site, &vehicles, ended + 1);
        vehicles[0].heard = false;
        for second in ended + 2..ended + 20 {
            update(&mut site, &vehicles, second);
        }
        vehicles[1].desire = Desire::At(station(150.0, 80.0, 20.0));
        for second in ended + 20..ended + 23 {
            update(&mut site, &vehicles, second);
        }
        assert_eq!(site.route(&node("a")).is_some(), free, "{first:?}, then {then:?}");
    }
}
