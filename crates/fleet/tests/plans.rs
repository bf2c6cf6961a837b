//! Plans stay those that vehicles were given: a coordinator of another version makes the same from the same survey.
//!
//! Owns: digests of the plans of random surveys, as the planner made them before it remembered what it had found. A change that is meant to
//! give other plans records them anew.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    clippy::tests_outside_test_module,
    clippy::unwrap_used,
    reason = "all of it is a test"
)]

use fleet::planning::mission::{Area, Flier, Leg, Pattern, Point, Spacing, Survey, Work};
use model::geo::shifted;
use model::station::Altitude;
use model::units::{AltitudeAboveHome, Heading, Meters, MetersPerSecond, Wgs84};
use sha2::{Digest as _, Sha256};
use std::f64::consts::TAU;
use std::time::Duration;

const HERE: Wgs84 = Wgs84 {
    latitude_deg: 47.397_742,
    longitude_deg: 8.545_594,
};

fn at(east: f64, north: f64) -> Wgs84 {
    shifted(HERE, east, north)
}

fn places(ring: &[(f64, f64)]) -> Vec<Wgs84> {
    ring.iter().map(|(east, north)| at(*east, *north)).collect()
}

fn survey(area: Area, spacing: f64, pattern: Pattern) -> Survey {
    Survey {
        area,
        pattern,
        spacing: Spacing::Fixed(Meters(spacing)),
        altitude: Altitude::AboveHome(AltitudeAboveHome(30.0)),
        speed: MetersPerSecond(8.0),
        trigger: Some(Meters(5.0)),
    }
}

/// Numbers that look random (a linear congruential generator), the same with each version of each library.
struct Numbers(u64);

impl Numbers {
    fn within(&mut self, from: f64, to: f64) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        from + (self.0 >> 33) as f64 / (1_u64 << 31) as f64 * (to - from)
    }

    fn count(&mut self, from: usize, below: usize) -> usize {
        self.within(from as f64, below as f64) as usize
    }

    fn star(&mut self, center: (f64, f64), least: f64, most: f64, corners: usize) -> Vec<(f64, f64)> {
        let radii: Vec<f64> = (0..corners).map(|_| self.within(least, most)).collect();
        let corner = |(index, radius): (usize, &f64)| {
            let angle = index as f64 / corners as f64 * TAU;
            (center.0 + radius * angle.cos(), center.1 + radius * angle.sin())
        };
        radii.iter().enumerate().map(corner).collect()
    }

    fn fliers(&mut self, count: usize) -> Vec<Flier> {
        let flier = |_| Flier {
            start: at(self.within(-900.0, -650.0), self.within(-600.0, 600.0)),
            speed: (self.within(0.0, 1.0) < 0.3).then(|| MetersPerSecond(self.within(4.0, 10.0))),
            endurance: (self.within(0.0, 1.0) < 0.1).then(|| Duration::from_secs_f64(self.within(100.0, 1500.0))),
        };
        (0..count).map(flier).collect()
    }
}

/// To a micrometer, as other systems reckon sines and roots a little otherwise.
struct Sum(Sha256);

impl Sum {
    fn add(&mut self, value: f64) {
        self.0.update(format!("{} ", (value * 1e6).round() + 0.0));
    }

    fn add_path(&mut self, path: &[Point]) {
        for point in path {
            self.add(point.at.x);
            self.add(point.at.y);
            self.0.update([u8::from(point.leg == Leg::Work)]);
        }
    }

    /// All that is decided for this survey and these vehicles.
    fn add_plan(&mut self, survey: &Survey, fliers: &[Flier]) {
        let work = match Work::of_survey(survey) {
            Ok(work) => work,
            Err(error) => return self.0.update(error.to_string()),
        };
        self.add_path(work.track().points());
        match work.share(fliers) {
            Ok(plan) => {
                for share in &plan.shares {
                    self.0.update([u8::try_from(share.flier).unwrap()]);
                    self.add_path(&share.path);
                    self.add(share.time.as_secs_f64());
                }
                let reached: Vec<usize> = plan.shares.iter().map(|share| share.path.len() / 2).collect();
                if let Some(left) = plan.left(&work, &reached) {
                    self.add_path(left.track().points());
                }
            }
            Err(error) => self.0.update(error.to_string()),
        }
        for (flier, part) in work.cut(&work.whole(), fliers).unwrap_or_default() {
            let flight = work.flight(&part, fliers[flier].start, Meters(2.0)).unwrap();
            for item in &flight.items {
                item.params.iter().flatten().for_each(|param| self.add(*param));
            }
        }
    }

