//! Which ground station's heartbeats reach the autopilot, so that its failsafe fires when that station is lost.
//!
//! An autopilot cannot distinguish ground stations: PX4 counts every heartbeat of type GCS, ArduPilot every heartbeat whose system is its
//! MAV_GCS_SYSID, which nearly all programs call 255. With two stations the loss of the pilot's would go unnoticed. Therefore:
//!
//! 1. Only heartbeats of type GCS are passed, and those of one station at a time: the one *in charge*.
//! 2. The first station to be heard is in charge. It stays so while it beats at least every 3 s. That is shorter than the shortest
//!    usual limit of an autopilot (5 s), so a station that is restarted is back before the failsafe.
//! 3. While the vehicle is armed, or not known to be disarmed, nobody takes over from a silent station but itself: the same
//!    connection, or one that began after its last heartbeat and speaks with the same ids. Else the failsafe that the
//!    pilot relies on would be fed by an onlooker. Commands of other stations are passed all the same.
//! 4. While the vehicle is disarmed, the next station that is heard takes over from a silent one.
//! 5. A station heard beyond the autopilot, over another of its links, has its heartbeats there already. So has the
//!    agent, when it beats as a ground station while the coordinator is heard. Either is in charge before any guest:
//!    a guest's heartbeats could only hide its loss.
//!
//! ArduPilot also takes MANUAL_CONTROL and RC_CHANNELS_OVERRIDE of its station's system for signs of life. They pass:
//! one that steers is no onlooker.

use super::routes::{Address, GuestId};
use std::time::Duration;
use tokio::time::Instant;

const SILENT: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Station {
    /// Reaches the autopilot without us, or is us.
    Elsewhere,
    Guest {
        guest: GuestId,
        address: Address,
    },
}

#[derive(Clone, Copy, Debug)]
struct Holder {
    station: Station,
    last_beat: Instant,
    gone: bool,
}

#[derive(Debug, Default)]
pub struct Charge {
    holder: Option<Holder>,
    disarmed: bool,
}

impl Charge {
    pub const fn autopilot_is(&mut self, armed: bool) {
        self.disarmed = !armed;
    }

    pub const fn beats_elsewhere(&mut self, now: Instant) {
        self.holder = Some(Holder {
            station: Station::Elsewhere,
            last_beat: now,
            gone: false,
        });
    }

    /// Whether it is passed on to the autopilot.
    pub fn beats(&mut self, guest: GuestId, address: Address, joined: Instant, now: Instant) -> bool {
        let station = Station::Guest { guest, address };
        let takes = self.holder.is_none_or(|holder| {
            let silent = holder.gone || now.saturating_duration_since(holder.last_beat) >= SILENT;
            let itself = matches!(holder.station, Station::Guest { address: was, .. } if was == address)
                && joined > holder.last_beat;
            holder.station == station || (silent && (self.disarmed || itself))
        });
        if takes {
            self.holder = Some(Holder {
                station,
                last_beat: now,
                gone: false,
            });
        }
        takes
    }

    pub fn leave(&mut self, guest: GuestId) {
        if let Some(holder) = &mut self.holder
            && matches!(holder.station, Station::Guest { guest: was, .. } if was == guest)
        {
            holder.gone = true;
        }
    }

