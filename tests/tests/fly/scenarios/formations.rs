//! Formations: places that a Swarm keeps covered, and vehicles that relieve one another there.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::autopilots::Stack;

use super::stations::{Track, apart, place, position, status_writes, track};
use crate::field::{Field, NODES, SWARM, Setup};
use crate::figures::Figures;
use crate::modes::{HOLD, PILOTS};
use crate::objects::{condition, is};
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "formation",
        "six vehicles of both stacks: grid, circle, line, moved, fewer and more, past a killed leader, a pilot who takes one over and a failsafe",
        formation,
    )
    .with(|_| Setup {
        vehicles: 6,
        apart: 12.0,
        mixed: true,
        ..Setup::default()
    })
    .on(&[Stack::ArduPilot])
    .real_time(),
    Scenario::new(
        "relief",
        "three vehicles relieve one another at one place, twenty times, past a killed coordinator every fifth: how long no vehicle is there",
        relief,
    )
    .with(|_| Setup {
        vehicles: 3,
        apart: 12.0,
        ..Setup::default()
    })
    .no_faster_than(2),
];

fn swarm(field: &Field, replicas: usize, formation: &Value) -> anyhow::Result<()> {
    let swarm = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": SWARM},
        "spec": {"replicas": replicas, "onCordon": "Land", "formation": formation},
    });
    field.kubectl().apply(&swarm.to_string()).map(drop)
}

fn change(field: &Field, spec: &Value) -> anyhow::Result<()> {
    let patch = json!({"spec": spec}).to_string();
    field
        .kubectl()
        .run(["patch", "swarm", SWARM, "--type=merge", "-p", &patch])
        .map(drop)
}

fn wait_covered(field: &Field, places: &[[f64; 2]], up: f64) -> anyhow::Result<()> {
    field.wait(&format!("a vehicle at each of {places:?}"), 240, || {
        let swarm: Value = serde_json::from_str(&field.kubectl().run(["get", "swarm", SWARM, "-o", "json"])?)?;
        for at in places {
            let there = field.nodes().into_iter().filter(|node| {
                let flies = field.record(node).said().in_air();
                flies
                    && position(field, node)
                        .is_ok_and(|p| (p[0] - at[0]).hypot(p[1] - at[1]) < 2.5 && (p[2] - up).abs() < 2.0)
            });
            let there = there.count();
            ensure!(there == 1, "{there} are at {at:?}: {}", swarm["status"]["slots"]);
        }
        ensure!(is(&swarm, "Covered"), "{}", condition(&swarm, "Covered"));
        ensure!(swarm["status"]["coveredSlots"] == places.len(), "{}", swarm["status"]);
        Ok(())
    })
}

pub(super) fn wait_flying(field: &Field, count: usize) -> anyhow::Result<()> {
    field.wait(&format!("{count} in the air"), 150, || {
        let armed = field
            .nodes()
            .into_iter()
            .filter(|node| !field.record(node).said().not_flying());
        let armed: Vec<_> = armed.collect();
        ensure!(armed.len() == count, "armed: {armed:?}");
        Ok(())
    })
}

/// Errors: two vehicles in the air were nearer than the separation.
pub(super) fn nearest(field: &Field, figures: &mut Figures, since: u64) -> anyhow::Result<()> {
    let tracks: Vec<_> = field
        .nodes()
        .into_iter()
        .map(|node| track(field, node, since))
        .collect();
    let mut least = f64::INFINITY;
    for (number, one) in tracks.iter().enumerate() {
        for other in &tracks[number + 1..] {
            least = least.min(apart(one, other)?);
        }
    }
    figures.note(format!("no two nearer than {least:.1} m"));
    Ok(())
}

pub(super) fn resume(field: &Field, node: &str) -> anyhow::Result<()> {
    let drone = field.objects().of(node).context("there is no Drone")?;
    let name = drone["metadata"]["name"].as_str().context("it has no name")?;
    field.skein(&["resume", name]).map(drop)
}

fn circle(count: u32, center: [f64; 2], spacing: f64) -> Vec<[f64; 2]> {
    let radius = spacing / 2.0 / (std::f64::consts::PI / f64::from(count)).sin();
    let slot = |slot: u32| {
        let (sin, cos) = (std::f64::consts::TAU * f64::from(slot) / f64::from(count)).sin_cos();
        [center[0] + radius * sin, center[1] + radius * cos]
    };
    (0..count).map(slot).collect()
}

