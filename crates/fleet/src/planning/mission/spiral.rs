//! The expanding square: legs around a point, each farther out, as search and rescue flies it around the last known place.
//!
//! The plane is divided into squares as wide as the spacing; the legs pass the middle of each once, spiraling outward. A leg's strip has
//! the squares that it passes.

use super::area::Area;
use super::strip::Strip;
use ::geo::Coord;

/// From the inside to the outside, until the area is covered. `along`: direction of the first leg, a unit vector.
pub(super) fn strips(area: &Area, spacing: f64, center: Coord<f64>, along: Coord<f64>) -> Vec<Strip> {
    let rings = rings(area, spacing, center, along);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates"
    )]
    let rings = rings as u32;
    let mut strips = Vec::new();
    let (mut corner, mut along) = (center, along);
    for leg in 0..=(4 * rings) {
        // 1, 1, 2, 2, … squares, and once more the last.
        let squares = f64::from((leg / 2 + 1).min(2 * rings));
        // Each strip begins after the square of its corner; the first includes the middle square.
        let before = if leg == 0 { -0.5 } else { 0.5 };
        strips.push(Strip {
            from: corner + along * (before * spacing),
            along,
            length: (squares + 0.5 - before) * spacing,
            half: spacing / 2.0,
            number: strips.len(),
        });
        corner = corner + along * (squares * spacing);
        along = Coord {
            x: along.y,
            y: -along.x,
        };
    }
    strips
}

pub(super) fn rings(area: &Area, spacing: f64, center: Coord<f64>, along: Coord<f64>) -> f64 {
    let reach = area.polygon().exterior().coords().map(|corner| {
        let to = *corner - center;
        let (ahead, aside) = (to.x * along.x + to.y * along.y, to.x * along.y - to.y * along.x);
        ahead.abs().max(aside.abs())
    });
    let reach = reach.fold(0.0, f64::max);
    (reach / spacing - 0.5).ceil().max(0.0)
}
