//! `skein mission preview`: figures of a planned Mission.

use super::geojson;
use super::manifest::{Content, Manifest, failed};
use crate::args::mission::{PreviewArgs, Start};
use crate::failure::Failure;
use fleet::planning::mission::{Flier, Plan, Work};
use model::plan::Route;
use model::plan::item::{self, Item};
use model::units::Wgs84;
use plan_files::{check, route};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

/// Further flights are not counted.
const MAX_FLIGHTS: usize = 200;

pub(crate) struct Preview {
    pub numbers: String,
    pub geojson: Value,
}

/// Distance from 0,0, which programs write for an unknown place.
const NULL_ISLAND_DEG: f64 = 1e-3;

pub(super) fn run(args: &PreviewArgs) -> Result<(), Failure> {
    let manifest = Manifest::of(&args.mission)?;
    let is_itself = |out: &Path| Some(out.canonicalize().ok()? == args.mission.file.canonicalize().ok()?);
    if args.geojson.as_deref().and_then(is_itself) == Some(true) {
        let why = "--geojson names the file of the Mission itself; name another";
        return Err(Failure::Usage(why.to_owned()));
    }
    let parallelism = manifest.mission.spec.parallelism;
    let starts = args
        .start
        .iter()
        .any(|Start(start)| is_nowhere(start.latitude_deg, start.longitude_deg));
    let preview = of(&manifest, |work| fliers(args, work, parallelism));
    let Preview { numbers, geojson } = with_doubts(preview, starts.then(|| doubt("--start")))?;
    match &args.geojson {
        None => std::io::stdout().write_all(numbers.as_bytes())?,
        Some(out) => {
            let text = format!("{geojson:#}\n");
            if out == Path::new("-") {
                std::io::stdout().write_all(text.as_bytes())?;
                std::io::stderr().write_all(numbers.as_bytes())?;
            } else {
                std::fs::write(out, text)
                    .map_err(|error| Failure::Failed(format!("cannot write {}: {error}", out.display())))?;
                std::io::stdout().write_all(numbers.as_bytes())?;
            }
        }
    }
    Ok(())
}

pub(crate) fn of(manifest: &Manifest, fliers: impl FnOnce(&Work) -> Vec<Flier>) -> Result<Preview, Failure> {
    let spec = serde_json::to_value(&manifest.mission.spec).map_err(|error| failed(&error))?;
    with_doubts(
        planned(manifest, fliers),
        nowhere(&spec, "spec").map(|field| doubt(&field)),
    )
}

fn is_nowhere(latitude: f64, longitude: f64) -> bool {
    latitude.abs() < NULL_ISLAND_DEG && longitude.abs() < NULL_ISLAND_DEG
}

pub(super) fn doubt(what: &str) -> String {
    format!(
        "NOTE: {what} is at latitude 0, longitude 0, in the sea west of Africa, where programs put what has no position; it is probably not \
         meant"
    )
}

fn with_doubts(preview: Result<Preview, Failure>, doubt: Option<String>) -> Result<Preview, Failure> {
    let Some(doubt) = doubt else { return preview };
    match preview {
        Ok(preview) => Ok(Preview {
            numbers: format!("{}\n{doubt}\n", preview.numbers),
            ..preview
        }),
        Err(Failure::Failed(why)) => Err(Failure::Failed(format!("{why}. {doubt}"))),
        Err(failure) => Err(failure),
    }
}

/// Field of the first place at 0,0.
pub(super) fn nowhere(value: &Value, path: &str) -> Option<String> {
    match value {
        Value::Object(fields) => {
            let degrees = |name: &str| fields.get(name).and_then(Value::as_f64);
            match (degrees("latitudeDegrees"), degrees("longitudeDegrees")) {
                (Some(latitude), Some(longitude)) if is_nowhere(latitude, longitude) => Some(path.to_owned()),
                _ => fields
                    .iter()
                    .find_map(|(name, value)| nowhere(value, &format!("{path}.{name}"))),
            }
        }
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(index, item)| nowhere(item, &format!("{path}[{index}]")))
        }
        _ => None,
    }
}

