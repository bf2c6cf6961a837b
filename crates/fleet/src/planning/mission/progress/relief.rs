//! Vehicles that relieve others before these leave, where they fly in layers and may be there at once.
//!
//! A vehicle near its battery's reserve, or on a drained node, is relieved at a waypoint that it reaches when the other can be there; it
//! flies on until both are there. At the end of a part that is flown again, the next vehicle begins as this one ends.

use super::{Doing, Observed, Part, Progress, Relief, Sharer, Step, Wanted, Why, fitting, free_layer};
use crate::planning::mission::stretch::{Stretch, Stretches};
use crate::planning::mission::track::USUAL_SPEED;
use crate::planning::mission::track::Work;
use model::geo::offset;
use model::units::Wgs84;
use std::collections::BTreeMap;

/// From a fit vehicle to the end of its climb: its plan is uploaded and judged, it arms and takes off.
const TIME_TO_CLIMB_S: f64 = 30.0;

/// From the request for a Drone to its fit vehicle.
const TIME_TO_FIT_S: f64 = 15.0;

/// Climb rate from there to its layer: less than both autopilots are set to.
const CLIMB_M_S: f64 = 2.0;

/// From a fit vehicle at `start` to its arrival, seconds.
pub(super) fn lead(start: Wgs84, place: Wgs84) -> f64 {
    let (east, north) = offset(start, place);
    TIME_TO_CLIMB_S + east.hypot(north) / USUAL_SPEED.0
}

/// Places of `parallelism` in use: one and its relief share one.
pub(super) fn in_place(progress: &Progress) -> usize {
    let relieves = |part: &&Part| {
        let of = |other: &Part| {
            let relief = other.relief.as_ref();
            relief.is_some_and(|relief| relief.drone == part.drone && !relief.beside)
        };
        progress.parts.iter().any(of)
    };
    progress.parts.len() - progress.parts.iter().filter(relieves).count()
}

/// Lets those go whose relief has arrived, and those with nothing left to do; forgets reliefs that are gone.
pub(super) fn let_go(next: &mut Step, work: &Work, drones: &[Observed]) {
    let seen = |drone: &str| drones.iter().find(|seen| seen.drone == drone);
    let parts = std::mem::take(&mut next.progress.parts);
    let there: BTreeMap<String, u8> = parts.iter().map(|part| (part.drone.clone(), part.ahead)).collect();
    for mut part in parts {
        part.relief = part.relief.filter(|relief| there.contains_key(&relief.drone));
        let ahead = |relief: &&Relief| there.get(&relief.drone).is_some_and(|ahead| *ahead > part.ahead);
        // A followed one comes home by its own plan.
        let relieved = part
            .relief
            .as_ref()
            .filter(|relief| !ahead(relief))
            .is_some_and(|relief| {
                let to_there = Stretches::new([Stretch {
                    from: 0.0,
                    to: relief.from,
                }]);
                let left = part.stretches.within(&to_there).without(&part.flown);
                seen(&relief.drone).is_some_and(|seen| seen.begun) && work.trimmed(&left).is_empty()
            });
        if !relieved {
            next.progress.parts.push(part);
            continue;
        }
        next.progress.flown = next.progress.flown.and(&part.flown);
        next.progress.passed_beside = next.progress.passed_beside.and(part.passed_beside);
        if seen(&part.drone).is_some_and(|seen| !seen.leaving) {
            next.delete.push((part.drone.clone(), Why::Relieved));
        }
        next.gave_up.push((part.drone, Why::Relieved));
    }
    let Progress {
        flown,
        parts,
        passed_beside,
        ..
    } = &mut next.progress;
    parts.retain(|part| {
        let stays = part.ahead > 0 || !work.trimmed(&part.stretches.without(flown)).is_empty();
        if !stays {
            *passed_beside = passed_beside.and(part.passed_beside);
        }
        stays
    });
}

