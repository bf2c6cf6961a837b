//! Vehicles near the reserve, or near the end of their part, are relieved before they leave.

use super::*;

const fn in_layers(parallelism: usize) -> Wanted {
    Wanted {
        layer_height: Meters(12.0),
        ..wanted(parallelism)
    }
}

/// Which flies what in which layer, and which relieves which from where on.
type Flown<'a> = (&'a str, &'a Stretches, u8, Option<(&'a str, f64)>);

fn parts(step: &Step) -> Vec<Flown<'_>> {
    let parts = step.progress.parts.iter();
    parts
        .map(|part| {
            let relief = part.relief.as_ref().map(|relief| (relief.drone.as_str(), relief.from));
            (part.drone.as_str(), &part.stretches, part.layer, relief)
        })
        .collect()
}

/// Both are on the ground near position 4 of a route of 40 legs.
fn relief() -> Observed {
    seen("b", Doing::Fit(shifted(HERE, 170.0, 0.0)))
}

fn has_all() -> Progress {
    progress(vec![Part {
        start: shifted(HERE, 170.0, 0.0),
        ..part("a", &[(0.0, 40.0)])
    }])
}

#[test]
fn a_tiring_vehicle_is_relieved_at_a_waypoint_where_the_other_can_be_in_time() {
    let work = route(41);
    let before = has_all();
    let tiring = flown("a", Doing::Tiring, &[(0.0, 4.0)]);
    let alone = step(&work, &in_layers(1), &before, std::slice::from_ref(&tiring));
    assert_eq!((alone.create, why(&alone)), (1, vec![]));
    let given = step(&work, &in_layers(1), &alone.progress, &[tiring.clone(), relief()]);
    // 30 s until it has climbed, 6 s to its layer, and 40 m in 8 s there, which the other flies in 10 s.
    let (all, rest) = (set(&[(0.0, 40.0)]), set(&[(22.0, 40.0)]));
    assert_eq!(
        parts(&given),
        [("a", &all, 0, Some(("b", 22.0))), ("b", &rest, 1, None)]
    );
    assert_eq!((given.create, why(&given)), (0, vec![]));
    let overlap = Wanted {
        overlap_seconds: 5.0,
        ..in_layers(1)
    };
    let earlier = step(&work, &overlap, &alone.progress, &[tiring.clone(), relief()]);
    assert_eq!(earlier.progress.parts[1].stretches, set(&[(21.5, 40.0)]));
    let one_layer = step(&work, &wanted(1), &before, &[tiring, relief()]);
    assert_eq!((one_layer.progress.parts.len(), one_layer.create), (1, 0));
}

#[test]
fn one_that_is_relieved_flies_on_until_both_have_come_to_the_place() {
    let work = route(41);
    let tiring = flown("a", Doing::Tiring, &[(0.0, 4.0)]);
    let before = has_all();
    let given = step(&work, &in_layers(1), &before, &[tiring, relief()]).progress;
    let then = |to: f64, begun: bool| {
        let b = Observed {
            begun,
            ..seen("b", Doing::Busy)
        };
        step(
            &work,
            &in_layers(1),
            &given,
            &[flown("a", Doing::Tiring, &[(0.0, to)]), b],
        )
    };
    for (to, begun) in [(20.0, true), (25.0, false)] {
        let next = then(to, begun);
        assert_eq!((next.progress.parts.len(), why(&next)), (2, vec![]), "{to} {begun}");
    }
    let next = then(22.0, true);
    assert_eq!(why(&next), [("a", &Why::Relieved)]);
    assert_eq!(next.progress.flown, set(&[(0.0, 22.0)]));
    assert_eq!(
        (next.progress.parts.len(), next.create, next.progress.failures),
        (1, 0, 0)
    );
    assert!(next.progress.left(&work).is_empty());
}

#[test]
fn whichever_of_the_two_leaves_early_nothing_is_lost() {
    let work = route(41);
    let tiring = flown("a", Doing::Tiring, &[(0.0, 4.0)]);
    let before = has_all();
    let given = step(&work, &in_layers(1), &before, &[tiring, relief()]).progress;
    let of = |a: Observed, b: Observed| step(&work, &in_layers(1), &given, &[a, b]);
    let tired = of(flown("a", Doing::Tired, &[(0.0, 10.0)]), seen("b", Doing::Busy));
    assert_eq!(
        (tired.progress.left(&work), why(&tired)),
        (set(&[(10.0, 22.0)]), vec![("a", &Why::Tired)])
    );
    let refused = of(
        flown("a", Doing::Tiring, &[(0.0, 5.0)]),
        seen("b", Doing::Refused("no".into())),
    );
    assert_eq!(refused.progress.parts.len(), 1);
    assert_eq!((&refused.progress.parts[0].relief, refused.create), (&None, 1));
    let done = of(flown("a", Doing::Finished, &[(0.0, 40.0)]), seen("b", Doing::Busy));
    assert_eq!(
        (done.outcome.clone(), why(&done)),
        (Outcome::Complete, vec![("a", &Why::Flown), ("b", &Why::Halted)])
    );
}