    pub fn guest(&self) -> Option<GuestId> {
        match self.holder?.station {
            Station::Elsewhere => None,
            Station::Guest { guest, .. } => Some(guest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QGC: Address = Address::new(255, 190);
    const OTHER: Address = Address::new(255, 230);
    const A: GuestId = GuestId(1);
    const B: GuestId = GuestId(2);

    struct Scene {
        charge: Charge,
        began: Instant,
    }

    impl Scene {
        fn new(armed: Option<bool>) -> Self {
            let mut charge = Charge::default();
            if let Some(armed) = armed {
                charge.autopilot_is(armed);
            }
            Self {
                charge,
                began: Instant::now(),
            }
        }

        fn at(&self, ms: u64) -> Instant {
            self.began + Duration::from_millis(ms)
        }

        fn beats(&mut self, guest: GuestId, address: Address, joined_ms: u64, ms: u64) -> bool {
            let (joined, now) = (self.at(joined_ms), self.at(ms));
            self.charge.beats(guest, address, joined, now)
        }
    }

    #[test]
    fn the_heartbeats_of_one_station_are_passed_and_those_of_a_second_are_not() {
        for armed in [None, Some(false), Some(true)] {
            let mut scene = Scene::new(armed);
            for s in 0..20 {
                assert!(scene.beats(A, QGC, 0, s * 1000), "{armed:?}");
                assert!(!scene.beats(B, OTHER, 0, s * 1000 + 1), "{armed:?}");
                assert!(!scene.beats(B, QGC, 500, s * 1000 + 2), "another with the same ids");
            }
        }
    }

    #[test]
    fn while_the_vehicle_is_armed_an_onlooker_never_beats_for_a_lost_station() {
        for armed in [None, Some(true)] {
            let mut scene = Scene::new(armed);
            assert!(scene.beats(A, QGC, 0, 0));
            for s in 1..600 {
                assert!(!scene.beats(B, OTHER, 0, s * 1000));
            }
            let now = scene.at(600_000);
            scene.charge.leave(A);
            assert!(!scene.charge.beats(B, OTHER, scene.began, now), "gone is gone");
            assert!(!scene.beats(B, OTHER, 300_000, 601_000), "nor one that came later");
            assert!(
                !scene.beats(GuestId(3), QGC, 0, 601_000),
                "nor one with the same ids that was there before"
            );
        }
    }

    #[test]
    fn a_station_that_is_restarted_is_in_charge_again_before_the_failsafe() {
        let mut scene = Scene::new(Some(true));
        assert!(scene.beats(A, QGC, 0, 10_000));
        // On UDP its end is not noticed, only silence.
        assert!(!scene.beats(B, QGC, 10_900, 11_000));
        assert!(!scene.beats(B, QGC, 10_900, 12_000));
        assert!(scene.beats(B, QGC, 10_900, 13_000));
        assert!(!scene.beats(A, QGC, 0, 13_100), "the old one is an onlooker now");
        // On TCP it is.
        scene.charge.leave(B);
        assert!(scene.beats(GuestId(3), QGC, 13_500, 13_600));
    }

    #[test]
    fn a_station_that_was_silent_for_a_while_is_the_same_station() {
        let mut scene = Scene::new(Some(true));
        assert!(scene.beats(A, QGC, 0, 0));
        assert!(!scene.beats(B, OTHER, 0, 20_000));
        assert!(scene.beats(A, QGC, 0, 30_000));
    }

    #[test]
    fn on_the_ground_the_next_station_takes_over_from_a_silent_one() {
        let mut scene = Scene::new(Some(false));
        assert!(scene.beats(A, QGC, 0, 0));
        assert!(!scene.beats(B, OTHER, 0, 2999));
        assert!(scene.beats(B, OTHER, 0, 3000));
        assert!(!scene.beats(A, QGC, 0, 3100));
        assert_eq!(scene.charge.guest(), Some(B));
    }

    #[test]
    fn one_connection_may_bring_several_stations_and_only_one_is_in_charge() {
        let mut scene = Scene::new(Some(true));
        assert!(scene.beats(A, QGC, 0, 0));
        assert!(!scene.beats(A, OTHER, 0, 100));
        assert!(!scene.beats(A, OTHER, 0, 60_000));
    }

    #[test]
    fn a_station_that_the_autopilot_hears_without_us_comes_before_any_guest() {
        let mut scene = Scene::new(Some(true));
        assert!(scene.beats(A, QGC, 0, 0));
        let now = scene.at(500);
        scene.charge.beats_elsewhere(now);
        assert!(!scene.beats(A, QGC, 0, 1000));
        assert!(!scene.beats(A, QGC, 0, 60_000), "its loss is not hidden");
        assert_eq!(scene.charge.guest(), None);
        scene.charge.autopilot_is(false);
        assert!(
            scene.beats(A, QGC, 0, 61_000),
            "the vehicle is on the ground and that station is gone"
        );
    }
}
