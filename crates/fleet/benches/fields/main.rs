//! Benchmark: fields as farms have them and the paths that are flown, as JSON lines, for another route planner to find a shorter way.
//!
//! Run: `cargo bench -p skein-fleet --bench fields -- --fields 200`; `tests/surveys/shortest.py` reads the output (`cargo xtask bench
//! survey` runs both).

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a benchmark prints, and fails by panicking"
)]

mod field;

use ::geo::Coord;
use fleet::planning::mission::{Leg, Work};
use std::time::Instant;

fn ring<'a>(corners: impl IntoIterator<Item = &'a Coord<f64>>) -> String {
    let corners = corners.into_iter().map(|at| format!("[{:.4},{:.4}]", at.x, at.y));
    format!("[{}]", corners.collect::<Vec<_>>().join(","))
}

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--fields").skip(1);
    let Some(count) = arguments.next() else { return };
    for number in 0..count.parse().unwrap() {
        let survey = field::survey(number);
        let begin = Instant::now();
        let work = Work::of_survey(&survey).unwrap();
        let time = begin.elapsed();
        let mut runs: Vec<Vec<Coord<f64>>> = Vec::new();
        for point in work.track().points() {
            match (point.leg, runs.last_mut()) {
                (Leg::Work, Some(run)) => run.push(point.at),
                _ => runs.push(vec![point.at]),
            }
        }
        runs.retain(|run| run.len() > 1);
        let figures = work.figures();
        let polygon = survey.area.polygon();
        let holes: Vec<String> = polygon.interiors().iter().map(|hole| ring(hole.coords())).collect();
        let runs: Vec<String> = runs.iter().map(ring).collect();
        println!(
            "{{\"number\":{number},\"outer\":{},\"holes\":[{}],\"runs\":[{}],\"spacing\":{:.4},\"work\":{:.3},\"ways\":{:.3},\"covered\":{:.6},\"ms\":{:.3}}}",
            ring(polygon.exterior().coords()),
            holes.join(","),
            runs.join(","),
            work.spacing().unwrap().0,
            figures.work_meters,
            figures.transit_meters,
            figures.survey.unwrap().covered,
            time.as_secs_f64() * 1000.0,
        );
    }
}
