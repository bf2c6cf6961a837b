//! Foreign aircraft over vehicles without a station, which climb and sink above their homes by no route.

use super::foreign::{OWN_WITHIN, Transponders, flown_since, sighting};
use crate::airspace::{Route, Rules, Sightings};
use model::geo::{Frame, offset};
use model::ids::NodeName;
use model::report::Report;
use model::time::Moment;
use model::traffic::Aircraft;
use model::units::{AltitudeAboveHome, Wgs84};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub struct Sky {
    sightings: Sightings<Seen>,
    now: Moment,
}

#[derive(Clone, Debug)]
struct Seen {
    aircraft: Aircraft,
    /// Vehicles of ours whose transponder it may be: it is in the way of all others.
    own: BTreeSet<NodeName>,
}

/// Vehicles of ours.
#[derive(Clone, Debug, Default)]
pub struct Ours {
    /// As their agents report them.
    pub positions: BTreeMap<NodeName, Wgs84>,
    pub transponders: Transponders,
}

impl Ours {
    fn have_declared(&self, aircraft: &Aircraft, within: f64) -> bool {
        let mut carriers = self.transponders.get(&aircraft.icao).into_iter().flatten();
        carriers.any(|node| {
            let at = self.positions.get(node);
            at.is_some_and(|at| is_near(*at, aircraft, within))
        })
    }

    fn who_may_be(&self, aircraft: &Aircraft) -> BTreeSet<NodeName> {
        let all = self.positions.iter().filter(|_| aircraft.may_be_uncrewed);
        let near = all.filter(|(_, at)| is_near(**at, aircraft, OWN_WITHIN));
        near.map(|(node, _)| node.clone()).collect()
    }
}

fn is_near(at: Wgs84, aircraft: &Aircraft, within: f64) -> bool {
    let (east, north) = offset(at, aircraft.at);
    east.hypot(north) <= within
}

