//! Parts of a track in a few numbers, so that each vehicle's part can be written down whatever its length.
//!
//! Positions on the track of the whole work, kept to 1/1024 of the way between two points, so that what was written reads as the same.

use super::track::{Leg, Point, Track, USUAL_SPEED, Work, length, split};
use model::units::Wgs84;

const STEPS_PER_UNIT: f64 = 1024.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    pub from: f64,
    pub to: f64,
}

/// In the order of the track, apart from one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretches(Vec<Stretch>);

fn rounded(position: f64) -> f64 {
    (position * STEPS_PER_UNIT).round() / STEPS_PER_UNIT
}

impl Stretches {
    /// In any order; invalid ones are left out.
    pub fn new(stretches: impl IntoIterator<Item = Stretch>) -> Self {
        let rounded = |one: Stretch| Stretch {
            from: rounded(one.from.max(0.0)),
            to: rounded(one.to),
        };
        let sound = |one: &Stretch| one.from.is_finite() && one.to.is_finite() && one.from < one.to;
        let mut all: Vec<Stretch> = stretches.into_iter().map(rounded).filter(sound).collect();
        all.sort_by(|one, other| one.from.total_cmp(&other.from));
        let mut kept: Vec<Stretch> = Vec::with_capacity(all.len());
        for one in all {
            match kept.last_mut().filter(|last| one.from <= last.to) {
                Some(last) => last.to = last.to.max(one.to),
                None => kept.push(one),
            }
        }
        Self(kept)
    }

    pub fn all(&self) -> &[Stretch] {
        &self.0
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Union.
    pub fn and(&self, other: &Self) -> Self {
        Self::new(self.0.iter().chain(&other.0).copied())
    }

    pub fn without(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        for one in &self.0 {
            let mut from = one.from;
            for hole in other.0.iter().filter(|hole| hole.to > one.from && hole.from < one.to) {
                left.push(Stretch { from, to: hole.from });
                from = from.max(hole.to);
            }
            left.push(Stretch { from, to: one.to });
        }
        Self::new(left)
    }

    pub fn within(&self, other: &Self) -> Self {
        self.without(&self.without(other))
    }
}

impl Work {
    pub fn whole(&self) -> Stretches {
        let all = Stretch {
            from: 0.0,
            to: self.track.end(),
        };
        self.trimmed(&Stretches::new([all]))
    }

    /// Only the work of `stretches`: without the ways before and after it.
    pub fn trimmed(&self, stretches: &Stretches) -> Stretches {
        let trimmed = |one: &Stretch| {
            let from = self.track.work_from(one.from.min(self.track.end()));
            let to = self.work_to(one.to.min(self.track.end()));
            (from < to).then_some(Stretch { from, to })
        };
        Stretches::new(stretches.all().iter().filter_map(trimmed))
    }

    fn work_to(&self, position: f64) -> f64 {
        let points = self.track.points();
        let (index, share) = split(position);
        let is_work = |index: usize| points.get(index).is_some_and(|point| point.leg == Leg::Work);
        if share > 0.0 && is_work(index + 1) {
            return position;
        }
        let ends = (0..=index).rev().find(|index| is_work(*index)).unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        let position = ends as f64;
        position
    }

    /// Work in calm air, seconds: each leg at its speed, and holds.
    pub fn seconds(&self, stretches: &Stretches) -> f64 {
        let legs = |points: &[Point]| -> f64 {
            let pairs = points.windows(2).filter(|pair| pair[1].leg == Leg::Work);
            pairs
                .map(|pair| {
                    pair[1].from(&pair[0]) / pair[1].speed.unwrap_or(USUAL_SPEED).0 + pair[1].hold.as_secs_f64()
                })
                .sum()
        };
        let parts = stretches.all().iter().map(|one| self.points(*one));
        parts.map(|points| legs(&points)).sum()
    }

    pub fn meters(&self, stretches: &Stretches) -> f64 {
        let parts = stretches.all().iter().map(|one| self.points(*one));
        parts.map(|points| length(&points, Leg::Work)).sum()
    }

    fn points(&self, one: Stretch) -> Vec<Point> {
        let part = self.track.part(one.from, one.to);
        part.into_iter().map(|(_, point)| point).collect()
    }

