//! A fence as mission items: what is uploaded, what is read back, and when the two are the same.
//!
//! What autopilots change in an item they store is left out of the comparison: ArduCopter returns frame and height as 0, PX4
//! the frame as MAV_FRAME_GLOBAL_INT (both recorded).

use link::dialect::{MISSION_ITEM_INT_DATA, MavCmd, MavFrame, MavMissionType};
use model::rules::{Fence, Outline, Side};
use model::units::Wgs84;
use serde::{Deserialize, Serialize};

/// Meters.
const RADIUS_M: f32 = 0.01;
/// By so much the radius of a circle differs in its other form: enough for PX4 to judge it again, and the same for us.
const OTHER_RADIUS_M: f32 = 0.005;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub kind: ItemKind,
    /// Vertices of its polygon; for a circle, its radius in meters.
    pub parameter: f32,
    /// Degrees × 10⁷.
    pub latitude_e7: i32,
    pub longitude_e7: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ItemKind {
    /// MAV_CMD_NAV_FENCE_RETURN_POINT (5000).
    ReturnPoint,
    /// MAV_CMD_NAV_FENCE_POLYGON_VERTEX_INCLUSION (5001).
    PolygonInside,
    /// MAV_CMD_NAV_FENCE_POLYGON_VERTEX_EXCLUSION (5002).
    PolygonOutside,
    /// MAV_CMD_NAV_FENCE_CIRCLE_INCLUSION (5003).
    CircleInside,
    /// MAV_CMD_NAV_FENCE_CIRCLE_EXCLUSION (5004).
    CircleOutside,
}

const KINDS: [(ItemKind, MavCmd); 5] = [
    (ItemKind::ReturnPoint, MavCmd::MAV_CMD_NAV_FENCE_RETURN_POINT),
    (
        ItemKind::PolygonInside,
        MavCmd::MAV_CMD_NAV_FENCE_POLYGON_VERTEX_INCLUSION,
    ),
    (
        ItemKind::PolygonOutside,
        MavCmd::MAV_CMD_NAV_FENCE_POLYGON_VERTEX_EXCLUSION,
    ),
    (ItemKind::CircleInside, MavCmd::MAV_CMD_NAV_FENCE_CIRCLE_INCLUSION),
    (ItemKind::CircleOutside, MavCmd::MAV_CMD_NAV_FENCE_CIRCLE_EXCLUSION),
];

impl ItemKind {
    const fn is_circle(self) -> bool {
        matches!(self, Self::CircleInside | Self::CircleOutside)
    }

    fn command(self) -> MavCmd {
        let found = KINDS.iter().find(|(kind, _)| *kind == self);
        found.map_or(MavCmd::MAV_CMD_NAV_FENCE_RETURN_POINT, |(_, command)| *command)
    }
}

impl Item {
    /// `None`: no item of a fence, or a number that is not finite.
    pub fn read(m: &MISSION_ITEM_INT_DATA) -> Option<Self> {
        let (kind, _) = KINDS.iter().find(|(_, command)| *command == m.command)?;
        if !m.param1.is_finite() {
            return None;
        }
        Some(Self {
            kind: *kind,
            parameter: m.param1,
            latitude_e7: m.x,
            longitude_e7: m.y,
        })
    }

