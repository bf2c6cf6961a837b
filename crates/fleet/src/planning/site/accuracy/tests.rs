//! How readings become margins.

use super::*;

fn at(second: u64) -> Moment {
    Moment::at(Duration::from_secs(1000 + second))
}

fn node(name: &str) -> NodeName {
    NodeName::parse(name).unwrap()
}

/// One reading a second, in the air.
fn after(readings: impl IntoIterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let (mut accuracies, rules, vehicle) = (Accuracies::default(), Rules::default(), node("a"));
    let mut margins = Vec::new();
    for (second, (horizontal, vertical)) in (0..).zip(readings) {
        let report = Report {
            truth: FlightTruth::Airborne(model::vehicle::Airborne::InAir),
            accuracy: Accuracy::of_meters(horizontal, vertical),
            ..Report::of_nothing(vehicle.clone())
        };
        accuracies.take(&vehicle, &report, at(second));
        let margin = accuracies.margin(&vehicle, &rules);
        margins.push((margin.horizontal.0, margin.vertical.0));
    }
    margins
}

#[test]
fn a_margin_is_never_less_than_the_rules_grows_with_what_is_reported_and_has_an_end() {
    let least = Rules::default().accuracy;
    let margin = |horizontal, vertical| after([(horizontal, vertical)])[0];
    for good in [(0.02, 0.03), (0.9, 1.78), (1.0, 2.0)] {
        assert_eq!(
            margin(good.0, good.1),
            (least.horizontal.0, least.vertical.0),
            "{good:?}"
        );
    }
    assert_eq!(margin(1.01, 2.01), (1.5, 1.5));
    assert_eq!(margin(4.0, 7.0), (4.0, 6.0));
    assert_eq!(margin(900.0, 900.0), (WIDEST.horizontal.0, WIDEST.vertical.0));
    let mut last = (0.0, 0.0);
    for tenths in 0..300_u32 {
        let meters = f64::from(tenths) / 10.0;
        let now = margin(meters, meters);
        // The first is not known, and counts as more than a good one.
        assert!(
            tenths == 1 || (now.0 >= last.0 && now.1 >= last.1),
            "{meters} m: {now:?} after {last:?}"
        );
        last = now;
    }
}

#[test]
fn how_far_before_a_place_a_vehicle_turns_counts_until_it_reports_another_or_is_a_px4() {
    let (mut accuracies, vehicle) = (Accuracies::default(), node("a"));
    let mut corners = |second, autopilot: Autopilot, radius: Option<f64>| {
        let report = Report {
            identity: Some(model::vehicle::Identity {
                autopilot,
                system: model::units::SystemId(1),
                component: model::units::ComponentId(1),
                firmware: None,
                hardware: None,
            }),
            waypoint_radius: radius.map(Meters),
            ..Report::of_nothing(vehicle.clone())
        };
        accuracies.take(&vehicle, &report, at(second));
        accuracies.corners(&vehicle)
    };
    assert_eq!(
        corners(0, Autopilot::ArduPilot, None),
        Meters(8.0),
        "not known is the most"
    );
    assert_eq!(corners(1, Autopilot::ArduPilot, Some(5.0)), Meters(3.0));
    assert_eq!(
        corners(2, Autopilot::ArduPilot, None),
        Meters(3.0),
        "its agent started again"
    );
    assert_eq!(corners(3, Autopilot::ArduPilot, Some(1.0)), Meters(0.0));
    assert_eq!(corners(4, Autopilot::ArduPilot, Some(10.0)), Meters(8.0));
    assert_eq!(corners(5, Autopilot::Px4, None), Meters(0.0));
}

#[test]
fn a_margin_grows_at_once_and_shrinks_only_after_some_seconds_that_do_not_need_it() {
    let good = std::iter::repeat_n((0.8, 1.5), 20);
    let bad = std::iter::once((3.2, 6.0));
    let margins = after(good.clone().chain(bad).chain(good.clone()).chain(good));
    assert_eq!(margins[19], (1.0, 1.0));
    assert_eq!(margins[20], (3.5, 5.0), "with the first reading");
    assert_eq!(margins[34], (3.5, 5.0), "14 s after it");
    assert_eq!(margins[55], (1.0, 1.0), "35 s after it");
    let changes = margins.windows(2).filter(|two| two[0] != two[1]).count();
    assert_eq!(changes, 2);
}

#[test]
fn readings_about_a_step_do_not_let_a_margin_come_and_go() {
    let about = (0..600_u32).map(|second| {
        let up = f64::from((second * 7) % 40) / 100.0;
        (1.4 + up, 2.9)
    });
    let margins = after(about);
    let changes = margins.windows(2).filter(|two| two[0] != two[1]).count();
    assert!(changes <= 1, "{changes} changes in ten minutes");
}

