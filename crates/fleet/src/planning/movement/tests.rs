//! All arrive, and none come too near to each other: thousands of worlds, judged by an oracle that shares no geometry with the planner.
//! `PROPTEST_CASES=5000` sets the number.

mod world;

use super::*;
use model::geo::Frame;
use model::units::Wgs84;
use proptest::prelude::*;
use world::{Dice, NO_TROUBLE, Trouble, World, name};

/// The highest place of these worlds; the ground is at 0.
const FLOOR: f64 = 40.0;

fn frame() -> Frame {
    Frame::at(Wgs84 {
        latitude_deg: 60.0,
        longitude_deg: 25.0,
    })
    .unwrap()
}

fn layers(rules: &Rules, count: f64) -> Layers {
    let ceiling = FLOOR + rules.pitch().vertical.0 * (count + 0.5);
    Layers::between(AltitudeAmsl(FLOOR), AltitudeAmsl(ceiling), rules).unwrap()
}

fn at(east: f64, north: f64, up: f64) -> Local {
    Local { east, north, up }
}

fn hold(at: Local) -> Goal {
    Goal {
        at,
        lands: false,
        ready: true,
    }
}

/// The pitch apart over ground.
fn scattered(count: usize, pitch: f64, crowded: f64, dice: &mut Dice) -> Vec<Local> {
    let mut side = pitch * (count as f64).sqrt() * crowded;
    let mut places: Vec<Local> = Vec::new();
    while places.len() < count {
        side *= 1.002;
        // Far from the origin, where the frame is least true.
        let place = at(
            9_000.0 + dice.within(-side, side) / 2.0,
            dice.within(-side, side) / 2.0 - 15_000.0,
            dice.within(5.0, FLOOR),
        );
        if places.iter().all(|other| other.over_ground(place) >= pitch + 0.5) {
            places.push(place);
        }
    }
    places
}

/// A world, and further goals to be set in the middle of it.
#[derive(Clone, Copy, Debug)]
struct Case {
    count: usize,
    kind: u8,
    crowded: f64,
    layers: f64,
    trouble: Trouble,
    again: usize,
    seed: u64,
}

fn any_trouble() -> impl Strategy<Value = Trouble> {
    let trouble = |(lost, late, leaders, silent)| Trouble {
        lost,
        late,
        leaders,
        silent,
    };
    let some = (
        0.0..0.4,
        0.0..3.0,
        prop_oneof![Just(0.0), 60.0..120.0],
        prop_oneof![Just(0.0), Just(0.3)],
    );
    prop_oneof![1 => Just(NO_TROUBLE), 2 => some.prop_map(trouble)]
}

fn any_case() -> impl Strategy<Value = Case> {
    (
        2usize..14,
        0u8..5,
        1.1..3.0,
        2.0..6.0,
        any_trouble(),
        0usize..3,
        any::<u64>(),
    )
        .prop_map(|(count, kind, crowded, layers, trouble, again, seed)| Case {
            count,
            kind,
            crowded,
            layers: f64::floor(layers),
            trouble,
            again,
            seed,
        })
}

fn goals(kind: u8, held: &[Local], homes: &[Local], pitch: f64, dice: &mut Dice) -> Vec<Goal> {
    let count = held.len();
    match kind {
        0 => (0..count).map(|i| hold(held[(i + 1) % count])).collect(),
        1 => {
            let mut order: Vec<usize> = (0..count).collect();
            for i in (1..count).rev() {
                order.swap(i, dice.below(i + 1));
            }
            order.into_iter().map(|i| hold(held[i])).collect()
        }
        // The whole moves by less than a pitch, and a little up or down.
        2 => {
            let (east, north) = (dice.within(-pitch, pitch), dice.within(-pitch, pitch));
            held.iter()
                .map(|p| hold(p.shifted(east, north).at_height(dice.within(5.0, FLOOR))))
                .collect()
        }
        3 => scattered(count, pitch, 1.3, dice).into_iter().map(hold).collect(),
        _ => {
            let home = |(home, place): (&Local, &Local)| {
                let lands = dice.happens(0.5);
                let at = if lands { *home } else { home.at_height(place.up) };
                Goal { at, lands, ready: true }
            };
            homes.iter().zip(held).map(home).collect()
        }
    }
}