    /// Without its target. Both autopilots take MAV_FRAME_GLOBAL.
    pub fn message(&self, seq: u16) -> MISSION_ITEM_INT_DATA {
        MISSION_ITEM_INT_DATA {
            param1: self.parameter,
            x: self.latitude_e7,
            y: self.longitude_e7,
            seq,
            command: self.kind.command(),
            frame: MavFrame::MAV_FRAME_GLOBAL,
            autocontinue: 1,
            mission_type: MavMissionType::MAV_MISSION_TYPE_FENCE,
            ..MISSION_ITEM_INT_DATA::default()
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        let near = |a: i32, b: i32| a.abs_diff(b) <= 1;
        let parameter = match self.kind {
            // It is never read.
            ItemKind::ReturnPoint => true,
            ItemKind::PolygonInside | ItemKind::PolygonOutside => self.parameter == other.parameter,
            ItemKind::CircleInside | ItemKind::CircleOutside => (self.parameter - other.parameter).abs() < RADIUS_M,
        };
        self.kind == other.kind
            && parameter
            && near(self.latitude_e7, other.latitude_e7)
            && near(self.longitude_e7, other.longitude_e7)
    }
}

/// Whether two fences are the same, to 10⁻⁷ degrees and a centimeter of radius, wherever their polygons begin.
pub fn alike(a: &[Item], b: &[Item]) -> bool {
    let (mut a, mut b) = (a, b);
    while !a.is_empty() && a.len() == b.len() {
        let len = first_shape(a);
        let ((one, rest), (other, others)) = (a.split_at(len), b.split_at(len));
        let turned = |by: usize| one.iter().zip(other.iter().cycle().skip(by)).all(|(a, b)| a.is_like(b));
        if !(0..len).any(turned) {
            return false;
        }
        (a, b) = (rest, others);
    }
    a.is_empty() && b.is_empty()
}

/// The same fence in other words than those in which it was read: PX4 does not judge the same words twice, and others it does
/// (recorded). A polygon begins at its next vertex; where there is none, a circle is half a centimeter narrower for the vehicle.
pub fn in_other_words(fence: &[Item], than: &[Item]) -> Vec<Item> {
    let mut other = fence.to_vec();
    let mut begin = 0;
    while let Some(rest) = other.get_mut(begin..).filter(|rest| !rest.is_empty()) {
        let len = first_shape(rest);
        if len > 1 {
            rest[..len].rotate_left(1);
            break;
        }
        begin += len;
    }
    if begin == other.len()
        && let Some(circle) = other.iter_mut().find(|item| item.kind.is_circle())
    {
        let narrower = match circle.kind {
            ItemKind::CircleOutside => OTHER_RADIUS_M,
            _ => -OTHER_RADIUS_M,
        };
        circle.parameter += narrower;
    }
    let distance = |words: &[Item]| {
        let same = words.len() == than.len() && words.iter().zip(than).all(|(a, b)| a.is_like(b));
        let radii = words.iter().zip(than).map(|(a, b)| (a.parameter - b.parameter).abs());
        if same { radii.sum() } else { f32::INFINITY }
    };
    if distance(fence) <= distance(&other) {
        other
    } else {
        fence.to_vec()
    }
}

/// Items of the first shape of a fence, at least one.
fn first_shape(items: &[Item]) -> usize {
    let Some(first) = items.first() else { return 1 };
    let polygon = matches!(first.kind, ItemKind::PolygonInside | ItemKind::PolygonOutside);
    let of_it = |item: &&Item| item.kind == first.kind && item.parameter == first.parameter;
    let whole = (3..=items.len())
        .find(|count| u16::try_from(*count).map(f32::from) == Ok(first.parameter))
        .filter(|count| items.iter().take(*count).filter(of_it).count() == *count);
    whole.filter(|_| polygon).unwrap_or(1)
}

/// Each vertex has the number of vertices of its polygon.
pub fn items(fence: &Fence) -> Vec<Item> {
    let mut items = Vec::with_capacity(fence.items());
    for shape in &fence.shapes {
        match &shape.outline {
            Outline::Polygon(vertices) => {
                let kind = match shape.side {
                    Side::Inside => ItemKind::PolygonInside,
                    Side::Outside => ItemKind::PolygonOutside,
                };
                let count = u16::try_from(vertices.len()).map_or(f32::NAN, f32::from);
                items.extend(vertices.iter().map(|at| item(kind, count, *at)));
            }
            Outline::Circle { center, radius } => {
                let kind = match shape.side {
                    Side::Inside => ItemKind::CircleInside,
                    Side::Outside => ItemKind::CircleOutside,
                };
                items.push(item(kind, radius_of(radius.0), *center));
            }
        }
    }
    items
}

fn item(kind: ItemKind, parameter: f32, at: Wgs84) -> Item {
    Item {
        kind,
        parameter,
        latitude_e7: e7(at.latitude_deg),
        longitude_e7: e7(at.longitude_deg),
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a radius needs no more")]
fn radius_of(meters: f64) -> f32 {
    meters as f32
}

/// Degrees × 10⁷.
#[allow(clippy::cast_possible_truncation, reason = "180 degrees fit")]
fn e7(degrees: f64) -> i32 {
    (degrees * 1e7).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rules::Shape;
    use model::units::Meters;

    fn at(latitude_deg: f64, longitude_deg: f64) -> Wgs84 {
        Wgs84 {
            latitude_deg,
            longitude_deg,
        }
    }

    #[test]
    fn each_vertex_tells_the_number_of_its_polygon_and_a_circle_its_radius() {
        let fence = Fence {
            shapes: vec![
                Shape {
                    side: Side::Inside,
                    outline: Outline::Polygon(vec![at(47.0, 8.0), at(47.1, 8.0), at(47.1, 8.1)]),
                },
                Shape {
                    side: Side::Outside,
                    outline: Outline::Circle {
                        center: at(-47.0, 8.05),
                        radius: Meters(80.5),
                    },
                },
            ],
        };
        let items = items(&fence);
        let listed: Vec<_> = items.iter().map(|item| (item.kind, item.parameter)).collect();
        let vertex = (ItemKind::PolygonInside, 3.0);
        assert_eq!(listed, [vertex, vertex, vertex, (ItemKind::CircleOutside, 80.5)]);
        let last = items[3].message(3);
        assert_eq!((last.x, last.y, last.seq), (-470_000_000, 80_500_000, 3));
        let read: Vec<_> = items.iter().filter_map(|item| Item::read(&item.message(0))).collect();
        assert_eq!(read, items);
    }

    #[test]
    fn a_fence_in_other_words_is_the_same_and_never_larger() {
        let polygon = |side, corners: &[(f64, f64)]| Shape {
            side,
            outline: Outline::Polygon(corners.iter().map(|(north, east)| at(*north, *east)).collect()),
        };
        let circle = |side| Shape {
            side,
            outline: Outline::Circle {
                center: at(47.0, 8.0),
                radius: Meters(80.0),
            },
        };
        let triangle = polygon(Side::Inside, &[(47.0, 8.0), (47.1, 8.0), (47.1, 8.1)]);
        let hole = polygon(
            Side::Outside,
            &[(47.02, 8.0), (47.03, 8.0), (47.03, 8.01), (47.02, 8.01)],
        );
        for shapes in [
            vec![triangle.clone(), hole, circle(Side::Inside)],
            vec![triangle],
            vec![circle(Side::Inside)],
            vec![circle(Side::Outside)],
        ] {
            let first = items(&Fence { shapes });
            let second = in_other_words(&first, &first);
            assert_ne!(first, second);
            assert!(alike(&first, &second) && alike(&second, &first));
            assert_eq!(in_other_words(&first, &second), first, "and back again");
            for (one, other) in first.iter().zip(&second).filter(|(one, _)| one.kind.is_circle()) {
                match one.kind {
                    ItemKind::CircleInside => assert!(other.parameter <= one.parameter),
                    _ => assert!(other.parameter >= one.parameter),
                }
            }
        }
        let mut turned = items(&Fence {
            shapes: vec![polygon(Side::Inside, &[(47.0, 8.0), (47.1, 8.0), (47.1, 8.1)])],
        });
        let first = turned.clone();
        turned.swap(0, 1);
        assert!(alike(
            &first,
            &turned[..2]
                .iter()
                .rev()
                .chain(&turned[2..])
                .copied()
                .collect::<Vec<_>>()
        ));
        assert!(!alike(&first, &turned), "the other way round is not looked for");
    }

    #[test]
    fn a_difference_of_one_unit_is_rounding_and_one_of_two_is_another_fence() {
        let one = item(ItemKind::PolygonInside, 3.0, at(47.0, 8.0));
        let moved = |by| Item {
            latitude_e7: one.latitude_e7 + by,
            ..one
        };
        assert!(alike(&[one], &[moved(1)]));
        assert!(!alike(&[one], &[moved(2)]));
        assert!(!alike(&[one], &[one, one]));
        assert!(!alike(&[one], &[Item { parameter: 4.0, ..one }]));
    }
}