/// Takes reliefs with a part out of `fit`; returns how many more are needed.
pub(super) fn give(
    progress: &mut Progress,
    sharer: &Sharer<'_>,
    wanted: &Wanted,
    drones: &[Observed],
    fit: Vec<(String, Wgs84)>,
) -> usize {
    let work = sharer.work();
    // In one layer it would wait for the one that it relieves.
    if wanted.layer_height.0 <= 0.0 {
        return 0;
    }
    let mut fit = fit.into_iter();
    let mut needed = 0;
    for number in 0..progress.parts.len() {
        let Some(part) = progress.parts.get(number).filter(|part| part.relief.is_none()) else {
            continue;
        };
        let seen = drones.iter().find(|seen| seen.drone == part.drone && !seen.leaving);
        // None is sent after one that is not there yet.
        if part.ahead > 0 && !seen.is_some_and(|seen| seen.begun) {
            continue;
        }
        let times = u32::from(part.ahead) + 1;
        let again = wanted
            .completions
            .is_none_or(|completions| progress.completed.saturating_add(times) < completions);
        let tiring = seen.is_some_and(|seen| matches!(seen.doing, Doing::Tiring | Doing::Drained));
        let left = part.stretches.without(&part.flown);
        let left = seen.map_or_else(|| left.clone(), |seen| left.without(&seen.underway));
        let of = |start, to_be_fit| {
            relief_of(
                progress,
                (part, &left),
                work,
                wanted,
                (tiring, again),
                (start, to_be_fit),
            )
        };
        let there = fit.as_slice().first().map(|(_, start)| *start);
        if of(there.unwrap_or(part.start), TIME_TO_FIT_S).is_none() {
            continue;
        }
        let now = there.and_then(|start| {
            let (from, stretches, ahead) = of(start, 0.0)?;
            // Until its part is known, it is needed.
            Some((from, fitting(sharer, &stretches, start).ok()?, ahead))
        });
        let Some(((from, stretches, ahead), (drone, start))) = now.and_then(|now| Some((now, fit.next()?))) else {
            needed += 1;
            continue;
        };
        progress.take(drone.clone(), start, stretches, ahead);
        if let Some(part) = progress.parts.get_mut(number) {
            part.relief = Some(Relief {
                drone,
                from,
                beside: false,
            });
        }
    }
    needed
}

/// Where `part` is handed to a vehicle from `start` that will be fit in so many seconds, what that one flies, and how many times all is
/// flown before. `None`: `part`, with `left` before the vehicle, is not to be relieved now.
fn relief_of(
    progress: &Progress,
    (part, left): (&Part, &Stretches),
    work: &Work,
    wanted: &Wanted,
    (tiring, again): (bool, bool),
    (start, to_be_fit): (Wgs84, f64),
) -> Option<(f64, Stretches, u8)> {
    let to_layer = f64::from(free_layer(progress)) * wanted.layer_height.0 / CLIMB_M_S;
    let until_at = |position: f64| Some(lead(start, work.place(position)?) + to_be_fit + to_layer);
    let last = part.stretches.all().last()?.to;
    if tiring && let Some(from) = waypoint_after(work, left, until_at) {
        let from_here = Stretches::new([Stretch { from, to: last }]);
        let stretches = work.from_earlier(&left.within(&from_here), wanted.overlap_seconds);
        return Some((from, stretches, part.ahead));
    }
    // The last one that is followed is followed by all of the next time that is in no part.
    let followed = |other: &Part| other.drone == part.drone || other.relief.is_some();
    let after = part.ahead.saturating_add(1);
    let of = |time: u8| progress.parts.iter().filter(move |part| part.ahead == time);
    let next = if of(part.ahead).all(followed) {
        let ahead = of(after);
        ahead.fold(work.whole(), |left, part| left.without(&part.stretches))
    } else {
        part.stretches.clone()
    };
    let lead = until_at(next.all().first()?.from)? + wanted.overlap_seconds;
    (again && work.seconds(left) <= lead).then_some((last, next, after))
}

/// The first waypoint within `left` that is reached no sooner than `until` returns for it.
pub(super) fn waypoint_after(work: &Work, left: &Stretches, until: impl Fn(f64) -> Option<f64>) -> Option<f64> {
    let (first, last) = (left.all().first()?.from, left.all().last()?.to);
    let (mut from, mut at, mut seconds) = (first, first.floor() + 1.0, 0.0);
    while at < last {
        let leg = Stretches::new([Stretch { from, to: at }]);
        seconds += work.seconds(&left.within(&leg));
        let inside = left.all().iter().any(|one| one.from < at && at < one.to);
        if inside && seconds >= until(at)? {
            return Some(at);
        }
        (from, at) = (at, at + 1.0);
    }
    None
}