fn set(world: &mut World, goals: &[Goal]) {
    world.goals = goals.iter().enumerate().map(|(i, goal)| (name(i), *goal)).collect();
}

fn run(world: &mut World, seconds: usize) -> Option<usize> {
    for second in 0..seconds {
        if world.arrived() {
            return Some(second);
        }
        world.second();
    }
    None
}

fn fly(case: Case) -> Result<(), TestCaseError> {
    let rules = Rules::default();
    let pitch = rules.pitch().horizontal.0;
    let mut dice = Dice::new(case.seed);
    let places = scattered(case.count, pitch, case.crowded, &mut dice);
    // Half of them begin on the ground: their places are over their homes.
    let begin: Vec<(Local, bool)> = places
        .iter()
        .map(|place| {
            if dice.happens(0.5) {
                (place.at_height(0.0), false)
            } else {
                (*place, true)
            }
        })
        .collect();
    let homes: Vec<Local> = places.iter().map(|place| place.at_height(0.0)).collect();
    let mut world = World::new(
        frame(),
        rules,
        layers(&rules, case.layers),
        &begin,
        case.trouble,
        case.seed,
    );
    let mut held = places;
    for round in 0..=case.again {
        let kind = (case.kind + u8::try_from(round).unwrap_or(0)) % 5;
        let next = goals(kind, &held, &homes, pitch, &mut dice);
        set(&mut world, &next);
        let above = |(goal, held): (&Goal, &Local)| {
            if goal.lands {
                goal.at.at_height(held.up)
            } else {
                goal.at
            }
        };
        held = next.iter().zip(&held).map(above).collect();
        if round < case.again {
            run(&mut world, dice.below(90));
        }
    }
    let patience = if case.trouble == NO_TROUBLE { 1 } else { 3 };
    let limit = patience * (60 * case.count * (case.again + 1) + 300);
    let took = run(&mut world, limit);
    prop_assert!(world.nearest >= 1.0, "{} of the separation", world.nearest);
    let waiting = world.second().waiting;
    prop_assert!(took.is_some(), "after {limit} s: {waiting:?}{}", world.drawn());
    let most = 2 * case.count * (case.again + 1);
    prop_assert!(world.routes <= most, "{} routes, more than {most}", world.routes);
    Ok(())
}

fn cases() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(40),
        max_shrink_iters: 30,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn all_arrive_and_none_come_nearer_than_the_separation(case in any_case()) {
        fly(case)?;
    }
}

/// Each goes to where another is, on clear days and on bad ones.
fn exchange(count: usize, goals: impl Fn(usize) -> usize, trouble: Trouble) {
    let rules = Rules::default();
    let pitch = rules.pitch().horizontal.0;
    let columns = (count as f64).sqrt().ceil() as usize;
    let place = |i: usize| at((i % columns) as f64 * pitch, (i / columns) as f64 * pitch, 20.0);
    let places: Vec<(Local, bool)> = (0..count).map(|i| (place(i), true)).collect();
    let mut world = World::new(frame(), rules, layers(&rules, 4.0), &places, trouble, 7);
    let wanted: Vec<Goal> = (0..count).map(|i| hold(place(goals(i)))).collect();
    set(&mut world, &wanted);
    let took = run(&mut world, 3000);
    assert!(world.nearest >= 1.0, "{}", world.nearest);
    assert!(took.is_some(), "{}", world.drawn());
    assert!(world.routes <= 2 * count, "{} routes", world.routes);
}

#[test]
fn two_exchange_their_places() {
    exchange(2, |i| 1 - i, NO_TROUBLE);
}

#[test]
fn nine_in_a_tight_grid_turn_by_one_place() {
    exchange(9, |i| (i + 1) % 9, NO_TROUBLE);
}