fn formation(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const UP: f64 = 20.0;
    let began = now();
    let anchor = place(30.0, 60.0, UP);
    let grid = json!({"shape": "Grid", "columns": 3, "anchor": anchor, "spacingMeters": 20.0});
    swarm(field, 6, &grid)?;
    let rows = [
        [10.0, 60.0],
        [30.0, 60.0],
        [50.0, 60.0],
        [10.0, 40.0],
        [30.0, 40.0],
        [50.0, 40.0],
    ];
    wait_covered(field, &rows, UP)?;
    figures.took("six from the ground to a grid", began, now());

    let since = now();
    change(field, &json!({"formation": {"shape": "Circle"}}))?;
    wait_covered(field, &circle(6, [30.0, 60.0], 20.0), UP)?;
    figures.took("to a circle", since, now());
    for node in field.nodes() {
        // One place of the grid is a place of the circle, too: the vehicle there need not move.
        let moved = field.objects().of_since(node, since);
        if moved.iter().any(|(_, drone)| !is(drone, "Ready")) {
            status_writes(field, node, since)?;
        }
    }
    let holds = now();
    field.pass(10, Duration::from_secs(10));
    for node in field.nodes() {
        let written = field.objects().of_since(node, holds);
        ensure!(
            written.is_empty(),
            "in the circle, the Drone of {node} was written: {written:?}"
        );
    }

    let since = now();
    change(field, &json!({"formation": {"shape": "Line"}}))?;
    let line = |north: f64, count: usize| {
        let all = [0.0, 20.0, -20.0, 40.0, -40.0, 60.0];
        all.iter()
            .take(count)
            .map(|right| [30.0 + right, north])
            .collect::<Vec<_>>()
    };
    wait_covered(field, &line(60.0, 6), UP)?;
    figures.took("to a line", since, now());

    let since = now();
    change(field, &json!({"formation": {"anchor": place(30.0, 160.0, UP)}}))?;
    field.pass(5, Duration::from_secs(3));
    field.kill_coordinator();
    field.pass(6, Duration::from_secs(2));
    field.start_coordinator()?;
    wait_covered(field, &line(160.0, 6), UP)?;
    figures.took("moved by 100 m, the leader killed on the way", since, now());

    let since = now();
    change(field, &json!({"replicas": 4}))?;
    wait_flying(field, 4)?;
    wait_covered(field, &line(160.0, 4), UP)?;
    figures.took("six to four", since, now());
    let since = now();
    change(field, &json!({"replicas": 6}))?;
    wait_covered(field, &line(160.0, 6), UP)?;
    figures.took("four to six", since, now());

    let node = NODES[0];
    let since = now();
    field.vehicle(node).pilot.mode(PILOTS.0, PILOTS.1)?;
    field.wait("the Drone to be Interrupted", 30, || {
        let drone = field.objects().of(node).context("there is no Drone")?;
        ensure!(drone["status"]["phase"] == "Interrupted", "{}", drone["status"]);
        Ok(())
    })?;
    field.pass(10, Duration::from_secs(5));
    field.vehicle(node).pilot.mode(HOLD.0, HOLD.1)?;
    field.pass(3, Duration::from_secs(3));
    let sent = field.record(node).orders_since(since);
    ensure!(sent.is_empty(), "in the pilot's hands it was sent {sent:?}");
    let since = now();
    resume(field, node)?;
    wait_covered(field, &line(160.0, 6), UP)?;
    figures.took("on station after the resume", since, now());

    let node = NODES[2];
    let pilot = &field.vehicle(node).pilot;
    let since = now();
    pilot.parameter("SIM_RC_FAIL", 1.0)?;
    field.wait_down(node)?;
    figures.took("home by its failsafe", since, now());
    let at = position(field, node)?;
    ensure!((at[0] - 24.0).hypot(at[1]) < 3.0, "it landed at {at:?}");
    let sent = field.record(node).orders_since(since);
    ensure!(sent.is_empty(), "on its failsafe it was sent {sent:?}");
    pilot.parameter("SIM_RC_FAIL", 0.0)?;
    let since = now();
    let drone = field.objects().of(node).context("there is no Drone")?;
    let name = drone["metadata"]["name"].as_str().context("it has no name")?;
    field.kubectl().run(["delete", "drone", name])?;
    wait_covered(field, &line(160.0, 6), UP)?;
    figures.took("on station again", since, now());

    let since = now();
    field.kubectl().run(["delete", "swarm", SWARM, "--wait=false"])?;
    wait_flying(field, 0)?;
    figures.took("six home and down", since, now());
    nearest(field, figures, began)
}

