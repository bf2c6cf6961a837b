//! Where vehicles take off and land, to name those that are too near to one another.
//!
//! Owns: [`Pads`]. Must not: keep anybody on the ground: people chose the homes of vehicles without a station, and simulated ones share one.

use model::geo::offset;
use model::ids::NodeName;
use model::report::Report;
use model::units::Wgs84;
use model::vehicle::FlightTruth;
use std::collections::{BTreeMap, BTreeSet};

/// Begin of a warning about another's place.
pub const CLOSE_PADS: &str = "its place on the ground is too near";

/// Side of a square, degrees of latitude: 11 m, more than any distance that is asked for.
const SIDE: f64 = 0.0001;

/// Toward the poles squares get no narrower.
const LEAST_COSINE: f64 = 0.01;

/// A receiver wanders less on the ground, meters.
const WANDERS_M: f64 = 1.0;

type Square = (i32, i32);

#[derive(Clone, Debug, Default)]
pub struct Pads {
    at: BTreeMap<NodeName, Wgs84>,
    squares: BTreeMap<Square, BTreeSet<NodeName>>,
}

impl Pads {
    /// A place that is not reported stays what it was.
    pub fn note(&mut self, node: &NodeName, report: &Report) {
        let place = match report.truth {
            FlightTruth::Disarmed => report.position.map(|position| position.at),
            FlightTruth::Airborne(_) | FlightTruth::ArmedOnGround | FlightTruth::Unknown(_) => {
                report.home.map(|home| home.at)
            }
        };
        let Some(place) = place else { return };
        if self.at.get(node).is_some_and(|at| apart(*at, place) <= WANDERS_M) {
            return;
        }
        self.forget(node);
        self.squares.entry(square(place)).or_default().insert(node.clone());
        self.at.insert(node.clone(), place);
    }

    pub fn forget(&mut self, node: &NodeName) {
        let Some(square) = self.at.remove(node).map(square) else {
            return;
        };
        if let Some(there) = self.squares.get_mut(&square) {
            there.remove(node);
            if there.is_empty() {
                self.squares.remove(&square);
            }
        }
    }

    /// Another whose place is nearer than `least` to that of `node`, meters over ground.
    pub fn beside(&self, node: &NodeName, least: f64) -> Option<&NodeName> {
        let own = *self.at.get(node)?;
        let (middle, _) = square(own);
        let rows = (middle.saturating_sub(1)..=middle.saturating_add(1)).map(|row| (row, column(row, own)));
        let squares = rows.flat_map(|(row, middle)| {
            let columns = middle.saturating_sub(1)..=middle.saturating_add(1);
            columns.map(move |column| (row, column))
        });
        let near = squares.filter_map(|square| self.squares.get(&square)).flatten();
        let mut others = near.filter(|other| *other != node);
        others.find(|other| self.at.get(*other).is_some_and(|at| apart(own, *at) < least))
    }
}

/// As a sentence, with what to do.
pub fn close_pads(other: &NodeName, least: f64) -> String {
    format!(
        "{CLOSE_PADS} to that of the vehicle of node {other}: of two that fly, one may land on the other; put them {:.0} m apart, or fly one of them",
        least.ceil()
    )
}

fn apart(one: Wgs84, other: Wgs84) -> f64 {
    let (east, north) = offset(one, other);
    east.hypot(north)
}

fn square(at: Wgs84) -> Square {
    let row = whole(at.latitude_deg / SIDE);
    (row, column(row, at))
}

/// Columns of a row are as wide as it is high.
fn column(row: i32, at: Wgs84) -> i32 {
    let latitude = (f64::from(row) * SIDE).to_radians();
    whole(at.longitude_deg * latitude.cos().max(LEAST_COSINE) / SIDE)
}

fn whole(number: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "a position on Earth has small numbers")]
    let whole = number.floor() as i32;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::geo::shifted;
    use model::units::{AltitudeAboveHome, AltitudeAmsl};
    use model::vehicle::Position;

    fn node(name: &str) -> NodeName {
        NodeName::parse(name).unwrap()
    }

    fn stands(name: &str, at: Wgs84) -> Report {
        Report {
            truth: FlightTruth::Disarmed,
            position: Some(Position {
                at,
                amsl: AltitudeAmsl(500.0),
                above_home: AltitudeAboveHome(0.0),
            }),
            ..Report::of_nothing(node(name))
        }
    }

    #[test]
    fn two_too_near_to_each_other_are_found_wherever_on_earth_they_stand() {
        for latitude_deg in [-33.9, 0.0, 47.397_742, 69.0] {
            for step in 0..40 {
                let here = Wgs84 {
                    latitude_deg: latitude_deg + f64::from(step) * 0.000_011,
                    longitude_deg: 8.545_594 - f64::from(step) * 0.000_013,
                };
                for (east, north, near) in [
                    (1.0, 0.0, true),
                    (-2.5, 2.5, true),
                    (0.0, -3.6, true),
                    (3.0, 3.0, false),
                ] {
                    let mut pads = Pads::default();
                    pads.note(&node("a"), &stands("a", here));
                    pads.note(&node("b"), &stands("b", shifted(here, east, north)));
                    let found =
                        [("a", "b"), ("b", "a")].map(|(one, other)| pads.beside(&node(one), 3.7) == Some(&node(other)));
                    assert_eq!(found, [near; 2], "{latitude_deg} {step} {east} {north}");
                }
            }
        }
    }

    #[test]
    fn one_that_was_carried_away_or_is_gone_is_too_near_no_more() {
        let here = Wgs84 {
            latitude_deg: 47.4,
            longitude_deg: 8.5,
        };
        let mut pads = Pads::default();
        for name in ["a", "b", "c"] {
            pads.note(&node(name), &stands(name, here));
        }
        assert_eq!(pads.beside(&node("b"), 3.7), Some(&node("a")));
        pads.note(&node("a"), &stands("a", shifted(here, 8.0, 0.0)));
        assert_eq!(pads.beside(&node("b"), 3.7), Some(&node("c")));
        pads.note(&node("c"), &Report::of_nothing(node("c")));
        assert_eq!(pads.beside(&node("b"), 3.7), Some(&node("c")), "it stands there still");
        pads.forget(&node("c"));
        assert_eq!(pads.beside(&node("b"), 3.7), None);
        assert_eq!(pads.squares.len(), 2);
    }
}
