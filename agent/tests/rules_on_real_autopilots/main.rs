//! Rules on board of unmodified autopilots: each trap is noticed, drift is corrected, a kill leaves no wrong claim
//! behind. Without an autopilot (see tests/README.md) each test prints `skipped:` and passes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

mod traps;

use agent_testkit::on_real_autopilots::{Agent, HERE, Station, autopilots, say, url};
use link::Tap;
use link::raw::Direction;
use model::geo::shifted;
use model::ids::Term;
use model::rules::{
    DeviationWhy, Enforce, Fence, FenceState, Outline, Rules, RulesDigest, Shape, Side, WantedParameter,
};
use model::units::{Meters, Wgs84};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::{Duration, Instant};
use testkit::autopilots::{Autopilot, Stack};

/// Our messages about plans and parameters, and the autopilot's about plans.
fn count(tap: &mut Tap) -> (usize, usize) {
    let (mut ours, mut its) = (0, 0);
    while let Some(frame) = tap.try_recv() {
        match (frame.from, frame.message_id) {
            (Direction::Us, 20 | 23 | 40 | 43 | 44 | 45 | 47 | 51 | 73) => ours += 1,
            (Direction::Autopilot, 40 | 44 | 47 | 51 | 73) => its += 1,
            _ => {}
        }
    }
    (ours, its)
}

fn square(half_m: f64, north_m: f64) -> Shape {
    let corners = [
        (half_m, half_m),
        (half_m, -half_m),
        (-half_m, -half_m),
        (-half_m, half_m),
    ];
    Shape {
        side: Side::Inside,
        outline: Outline::Polygon(
            corners
                .map(|(north, east)| shifted(HERE, east, north + north_m))
                .to_vec(),
        ),
    }
}

fn ring(vertices: u32) -> Shape {
    let corner = |k: u32| {
        let angle = std::f64::consts::TAU * f64::from(k) / f64::from(vertices);
        shifted(HERE, 80.0 * angle.sin(), 80.0 * angle.cos())
    };
    Shape {
        side: Side::Inside,
        outline: Outline::Polygon((0..vertices).map(corner).collect()),
    }
}

fn hole() -> Shape {
    Shape {
        side: Side::Outside,
        outline: Outline::Circle {
            center: shifted(HERE, 40.0, 40.0),
            radius: Meters(8.5),
        },
    }
}

fn rules(digest: &str, shapes: Vec<Shape>, parameters: &[(&str, f64)]) -> Rules {
    let wanted = |(name, value): &(&str, f64)| WantedParameter {
        name: (*name).to_owned(),
        value: *value,
        enforce: Enforce::Apply,
        may_reboot: false,
        any_name: false,
    };
    Rules {
        term: Term(1),
        digest: RulesDigest(digest.to_owned()),
        fence: (!shapes.is_empty()).then_some(Fence { shapes }),
        parameters: parameters.iter().map(wanted).collect(),
    }
}

