//! A fence as mission items: what is uploaded, what is read back, and when the two are the same.
//!
//! Owns: [`Item`] and the way from [`Fence`] to items. Must not: upload.
//!
//! What autopilots change in an item they store is left out of the comparison: ArduCopter returns frame and height as 0, PX4
//! the frame as MAV_FRAME_GLOBAL_INT (both recorded).

use fleet::rules::{Fence, Outline, Side};
use fleet::units::Wgs84;
use link::dialect::{MISSION_ITEM_INT_DATA, MavCmd, MavFrame, MavMissionType};
use serde::{Deserialize, Serialize};

/// Two radii are the same when they differ by less, meters.
const RADIUS_M: f32 = 0.01;

/// One item of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// Of a vertex: how many its polygon has. Of a circle: its radius in meters.
    pub parameter: f32,
    /// Degrees × 10⁷.
    pub latitude_e7: i32,
    /// Degrees × 10⁷.
    pub longitude_e7: i32,
}

/// The kinds of fence items.
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
    fn command(self) -> MavCmd {
        let found = KINDS.iter().find(|(kind, _)| *kind == self);
        found.map_or(MavCmd::MAV_CMD_NAV_FENCE_RETURN_POINT, |(_, command)| *command)
    }
}

impl Item {
    /// The item in a MISSION_ITEM_INT (73); `None` if it is no item of a fence, or its number is none.
    #[must_use]
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

    /// The MISSION_ITEM_INT (73) that uploads it as number `seq`, without its target. Both take it in MAV_FRAME_GLOBAL.
    #[must_use]
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
            // Nobody reads it.
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

/// Whether two fences are the same, to 10⁻⁷ degrees and a centimeter of radius.
#[must_use]
pub fn alike(a: &[Item], b: &[Item]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_like(b))
}

/// The items of a fence, in the order of its shapes: each vertex tells how many its polygon has.
#[must_use]
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
    use fleet::rules::Shape;
    use fleet::units::Meters;

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
        let told: Vec<_> = items.iter().map(|item| (item.kind, item.parameter)).collect();
        let vertex = (ItemKind::PolygonInside, 3.0);
        assert_eq!(told, [vertex, vertex, vertex, (ItemKind::CircleOutside, 80.5)]);
        let last = items[3].message(3);
        assert_eq!((last.x, last.y, last.seq), (-470_000_000, 80_500_000, 3));
        let read: Vec<_> = items.iter().filter_map(|item| Item::read(&item.message(0))).collect();
        assert_eq!(read, items);
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
