//! A new leader finds plans in flight, or before takeoff, by orders of the leader before.

use super::plans::{corridor, digest};
use super::*;
use model::owned_airspace::Owned;
use model::report::HandsOff;
use model::vehicle::WhyUnknown;

const PILOT: Activity = Activity::HandsOff(HandsOff::OtherMode);

/// The agent holds the plan `plan` and an order that names it; `flying`: its vehicle flies it.
fn on_plan(vehicle: &Vehicle, plan: &str, flying: bool, second: u64) -> Report {
    let mut report = vehicle.report(at(second));
    (report.plan.held, report.plan.flying) = (Some(digest(plan)), flying);
    let held = report.held.as_mut().unwrap();
    held.grounded = false;
    held.details = Some(HeldDetails {
        plan: Some(digest(plan)),
        ..HeldDetails::default()
    });
    report
}

/// The order leaves the plan out, and the vehicle holds.
fn holds(vehicle: &Vehicle, plan: &str, second: u64) -> Report {
    let mut report = on_plan(vehicle, plan, false, second);
    report.activity = Activity::Holding;
    report.held.as_mut().unwrap().details = Some(HeldDetails::default());
    report
}

/// On its way of 200 m to the north, 20 m from its home, and one on the ground that is to hold 130 m ahead of it.
fn found() -> [Vehicle; 2] {
    let mut vehicles = [
        vehicle("a", 0.0, Desire::Plan),
        vehicle("w", 100.0, Desire::At(station(0.0, 150.0, 20.0))),
    ];
    (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (20.0, (0.0, 20.0), Activity::Moving);
    vehicles
}

#[test]
fn nobody_is_granted_what_a_plan_of_another_may_lead_through_that_is_not_known() {
    let vehicles = found();
    let reports = |second| [on_plan(&vehicles[0], "a", true, second), vehicles[1].report(at(second))];
    let mut site = new();
    site.plans(&BTreeMap::new());
    for second in 1..4 {
        take_in(&mut site, &vehicles, &reports(second), second);
        assert_eq!(site.route(&node("w")), None, "second {second}");
    }
    assert_eq!(site.owned(&node("a")), Some(Owned::Everywhere));
    site.plans(&[corridor("a", 0.0, 200.0)].into());
    take_in(&mut site, &vehicles, &reports(3), 3);
    assert_ne!(site.owned(&node("a")), Some(Owned::Everywhere));
    assert_eq!(site.route(&node("w")), None, "its way is claimed");
    assert!(site.may_fly_on(&node("a"), &digest("a"), &reports(3)[0]));
}

/// Whether another has its route after `change`d reports of a vehicle whose plan stays unknown.
fn goes_after(change: impl Fn(&mut Report)) -> bool {
    let vehicles = found();
    let mut site = new();
    for second in 0..6 {
        let mut reports = [on_plan(&vehicles[0], "a", true, second), vehicles[1].report(at(second))];
        if second > 2 {
            change(&mut reports[0]);
        }
        take_in(&mut site, &vehicles, &reports, second);
        assert!(second > 2 || site.route(&node("w")).is_none());
    }
    site.route(&node("w")).is_some()
}

#[test]
fn one_on_a_plan_that_stays_unknown_keeps_others_until_it_holds_or_has_landed() {
    let names_none = |report: &mut Report| report.held.as_mut().unwrap().details = Some(HeldDetails::default());
    assert!(!goes_after(|_| {}));
    assert!(!goes_after(|report| report.plan.held = None), "of an older version");
    assert!(
        !goes_after(names_none),
        "its agent has the order to hold, and flies still"
    );
    assert!(
        !goes_after(|report| report.plan.flying = false),
        "its order names it, and it may go on"
    );
    assert!(goes_after(|report| {
        report.plan.flying = false;
        names_none(report);
    }));
    assert!(goes_after(|report| {
        (report.plan.flying, report.plan.ended) = (false, true);
    }));
    assert!(goes_after(|report| {
        let position = report.position.as_mut().unwrap();
        (position.amsl, position.above_home) = (AltitudeAmsl(SEA), AltitudeAboveHome(0.0));
        (report.truth, report.plan.flying, report.so_far) = (FlightTruth::Disarmed, false, SoFar::Over);
    }));
}

#[test]
fn one_that_is_lost_on_an_unknown_plan_keeps_others_until_it_is_declared_down() {
    for declared in [false, true] {
        let mut site = new();
        let [mut lost, waits] = found();
        (lost.desire, lost.roams) = (Desire::Nothing, false);
        let reports = [on_plan(&lost, "a", true, 0), waits.report(at(0))];
        let mut vehicles = vec![lost, waits];
        take_in(&mut site, &vehicles, &reports, 0);
        if declared {
            site.declare_down(&node("a"));
        }
        vehicles.remove(0);
        for second in 1..4 {
            update(&mut site, &vehicles, second);
        }
        assert_eq!(site.route(&node("w")).is_some(), declared);
    }
}

#[test]
fn one_that_is_to_take_off_for_an_unknown_plan_keeps_others_down() {
    let [mut a, waits] = found();
    (a.up, a.at, a.desire, a.activity) = (0.0, (0.0, 0.0), Desire::Nothing, Activity::Idle);
    let above = vehicle("b", 200.0, Desire::AboveHome(AltitudeAboveHome(20.0)));
    let vehicles = [a, waits, above];
    let go = |change: &dyn Fn(&mut Report)| {
        let mut site = new();
        for second in 0..4 {
            let mut reports = [
                on_plan(&vehicles[0], "a", false, second),
                vehicles[1].report(at(second)),
                vehicles[2].report(at(second)),
            ];
            reports[2].held.as_mut().unwrap().grounded = true;
            change(&mut reports[0]);
            take_in(&mut site, &vehicles, &reports, second);
        }
        (site.route(&node("w")).is_some(), site.may_take_off(&node("b")))
    };
    assert_eq!(go(&|_| {}), (false, false));
    assert_eq!(go(&|report| report.truth = FlightTruth::ArmedOnGround), (false, false));
    assert_eq!(
        go(&|report| report.held.as_mut().unwrap().grounded = true),
        (true, true)
    );
    assert_eq!(go(&|report| report.so_far = SoFar::Over), (true, true), "it stays down");
}

#[test]
fn a_vehicle_on_a_plan_through_what_another_was_granted_stops_and_asks() {
    for climbs in [false, true] {
        let mut vehicles = found();
        if climbs {
            (vehicles[0].up, vehicles[0].at) = (9.0, (0.0, 0.0));
        }
        let mut site = new();
        vehicles[0].activity = PILOT;
        for second in 1..3 {
            update(&mut site, &vehicles, second);
        }
        let granted = site.route(&node("w")).map(|route| route.number);
        assert!(granted.is_some(), "a pilot flies the other, far off");
        vehicles[0].activity = if climbs { Activity::TakingOff } else { Activity::Moving };
        site.plans(&[corridor("a", 0.0, 200.0)].into());
        let reports = [on_plan(&vehicles[0], "a", true, 3), vehicles[1].report(at(3))];
        take_in(&mut site, &vehicles, &reports, 3);
        assert!(
            !site.may_fly_on(&node("a"), &digest("a"), &reports[0]),
            "climbs: {climbs}"
        );
        let why = site.plan_waits(&node("a"));
        assert_eq!(why, Some("waits for the airspace of the vehicle of node w"));
        assert_eq!(site.route(&node("w")), None, "that has not set out, and waits too");
        vehicles[1].state.last = granted.unwrap();
        (vehicles[0].up, vehicles[0].activity) = (20.0, Activity::Holding);
        for second in 4..8 {
            let reports = [holds(&vehicles[0], "a", second), vehicles[1].report(at(second))];
            take_in(&mut site, &vehicles, &reports, second);
        }
        let report = holds(&vehicles[0], "a", 8);
        assert!(
            site.may_fly_on(&node("a"), &digest("a"), &report),
            "it was granted the rest; climbs: {climbs}"
        );
        assert_eq!(site.route(&node("w")), None, "climbs: {climbs}");
    }
}

#[test]
fn one_in_the_air_stops_before_a_vehicle_that_is_found_in_what_it_was_granted() {
    let (w, mut crossing) = corridor("w", 30.0, 100.0);
    crossing.places[2].at = shifted(CENTER, -30.0, 100.0);
    let mut plans = BTreeMap::from([(w, crossing)]);
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("w", 30.0, Desire::Plan)];
    (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (20.0, (0.0, 150.0), PILOT);
    let mut site = new();
    site.plans(&plans);
    let reports = [vehicles[0].report(at(1)), vehicles[1].report(at(1))];
    take_in(&mut site, &vehicles, &reports, 1);
    assert!(site.may_fly_plan(&node("w"), &digest("w")));
    (vehicles[0].at, vehicles[1].up) = ((0.0, 72.0), 20.0);
    for (second, place) in [(9, (18.5, 19.1)), (10, (17.5, 20.8))] {
        vehicles[1].at = place;
        let reports = [vehicles[0].report(at(second)), on_plan(&vehicles[1], "w", true, second)];
        take_in(&mut site, &vehicles, &reports, second);
        assert!(
            site.may_fly_on(&node("w"), &digest("w"), &reports[1]),
            "second {second}"
        );
    }
    let (a, mut home) = corridor("a", 0.0, 200.0);
    home.next = Some(3);
    plans.insert(a, home);
    (vehicles[0].at, vehicles[1].at) = ((0.0, 62.0), (16.5, 22.5));
    vehicles[0].activity = Activity::Moving;
    let reports = [
        on_plan(&vehicles[0], "a", true, 11),
        on_plan(&vehicles[1], "w", true, 11),
    ];
    site.plans(&plans);
    take_in(&mut site, &vehicles, &reports, 11);
    for (name, report) in ["a", "w"].into_iter().zip(&reports) {
        assert!(
            !site.may_fly_on(&node(name), &digest(name), report),
            "{name} is to stop"
        );
    }
}

#[test]
fn one_in_the_air_stops_before_a_vehicle_that_is_found_in_its_way_once_it_is_heard() {
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("b", 60.0, Desire::Nothing)];
    (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (20.0, (0.0, 20.0), Activity::Moving);
    (vehicles[1].up, vehicles[1].activity) = (20.0, Activity::Holding);
    for (place, flies_on) in [((60.0, 0.0), true), ((0.0, 120.0), false)] {
        (vehicles[1].at, vehicles[1].heard) = (place, false);
        let mut site = new();
        site.plans(&[corridor("a", 0.0, 200.0)].into());
        let fly = |site: &mut Site, vehicles: &[Vehicle], second| {
            let reports = [on_plan(&vehicles[0], "a", true, second), vehicles[1].report(at(second))];
            take_in(site, vehicles, &reports, second);
            site.may_fly_on(&node("a"), &digest("a"), &reports[0])
        };
        for second in [1, 2, 30] {
            assert!(fly(&mut site, &vehicles, second), "nobody is known at first");
            assert_eq!(site.plan_waits(&node("a")), None);
        }
        assert!(fly(&mut site, &vehicles, 40));
        let why = site.plan_waits(&node("a")).unwrap();
        assert!(why.contains("not known where the vehicle of node b is"), "{why}");
        vehicles[1].heard = true;
        assert_eq!(fly(&mut site, &vehicles, 41), flies_on, "{place:?}");
        let why = (!flies_on).then_some("waits for the airspace of the vehicle of node b");
        assert_eq!(site.plan_waits(&node("a")), why);
    }
}

#[test]
fn one_that_has_only_flown_through_what_others_own_flies_on_after_a_takeover() {
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("b", 60.0, Desire::Nothing)];
    (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (20.0, (0.0, 50.0), Activity::Moving);
    (vehicles[1].up, vehicles[1].at, vehicles[1].activity) = (20.0, (0.0, 120.0), Activity::Holding);
    let (a, mut way) = corridor("a", 0.0, 200.0);
    for (next, flies_on) in [(Some(3), true), (Some(2), false)] {
        let mut site = new();
        way.next = next;
        site.plans(&BTreeMap::from([(a.clone(), way.clone())]));
        let reports = [on_plan(&vehicles[0], "a", true, 1), vehicles[1].report(at(1))];
        take_in(&mut site, &vehicles, &reports, 1);
        let may = site.may_fly_on(&node("a"), &digest("a"), &reports[0]);
        assert_eq!(may, flies_on, "{next:?}");
    }
}

#[test]
fn one_that_takes_off_beside_its_home_owns_the_way_that_it_flies_after_a_takeover() {
    let mut vehicles = [vehicle("a", 0.0, Desire::Plan)];
    (vehicles[0].up, vehicles[0].at, vehicles[0].activity) = (9.0, (7.0, 0.0), Activity::TakingOff);
    let mut site = new();
    site.plans(&[corridor("a", 0.0, 200.0)].into());
    take_in(&mut site, &vehicles, &[on_plan(&vehicles[0], "a", true, 1)], 1);
    assert_eq!(site.claims.unsteady(at(1)).count(), 0, "it keeps to its way");
}

#[test]
fn a_takeoff_that_was_ordered_before_waits_where_its_way_was_granted_to_another() {
    let [mut a, waits] = found();
    (a.up, a.at, a.activity) = (0.0, (0.0, 0.0), Activity::Idle);
    let vehicles = [a, waits];
    let mut site = new();
    let mut reports = [vehicles[0].report(at(1)), vehicles[1].report(at(1))];
    reports[0].held.as_mut().unwrap().grounded = true;
    take_in(&mut site, &vehicles, &reports, 1);
    assert!(site.route(&node("w")).is_some(), "nothing says that the other flies");
    site.plans(&[corridor("a", 0.0, 200.0)].into());
    let reports = [on_plan(&vehicles[0], "a", false, 2), vehicles[1].report(at(2))];
    for _ in 0..2 {
        take_in(&mut site, &vehicles, &reports, 2);
        assert!(!site.may_begin_plan(&node("a"), &digest("a")));
    }
    let why = site.plan_waits(&node("a"));
    assert_eq!(why, Some("waits for the airspace of the vehicle of node w"));
    assert!(site.route(&node("w")).is_some(), "it was granted first");
}

#[test]
fn no_plan_is_begun_while_a_vehicle_is_not_heard_at_all_that_may_fly() {
    let vehicles = [vehicle("a", 0.0, Desire::Plan), vehicle("z", 500.0, Desire::Nothing)];
    let parked = vehicles[1].report(at(1));
    let off = Report {
        truth: FlightTruth::Unknown(WhyUnknown::NeverHeard),
        position: None,
        home: None,
        ..parked.clone()
    };
    let lost = Report {
        so_far: SoFar::Flown,
        ..off.clone()
    };
    let ordered = on_plan(&vehicles[0], "a", false, 1);
    let begins = |site: &mut Site, other: Option<&Report>, may_fly| {
        let one = |vehicle: &Vehicle, report, may_fly| Expected {
            report,
            may_fly,
            roams: vehicle.roams,
            desire: vehicle.desire,
        };
        let a = one(&vehicles[0], Some((&ordered, at(1))), true);
        let z = one(&vehicles[1], other.map(|report| (report, at(1))), may_fly);
        site.plans(&[corridor("a", 0.0, 200.0)].into());
        site.update(&BTreeMap::from([(node("a"), a), (node("z"), z)]), at(1));
        site.may_begin_plan(&node("a"), &digest("a"))
    };
    for (report, may_fly, may_begin) in [
        (None, true, false),
        (Some(&lost), true, false),
        (None, false, true),
        (Some(&off), true, true),
        (Some(&parked), true, true),
    ] {
        let mut site = new();
        assert_eq!(begins(&mut site, report, may_fly), may_begin, "{report:?} {may_fly}");
        assert!(begins(&mut site, Some(&parked), true), "it is heard, on the ground");
    }
}
