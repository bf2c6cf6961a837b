//! A whole fleet comes at once, as after a restart of the coordinator: all get in, and soon.
//!
//! A simulation in time of its own: agents dial, are let in or not, take a round trip or more to show who they are, and retry after the
//! agents' own back-off. One thing is done at a time for those that are admitted.

use super::*;
use crate::server::admission::LIMITS;
use model::backoff::Backoff;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::Ipv4Addr;
use std::time::Duration;

const RETRY: Backoff = Backoff {
    first: Duration::from_millis(200),
    cap: Duration::from_secs(5),
};

/// Cost of one handshake to the coordinator, with all that belongs to it.
const WORK: Duration = Duration::from_micros(700);

/// The same where the API server and the agents need the processor, too.
const WORK_OF_ALL: Duration = Duration::from_millis(3);

#[derive(Clone, Copy)]
struct Fleet {
    agents: u32,
    /// From being let in to having shown everything, without waiting for the coordinator.
    way: Duration,
    one_address: bool,
    /// Cost of one handshake.
    work: Duration,
}

struct Came {
    within: Duration,
    /// Handshakes that were done for agents that had given up.
    in_vain: u32,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Dials(u32),
    HasShown(u32),
}

struct Visit {
    failures: u32,
    dialled: Duration,
    cut: CancellationToken,
    permit: Option<ConnectionPermit<Neighbor>>,
}

/// Time until all have proven who they are; `None`: more than `patience`.
fn all_in(fleet: Fleet, patience: Duration) -> Option<Duration> {
    come(fleet, patience, true).map(|came| came.within)
}

/// `minds`: it lets in fewer when it is late.
fn come(fleet: Fleet, patience: Duration, minds: bool) -> Option<Came> {
    let mut in_vain = 0;
    let (start, stranger_limits) = (Instant::now(), StrangerLimits::new(&LIMITS));
    let mut visits: Vec<Visit> = Vec::new();
    let mut events = BinaryHeap::new();
    for agent in 0..fleet.agents {
        // The old coordinator's end is noticed by all within a second.
        let at = Duration::from_micros(u64::from(agent) * 1_000_000 / u64::from(fleet.agents));
        events.push(Reverse((at, Event::Dials(agent))));
        visits.push(Visit {
            failures: 0,
            dialled: Duration::ZERO,
            cut: CancellationToken::new(),
            permit: None,
        });
    }
    let (mut waiting, mut busy_until) = (fleet.agents, Duration::ZERO);
    while let Some(Reverse((at, event))) = events.pop() {
        if at > patience {
            return None;
        }
        let (Event::Dials(agent) | Event::HasShown(agent)) = event;
        let visit = &mut visits[agent as usize];
        let host = if fleet.one_address { 0 } else { agent };
        let neighbor = Neighbor::of(Ipv4Addr::from_bits(0x0a00_0000 + host).into());
        let fails = match event {
            Event::Dials(_) => {
                visit.cut = CancellationToken::new();
                visit.dialled = at;
                let lateness = if minds {
                    busy_until.saturating_sub(at)
                } else {
                    Duration::ZERO
                };
                match stranger_limits.admit(neighbor, lateness, visit.cut.clone(), start + at) {
                    Ok(permit) => {
                        visit.permit = Some(permit);
                        busy_until = busy_until.max(at) + fleet.work;
                        let shown = (at + fleet.way).max(busy_until);
                        events.push(Reverse((shown, Event::HasShown(agent))));
                        false
                    }
                    Err(_) => true,
                }
            }
            Event::HasShown(_) => {
                visit.permit = None;
                let late = at.saturating_sub(visit.dialled) > fleet.way + LIMITS.handshake;
                let cut = late || visit.cut.is_cancelled();
                if !cut {
                    waiting -= 1;
                    if waiting == 0 {
                        return Some(Came { within: at, in_vain });
                    }
                }
                in_vain += u32::from(cut);
                cut
            }
        };
        if fails {
            visit.failures += 1;
            // A jitter that is the same in each run.
            let jitter = f64::from(agent.wrapping_mul(2_654_435_761) ^ visit.failures.wrapping_mul(40_503))
                / f64::from(u32::MAX);
            events.push(Reverse((at + RETRY.delay(visit.failures, jitter), Event::Dials(agent))));
        }
    }
    None
}

const LARGEST: Fleet = Fleet {
    agents: 25_000,
    way: Duration::from_millis(100),
    one_address: false,
    work: WORK,
};

const SECONDS: fn(u64) -> Duration = Duration::from_secs;

#[tokio::test(start_paused = true)]
async fn the_largest_fleet_comes_back_within_a_minute() {
    let all = all_in(LARGEST, SECONDS(60));
    assert!(all.is_some(), "some are outside after a minute");
}

#[tokio::test(start_paused = true)]
async fn so_does_one_whose_radios_take_seconds() {
    let slow = Fleet {
        way: SECONDS(3),
        ..LARGEST
    };
    let all = all_in(slow, SECONDS(60));
    assert!(all.is_some(), "some are outside after a minute");
}

#[tokio::test(start_paused = true)]
async fn a_whole_fleet_behind_one_address_is_let_in_however_slow_its_radios_are() {
    for way in [Duration::from_millis(100), SECONDS(1), SECONDS(3)] {
        let behind_one = Fleet {
            way,
            one_address: true,
            ..LARGEST
        };
        let all = all_in(behind_one, SECONDS(90));
        assert!(
            all.is_some(),
            "some are outside after a minute and a half; it takes each {way:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_fleet_too_large_for_the_machine_comes_in_as_fast_as_that_is_and_little_in_vain() {
    for one_address in [false, true] {
        let crowd = Fleet {
            agents: 19_000,
            work: WORK_OF_ALL,
            one_address,
            ..LARGEST
        };
        let came = come(crowd, SECONDS(300), true).expect("some are outside after five minutes");
        let least = WORK_OF_ALL * crowd.agents;
        assert!(
            came.within < least + SECONDS(15),
            "{:?}, of {least:?} at the least",
            came.within
        );
        assert!(
            came.in_vain < crowd.agents / 10,
            "{} were let in for nothing",
            came.in_vain
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_machine_that_minds_nothing_has_some_outside_after_a_minute_and_a_half() {
    let crowd = Fleet {
        agents: 19_000,
        work: WORK_OF_ALL,
        ..LARGEST
    };
    assert!(come(crowd, SECONDS(90), false).is_none());
}

#[test]
fn the_later_a_process_is_the_fewer_are_let_in_and_some_in_any_case() {
    let ms = Duration::from_millis;
    let rooms = [0, 100, 499, 500, 1_000, 4_000, 1_000_000].map(|late| room(4096, ms(late)));
    assert_eq!(rooms, [4096, 4096, 4096, 2048, 1024, 256, 64]);
    assert_eq!([room(3, ms(9_000)), room(0, ms(0))], [3, 0]);
}
