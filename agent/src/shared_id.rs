//! Two vehicles that speak with one system id on one line: radios of one network id, or vehicles whose ids were never set.
//!
//! A reboot, an exchange of the vehicle, a jump of its position or a late frame change a value once. Only where what was left comes back,
//! and again, two senders are heard. A clock that only grows is one vehicle's, however long frames were held up.

use link::backlog::boot_ms;
use link::dialect::{MavAutopilot, MavMessage, MavType};
use mavlink::Message;
use model::geo::offset;
use model::time::Moment;
use model::units::Wgs84;
use model::vehicle::HardwareUid;
use std::collections::BTreeMap;
use std::time::Duration;

/// Time within which alternating values do so several times.
const WITHIN: Duration = Duration::from_secs(10);
/// Two values that come back this often are two vehicles'.
const RETURNS: u32 = 3;
/// A clock that goes back to another that has run on does so this often.
const CLOCK_RETURNS: u32 = 2;
/// Messages overtake one another by less.
const OVERTAKES_MS: u32 = 1000;
/// Frames are held up by less.
const HELD_UP: Duration = Duration::from_secs(3);
/// A position wanders by less, meters.
const WANDERS_M: f64 = 8.0;
/// A multicopter is slower, meters per second.
const SPEED_M_S: f64 = 30.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// They run since different moments.
    Clocks,
    Places,
    Kinds,
    Hardware,
}

impl Evidence {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Clocks => "their clocks differ",
            Self::Places => "they are at two places",
            Self::Kinds => "they are of two kinds",
            Self::Hardware => "they have two numbers of hardware",
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct SharedId {
    /// By message id: in some firmware two kinds of message go by different clocks.
    clocks: BTreeMap<u32, Alternation<u32>>,
    places: Alternation<Wgs84>,
    kinds: Alternation<(MavAutopilot, MavType)>,
    hardware: Option<(HardwareUid, Moment)>,
    noticed: Option<(Evidence, Moment)>,
}

/// The present value, the one that was left for it, and when that has come back.
#[derive(Clone, Debug)]
struct Alternation<T> {
    latest: Option<(T, Moment)>,
    left: Option<(T, Moment)>,
    returns: Vec<Moment>,
}

impl<T> Default for Alternation<T> {
    fn default() -> Self {
        Self {
            latest: None,
            left: None,
            returns: Vec::new(),
        }
    }
}

impl<T: Copy> Alternation<T> {
    /// Takes a value. How often one came back within [`WITHIN`], if this does. `continues`: whether the second may follow the first after
    /// that time; `counts`: whether a return from the first to the second proves anything.
    fn receive(
        &mut self,
        value: T,
        now: Moment,
        continues: impl Fn(T, T, Duration) -> bool,
        counts: impl Fn(T, T) -> bool,
    ) -> Option<u32> {
        let follows = |one: &Option<(T, Moment)>| {
            one.is_some_and(|(before, at)| {
                let passed = now.since(at);
                passed <= WITHIN && continues(before, value, passed)
            })
        };
        let came_back = !follows(&self.latest) && follows(&self.left);
        let goes_on = self.latest.is_none() || follows(&self.latest);
        let before = self.latest.replace((value, now));
        if goes_on {
            return None;
        }
        self.left = before;
        let proves = before.is_some_and(|(before, _)| counts(before, value));
        if !came_back || !proves {
            return None;
        }
        self.returns.retain(|at| now.since(*at) <= WITHIN);
        self.returns.push(now);
        u32::try_from(self.returns.len()).ok()
    }
}

impl SharedId {
    pub fn receive(&mut self, message: &MavMessage, now: Moment) {
        // PX4 repeats old events on request of others; their time proves nothing.
        let clock = boot_ms(message).filter(|_| !matches!(message, MavMessage::EVENT(_)));
        if let Some(boot_ms) = clock {
            let clock = self.clocks.entry(message.message_id()).or_default();
            let returns = clock.receive(boot_ms, now, runs_on, |before, value| {
                value.saturating_add(OVERTAKES_MS) < before
            });
            self.notice(Evidence::Clocks, returns >= Some(CLOCK_RETURNS), now);
        }
        match message {
            MavMessage::GLOBAL_POSITION_INT(m) if (m.lat, m.lon) != (0, 0) => {
                let at = Wgs84 {
                    latitude_deg: f64::from(m.lat) / 1e7,
                    longitude_deg: f64::from(m.lon) / 1e7,
                };
                let returns = self.places.receive(at, now, is_reached, |_, _| true);
                self.notice(Evidence::Places, returns >= Some(RETURNS), now);
            }
            MavMessage::HEARTBEAT(m) => {
                let kind = (m.autopilot, m.mavtype);
                let returns = self.kinds.receive(kind, now, |a, b, _| a == b, |_, _| true);
                self.notice(Evidence::Kinds, returns >= Some(RETURNS), now);
            }
            MavMessage::AUTOPILOT_VERSION(m) => {
                let read = HardwareUid::of(m.uid, m.uid2);
                // A MAVLink 1 link carries the shorter number only.
                let another = read
                    .zip(self.hardware)
                    .is_some_and(|(read, (before, at))| read.contradicts(before) && now.since(at) <= WITHIN);
                self.notice(Evidence::Hardware, another, now);
                self.hardware = read.map(|read| (read, now)).or(self.hardware);
            }
            _ => {}
        }
    }

    fn notice(&mut self, evidence: Evidence, is_there: bool, now: Moment) {
        if is_there {
            self.noticed = Some((evidence, now));
        }
    }

