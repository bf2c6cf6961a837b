//! The course of one vehicle beside one Geofence, by its true places: if it is on the wrong side when it begins to
//! count, it may leave, or stay where it is; else it stays on the right side.

use crate::vehicle::Spot;
use std::time::Duration;

/// Meters; largest error of places, cut corners and shapes on a sphere, with the margin of all ways.
const SLACK: f64 = 2.5;
/// Meters from the edge within which a vehicle that does not count is on the wrong side.
const NEAR: f64 = 1.5;
/// Meters per second over ground below which a vehicle holds.
const HOLDS: f64 = 1.5;
/// Longest flight of a vehicle that leaves.
const LEAVES: Duration = Duration::from_secs(45);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    at: Spot,
    when: Duration,
    inside: bool,
    flew: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Enters,
    FliesAbout,
}

impl Course {
    /// The course after a place `depth` meters on the wrong side (negative: on the right one), and its fault.
    pub fn follow(before: Option<Self>, depth: f64, at: Spot, counts: bool, now: Duration) -> (Self, Option<Fault>) {
        let inside = match before {
            Some(before) if counts && before.inside => depth > 0.0,
            Some(_) if counts => depth > SLACK,
            Some(_) | None => depth > -NEAR,
        };
        let Some(before) = before.filter(|_| counts) else {
            let flew = Duration::ZERO;
            return (
                Self {
                    at,
                    when: now,
                    inside,
                    flew,
                },
                None,
            );
        };
        let passed = now.saturating_sub(before.when);
        let moves = at.over_ground(before.at) > HOLDS * passed.as_secs_f64();
        let flew = match (inside && before.inside, moves) {
            (false, _) => Duration::ZERO,
            (true, false) => before.flew,
            (true, true) => before.flew + passed,
        };
        let fault = if inside && !before.inside {
            Some(Fault::Enters)
        } else {
            (flew > LEAVES).then_some(Fault::FliesAbout)
        };
        (
            Self {
                at,
                when: now,
                inside,
                flew,
            },
            fault,
        )
    }
}

pub fn courses_are_judged() {
    let step = Duration::from_secs(1);
    // Flies east along these depths, and counts from the given step on.
    let fault = |depths: &[f64], speed: f64, counts_from: usize| {
        let mut course = None;
        for (number, depth) in depths.iter().enumerate() {
            let at = Spot {
                east: speed * number as f64,
                north: 0.0,
                up: 20.0,
            };
            let now = step * u32::try_from(number).unwrap();
            let (next, fault) = Course::follow(course, *depth, at, number >= counts_from, now);
            if fault.is_some() {
                return fault;
            }
            course = Some(next);
        }
        None
    };
    let long = vec![8.0; 60];
    for (what, depths, speed, counts_from, is) in [
        ("it enters", &[-20.0, -5.0, 1.0, 6.0][..], 6.0, 0, Some(Fault::Enters)),
        ("it passes by", &[-20.0, -2.0, 1.0, -2.0][..], 6.0, 0, None),
        ("it was inside, and leaves", &[12.0, 8.0, 3.0, -3.0][..], 6.0, 0, None),
        (
            "it has left, and comes back",
            &[8.0, 3.0, -3.0, 1.0, 5.0][..],
            6.0,
            0,
            Some(Fault::Enters),
        ),
        (
            "a pilot takes it in, and it leaves",
            &[-9.0, 4.0, 9.0, 5.0, -2.0][..],
            6.0,
            3,
            None,
        ),
        ("it holds inside", &long[..], 0.2, 0, None),
        ("it goes on inside", &long[..], 6.0, 0, Some(Fault::FliesAbout)),
        ("a pilot flies inside", &long[..], 6.0, 99, None),
    ] {
        assert_eq!(fault(depths, speed, counts_from), is, "{what}");
    }
}
