//! Parallel lines over an area.

use super::area::Area;
use super::strip::Strip;
use ::geo::{ConvexHull, Coord};
use model::units::Heading;

/// From one side of the area to the other, each `spacing` wide or a little less, so that they fill it.
pub(super) fn strips(area: &Area, spacing: f64, heading: Option<Heading>) -> Vec<Strip> {
    let along = direction(area, heading);
    let across = Coord {
        x: -along.y,
        y: along.x,
    };
    let (left, right) = extent(area, across);
    let (back, front) = extent(area, along);
    // No further line for a millimeter.
    let count = ((right - left) / spacing - 1e-4).ceil().max(1.0);
    let width = (right - left) / count;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates"
    )]
    let count = count as usize;
    let strip = |number: usize| Strip {
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        from: across * (left + (number as f64 + 0.5) * width) + along * back,
        along,
        length: front - back,
        half: width / 2.0,
        number,
    };
    (0..count).map(strip).collect()
}

pub(super) fn count(area: &Area, spacing: f64, heading: Option<Heading>) -> f64 {
    let along = direction(area, heading);
    let (left, right) = extent(
        area,
        Coord {
            x: -along.y,
            y: along.x,
        },
    );
    ((right - left) / spacing).ceil()
}

/// As a unit vector.
fn direction(area: &Area, heading: Option<Heading>) -> Coord<f64> {
    let Some(heading) = heading else {
        return shortest_way_across(area);
    };
    let (x, y) = heading.0.to_radians().sin_cos();
    Coord { x, y }
}

/// Along the side of the area's hull across which it is narrowest: that gives the fewest turns.
fn shortest_way_across(area: &Area) -> Coord<f64> {
    let hull = area.polygon().convex_hull();
    let sides = hull.exterior().lines().filter_map(|side| {
        let (x, y) = (side.end.x - side.start.x, side.end.y - side.start.y);
        let length = x.hypot(y);
        (length > 0.0).then(|| Coord {
            x: x / length,
            y: y / length,
        })
    });
    let width = |along: &Coord<f64>| {
        let (left, right) = extent(
            area,
            Coord {
                x: -along.y,
                y: along.x,
            },
        );
        right - left
    };
    let narrowest = sides.min_by(|a, b| width(a).total_cmp(&width(b)));
    narrowest.unwrap_or(Coord { x: 0.0, y: 1.0 })
}

/// From and to along `direction`, meters.
fn extent(area: &Area, direction: Coord<f64>) -> (f64, f64) {
    let along = area.polygon().exterior().coords();
    let along = along.map(|corner| corner.x * direction.x + corner.y * direction.y);
    along.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), at| {
        (least.min(at), most.max(at))
    })
}