    pub const fn noticed(&self) -> Option<(Evidence, Moment)> {
        self.noticed
    }
}

fn runs_on(before: u32, value: u32, passed: Duration) -> bool {
    let most = u32::try_from((passed + HELD_UP).as_millis()).unwrap_or(u32::MAX);
    value.saturating_add(OVERTAKES_MS) >= before && value <= before.saturating_add(most)
}

fn is_reached(before: Wgs84, now: Wgs84, passed: Duration) -> bool {
    let (east, north) = offset(before, now);
    east.hypot(north) <= WANDERS_M + SPEED_M_S * passed.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::dialect::{AUTOPILOT_VERSION_DATA, GLOBAL_POSITION_INT_DATA, HEARTBEAT_DATA, SYSTEM_TIME_DATA};

    fn at(ms: u64) -> Moment {
        Moment::at(Duration::from_millis(ms))
    }

    fn time(time_boot_ms: u32) -> MavMessage {
        MavMessage::SYSTEM_TIME(SYSTEM_TIME_DATA {
            time_boot_ms,
            ..SYSTEM_TIME_DATA::default()
        })
    }

    /// A position so many meters north of another.
    fn place(meters: i32, time_boot_ms: u32) -> MavMessage {
        MavMessage::GLOBAL_POSITION_INT(GLOBAL_POSITION_INT_DATA {
            time_boot_ms,
            lat: 473_977_420 + meters * 90,
            lon: 85_455_940,
            ..GLOBAL_POSITION_INT_DATA::default()
        })
    }

    fn version(uid: u64) -> MavMessage {
        MavMessage::AUTOPILOT_VERSION(AUTOPILOT_VERSION_DATA {
            uid,
            ..AUTOPILOT_VERSION_DATA::default()
        })
    }

    fn evidence(messages: impl IntoIterator<Item = (u64, MavMessage)>) -> Option<Evidence> {
        let mut shared = SharedId::default();
        for (ms, message) in messages {
            shared.receive(&message, at(ms));
        }
        shared.noticed().map(|(evidence, _)| evidence)
    }

    fn ms(n: u64) -> u32 {
        u32::try_from(n).unwrap()
    }

    #[test]
    fn two_clocks_on_one_line_are_two_vehicles() {
        let both = (0..6_u64).flat_map(|s| {
            let now = s * 1000;
            [(now, time(900_000 + ms(now))), (now + 300, time(5_000 + ms(now)))]
        });
        assert_eq!(evidence(both), Some(Evidence::Clocks));
    }

    #[test]
    fn two_places_are_two_vehicles_also_where_both_were_switched_on_at_once() {
        let both = |apart| {
            (0..20_u64).flat_map(move |n| {
                let now = n * 200;
                [(now, place(0, ms(now))), (now + 50, place(apart, ms(now + 50)))]
            })
        };
        assert_eq!(evidence(both(40)), Some(Evidence::Places));
        assert_eq!(evidence(both(4)), None, "one position that wanders");
    }

    #[test]
    fn two_numbers_of_hardware_or_two_kinds_are_two_vehicles() {
        assert_eq!(evidence([(0, version(7)), (30, version(8))]), Some(Evidence::Hardware));
        assert_eq!(evidence([(0, version(7)), (30, version(7)), (60, version(0))]), None);
        assert_eq!(
            evidence([(0, version(7)), (60_000, version(8))]),
            None,
            "it was exchanged"
        );
        let beat = |autopilot| {
            MavMessage::HEARTBEAT(HEARTBEAT_DATA {
                autopilot,
                mavtype: MavType::MAV_TYPE_QUADROTOR,
                ..HEARTBEAT_DATA::default()
            })
        };
        let (px4, ardupilot) = (
            MavAutopilot::MAV_AUTOPILOT_PX4,
            MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
        );
        let both = (0..6).flat_map(|s| [(s * 1000, beat(px4)), (s * 1000 + 400, beat(ardupilot))]);
        assert_eq!(evidence(both), Some(Evidence::Kinds));
    }

    #[test]
    fn a_reboot_is_no_second_vehicle_and_neither_are_many() {
        let reboots =
            (0..5_u64).flat_map(|boot| (0..40_u64).map(move |n| (boot * 20_000 + n * 250, time(ms(n * 250)))));
        assert_eq!(evidence(reboots), None);
    }

    #[test]
    fn frames_that_were_held_up_or_overtook_one_another_are_no_second_vehicle() {
        // Every second line stands still for seconds, and then brings all at once.
        let held_up = (0..200_u64).map(|n| {
            let sent = n * 100;
            (sent.next_multiple_of(5000), time(600_000 + ms(sent)))
        });
        assert_eq!(evidence(held_up), None);
        let overtaken = (0..200_u64).map(|n| {
            let sent = if n % 2 == 0 { n * 100 + 700 } else { n * 100 };
            (n * 100, time(600_000 + ms(sent)))
        });
        assert_eq!(evidence(overtaken), None);
    }

    #[test]
    fn a_position_that_jumps_and_comes_back_is_no_second_vehicle() {
        let glitch = (0..100_u64).map(|n| {
            let off = if (30..50).contains(&n) { 400 } else { 0 };
            (n * 200, place(off, ms(n * 200)))
        });
        assert_eq!(evidence(glitch), None);
        let fast = (0..100_u64).map(|n| (n * 200, place(i32::try_from(n * 4).unwrap(), ms(n * 200))));
        assert_eq!(evidence(fast), None, "20 m/s");
    }
}