fn planned(manifest: &Manifest, fliers: impl FnOnce(&Work) -> Vec<Flier>) -> Result<Preview, Failure> {
    let (mut said, mut photos) = (String::new(), None);
    let (what, places, work) = match manifest.content()? {
        Content::Route(route) => {
            let work = Work::of_route(&route).map_err(|error| failed(&error))?;
            ("route", route.waypoints().len(), work)
        }
        Content::Survey(survey) => {
            let work = Work::of_survey(&survey).map_err(|error| failed(&error))?;
            ("survey", work.track().points().len(), work)
        }
        Content::Plan(plan) => {
            let items = &plan.file.items;
            let flown = Work::of_items(items);
            if flown.is_err() {
                for why in check::summary(&route::unchanged(&plan)) {
                    let _ = writeln!(said, "\nA Mission does not fly this file unchanged: {why}");
                }
            }
            for doubt in [check::home_unknown(&plan), check::far_above_home(&plan)]
                .into_iter()
                .flatten()
            {
                let _ = writeln!(said, "\nNOTE: {doubt}");
            }
            photos = Some(photos_of(items));
            let (places, work) = flown.map(with_places).or_else(|_| drawn(&plan))?;
            ("plan", places, work)
        }
    };
    let fliers = fliers(&work);
    let plan = work.share(&fliers).map_err(|error| failed(&error))?;
    Ok(Preview {
        numbers: numbers(manifest, (what, places), photos, &work, &plan, &fliers)? + &said,
        geojson: geojson::of(&work, &plan, &fliers),
    })
}

/// The track passes the first place of items before its work.
fn with_places(work: Work) -> (usize, Work) {
    (work.track().points().len().saturating_sub(1), work)
}

/// Straight ways between the places of items that no Mission flies.
fn drawn(plan: &plan_files::Plan) -> Result<(usize, Work), Failure> {
    let places = item::places(&plan.file.items)
        .map_err(|error| Failure::Failed(format!("{}: {}; change it", plan.item(error.number), error.source)))?;
    let route = Route::new(places).map_err(|error| failed(&error))?;
    let work = Work::of_route(&route).map_err(|error| failed(&error))?;
    Ok((route.waypoints().len(), work))
}

fn fliers(args: &PreviewArgs, work: &Work, parallelism: i32) -> Vec<Flier> {
    let endurance = args.flying_time.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
    let flier = |start: Wgs84| Flier {
        start,
        speed: None,
        endurance,
    };
    if !args.start.is_empty() {
        return args.start.iter().map(|Start(start)| flier(*start)).collect();
    }
    let count = args
        .vehicles
        .map_or_else(|| usize::try_from(parallelism).unwrap_or(1), usize::from);
    let first = work.track().points().first().map(|point| work.position(point.at));
    first.map(|first| vec![flier(first); count]).unwrap_or_default()
}

/// Photos of unchanged items: single ones, and series, whose photos depend on the flight.
fn photos_of(items: &[Item]) -> String {
    const DO_SET_CAM_TRIGG_INTERVAL: u16 = 214;
    let (mut count, mut by_time, mut by_distance) = (0.0, false, false);
    for item in items {
        let [first, second, third, ..] = item.params.map(Option::unwrap_or_default);
        match item.command {
            item::IMAGE_START_CAPTURE if second > 0.0 && third <= 0.0 => by_time = true,
            // Old plans write 0 photos without an interval for one.
            item::IMAGE_START_CAPTURE => count += third.max(1.0),
            DO_SET_CAM_TRIGG_INTERVAL => by_time |= first > 0.0,
            item::DO_SET_CAM_TRIGG_DIST if first > 0.0 => by_distance = true,
            item::DO_SET_CAM_TRIGG_DIST if third > 0.0 => count += 1.0,
            _ => {}
        }
    }
    let series = match (by_time, by_distance) {
        (false, false) => return format!("{count:.0}"),
        (true, false) => "by time",
        (false, true) => "by distance",
        (true, true) => "by time and by distance",
    };
    if count > 0.0 {
        format!("{count:.0}, and more {series}, which are not counted")
    } else {
        format!("{series}, not counted")
    }
}

