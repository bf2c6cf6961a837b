//! Benchmark: the cost of planning a change of formation, one relief, and one update of which vehicle owns which airspace.
//!
//! Prints a table. Run: `cargo bench -p skein-fleet --bench movement`.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and fails by panicking"
)]

use fleet::airspace::{Claims, Doing, Known, Margin, Observation, Owner, ReturnHeight, Route, Rules};
use fleet::planning::formation::assign::{Seeker, assign};
use fleet::planning::movement::{Goal, Layers, plan};
use fleet::planning::site::{Desire, Expected, Site};
use model::geo::{Frame, Local};
use model::ids::{NodeName, Term};
use model::report::{Activity, Report, RouteState};
use model::route_order::{OrderNumber, RouteOrder, Waypoint};
use model::station::{Altitude, Limits, Manner, Place, Station};
use model::time::Moment;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Meters, Wgs84};
use model::vehicle::{Airborne, FlightTruth, Position};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

const SHARP: Margin = Margin {
    horizontal: Meters(0.5),
    vertical: Meters(0.5),
};

fn name(i: usize) -> NodeName {
    NodeName::parse(&format!("vehicle-{i:05}")).unwrap()
}

fn square(count: usize, i: usize) -> Local {
    let side = (count as f64).sqrt().ceil() as usize;
    Local {
        east: (i % side) as f64 * 12.0,
        north: (i / side) as f64 * 12.0,
        up: 30.0,
    }
}

fn circle(count: usize, i: usize) -> Local {
    let radius = 12.0 * count as f64 / std::f64::consts::TAU;
    let angle = i as f64 / count as f64 * std::f64::consts::TAU;
    Local {
        east: 1_000.0 + radius * angle.cos(),
        north: radius * angle.sin(),
        up: 30.0,
    }
}

fn line(count: usize, i: usize) -> Local {
    Local {
        east: (i as f64 - count as f64 / 2.0) * 12.0,
        north: -500.0,
        up: 30.0,
    }
}

fn hold(at: Local, seconds: u64) -> Observation {
    Observation {
        heard: Moment::at(Duration::from_secs(seconds)),
        at,
        accuracy: SHARP,
        order: OrderNumber::default(),
        doing: Doing::Holding { at },
    }
}

/// In a square, heard a moment ago.
fn holding(count: usize) -> Claims {
    let mut claims = Claims::new(Term(1), Rules::default());
    let now = Moment::at(Duration::from_secs(1));
    for i in 0..count {
        let at = square(count, i);
        let known = Known {
            home: at.at_height(0.0),
            return_height: ReturnHeight::Read(60.0),
            last: Some(Route::hold(at).volume(SHARP)),
        };
        claims.expect(name(i), known, now);
        claims.observe(&name(i), hold(at, 1), now);
    }
    claims.advance(now);
    claims
}

/// Time that this thread had a core (Linux), so that other work on the machine does not count; elsewhere wall time.
fn on_core() -> Duration {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = stat.and_then(|stat| stat.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(|| BEGIN.elapsed(), Duration::from_nanos)
}

fn median<T, R>(runs: usize, mut begin: impl FnMut() -> T, mut work: impl FnMut(&mut T) -> R) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let mut on = begin();
            let (start, wall) = (on_core(), Instant::now());
            std::hint::black_box(work(&mut on));
            let wall = wall.elapsed();
            // The system counts a core's time in steps of some milliseconds.
            let core = on_core().saturating_sub(start);
            if wall < Duration::from_millis(20) { wall } else { core }
        })
        .collect();
    times.sort_unstable();
    times[runs / 2]
}

fn row(what: &str, time: Duration) {
    println!("| {what} | {:.3} |", time.as_secs_f64() * 1000.0);
}

fn main() {
    // `cargo test --benches` passes no such flag; then nothing is measured.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let rules = Rules::default();
    let layers = Layers::between(AltitudeAmsl(35.0), AltitudeAmsl(120.0), &rules).unwrap();
    let now = Moment::at(Duration::from_secs(2));
    println!("| time of one core, median | ms |\n| --- | --- |");
    change(&layers, now, "square to circle, 1 km away", circle);
    change(&layers, now, "square to line", line);
    relief(&layers, now);
    claims_of_many(now);
    update();
}

