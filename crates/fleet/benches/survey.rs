//! Benchmark: the cost of planning a survey, over shapes and sizes up to what the CRD allows.
//!
//! Prints a table. Run: `cargo bench -p skein-fleet --bench survey`; with `-- NAME`, only areas whose name has that in it. The last column
//! is equal for plans that are equal in each bit.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark prints, and fails by panicking"
)]

use fleet::planning::mission::{Area, BadSurvey, Flier, Leg, Pattern, Plan, Spacing, Survey, Work};
use model::geo::shifted;
use model::station::Altitude;
use model::units::{AltitudeAboveHome, Heading, Meters, MetersPerSecond, Wgs84};
use std::f64::consts::TAU;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

const HERE: Wgs84 = Wgs84 {
    latitude_deg: 47.397_742,
    longitude_deg: 8.545_594,
};

/// Width and length of the areas, meters.
const SIDE_M: f64 = 2000.0;

/// After this long, a shape is not tried with more corners.
const PATIENCE: Duration = Duration::from_secs(30);

type Corners = Vec<(f64, f64)>;

/// An outer edge and holes with about this many corners in all, for this many lines.
type Shape = fn(usize, f64) -> (Corners, Vec<Corners>);

fn square() -> Corners {
    vec![(0.0, 0.0), (SIDE_M, 0.0), (SIDE_M, SIDE_M), (0.0, SIDE_M)]
}

/// A bar from west to east with teeth to the north.
fn comb(count: usize) -> Corners {
    let teeth = (count / 4).max(1);
    let (west, south, bar, north) = (0.1 * SIDE_M, 0.1 * SIDE_M, 0.15 * SIDE_M, 0.9 * SIDE_M);
    let pitch = 0.8 * SIDE_M / teeth as f64;
    let tooth = |number: usize| {
        let left = west + number as f64 * pitch;
        [
            (left + 0.6 * pitch, bar),
            (left + 0.6 * pitch, north),
            (left, north),
            (left, bar),
        ]
    };
    let mut corners = vec![(west, south), (0.9 * SIDE_M - 0.4 * pitch, south)];
    corners.extend((0..teeth).rev().flat_map(tooth));
    // The outer two teeth continue straight into the bar.
    corners.remove(2);
    corners.pop();
    corners
}

fn spiral(count: usize) -> Corners {
    let side = (count / 2).max(4);
    let turns = (side / 12).clamp(1, 6) as f64;
    let at = |number: usize, thick: f64| {
        let share = number as f64 / (side - 1) as f64;
        let radius = SIDE_M * (0.05 + 0.4 * share) + thick;
        let angle = share * turns * TAU;
        (0.5 * SIDE_M + radius * angle.cos(), 0.5 * SIDE_M + radius * angle.sin())
    };
    let outward = (0..side).map(|number| at(number, 0.012 * SIDE_M));
    let inward = (0..side).rev().map(|number| at(number, 0.0));
    outward.chain(inward).collect()
}

/// In rows, small enough that they cut few of so many lines.
fn houses(count: usize, lines: f64) -> Vec<Corners> {
    let houses = (count / 4).max(1);
    let row = (houses as f64).sqrt().ceil() as usize;
    let pitch = 0.9 * SIDE_M / row as f64;
    let side = (SIDE_M / lines * 800.0 / houses as f64).min(0.5 * pitch);
    let house = |number: usize| {
        let (x, y) = (
            0.1 * SIDE_M + (number % row) as f64 * pitch,
            0.1 * SIDE_M + (number / row) as f64 * pitch,
        );
        vec![
            (x, y),
            (x + side, y + 0.1 * side),
            (x + side, y + side),
            (x, y + 0.8 * side),
        ]
    };
    (0..houses).map(house).collect()
}

fn star(count: usize) -> Corners {
    let corner = |number: usize| {
        let radius = SIDE_M * if number.is_multiple_of(2) { 0.5 } else { 0.35 };
        let angle = number as f64 / count as f64 * TAU;
        (radius * angle.cos(), radius * angle.sin())
    };
    (0..count).map(corner).collect()
}

const SHAPES: &[(&str, f64, Shape)] = &[
    ("square", 0.0, |_, _| (square(), Vec::new())),
    ("star", 0.0, |count, _| (star(count), Vec::new())),
    ("comb, lines along", 0.0, |count, _| (comb(count), Vec::new())),
    ("comb, lines across", 90.0, |count, _| (comb(count), Vec::new())),
    ("spiral", 0.0, |count, _| (spiral(count), Vec::new())),
    ("comb as hole, lines along", 0.0, |count, _| {
        (square(), vec![comb(count - 4)])
    }),
    ("comb as hole, lines across", 90.0, |count, _| {
        (square(), vec![comb(count - 4)])
    }),
    ("comb as hole, lines aslant", 30.0, |count, _| {
        (square(), vec![comb(count - 4)])
    }),
    ("spiral as hole", 0.0, |count, _| (square(), vec![spiral(count - 4)])),
    ("many holes", 20.0, |count, lines| (square(), houses(count - 4, lines))),
];

fn corners(ring: &Corners) -> Vec<Wgs84> {
    ring.iter().map(|(east, north)| shifted(HERE, *east, *north)).collect()
}