fn numbers(
    manifest: &Manifest,
    (what, places): (&str, usize),
    photos: Option<String>,
    work: &Work,
    plan: &Plan,
    fliers: &[Flier],
) -> Result<String, Failure> {
    let figures = work.figures();
    let mut text = format!("Mission {}: {what}\n", manifest.name());
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<9}{value}");
    };
    if let Some(survey) = figures.survey {
        let area = survey.area_square_meters;
        let area = if area < 10_000.0 {
            format!("{area:.0} m²")
        } else {
            format!("{:.2} ha", area / 10_000.0)
        };
        line("area", format!("{area}, {:.1} % covered", survey.covered * 100.0));
        let spacing = survey.spacing_meters;
        line(
            "lines",
            format!(
                "{}, {spacing:.1} m apart, {}",
                figures.lines,
                meters(figures.work_meters)
            ),
        );
        line("between", meters(figures.transit_meters));
    } else {
        line("places", places.to_string());
        line("way", meters(figures.work_meters + figures.transit_meters));
    }
    line("photos", photos.unwrap_or_else(|| figures.photos.to_string()));
    text.push_str("\nVEHICLE   START                  TIME      FLIES     WORK\n");
    for share in &plan.shares {
        let start = fliers.get(share.flier).map_or_else(String::new, |flier| {
            format!("{:.5},{:.5}", flier.start.latitude_deg, flier.start.longitude_deg)
        });
        let (number, time) = (share.flier + 1, clock(share.time));
        let (flies, works) = (meters(share.meters()), meters(share.work_meters()));
        let _ = writeln!(text, "{number:<10}{start:<23}{time:<10}{flies:<10}{works}");
    }
    for idle in (0..fliers.len()).filter(|number| plan.shares.iter().all(|share| share.flier != *number)) {
        let _ = writeln!(
            text,
            "{:<10}takes no part: there is too little work, or it is too far away",
            idle + 1
        );
    }
    if !plan.is_whole() {
        text.push_str(&rest(work, plan, fliers)?);
    }
    Ok(text)
}

fn rest(work: &Work, plan: &Plan, fliers: &[Flier]) -> Result<String, Failure> {
    let all = |plan: &Plan| -> Vec<usize> { plan.shares.iter().map(|share| share.path.len()).collect() };
    let mut left = plan.left(work, &all(plan));
    let first = left.as_ref().map_or(0.0, |left| left.track().work_meters());
    let mut flights = 0;
    while let Some(work) = left {
        let plan = work.share(fliers).map_err(|error| failed(&error))?;
        flights += plan.shares.len();
        if plan.shares.is_empty() || flights > MAX_FLIGHTS {
            return Ok(format!(
                "\n{} are left and cannot be flown in this time; move the starts nearer, or give more time\n",
                meters(first)
            ));
        }
        left = plan.left(&work, &all(&plan));
    }
    Ok(format!(
        "\n{} are left after these flights; {flights} more are needed\n",
        meters(first)
    ))
}

fn meters(meters: f64) -> String {
    if meters < 1000.0 {
        format!("{meters:.0} m")
    } else {
        format!("{:.2} km", meters / 1000.0)
    }
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 3600 {
        format!("{}:{:02}", seconds / 60, seconds % 60)
    } else {
        format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_times_are_short() {
        assert_eq!(
            (meters(12.4), meters(1234.0)),
            ("12 m".to_owned(), "1.23 km".to_owned())
        );
        assert_eq!(clock(Duration::from_secs(65)), "1:05");
        assert_eq!(clock(Duration::from_secs(3671)), "1:01:11");
    }
}
