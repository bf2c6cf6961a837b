//! Shapes, and what is refused.

use super::*;
use crate::planning::ellipsoid::chord;
use model::station::Manner;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
use proptest::prelude::*;

const HERE: Wgs84 = Wgs84 {
    latitude_deg: 47.4,
    longitude_deg: 8.5,
};

const FIVE: Separation = Separation {
    horizontal: Meters(5.0),
    vertical: Meters(5.0),
};

fn limits() -> Limits {
    Limits {
        amsl: Some((AltitudeAmsl(400.0), AltitudeAmsl(100_000.0))),
        ..Limits::default()
    }
}

fn around(shape: Shape) -> Around {
    Around {
        anchor: Place {
            at: HERE,
            altitude: Altitude::Amsl(AltitudeAmsl(500.0)),
            manner: Manner::default(),
        },
        heading: Heading(0.0),
        shape,
        spacing: Meters(10.0),
        altitude_step: Meters(0.0),
    }
}

fn slots(around: Around, replicas: usize) -> Result<Vec<Station>, BadFormation> {
    Formation::Around(around).slots(replicas, FIVE, &limits())
}

/// East and north of the anchor and above it, in whole meters.
#[allow(clippy::cast_possible_truncation, reason = "slots are few")]
fn drawn(around: Around, replicas: usize) -> Vec<(i64, i64, i64)> {
    let whole = |station: &Station| {
        let (east, north) = offset(HERE, station.place().at);
        let up = station.place().altitude.amsl(AltitudeAmsl(0.0)).0 - 500.0;
        (east.round() as i64, north.round() as i64, up.round() as i64)
    };
    slots(around, replicas).unwrap().iter().map(whole).collect()
}

#[test]
fn each_shape_is_as_it_is_drawn() {
    let stepped = |shape| Around {
        altitude_step: Meters(2.0),
        ..around(shape)
    };
    assert_eq!(
        drawn(stepped(Shape::Line), 4),
        [(0, 0, 0), (10, 0, 2), (-10, 0, 2), (20, 0, 4)]
    );
    assert_eq!(drawn(stepped(Shape::Column), 3), [(0, 0, 0), (0, -10, 2), (0, -20, 4)]);
    let vee = Shape::Vee { half_angle_deg: 45.0 };
    assert_eq!(
        drawn(stepped(vee), 4),
        [(0, 0, 0), (7, -7, 2), (-7, -7, 2), (14, -14, 4)]
    );
    let grid = Shape::Grid { columns: 3 };
    assert_eq!(
        drawn(stepped(grid), 5),
        [(-10, 0, 0), (0, 0, 0), (10, 0, 0), (-10, -10, 2), (0, -10, 2)]
    );
    assert_eq!(
        drawn(around(Shape::Circle), 4),
        [(0, 7, 0), (7, 0, 0), (0, -7, 0), (-7, 0, 0)]
    );
    assert_eq!(drawn(around(Shape::Circle), 1), [(0, 0, 0)]);
    let east = Around {
        heading: Heading(90.0),
        ..around(Shape::Column)
    };
    assert_eq!(drawn(east, 2), [(0, 0, 0), (-10, 0, 0)]);
}

#[test]
fn what_cannot_be_flown_is_refused_with_the_reason() {
    let refused = |change: fn(&mut Around), shape| {
        let mut bad = around(shape);
        change(&mut bad);
        slots(bad, 3).expect_err("it must be refused")
    };
    assert_eq!(
        refused(|a| a.spacing = Meters(0.0), Shape::Line),
        BadFormation::Spacing(0.0)
    );
    assert_eq!(
        refused(|a| a.heading = Heading(-1.0), Shape::Line),
        BadFormation::Heading(-1.0)
    );
    assert_eq!(
        refused(|a| a.altitude_step = Meters(f64::NAN), Shape::Line),
        BadFormation::AltitudeStep
    );
    assert_eq!(refused(|_| {}, Shape::Grid { columns: 0 }), BadFormation::NoColumns);
    assert_eq!(
        refused(|_| {}, Shape::Vee { half_angle_deg: 90.0 }),
        BadFormation::HalfAngle(90.0)
    );
    let low = refused(|a| a.altitude_step = Meters(-60.0), Shape::Column);
    assert!(
        matches!(
            low,
            BadFormation::Slot {
                slot: 2,
                source: BadStation::TooLow { .. }
            }
        ),
        "{low}"
    );
    let near = refused(|a| a.spacing = Meters(4.9), Shape::Column);
    assert!(
        matches!(
            near,
            BadFormation::TooNear {
                one: 0,
                other: 1,
                heights_count: true,
                ..
            }
        ),
        "{near}"
    );
    let point = around(Shape::Line).anchor;
    let few = Formation::Points(vec![point]).slots(2, FIVE, &limits());
    assert_eq!(few, Err(BadFormation::TooFewPoints { replicas: 2, points: 1 }));
}

