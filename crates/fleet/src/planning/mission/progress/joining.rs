//! Vehicles that join while all of the work is given: more may fly at once than before, or one is free again.

use super::relief::{in_place, lead, waypoint_after};
use super::{Doing, MIN_GAIN_S, Observed, Part, Progress, Relief, Sharer, Wanted, fitting};
use crate::planning::mission::stretch::{Stretch, Stretches};
use crate::planning::mission::track::Work;
use model::units::Wgs84;

/// Takes joiners with a part out of `fit`; returns how many more are needed.
pub(super) fn join(
    progress: &mut Progress,
    sharer: &Sharer<'_>,
    wanted: &Wanted,
    drones: &[Observed],
    fit: &mut Vec<(String, Wgs84)>,
) -> usize {
    let work = sharer.work();
    // In one layer it would wait for the other. Work that is flown again is cut again then.
    if wanted.layer_height.0 <= 0.0 || wanted.flies_again(progress) || !progress.left(work).is_empty() {
        return 0;
    }
    let mut needed = 0;
    for _ in in_place(progress)..wanted.parallelism {
        let with = |to_be_fit: f64, start: Option<Wgs84>| {
            let parts = progress.parts.iter().enumerate();
            let all = parts.filter_map(|(number, part)| {
                let left = left(part, drones)?;
                let (from, gain) = meeting(work, &left, start.unwrap_or(part.start), to_be_fit)?;
                Some((number, left, from, gain))
            });
            all.max_by(|one, other| one.3.total_cmp(&other.3))
        };
        let first = fit.first().cloned();
        let Some((number, left, from, _)) = with(0.0, first.as_ref().map(|(_, start)| *start)) else {
            break;
        };
        let Some((drone, start)) = first else {
            needed += 1;
            break;
        };
        let later = Stretch {
            from,
            to: left.all().last().map_or(from, |last| last.to),
        };
        let stretches = work.from_earlier(&left.within(&Stretches::new([later])), wanted.overlap_seconds);
        let Ok(stretches) = fitting(sharer, &stretches, start) else {
            needed += 1;
            break;
        };
        fit.remove(0);
        progress.take(drone.clone(), start, stretches, 0);
        if let Some(part) = progress.parts.get_mut(number) {
            part.relief = Some(Relief {
                drone,
                from,
                beside: true,
            });
        }
    }
    needed
}

/// The rest of a part, if its vehicle is at work and none takes over from it.
fn left(part: &Part, drones: &[Observed]) -> Option<Stretches> {
    let seen = drones.iter().find(|seen| seen.drone == part.drone && !seen.leaving)?;
    let alone = part.relief.is_none() && part.ahead == 0;
    let at_work = seen.begun && seen.doing == Doing::Busy;
    (alone && at_work).then(|| part.stretches.without(&part.flown).without(&seen.underway))
}

/// Where a joiner from `start` takes over so that both end at the same time, and how much time that saves.
fn meeting(work: &Work, left: &Stretches, start: Wgs84, to_be_fit: f64) -> Option<(f64, f64)> {
    let all = work.seconds(left);
    let until = |position: f64| Some(f64::midpoint(all, lead(start, work.place(position)?) + to_be_fit));
    let from = waypoint_after(work, left, until)?;
    let to_there = Stretches::new([Stretch { from: 0.0, to: from }]);
    let until_there = work.seconds(&left.within(&to_there));
    let joiner = until(from)? * 2.0 - all + (all - until_there);
    let gain = all - until_there.max(joiner);
    (gain >= MIN_GAIN_S).then_some((from, gain))
}
