//! Fence from the items of a plan: polygons and circles to stay in or out of.

use crate::model::geo::Neu;
use crate::wire::PlanItem;

pub(in crate::model) mod item {
    pub(in crate::model) const RETURN_POINT: u16 = 5000;
    pub(in crate::model) const POLYGON_IN: u16 = 5001;
    pub(in crate::model) const POLYGON_OUT: u16 = 5002;
    pub(in crate::model) const CIRCLE_IN: u16 = 5003;
    pub(in crate::model) const CIRCLE_OUT: u16 = 5004;
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct Polygon {
    pub(in crate::model) inside: bool,
    pub(in crate::model) vertices: Vec<Neu>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) struct Circle {
    pub(in crate::model) inside: bool,
    pub(in crate::model) center: Neu,
    pub(in crate::model) radius_m: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::model) struct Fence {
    pub(in crate::model) polygons: Vec<Polygon>,
    pub(in crate::model) circles: Vec<Circle>,
}

impl Fence {
    /// `local` turns degrees × 10⁷ into meters. Errors: the vertex count (parameter 1) of a polygon with too few, or
    /// unequal, ones.
    pub(in crate::model) fn read(items: &[PlanItem], local: impl Fn(i32, i32) -> Neu) -> Result<Self, i32> {
        let mut fence = Self::default();
        let mut rest = items;
        while let Some((first, after)) = rest.split_first() {
            match first.command {
                item::POLYGON_IN | item::POLYGON_OUT => {
                    let declared = first.params[0];
                    let count = declared as usize;
                    let vertices = rest.get(..count).unwrap_or(&[]);
                    let alike = |vertex: &PlanItem| vertex.command == first.command && vertex.params[0] == declared;
                    if count < 3 || vertices.len() != count || !vertices.iter().all(alike) {
                        return Err(declared as i32);
                    }
                    fence.polygons.push(Polygon {
                        inside: first.command == item::POLYGON_IN,
                        vertices: vertices.iter().map(|vertex| local(vertex.x, vertex.y)).collect(),
                    });
                    rest = rest.get(count..).unwrap_or(&[]);
                    continue;
                }
                item::CIRCLE_IN | item::CIRCLE_OUT => fence.circles.push(Circle {
                    inside: first.command == item::CIRCLE_IN,
                    center: local(first.x, first.y),
                    radius_m: f64::from(first.params[0]),
                }),
                _ => {}
            }
            rest = after;
        }
        Ok(fence)
    }

    pub(in crate::model) fn leave_out(&mut self, point: Neu) -> usize {
        let before = self.polygons.len() + self.circles.len();
        self.polygons.retain(|polygon| polygon.allows(point));
        self.circles.retain(|circle| circle.allows(point));
        before - self.polygons.len() - self.circles.len()
    }

    pub(in crate::model) fn allows_in_any(&self, point: Neu) -> bool {
        let polygons = self
            .polygons
            .iter()
            .map(|polygon| (polygon.inside, polygon.allows(point)));
        let circles = self.circles.iter().map(|circle| (circle.inside, circle.allows(point)));
        let (inside, outside): (Vec<_>, Vec<_>) = polygons.chain(circles).partition(|(inside, _)| *inside);
        let any = inside.is_empty() || inside.iter().any(|(_, allowed)| *allowed);
        any && outside.iter().all(|(_, allowed)| *allowed)
    }

    pub(in crate::model) fn allows(&self, point: Neu) -> bool {
        self.polygons.iter().all(|polygon| polygon.allows(point))
            && self.circles.iter().all(|circle| circle.allows(point))
    }
}

impl Polygon {
    fn allows(&self, point: Neu) -> bool {
        // Counts the edges that a line to the east crosses.
        let ends = self.vertices.iter().cycle().skip(1);
        let crossed = self.vertices.iter().zip(ends).filter(|(a, b)| {
            let spans = (a.north > point.north) != (b.north > point.north);
            spans && point.east < a.east + (point.north - a.north) / (b.north - a.north) * (b.east - a.east)
        });
        (crossed.count() % 2 == 1) == self.inside
    }
}

impl Circle {
    fn allows(&self, point: Neu) -> bool {
        (self.center.ground_distance(point) <= self.radius_m) == self.inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corner(command: u16, count: f32, north: i32, east: i32) -> PlanItem {
        PlanItem {
            command,
            frame: 0,
            params: [count, 0.0, 0.0, 0.0],
            x: north,
            y: east,
            z: 0.0,
            autocontinue: 0,
        }
    }

    fn meters(north: i32, east: i32) -> Neu {
        Neu {
            north: f64::from(north),
            east: f64::from(east),
            up: 0.0,
        }
    }

    fn square(command: u16, half: i32) -> Vec<PlanItem> {
        [(half, half), (half, -half), (-half, -half), (-half, half)]
            .map(|(north, east)| corner(command, 4.0, north, east))
            .to_vec()
    }

    #[test]
    fn a_point_in_the_square_and_out_of_the_hole_is_allowed() {
        let mut items = square(item::POLYGON_IN, 50);
        items.extend(square(item::POLYGON_OUT, 10));
        items.push(corner(item::CIRCLE_OUT, 5.0, 0, 30));
        let fence = Fence::read(&items, meters).unwrap();
        assert_eq!((fence.polygons.len(), fence.circles.len()), (2, 1));
        assert!(fence.allows(meters(20, 20)));
        assert!(!fence.allows(meters(0, 0)), "in the hole");
        assert!(!fence.allows(meters(60, 0)), "outside");
        assert!(!fence.allows(meters(0, 27)), "in the circle");
    }

    #[test]
    fn of_two_squares_a_point_has_to_be_in_both_or_in_any() {
        let mut items = square(item::POLYGON_IN, 50);
        items.extend(square(item::POLYGON_IN, 20));
        items.push(corner(item::CIRCLE_OUT, 5.0, 0, 30));
        let fence = Fence::read(&items, meters).unwrap();
        let both_and_any = |north, east| {
            (
                fence.allows(meters(north, east)),
                fence.allows_in_any(meters(north, east)),
            )
        };
        assert_eq!(both_and_any(0, 0), (true, true));
        assert_eq!(both_and_any(40, 0), (false, true));
        assert_eq!(both_and_any(60, 0), (false, false));
        assert_eq!(both_and_any(0, 30), (false, false), "in the circle");
        assert!(Fence::default().allows_in_any(meters(9999, 0)));
    }

    #[test]
    fn a_polygon_of_two_vertices_is_none() {
        let items = [corner(item::POLYGON_IN, 2.0, 0, 0), corner(item::POLYGON_IN, 2.0, 9, 9)];
        assert_eq!(Fence::read(&items, meters), Err(2));
    }

    #[test]
    fn a_polygon_whose_vertices_end_early_is_none() {
        let items = &square(item::POLYGON_IN, 50)[..3];
        assert_eq!(Fence::read(items, meters), Err(4));
    }

    #[test]
    fn an_empty_fence_allows_everything() {
        let fence = Fence::read(&[], meters).unwrap();
        assert!(fence.allows(meters(9999, 9999)));
    }
}