#[test]
fn on_a_patrol_the_next_begins_as_the_one_before_ends() {
    let work = route(6);
    let patrol = Wanted {
        completions: None,
        layer_height: Meters(4.0),
        ..in_layers(1)
    };
    let before = progress(vec![part("a", &[(0.0, 5.0)])]);
    let a = |to: f64| flown("a", Doing::Busy, &[(0.0, to)]);
    assert_eq!(step(&work, &patrol, &before, &[seen("a", Doing::Busy)]).create, 0);
    let soon = step(&work, &patrol, &before, &[a(1.0)]);
    assert_eq!((soon.create, soon.progress.parts.len()), (1, 1));
    let early = step(&work, &patrol, &soon.progress, &[a(1.0), fit("b")]);
    assert_eq!((early.create, why(&early), early.progress.parts.len()), (0, vec![], 1));
    // Its position says more than the last place that it has reached.
    let on_a_leg = Observed {
        underway: set(&[(1.0, 2.25)]),
        ..a(1.0)
    };
    let given = step(&work, &patrol, &early.progress, &[on_a_leg, fit("b")]);
    assert_eq!(given.progress.all_flown(), set(&[(0.0, 1.0)]), "which is not flown yet");
    let given = step(&work, &patrol, &given.progress, &[a(2.25), seen("b", Doing::Busy)]);
    let all = set(&[(0.0, 5.0)]);
    assert_eq!(parts(&given), [("a", &all, 0, Some(("b", 5.0))), ("b", &all, 1, None)]);
    assert_eq!(given.progress.parts[1].ahead, 1);
    let b = Observed {
        begun: true,
        ..flown("b", Doing::Busy, &[(0.0, 1.0)])
    };
    let both = step(&work, &patrol, &given.progress, &[a(5.0), b.clone()]);
    assert_eq!(
        both.progress.all_flown(),
        set(&[(0.0, 5.0)]),
        "what is ahead is not flown this time"
    );
    assert_eq!((why(&both), both.create), (vec![], 1));
    let done = flown("a", Doing::Finished, &[(0.0, 5.0)]);
    let turned = step(&work, &patrol, &both.progress, &[done, b]);
    assert_eq!((turned.progress.completed, why(&turned)), (1, vec![("a", &Why::Flown)]));
    assert_eq!(parts(&turned), [("b", &all, 1, None)]);
    assert_eq!(turned.progress.all_flown(), set(&[(0.0, 1.0)]));
    assert!(turned.progress.left(&work).is_empty());
}

#[test]
fn on_a_patrol_of_short_rounds_the_next_but_one_is_sent_before_the_first_is_home() {
    // 40 s around, and 30 s and more until one is there.
    let work = route(5);
    let patrol = Wanted {
        completions: None,
        layer_height: Meters(4.0),
        ..in_layers(1)
    };
    let all = [(0.0, 4.0)];
    let follows = |drone: &str, by: &str, ahead: u8| Part {
        relief: Some(Relief {
            drone: by.to_owned(),
            from: 4.0,
            beside: false,
        }),
        ahead,
        ..part(drone, &all)
    };
    let second = Part {
        layer: 1,
        ahead: 1,
        ..part("b", &all)
    };
    let before = progress(vec![follows("a", "b", 0), second]);
    let home = flown("a", Doing::Busy, &all);
    let at_work = |to: f64| Observed {
        begun: true,
        ..flown("b", Doing::Busy, &[(0.0, to)])
    };
    let of = |to: f64, third: Observed| step(&work, &patrol, &before, &[home.clone(), at_work(to), third]);
    let early = step(&work, &patrol, &before, &[home.clone(), seen("b", Doing::Busy)]);
    assert_eq!((early.create, early.progress.parts.len()), (0, 2));
    let asked = step(&work, &patrol, &before, &[home.clone(), at_work(0.5)]);
    assert_eq!(asked.create, 1);
    let given = of(1.0, fit("c"));
    let ahead: Vec<(&str, u8)> = given
        .progress
        .parts
        .iter()
        .map(|part| (part.drone.as_str(), part.ahead))
        .collect();
    assert_eq!(ahead, [("a", 0), ("b", 1), ("c", 2)]);
    assert_eq!(given.create, 0);
    let done = flown("a", Doing::Finished, &all);
    let turned = step(
        &work,
        &patrol,
        &given.progress,
        &[done, at_work(2.0), seen("c", Doing::Busy)],
    );
    let ahead: Vec<(&str, u8)> = turned
        .progress
        .parts
        .iter()
        .map(|part| (part.drone.as_str(), part.ahead))
        .collect();
    assert_eq!((turned.progress.completed, ahead), (1, vec![("b", 0), ("c", 1)]));
    let twice = Wanted {
        completions: Some(2),
        ..patrol
    };
    let last = step(&work, &twice, &before, &[home, at_work(1.0), fit("c")]);
    assert_eq!(
        (last.progress.parts.len(), why(&last)),
        (2, vec![("c", &Why::NotNeeded)])
    );
}

#[test]
fn a_vehicle_of_a_drained_node_is_relieved_where_there_is_room_or_leaves_at_once() {
    let work = route(41);
    let before = has_all();
    let flies = Observed {
        begun: true,
        ..flown("a", Doing::Drained, &[(0.0, 4.0)])
    };
    let given = step(&work, &in_layers(1), &before, &[flies.clone(), relief()]);
    assert_eq!((given.progress.parts.len(), why(&given)), (2, vec![]));
    assert!(given.progress.parts[0].relief.is_some());
    let one_layer = step(&work, &wanted(1), &before, &[flies]);
    assert_eq!(why(&one_layer), [("a", &Why::Drained)]);
    // One that has not taken off leaves at once, also without a part.
    let stands = [seen("a", Doing::Drained), seen("c", Doing::Drained)];
    let next = step(&work, &in_layers(1), &before, &stands);
    assert_eq!(why(&next), [("a", &Why::Drained), ("c", &Why::Drained)]);
    assert_eq!((next.create, next.progress.failures), (1, 0));
}