    fn digits(self) -> String {
        self.0
            .finalize()
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

fn pattern(numbers: &mut Numbers) -> Pattern {
    let heading = Heading(numbers.within(0.0, 360.0));
    match numbers.count(0, 6) {
        0 => Pattern::Lines { heading: None },
        1 => Pattern::ExpandingSquare { center: None, heading },
        _ => Pattern::Lines { heading: Some(heading) },
    }
}

type Rings = Vec<Vec<(f64, f64)>>;

/// Digest of `count` random surveys in which `holes` makes what must not be crossed.
fn digest_of(count: usize, seed: u64, fleets: &[usize], holes: fn(&mut Numbers) -> Rings) -> String {
    let mut numbers = Numbers(seed);
    let mut sum = Sum(Sha256::new());
    for number in 0..count {
        let corners = numbers.count(3, 14);
        let outer = numbers.star((0.0, 0.0), 500.0, 600.0, corners.max(6));
        let inner: Vec<Vec<Wgs84>> = holes(&mut numbers).iter().map(|hole| places(hole)).collect();
        let outer = places(&outer);
        let area = Area::new(&outer, &inner).or_else(|_| Area::new(&outer, &[])).unwrap();
        let spacing = numbers.within(25.0, 70.0);
        let survey = survey(area, spacing, pattern(&mut numbers));
        let fliers = numbers.fliers(fleets[number % fleets.len()]);
        sum.add_plan(&survey, &fliers);
    }
    sum.digits()
}

fn scattered(numbers: &mut Numbers) -> Rings {
    let count = numbers.count(0, 16);
    let hole = |number: usize| {
        let center = (
            -270.0 + 180.0 * (number % 4) as f64,
            -270.0 + 180.0 * (number / 4) as f64,
        );
        let corners = numbers.count(3, 8);
        numbers.star(center, 10.0, 75.0, corners)
    };
    (0..count).map(hole).collect()
}

/// A bar with teeth, turned.
fn comb(numbers: &mut Numbers) -> Rings {
    let teeth = numbers.count(3, 16);
    let pitch = 560.0 / teeth as f64;
    let tooth = |number: usize| {
        let left = -280.0 + number as f64 * pitch;
        let right = left + pitch * numbers.within(0.3, 0.8);
        let end = numbers.within(100.0, 290.0);
        [(right, -230.0), (right, end), (left, end), (left, -230.0)]
    };
    let teeth: Vec<[(f64, f64); 4]> = (0..teeth).map(tooth).collect();
    let end = teeth.last().map_or(0.0, |tooth| tooth[0].0);
    let mut ring = vec![(-280.0, -290.0), (end, -290.0)];
    ring.extend(teeth.into_iter().rev().flatten());
    ring.remove(2);
    ring.pop();
    let (sine, cosine) = numbers.within(0.0, TAU).sin_cos();
    vec![
        ring.iter()
            .map(|(x, y)| (x * cosine - y * sine, x * sine + y * cosine))
            .collect(),
    ]
}

fn spiral(numbers: &mut Numbers) -> Rings {
    let side = numbers.count(12, 40);
    let (turns, begin) = (numbers.within(1.0, 3.0), numbers.within(0.0, TAU));
    let at = |number: usize, thick: f64| {
        let share = number as f64 / (side - 1) as f64;
        let (radius, angle) = (60.0 + 300.0 * share + thick, begin + share * turns * TAU);
        (radius * angle.cos(), radius * angle.sin())
    };
    let outward = (0..side).map(|number| at(number, 20.0));
    vec![outward.chain((0..side).rev().map(|number| at(number, 0.0))).collect()]
}

#[test]
fn a_plan_among_scattered_holes_is_the_one_of_before() {
    assert_eq!(digest_of(60, 1, &[1, 3, 4, 12], scattered), "15450b3295a0e642");
}

#[test]
fn a_plan_around_a_comb_is_the_one_of_before() {
    assert_eq!(digest_of(40, 2, &[1, 4, 30], comb), "4252a166a579a933");
}

#[test]
fn a_plan_around_a_spiral_is_the_one_of_before() {
    assert_eq!(digest_of(30, 3, &[1, 4, 30], spiral), "d03fab037be3e773");
}
