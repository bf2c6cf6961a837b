//! A whole fleet comes at once, as when a coordinator has been started again: all get in, and soon.
//!
//! A simulation in time of its own: agents dial, are let in or not, take a round trip or more to show who they are, and come
//! again after the agents' own back-off when it did not work. One thing is done at a time for those that are admitted.

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

/// What one handshake with all that belongs to it costs the coordinator.
const WORK: Duration = Duration::from_micros(700);

#[derive(Clone, Copy)]
struct Fleet {
    agents: u32,
    /// From being let in to having shown everything, without waiting for the coordinator.
    way: Duration,
    /// Whether all come from one address.
    one_address: bool,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Dials(u32),
    HasShown(u32),
}

struct Visit {
    failures: u32,
    cut: CancellationToken,
    permit: Option<ConnectionPermit<Neighbor>>,
}

/// How long it takes until all have proven who they are; `None`: more than `patience`.
fn all_in(fleet: Fleet, patience: Duration) -> Option<Duration> {
    let (start, stranger_limits) = (Instant::now(), StrangerLimits::new(&LIMITS));
    let mut visits: Vec<Visit> = Vec::new();
    let mut events = BinaryHeap::new();
    for agent in 0..fleet.agents {
        // The old coordinator's end is noticed by all within a second.
        let at = Duration::from_micros(u64::from(agent) * 1_000_000 / u64::from(fleet.agents));
        events.push(Reverse((at, Event::Dials(agent))));
        visits.push(Visit {
            failures: 0,
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
                match stranger_limits.admit(neighbor, visit.cut.clone(), start + at) {
                    Ok(permit) => {
                        visit.permit = Some(permit);
                        busy_until = busy_until.max(at) + WORK;
                        let shown = (at + fleet.way).max(busy_until);
                        events.push(Reverse((shown, Event::HasShown(agent))));
                        false
                    }
                    Err(_) => true,
                }
            }
            Event::HasShown(_) => {
                visit.permit = None;
                let cut = visit.cut.is_cancelled();
                if !cut {
                    waiting -= 1;
                    if waiting == 0 {
                        return Some(at);
                    }
                }
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
