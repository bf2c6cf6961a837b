//! Aircraft of others, as the receivers of our vehicles observe them.

use crate::geo::{REACH, offset};
use crate::ids::NodeName;
use crate::time::Moment;
use crate::units::{AltitudeAmsl, Wgs84};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// Nearest first.
pub const MOST_REPORTED: usize = 16;

const MOST_KEPT: usize = 128;

/// Above all 24-bit ICAO addresses: the observing vehicle numbers aircraft without an address from here.
const FIRST_WITHOUT_ADDRESS: u32 = 1 << 24;

/// An aircraft without an address is matched to an earlier one within this speed, meters per second: twice the limit below 10,000 ft.
const FASTEST_M_PER_S: f64 = 260.0;

/// Position error of each sighting, meters.
const OFF_BY_M: f64 = 100.0;

/// Longest gap between matched sightings; after it there are two aircraft, and both are reported.
const FOLLOWED: Duration = Duration::from_secs(5);

/// Time after which an aircraft is not reported any more. Receivers forget after 10 s to 60 s.
const KEPT: Duration = Duration::from_secs(30);

/// One observation of another aircraft, from ADSB_VEHICLE (246).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aircraft {
    /// 24-bit ICAO address, or a number above them from its observer; see [`has_address`].
    pub icao: u32,
    pub at: Wgs84,
    /// `None` when not reported.
    pub altitude: Option<Altitude>,
    /// Over ground, meters per second east and north; `None` when not reported.
    pub velocity: Option<[f64; 2]>,
    /// Meters per second; `None` when not reported.
    pub climb: Option<f64>,
    /// ADSB_EMITTER_TYPE_UAV, or no type: one of ours may carry a transponder, too.
    pub may_be_uncrewed: bool,
    /// On the clock of the agent that reports it.
    pub seen: Moment,
}

impl Aircraft {
    /// Meters; over ground only without an altitude.
    fn off(&self, (from, height): (Wgs84, AltitudeAmsl)) -> f64 {
        let (east, north) = offset(from, self.at);
        let up = match self.altitude {
            Some(Altitude::Satellite(amsl) | Altitude::Pressure(amsl)) => amsl.0 - height.0,
            None => 0.0,
        };
        east.hypot(north).hypot(up)
    }
}

/// `false` for an observer's number, and for 0, which receivers send without an address.
pub const fn has_address(icao: u32) -> bool {
    icao != 0 && icao < FIRST_WITHOUT_ADDRESS
}

