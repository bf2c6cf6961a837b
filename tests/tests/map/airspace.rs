//! The airspace that the page shows as a vehicle's own.

use crate::apart;
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use skein_tests::browser::Page;
use skein_tests::wire::Place;

/// Degrees.
type Corner = (f64, f64);

/// Pieces at one moment: ends of lines, and their reach around them, meters.
pub struct Claimed(Vec<(Vec<Corner>, f64)>);

impl Claimed {
    pub fn of(row: &Value) -> anyhow::Result<Self> {
        let pieces = row["airspace"]["pieces"].as_array();
        let pieces = pieces.with_context(|| format!("it owns nothing: {row}"))?;
        let piece = |piece: &Value| {
            let corner = |at: &Value| Some((at[1].as_f64()?, at[0].as_f64()?));
            let core: Option<Vec<Corner>> = piece["core"].as_array()?.iter().map(corner).collect();
            Some((core?, piece["radiusMeters"].as_f64()?))
        };
        let pieces: Option<Vec<_>> = pieces.iter().map(piece).collect();
        let claimed = Self(pieces.with_context(|| format!("no shapes: {row}"))?);
        ensure!(claimed.0.len() > 3, "{row}");
        Ok(claimed)
    }

    pub fn is_drawn(&self, page: &mut Page, elsewhere: Value) -> anyhow::Result<()> {
        let lines = self.0.iter().filter(|(core, _)| core.len() == 2);
        let middles =
            lines.map(|(core, _)| json!([f64::midpoint(core[0].1, core[1].1), f64::midpoint(core[0].0, core[1].0)]));
        let mut places: Vec<Value> = middles.collect();
        let count = places.len();
        places.push(elsewhere);
        let colors = page.step(&json!({"step": "overlay", "places": places}))?;
        let blue = |color: &Value| {
            let part = |at: usize| color[at].as_i64().unwrap_or_default();
            part(3) > 20 && part(2) > part(0) + 40
        };
        let drawn = colors.as_array().context("no colors")?;
        // A name, a symbol or a line of the grid may lie over some.
        let seen = drawn.iter().take(count).filter(|color| blue(color)).count();
        ensure!(seen * 3 > count * 2, "{seen} of {count}: {colors}");
        ensure!(!blue(&colors[count]), "it is drawn everywhere: {colors}");
        Ok(())
    }

    pub fn had_all(&self, places: &[Place]) -> anyhow::Result<()> {
        ensure!(places.len() > 10, "it was at {} places", places.len());
        for place in places {
            let off = |(core, radius): &(Vec<Corner>, f64)| {
                let ends = (core.first(), core.last());
                let (Some(from), Some(to)) = ends else {
                    return f64::INFINITY;
                };
                beside(place.at, *from, *to) - radius
            };
            let off = self.0.iter().map(off).fold(f64::INFINITY, f64::min);
            ensure!(off <= 0.1, "{place:?} is {off} m out of all that it owned");
        }
        Ok(())
    }
}

/// Meters, in a plane.
fn beside(place: Corner, from: Corner, to: Corner) -> f64 {
    let (length, a, b) = (apart(from, to), apart(place, from), apart(place, to));
    if length < 0.01 {
        return a;
    }
    // Part of the line up to the nearest point, by the law of cosines.
    let along = (a * a - b * b + length * length) / (2.0 * length);
    let nearest = along.clamp(0.0, length);
    ((a * a - along * along).max(0.0) + (along - nearest).powi(2)).sqrt()
}
