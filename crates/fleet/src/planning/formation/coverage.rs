//! Which slots of a formation are covered, and how long gaps last, by reports.
//!
//! A slot is covered while any vehicle of its Swarm is on station there ([`Arrival`]), even one that is about to leave, or that came to
//! relieve it.

use model::ids::DroneUid;
use model::station::{Arrival, Off, Tolerance};
use model::time::Moment;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    pub uid: DroneUid,
    /// Assigned to its Drone.
    pub slot: usize,
    pub off: Off,
    pub at: Moment,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slot {
    arrivals: BTreeMap<DroneUid, Arrival>,
    by: Option<DroneUid>,
    since: Option<Moment>,
    last: Option<Moment>,
}

impl Slot {
    pub const fn covered_by(&self) -> Option<&DroneUid> {
        self.by.as_ref()
    }

    /// `None` where it never was covered.
    pub fn since(&self) -> Option<Moment> {
        if self.by.is_some() { self.since } else { self.last }
    }

    /// Returns the length of a gap that ended.
    fn observe(&mut self, near: &[&Near], tolerance: Tolerance, now: Moment) -> Option<Duration> {
        self.arrivals.retain(|uid, _| near.iter().any(|near| near.uid == *uid));
        for near in near {
            let arrival = self.arrivals.entry(near.uid.clone()).or_default();
            *arrival = arrival.observe(near.off, near.at, tolerance);
        }
        let on_station = |uid: &DroneUid| {
            let arrival = self.arrivals.get(uid).filter(|arrival| arrival.on_station(now))?;
            arrival.within()
        };
        let stays = self.by.take().filter(|uid| on_station(uid).is_some());
        self.by = stays.or_else(|| self.arrivals.keys().find(|uid| on_station(uid).is_some()).cloned());
        let (from, to) = on_station(self.by.as_ref()?)?;
        let before = self.last.replace(to);
        let gap = before.filter(|before| from > *before).map(|before| from.since(before));
        if before.is_none() || gap.is_some() {
            self.since = Some(from);
        }
        gap
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Whether a slot's vehicle, or its coverage, has changed.
    pub is_news: bool,
    /// Ended gaps: time without a vehicle on station.
    pub gaps: Vec<Duration>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    slots: Vec<Slot>,
}

impl Coverage {
    /// Call it with every observation, also an empty one: a vehicle that is missing in it is not there.
    pub fn observe(&mut self, slots: usize, near: &[Near], tolerance: Tolerance, now: Moment) -> Change {
        let mut change = Change {
            is_news: self.slots.len() != slots,
            gaps: Vec::new(),
        };
        self.slots.resize_with(slots, Slot::default);
        for (number, slot) in self.slots.iter_mut().enumerate() {
            let near: Vec<&Near> = near.iter().filter(|near| near.slot == number).collect();
            let before = slot.by.clone();
            change.gaps.extend(slot.observe(&near, tolerance, now));
            change.is_news |= slot.by != before;
        }
        change
    }

    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub fn uncovered(&self) -> usize {
        self.slots.iter().filter(|slot| slot.by.is_none()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Meters;

    const fn second(seconds: u64) -> Moment {
        Moment::at(Duration::from_secs(seconds))
    }

    fn near(uid: &str, far: f64, at: u64) -> Near {
        let (horizontal, above) = (Meters(far), Meters(0.0));
        Near {
            uid: DroneUid(uid.into()),
            slot: 0,
            off: Off { horizontal, above },
            at: second(at),
        }
    }

    /// One observation a second, from second 10: which vehicle is how far off.
    fn after(observations: &[&[(&str, f64)]]) -> (Slot, Vec<Duration>) {
        let (mut coverage, mut gaps) = (Coverage::default(), Vec::new());
        for (at, one) in (10..).zip(observations) {
            let seen: Vec<Near> = one.iter().map(|(uid, far)| near(uid, *far, at)).collect();
            gaps.extend(coverage.observe(1, &seen, Tolerance::default(), second(at)).gaps);
        }
        (coverage.slots()[0].clone(), gaps)
    }

    #[test]
    fn a_slot_is_covered_once_a_vehicle_was_there_for_a_second() {
        assert_eq!(after(&[&[("a", 9.0)], &[("a", 1.0)]]).0.covered_by(), None);
        let (slot, gaps) = after(&[&[("a", 9.0)], &[("a", 1.0)], &[("a", 1.0)]]);
        assert_eq!(slot.covered_by(), Some(&DroneUid("a".into())));
        assert_eq!(
            (slot.since(), gaps),
            (Some(second(11)), vec![]),
            "a slot that was never covered has no gap"
        );
    }

    #[test]
    fn a_gap_lasts_from_when_the_one_was_last_there_to_when_the_other_was_first() {
        let there: &[(&str, f64)] = &[("a", 1.0), ("b", 10.0)];
        let away: &[(&str, f64)] = &[("a", 5.0), ("b", 10.0)];
        let (slot, gaps) = after(&[there, there, away, away]);
        assert_eq!(
            (slot.covered_by(), slot.since(), gaps),
            (None, Some(second(11)), vec![])
        );
        let came: &[(&str, f64)] = &[("b", 1.0)];
        let (slot, gaps) = after(&[there, there, away, away, came, came, came]);
        assert_eq!(slot.covered_by(), Some(&DroneUid("b".into())));
        assert_eq!((slot.since(), gaps), (Some(second(14)), vec![Duration::from_secs(3)]));
    }

    #[test]
    fn where_the_second_is_there_before_the_first_leaves_there_is_no_gap() {
        let both: &[(&str, f64)] = &[("a", 1.0), ("b", 1.5)];
        let (slot, gaps) = after(&[both, both, &[("a", 5.0), ("b", 1.0)], &[("b", 1.0)]]);
        assert_eq!(slot.covered_by(), Some(&DroneUid("b".into())));
        assert_eq!((slot.since(), gaps), (Some(second(10)), vec![]));
    }

    #[test]
    fn one_that_is_not_seen_any_more_does_not_cover_and_more_slots_are_news() {
        let mut coverage = Coverage::default();
        let tolerance = Tolerance::default();
        assert!(coverage.observe(1, &[], tolerance, second(9)).is_news);
        for at in 10..12 {
            coverage.observe(1, &[near("a", 0.0, at)], tolerance, second(at));
        }
        assert_eq!(coverage.uncovered(), 0);
        // The same report again is no news of its place.
        let silent = |now| {
            coverage
                .clone()
                .observe(1, &[near("a", 0.0, 11)], tolerance, second(now))
                .is_news
        };
        assert!(!silent(14) && silent(15));
        assert!(coverage.observe(1, &[], tolerance, second(12)).is_news);
        assert_eq!(coverage.uncovered(), 1);
        assert!(coverage.observe(2, &[], tolerance, second(13)).is_news);
    }
}