/// An ICAO address as people write it: 6 hexadecimal digits.
pub fn address(text: &str) -> Option<u32> {
    let is_hexadecimal = text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let icao = u32::from_str_radix(text, 16).ok().filter(|_| is_hexadecimal)?;
    has_address(icao).then_some(icao)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Altitude {
    Satellite(AltitudeAmsl),
    /// By its barometer, whatever its pressure setting.
    Pressure(AltitudeAmsl),
}

/// Aircraft that one vehicle has observed.
#[derive(Clone, Debug)]
pub struct Traffic {
    observed: BTreeMap<u32, Aircraft>,
    /// Different for each observing vehicle.
    first_number: u32,
}

impl Traffic {
    pub fn of(node: &NodeName) -> Self {
        let mut hasher = DefaultHasher::new();
        node.hash(&mut hasher);
        let [a, b, c, ..] = hasher.finish().to_be_bytes();
        // 24 bits of the node, and 7 for its aircraft.
        let vehicle = u32::from_be_bytes([0, a, b, c]) << 7;
        Self {
            observed: BTreeMap::new(),
            first_number: 1 << 31 | vehicle,
        }
    }

    /// Adds a sighting by a vehicle at `from`; older and far ones change nothing. An aircraft without an address is followed by its last
    /// position.
    pub fn observe(&mut self, aircraft: Aircraft, from: (Wgs84, AltitudeAmsl), now: Moment) {
        self.observed.retain(|_, known| now.since(known.seen) <= KEPT);
        let aircraft = match has_address(aircraft.icao) {
            true => aircraft,
            false => Aircraft {
                icao: self.number(&aircraft),
                ..aircraft
            },
        };
        let known = self.observed.get(&aircraft.icao);
        let newer = known.is_none_or(|known| known.seen < aircraft.seen);
        let room = known.is_some() || self.observed.len() < MOST_KEPT;
        if newer && room && aircraft.off(from) <= REACH {
            self.observed.insert(aircraft.icao, aircraft);
        }
    }

    /// The number of the nearest earlier aircraft that can have come here since, or a free one.
    fn number(&self, aircraft: &Aircraft) -> u32 {
        let numbered = self.observed.range(FIRST_WITHOUT_ADDRESS..);
        let near = numbered.filter_map(|(number, known)| {
            let (east, north) = offset(known.at, aircraft.at);
            let off = east.hypot(north);
            let apart = aircraft.seen.since(known.seen).max(known.seen.since(aircraft.seen));
            let within = 2.0 * OFF_BY_M + apart.as_secs_f64() * FASTEST_M_PER_S;
            (apart <= FOLLOWED && off <= within).then_some((off, *number))
        });
        let nearest = near.min_by(|(one, _), (other, _)| one.total_cmp(other));
        let free = || (self.first_number..).find(|number| !self.observed.contains_key(number));
        nearest.map_or_else(|| free().unwrap_or(self.first_number), |(_, number)| number)
    }

    /// Nearest to `from` first.
    pub fn near(&self, from: (Wgs84, AltitudeAmsl), now: Moment) -> Vec<Aircraft> {
        let lately = self.observed.values().filter(|known| now.since(known.seen) <= KEPT);
        let mut near: Vec<Aircraft> = lately.copied().collect();
        near.sort_by(|one, other| one.off(from).total_cmp(&other.off(from)));
        near.truncate(MOST_REPORTED);
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geo::shifted;

    const HERE: (Wgs84, AltitudeAmsl) = (
        Wgs84 {
            latitude_deg: 47.4,
            longitude_deg: 8.5,
        },
        AltitudeAmsl(500.0),
    );

    fn observer(node: &str) -> Traffic {
        Traffic::of(&NodeName::parse(node).unwrap())
    }

    fn aircraft(icao: u32, east: f64, second: u64) -> Aircraft {
        Aircraft {
            icao,
            at: shifted(HERE.0, east, 0.0),
            altitude: None,
            velocity: None,
            climb: None,
            may_be_uncrewed: false,
            seen: Moment::at(Duration::from_secs(second)),
        }
    }

    fn reported(traffic: &Traffic, second: u64) -> Vec<u32> {
        let near = traffic.near(HERE, Moment::at(Duration::from_secs(second)));
        near.iter().map(|aircraft| aircraft.icao).collect()
    }

    #[test]
    fn the_nearest_are_told_and_neither_the_far_nor_the_old() {
        let mut traffic = observer("n");
        let at = |second| Moment::at(Duration::from_secs(second));
        for (icao, east, second) in [(1, 900.0, 100), (2, 300.0, 100), (3, 25_000.0, 100), (4, 10.0, 60)] {
            traffic.observe(aircraft(icao, east, second), HERE, at(100));
        }
        assert_eq!(reported(&traffic, 100), [2, 1]);
        traffic.observe(aircraft(1, 100.0, 99), HERE, at(101));
        assert_eq!(reported(&traffic, 101), [2, 1], "an older sighting changes nothing");
        traffic.observe(aircraft(1, 100.0, 120), HERE, at(120));
        assert_eq!(reported(&traffic, 130), [1, 2]);
        assert_eq!(reported(&traffic, 131), [1]);
        let high = Aircraft {
            altitude: Some(Altitude::Pressure(AltitudeAmsl(10_500.0))),
            ..aircraft(5, 0.0, 131)
        };
        traffic.observe(high, HERE, at(131));
        assert_eq!(
            reported(&traffic, 131),
            [1, 5],
            "ten kilometers above is no nearer than beside"
        );
    }

    #[test]
    fn however_many_there_are_what_is_kept_and_told_is_bounded() {
        let mut traffic = observer("n");
        let now = Moment::at(Duration::from_secs(100));
        for icao in 1..1000 {
            traffic.observe(aircraft(icao, 10.0 + f64::from(icao), 100), HERE, now);
            traffic.observe(aircraft(0, 500.0 * f64::from(icao), 100), HERE, now);
        }
        assert_eq!(traffic.observed.len(), MOST_KEPT);
        assert_eq!(reported(&traffic, 100), (1..17).collect::<Vec<_>>());
    }

    #[test]
    fn an_address_is_six_hexadecimal_digits_and_not_zero() {
        assert_eq!(["4B1234", "00000a"].map(address), [Some(0x4b_1234), Some(10)]);
        for wrong in ["", "4B123", "04B1234", "+4B123", "4B123G", "000000"] {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn each_aircraft_without_an_address_is_one_by_itself_for_each_observer() {
        let at = |second| Moment::at(Duration::from_secs(second));
        let mut traffic = observer("n");
        for (east, second) in [(0.0, 100), (3000.0, 100), (50.0, 101), (3050.0, 101)] {
            traffic.observe(aircraft(0, east, second), HERE, at(second));
        }
        let near = traffic.near(HERE, at(101));
        let seen: Vec<f64> = near.iter().map(|one| offset(HERE.0, one.at).0.round()).collect();
        assert_eq!(seen, [50.0, 3050.0], "two, each where it was last");
        assert!(near.iter().all(|one| !has_address(one.icao)) && near[0].icao != near[1].icao);
        let mut other = observer("other");
        other.observe(aircraft(0, 0.0, 101), HERE, at(101));
        let number = reported(&other, 101)[0];
        assert!(near.iter().all(|one| one.icao != number));
        assert!(has_address(0x4b_1234) && !has_address(0));
    }
}