#[test]
fn a_hundred_rise_together_and_all_arrive() {
    let rules = Rules::default();
    let pitch = rules.pitch().horizontal.0;
    // Pads as near to each other as allowed, places farther to the north.
    let pads = rules.pads.0 + rules.off_by.horizontal.0 + 2.0 * rules.accuracy.horizontal.0 + 0.5;
    let pad = |i: usize| (at((i % 10) as f64 * pads, (i / 10) as f64 * pads, 0.0), false);
    let slot = |i: usize| at((i % 10) as f64 * pitch, 100.0 + (i / 10) as f64 * pitch, 30.0);
    let pads: Vec<(Local, bool)> = (0..100).map(pad).collect();
    let mut world = World::new(frame(), rules, layers(&rules, 4.0), &pads, NO_TROUBLE, 3);
    let goals: Vec<Goal> = (0..100).map(|i| hold(slot(i))).collect();
    set(&mut world, &goals);
    let took = run(&mut world, 1500);
    assert!(world.nearest >= 1.0, "{}", world.nearest);
    assert!(took.is_some(), "{}", world.drawn());
    assert_eq!(world.routes, 100, "each goes once");
}

#[test]
fn a_successor_over_the_place_takes_it_when_its_predecessor_has_left_from_below() {
    let rules = Rules::default();
    let pitch = rules.pitch();
    let place = at(0.0, 0.0, 20.0);
    let over = place.at_height(20.0 + pitch.vertical.0);
    let home = at(60.0, 0.0, 0.0);
    let mut world = World::new(
        frame(),
        rules,
        layers(&rules, 3.0),
        &[(place, true), (over, true)],
        NO_TROUBLE,
        5,
    );
    set(
        &mut world,
        &[
            Goal {
                at: home,
                lands: true,
                ready: true,
            },
            hold(place),
        ],
    );
    assert!(run(&mut world, 200).is_some(), "{}", world.drawn());
    assert!(world.nearest >= 1.0, "{}", world.nearest);
}

#[test]
fn who_cannot_go_waits_for_somebody_by_name() {
    let rules = Rules::default();
    let place = at(0.0, 0.0, 20.0);
    let mut world = World::new(
        frame(),
        rules,
        layers(&rules, 2.0),
        &[(place, true), (at(50.0, 0.0, 20.0), true)],
        NO_TROUBLE,
        5,
    );
    world.goals.insert(name(1), hold(place));
    world.second();
    let waiting = world.second().waiting;
    let blocked = Waiting::For(BTreeSet::from([Owner::Vehicle(name(0))]));
    assert_eq!(
        waiting.get(&name(1)),
        Some(&blocked),
        "the other has no goal, so that it stays"
    );
    world.goals.insert(name(1), hold(at(0.0, 30.0, FLOOR + 0.1)));
    assert_eq!(world.second().waiting.get(&name(1)), Some(&Waiting::GoalTooHigh));
}

#[test]
fn layers_need_room_for_two() {
    let rules = Rules::default();
    let pitch = rules.pitch().vertical.0;
    let between = |ceiling| Layers::between(AltitudeAmsl(FLOOR), AltitudeAmsl(ceiling), &rules);
    assert!(between(FLOOR + 1.9 * pitch).is_err());
    assert_eq!(between(FLOOR + 2.1 * pitch).unwrap().heights().count(), 2);
    assert!(between(f64::NAN).is_err());
}

#[test]
fn layers_below_the_place_that_is_left_come_last_the_highest_first() {
    let rules = Rules::default();
    let pitch = rules.pitch().vertical.0;
    let above = |floor: f64| Layers::on_lattice(0.0, (AltitudeAmsl(floor), AltitudeAmsl(120.0)), 4, &rules).unwrap();
    let (high, low) = (above(40.0), above(20.0));
    let both = high.clone().or_lower(&low);
    assert!(both.heights().eq(high.heights()), "{both:?}");
    let first = both.heights().next().unwrap();
    let own = both.lower.first().copied();
    assert!(own.is_some_and(|own| (own - 40.0 - pitch).abs() < 1e-6), "{both:?}");
    assert!(
        both.lower.len() > 2 && both.lower.is_sorted_by(|one, next| one >= next),
        "{both:?}"
    );
    let within = |up: &f64| *up >= 20.0 + pitch - 1e-6 && *up < first;
    assert!(both.lower.iter().all(within), "{both:?}");
    assert_eq!(above(40.0).or_lower(&above(40.0)).heights().next(), Some(first));
}

