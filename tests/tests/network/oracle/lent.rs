//! Whether vehicles that programs fly stay in their airspace, by their true places.
//!
//! 15. A vehicle with ordered airspace for a program stays in it, from its arrival until that is no part of its last
//!     order. Where its agent ends, it may fly on by its last set-point until the autopilot notices and it has stopped.

use crate::node::Node;
use crate::program::{Program, Volume};
use crate::vehicle::Spot;
use agent_testkit::autopilot::Kind;
use model::assignment::Order;
use std::time::Duration;

/// Largest errors of estimated places, over ground and in altitude, meters.
const SLACK: (f64, f64) = (2.5, 2.0);
/// Largest difference between two receivers at the same altitude, meters.
const DATUMS: f64 = 3.0;
/// Seconds until the autopilot acts by itself (GUID_TIMEOUT, COM_OF_LOSS_T), with what was on its way.
const ARDUCOPTER_NOTICES: f64 = 3.5;
const PX4_NOTICES: f64 = 1.5;
/// Least deceleration of an autopilot, over ground and upright, meters per second for each second.
const BRAKES: (f64, f64) = (1.3, 1.0);
/// Meters per second over ground below which it has stopped.
const STOPPED: f64 = 1.0;
/// Meters above which it is in the air.
const LIFTED: f64 = 0.5;
/// Modes in which the agent or a program has it: GUIDED; OFFBOARD, Hold and Takeoff.
const OURS: [u32; 4] = [4, 0x0006_0000, 0x0304_0000, 0x0204_0000];

#[derive(Debug, Default)]
pub struct Lent {
    flown: Vec<Flown>,
    /// Additional error in altitude, meters.
    datums: f64,
    /// Meters per second over ground.
    pub fastest: f64,
    /// Meters out of its airspace at most, with its agent and without.
    pub out: [f64; 2],
    pub lent: u32,
}

#[derive(Debug)]
struct Flown {
    number: usize,
    volume: Volume,
    notices: f64,
    last: Option<(Duration, Spot)>,
    /// Over ground and upright, meters per second.
    speed: (f64, f64),
    counts: bool,
    /// Another mode than ours had it since, in which it may sink.
    sinks: bool,
    alone: Option<Alone>,
}

/// Place where its agent ended, and distances that it may come from there, over ground and in altitude, meters.
#[derive(Clone, Copy, Debug)]
struct Alone {
    at: Spot,
    reach: (f64, f64),
}

fn reach(speed: f64, notices: f64, brakes: f64, slack: f64) -> f64 {
    speed * notices + speed * speed / (2.0 * brakes) + slack
}

impl Alone {
    fn begins(at: Spot, speed: (f64, f64), notices: f64, slack: (f64, f64)) -> Self {
        let over_ground = reach(speed.0, notices, BRAKES.0, slack.0);
        let in_height = reach(speed.1, notices, BRAKES.1, slack.1);
        Self {
            at,
            reach: (over_ground, in_height),
        }
    }

    fn explains(&self, there: Spot, sinks: bool) -> bool {
        let in_height = sinks || (there.up - self.at.up).abs() <= self.reach.1;
        in_height && there.over_ground(self.at) <= self.reach.0
    }
}

impl Flown {
    fn forget(&mut self) {
        self.counts = false;
        self.sinks = false;
        self.alone = None;
    }

    fn moves_to(&mut self, at: Spot, now: Duration) {
        if let Some((then, before)) = self.last {
            let passed = now.saturating_sub(then).as_secs_f64();
            if passed > 0.0 {
                self.speed = (before.over_ground(at) / passed, (at.up - before.up).abs() / passed);
            }
        }
        self.last = Some((now, at));
    }

    /// Meters out of its airspace where it may not be.
    fn follow(&mut self, at: Spot, asked: (f64, f64), has_agent: bool, slack: (f64, f64)) -> Option<f64> {
        let (wide, high) = self.volume.depth(at);
        let is_inside = wide >= 0.0 && high >= 0.0;
        self.counts |= is_inside;
        self.sinks &= !is_inside;
        if !has_agent && self.alone.is_none() {
            let fastest = (self.speed.0.max(asked.0), self.speed.1.max(asked.1));
            self.alone = Some(Alone::begins(at, fastest, self.notices, slack));
        } else if has_agent && is_inside && self.speed.0 <= STOPPED {
            self.alone = None;
        }
        let is_over = wide >= -slack.0 && (self.sinks || high >= -slack.1);
        let is_explained = self.alone.is_some_and(|alone| alone.explains(at, self.sinks));
        (self.counts && !is_over && !is_explained).then(|| f64::max(-wide, -high))
    }
}

fn has_airspace(node: &Node) -> bool {
    let ledger = node.ledger.lock().unwrap();
    let lends = matches!(&ledger.last_order, Some(Order::Assigned(a))
        if a.route.as_ref().is_some_and(|route| route.room.is_some()));
    lends && ledger.wants_flight()
}

