//! The Kubernetes API fails in every way that occurs in practice, while vehicles fly: nothing in the air changes, and
//! after the fault everything that was missed is made up for, within a stated time. The simulator's side of the wire
//! judges.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "what the tests measure is shown with --nocapture")]

mod fault;
mod flight;
mod proxy;

use anyhow::{Context, ensure};
use fault::Fault;
use flight::{Flight, NODES};
use mavlink::dialects::ardupilotmega::MavCmd;
use skein_tests::stage::PATIENCE;
use skein_tests::wire;
use std::time::Duration;
use testkit::wait_for;

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

const SOON: Duration = seconds(15);

const HANGING: Duration = seconds(45);

const ENDS: Fault = Fault::WatchesEnd(Duration::from_millis(100));

#[test]
fn an_api_server_that_takes_two_seconds_for_each_answer_is_waited_for() -> anyhow::Result<()> {
    Flight::survives(Fault::Slow(seconds(2)), seconds(5), SOON)
}

#[test]
fn an_api_server_that_takes_twenty_seconds_for_each_answer_changes_nothing() -> anyhow::Result<()> {
    Flight::survives(Fault::Slow(seconds(20)), seconds(12), HANGING)
}

#[test]
fn an_api_server_that_sheds_load_is_asked_again_and_its_delay_holds_us_up_briefly() -> anyhow::Result<()> {
    let refusals = [
        ENDS,
        Fault::Refuses(429, Some(1)),
        Fault::Refuses(429, Some(3600)),
        Fault::Refuses(500, None),
        Fault::Refuses(503, None),
    ];
    Flight::survives_all(&refusals, seconds(3), SOON)
}

#[test]
fn watches_and_pages_of_lists_that_are_refused_with_410_begin_again() -> anyhow::Result<()> {
    let each = [ENDS, Fault::GoneEvent, ENDS, Fault::GoneStatus, ENDS, Fault::GonePages];
    Flight::survives_all(&each, seconds(2), SOON)
}

#[test]
fn watches_that_are_closed_every_second_lose_nothing() -> anyhow::Result<()> {
    Flight::survives(Fault::WatchesEnd(seconds(1)), seconds(5), SOON)
}

#[test]
fn watches_that_hang_are_noticed() -> anyhow::Result<()> {
    Flight::survives(Fault::WatchesStall, seconds(2), HANGING)
}

#[test]
fn answers_that_break_off_or_end_in_the_middle_are_not_taken_for_whole_ones() -> anyhow::Result<()> {
    Flight::survives_all(&[Fault::Breaks, Fault::CutsShort], seconds(4), SOON)
}

#[test]
fn an_api_server_that_cannot_be_reached_is_found_again() -> anyhow::Result<()> {
    Flight::survives(Fault::Away, seconds(10), SOON)
}

#[test]
fn an_agent_that_is_started_anew_while_the_api_server_hangs_takes_up_its_flight() -> anyhow::Result<()> {
    let mut turn = Flight::turn()?;
    let flight = turn.as_mut().context("it flies")?;
    let before = flight.before()?;
    flight.proxy.set(Fault::Silent);
    flight.change()?;
    flight.stage.take_agent(NODES[0])?.kill();
    flight.stage.start_agent(NODES[0])?;
    let agent = flight.stage.agent(NODES[0])?;
    let back = agent.wait_for_line(seconds(20), |line| line.contains("coordinator connected"));
    back.map_err(|error| flight.stage.explain(error))?;
    flight.proxy.set(Fault::No);
    let took = flight.caught_up(HANGING).map_err(|error| flight.stage.explain(error))?;
    println!("an API server that hung: caught up {took:?} later");
    flight.undisturbed(&before)
}

