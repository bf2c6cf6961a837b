//! Which Drone has which slot: kept, taken over, matched again.

use super::*;
use crate::planning::formation::{Around, Formation, Shape};
use model::station::Altitude;
use model::station::Manner;
use model::units::{AltitudeAboveHome, Heading};
use proptest::prelude::*;
use std::collections::BTreeSet;

const HERE: Wgs84 = Wgs84 {
    latitude_deg: 47.4,
    longitude_deg: 8.5,
};

fn shape(shape: Shape, heading: f64, spacing: f64, slots: usize) -> Vec<Station> {
    let anchor = Place {
        at: HERE,
        altitude: Altitude::AboveHome(AltitudeAboveHome(20.0)),
        manner: Manner::default(),
    };
    let around = Around {
        anchor,
        heading: Heading(heading),
        shape,
        spacing: Meters(spacing),
        altitude_step: Meters(0.0),
    };
    let pitch = Rules::default().pitch();
    let separation = crate::airspace::Separation {
        horizontal: pitch.horizontal,
        vertical: pitch.vertical,
    };
    Formation::Around(around)
        .slots(slots, separation, &Limits::default())
        .unwrap()
}

fn new(name: &str) -> Candidate {
    Candidate {
        uid: DroneUid(name.into()),
        slot: None,
        station: None,
        at: None,
        may_fly: false,
        replace: false,
    }
}

fn holding(name: &str, slot: usize, slots: &[Station]) -> Candidate {
    Candidate {
        slot: Some(slot),
        station: Some(slots[slot]),
        at: Some(slots[slot].place().at),
        may_fly: true,
        ..new(name)
    }
}

fn filled(slots: &[Station], candidates: &[Candidate]) -> BTreeMap<DroneUid, InSlot> {
    fill(slots, candidates, &Rules::default(), &Limits::default()).unwrap()
}

fn numbers(slots: &[Station], candidates: &[Candidate]) -> Vec<(String, usize, bool)> {
    let all = filled(slots, candidates).into_iter();
    all.map(|(uid, found)| (uid.0, found.slot, found.relieves)).collect()
}

fn expected(of: &[(&str, usize, bool)]) -> Vec<(String, usize, bool)> {
    of.iter()
        .map(|(name, slot, relieves)| ((*name).to_owned(), *slot, *relieves))
        .collect()
}

#[test]
fn new_drones_fill_the_slots_in_order_and_who_holds_one_keeps_it() {
    let line = shape(Shape::Line, 0.0, 15.0, 3);
    assert_eq!(
        numbers(&line, &[new("a"), new("b"), new("c")]),
        expected(&[("a", 0, false), ("b", 1, false), ("c", 2, false)])
    );
    let two = [holding("a", 2, &line), holding("b", 0, &line), new("c")];
    assert_eq!(
        numbers(&line, &two),
        expected(&[("a", 2, false), ("b", 0, false), ("c", 1, false)])
    );
    let found = filled(&line, &two);
    assert_eq!(found[&DroneUid("c".into())].station, line[1]);
    assert!(filled(&[], &two).is_empty(), "a Swarm of none");
}

#[test]
fn who_has_not_taken_off_goes_to_the_slot_that_is_near() {
    let line = shape(Shape::Line, 0.0, 15.0, 3);
    let on_ground = |name: &str, slot: usize, near: usize| Candidate {
        at: Some(shifted(line[near].place().at, 0.0, -40.0)),
        may_fly: false,
        ..holding(name, slot, &line)
    };
    let crossed = [on_ground("a", 0, 1), on_ground("b", 1, 2), on_ground("c", 2, 0)];
    let settled = numbers(&line, &crossed);
    assert_eq!(settled, expected(&[("a", 1, false), ("b", 2, false), ("c", 0, false)]));
    let again = [on_ground("a", 1, 1), on_ground("b", 2, 2), on_ground("c", 0, 0)];
    assert_eq!(numbers(&line, &again), settled);
}

#[test]
fn a_formation_that_turns_is_flown_the_shortest_ways_and_one_that_moves_keeps_order() {
    let before = shape(Shape::Line, 0.0, 15.0, 3);
    let all = ["a", "b", "c"];
    let candidates: Vec<Candidate> = (0..3).map(|slot| holding(all[slot], slot, &before)).collect();
    let turned = shape(Shape::Line, 180.0, 15.0, 3);
    assert_eq!(
        numbers(&turned, &candidates),
        expected(&[("a", 0, false), ("b", 2, false), ("c", 1, false)])
    );
    let moved: Vec<Station> = before
        .iter()
        .map(|station| {
            let place = *station.place();
            let at = shifted(place.at, 300.0, -100.0);
            Station::new(Place { at, ..place }, &Limits::default()).unwrap()
        })
        .collect();
    assert_eq!(
        numbers(&moved, &candidates),
        expected(&[("a", 0, false), ("b", 1, false), ("c", 2, false)])
    );
}