/// All of [`Site::update`] for ten thousand vehicles on their stations, which a leader does twice a second.
fn update() {
    const COUNT: usize = 10_000;
    let center = Wgs84 {
        latitude_deg: 47.4,
        longitude_deg: 8.5,
    };
    let frame = Frame::at(center).unwrap();
    let reports = |second: u64| -> Vec<(NodeName, Report)> {
        let report = |i: usize| {
            let (at, amsl) = frame.position(square(COUNT, i));
            let (home_at, home) = frame.position(square(COUNT, i).at_height(0.0));
            let made = Moment::at(Duration::from_secs(second));
            let number = OrderNumber {
                term: Term(1),
                count: 1,
            };
            let order = RouteOrder {
                number,
                places: vec![Waypoint { at, amsl }],
                room: None,
            };
            Report {
                made,
                link_alive: true,
                truth: FlightTruth::Airborne(Airborne::InAir),
                activity: Activity::Holding,
                detours: Some(false),
                position: Some(Position {
                    at,
                    amsl,
                    above_home: AltitudeAboveHome(30.0),
                }),
                position_at: Some(made),
                route: RouteState {
                    last: number,
                    next: Some(1),
                    order: Some(order),
                    stalled: None,
                    lent: None,
                },
                home: Some(Waypoint {
                    at: home_at,
                    amsl: home,
                }),
                ..Report::of_nothing(name(i))
            }
        };
        (0..COUNT).map(|i| (name(i), report(i))).collect()
    };
    let station = |report: &Report| {
        let place = Place {
            at: report.position.unwrap().at,
            altitude: Altitude::AboveHome(AltitudeAboveHome(30.0)),
            manner: Manner::default(),
        };
        Station::new(place, &Limits::default()).unwrap()
    };
    let update = |site: &mut Site, reports: &[(NodeName, Report)], second: u64| {
        let now = Moment::at(Duration::from_secs(second));
        let mut all = BTreeMap::new();
        for (node, report) in reports {
            let one = Expected {
                report: Some((report, now)),
                may_fly: true,
                roams: true,
                desire: Desire::At(station(report)),
            };
            all.insert(node.clone(), one);
        }
        let (start, wall) = (on_core(), Instant::now());
        site.update(&all, now);
        let (core, wall) = (on_core().saturating_sub(start), wall.elapsed());
        if wall < Duration::from_millis(20) { wall } else { core }
    };
    let mut site = Site::new(Term(1), Rules::default(), center).unwrap();
    let first = update(&mut site, &reports(1), 1);
    row("the first update of 10,000 on their stations", first);
    let mut times: Vec<Duration> = (2..7)
        .map(|second| update(&mut site, &reports(second), second))
        .collect();
    times.sort_unstable();
    row("a further update", times[2]);
}

fn of_each(goals: &BTreeMap<NodeName, Goal>, layers: &Layers) -> BTreeMap<NodeName, Layers> {
    goals.keys().map(|name| (name.clone(), layers.clone())).collect()
}