#[test]
fn heights_separate_slots_only_where_they_have_one_reference() {
    let stacked = |altitudes: [Altitude; 2]| {
        let place = |altitude| Place {
            altitude,
            ..around(Shape::Line).anchor
        };
        Formation::Points(altitudes.map(place).to_vec()).slots(2, FIVE, &limits())
    };
    let amsl = |height| Altitude::Amsl(AltitudeAmsl(height));
    let above = |height| Altitude::AboveHome(AltitudeAboveHome(height));
    assert!(stacked([amsl(500.0), amsl(505.0)]).is_ok());
    assert!(stacked([amsl(500.0), amsl(504.9)]).is_err());
    let homes_differ = stacked([above(20.0), above(40.0)]);
    assert!(matches!(
        homes_differ,
        Err(BadFormation::TooNear {
            heights_count: false,
            ..
        })
    ));
    assert!(stacked([above(20.0), amsl(600.0)]).is_err());
}

fn any_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Line),
        Just(Shape::Column),
        (1u16..12).prop_map(|columns| Shape::Grid { columns }),
        (5.0..85.0).prop_map(|half_angle_deg| Shape::Vee { half_angle_deg }),
        Just(Shape::Circle),
    ]
}

fn any_around() -> impl Strategy<Value = Around> {
    (any_shape(), 0.0..360.0, 2.0..30.0, prop_oneof![Just(0.0), -2.0..6.0]).prop_map(
        |(shape, heading, spacing, step)| Around {
            heading: Heading(heading),
            spacing: Meters(spacing),
            altitude_step: Meters(step),
            ..around(shape)
        },
    )
}

proptest! {
    #[test]
    fn a_slot_stays_where_it_is_whatever_the_number_of_slots(around in any_around(), few in 1usize..20, more in 0usize..20) {
        prop_assume!(around.shape != Shape::Circle);
        if let (Ok(some), Ok(all)) = (slots(around, few), slots(around, few + more)) {
            prop_assert_eq!(&all[..few], &some[..]);
        }
    }

    #[test]
    fn no_two_slots_that_are_allowed_are_nearer_than_the_separation(around in any_around(), replicas in 1usize..40) {
        let Ok(slots) = slots(around, replicas) else { return Ok(()) };
        for (i, one) in slots.iter().enumerate() {
            for other in &slots[..i] {
                let (one, other) = (one.place(), other.place());
                let height = |place: &Place| place.altitude.amsl(AltitudeAmsl(0.0)).0;
                let apart = chord(one.at, other.at) >= 4.99 || (height(one) - height(other)).abs() >= 5.0;
                prop_assert!(apart);
            }
        }
    }

    #[test]
    fn neighbors_in_a_wide_shape_are_allowed(shape in any_shape(), replicas in 1usize..60) {
        let wide = Around { spacing: Meters(80.0), ..around(shape) };
        prop_assert!(slots(wide, replicas).is_ok());
    }
}

#[test]
fn a_formation_has_no_more_slots_than_can_be_matched() {
    let line = around(Shape::Line);
    assert!(slots(line, assign::MAX_WEIGHED).is_ok());
    let why = slots(line, assign::MAX_WEIGHED + 1).unwrap_err();
    assert_eq!(
        why.to_string(),
        "1201 replicas are more than 1200 slots of one formation; use several Swarms"
    );
}