    /// Rounded down: 100 only when nothing is left.
    pub fn percent(&self, done: &Stretches) -> u8 {
        let whole = self.whole();
        let left = self.trimmed(&whole.without(done));
        if left.is_empty() {
            return 100;
        }
        let all = self.seconds(&whole);
        let share = if all > 0.0 {
            1.0 - self.seconds(&left) / all
        } else {
            0.0
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 99")]
        let percent = (share * 100.0).floor().clamp(0.0, 99.0) as u8;
        percent
    }

    /// Each begins so many seconds of work earlier, but in the same run of work.
    pub fn from_earlier(&self, stretches: &Stretches, seconds: f64) -> Stretches {
        Stretches::new(stretches.all().iter().map(|one| Stretch {
            from: self.earlier(one.from, seconds),
            to: one.to,
        }))
    }

    fn earlier(&self, position: f64, seconds: f64) -> f64 {
        let points = self.track.points();
        let (mut at, mut left) = (position, seconds);
        while left > 0.0 && at > 0.0 {
            let (index, share) = split(at);
            // The leg that ends at `at`, or contains it.
            let (before, part) = if share > 0.0 {
                (index, share)
            } else {
                (index.saturating_sub(1), 1.0)
            };
            let (Some(from), Some(to)) = (points.get(before), points.get(before + 1)) else {
                break;
            };
            if to.leg != Leg::Work {
                break;
            }
            let leg = to.from(from) / to.speed.unwrap_or(USUAL_SPEED).0;
            #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
            let begin = before as f64;
            if leg * part >= left && leg > 0.0 {
                return begin + part - left / leg;
            }
            (at, left) = (begin, left - leg * part);
        }
        at
    }

    pub fn place(&self, position: f64) -> Option<Wgs84> {
        self.track.at(position).map(|point| self.position(point.at))
    }
}

/// Pieces of a track that were joined to another, and where.
pub(super) struct Joined {
    pub work: Work,
    /// For each piece: its first point on the new track, and the old position of each of its points.
    pieces: Vec<(usize, Vec<f64>)>,
}

impl Joined {
    /// `None` when there is no way between two of the stretches, or nothing in them.
    pub(super) fn of(work: &Work, stretches: &Stretches) -> Option<Self> {
        let trimmed = work.trimmed(stretches);
        let parts: Vec<Vec<(f64, Point)>> = trimmed.all().iter().map(|one| part(&work.track, *one)).collect();
        let old = |part: &Vec<(f64, Point)>| part.iter().map(|(position, _)| *position).collect::<Vec<f64>>();
        let positions: Vec<Vec<f64>> = parts.iter().map(old).collect();
        let points = |part: Vec<(f64, Point)>| part.into_iter().map(|(_, point)| point).collect();
        if parts.is_empty() {
            return None;
        }
        let (joined, begins) = work.joined(parts.into_iter().map(points).collect())?;
        Some(Self {
            work: joined,
            pieces: begins.into_iter().zip(positions).collect(),
        })
    }

    /// From a stretch of the new track to the old one.
    pub(super) fn old(&self, from: f64, to: f64) -> Stretches {
        let one = |(begin, old): &(usize, Vec<f64>)| {
            #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
            let (begin, last) = (*begin as f64, old.len().saturating_sub(1) as f64);
            let at = |position: f64| {
                let (index, share) = split((position - begin).clamp(0.0, last));
                let before = old.get(index).copied()?;
                let next = old.get(index + 1).copied().unwrap_or(before);
                Some(before + (next - before) * share)
            };
            Some(Stretch {
                from: at(from)?,
                to: at(to)?,
            })
        };
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        let ends_before = |(begin, old): &(usize, Vec<f64>)| ((begin + old.len()) as f64) < from;
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        let begins_before = |(begin, _): &&(usize, Vec<f64>)| *begin as f64 <= to;
        let first = self.pieces.partition_point(ends_before);
        let met = self.pieces.get(first..).unwrap_or_default().iter();
        Stretches::new(met.take_while(begins_before).filter_map(one))
    }
}

fn part(track: &Track, one: Stretch) -> Vec<(f64, Point)> {
    track.part(one.from, one.to)
}