fn fliers(count: usize) -> Vec<Flier> {
    let flier = |number: usize| Flier {
        start: shifted(HERE, -30.0, number as f64 * SIDE_M / count as f64),
        speed: None,
        endurance: None,
    };
    (0..count).map(flier).collect()
}

fn survey(area: Area, heading: f64, lines: f64) -> Survey {
    let (x, y) = heading.to_radians().sin_cos();
    // Width of the area across its lines, with a little to spare.
    let width = area.polygon().exterior().coords().map(|at| at.x * y - at.y * x);
    let (least, most) = width.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), at| (a.min(at), b.max(at)));
    Survey {
        area,
        pattern: Pattern::Lines {
            heading: Some(Heading(heading)),
        },
        spacing: Spacing::Fixed(Meters((most - least) / lines + 1e-3)),
        altitude: Altitude::AboveHome(AltitudeAboveHome(30.0)),
        speed: MetersPerSecond(8.0),
        trigger: Some(Meters(5.0)),
    }
}

/// Time that this thread had a core (Linux), so that other work on the machine does not count; elsewhere wall time.
fn on_core() -> Duration {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = stat.and_then(|stat| stat.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(|| BEGIN.elapsed(), Duration::from_nanos)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let (begin, wall) = (on_core(), Instant::now());
    let done = work();
    let (core, wall) = (on_core().saturating_sub(begin), wall.elapsed());
    // The system counts a core's time in steps of some milliseconds.
    (done, if wall < Duration::from_millis(20) { wall } else { core })
}

fn bits(work: &Work, plan: &Plan) -> u64 {
    let mut hasher = DefaultHasher::new();
    let tracks = plan.shares.iter().map(|share| share.path.as_slice());
    for point in std::iter::once(work.track().points()).chain(tracks).flatten() {
        hasher.write_u64(point.at.x.to_bits());
        hasher.write_u64(point.at.y.to_bits());
    }
    for share in &plan.shares {
        hasher.write_usize(share.flier);
        hasher.write_u128(share.time.as_nanos());
    }
    hasher.finish()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn row(name: &str, heading: f64, shape: Shape, count: usize, lines: f64, vehicles: usize) -> Duration {
    let (outer, holes) = shape(count, lines);
    let in_all = outer.len() + holes.iter().map(Vec::len).sum::<usize>();
    let holes: Vec<Vec<Wgs84>> = holes.iter().map(corners).collect();
    let (area, checked) = timed(|| Area::new(&corners(&outer), &holes).unwrap());
    let mut left = lines;
    let (work, planned, left) = loop {
        let (work, planned) = timed(|| Work::of_survey(&survey(area.clone(), heading, left)));
        match work {
            Ok(work) => break (work, planned, left),
            Err(BadSurvey::TooManyLines(_)) => left = (left * 0.8).floor(),
            Err(error) => panic!("{name} {count}: {error}"),
        }
    };
    let fliers = fliers(vehicles);
    let (plan, shared) = timed(|| work.share(&fliers).unwrap());
    let whole = work.whole();
    let (parts, cut) = timed(|| work.cut(&whole, &fliers).unwrap());
    let (_, flown) = timed(|| {
        let flight = |(flier, part): &(usize, _)| work.flight(part, fliers[*flier].start, Meters(0.0)).unwrap();
        parts.iter().map(flight).collect::<Vec<_>>()
    });
    let (figures, said) = timed(|| work.figures());
    let all = checked + planned + shared + cut + flown + said;
    let transit: f64 = plan
        .shares
        .iter()
        .map(|share| share.meters() - share.work_meters())
        .sum();
    let longest = plan.shares.iter().map(|share| share.time).max().unwrap_or_default();
    let points = work.track().points();
    let turns = points.iter().filter(|point| point.leg == Leg::Transit).count();
    println!(
        "| {name} | {in_all} | {left} | {vehicles} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} | {} + {turns} | {:.0} | {:.0} | {:.0} | {:.0} | {:016x} |",
        ms(checked),
        ms(planned),
        ms(shared),
        ms(cut),
        ms(flown),
        ms(said),
        ms(all),
        points.len() - turns,
        figures.work_meters,
        figures.transit_meters,
        transit,
        longest.as_secs_f64(),
        bits(&work, &plan),
    );
    all
}

fn main() {
    // `cargo test --benches` passes no such flag; then nothing is measured.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let wanted = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with('-'))
        .unwrap_or_default();
    println!(
        "| area | corners | lines | vehicles | area ms | lines ms | share ms | cut ms | flights ms | figures ms | all ms | points | work m | ways m | ways of shares m | longest s | plan |"
    );
    println!("|{}", " --- |".repeat(17));
    for (lines, vehicles) in [(100.0, 4), (1000.0, 4), (1000.0, 100)] {
        for (name, heading, shape) in SHAPES.iter().filter(|(name, ..)| name.contains(&wanted)) {
            let sizes: &[usize] = if *name == "square" {
                &[4]
            } else {
                &[40, 80, 160, 320, 500]
            };
            for &count in sizes {
                if row(name, *heading, *shape, count, lines, vehicles) > PATIENCE {
                    break;
                }
            }
        }
    }
}