/// `stays`: the other has no goal. Else it is on its way to one, and gone soon.
#[test]
fn one_comes_home_in_the_highest_lower_layer_where_another_stays_above_its_way() {
    for stays in [true, false] {
        let rules = Rules::default();
        let pitch = rules.pitch().vertical.0;
        let ceiling = AltitudeAmsl(FLOOR + 2.5 * pitch);
        let above = |floor: f64| Layers::between(AltitudeAmsl(floor), ceiling, &rules).unwrap();
        let layers = above(FLOOR).or_lower(&above(5.0));
        let over = at(30.0, 0.0, FLOOR + pitch);
        let places = [(over, true), (at(0.0, 0.0, 20.0), true)];
        let mut world = World::new(frame(), rules, layers, &places, NO_TROUBLE, 5);
        if !stays {
            world.goals.insert(name(0), hold(at(30.0, 200.0, 20.0)));
        }
        let home = Goal {
            at: at(60.0, 0.0, 0.0),
            lands: true,
            ready: true,
        };
        world.goals.insert(name(1), home);
        let mut crossed = None;
        for _ in 0..200 {
            let plan = world.second();
            let own = plan.permits.iter().find(|permit| *permit.vehicle() == name(1));
            crossed = crossed.or(own.map(|permit| permit.route().places()[1].up));
        }
        // The one above needs the pitch.
        let layer = if stays { 5.0 + 3.0 * pitch } else { FLOOR + pitch };
        assert!(
            crossed.is_some_and(|up| (up - layer).abs() < 1e-6),
            "{stays}: {crossed:?}"
        );
        assert!(world.arrived() && world.nearest >= 1.0, "{}", world.drawn());
    }
}

/// Slots as near to each other as allowed, and pads below them, too.
fn over_pads(count: usize) -> (Rules, impl Fn(usize) -> Local, impl Fn(usize) -> Local) {
    let rules = Rules::default();
    let pads = rules.pads.0 + rules.off_by.horizontal.0 + 2.0 * rules.accuracy.horizontal.0 + 0.5;
    let pitch = rules.pitch().horizontal.0 + 0.5;
    let middle = (count - 1) as f64 / 2.0;
    let along = move |i: usize, apart: f64| (i as f64 - middle) * apart;
    let pad = move |i| at(along(i, pads), 0.0, 0.0);
    // Clear of the columns of vehicles on the ground.
    let slot = move |i| at(along(i, pitch), 0.0, 25.0);
    (rules, pad, slot)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn those_who_hold_over_pads_make_room_for_those_who_land_and_take_off(
        count in 2usize..9, flying in any::<u16>(), land in any::<u16>(), trouble in any_trouble(), seed in any::<u64>(),
    ) {
        let (rules, pad, slot) = over_pads(count);
        let has = |bits: u16, i: usize| bits >> i & 1 == 1;
        let mut dice = Dice::new(seed);
        let mut whose: Vec<usize> = (0..count).collect();
        for i in (1..count).rev() {
            whose.swap(i, dice.below(i + 1));
        }
        // Some hold, each at any slot; late ones are still on their pads.
        let begin: Vec<(Local, bool)> = (0..count)
            .map(|i| if has(flying, i) { (slot(whose[i]), true) } else { (pad(i), false) })
            .collect();
        let mut world = World::new(frame(), rules, layers(&rules, 4.0), &begin, trouble, seed);
        let goal = |i: usize| {
            if has(land, i) { Goal { at: pad(i), lands: true, ready: true } } else { hold(slot(whose[i])) }
        };
        set(&mut world, &(0..count).map(goal).collect::<Vec<_>>());
        let took = run(&mut world, 300 * count + 600);
        prop_assert!(world.nearest >= 1.0, "{} of the separation", world.nearest);
        prop_assert!(took.is_some(), "{:?}{}", world.second().waiting, world.drawn());
    }
}