#[test]
fn a_relief_holds_beside_clear_of_all_and_takes_over_when_the_other_has_left() {
    let grid = shape(Shape::Grid { columns: 2 }, 0.0, 15.0, 4);
    let mut candidates: Vec<Candidate> = (0..4).map(|slot| holding(&format!("d{slot}"), slot, &grid)).collect();
    candidates[2].replace = true;
    candidates.push(new("e"));
    let found = filled(&grid, &candidates);
    let relief = found[&DroneUid("e".into())];
    assert_eq!((relief.slot, relief.relieves), (2, true));
    let pitch = Rules::default().pitch().horizontal.0;
    for slot in &grid {
        let (east, north) = offset(slot.place().at, relief.station.place().at);
        assert!(east.hypot(north) > pitch, "it is {} m from another", east.hypot(north));
    }
    assert_eq!(
        found[&DroneUid("d2".into())],
        InSlot {
            slot: 2,
            station: grid[2],
            relieves: false
        }
    );

    candidates[4] = Candidate {
        slot: Some(2),
        station: Some(relief.station),
        at: Some(relief.station.place().at),
        may_fly: true,
        ..new("e")
    };
    assert_eq!(filled(&grid, &candidates), found);
    candidates.remove(2);
    let found = filled(&grid, &candidates);
    assert_eq!(
        found[&DroneUid("e".into())],
        InSlot {
            slot: 2,
            station: grid[2],
            relieves: false
        }
    );
    assert_eq!(found.len(), 4);
}

#[test]
fn where_no_place_beside_is_clear_it_comes_from_below_or_waits_for_the_slot_itself() {
    let dense = shape(Shape::Grid { columns: 5 }, 0.0, 10.5, 25);
    let mut candidates: Vec<Candidate> = (0..25)
        .map(|slot| holding(&format!("d{slot:02}"), slot, &dense))
        .collect();
    candidates[12].replace = true;
    candidates.push(new("e"));
    let relief = filled(&dense, &candidates)[&DroneUid("e".into())];
    let (east, north) = offset(dense[12].place().at, relief.station.place().at);
    assert!(east.hypot(north) < 0.01);
    let Altitude::AboveHome(height) = relief.station.place().altitude else {
        panic!("of the same reference")
    };
    assert!(height.0 < 11.0, "{height:?}");

    let low: Vec<Station> = dense
        .iter()
        .map(|slot| {
            let altitude = Altitude::AboveHome(AltitudeAboveHome(5.0));
            Station::new(
                Place {
                    altitude,
                    ..*slot.place()
                },
                &Limits::default(),
            )
            .unwrap()
        })
        .collect();
    let mut candidates: Vec<Candidate> = (0..25)
        .map(|slot| holding(&format!("d{slot:02}"), slot, &low))
        .collect();
    candidates[12].replace = true;
    candidates.push(new("e"));
    assert_eq!(filled(&low, &candidates)[&DroneUid("e".into())].station, low[12]);
}

#[test]
fn one_too_many_has_no_slot_and_one_whose_slot_is_gone_takes_a_free_one() {
    let line = shape(Shape::Line, 0.0, 15.0, 4);
    let candidates: Vec<Candidate> = (0..4).map(|slot| holding(&format!("d{slot}"), slot, &line)).collect();
    assert_eq!(
        numbers(&line[..3], &candidates),
        expected(&[("d0", 0, false), ("d1", 1, false), ("d2", 2, false)])
    );
    assert_eq!(
        numbers(
            &line[..3],
            &[candidates[0].clone(), candidates[2].clone(), candidates[3].clone()]
        ),
        expected(&[("d0", 0, false), ("d2", 2, false), ("d3", 1, false)])
    );
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Line),
        Just(Shape::Column),
        (1_u16..5).prop_map(|columns| Shape::Grid { columns }),
        Just(Shape::Circle),
        Just(Shape::Vee { half_angle_deg: 40.0 }),
    ]
}

proptest! {
    /// From any state each slot is held once, the lowest first; and the written state soon equals the wanted one: at once, or where one too
    /// many has an old slot, after the next reconcile.
    #[test]
    fn it_settles(
        before in shapes(), after in shapes(), heading in 0.0..359.0_f64, slots in 1_usize..9,
        drones in prop::collection::vec((prop::option::of(0_usize..9), any::<bool>(), any::<bool>(), any::<bool>(), -80.0..80.0_f64), 0..12),
    ) {
        let (before, after) = (shape(before, 0.0, 15.0, 9), shape(after, heading, 12.0, slots));
        let candidate = |(number, (slot, there, may_fly, replace, east)): (usize, &(Option<usize>, bool, bool, bool, f64))| Candidate {
            slot: *slot,
            station: slot.map(|slot| if *there && slot < after.len() { after[slot] } else { before[slot] }),
            at: (number % 4 != 3).then(|| shifted(HERE, *east, -east / 3.0)),
            may_fly: *may_fly,
            replace: *replace,
            ..new(&format!("d{number:02}"))
        };
        let mut candidates: Vec<Candidate> = drones.iter().enumerate().map(candidate).collect();
        let found = filled(&after, &candidates);
        let held: Vec<usize> = found.values().filter(|one| !one.relieves).map(|one| one.slot).collect();
        let once: BTreeSet<usize> = held.iter().copied().collect();
        prop_assert_eq!(once.len(), held.len());
        prop_assert_eq!(held.len(), candidates.len().min(slots));
        let mut found = found;
        for _ in 0..2 {
            for one in &mut candidates {
                if let Some(found) = found.get(&one.uid) {
                    (one.slot, one.station) = (Some(found.slot), Some(found.station));
                }
            }
            found = filled(&after, &candidates);
        }
        for one in &candidates {
            let Some(found) = found.get(&one.uid) else { continue };
            prop_assert_eq!((one.slot, one.station), (Some(found.slot), Some(found.station)));
        }
    }
}