/// The time in which no vehicle was where it counts, by their tracks; each gap, seconds.
pub(super) fn gaps(tracks: &[Track], within: impl Fn(&[f64; 3]) -> bool, from: u64, to: u64) -> Vec<f64> {
    let mut there: Vec<(u64, u64)> = Vec::new();
    for track in tracks {
        let mut since: Option<(u64, u64)> = None;
        for (when, p) in track {
            since = match (since, within(p)) {
                (None, true) => Some((*when, *when)),
                (Some((first, _)), true) => Some((first, *when)),
                (found, false) => {
                    there.extend(found);
                    None
                }
            };
        }
        there.extend(since);
    }
    there.sort_unstable();
    let mut gaps = Vec::new();
    let mut until = from;
    for (first, last) in there {
        if first > until && first <= to {
            gaps.push((first - until) as f64 / 1e6);
        }
        until = until.max(last);
    }
    gaps
}

fn relief(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const UP: f64 = 20.0;
    const RELIEFS: usize = 20;
    let at = [20.0, 50.0, UP];
    let formation =
        json!({"shape": "Line", "anchor": place(at[0], at[1], UP), "spacingMeters": 20.0, "toleranceMeters": 12.0});
    swarm(field, 1, &formation)?;
    wait_covered(field, &[[at[0], at[1]]], UP)?;
    let began = now();
    let (mut times, mut cordoned): (Vec<f64>, Option<&str>) = (Vec::new(), None);
    let mut failovers = Vec::new();
    for round in 0..RELIEFS {
        let flies = field
            .nodes()
            .into_iter()
            .find(|node| field.record(node).said().in_air());
        let tired = flies.context("no vehicle flies")?;
        let since = now();
        field.kubectl().run(["cordon", tired])?;
        if let Some(rested) = cordoned.replace(tired) {
            field.kubectl().run(["uncordon", rested])?;
        }
        if round % 5 == 4 {
            // The relief is on its way, in the end; the coordinator is killed with it at other places in each round.
            let other = |node: &&str| *node != tired && field.record(node).said().in_air();
            field.wait("another to be up", 60, || {
                field.nodes().into_iter().find(other).context("no other").map(drop)
            })?;
            field.pass(2 * u32::try_from(round / 5)?, Duration::ZERO);
            field.kill_coordinator();
            field.pass(6, Duration::from_secs(2));
            field.start_coordinator()?;
        }
        field.wait(&format!("{tired} to be relieved"), 200, || {
            let at_home = field.record(tired).said().down();
            ensure!(at_home, "{tired} still flies");
            Ok(())
        })?;
        wait_covered(field, &[[at[0], at[1]]], UP)?;
        times.push((now() - since) as f64 / 1e6);
        if round % 5 == 4 {
            failovers.push((since, now()));
        }
    }
    let ended = now();
    let tracks: Vec<_> = field
        .nodes()
        .into_iter()
        .map(|node| track(field, node, began))
        .collect();
    let speedup = f64::from(field.speedup);
    for (reach, what) in [([12.0, 12.0], "within 12 m"), ([2.0, 1.5], "within 2 m")] {
        let near = |p: &[f64; 3]| (p[0] - at[0]).hypot(p[1] - at[1]) <= reach[0] && (p[2] - at[2]).abs() <= reach[1];
        let mut gaps: Vec<f64> = gaps(&tracks, near, began, ended)
            .iter()
            .map(|gap| gap * speedup)
            .collect();
        // A relief without a gap counts as none.
        gaps.resize(RELIEFS.max(gaps.len()), 0.0);
        gaps.sort_by(f64::total_cmp);
        let (median, worst) = (gaps[gaps.len() / 2], gaps[gaps.len() - 1]);
        let failovers = failovers
            .iter()
            .flat_map(|(from, until)| self::gaps(&tracks, near, *from, *until));
        let over = failovers.map(|gap| gap * speedup).fold(0.0, f64::max);
        figures.note(format!(
            "gap {what}: median {median:.1} s, worst {worst:.1} s, through a fail-over {over:.1} s"
        ));
        ensure!(reach[0] < 12.0 || worst < 2.0, "no vehicle was near for {worst:.1} s");
    }
    times.sort_by(f64::total_cmp);
    figures.note(format!("{RELIEFS} reliefs, median {:.1} s", times[RELIEFS / 2]));
    nearest(field, figures, began)
}