impl Sky {
    /// `reports`: those that name aircraft, with when each was received, less its lateness.
    pub fn hear<'a>(
        &mut self,
        reports: impl IntoIterator<Item = (&'a NodeName, &'a Report, Moment)>,
        ours: &Ours,
        rules: &Rules,
        now: Moment,
    ) {
        for (node, report, received) in reports {
            for aircraft in &report.traffic {
                let age = report.made.since(aircraft.seen);
                let heard = Moment::at(received.since_epoch().saturating_sub(age));
                let known = self.sightings.last(aircraft.icao, node);
                let is_old = known.is_some_and(|(last, _)| heard <= *last);
                if is_old {
                    continue;
                }
                if ours.have_declared(aircraft, flown_since(heard, now, rules)) {
                    self.sightings.remove(aircraft.icao, node);
                    continue;
                }
                let seen = Seen {
                    aircraft: *aircraft,
                    own: ours.who_may_be(aircraft),
                };
                self.sightings.put((aircraft.icao, node), heard, seen);
            }
        }
        self.now = now;
        let then = Moment::at(now.since_epoch().saturating_sub(rules.traffic_kept));
        self.sightings.forget_before(then);
    }

    pub fn is_empty(&self) -> bool {
        self.sightings.is_empty()
    }

    /// Whether no aircraft may come near to the vehicle of this `report` between its place and `altitude` above its home. Without a
    /// position it does not take off.
    pub fn is_clear(&self, report: &Report, altitude: AltitudeAboveHome, rules: &Rules) -> bool {
        self.sightings.is_empty() || self.clears(report, altitude, rules).unwrap_or(false)
    }

    fn clears(&self, report: &Report, altitude: AltitudeAboveHome, rules: &Rules) -> Option<bool> {
        let position = report.position?;
        let frame = Frame::at(position.at).ok()?;
        let at = frame.local(position.at, position.amsl).ok()?;
        let home = report
            .home
            .map_or(position.amsl.0 - position.above_home.0, |home| home.amsl.0);
        let way = Route::through([at, at.at_height(home + altitude.0)]).ok()?;
        let way = way.volume(rules.margin(rules.accuracy));
        let others = self
            .sightings
            .all()
            .filter(|(_, seen)| !seen.own.contains(&report.node));
        let mut seen = others.filter_map(|(heard, seen)| sighting(&frame, &seen.aircraft, *heard));
        Some(seen.all(|aircraft| way.clear_of(&aircraft.volume(self.now), rules)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::geo::shifted;
    use model::traffic::Altitude;
    use model::units::AltitudeAmsl;
    use model::vehicle::{FlightTruth, Position};
    use std::time::Duration;

    const HERE: Wgs84 = Wgs84 {
        latitude_deg: 47.4,
        longitude_deg: 8.5,
    };

    fn at(second: u64) -> Moment {
        Moment::at(Duration::from_secs(second))
    }

    fn node(name: &str) -> NodeName {
        NodeName::parse(name).unwrap()
    }

    fn helicopter(north: f64, up: f64, second: u64) -> Aircraft {
        Aircraft {
            icao: 7,
            at: shifted(HERE, 0.0, north),
            altitude: Some(Altitude::Satellite(AltitudeAmsl(488.0 + up))),
            velocity: Some([0.0, 0.0]),
            climb: Some(0.0),
            may_be_uncrewed: false,
            seen: at(second),
        }
    }

    fn report(second: u64, traffic: Vec<Aircraft>) -> Report {
        Report {
            made: at(second),
            truth: FlightTruth::Disarmed,
            position: Some(Position {
                at: HERE,
                amsl: AltitudeAmsl(488.0),
                above_home: AltitudeAboveHome(0.0),
            }),
            traffic,
            ..Report::of_nothing(node("n"))
        }
    }

    /// The vehicle of node `n` there.
    fn ours(there: Wgs84) -> Ours {
        Ours {
            positions: [(node("n"), there)].into(),
            ..Ours::default()
        }
    }

    fn is_clear(traffic: Vec<Aircraft>, to: f64) -> bool {
        let mut sky = Sky::default();
        let reported = report(0, traffic);
        let rules = Rules::default();
        sky.hear([(&node("far"), &reported, at(0))], &ours(HERE), &rules, at(0));
        sky.is_clear(&report(0, Vec::new()), AltitudeAboveHome(to), &rules)
    }

    #[test]
    fn a_vehicle_does_not_climb_into_an_aircraft_that_any_other_reports() {
        assert!(is_clear(Vec::new(), 20.0));
        assert!(!is_clear(vec![helicopter(50.0, 60.0, 0)], 20.0));
        assert!(is_clear(vec![helicopter(3000.0, 60.0, 0)], 20.0));
        assert!(is_clear(vec![helicopter(50.0, 900.0, 0)], 20.0), "it is far above");
        assert!(!is_clear(
            vec![
                helicopter(3000.0, 60.0, 0),
                Aircraft {
                    icao: 8,
                    ..helicopter(50.0, 60.0, 0)
                }
            ],
            20.0
        ));
    }

    #[test]
    fn the_transponder_of_a_vehicle_of_ours_keeps_it_not_on_the_ground() {
        let own = Aircraft {
            may_be_uncrewed: true,
            ..helicopter(10.0, 0.0, 0)
        };
        assert!(is_clear(vec![own], 20.0));
        assert!(!is_clear(
            vec![Aircraft {
                at: shifted(HERE, 0.0, 90.0),
                ..own
            }],
            20.0
        ));
    }

    #[test]
    fn one_that_reports_itself_beside_an_aircraft_of_no_type_hides_it_from_nobody_else() {
        let aircraft = Aircraft {
            may_be_uncrewed: true,
            ..helicopter(90.0, 0.0, 0)
        };
        let seen = report(0, vec![aircraft]);
        let clear = |ours: &Ours| {
            let (mut sky, rules) = (Sky::default(), Rules::default());
            sky.hear([(&node("far"), &seen, at(0))], ours, &rules, at(0));
            sky.is_clear(&report(0, Vec::new()), AltitudeAboveHome(20.0), &rules)
        };
        let mut ours = ours(HERE);
        ours.positions.insert(node("liar"), aircraft.at);
        assert!(!clear(&ours));
        ours.transponders.insert(8, [node("liar")].into());
        assert!(!clear(&ours), "its transponder has another address");
        ours.transponders.insert(7, [node("liar")].into());
        assert!(clear(&ours), "a person has declared that one");
        ours.positions.insert(node("liar"), shifted(HERE, 0.0, 900.0));
        assert!(!clear(&ours), "by its own report it is elsewhere");
    }

    #[test]
    fn an_aircraft_is_forgotten_when_nobody_has_seen_it_for_a_minute() {
        let mut sky = Sky::default();
        let rules = Rules::default();
        let seen = report(0, vec![helicopter(50.0, 60.0, 0)]);
        let nobody = [];
        sky.hear([(&node("n"), &seen, at(0))], &ours(HERE), &rules, at(0));
        let clear = |sky: &Sky| sky.is_clear(&report(0, Vec::new()), AltitudeAboveHome(20.0), &rules);
        sky.hear(nobody, &ours(HERE), &rules, at(60));
        assert!(!clear(&sky));
        sky.hear(nobody, &ours(HERE), &rules, at(61));
        assert!(clear(&sky));
    }

    #[test]
    fn no_number_of_vehicles_that_see_an_aircraft_elsewhere_hides_what_another_has_seen() {
        let mut sky = Sky::default();
        let rules = Rules::default();
        let real = report(0, vec![helicopter(50.0, 60.0, 0)]);
        let elsewhere = report(1, vec![helicopter(9000.0, 60.0, 1)]);
        sky.hear([(&node("n"), &real, at(0))], &ours(HERE), &rules, at(0));
        for liar in 0..9 {
            let liar = node(&format!("liar-{liar}"));
            sky.hear([(&liar, &elsewhere, at(1))], &ours(HERE), &rules, at(1));
        }
        assert!(!sky.is_clear(&report(1, Vec::new()), AltitudeAboveHome(20.0), &rules));
    }

    #[test]
    fn a_vehicle_that_does_not_know_its_place_waits_while_there_is_any_aircraft() {
        let mut sky = Sky::default();
        let rules = Rules::default();
        let lost = Report {
            position: None,
            ..report(0, Vec::new())
        };
        assert!(sky.is_clear(&lost, AltitudeAboveHome(20.0), &rules));
        let seen = report(0, vec![helicopter(5000.0, 60.0, 0)]);
        sky.hear([(&node("n"), &seen, at(0))], &ours(HERE), &rules, at(0));
        assert!(!sky.is_clear(&lost, AltitudeAboveHome(20.0), &rules));
    }
}