fn parameters(stack: Stack) -> &'static [(&'static str, f64)] {
    match stack {
        // Altitude and polygon, without the circle of the default.
        Stack::ArduPilot => &[("FENCE_TYPE", 5.0), ("FENCE_ALT_MAX", 60.5), ("FENCE_ENABLE", 1.0)],
        Stack::Px4 => &[("GF_ACTION", 3.0), ("GF_MAX_VER_DIST", 60.5)],
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes in real time, and `cargo xtask fly fence parameters` flies most of it; see the long runs of tests/README.md"]
async fn rules_come_in_force_traps_are_named_drift_is_mended_and_values_are_given_back() {
    for autopilot in autopilots() {
        let stack = autopilot.stack();
        let dir = tempfile::tempdir().unwrap();
        let agent = Agent::start(&autopilot, dir.path(), None);
        let mut tap = agent.wire.tap(100_000);
        let began = Instant::now();
        agent
            .give(rules("first", vec![square(60.0, 0.0), hole()], parameters(stack)))
            .await;
        agent.until_in_force("first").await;
        let (ours, its) = count(&mut tap);
        say(&format!(
            "{stack}: in force {:.1} s after the agent came to an autopilot that booted, {ours} messages of ours, {its} of its about plans",
            began.elapsed().as_secs_f64()
        ));
        let mut station = Station::open(url(stack, autopilot.ground_link()), autopilot.system()).await;
        assert_eq!(station.fence().await.len(), 5, "{stack}");

        count(&mut tap);
        let changed = agent.until_rules("the same again", 1, |rules| rules.in_force).await;
        assert!(changed < Duration::from_secs(1));
        tokio::time::sleep(Duration::from_secs(10)).await;
        let (ours, _) = count(&mut tap);
        // PX4's hash, once in five minutes.
        assert!(ours <= 1, "{stack}: {ours} messages while nothing changes");

        agent
            .give(rules("second", vec![square(61.0, 0.0), hole()], parameters(stack)))
            .await;
        let took = agent.until_in_force("second").await;
        let (ours, its) = count(&mut tap);
        say(&format!(
            "{stack}: another fence in force after {:.1} s, {ours} messages of ours, {its} of its about plans",
            took.as_secs_f64()
        ));

        station.upload_square(30.0).await;
        agent
            .until_rules("the drift to be noticed", 10, |rules| !rules.in_force)
            .await;
        let took = agent.until_in_force("second").await;
        say(&format!(
            "{stack}: a fence of somebody else corrected after {:.1} s",
            took.as_secs_f64()
        ));
        let (name, value) = parameters(stack)[1];
        station.set_float(name, 33.0).await;
        agent
            .until_rules("the drift to be noticed", 10, |rules| !rules.in_force)
            .await;
        let took = agent.until_in_force("second").await;
        say(&format!(
            "{stack}: {name} corrected to {value} after {:.1} s",
            took.as_secs_f64()
        ));

        let too_many = match stack {
            Stack::ArduPilot => ring(70),
            Stack::Px4 => ring(65),
        };
        agent.give(rules("too many", vec![too_many], &[])).await;
        agent
            .until_rules("too many items to be refused", 30, |rules| {
                matches!(&rules.fence, FenceState::Refused(words) if words.contains("storage size") || words.contains("no room"))
            })
            .await;
        if stack == Stack::Px4 {
            agent.give(rules("elsewhere", vec![square(60.0, 1000.0)], &[])).await;
            agent
                .until_rules("a fence without home to be named", 30, |rules| {
                    matches!(&rules.fence, FenceState::Refused(words) if words.contains("doesn't contain Home"))
                })
                .await;
        }

        let odd: &[(&str, f64)] = match stack {
            Stack::ArduPilot => &[("NO_SUCH", 1.0), ("FENCE_ACTION", 2.5), ("MIS_TOTAL", 55.0)],
            Stack::Px4 => &[("NO_SUCH", 1.0), ("GF_ACTION", 2.5)],
        };
        agent.give(rules("odd", vec![], odd)).await;
        agent
            .until_rules("each odd parameter to be refused", 60, |rules| {
                let refused = |name: &str| {
                    let mut all = rules.deviations.iter();
                    all.any(|d| d.name == name && matches!(d.why, DeviationWhy::Refused(_)))
                };
                odd.iter().all(|(name, _)| refused(name))
            })
            .await;
        for deviation in agent.rules().unwrap().deviations {
            say(&format!("{stack}: {}: {:?}", deviation.name, deviation.why));
        }

        agent.give(rules("none", vec![], &[])).await;
        agent.until_in_force("none").await;
        let left = station.fence().await;
        let theirs = [square(30.0, 0.0)];
        assert!(
            is_aboard(&left, &theirs),
            "{stack}: the fence that somebody else has uploaded since then is given back: {left:?}"
        );
        agent.kill().await;
    }
}

/// Kills on each autopilot; SKEIN_RULES_KILLS asks for more.
fn kills() -> u32 {
    let asked = std::env::var("SKEIN_RULES_KILLS").ok();
    asked.map_or(4, |count| count.parse().expect("SKEIN_RULES_KILLS is a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_killed_at_random_leaves_no_wrong_claim_behind() {
    let runs: Vec<_> = autopilots()
        .zip(16..)
        .map(|(autopilot, seed)| tokio::spawn(killed_at_random(autopilot, seed)))
        .collect();
    for run in runs {
        run.await.unwrap();
    }
}

async fn killed_at_random(autopilot: Autopilot, seed: u64) {
    let stack = autopilot.stack();
    let dir = tempfile::tempdir().unwrap();
    let mut random = StdRng::seed_from_u64(seed);
    let agent = Agent::start(&autopilot, dir.path(), None);
    agent.give(rules("0", vec![square(60.0, 0.0)], parameters(stack))).await;
    agent.until_in_force("0").await;
    agent.kill().await;
    let mut station = Station::open(url(stack, autopilot.ground_link()), autopilot.system()).await;
    let kills = kills();
    let (mut claims, mut wrong) = (0, 0);
    for life in 1..=kills {
        let agent = Agent::start(&autopilot, dir.path(), None);
        let digest = life.to_string();
        let half_m = 50.0 + f64::from(life % 40);
        let wanted = vec![square(half_m, 0.0), hole()];
        agent.give(rules(&digest, wanted.clone(), parameters(stack))).await;
        tokio::time::sleep(Duration::from_millis(random.random_range(0..12_000))).await;
        let claimed = agent
            .rules()
            .is_some_and(|report| report.in_force && report.held == Some(RulesDigest(digest.clone())));
        agent.kill().await;
        if claimed {
            claims += 1;
            if !is_aboard(&station.fence().await, &wanted) {
                wrong += 1;
                say(&format!("{stack}: reported in force in life {life}, and it was not"));
            }
        }
    }
    let agent = Agent::start(&autopilot, dir.path(), None);
    let last = vec![square(95.0, 0.0)];
    agent.give(rules("last", last.clone(), parameters(stack))).await;
    let took = agent.until_in_force("last").await;
    assert!(is_aboard(&station.fence().await, &last), "{stack}");
    say(&format!(
        "{stack}: {kills} kills, {claims} times in force before, {wrong} wrong claims; then in force {:.1} s after the start",
        took.as_secs_f64()
    ));
    assert_eq!(wrong, 0, "{stack}: wrong claims");
    agent.give(rules("none", vec![], &[])).await;
    agent.until_in_force("none").await;
    let left = station.fence().await.len();
    assert_eq!(left, 0, "{stack}: there was none before the first");
    agent.kill().await;
}

fn is_aboard(items: &[link::dialect::MISSION_ITEM_INT_DATA], shapes: &[Shape]) -> bool {
    let places: Vec<Wgs84> = shapes
        .iter()
        .flat_map(|shape| match &shape.outline {
            Outline::Polygon(corners) => corners.clone(),
            Outline::Circle { center, .. } => vec![*center],
        })
        .collect();
    let near = |degrees: f64, e7: i32| (degrees * 1e7 - f64::from(e7)).abs() < 2.0;
    let has = |at: &Wgs84| {
        let mut all = items.iter();
        all.any(|item| near(at.latitude_deg, item.x) && near(at.longitude_deg, item.y))
    };
    items.len() == places.len() && places.iter().all(has)
}
