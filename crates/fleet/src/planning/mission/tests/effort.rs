//! The cost of planning is bounded in examined edges, as a clock depends on the machine.

use super::*;
use boundary::steps;

/// A bar from west to east with teeth to the north, 800 m wide.
fn comb(corners: usize) -> Vec<(f64, f64)> {
    let teeth = corners / 4;
    let pitch = 800.0 / teeth as f64;
    let tooth = |number: usize| {
        let left = 100.0 + number as f64 * pitch;
        let right = left + 0.6 * pitch;
        [(right, 150.0), (right, 900.0), (left, 900.0), (left, 150.0)]
    };
    let mut ring = vec![(100.0, 100.0), (900.0 - 0.4 * pitch, 100.0)];
    ring.extend((0..teeth).rev().flat_map(tooth));
    ring.remove(2);
    ring.pop();
    ring
}

/// Edges examined to plan this survey of 1 km², to share it, and to make the flight of each.
fn steps_of(holes: &[Vec<(f64, f64)>], lines: f64, heading: f64, vehicles: usize) -> u64 {
    let square: &[(f64, f64)] = &[(0.0, 0.0), (1000.0, 0.0), (1000.0, 1000.0), (0.0, 1000.0)];
    let holes: Vec<&[(f64, f64)]> = holes.iter().map(Vec::as_slice).collect();
    let pattern = Pattern::Lines {
        heading: Some(Heading(heading)),
    };
    let survey = survey(area(square, &holes), 1000.01 / lines, pattern);
    steps::take();
    let work = Work::of_survey(&survey).unwrap();
    let flier = |number: usize| Flier {
        start: at(-30.0, number as f64 * 10.0),
        speed: None,
        endurance: None,
    };
    let fliers: Vec<Flier> = (0..vehicles).map(flier).collect();
    assert!(work.share(&fliers).unwrap().is_whole());
    for (flier, part) in work.cut(&work.whole(), &fliers).unwrap() {
        work.flight(&part, fliers[flier].start, Meters(0.0)).unwrap();
    }
    steps::take()
}

#[test]
fn planning_around_a_comb_costs_little_more_than_in_proportion_to_its_corners() {
    let [half, whole] = [160, 320].map(|corners| steps_of(&[comb(corners)], 100.0, 0.0, 4));
    assert!(
        whole < 3 * half,
        "{half} edges are examined for 160 corners, {whole} for 320"
    );
}

#[test]
fn which_of_the_corners_in_a_row_see_one_another_costs_no_more_than_their_pairs() {
    let steps = |corners: usize| {
        let square = [(-200.0, -200.0), (1200.0, -200.0), (1200.0, 1200.0), (-200.0, 1200.0)];
        let field = area(&square, &[&comb(corners)]);
        let (from, to) = (
            field.place(at(-50.0, 500.0)).unwrap(),
            field.place(at(1050.0, 500.0)).unwrap(),
        );
        steps::take();
        way::Ways::around_holes(&field).length(from, to).unwrap();
        steps::take()
    };
    let (half, whole) = (steps(160), steps(320));
    assert!(
        whole < 5 * half,
        "{half} edges are examined for 160 corners, {whole} for 320"
    );
}
