//! Fields as farms have them: bent, cut off, around a yard or along a river, with trees in them; the same in each run.

use fleet::planning::mission::{Area, Pattern, Spacing, Survey};
use model::geo::shifted;
use model::station::Altitude;
use model::units::{AltitudeAboveHome, Heading, Meters, MetersPerSecond, Wgs84};
use std::f64::consts::TAU;

const HERE: Wgs84 = Wgs84 {
    latitude_deg: 47.397_742,
    longitude_deg: 8.545_594,
};

type Corners = Vec<(f64, f64)>;

/// Pseudorandom (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn between(&mut self, least: f64, most: f64) -> f64 {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        least + share * (most - least)
    }

    fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }
}

/// `wide` by `high` meters before it is turned, with its lower left corner in the middle of the frame.
fn outline(chance: &mut Chance, wide: f64, high: f64) -> Corners {
    let mut cut = |of: f64| of * chance.between(0.25, 0.6);
    let (a, b, c) = (cut(wide), cut(high), cut(wide));
    match chance.below(6) {
        0 => {
            let mut off = |of: f64| chance.between(-0.15, 0.15) * of;
            vec![
                (off(wide), off(high)),
                (wide + off(wide), off(high)),
                (wide + off(wide), high + off(high)),
                (off(wide), high + off(high)),
            ]
        }
        // An L.
        1 => vec![(0.0, 0.0), (wide, 0.0), (wide, b), (a, b), (a, high), (0.0, high)],
        // A yard in the middle of one side.
        2 => {
            let (left, right) = (0.3 * wide, 0.3 * wide + 0.5 * c);
            vec![
                (0.0, 0.0),
                (left, 0.0),
                (left, b),
                (right, b),
                (right, 0.0),
                (wide, 0.0),
                (wide, high),
                (0.0, high),
            ]
        }
        // A T.
        3 => {
            let (left, right) = (0.5 * (wide - a), 0.5 * (wide + a));
            vec![
                (left, 0.0),
                (right, 0.0),
                (right, b),
                (wide, b),
                (wide, high),
                (0.0, high),
                (0.0, b),
                (left, b),
            ]
        }
        // Along a river.
        4 => {
            let bank = |number: u32| {
                let share = f64::from(number) / 12.0;
                (share * wide, 0.2 * high * (share * TAU * 1.3).sin())
            };
            let mut corners: Corners = (0..=12).map(bank).collect();
            corners.extend([(wide, high), (0.0, high)]);
            corners
        }
        // With a corner cut off, and a dent.
        _ => vec![
            (0.0, 0.0),
            (wide, 0.0),
            (wide, high - 0.4 * b),
            (wide - 0.4 * a, high),
            (0.5 * c, high),
            (0.5 * c + 0.1 * wide, 0.7 * high),
            (0.0, high),
        ],
    }
}

fn tree(chance: &mut Chance, middle: (f64, f64)) -> Corners {
    let (count, radius) = (5 + chance.below(4), chance.between(3.0, 12.0));
    let corner = |number: u64| {
        let angle = number as f64 / count as f64 * TAU;
        (middle.0 + radius * angle.cos(), middle.1 + radius * angle.sin())
    };
    (0..count).map(corner).collect()
}

fn turned(corners: &Corners, by: f64) -> Vec<Wgs84> {
    let (sin, cos) = by.sin_cos();
    corners
        .iter()
        .map(|(x, y)| shifted(HERE, x * cos - y * sin, x * sin + y * cos))
        .collect()
}

pub fn survey(number: u64) -> Survey {
    let mut chance = Chance(number);
    let (wide, high) = (chance.between(150.0, 600.0), chance.between(100.0, 400.0));
    let corners = outline(&mut chance, wide, high);
    let turn = chance.between(0.0, TAU);
    let outer = turned(&corners, turn);
    // A tree outside of the field, or too near to another, is left out.
    let mut holes: Vec<Vec<Wgs84>> = Vec::new();
    for _ in 0..chance.below(5) {
        let middle = (chance.between(0.1, 0.9) * wide, chance.between(0.1, 0.9) * high);
        holes.push(turned(&tree(&mut chance, middle), turn));
        if Area::new(&outer, &holes).is_err() {
            holes.pop();
        }
    }
    let heading = match chance.below(3) {
        0 => Some(Heading(chance.between(0.0, 359.0))),
        _ => None,
    };
    Survey {
        area: Area::new(&outer, &holes).unwrap(),
        pattern: Pattern::Lines { heading },
        spacing: Spacing::Fixed(Meters(chance.between(10.0, 30.0))),
        altitude: Altitude::AboveHome(AltitudeAboveHome(30.0)),
        speed: MetersPerSecond(8.0),
        trigger: None,
    }
}