impl Lent {
    pub fn of(nodes: &[Node], datums: bool) -> Self {
        let flown = nodes.iter().filter_map(|node| {
            let program = node.program.as_ref()?;
            Some(Flown {
                number: node.number,
                volume: program.volume,
                notices: match program.kind {
                    Kind::ArduCopter => ARDUCOPTER_NOTICES,
                    Kind::Px4 => PX4_NOTICES,
                },
                last: None,
                speed: (0.0, 0.0),
                counts: false,
                sinks: false,
                alone: None,
            })
        });
        Self {
            flown: flown.collect(),
            datums: if datums { DATUMS } else { 0.0 },
            ..Self::default()
        }
    }

    pub fn is_lent(&self, number: usize) -> bool {
        self.flown.iter().any(|flown| flown.number == number && flown.counts)
    }

    /// Meters per second over ground by a program; `None`: no program flies it, or its agent is away.
    pub fn speed(&self, number: usize) -> Option<f64> {
        let flown = self.flown.iter().find(|flown| flown.number == number)?;
        (flown.counts && flown.alone.is_none() && !flown.sinks).then_some(flown.speed.0)
    }

    pub fn account(&self) -> String {
        let [with, without] = self.out;
        format!(
            "airspace for a program {} times, {:.1} m/s at most, {with:.1} m out of it with an agent, and {without:.1} m without",
            self.lent, self.fastest
        )
    }

    pub fn judge(&mut self, nodes: &[Node], excused: impl Fn(usize) -> bool, now: Duration) -> Result<(), String> {
        let slack = (SLACK.0, SLACK.1 + self.datums);
        for flown in &mut self.flown {
            let Some(node) = nodes.get(flown.number) else { continue };
            let Some((at, _)) = node.vehicle.spot() else { continue };
            flown.moves_to(at, now);
            let in_the_air = node.vehicle.armed() && at.up > LIFTED;
            if !in_the_air || node.lands() || excused(flown.number) || !has_airspace(node) {
                flown.forget();
                continue;
            }
            let counted = flown.counts;
            flown.sinks |= counted && !OURS.contains(&node.vehicle.mode());
            let asked = node.program.as_ref().map_or((0.0, 0.0), Program::asked);
            let has_agent = node.reported.lock().unwrap().is_some();
            let outside = flown.follow(at, asked, has_agent, slack);
            if flown.counts {
                self.lent += u32::from(!counted);
                self.fastest = self.fastest.max(flown.speed.0);
                let (wide, high) = flown.volume.depth(at);
                let height = if flown.sinks { 0.0 } else { -high };
                let out = &mut self.out[usize::from(flown.alone.is_some())];
                *out = f64::max(*out, f64::max(-wide, height));
            }
            if let Some(outside) = outside {
                return Err(format!(
                    "at {now:?} {} is {outside:.2} m out of the airspace of its program, at {at:.1?}, {:.1?} m/s over ground and upright, \
                     mode {:#x}, its agent there: {has_agent}; {flown:?}; its program: {:?}; {:?}",
                    node.name(),
                    flown.speed,
                    node.vehicle.mode(),
                    node.program,
                    node.ledger.lock().unwrap()
                ));
            }
        }
        Ok(())
    }
}

pub fn what_leaves_its_airspace_is_known() {
    let volume = Volume {
        middle: Spot {
            east: 0.0,
            north: 0.0,
            up: 30.0,
        },
        radius: 50.0,
        below: 10.0,
        above: 10.0,
    };
    let at = |east: f64, up: f64| Spot { east, north: 0.0, up };
    // It flies east from the middle, by the given steps, and its agent ends at one step, for so many.
    let leaves = |notices: f64, places: &[f64], ends: usize, back: usize| {
        let mut flown = Flown {
            number: 0,
            volume,
            notices,
            last: None,
            speed: (0.0, 0.0),
            counts: false,
            sinks: false,
            alone: None,
        };
        let mut out = false;
        for (step, east) in places.iter().enumerate() {
            let place = at(*east, 30.0);
            flown.moves_to(place, Duration::from_secs(step as u64));
            let has_agent = step < ends || step >= back;
            out |= flown.follow(place, (0.0, 0.0), has_agent, SLACK).is_some();
        }
        out
    };
    let never = usize::MAX;
    let crosses = [0.0, 8.0, 16.0, 24.0, 32.0, 40.0, 48.0, 56.0, 60.0];
    assert!(
        leaves(ARDUCOPTER_NOTICES, &crosses, never, never),
        "its agent let it out"
    );
    assert!(!leaves(ARDUCOPTER_NOTICES, &crosses[..7], never, never), "it is inside");
    assert!(!leaves(ARDUCOPTER_NOTICES, &crosses, 4, never), "it was alone by then");
    assert!(!leaves(ARDUCOPTER_NOTICES, &crosses, 4, 7), "its agent is back");
    let far: Vec<f64> = (0..30).map(|step| 8.0 * f64::from(step)).collect();
    assert!(
        leaves(ARDUCOPTER_NOTICES, &far, 4, never),
        "no autopilot flies on for so long"
    );
    assert!(leaves(PX4_NOTICES, &far, 4, never), "nor does a PX4");
    let stops = [0.0, 8.0, 8.0, 8.5, 20.0, 40.0, 60.0];
    assert!(leaves(PX4_NOTICES, &stops, 2, 3), "it had stopped, and is flown again");
}