#[test]
fn what_is_not_reported_any_more_stays_what_it_was() {
    let lost = std::iter::once((4.2, 6.0)).chain(std::iter::repeat_n((0.0, 0.0), 120));
    let margins = after(lost);
    assert_eq!(margins[120], margins[0]);
}

#[test]
fn beyond_the_bound_nothing_new_is_granted_and_the_reason_has_the_figures() {
    let why = |horizontal, vertical| {
        let (mut accuracies, vehicle) = (Accuracies::default(), node("a"));
        let report = Report {
            accuracy: Accuracy::of_meters(horizontal, vertical),
            ..Report::of_nothing(vehicle.clone())
        };
        accuracies.take(&vehicle, &report, at(0));
        accuracies.too_bad(&vehicle)
    };
    assert_eq!(why(5.0, 7.5), None);
    assert_eq!(why(0.0, 0.0), None, "not known is what the rules state");
    let text = why(6.4, 3.0).unwrap();
    assert!(text.contains("6.5 m over ground and 3.0 m in altitude"), "{text}");
    assert!(text.contains("5.0 m and 7.5 m are the most"), "{text}");
    let text = why(0.0, 9.0).unwrap();
    assert!(text.contains("an unknown distance over ground and 9.0 m"), "{text}");
}

fn home(east: f64, up: f64) -> Local {
    Local { east, north: 0.0, up }
}

/// Of vehicles with these homes and this reported standard deviation; 0 for none.
fn vertical(deviation: f64, homes: &[Local]) -> Vec<f64> {
    let (mut accuracies, rules) = (Accuracies::default(), Rules::default());
    let names: Vec<NodeName> = (0..homes.len()).map(|i| node(&format!("n{i}"))).collect();
    for name in &names {
        let report = Report {
            accuracy: Accuracy::of_meters(0.5, deviation),
            ..Report::of_nothing(name.clone())
        };
        accuracies.take(name, &report, at(0));
    }
    accuracies.compare(names.iter().cloned().zip(homes.iter().copied()).collect());
    names
        .iter()
        .map(|name| accuracies.margin(name, &rules).vertical.0)
        .collect()
}

#[test]
fn homes_that_agree_leave_the_rules_as_they_are_whatever_is_reported() {
    let homes = [home(0.0, 488.0), home(15.0, 488.9), home(30.0, 487.6)];
    assert_eq!(vertical(1.78, &homes), [1.0, 1.0, 1.0]);
    assert_eq!(vertical(0.0, &homes), [1.0, 1.0, 1.0]);
}

#[test]
fn a_vehicle_whose_altitude_is_not_reported_and_that_stands_alone_counts_for_more() {
    assert_eq!(vertical(0.0, &[home(0.0, 488.0)]), [2.0]);
    assert_eq!(vertical(0.0, &[home(0.0, 488.0), home(900.0, 460.0)]), [2.0, 2.0]);
    assert_eq!(vertical(1.5, &[home(0.0, 488.0)]), [1.0], "a good receiver says so");
}

#[test]
fn two_homes_that_differ_by_six_meters_add_that_as_margin_less_the_slope_of_a_field() {
    let both = vertical(1.78, &[home(0.0, 485.0), home(15.0, 491.0)]);
    assert!(
        both.iter().sum::<f64>() >= 2.0 + 6.0 - 2.0 * (SAME_ALTITUDE_M + SLOPE * 15.0),
        "{both:?}"
    );
    let of_three = vertical(1.78, &[home(0.0, 488.0), home(15.0, 488.0), home(30.0, 494.0)]);
    assert_eq!(of_three[..2], [1.0, 1.0]);
    assert!(of_three[2] >= 5.0, "{of_three:?}");
}

#[test]
fn homes_that_differ_by_more_than_receivers_do_stand_on_other_ground() {
    let roof = [home(0.0, 488.0), home(15.0, 488.0), home(20.0, 520.0)];
    assert_eq!(vertical(0.02, &roof)[2], 2.5, "a base station corrects them");
    assert!((vertical(1.5, &roof)[2] - (1.0 + 3.0 * 1.5)).abs() < 1e-9);
    let far = [home(0.0, 488.0), home(400.0, 520.0)];
    assert_eq!(vertical(1.5, &far), [1.0, 1.0], "not one field");
}

#[test]
fn a_field_of_ten_thousand_homes_is_compared_at_once() {
    let homes: Vec<Local> = (0..10_000_u32)
        .map(|i| Local {
            east: f64::from(i % 100) * 2.0,
            north: f64::from(i / 100) * 2.0,
            up: 488.0 + f64::from(i % 7) * 0.2,
        })
        .collect();
    let fields = Fields::of(homes.iter());
    assert!(homes.iter().all(|home| fields.off(*home) == Some(0.0)));
}