#[test]
fn an_etcd_that_hangs_and_one_that_dies_and_comes_back_change_nothing() -> anyhow::Result<()> {
    let mut turn = Flight::turn()?;
    let flight = turn.as_mut().context("it flies")?;
    let before = flight.before()?;
    flight.plane()?.etcd().pause()?;
    std::thread::sleep(seconds(9));
    flight.plane()?.etcd().signal(nix::sys::signal::Signal::SIGCONT)?;
    wait_for("a write to go through", PATIENCE, || flight.change())?;
    let hung = flight.caught_up(SOON).map_err(|error| flight.stage.explain(error))?;

    flight.plane()?.kill_etcd();
    std::thread::sleep(seconds(3));
    flight.plane()?.start_etcd()?;
    wait_for("a write to go through", PATIENCE, || flight.change())?;
    let died = flight.caught_up(SOON).map_err(|error| flight.stage.explain(error))?;
    println!("an etcd that hung for 9 s: caught up {hung:?} later; that died: {died:?} after it was back");
    flight.unmoved(&before)
}

#[test]
fn an_api_server_that_comes_back_without_its_history_is_listed_afresh() -> anyhow::Result<()> {
    let mut turn = Flight::turn()?;
    let flight = turn.as_mut().context("it flies")?;
    let before = flight.before()?;
    // Without bookmarks, the last known revision is that of the last change.
    flight.proxy.set(Fault::NoBookmarks(seconds(1)));
    std::thread::sleep(seconds(2));
    flight.proxy.set(Fault::Away);
    flight.change()?;
    flight.plane()?.compact()?;
    flight.plane()?.kill_api_server();
    flight.plane()?.start_api_server()?;
    flight.proxy.set(Fault::No);
    let took = flight.caught_up(SOON).map_err(|error| flight.stage.explain(error))?;
    println!("an API server without history: caught up {took:?} later");
    flight.unmoved(&before)
}

#[test]
fn a_ground_order_reaches_vehicles_in_a_second_while_the_api_server_hangs() -> anyhow::Result<()> {
    let mut turn = Flight::turn()?;
    let flight = turn.as_mut().context("it flies")?;
    // A permission of the last hour counts while the API server cannot be asked.
    flight.stage.skein(&["ground", "alpha"])?;
    flight.stage.skein(&["release", "alpha"])?;
    flight.stage.wait_in_air(&NODES, NODES.len())?;
    flight.caught_up(PATIENCE)?;
    flight.proxy.set(Fault::Silent);
    // An answer from the last ten seconds counts as fresh.
    std::thread::sleep(seconds(11));
    let since = wire::now();
    let stage = &flight.stage;
    // When it was sent, which is before it is seen here.
    let landing = |node: &&str| {
        let commands = stage.wire(node).commands_since(since);
        let mut landing = commands.iter().filter(|c| c.command == MavCmd::MAV_CMD_NAV_LAND);
        landing.next().map(|command| Duration::from_micros(command.at - since))
    };
    let took = std::thread::scope(|scope| {
        // The command reports its result only once the order is recorded, or cannot be.
        let person = scope.spawn(|| stage.skein(&["ground", "alpha"]));
        let landing = wait_for("both to be ordered to land", seconds(20), || {
            let took: Option<Vec<Duration>> = NODES.iter().map(landing).collect();
            took.and_then(|took| took.into_iter().max()).context("not yet")
        });
        let _ = person.join();
        landing
    });
    flight.proxy.set(Fault::No);
    let took = took.map_err(|error| flight.stage.explain(error))?;
    println!("a ground order in an outage: on the wire {took:?} after `skein` was started");
    ensure!(took < seconds(1), "it took {took:?}");
    wait_for("the order to be recorded", HANGING, || {
        let grounded = flight
            .stage
            .kubectl(&["get", "swarm", "alpha", "-o", "jsonpath={.spec.grounded}"])?;
        ensure!(grounded == "true", "spec.grounded is {grounded:?}");
        Ok(())
    })?;
    wait_for("both to be down", PATIENCE, || {
        ensure!(
            NODES.iter().all(|node| flight.stage.wire(node).said().down()),
            "not yet"
        );
        Ok(())
    })?;
    flight.stage.skein(&["release", "alpha"])?;
    flight.stage.wait_in_air(&NODES, NODES.len()).map(drop)
}