/// A change of formation of a thousand: which goes where, and the first routes.
fn change(layers: &Layers, now: Moment, what: &str, shape: fn(usize, usize) -> Local) {
    const COUNT: usize = 1_000;
    let seekers: BTreeMap<NodeName, Seeker> = (0..COUNT)
        .map(|i| {
            (
                name(i),
                Seeker {
                    at: square(COUNT, i),
                    holds: None,
                },
            )
        })
        .collect();
    let slots: Vec<Local> = (0..COUNT).map(|i| shape(COUNT, i)).collect();
    let took = median(5, || (), |()| assign(&seekers, &slots, Meters(3.0)).unwrap());
    row(&format!("assign 1,000, {what}"), took);
    let assigned = assign(&seekers, &slots, Meters(3.0)).unwrap();
    let goal = |(slot, id): (&usize, &NodeName)| {
        (
            id.clone(),
            Goal {
                at: slots[*slot],
                lands: false,
                ready: true,
            },
        )
    };
    let goals: BTreeMap<NodeName, Goal> = assigned.iter().map(goal).collect();
    let layers = of_each(&goals, layers);
    let mut granted = 0;
    let first = median(
        5,
        || holding(COUNT),
        |claims| granted = plan(claims, &goals, &layers, &|_, _| Ok(()), now).permits.len(),
    );
    row(
        &format!("plan 1,000, {what}: first call, {granted} routes granted"),
        first,
    );
    let again = median(
        5,
        || {
            let mut claims = holding(COUNT);
            plan(&mut claims, &goals, &layers, &|_, _| Ok(()), now);
            claims
        },
        |claims| plan(claims, &goals, &layers, &|_, _| Ok(()), now).permits.len(),
    );
    row(&format!("plan 1,000, {what}: a further call"), again);
}

fn relief(layers: &Layers, now: Moment) {
    const COUNT: usize = 10_000;
    let slots: Vec<Local> = (0..COUNT).map(|i| square(COUNT, i)).collect();
    let mut seekers: BTreeMap<NodeName, Seeker> = (0..COUNT)
        .map(|i| {
            (
                name(i),
                Seeker {
                    at: slots[i],
                    holds: Some(i),
                },
            )
        })
        .collect();
    let away = Local {
        east: -50.0,
        north: 600.0,
        up: 30.0,
    };
    seekers.remove(&name(5_000));
    seekers.insert(name(COUNT), Seeker { at: away, holds: None });
    row(
        "assign one relief among 10,000",
        median(5, || (), |()| assign(&seekers, &slots, Meters(3.0)).unwrap()),
    );
    let mut goals: BTreeMap<NodeName, Goal> = (0..COUNT)
        .map(|i| {
            (
                name(i),
                Goal {
                    at: slots[i],
                    lands: false,
                    ready: true,
                },
            )
        })
        .collect();
    goals.remove(&name(5_000));
    goals.insert(
        name(COUNT),
        Goal {
            at: slots[5_000],
            lands: false,
            ready: true,
        },
    );
    let layers = of_each(&goals, layers);
    let mut fleet = holding(COUNT);
    fleet.forget(&name(5_000));
    let known = Known {
        home: away.at_height(0.0),
        return_height: ReturnHeight::Read(60.0),
        last: None,
    };
    fleet.expect(name(COUNT), known, now);
    fleet.observe(&name(COUNT), hold(away, 2), now);
    fleet.advance(now);
    let mut granted = 0;
    let took = median(
        5,
        || fleet.clone(),
        |claims| granted = plan(claims, &goals, &layers, &|_, _| Ok(()), now).permits.len(),
    );
    row(&format!("plan one relief among 10,000: {granted} route granted"), took);
}

fn claims_of_many(now: Moment) {
    const COUNT: usize = 10_000;
    let fleet = holding(COUNT);
    let across: Vec<Route> = (0..COUNT)
        .map(|i| {
            let (from, to) = (square(COUNT, i), square(COUNT, (i * 7919) % COUNT));
            Route::through([from, from.at_height(60.0), to.at_height(60.0), to]).unwrap()
        })
        .collect();
    let check = median(
        3,
        || (),
        |()| {
            (0..COUNT)
                .map(|i| fleet.in_the_way(&name(i), &across[i]).len())
                .sum::<usize>()
        },
    );
    row("one route checked against 10,000 claims, mean", check / 10_000);
    let heard = median(
        3,
        || fleet.clone(),
        |claims| {
            for i in 0..COUNT {
                claims.observe(&name(i), hold(square(COUNT, i), 2), now);
            }
        },
    );
    row("10,000 reports of vehicles that hold", heard);
    let time = median(3, || fleet.clone(), |claims| claims.advance(now));
    row("a second passes for 10,000", time);
    let near = median(3, || (), |()| fleet.near(&Owner::Vehicle(name(77))).len());
    row("what is too near to one of 10,000", near);
}
