//! Routes to try for one vehicle, in order.

use super::Idle;
use crate::airspace::{Route, Rules};
use model::geo::Local;

/// Distance up to which a vehicle flies straight at the higher of both altitudes, if that is free, meters. Farther ones cross in the
/// layers, which are known to be clear of terrain.
const DIRECT: f64 = 200.0;

/// In which layers a vehicle crosses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    Transit,
    Lower,
}

/// Straight to the goal, then by each layer. Those that fly the same way begin with the same layer, as on airways: they cross fewer.
pub(super) fn plain<'a>(idle: &'a Idle<'_>) -> impl Iterator<Item = Route> + use<'a> {
    straight(idle, In::Transit)
}

/// Ways that leave a place and reach a goal from the side: out of a stack, or into one.
pub(super) fn around<'a>(idle: &'a Idle<'_>, rules: &Rules) -> impl Iterator<Item = Route> + use<'a> {
    sideways(idle, rules, In::Transit)
}

/// The same two in the lower layers.
pub(super) fn lower<'a>(idle: &'a Idle<'_>, rules: &Rules) -> impl Iterator<Item = Route> + use<'a> {
    straight(idle, In::Lower).chain(sideways(idle, rules, In::Lower))
}

fn straight<'a>(idle: &'a Idle<'_>, layers: In) -> impl Iterator<Item = Route> + use<'a> {
    heights(idle, layers).filter_map(|height| over(&[], idle.from, idle.goal.at, &[], height))
}

fn sideways<'a>(idle: &'a Idle<'_>, rules: &Rules, layers: In) -> impl Iterator<Item = Route> + use<'a> {
    let pitch = rules.pitch().horizontal.0;
    let (from, to) = (idle.from, idle.goal.at);
    let sides = move |place: Local, level: bool| {
        let around = ring(place, pitch).take(if level { 4 } else { 0 });
        std::iter::once(None).chain(around.map(Some))
    };
    let (leaves, lands) = (!idle.on_ground, idle.goal.lands);
    sides(from, leaves).flat_map(move |exit| {
        sides(to, !lands)
            .filter(move |entry| exit.is_some() || entry.is_some())
            .flat_map(move |entry| {
                heights(idle, layers).filter_map(move |height| {
                    let before: Vec<Local> = exit.map(|_| from).into_iter().collect();
                    let after: Vec<Local> = entry.map(|_| to).into_iter().collect();
                    over(&before, exit.unwrap_or(from), entry.unwrap_or(to), &after, height)
                })
            })
    })
}

/// Up to the refuge: over its own place, or near by.
pub(super) fn refuges<'a>(idle: &'a Idle<'_>, rules: &Rules) -> impl Iterator<Item = Route> + use<'a> {
    let (from, pitch) = (idle.from, rules.pitch().horizontal.0);
    let layers = idle.layers;
    let own = Route::through([from, from.at_height(layers.refuge)]).ok();
    let near = [1.0, 2.0].into_iter().flat_map(move |rings| ring(from, rings * pitch));
    let beside = near.flat_map(move |place| {
        let end = place.at_height(layers.refuge);
        layers
            .heights()
            .filter_map(move |height| over(&[], from, end, &[], height))
    });
    own.into_iter().chain(beside)
}

/// Upright away from where it holds, to the nearest layer first.
pub(super) fn aside<'a>(idle: &'a Idle<'_>) -> impl Iterator<Item = Route> + use<'a> {
    let from = idle.from;
    let mut heights: Vec<f64> = idle.layers.heights().collect();
    heights.sort_by(|one, other| (one - from.up).abs().total_cmp(&(other - from.up).abs()));
    let leg = move |height| Route::through([from, from.at_height(height)]).ok();
    heights.into_iter().filter_map(leg).filter(|leg| !leg.is_hold())
}

fn heights<'a>(idle: &'a Idle<'_>, layers: In) -> impl Iterator<Item = f64> + use<'a> {
    let (from, to) = (idle.from, idle.goal.at);
    let (crosses, lowers) = (layers == In::Transit, layers == In::Lower);
    // A vehicle neither crosses at the altitude of its pad nor lands from the side.
    let direct = f64::max(from.up, to.up);
    let may = crosses && !idle.on_ground && !idle.goal.lands && from.over_ground(to) <= DIRECT;
    let count = idle.layers.transit.len();
    let share = (to.east - from.east).atan2(to.north - from.north) / std::f64::consts::TAU + 0.5;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a few layers"
    )]
    let first = ((share * count as f64) as usize).min(count - 1);
    let crossing = idle.layers.transit.iter().cycle().skip(first).take(count).copied();
    let lower = idle.layers.lower.iter().copied();
    let direct = may.then_some(direct).into_iter();
    direct
        .chain(crossing.filter(move |_| crosses))
        .chain(lower.filter(move |_| lowers))
}

/// Four places around this one, then four between them, at its altitude.
fn ring(place: Local, far: f64) -> impl Iterator<Item = Local> {
    let half = far * std::f64::consts::FRAC_1_SQRT_2;
    [
        (far, 0.0),
        (0.0, far),
        (-far, 0.0),
        (0.0, -far),
        (half, half),
        (-half, half),
        (-half, -half),
        (half, -half),
    ]
    .into_iter()
    .map(move |(east, north)| place.shifted(east, north))
}

fn over(before: &[Local], from: Local, to: Local, after: &[Local], height: f64) -> Option<Route> {
    let crossing = [from, from.at_height(height), to.at_height(height), to];
    let places = before.iter().chain(&crossing).chain(after).copied();
    Route::through(places).ok()
}
